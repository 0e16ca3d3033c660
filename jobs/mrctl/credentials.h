// Output of `cluster` and `token`, and where mrctl keeps token files. Pure but for TokenPath, which reads the
// environment.
#pragma once

#include <string>
#include <vector>

#include "common/secure/token_log.h"
#include "jobs/mrctl/options.h"

namespace mr::ctl {

// Returns the directory of this user's tokens, "" without a home directory.
std::string TokenDirectory();
// Returns the file in which this user keeps the token of a cluster: $XDG_STATE_HOME/paceline/tokens/CLUSTER. "" without
// a home directory.
std::string TokenPath(uint64_t cluster_id);

// The files and commands that `cluster init` has made.
struct ClusterMade {
  uint64_t cluster_id = 0;
  std::string data, subject, token_file, join_file, fingerprint;
  std::vector<std::string> commands;  // to go on with
};
std::string RenderCluster(const ClusterMade& made, OutputForm form);

struct TokenRow {
  secure::Token token;
  std::string state;  // "valid", "expired", "revoked", "used"; "rotated": its key is no longer trusted
};
// Returns the tokens in the order in which they were issued. Those that ended over a week ago are left out: they are of
// no use to anybody. keys: ids of those that check tokens.
std::vector<TokenRow> TokenRows(const secure::TokenList& list, const std::vector<std::string>& keys,
                                secure::UnixTime now);
std::string RenderTokens(const std::vector<TokenRow>& rows, const secure::TokenList& list, OutputForm form);
// file: that has the new token.
std::string RenderToken(const TokenRow& row, const std::string& file, OutputForm form);

// A link to the master's pages. JSON: schema/page.json.
std::string RenderPage(const std::string& url, OutputForm form);

}  // namespace mr::ctl
