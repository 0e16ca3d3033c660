#include "jobs/mrctl/worker_ref.h"

#include <algorithm>
#include <string_view>

#include "common/base/text.h"
#include "common/secure/names.h"
#include "jobs/mrctl/exit_code.h"

namespace mr::ctl {
namespace {

constexpr char kListed[] = "mrctl workers lists ids and names";

Status CheckWord(const std::string& word) {
  if (ParseWorkerId(word) || secure::CheckWorker(word).ok()) return Status::Ok();
  return WithHint(InvalidArgument("'" + word + "' is neither the id of a worker, such as w1, nor a name"), kListed);
}

}  // namespace

Result<WorkerId> FindWorker(const std::string& word, const std::vector<WorkerStatus>& workers) {
  MR_RETURN_IF_ERROR(CheckWord(word));
  if (const auto id = ParseWorkerId(word)) return *id;
  std::vector<std::string_view> names;
  for (const WorkerStatus& w : workers) {
    if (w.name == word) return *ParseWorkerId(w.id);
    names.push_back(w.name);
  }
  return WithHint(NotFound("no worker has the id or the name '" + word + "'" + DidYouMean(word, names)), kListed);
}

Result<std::vector<NamedWorker>> FindWorkers(Client& client, const std::vector<std::string>& words) {
  for (const std::string& word : words) MR_RETURN_IF_ERROR(CheckWord(word));
  std::vector<WorkerStatus> workers;
  if (std::any_of(words.begin(), words.end(), [](const std::string& word) { return !ParseWorkerId(word); })) {
    MR_ASSIGN_OR_RETURN(workers, client.Workers());
  }
  std::vector<NamedWorker> found;
  for (const std::string& word : words) {
    MR_ASSIGN_OR_RETURN(const WorkerId id, FindWorker(word, workers));
    found.push_back({word, id});
  }
  return found;
}

}  // namespace mr::ctl
