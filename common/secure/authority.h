// The authority of a cluster as the file ca.pem has it, also while it is rotated: replaced by a new one with a new key.
//
// During a rotation the new authority's key has two certificates: its own, and a cross certificate that the previous
// authority signed. A node sends the cross certificate with its own, so that peers that trust only the previous
// authority verify it, and peers that trust only the new one ignore it. Both authorities carry the same name, so the
// cross certificate is self-issued, and limits of path lengths do not count it (RFC 5280, 4.2.1.9). Their key ids
// differ. Pure: no I/O; the time is an argument.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/secure/certificate.h"
#include "common/secure/keys.h"

namespace mr::secure {

struct Authority {
  std::string current;   // signs certificates from now on, PEM
  std::string cross;     // the key of `current`, certified by `previous`; "" without a rotation in progress
  std::string previous;  // still trusted; "" without a rotation in progress

  bool rotating() const { return !previous.empty(); }
};

// Reads AuthorityText: one certificate, or three. Errors: kInvalidArgument: other certificates, or they do not belong
// together.
Result<Authority> ReadAuthority(std::string_view text);
// Returns the certificates in the order current, cross, previous.
std::string AuthorityText(const Authority& authority);

// Returns the authority with a new key, which the old one certifies. Requires: no rotation is in progress. Errors:
// kInvalidArgument: the key is not that of the authority; kInternal: OpenSSL.
Result<Authority> Rotated(const Authority& old, const PrivateKey& old_key, const PrivateKey& new_key, UnixTime now);

struct CheckedNode {
  Certificate certificate;
  bool previous = false;  // signed by the previous authority: to be renewed at once
};
// Checks a node's certificate by either authority. Errors: those of CheckNodeCertificate.
Result<CheckedNode> CheckNode(std::string_view pem, const Authority& authority, UnixTime now);

// Keys that check tokens: the first is that of new tokens; during a rotation there is a second one.
using TokenKeys = std::vector<PublicKey>;
// Reads one or two public keys in PEM. Errors: kInvalidArgument.
Result<TokenKeys> ReadTokenKeys(std::string_view text);

// Returns a text that is equal where the same authorities and keys are trusted, and printable.
std::string TrustText(const Authority& authority, const TokenKeys& keys);

}  // namespace mr::secure
