// How operators and plans say no. Nothing thrown here, or by user code, crosses the C ABI: every
// entry runs inside Guard(), which turns an exception into text for the host.
#pragma once

#include <cxxabi.h>
#include <sys/resource.h>

#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>

#include "common/abi/operator_table.h"

namespace mr {

// Thrown by an operator or a plan to end with this text alone. Any other exception is shown with
// its type in front: "std::out_of_range: map::at".
class JobError : public std::exception {
 public:
  explicit JobError(std::string message) : message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};

// Thrown while a record, line or group is mapped, reduced or joined: this one cannot be used, the next ones can. Where
// the job was submitted with --max-bad-records N it is skipped, counted (counter "mr", "bad_records"; of winning
// attempts) and written to the attempt's log with its place; one more than N in all tasks together fails the job, at
// once. The default is 0: the first one fails it. What it emitted before is taken back, as long as that is at most 128
// KiB per port; what operators keep in their members is theirs to keep right. Thrown anywhere else (Open, Combine,
// Side, End, a BlockMapper's Map) it is an exception as any other: operators that take blocks or batches apart
// themselves call context().SkipRecord for each bad record.
class BadRecord : public JobError {
 public:
  using JobError::JobError;
};

// Not the operator's fault, nor the input's: something around it (a service, a disk, a licence) failed that may work
// the next time or on another worker. Costs nothing of the task's budget of failures (--max-attempts); the job fails
// when the task has met it 8 times on all the workers there are, or on three, or 100 times in all.
class RetryableError : public JobError {
 public:
  using JobError::JobError;
};

// The input, or what the job was told, is at fault, and each attempt would find the same: a table has no such column, a
// file is no picture. The job fails at once, whatever --max-attempts says. Only for what follows from the bytes of the
// input alone: they are the same for all attempts (what the block store gives is checked, a damaged replica is
// another's affair; a file:// input is one file for all workers). A single record that is no good is a BadRecord.
class FinalError : public JobError {
 public:
  using JobError::JobError;
};

namespace sdk {

// The host has ended the attempt (emit or next_batch said so): unwind, say nothing.
struct AttemptOver {};

inline mr_bytes Bytes(std::string_view s) { return {s.data(), s.size()}; }
inline std::string_view View(mr_bytes b) { return {b.data, static_cast<size_t>(b.size)}; }

// REQUIRES: called inside a catch block.
inline std::string DescribeException() {
  std::string type = "unknown exception";
  if (const std::type_info* info = abi::__cxa_current_exception_type()) {
    int status = 0;
    char* name = abi::__cxa_demangle(info->name(), nullptr, nullptr, &status);
    type = status == 0 && name != nullptr ? name : info->name();
    std::free(name);
  }
  try {
    throw;
  } catch (const JobError& e) {
    return e.what();
  } catch (const std::bad_alloc&) {
    rlimit data;  // where --memory is set, the host has set this
    const bool limited = getrlimit(RLIMIT_DATA, &data) == 0 && data.rlim_cur != RLIM_INFINITY;
    return "it ran out of memory (" + type + ")" +
           (limited
                ? ": the attempt may have " + std::to_string(data.rlim_cur >> 20) + " MiB; raise --memory, or keep less"
                : "");
  } catch (const std::exception& e) {
    return type + ": " + e.what();
  } catch (const std::string& text) {
    return "std::string thrown: " + text;
  } catch (const char* text) {
    return std::string("text thrown: ") + text;
  } catch (...) {
    return type + " thrown (it is not a std::exception, so it has no message)";
  }
}

// REQUIRES: called inside a catch block.
inline mr_failure FailureOf() {
  try {
    throw;
  } catch (const RetryableError&) {
    return MR_FAILURE_RETRYABLE;
  } catch (const FinalError&) {
    return MR_FAILURE_FINAL;
  } catch (...) {
    return MR_FAILURE_USER;
  }
}

// Tells the host why the call that is running fails. REQUIRES: called inside a catch block.
inline void FailBecause(const mr_host* host, const std::string& why) {
  const mr_failure failure = FailureOf();
  if (!MR_HAS(host, fail_as) || failure == MR_FAILURE_USER) return host->fail(host->context, Bytes(why));
  host->fail_as(host->context, failure, Bytes(why));
}

// Runs f; 0, or 1 after `fail` was given the reason (nothing for AttemptOver).
template <class F, class Fail>
int Guard(F&& f, Fail&& fail) noexcept {
  try {
    f();
    return 0;
  } catch (const AttemptOver&) {
    return 1;
  } catch (...) {
    try {
      fail(DescribeException());
    } catch (...) {
      fail(std::string());  // no memory for a message: an empty string needs none
    }
    return 1;
  }
}

}  // namespace sdk
}  // namespace mr
