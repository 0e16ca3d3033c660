// The cluster's certificates: its authority (CA), the master's, the workers'. By OpenSSL. No I/O and no clock:
// certificates and keys are PEM texts, and the time is an argument.
//
// One authority signs both kinds, so a certificate's kind is its name, which the authority alone chooses:
// "master.<cluster id>" or "worker:<name>". Names in requests are ignored. All workers share a second name, so that a
// client of a data port can ask for any worker of this cluster.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/secure/keys.h"
#include "common/secure/unix_time.h"

namespace mr::secure {

inline constexpr Duration kAuthorityLife = kDay * 3652;  // ten years
inline constexpr Duration kNodeLife = kDay * 30;         // a stolen key without a deny-list is of use for so long
// A certificate is valid from so long before it was signed, for machines whose clock is behind (guess).
inline constexpr Duration kClockSkew = Seconds(3600);
inline constexpr size_t kMaxPemBytes = 16 << 10;  // ours have about 1 KiB

enum class NodeKind { kMaster, kWorker };

struct Certificate {
  std::string common_name;  // "master.<cluster id>", "worker:<name>", or of the authority
  uint64_t cluster_id = 0;  // of the authority that signed it, as its name says
  bool authority = false;
  std::string serial;  // hexadecimal
  UnixTime from, until;

  bool ExpiredAt(UnixTime now) const { return now >= until; }
  // Whole days that are left; 0 on the last day and after the end.
  int64_t DaysLeft(UnixTime now) const;
  // After two thirds of its life.
  bool RenewalDue(UnixTime now) const;
};

// Makes the self-signed certificate of a new authority, in PEM. Its name carries the cluster id.
Result<std::string> MakeAuthority(const PrivateKey& key, uint64_t cluster_id, UnixTime now);

// Signs the key of a new authority by the previous one, in PEM: what makes peers of the previous one trust the new one.
// Valid as long as the previous one. Errors: kInternal: OpenSSL.
Result<std::string> CrossSign(const PrivateKey& key, std::string_view previous, const PrivateKey& previous_key,
                              UnixTime now);
// Checks that `previous` signed `cross`, and that it is for the key of `current`. Errors: kInvalidArgument.
Status CheckCross(std::string_view cross, std::string_view current, std::string_view previous);

// Makes a request (PKCS#10) for a certificate of this key, in PEM. It has no name: the authority gives one.
Result<std::string> MakeRequest(const PrivateKey& key);

// Signs a request for the master or for the worker `name` (ignored for the master), in PEM. The certificate serves both
// ends of a connection. Errors: kInvalidArgument: the request is no PEM, its key is not P-256, its signature is wrong,
// or the name is bad; kInternal: OpenSSL.
Result<std::string> SignRequest(std::string_view request, NodeKind kind, std::string_view name,
                                std::string_view authority, const PrivateKey& authority_key, UnixTime now);

// Reads one certificate in PEM; checks no signature. Errors: kInvalidArgument: not one certificate, or not of Paceline.
Result<Certificate> ReadCertificate(std::string_view pem);

// Checks that the authority signed this node's certificate, that it has the usages of a node and is valid at `now`.
// Errors: kInvalidArgument: malformed; kNotAllowed: another authority, expired, not yet valid, or not a node's.
Result<Certificate> CheckNodeCertificate(std::string_view pem, std::string_view authority, UnixTime now);

// Checks that the certificate is for this key. Errors: kInvalidArgument.
Status CheckKeyFits(std::string_view certificate, const PrivateKey& key);

// Returns the SHA-256 of a certificate, 64 hexadecimal digits: what people compare. Errors: kInvalidArgument.
Result<std::string> Fingerprint(std::string_view pem);

}  // namespace mr::secure
