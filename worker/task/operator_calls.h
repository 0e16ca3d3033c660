// Calls into the operator of this process. A call returns a Status whatever the operator does, except for a crash.
// kInvalidArgument means that the user's operator or data is at fault.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "common/abi/operator_table.h"
#include "common/base/status.h"

namespace mr::task {

struct Operator {
  const mr_operator* table = nullptr;
  void* op = nullptr;
  // The cause of a failure, from host->fail() or from a callback here. It takes precedence over the return code that
  // follows.
  Status failure;
  bool final = false;  // the cause is the input alone: another attempt would fail in the same way
  std::string place;   // of the failure, if it is not the current record
  std::string name() const { return table != nullptr ? table->name : ""; }
};

// Runs `call`, which returns an int of the ABI. 0 is Ok.
template <class Call>
Status CallOperator(Operator& oper, const char* function, Call&& call) {
  int code = 0;
  const std::string where = "operator " + oper.name() + " " + function;
  try {
    code = call();
  } catch (const std::bad_alloc&) {
    return InvalidArgument(where + "() ran out of memory (std::bad_alloc); raise --memory");
  } catch (const std::exception& e) {
    return InvalidArgument(where + "() threw: " + e.what());
  } catch (...) {
    return InvalidArgument(where + "() threw something that is not a std::exception");
  }
  if (!oper.failure.ok()) return oper.failure;
  if (code != 0) return InvalidArgument(where + "() returned " + std::to_string(code) + " without a reason");
  return {};
}

}  // namespace mr::task
