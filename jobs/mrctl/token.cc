// mrctl token: create, list, revoke. Works on the files of the master's machine; the master reads the list again.
#include <cstdio>

#include "common/base/text.h"
#include "common/io/clock.h"
#include "common/io/files.h"
#include "common/secure/credential_store.h"
#include "common/secure/names.h"
#include "common/secure/private_file.h"
#include "jobs/mrctl/access_out.h"
#include "jobs/mrctl/credentials.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/render.h"
#include "jobs/mrctl/verbs.h"

namespace mr::ctl {
namespace {

// A worker that is denied stays so: whoever has stolen its certificate would be let in again.
Status CheckNotDenied(const std::string& path, const std::string& worker) {
  MR_ASSIGN_OR_RETURN(const secure::TokenLog log, secure::TokenLog::Open(path + "/tokens"));
  const std::string subject = secure::WorkerSubject(worker);
  if (!log.list().denied.contains(subject)) return Status::Ok();
  return WithHint(Rejected("the name of " + subject +
                           " was revoked and is not given again: its old certificate would "
                           "be accepted, too"),
                  "give the machine a new name: stop its mrworker, remove worker_id and credentials from its --data, "
                  "and start it with a join file that is for no name");
}

Result<secure::NewToken> WantedToken(const std::string& path, const CredentialOptions& o) {
  secure::NewToken wanted;
  if (!o.join.empty()) {
    if (!o.subject.empty() || !o.roles.empty() || !o.out.empty()) {
      return InvalidArgument("--join makes a join file for a worker: leave --subject, --roles and --out out");
    }
    wanted.kind = secure::TokenKind::kJoin;
    wanted.subject = o.worker;
    wanted.life = secure::kJoinLife;
    if (!o.worker.empty()) {
      MR_RETURN_IF_ERROR(secure::CheckWorker(o.worker));
      MR_RETURN_IF_ERROR(CheckNotDenied(path, o.worker));
    }
  } else {
    if (o.subject.empty() || o.roles.empty()) {
      return WithHint(InvalidArgument("a token needs --subject NAME and --roles LIST"),
                      "for a worker, make a join file with --join FILE");
    }
    if (!o.worker.empty() || !o.address.empty()) return InvalidArgument("--worker and --address belong to --join FILE");
    wanted.subject = o.subject;
    MR_RETURN_IF_ERROR(secure::CheckPerson(o.subject));
    MR_ASSIGN_OR_RETURN(wanted.roles, secure::ParseRoles(o.roles));
  }
  if (!o.life.empty()) {
    MR_ASSIGN_OR_RETURN(wanted.life, ParseDuration(o.life));
  }
  // Times in tokens are whole seconds.
  if (wanted.life < Seconds(1) || wanted.life > secure::kLongestTokenLife) {
    return InvalidArgument("--life " + o.life + " is not between 1s and 366d");
  }
  return wanted;
}

Result<int> Create(const std::string& path, const CredentialOptions& o, const Settings& settings,
                   secure::UnixTime now) {
  MR_ASSIGN_OR_RETURN(const secure::NewToken wanted, WantedToken(path, o));
  const bool join = wanted.kind == secure::TokenKind::kJoin;
  std::string address;
  if (join) {
    MR_ASSIGN_OR_RETURN(address, MasterAddress(o.address.empty() ? secure::KnownAddress(path) : o.address));
  }
  const std::string file = join ? o.join : o.out.empty() ? o.subject + ".token" : o.out;
  MR_ASSIGN_OR_RETURN(const NewAccess made, IssueAccess(path, wanted, address, file, now));
  Print(RenderToken({made.token, "valid"}, made.file, settings.form));
  Say(settings,
      join ? "a worker can join with it until " + secure::Text(made.token.expires) + ": mrworker --join " + made.file
           : made.token.subject + " has the roles " + secure::RoleNames(made.token.roles) + " with it until " +
                 secure::Text(made.token.expires) + ": export MR_TOKEN_FILE=" + made.file);
  return kExitOk;
}

// Returns the ids of the keys that check the cluster's tokens.
Result<std::vector<std::string>> TokenKeyIds(const std::string& path) {
  MR_ASSIGN_OR_RETURN(const UniqueFd lock, secure::LockCredentials(path, /*exclusive=*/false));
  MR_ASSIGN_OR_RETURN(const secure::CredentialStore store, secure::ReadStore(path));
  std::vector<std::string> ids;
  for (const secure::PublicKey& key : store.token_keys) ids.push_back(key.Id());
  return ids;
}

Result<int> List(const std::string& path, const Settings& settings, secure::UnixTime now) {
  MR_ASSIGN_OR_RETURN(const std::vector<std::string> keys, TokenKeyIds(path));
  MR_ASSIGN_OR_RETURN(const secure::TokenLog log, secure::TokenLog::Open(path + "/tokens"));
  Print(RenderTokens(TokenRows(log.list(), keys, now), log.list(), settings.form));
  return kExitOk;
}

// Revokes what one word names. Returns the effects.
Result<std::vector<Done>> RevokeOne(const std::string& word, const std::vector<std::string>& keys,
                                    secure::TokenLog* log, secure::UnixTime now) {
  if (secure::WorkerInSubject(word).ok()) {
    const secure::Subjects known = secure::KnownWorkers(log->list());
    if (!known.contains(word)) {
      std::vector<std::string_view> names;
      for (const std::string& name : known) {
        if (!log->list().denied.contains(name)) names.push_back(name);
      }
      return WithHint(NotFound("no worker " + word +
                               " has joined, and none was invited by this name: nothing was "
                               "revoked" +
                               DidYouMean(word, names)),
                      "`mrctl worker show ID` and the file worker_id of a worker show its name, which is not its id in "
                      "`mrctl workers`; if the list of tokens was lost, `mrctl token create --join FILE --worker NAME` "
                      "makes the name known");
    }
    MR_RETURN_IF_ERROR(log->Denied(word, true));
    return std::vector<Done>{{word, "revoke", "", "its certificate and its join files are denied"}};
  }
  if (log->list().issued.contains(word)) {
    MR_RETURN_IF_ERROR(log->Revoked(word));
    return std::vector<Done>{{word, "revoke", "", ""}};
  }
  std::vector<Done> done;
  for (const TokenRow& row : TokenRows(log->list(), keys, now)) {
    if (row.token.kind != secure::TokenKind::kPerson || row.token.subject != word) continue;
    if (row.state == "valid") MR_RETURN_IF_ERROR(log->Revoked(row.token.id));
    done.push_back({row.token.id, "revoke", "", row.state == "valid" ? "of " + word : "it was " + row.state});
  }
  if (done.empty()) {
    return WithHint(NotFound("there is no token of '" + PrintableBytes(word) + "', and none with this id"),
                    "mrctl token list shows them; a worker is written worker:NAME");
  }
  return done;
}

Result<int> Revoke(const std::string& path, const Command& command, const Settings& settings, secure::UnixTime now) {
  MR_ASSIGN_OR_RETURN(const std::vector<std::string> keys, TokenKeyIds(path));
  MR_ASSIGN_OR_RETURN(secure::TokenLog log, secure::TokenLog::Open(path + "/tokens"));
  std::vector<Done> all;
  for (const std::string& word : command.args) {
    MR_ASSIGN_OR_RETURN(const std::vector<Done> done, RevokeOne(word, keys, &log, now));
    all.insert(all.end(), done.begin(), done.end());
  }
  for (const Done& done : all) Say(settings, "revoked " + done.id + (done.note.empty() ? "" : ": " + done.note));
  PrintDone(all, settings);
  return kExitOk;
}

}  // namespace

Result<int> RunToken(const Command& command, const Settings& settings) {
  const CredentialOptions& o = command.credentials;
  const secure::UnixTime now{static_cast<int64_t>(WallClockMs() / 1000)};
  MR_ASSIGN_OR_RETURN(const std::string path, CredentialsOf(o.data));
  if (command.sub == "create") return Create(path, o, settings, now);
  if (command.sub == "list") return List(path, settings, now);
  return Revoke(path, command, settings, now);
}

}  // namespace mr::ctl
