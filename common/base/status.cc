#include "common/base/status.h"

#include <cerrno>
#include <cstring>

namespace mr {

const char* CodeName(Code code) {
  switch (code) {
    case Code::kOk: return "ok";
    case Code::kInvalidArgument: return "invalid_argument";
    case Code::kNotFound: return "not_found";
    case Code::kRejected: return "rejected";
    case Code::kOverloaded: return "overloaded";
    case Code::kUnavailable: return "unavailable";
    case Code::kCorrupted: return "corrupted";
    case Code::kDeadline: return "deadline";
    case Code::kCancelled: return "cancelled";
    case Code::kNotAllowed: return "not_allowed";
    case Code::kInternal: return "internal";
  }
  return "unknown";
}

std::string Status::ToString() const {
  if (ok()) return "ok";
  return std::string(CodeName(code_)) + ": " + message_;
}

Status Status::With(const std::string& context) const {
  if (ok()) return *this;
  return Status(code_, context + ": " + message_);
}

Status ErrnoStatus(int error, const std::string& what) {
  std::string message = what + ": " + std::strerror(error);
  switch (error) {
    case ENOENT: return {Code::kNotFound, std::move(message)};
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM: return {Code::kOverloaded, std::move(message)};
    case EACCES:
    case EPERM: return {Code::kNotAllowed, std::move(message)};
    default: return {Code::kInternal, std::move(message)};
  }
}

}  // namespace mr
