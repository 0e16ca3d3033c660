#include "jobs/mrctl/queue_note.h"

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "common/base/count.h"
#include "common/base/text.h"

namespace mr::ctl {
namespace {

constexpr size_t kQueuesNamed = 10;  // as many as people read

// Returns the name that was probably meant, in parentheses, and the known queues.
std::string KnownQueues(const std::string& queue, const std::vector<QueueStatus>& known) {
  std::vector<std::string_view> names;
  std::string list;
  for (const QueueStatus& q : known) {
    if (names.size() < kQueuesNamed) list += (list.empty() ? "" : ", ") + q.name;
    names.push_back(q.name);
  }
  if (names.size() > kQueuesNamed) list += " and " + std::to_string(names.size() - kQueuesNamed) + " more";
  return DidYouMean(queue, names) + "; known queues: " + list;
}

bool Knows(const std::vector<QueueStatus>& known, const std::string& queue) {
  return std::any_of(known.begin(), known.end(), [&](const QueueStatus& q) { return q.name == queue; });
}

bool HasDefaults(const QueueStatus& q) { return q.weight == 1 && q.min_share == 0 && q.max_share == 0; }

std::string WeightText(const QueueStatus& q) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", q.weight);
  return text;
}

std::string ShareText(uint32_t slots) { return slots == 0 ? "none" : CountOf(slots, "slot"); }

}  // namespace

std::string QueueChange(const QueueStatus& before, const QueueStatus& now, const QueueOptions& set) {
  std::string text;
  const auto add = [&text](bool given, const char* what, const std::string& then, const std::string& value) {
    if (!given) return;
    text += (text.empty() ? "" : ", ") + std::string(what) + " " + value;
    text += then == value ? " (as before)" : " (was " + then + ")";
  };
  add(set.weight, "weight", WeightText(before), WeightText(now));
  add(set.min_share, "min share", ShareText(before.min_share), ShareText(now.min_share));
  add(set.max_share, "max share", ShareText(before.max_share), ShareText(now.max_share));
  return "queue '" + now.name + "': " + text;
}

std::string NewQueueNote(const std::string& queue, const std::vector<QueueStatus>& known, const std::string& prefix) {
  if (queue.empty() || queue == "default" || Knows(known, queue)) return "";
  return "queue '" + queue + "' is new: weight 1, no min share, no max share" + KnownQueues(queue, known) +
         "; it ends with its last job, unless `" + prefix + "queue set " + queue +
         " --weight N` gives it another weight";
}

std::vector<std::string> QueueSetNotes(const QueueStatus& now, const std::vector<QueueStatus>& known, uint64_t slots,
                                       const std::string& prefix) {
  std::vector<std::string> notes;
  const std::string reset = prefix + "queue set " + now.name + " --weight 1 --min-share 0 --max-share 0";
  if (HasDefaults(now)) {
    if (now.name == "default") return {};
    if (!Knows(known, now.name))
      return {"queue '" + now.name + "' is not known" + KnownQueues(now.name, known) +
              "; default settings make no queue"};
    return {"queue '" + now.name + "' has default settings: " +
            (now.jobs > 0 ? "it ends with its last job" : "without jobs it is no longer listed")};
  }
  if (now.name != "default" && !Knows(known, now.name)) {
    notes.push_back("queue '" + now.name + "' is new" + KnownQueues(now.name, known) + "; `" + reset + "` removes it");
  }
  if (now.min_share == 0 || slots == 0) return notes;
  uint64_t sum = now.min_share;
  for (const QueueStatus& q : known) sum += q.name == now.name ? 0 : q.min_share;
  if (now.min_share > slots) {
    notes.push_back("the min share of " + std::to_string(now.min_share) + " is more than the cluster's " +
                    CountOf(slots, "slot") + ": while the queue has jobs, nothing is guaranteed to others");
  } else if (sum > slots) {
    notes.push_back("the min shares of all queues are " + CountOf(sum, "slot") + ", and the cluster has " +
                    std::to_string(slots) + ": they cannot all be served at once");
  }
  return notes;
}

}  // namespace mr::ctl
