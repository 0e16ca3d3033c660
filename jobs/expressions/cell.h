// A value of an expression's column, or of an expression.
#pragma once

#include <cstdint>
#include <string_view>

namespace mr::expr {

struct Cell {
  enum class Kind : uint8_t { kNull, kInt, kReal, kText };
  Kind kind = Kind::kNull;
  int64_t whole = 0;      // kInt
  double real = 0;        // kReal
  std::string_view text;  // kText; valid as long as the row
};

}  // namespace mr::expr
