#include "jobs/mrctl/credentials.h"

#include <algorithm>

#include "common/secure/names.h"
#include "jobs/mrctl/json.h"
#include "jobs/mrctl/last_job.h"
#include "jobs/mrctl/render.h"

namespace mr::ctl {
namespace {

constexpr Duration kShownAfterEnd = secure::kDay * 7;

std::string SubjectOf(const secure::Token& token) {
  if (token.kind == secure::TokenKind::kPerson) return token.subject;
  return token.subject.empty() ? "any worker" : secure::WorkerSubject(token.subject);
}

std::string RolesOf(const secure::Token& token) {
  return token.kind == secure::TokenKind::kJoin ? "join" : secure::RoleNames(token.roles);
}

uint64_t UnixMs(secure::UnixTime time) { return static_cast<uint64_t>(std::max<int64_t>(0, time.seconds)) * 1000; }

Json JsonOf(const TokenRow& row) {
  const secure::Token& t = row.token;
  return Object({{"id", t.id},
                 {"subject", t.subject},
                 {"kind", t.kind == secure::TokenKind::kJoin ? "join" : "person"},
                 {"roles", secure::RoleNames(t.roles)},
                 {"issued_unix_ms", UnixMs(t.issued)},
                 {"expires_unix_ms", UnixMs(t.expires)},
                 {"state", row.state}});
}

}  // namespace

std::string TokenDirectory() {
  const std::string state = StateDirectory();
  return state.empty() ? "" : state + "/tokens";
}

std::string TokenPath(uint64_t cluster_id) {
  const std::string directory = TokenDirectory();
  return directory.empty() ? "" : directory + "/" + secure::ClusterText(cluster_id);
}

std::string RenderCluster(const ClusterMade& made, OutputForm form) {
  if (form != OutputForm::kTable) {
    const Json cluster = Object({{"id", secure::ClusterText(made.cluster_id)},
                                 {"data", made.data},
                                 {"subject", made.subject},
                                 {"token_file", made.token_file},
                                 {"join_file", made.join_file},
                                 {"fingerprint", made.fingerprint},
                                 {"commands", made.commands}});
    return form == OutputForm::kJson ? DumpJson(Object({{"version", 1}, {"cluster", cluster}})) : DumpJson(cluster);
  }
  std::string text;
  for (const std::string& command : made.commands) text += command + "\n";
  return text;
}

std::vector<TokenRow> TokenRows(const secure::TokenList& list, const std::vector<std::string>& keys,
                                secure::UnixTime now) {
  std::vector<TokenRow> rows;
  for (const auto& [id, token] : list.issued) {
    if (now - token.expires > kShownAfterEnd) continue;
    rows.push_back({token, list.used.contains(id)                                         ? "used"
                           : list.revoked.contains(id)                                    ? "revoked"
                           : now >= token.expires                                         ? "expired"
                           : std::find(keys.begin(), keys.end(), token.key) == keys.end() ? "rotated"
                                                                                          : "valid"});
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const TokenRow& a, const TokenRow& b) { return a.token.issued < b.token.issued; });
  return rows;
}

std::string RenderTokens(const std::vector<TokenRow>& rows, const secure::TokenList& list, OutputForm form) {
  if (form != OutputForm::kTable) {
    std::vector<Json> tokens;
    for (const TokenRow& row : rows) tokens.push_back(JsonOf(row));
    for (const std::string& subject : list.denied) {
      tokens.push_back(Object({{"id", subject}, {"subject", subject}, {"kind", "certificate"}, {"state", "revoked"}}));
    }
    return ListDocument("tokens", tokens, form);
  }
  Table table({"ID", "SUBJECT", "ROLES", "STATE", "ISSUED", "EXPIRES"});
  for (const TokenRow& row : rows) {
    table.Add({row.token.id, SubjectOf(row.token), RolesOf(row.token), row.state, DateTime(UnixMs(row.token.issued)),
               DateTime(UnixMs(row.token.expires))});
  }
  for (const std::string& subject : list.denied) table.Add({"-", subject, "worker", "revoked", "-", "-"});
  return table.Text();
}

std::string RenderToken(const TokenRow& row, const std::string& file, OutputForm form) {
  if (form == OutputForm::kTable) return file + "\n";
  Json token = JsonOf(row);
  token["file"] = file;
  return form == OutputForm::kJson ? DumpJson(Object({{"version", 1}, {"token", token}})) : DumpJson(token);
}

std::string RenderPage(const std::string& url, OutputForm form) {
  if (form == OutputForm::kTable) return url + "\n";
  const Json page = Object({{"id", url}});
  return form == OutputForm::kJson ? DumpJson(Object({{"version", 1}, {"page", page}})) : DumpJson(page);
}

}  // namespace mr::ctl
