// Expressions over the measurements of runs, in study files: how a line's number is computed.
//
//   none.seconds / late.seconds              numbers and arithmetic
//   mean(less(ours.seconds, fair.seconds))   lists of numbers, entry by entry; one number goes with each entry
//   ours.seconds[3]                          the third entry; the first is 1
//   sum(ours.starved > fair.starved + 5)     a comparison is 1 or 0
//   max([a.seconds, b.seconds])              a list of values, joined
//
// Functions: less(a, b) (by how many percent a is less than b), mean, median, sum, min, max, sort, first,
// where(list, condition) (the entries with a condition other than 0), percentiles (the 1st to the 99th),
// quantile(list, share). A study can define further ones.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"

namespace mr::sim {

using Numbers = std::vector<double>;              // a single number is a list of one
using Measures = std::map<std::string, Numbers>;  // by name, for one run

struct Term;  // a node of a parsed expression

// A function that a study defines: its parameters stand for values, or for runs in `a.seconds`.
struct Macro {
  std::vector<std::string> parameters;
  std::shared_ptr<const Term> body;
};
using Macros = std::map<std::string, Macro>;

// Parses "name(a, b)" and the body, and adds the function. It may use those added before.
// Errors: kInvalidArgument.
Status AddMacro(const std::string& head, const std::string& body, Macros* macros);

class Expression {
 public:
  Expression() = default;
  // Errors: kInvalidArgument: not an expression, or an unknown function.
  static Result<Expression> Parse(const std::string& text, const Macros& macros);

  // Returns the (run, measurement) pairs that it reads.
  std::set<std::pair<std::string, std::string>> Reads() const;
  // Returns the value. Errors: kInvalidArgument: lists of different lengths, no such entry, or not one number.
  Result<double> Evaluate(const std::map<std::string, Measures>& runs) const;

 private:
  std::shared_ptr<const Term> root_;
};

}  // namespace mr::sim
