#include "common/secure/names.h"

#include <cstdio>
#include <ctime>
#include <vector>

#include "common/base/ids.h"
#include "common/base/text.h"
#include "common/model/role_names.h"
#include "common/secure/unix_time.h"

namespace mr::secure {
namespace {

constexpr std::string_view kWorkerPrefix = "worker:";

// Not isalnum: that depends on the locale.
bool LetterOrDigit(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

Status CheckName(std::string_view name, std::string_view punctuation, const char* kind) {
  bool good = !name.empty() && name.size() <= kMaxNameBytes && LetterOrDigit(name.front());
  for (const char c : name) good = good && (LetterOrDigit(c) || punctuation.find(c) != std::string_view::npos);
  if (good) return Status::Ok();
  return InvalidArgument("'" + PrintableBytes(name.substr(0, kMaxNameBytes)) + "' is no name of a " + kind +
                         ": use 1 to 56 letters, digits and " + std::string(punctuation) +
                         ", beginning with a letter or a digit");
}

}  // namespace

std::string Text(UnixTime time) {
  const time_t seconds = time.seconds;
  tm parts{};
  char text[40] = "";
  if (gmtime_r(&seconds, &parts) == nullptr) return std::to_string(time.seconds) + " s";
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text;
}

Status CheckPerson(std::string_view name) {
  // Subjects of the cluster itself, and the owner of all that nobody else owns (kNoOwner, common/model/caller.h).
  for (const std::string_view reserved : {"admin", "master", "join", "anonymous"}) {
    if (name == reserved) {
      return InvalidArgument("'" + std::string(name) + "' cannot be the name of a person: choose another one; roles " +
                             "are given with --roles");
    }
  }
  return CheckName(name, "._@-", "person");
}
Status CheckWorker(std::string_view name) { return CheckName(name, "._-", "worker"); }

Status CheckChosenWorker(std::string_view name) {
  MR_RETURN_IF_ERROR(CheckWorker(name));
  const auto is = [name](std::string_view prefix) { return name.starts_with(prefix); };
  if ((name.front() >= '0' && name.front() <= '9') || ParseWorkerId(name) || is("job_") || is("task_") ||
      is("attempt_") || is("local_") || name == "last") {
    return InvalidArgument("'" + std::string(name) +
                           "' could be taken for the id of a worker, job or attempt: choose " +
                           "a name that begins with a letter, such as node7 or rack2-node7");
  }
  return Status::Ok();
}

std::string MasterName(uint64_t cluster_id) { return "master." + ClusterText(cluster_id); }
std::string AnyWorkerName(uint64_t cluster_id) { return "worker." + ClusterText(cluster_id); }
std::string WorkerSubject(std::string_view name) { return std::string(kWorkerPrefix) + std::string(name); }

Result<std::string> WorkerInSubject(std::string_view subject) {
  if (!subject.starts_with(kWorkerPrefix)) {
    return InvalidArgument("'" + PrintableBytes(subject.substr(0, 80)) + "' is not the subject of a worker");
  }
  const std::string_view name = subject.substr(kWorkerPrefix.size());
  MR_RETURN_IF_ERROR(CheckWorker(name));
  return std::string(name);
}

std::string ClusterText(uint64_t cluster_id) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(cluster_id));
  return text;
}

Result<uint64_t> ParseCluster(std::string_view text) {
  uint64_t id = 0;
  bool good = text.size() == 16;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    good = good && (digit || (c >= 'a' && c <= 'f'));
    id = id << 4 | static_cast<uint64_t>(digit ? c - '0' : c - 'a' + 10) % 16;
  }
  if (good && id != 0) return id;
  return InvalidArgument("'" + PrintableBytes(text.substr(0, 20)) + "' is no cluster id: 16 hexadecimal digits");
}

Result<Roles> ParseRoles(std::string_view text) {
  Roles roles = 0;
  while (true) {
    const size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    Roles role = RoleNamed(word).value_or(RoleBit{}) & kAllPeople;
    if (role == 0) {
      std::vector<std::string_view> names;
      for (const NamedRole& known : kRoleNames) {
        if ((known.bit & kAllPeople) != 0) names.push_back(known.name);
      }
      return InvalidArgument("'" + PrintableBytes(word.substr(0, 20)) + "' is no role" + DidYouMean(word, names) +
                             ": use " + mr::RoleNames(kAllPeople, ", ") + ", separated by commas");
    }
    if (role == kAdmin) role |= kOperator | kViewer;
    if (role == kOperator) role |= kViewer;
    roles |= role;
    if (comma == std::string_view::npos) return roles;
    text.remove_prefix(comma + 1);
  }
}

std::string RoleNames(Roles roles) { return mr::RoleNames(roles & (kAllPeople | kWorker), ","); }

}  // namespace mr::secure
