// mrctl cluster init: makes the credentials of a cluster beside the master's data.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "common/base/text.h"
#include "common/io/clock.h"
#include "common/io/daemon_data.h"
#include "common/io/files.h"
#include "common/rpc/connection.h"
#include "common/secure/cluster_files.h"
#include "common/secure/names.h"
#include "common/secure/private_file.h"
#include "jobs/mrctl/access_out.h"
#include "jobs/mrctl/credentials.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/terminal_text.h"
#include "jobs/mrctl/verbs.h"

namespace mr::ctl {
namespace {

// The first token of an administrator. Longer than others: the cluster is set up with it (guess).
constexpr Duration kFirstTokenLife = secure::kDay * 30;

// Returns the id that the data have, or a new one where there are none.
Result<uint64_t> ClusterOf(const std::string& data) {
  MR_RETURN_IF_ERROR(CheckMasterData(data));
  if (PathExists(data + "/cluster_id")) {
    MR_ASSIGN_OR_RETURN(std::string text, ReadFile(data + "/cluster_id"));
    while (!text.empty() && text.back() == '\n') text.pop_back();
    auto id = secure::ParseCluster(text);
    if (!id.ok()) return Corrupted(data + "/cluster_id: " + id.status().message());
    return id;
  }
  if (PathExists(data + "/journal")) {
    return WithHint(Rejected(data + " has a journal and no file cluster_id"),
                    "start its master once, which writes the file again; then repeat this");
  }
  return RandomId();
}

std::string HostOf(const std::string& address) { return address.substr(0, address.rfind(':')); }
// Returns the flag for a port that is not the default one, or "".
std::string PortFlag(const std::string& address) {
  const std::string port = address.substr(address.rfind(':') + 1);
  return port == "7070" ? "" : " --port " + port;
}

// Makes the directory for its user alone where it does not exist. An existing one keeps its mode: what is secret in it
// is in a directory of its own.
Status MakeData(const std::string& data) {
  if (PathExists(data)) return Status::Ok();
  if (const auto parent = std::filesystem::path(data).parent_path().string(); !parent.empty()) {
    MR_RETURN_IF_ERROR(MakeDirectories(parent));
  }
  return secure::MakePrivateDirectory(data);
}

}  // namespace

Result<int> RunCluster(const Command& command, const Settings& settings) {
  if (command.sub == "rotate") return RunRotate(command, settings);
  const CredentialOptions& o = command.credentials;
  const secure::UnixTime now{static_cast<int64_t>(WallClockMs() / 1000)};
  std::string data = o.data;
  while (data.size() > 1 && data.back() == '/') data.pop_back();
  const std::string path = secure::CredentialsPath(data);
  // All that can be refused is looked at before anything is made.
  MR_ASSIGN_OR_RETURN(const std::string address, MasterAddress(o.address));
  MR_ASSIGN_OR_RETURN(const Duration life, o.life.empty() ? kFirstTokenLife : ParseDuration(o.life));
  const std::string subject = o.subject.empty() ? LoginName() : o.subject;
  MR_RETURN_IF_ERROR(secure::CheckPerson(subject));
  if (PathExists(path)) {
    return WithHint(Rejected("the cluster of " + data + " has credentials already (" + path + "): nothing was changed"),
                    "make further tokens with mrctl token create --data " + data +
                        "; to begin a new cluster, use another directory");
  }
  MR_ASSIGN_OR_RETURN(const uint64_t cluster_id, ClusterOf(data));
  const std::string token_file = o.out.empty() ? TokenPath(cluster_id) : o.out;
  if (token_file.empty()) {
    return WithHint(InvalidArgument("there is no place for the token: neither HOME nor XDG_STATE_HOME is set"),
                    "name a file with --out");
  }
  const std::string join_file = o.join.empty() ? data + "/join" : o.join;
  MR_RETURN_IF_ERROR(CheckNewFile(token_file));
  MR_RETURN_IF_ERROR(CheckNewFile(join_file));

  MR_RETURN_IF_ERROR(MakeData(data));
  MR_RETURN_IF_ERROR(secure::MakeClusterFiles(path, cluster_id, now));
  if (!o.address.empty()) MR_RETURN_IF_ERROR(secure::KeepAddress(path, address));
  MR_ASSIGN_OR_RETURN(const NewAccess admin,
                      IssueAccess(path, {.subject = subject, .roles = kAllPeople, .life = life}, "", token_file, now));
  MR_ASSIGN_OR_RETURN(
      const NewAccess join,
      IssueAccess(path, {.kind = secure::TokenKind::kJoin, .life = secure::kJoinLife}, address, join_file, now));
  MR_ASSIGN_OR_RETURN(const std::string authority, ReadFile(path + "/ca.pem"));
  MR_ASSIGN_OR_RETURN(const std::string fingerprint, secure::Fingerprint(authority));
  const ClusterMade made{
      cluster_id,
      data,
      subject,
      token_file,
      join_file,
      fingerprint,
      {"mrmaster --data " + data + " --bind 0.0.0.0 --advertise " + HostOf(address) + PortFlag(address),
       "mrworker --data WORKER_DATA --join " + join_file + " --bind 0.0.0.0 --advertise \"$(hostname)\""}};
  Print(RenderCluster(made, settings.form));
  if (!settings.quiet && settings.form == OutputForm::kTable) {
    PrintErr("made the credentials of cluster " + secure::ClusterText(cluster_id) + " in " + path +
             "\nstart the master with the first command. Copy " + join_file +
             " to a new worker and run the second one there within 15 minutes; for each further worker: mrctl token "
             "create --data " +
             data + " --join FILE\nyour token of all roles is in " + token_file + " until " +
             secure::Text(admin.token.expires) + "\n");
  }
  return kExitOk;
}

}  // namespace mr::ctl
