#include "common/rpc/kj_status.h"

namespace mr::rpc {

Status FromException(const kj::Exception& exception) {
  // The description alone: an exception's full text carries file paths.
  std::string text(exception.getDescription().cStr());
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
