// Exceptions of operators and plans. No exception of this file or of user code crosses the C ABI: every entry runs
// inside Guard(), which turns it into text for the host.
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

// Ends the attempt or the plan with this text. Any other exception is shown with its type before the text:
// "std::out_of_range: map::at".
class JobError : public std::exception {
 public:
  // message: a text for the user.
  explicit JobError(std::string message) : message_(std::move(message)) {}

  // Returns the text.
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};

// A plan that is wrong whatever the arguments of the job are, such as two stages with one name. `mrctl sdk check`
// reports it; a plan that throws another JobError is taken for one that needs arguments.
class PlanError : public JobError {
 public:
  // message: a text for the user.
  using JobError::JobError;
};

// Skips one record, line or group that cannot be used. Throw it while that one is mapped, reduced or joined. With
// submit --max-bad-records N the record is counted (counter "mr", "bad_records", of winning attempts) and written with
// its place to the attempt's log. More than N bad records of all tasks together fail the job at once. Default: 0, the
// first one fails it.
// Records that were emitted for it are taken back, up to 128 KiB per port. State in the operator's members is not
// restored. Thrown elsewhere (Open, Combine, Side, End, a BlockMapper's Map) it is like any other exception. Operators
// that parse blocks or batches call context().SkipRecord per bad record.
class BadRecord : public JobError {
 public:
  // message: a text for the user.
  using JobError::JobError;
};

// A failure of the environment, such as a service, a disk or a licence, that may not occur again or not on another
// worker. It does not count against --max-attempts. The job fails after 8 such failures of a task on three workers, or
// on all eligible workers, and after 100 in any case.
class RetryableError : public JobError {
 public:
  // message: a text for the user.
  using JobError::JobError;
};

// A failure that each attempt would meet, since it follows from the input's bytes or the job's settings. Examples: a
// table without the column, a file that is no picture. The job fails at once, whatever --max-attempts is. All attempts
// read the same bytes: blocks of the store are verified, and a file:// input is one file for all workers. For a single
// record that cannot be used throw BadRecord.
class FinalError : public JobError {
 public:
  // message: a text for the user.
  using JobError::JobError;
};

namespace sdk {

// Unwinds an attempt that the host has ended (emit or next_batch returned so). It is not reported.
struct AttemptOver {};

inline mr_bytes Bytes(std::string_view s) { return {s.data(), s.size()}; }
inline std::string_view View(mr_bytes b) { return {b.data, static_cast<size_t>(b.size)}; }

// Returns the text of the current exception. Requires: called inside a catch block.
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
    rlimit data;  // set by the host
    if (getrlimit(RLIMIT_DATA, &data) != 0 || data.rlim_cur == RLIM_INFINITY) {
      return "it ran out of memory (" + type + ")";
    }
    const char* const of_job = std::getenv("MR_MEMORY_LIMIT");
    const bool by_default = of_job != nullptr && std::string_view(of_job) == "0";
    return "it ran out of memory (" + type + "): the attempt may have " + std::to_string(data.rlim_cur >> 20) + " MiB" +
           (by_default ? " (the default: the worker's memory over its slots, or its --task_memory_bytes)" : "") +
           "; raise --memory, or keep less";
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

// Returns the kind of the current exception. Requires: called inside a catch block.
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

// Reports the current exception to the host. Requires: called inside a catch block.
inline void FailBecause(const mr_host* host, const std::string& why) {
  const mr_failure failure = FailureOf();
  if (!MR_HAS(host, fail_as) || failure == MR_FAILURE_USER) return host->fail(host->context, Bytes(why));
  host->fail_as(host->context, failure, Bytes(why));
}

// Runs f. Returns 0, or 1 after `fail` received the reason. AttemptOver returns 1 without a call of `fail`.
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
      fail(std::string());  // no memory for a message; an empty string needs none
    }
    return 1;
  }
}

}  // namespace sdk
}  // namespace mr
