#include "jobs/mrctl/access_out.h"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "common/io/files.h"
#include "common/rpc/connection.h"
#include "common/secure/access_file.h"
#include "common/secure/names.h"
#include "common/secure/private_file.h"
#include "common/secure/token_log.h"
#include "jobs/mrctl/exit_code.h"

namespace mr::ctl {
namespace {

constexpr char kDefaultPort[] = ":7070";

// Makes the directory of the file for this user alone, if it is missing.
Status MakeParent(const std::string& file) {
  const auto parent = std::filesystem::path(file).parent_path();
  if (parent.empty() || PathExists(parent.string())) return Status::Ok();
  MR_RETURN_IF_ERROR(MakeDirectories(parent.parent_path().string()));
  return secure::MakePrivateDirectory(parent.string());
}

Status WriteAccess(const secure::IssuedToken& issued, const std::string& master, const std::string& file) {
  secure::AccessFile access;
  access.kind = issued.token.kind;
  access.master = master;
  access.cluster_id = issued.token.cluster_id;
  access.token = issued.text.Copy();
  access.authority = issued.authority_pem;
  MR_RETURN_IF_ERROR(MakeParent(file));
  return secure::WritePrivateFile(file, secure::AccessText(access));
}

}  // namespace

Result<std::string> CredentialsOf(const std::string& data) {
  std::string path = secure::CredentialsPath(data);
  if (!PathExists(path)) {
    return WithHint(
        NotFound("there are no credentials of a cluster in " + data),
        "make them with mrctl cluster init --data " + data + ", or name the master's --data directory on its machine");
  }
  MR_RETURN_IF_ERROR(secure::CheckPrivateDirectory(path));
  return path;
}

Result<NewAccess> IssueAccess(const std::string& credentials, const secure::NewToken& wanted, const std::string& master,
                              const std::string& file, secure::UnixTime now) {
  MR_RETURN_IF_ERROR(CheckNewFile(file));
  MR_ASSIGN_OR_RETURN(const secure::IssuedToken issued, secure::IssueToken(credentials, wanted, now));
  if (Status written = WriteAccess(issued, master, file); !written.ok()) {
    // Nobody has it, so nobody should have to wonder about it in the list.
    auto log = secure::TokenLog::Open(credentials + "/tokens");
    if (log.ok()) (void)log->Revoked(issued.token.id);
    return written;
  }
  return NewAccess{issued.token, file};
}

Status CheckNewFile(const std::string& file) {
  if (!PathExists(file)) return Status::Ok();
  return WithHint(Rejected(file + " exists and is not overwritten"), "remove it, or name another file");
}

Result<std::string> MasterAddress(const std::string& given) {
  if (!given.empty()) {
    const auto parsed = rpc::ParseHostPort(given);
    if (!parsed.ok()) return parsed.status();
    return given;
  }
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') {
    return WithHint(InvalidArgument("this machine has no name"), "give the master's address with --address HOST:PORT");
  }
  return std::string(name.data()) + kDefaultPort;
}

std::string LoginName() {
  std::vector<char> buffer(16384);
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) return "user";
  return secure::CheckPerson(found->pw_name).ok() ? found->pw_name : "user";
}

}  // namespace mr::ctl
