#include "common/base/status.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace mr {

void CheckFailed(const char* file, int line, const char* condition, std::string_view detail) {
  std::fprintf(stderr, "%s:%d: check failed: %s %.*s\n", file, line, condition, static_cast<int>(detail.size()),
               detail.data());
  std::fflush(stderr);
  std::abort();
}

void NoValue(const Status& status) {
  MR_CHECK(status.ok(), "the value of a failed Result was used: " + status.ToString());
  std::abort();
}

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

Status::Status(Code code, std::string message)
    : failure_(code == Code::kOk ? nullptr : new Failure{code, std::move(message)}) {}

const Status::Failure* Status::Copy(const Failure& failure) { return new Failure(failure); }
void Status::Free(const Failure* failure) { delete failure; }

const std::string& Status::message() const {
  static const std::string* const none = new std::string;  // never destroyed: other static objects may ask for it
  return ok() ? *none : failure_->message;
}

std::string Status::ToString() const {
  if (ok()) return "ok";
  return std::string(CodeName(code())) + ": " + message();
}

Status Status::With(const std::string& context) const {
  if (ok()) return *this;
  return Status(code(), context + ": " + message());
}

Status InvalidArgument(std::string message) { return {Code::kInvalidArgument, std::move(message)}; }
Status NotFound(std::string message) { return {Code::kNotFound, std::move(message)}; }
Status Rejected(std::string message) { return {Code::kRejected, std::move(message)}; }
Status Unavailable(std::string message) { return {Code::kUnavailable, std::move(message)}; }
Status Corrupted(std::string message) { return {Code::kCorrupted, std::move(message)}; }
Status Internal(std::string message) { return {Code::kInternal, std::move(message)}; }

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
