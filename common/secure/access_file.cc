#include "common/secure/access_file.h"

#include <algorithm>

#include "common/base/text.h"
#include "common/secure/certificate.h"
#include "common/secure/names.h"
#include "common/secure/private_file.h"

namespace mr::secure {
namespace {

constexpr std::string_view kTokenFirstLine = "# Paceline token file 1";
constexpr std::string_view kJoinFirstLine = "# Paceline join file 1";
constexpr size_t kMaxAddressBytes = 300;  // a DNS name has 253, then the port

std::string_view FirstLineOf(TokenKind kind) { return kind == TokenKind::kJoin ? kJoinFirstLine : kTokenFirstLine; }

std::string_view NextLine(std::string_view* rest) {
  const size_t end = std::min(rest->find('\n'), rest->size());
  const std::string_view line = rest->substr(0, end);
  rest->remove_prefix(std::min(end + 1, rest->size()));
  return line;
}

bool Printable(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

// Returns "" or why it cannot be used.
std::string ParseParts(std::string_view rest, TokenKind kind, AccessFile* access) {
  const std::string_view first = NextLine(&rest);
  if (first != FirstLineOf(kind)) {
    const bool other = first == FirstLineOf(kind == TokenKind::kJoin ? TokenKind::kPerson : TokenKind::kJoin);
    if (!other) return "its first line is not \"" + std::string(FirstLineOf(kind)) + "\"";
    return kind == TokenKind::kJoin ? "it is a token file of a person" : "it is a join file, for mrworker --join";
  }
  while (!rest.empty()) {
    const std::string_view line = NextLine(&rest);
    if (line.empty()) break;
    if (line.starts_with('#')) continue;
    const size_t space = std::min(line.find(' '), line.size());
    const std::string_view name = line.substr(0, space);
    const std::string_view value = line.substr(std::min(space + 1, line.size()));
    if (name == "master" && kind == TokenKind::kJoin && Printable(value) && value.size() <= kMaxAddressBytes) {
      access->master = value;
    } else if (name == "cluster" && ParseCluster(value).ok()) {
      access->cluster_id = *ParseCluster(value);
    } else if (name == "token") {
      access->token = Secret<std::string>(std::string(value));
    } else {
      // Not the line itself, which may be a token that lost its name.
      return "it has a line that is not known, or has a bad value";
    }
  }
  access->authority = rest;
  if (access->cluster_id == 0 || access->token.Reveal().empty() ||
      (kind == TokenKind::kJoin && access->master.empty())) {
    return kind == TokenKind::kJoin ? "it needs the lines master, cluster and token"
                                    : "it needs the lines cluster and token";
  }
  const auto unchecked = ReadUncheckedToken(access->token.Reveal());
  if (!unchecked.ok()) return unchecked.status().message();
  if (unchecked->kind != kind) return "its token is of another kind";
  const auto authority = ReadCertificate(access->authority);
  if (!authority.ok() || !authority->authority) return "the certificate of the authority is missing or damaged";
  if (authority->cluster_id != access->cluster_id || unchecked->cluster_id != access->cluster_id) {
    return "its parts are of different clusters";
  }
  access->kind = kind;
  access->unchecked = *unchecked;
  return "";
}

}  // namespace

Secret<std::string> AccessText(const AccessFile& access) {
  std::string text;
  // Reserved whole, so that the token is in no buffer that the string has outgrown.
  text.reserve(512 + access.master.size() + access.token.Reveal().size() + access.authority.size());
  text += FirstLineOf(access.kind);
  if (access.kind == TokenKind::kJoin) {
    text += "\n# Whoever has it within its life can add one worker. Use: mrworker --join FILE\nmaster ";
    text += access.master;
  } else {
    text +=
        "\n# Whoever has it has its roles. Keep it as ~/.local/state/paceline/tokens/CLUSTER, or set MR_TOKEN_FILE.";
  }
  text += "\ncluster " + ClusterText(access.cluster_id) + "\ntoken ";
  text += access.token.Reveal();
  text += "\n\n";
  text += access.authority;
  return Secret<std::string>(std::move(text));
}

Result<AccessFile> ParseAccess(const Secret<std::string>& text, TokenKind kind, const std::string& name) {
  AccessFile access;
  if (const std::string why = ParseParts(text.Reveal(), kind, &access); !why.empty()) {
    return InvalidArgument(name + (kind == TokenKind::kJoin ? " is no join file: " : " is no token file: ") + why);
  }
  return access;
}

Result<AccessFile> ReadAccessFile(const std::string& path, TokenKind kind) {
  MR_ASSIGN_OR_RETURN(const Secret<std::string> text, ReadPrivateFile(path));
  return ParseAccess(text, kind, path);
}

}  // namespace mr::secure
