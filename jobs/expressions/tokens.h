// The tokens of SQL expressions, and what is known from them without a parser: whether the text is one expression,
// the items of a list, and comparisons that can only be mistakes. SQLite parses and runs the expressions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace mr::expr {

struct Token {
  enum class Kind { kName, kQuotedName, kText, kNumber, kOperator };
  Kind kind = Kind::kOperator;
  std::string_view text;  // as written, with its quotes
  size_t at = 0;          // offset in the expression, in bytes
};

// Splits an expression into tokens; comments and blanks are left out. Errors: *wrong is set to the reason if the text
// cannot be one expression: an open quote or comment, unbalanced parentheses, a semicolon, a parameter.
std::vector<Token> Tokenize(std::string_view text, std::string* wrong);

// Returns the name or text that a token stands for, without quotes.
std::string Unquoted(const Token& token);
// Returns the name as a quoted identifier, and the text as a literal.
std::string QuoteName(std::string_view name);
std::string QuoteText(std::string_view text);

// Returns whether two names are one for SQL: equal apart from the case of ASCII letters.
bool SameName(std::string_view a, std::string_view b);

// An element of --select: NAME = EXPRESSION, EXPRESSION AS NAME, COLUMN, or * for all columns.
struct SelectItem {
  std::string name;        // empty for *
  std::string expression;  // empty for *
  std::string column;      // the input's column if the expression is nothing but one, else empty
};

// Splits a --select at its commas. Errors: *wrong is set to the reason.
std::vector<SelectItem> SplitSelect(std::string_view list, std::string* wrong);

}  // namespace mr::expr
