#include "common/secure/join_file.h"

#include <algorithm>

#include "common/base/text.h"
#include "common/secure/certificate.h"
#include "common/secure/names.h"
#include "common/secure/token.h"

namespace mr::secure {
namespace {

constexpr std::string_view kFirstLine = "# Paceline join file 1";
constexpr size_t kMaxAddressBytes = 300;  // a DNS name has 253, then the port

Status NotOne(const std::string& why) {
  return InvalidArgument("not a join file: " + why + ". Make another: mrctl token create --join FILE");
}

std::string_view NextLine(std::string_view* rest) {
  const size_t end = std::min(rest->find('\n'), rest->size());
  const std::string_view line = rest->substr(0, end);
  rest->remove_prefix(std::min(end + 1, rest->size()));
  return line;
}

bool Printable(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

}  // namespace

Secret<std::string> JoinText(const JoinFile& join) {
  std::string text;
  // Reserved whole, so that the token is in no buffer that the string has outgrown.
  text.reserve(512 + join.master.size() + join.token.Reveal().size() + join.authority.size());
  text += kFirstLine;
  text += "\n# Whoever has it within 15 minutes can add one worker. Use: mrworker --join FILE\n";
  text += "master " + join.master + "\ncluster " + ClusterText(join.cluster_id) + "\ntoken ";
  text += join.token.Reveal();
  text += "\n\n";
  text += join.authority;
  return Secret<std::string>(std::move(text));
}

Result<JoinFile> ParseJoin(const Secret<std::string>& text) {
  std::string_view rest = text.Reveal();
  if (NextLine(&rest) != kFirstLine) return NotOne("its first line is not \"" + std::string(kFirstLine) + "\"");
  JoinFile join;
  while (!rest.empty()) {
    const std::string_view line = NextLine(&rest);
    if (line.empty()) break;
    if (line.starts_with('#')) continue;
    const size_t space = std::min(line.find(' '), line.size());
    const std::string_view name = line.substr(0, space);
    const std::string_view value = line.substr(std::min(space + 1, line.size()));
    if (name == "master" && Printable(value) && value.size() <= kMaxAddressBytes) {
      join.master = value;
    } else if (name == "cluster") {
      MR_ASSIGN_OR_RETURN(join.cluster_id, ParseCluster(value));
    } else if (name == "token") {
      join.token = Secret<std::string>(std::string(value));
    } else {
      return NotOne("the line '" + PrintableBytes(name.substr(0, 20)) + "' is unknown or has a bad value");
    }
  }
  join.authority = rest;
  if (join.master.empty() || join.cluster_id == 0 || join.token.Reveal().empty()) {
    return NotOne("it needs the lines master, cluster and token");
  }
  const auto unchecked = ReadUncheckedToken(join.token.Reveal());
  if (!unchecked.ok()) return NotOne(unchecked.status().message());
  if (unchecked->kind != TokenKind::kJoin) return NotOne("its token is one of a person");
  const auto authority = ReadCertificate(join.authority);
  if (!authority.ok() || !authority->authority) return NotOne("the certificate of the authority is missing or damaged");
  if (authority->cluster_id != join.cluster_id || unchecked->cluster_id != join.cluster_id) {
    return NotOne("its parts are of different clusters");
  }
  return join;
}

}  // namespace mr::secure
