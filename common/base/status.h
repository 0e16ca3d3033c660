// Status and Result: the outcome of an operation that can fail. The code shows the caller what to do next.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "common/base/check.h"

namespace mr {

// Error codes. The numbers are on the wire and in the journal: never reuse one.
enum class Code : uint8_t {
  kOk = 0,
  kInvalidArgument = 1,  // the request must change
  kNotFound = 2,         // the object does not exist
  kRejected = 3,         // well-formed, but refused by state or quota (exists, not empty, id reused)
  kOverloaded = 4,       // retry later, with back-off
  kUnavailable = 5,      // reconnect and repeat; the call may or may not have happened
  kCorrupted = 6,        // never retry the same replica; use another
  kDeadline = 7,         // time ran out
  kCancelled = 8,        // somebody cancelled it
  kNotAllowed = 9,       // not authenticated or not allowed
  kInternal = 10,        // a bug in Paceline
};

// Returns the lower-case name of the code, for messages and JSON ("not_found").
const char* CodeName(Code code);

// Success, or a code with a message. As large as a pointer, which is null for success, so that success costs nothing to
// make, move and destroy.
class [[nodiscard]] Status {
 public:
  Status() = default;  // ok
  // Makes a status. A message with kOk is dropped.
  Status(Code code, std::string message);
  Status(const Status& other) : failure_(other.ok() ? nullptr : Copy(*other.failure_)) {}
  Status(Status&& other) noexcept : failure_(std::exchange(other.failure_, nullptr)) {}
  Status& operator=(const Status& other) {
    if (this != &other) *this = Status(other);
    return *this;
  }
  Status& operator=(Status&& other) noexcept {
    std::swap(failure_, other.failure_);
    return *this;
  }
  ~Status() {
    if (failure_ != nullptr) Free(failure_);
  }

  static Status Ok() { return {}; }
  bool ok() const { return failure_ == nullptr; }
  Code code() const { return ok() ? Code::kOk : failure_->code; }
  const std::string& message() const;  // "" for success
  // Returns code and message: "not_found: /a/b does not exist".
  std::string ToString() const;
  // Returns the same code with the message "context: message". context: the operation that failed.
  Status With(const std::string& context) const;

 private:
  struct Failure {
    Code code;
    std::string message;
  };
  static const Failure* Copy(const Failure& failure);
  static void Free(const Failure* failure);
  const Failure* failure_ = nullptr;  // owned
};

Status InvalidArgument(std::string message);
Status NotFound(std::string message);
Status Rejected(std::string message);
Status Unavailable(std::string message);
Status Corrupted(std::string message);
Status Internal(std::string message);
// Returns a Status for an errno, with strerror() after the message: kNotFound for ENOENT, kOverloaded for
// ENOSPC/EDQUOT/EMFILE/ENFILE/ENOMEM, kNotAllowed for EACCES/EPERM, else kInternal.
Status ErrnoStatus(int error, const std::string& what);

// Ends the process. Called when code uses the value of a Result that has none.
[[noreturn, gnu::cold]] void NoValue(const Status& status);

// A value, or the Status with the reason why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT: implicit by design
  Result(Status status) : status_(std::move(status)) {  // NOLINT
    MR_CHECK(!status_.ok(), "a Result without a value needs a reason");
  }

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& value() & {
    if (!ok()) [[unlikely]]
      NoValue(status_);
    return *value_;
  }
  const T& value() const& {
    if (!ok()) [[unlikely]]
      NoValue(status_);
    return *value_;
  }
  // Returns by value, so that in `for (auto& x : *F())` the value lives as long as the loop.
  T value() && {
    if (!ok()) [[unlikely]]
      NoValue(status_);
    return std::move(*value_);
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace mr

#define MR_RETURN_IF_ERROR(expression)                                               \
  do {                                                                               \
    if (::mr::Status mr_status_ = (expression); !mr_status_.ok()) return mr_status_; \
  } while (false)

#define MR_CONCAT_(a, b) a##b
#define MR_CONCAT(a, b) MR_CONCAT_(a, b)
// MR_ASSIGN_OR_RETURN(auto x, F()) declares x with the value of F(), or returns its status from the function.
#define MR_ASSIGN_OR_RETURN(declaration, expression) \
  MR_ASSIGN_OR_RETURN_(MR_CONCAT(mr_result_, __LINE__), declaration, expression)
#define MR_ASSIGN_OR_RETURN_(result, declaration, expression) \
  auto result = (expression);                                 \
  if (!result.ok()) return result.status();                   \
  declaration = *std::move(result)
