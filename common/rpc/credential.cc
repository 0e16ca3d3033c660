#include "common/rpc/credential.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"

namespace mr::rpc {
namespace {

uint16_t NumberAt(const FrameHeader& header, size_t at) {
  return static_cast<uint16_t>(header[at] | header[at + 1] << 8);
}

Secret<std::string> Frame(uint16_t head, const std::string& bytes) {
  std::string frame;
  frame.reserve(kFrameHeaderBytes + bytes.size());  // never moved, which would leave a copy behind
  for (const size_t number : {size_t{head}, bytes.size()}) {
    frame.push_back(static_cast<char>(number & 255));
    frame.push_back(static_cast<char>(number >> 8 & 255));
  }
  frame += bytes;
  return Secret<std::string>(std::move(frame));
}

}  // namespace

Secret<std::string> EncodeCredential(const Credential& credential) {
  MR_CHECK(credential.bytes.Reveal().size() <= kCredentialBytes);
  return Frame(static_cast<uint16_t>(credential.kind), credential.bytes.Reveal());
}

Secret<std::string> EncodeEntryVerdict(const EntryVerdict& verdict) {
  const auto code = static_cast<uint16_t>(verdict.code);
  if (verdict.code != Code::kOk) return Frame(code, verdict.why.substr(0, kEntryVerdictBytes));
  MR_CHECK(verdict.proof.Reveal().size() <= kEntryVerdictBytes);
  return Frame(code, verdict.proof.Reveal());
}

Result<size_t> CredentialLength(const FrameHeader& header) {
  const size_t length = NumberAt(header, 2);
  if (length > kCredentialBytes) return InvalidArgument("the peer's credential is too long");
  switch (static_cast<CredentialKind>(NumberAt(header, 0))) {
    case CredentialKind::kNothing:
      if (length != 0) return InvalidArgument("the peer's credential has bytes where none belong");
      return length;
    case CredentialKind::kSecret:
    case CredentialKind::kToken:
    case CredentialKind::kJoin:
    case CredentialKind::kTicket:
      if (length == 0) return InvalidArgument("the peer's credential is empty");
      return length;
  }
  return InvalidArgument("the peer presents an unknown kind of credential");
}

Result<size_t> EntryVerdictLength(const FrameHeader& header) {
  const size_t length = NumberAt(header, 2);
  if (length > kEntryVerdictBytes) return InvalidArgument("the verdict is too long");
  if (NumberAt(header, 0) > static_cast<uint16_t>(Code::kInternal)) return InvalidArgument("the verdict is unknown");
  return length;
}

Credential DecodeCredential(const FrameHeader& header, Secret<std::string> bytes) {
  return {static_cast<CredentialKind>(NumberAt(header, 0)), std::move(bytes)};
}

EntryVerdict DecodeEntryVerdict(const FrameHeader& header, Secret<std::string> bytes) {
  EntryVerdict verdict;
  verdict.code = static_cast<Code>(NumberAt(header, 0));
  if (verdict.code == Code::kOk) {
    verdict.proof = std::move(bytes);
    return verdict;
  }
  // Printed by the client: no control characters of a hostile server.
  verdict.why = bytes.Reveal();
  std::replace_if(
      verdict.why.begin(), verdict.why.end(), [](char c) { return c >= 0 && (c < ' ' || c == 127); }, '?');
  return verdict;
}

}  // namespace mr::rpc
