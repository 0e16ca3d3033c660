#include "common/rpc/kj_status.h"

#include <string_view>

namespace mr::rpc {
namespace {

// Returns the exception's description: its full text has file paths. Removes the call from the text of a failed system
// call, which KJ writes as in its source: "::read(fd, buffer, maxBytes): Connection reset by peer".
std::string Description(const kj::Exception& exception) {
  std::string text(exception.getDescription().cStr());
  const size_t end = text.find("): ");
  if (text.starts_with("::") && end != std::string::npos) text.erase(0, end + 3);
  return text;
}

}  // namespace

Status FromException(const kj::Exception& exception) {
  std::string text = Description(exception);
  // Exceptions have no space for a code. The words before the colon are those of CodeName, and the first are KJ's.
  static constexpr std::string_view kRemote = "remote exception: ", kRefused = "not_allowed: ";
  std::string_view said = text;
  if (said.starts_with(kRemote)) said.remove_prefix(kRemote.size());
  if (exception.getType() == kj::Exception::Type::FAILED && said.starts_with(kRefused)) {
    return {Code::kNotAllowed, std::string(said.substr(kRefused.size()))};
  }
  switch (exception.getType()) {
    case kj::Exception::Type::DISCONNECTED: return Unavailable(std::move(text));
    case kj::Exception::Type::OVERLOADED: return {Code::kOverloaded, std::move(text)};
    case kj::Exception::Type::UNIMPLEMENTED:
      return Unavailable("the peer does not know this call (another release?): " + text);
    case kj::Exception::Type::FAILED: return Internal(std::move(text));
  }
  return Internal(std::move(text));
}

kj::Exception ToException(const Status& status) {
  kj::Exception::Type type = kj::Exception::Type::FAILED;
  if (status.code() == Code::kUnavailable) type = kj::Exception::Type::DISCONNECTED;
  if (status.code() == Code::kOverloaded) type = kj::Exception::Type::OVERLOADED;
  return kj::Exception(type, __FILE__, __LINE__, kj::str(status.ToString().c_str()));
}

Status FromOutcome(Outcome::Reader outcome) {
  const uint8_t code = outcome.getCode();
  if (code == 0) return Status::Ok();
  std::string message(outcome.getMessage().cStr());
  if (code > static_cast<uint8_t>(Code::kInternal)) return Internal(std::move(message));
  return {static_cast<Code>(code), std::move(message)};
}

void ToOutcome(const Status& status, Outcome::Builder out) {
  out.setCode(static_cast<uint8_t>(status.code()));
  if (!status.ok()) out.setMessage(status.message().c_str());
}

}  // namespace mr::rpc
