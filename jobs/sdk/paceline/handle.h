// Handles of operators, which stand for their names in a typed plan (typed_plan.h).
#pragma once

#include <string>
#include <utility>

namespace mr {

// An operator of a library, with its class as its type. Library::Operator and the lambda forms of Library return it; a
// plan function captures it by value. Cost: a copy is that of the name.
template <class Op>
class OperatorHandle {
 public:
  // The operator class.
  using Operator = Op;

  // Requires: the library has an operator of class Op under this name. Prefer Library::Operator, which adds it.
  explicit OperatorHandle(std::string name) : name_(std::move(name)) {}
  // Returns the operator's name, as in plans and logs.
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

}  // namespace mr
