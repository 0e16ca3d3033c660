#include "jobs/mrctl/queue_note.h"

#include <string_view>

#include "common/base/text.h"

namespace mr::ctl {
namespace {

constexpr size_t kQueuesNamed = 10;  // as many as people read

}  // namespace

std::string NewQueueNote(const std::string& queue, const std::vector<QueueStatus>& known, const std::string& prefix) {
  if (queue.empty() || queue == "default") return "";
  std::vector<std::string_view> names;
  std::string list;
  for (const QueueStatus& q : known) {
    if (q.name == queue) return "";
    if (names.size() < kQueuesNamed) list += (list.empty() ? "" : ", ") + q.name;
    names.push_back(q.name);
  }
  if (names.size() > kQueuesNamed) list += " and " + std::to_string(names.size() - kQueuesNamed) + " more";
  return "queue '" + queue + "' is new: weight 1, no min share, no max share" + DidYouMean(queue, names) +
         "; known queues: " + list + "; it ends with its last job, unless `" + prefix + "queue set " + queue +
         " --weight 1` keeps it";
}

}  // namespace mr::ctl
