// How operators and plans say no. Nothing thrown here, or by user code, crosses the C ABI: every
// entry runs inside Guard(), which turns an exception into text for the host.
#pragma once

#include <cxxabi.h>

#include <cstdlib>
#include <exception>
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
