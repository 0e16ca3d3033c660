// mrctl cluster rotate: replaces the authority of a cluster and the key that signs its tokens.
#include <algorithm>
#include <chrono>
#include <thread>

#include "common/io/clock.h"
#include "common/secure/certificate.h"
#include "common/secure/names.h"
#include "common/secure/rotation.h"
#include "jobs/mrctl/access_out.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/render.h"
#include "jobs/mrctl/verbs.h"

namespace mr::ctl {
namespace {

// A master that runs looks every 300 ms (rpc::NodeIdentity), and signs a certificate.
constexpr Duration kMasterTakesIt = Seconds(2);
constexpr auto kLookForMaster = std::chrono::milliseconds(50);
constexpr size_t kShownBehind = 10;  // of each kind, in a message

secure::UnixTime RotationTime() { return {static_cast<int64_t>(WallClockMs() / 1000)}; }

std::string ListBehind(const std::vector<std::string>& all) {
  std::string text;
  for (size_t i = 0; i < std::min(all.size(), kShownBehind); ++i) text += (i == 0 ? "" : ", ") + all[i];
  if (all.size() > kShownBehind) text += " and " + std::to_string(all.size() - kShownBehind) + " more";
  return text;
}

std::string NameOfToken(const secure::Token& token) {
  const std::string holder = token.kind == secure::TokenKind::kPerson ? token.subject : "a join file";
  return token.id + " (" + holder + ")";
}

// Returns the workers and tokens that stop working.
std::string TextOfBehind(const secure::Behind& behind) {
  std::vector<std::string> tokens;
  for (const secure::Token& token : behind.tokens) tokens.push_back(NameOfToken(token));
  std::string text;
  if (!behind.workers.empty()) text += "workers without a new certificate: " + ListBehind(behind.workers);
  if (!tokens.empty()) text += (text.empty() ? "" : "; ") + ("tokens made before the rotation: " + ListBehind(tokens));
  return text;
}

Result<int> BeginRotate(const std::string& path, const std::string& data, const Settings& settings) {
  MR_RETURN_IF_ERROR(secure::BeginRotation(path, RotationTime()));
  bool taken = false;
  for (const Instant end = Now() + kMasterTakesIt; !taken && Now() < end; std::this_thread::sleep_for(kLookForMaster)) {
    const auto has = secure::MasterHasNew(path, RotationTime());
    taken = has.ok() && *has;
  }
  const std::string master = taken ? "the master has a new certificate, and its workers take theirs now"
                                   : "no master has taken it up: one takes it when it starts";
  Say(settings,
      "the cluster has a new authority; the old one and its tokens are valid until mrctl cluster rotate "
      "--finish --data " +
          data);
  Say(settings, master);
  PrintDone({{data, "rotate", "", master}}, settings);
  return kExitOk;
}

Result<int> FinishRotate(const std::string& path, const std::string& data, bool force, const Settings& settings) {
  MR_ASSIGN_OR_RETURN(const secure::Behind behind, secure::FinishRotation(path, RotationTime(), force));
  const std::string text = TextOfBehind(behind);
  if (!behind.empty() && !force) {
    return WithHint(Rejected("the rotation is not finished, since this would stop working: " + text),
                    "start workers that are off, or deny them (mrctl token revoke worker:NAME); replace tokens (mrctl "
                    "token create) and revoke the old ones; or give --force");
  }
  Say(settings, "the old authority and its tokens are of no use any more" + (text.empty() ? "" : "; " + text));
  PrintDone({{data, "finish", "", text}}, settings);
  return kExitOk;
}

}  // namespace

Result<int> RunRotate(const Command& command, const Settings& settings) {
  const CredentialOptions& o = command.credentials;
  if (command.force && !o.finish) {
    return WithHint(InvalidArgument("--force belongs to --finish"), "a rotation by itself stops nothing");
  }
  MR_ASSIGN_OR_RETURN(const std::string path, CredentialsOf(o.data));
  return o.finish ? FinishRotate(path, o.data, command.force, settings) : BeginRotate(path, o.data, settings);
}

}  // namespace mr::ctl
