#include "jobs/mrctl/queue_note.h"

#include <algorithm>
#include <string_view>

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

std::string SlotsText(uint64_t n) { return std::to_string(n) + (n == 1 ? " slot" : " slots"); }

}  // namespace

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
                    SlotsText(slots) + ": while the queue has jobs, nothing is guaranteed to others");
  } else if (sum > slots) {
    notes.push_back("the min shares of all queues are " + SlotsText(sum) + ", and the cluster has " +
                    std::to_string(slots) + ": they cannot all be served at once");
  }
  return notes;
}

}  // namespace mr::ctl
