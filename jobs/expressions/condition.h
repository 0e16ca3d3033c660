// Conditions on plain columns, without SQLite: comparisons with constants and other columns, IN, BETWEEN, IS NULL,
// substr, AND, OR, NOT. They give the results that SqlEngine gives, several times as fast. Thread: const members are
// safe for concurrent use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/expressions/cell.h"
#include "jobs/expressions/tokens.h"
#include "jobs/expressions/types.h"

namespace mr::expr {

// A part of a text column: substr(COLUMN, FROM [, LENGTH]) with FROM >= 1, in characters of UTF-8.
struct Substring {
  uint32_t column = 0;
  uint64_t from = 1, length = UINT64_MAX;
  // Returns the part of a text.
  std::string_view Of(std::string_view text) const;
};

// Returns the part of a text column that the tokens name, or nothing if they are anything else.
std::optional<Substring> ParseSubstring(const std::vector<Token>& tokens, const std::vector<Column>& columns);

class Condition {
 public:
  // Returns the condition, or nothing if it is beyond this class.
  static std::optional<Condition> Parse(const std::vector<Token>& tokens, const std::vector<Column>& columns);

  // Returns whether the row passes: the condition is true, not false or unknown. cells: one per column.
  bool Holds(const Cell* cells) const { return Evaluate(root_, cells) == Truth::kTrue; }
  // Returns the indexes of the columns that it reads, in ascending order.
  const std::vector<uint32_t>& columns() const { return used_; }

 private:
  friend class ConditionParser;
  enum class Truth : uint8_t { kFalse, kTrue, kUnknown };
  enum class Op : uint8_t { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual };
  struct Operand {
    enum class Kind : uint8_t { kColumn, kSubstring, kInt, kReal, kText } kind = Kind::kColumn;
    Type type = Type::kText;
    uint32_t column = 0;
    Substring part;
    int64_t whole = 0;
    double real = 0;
    std::string text;
  };
  struct Node {
    enum class Kind : uint8_t { kAnd, kOr, kNot, kCompare, kIn, kIsNull } kind = Kind::kCompare;
    Op op = Op::kEqual;
    uint32_t left = 0, right = 0;    // nodes; for kCompare, kIn and kIsNull: left is an operand, right may be one
    std::vector<int64_t> integers;   // kIn, sorted
    std::vector<std::string> texts;  // kIn, sorted
  };

  Truth Evaluate(uint32_t node, const Cell* cells) const;
  Truth Compare(const Node& node, const Cell* cells) const;
  Truth In(const Node& node, const Cell* cells) const;
  Cell ValueOf(const Operand& operand, const Cell* cells) const;

  std::vector<Node> nodes_;
  std::vector<Operand> operands_;
  std::vector<uint32_t> used_;
  uint32_t root_ = 0;
};

}  // namespace mr::expr
