// The two frames between the hello and the first Cap'n Proto byte: the client's credential and the server's verdict.
// Encoding and decoding only; no I/O. Both frames are {u16 kind or code, u16 length, bytes}, little-endian.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "common/base/secret.h"
#include "common/base/status.h"

namespace mr::rpc {

// A frame with more is refused by its header, before its bytes are read.
inline constexpr size_t kCredentialBytes = 1024;
inline constexpr size_t kEntryVerdictBytes = 1024;
inline constexpr size_t kFrameHeaderBytes = 4;
using FrameHeader = std::array<uint8_t, kFrameHeaderBytes>;

// The numbers are on the wire. Zero is never valid.
enum class CredentialKind : uint16_t {
  kNothing = 1,  // no bytes: the connection itself proves the peer (unix socket, node's certificate), or nobody asks
  kSecret = 2,   // the daemon's secret, 32 bytes
  kToken = 3,    // a signed token of a person
  kJoin = 4,     // a token that may ask for a node's certificate
  kTicket = 5,   // for a worker: the master's word for a person (common/secure/ticket.h)
};

struct Credential {
  CredentialKind kind = CredentialKind::kNothing;
  Secret<std::string> bytes;
};

struct EntryVerdict {
  Code code = Code::kOk;
  Secret<std::string> proof;  // with kOk: proves the server to the client; may be empty
  std::string why;            // else: for people; shows nothing that the peer may not know
};

// Requires: the bytes fit. A longer reason of a verdict is cut.
Secret<std::string> EncodeCredential(const Credential& credential);
Secret<std::string> EncodeEntryVerdict(const EntryVerdict& verdict);

// Returns the number of bytes that follow the header. Errors: kInvalidArgument for an unknown kind or code, too many
// bytes, or a number of bytes that this kind does not have.
Result<size_t> CredentialLength(const FrameHeader& header);
Result<size_t> EntryVerdictLength(const FrameHeader& header);
// Makes the value from both parts. Requires: the header was accepted, and the bytes are as many as it says.
Credential DecodeCredential(const FrameHeader& header, Secret<std::string> bytes);
EntryVerdict DecodeEntryVerdict(const FrameHeader& header, Secret<std::string> bytes);

}  // namespace mr::rpc
