#include "jobs/expressions/mistakes.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "jobs/expressions/sql_engine.h"

namespace mr::expr {
namespace {

bool Is(const Token& token, std::initializer_list<std::string_view> words) {
  return token.kind != Token::Kind::kText && token.kind != Token::Kind::kQuotedName &&
         std::any_of(words.begin(), words.end(), [&](std::string_view w) { return SameName(token.text, w); });
}

bool IsComparison(const Token& token) { return Is(token, {"=", "==", "<", "<=", ">", ">=", "!=", "<>", "between"}); }

// Returns whether an operand of a comparison ends before `at`: no operator that binds closer follows.
bool EndsBefore(const std::vector<Token>& tokens, size_t at) {
  return at == tokens.size() || Is(tokens[at], {")", ",", "and", "or", "then", "when", "else", "end"});
}
bool BeginsAt(const std::vector<Token>& tokens, size_t at) {
  return at == 0 || Is(tokens[at - 1], {"(", ",", "and", "or", "not", "then", "when", "else", "case", "between"});
}

// Functions whose result is text for every argument that is not NULL.
bool GivesText(const Token& token) {
  return Is(token, {"substr",         "substring",  "lower",  "upper",    "trim",     "ltrim",
                    "rtrim",          "replace",    "printf", "format",   "hex",      "quote",
                    "char",           "date",       "time",   "datetime", "strftime", "regexp_extract",
                    "regexp_replace", "split_part", "typeof", "time_text"});
}

// Functions whose result is a number for every argument that is not NULL.
bool GivesNumber(const Token& token) { return Is(token, {"to_time", "unixepoch", "julianday", "length", "instr"}); }

// Returns the index of the parenthesis that the one at `at` closes.
size_t Opening(const std::vector<Token>& tokens, size_t at) {
  int depth = 0;
  for (size_t i = at + 1; i-- > 0;) {
    depth += tokens[i].text == ")" ? 1 : tokens[i].text == "(" ? -1 : 0;
    if (depth == 0) return i;
  }
  return 0;
}
size_t Closing(const std::vector<Token>& tokens, size_t at) {
  int depth = 0;
  for (size_t i = at; i < tokens.size(); ++i) {
    depth += tokens[i].text == "(" ? 1 : tokens[i].text == ")" ? -1 : 0;
    if (depth == 0) return i;
  }
  return tokens.size() - 1;
}

// Returns the name of a column as expressions write it.
std::string QuoteIfNeeded(const std::string& name) {
  std::string wrong;
  const auto tokens = Tokenize(name, &wrong);
  const bool plain = wrong.empty() && tokens.size() == 1 && tokens[0].kind == Token::Kind::kName &&
                     tokens[0].text.size() == name.size() && !IsKeyword(name);
  return plain ? name : QuoteName(name);
}

const Column* TextColumn(const Token& token, const std::vector<Column>& columns) {
  if (token.kind != Token::Kind::kName && token.kind != Token::Kind::kQuotedName) return nullptr;
  const std::string name = Unquoted(token);
  const auto at = std::find_if(columns.begin(), columns.end(), [&](const Column& c) { return SameName(c.name, name); });
  return at == columns.end() || at->type != Type::kText ? nullptr : &*at;
}

// Returns why a column is text, and what to write in place of its use as a number. does: such as "compares".
std::string Refusal(const Column& column, std::string_view does, std::string_view type) {
  const std::string name = column.name;
  std::string text = "it " + std::string(does);
  const std::string cast = "CAST(" + QuoteIfNeeded(name) + " AS " + (type == "real" ? "REAL" : "INTEGER") + ")";
  const std::string other = type == "real" ? "int" : "real";
  if (!column.declared && !column.example.empty()) {
    return text + "; the column is text because it has '" + column.example +
           "'. If that stands for a missing value, give --null '" + column.example +
           "'; if it is a mistake in the data, give --types '" + name + "=" + std::string(type) + "' (or " + other +
           ") and --max-bad-records";
  }
  return text + "; declare --types '" + name + "=" + std::string(type) + "' (or " + other + "), convert it with " +
         cast;
}

std::string ComparisonRefusal(const Column& column, std::string_view number) {
  const std::string written(number);
  const std::string text =
      Refusal(column, "compares the text column '" + column.name + "' with the number " + written, "int");
  return text + (column.declared || column.example.empty() ? ", or write '" : "; for texts, write '") + written +
         "' in quotes";
}

std::string ArithmeticRefusal(const Column& column, const std::string& use) {
  const std::string text = Refusal(column, "takes the text column '" + column.name + "' for a number" + use, "real");
  if (column.declared || column.example.empty()) return text;
  return text + "; to convert each value, write CAST(" + QuoteIfNeeded(column.name) + " AS REAL)";
}

std::string NumberRefusal(std::string_view function, std::string_view text) {
  return "it compares the number of " + std::string(function) + "(...) with the text " + std::string(text) +
         "; write " +
         (SameName(function, "to_time") ? "to_time(" + std::string(text) + ")" : "a number without quotes");
}

// Returns the tokens in a plainer form: no parentheses around one token, no + before a number, a - before one as a part
// of it, and COLUMN for TABLE.COLUMN. `texts` keeps the text of new tokens.
std::vector<Token> Plain(std::vector<Token> tokens, std::deque<std::string>* texts) {
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i + 1 < tokens.size() && !changed; ++i) {
      const auto erase = [&](size_t at) { tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(at)); };
      const bool begins = i == 0 || Is(tokens[i - 1], {"(", ",", "and", "or", "not", "then", "when", "else", "case",
                                                       "between", "=", "==", "<", "<=", ">", ">=", "!=", "<>"});
      const bool call = i > 0 && tokens[i - 1].kind == Token::Kind::kName && !begins;
      if (tokens[i].text == "(" && i + 2 < tokens.size() && tokens[i + 2].text == ")" && !call &&
          tokens[i + 1].text != "(" && !(i > 0 && Is(tokens[i - 1], {"in"}))) {
        erase(i + 2);
        erase(i);
        changed = true;
      } else if ((tokens[i].text == "+" || tokens[i].text == "-") && begins &&
                 tokens[i + 1].kind == Token::Kind::kNumber) {
        texts->push_back((tokens[i].text == "-" ? "-" : "") + std::string(tokens[i + 1].text));
        tokens[i + 1].text = texts->back();
        erase(i);
        changed = true;
      } else if (tokens[i].text == "." && i > 0) {
        erase(i);
        erase(i - 1);
        changed = true;
      }
    }
  }
  return tokens;
}

// Returns whether the token is within the parentheses of a function of times.
bool IsTimeModifier(const std::vector<Token>& tokens, size_t at) {
  int depth = 0;
  for (size_t i = at; i-- > 0;) {
    depth += tokens[i].text == ")" ? 1 : tokens[i].text == "(" ? -1 : 0;
    if (depth < 0) {
      return i > 0 && Is(tokens[i - 1], {"date", "time", "datetime", "julianday", "unixepoch", "strftime"});
    }
  }
  return false;
}

// ---- Texts where SQL takes a number. SQL makes 0 of a text that is none, and 1 of '1,234'. ----

bool IsArithmetic(const Token& token) {
  return token.kind == Token::Kind::kOperator && Is(token, {"+", "-", "*", "/", "%", "&", "|", "<<", ">>", "~"});
}

// Functions whose first argument is a number.
bool TakesNumber(const Token& token) {
  return token.kind == Token::Kind::kName &&
         Is(token, {"abs",   "round", "sign", "ceil",  "ceiling", "floor",   "trunc", "sqrt",  "exp",    "ln",   "log",
                    "log10", "log2",  "pow",  "power", "mod",     "degrees", "sin",   "cos",   "tan",    "asin", "acos",
                    "atan",  "atan2", "sinh", "cosh",  "tanh",    "asinh",   "acosh", "atanh", "radians"});
}

// Functions whose result is one of their arguments.
bool GivesArgument(const Token& token) { return Is(token, {"coalesce", "ifnull", "nullif", "iif", "min", "max"}); }

// A text that is an operand: of a column, or of a function.
struct TextOperand {
  const Column* column = nullptr;
  std::string_view function;
  bool found() const { return column != nullptr || !function.empty(); }
};

TextOperand TextBetween(const std::vector<Token>& tokens, size_t from, size_t to, const std::vector<Column>& columns);

// Returns the first token and the end of each argument of the call whose parenthesis is at `open`.
std::vector<std::pair<size_t, size_t>> ArgumentsOf(const std::vector<Token>& tokens, size_t open) {
  std::vector<std::pair<size_t, size_t>> arguments;
  size_t begin = open + 1;
  int depth = 0;
  for (size_t i = open + 1; i < tokens.size() && depth >= 0; ++i) {
    depth += tokens[i].text == "(" ? 1 : tokens[i].text == ")" ? -1 : 0;
    if (depth > 0 || (depth == 0 && tokens[i].text != ",")) continue;
    arguments.emplace_back(begin, i);
    begin = i + 1;
  }
  return arguments;
}

// Returns the text that the tokens from `open`, a parenthesis, to `close` give, with the function before them.
TextOperand TextOfCall(const std::vector<Token>& tokens, size_t open, size_t close,
                       const std::vector<Column>& columns) {
  const bool call = open > 0 && tokens[open - 1].kind == Token::Kind::kName && !BeginsAt(tokens, open);
  if (!call) return TextBetween(tokens, open + 1, close, columns);
  // strftime's texts are numbers for most formats.
  if (GivesText(tokens[open - 1]) && !Is(tokens[open - 1], {"strftime"})) return {nullptr, tokens[open - 1].text};
  if (!GivesArgument(tokens[open - 1])) return {};
  const auto arguments = ArgumentsOf(tokens, open);
  const size_t first = Is(tokens[open - 1], {"iif"}) ? 1 : 0;
  const size_t end = Is(tokens[open - 1], {"nullif"}) ? 1 : arguments.size();
  for (size_t i = first; i < std::min(end, arguments.size()); ++i) {
    const TextOperand text = TextBetween(tokens, arguments[i].first, arguments[i].second, columns);
    if (text.found()) return text;
  }
  return {};
}

// Returns the text that a branch of the CASE gives which ends with the token at `end`.
TextOperand TextOfCase(const std::vector<Token>& tokens, size_t end, const std::vector<Column>& columns) {
  int depth = 0;  // of cases within cases and parentheses
  size_t to = end;
  for (size_t i = end; i-- > 0 && depth >= 0;) {
    if (Is(tokens[i], {")", "end"})) ++depth;
    if (Is(tokens[i], {"(", "case"})) --depth;
    if (depth != 0) continue;
    if (Is(tokens[i], {"then", "else"})) {
      if (const TextOperand text = TextBetween(tokens, i + 1, to, columns); text.found()) return text;
    }
    if (Is(tokens[i], {"when", "else"})) to = i;
  }
  return {};
}

// Returns the text that an expression gives if it is nothing but an operand.
TextOperand TextBetween(const std::vector<Token>& tokens, size_t from, size_t to, const std::vector<Column>& columns) {
  if (from >= to || to > tokens.size()) return {};
  if (to - from == 1) return {TextColumn(tokens[from], columns), {}};
  if (Is(tokens[from], {"case"}) && Is(tokens[to - 1], {"end"})) return TextOfCase(tokens, to - 1, columns);
  const size_t open = tokens[from].text == "(" ? from : from + 1;
  if (tokens[open].text != "(" || Closing(tokens, open) + 1 != to) return {};
  return TextOfCall(tokens, open, to - 1, columns);
}

// Returns the text that is the operand which ends before `end`, or begins at `begin`.
TextOperand TextBefore(const std::vector<Token>& tokens, size_t end, const std::vector<Column>& columns) {
  if (end == 0) return {};
  size_t begin = end - 1;
  if (Is(tokens[begin], {"end"})) return TextOfCase(tokens, begin, columns);
  if (tokens[begin].text == ")") {
    begin = Opening(tokens, begin);
    if (begin > 0 && tokens[begin - 1].kind == Token::Kind::kName && !BeginsAt(tokens, begin)) --begin;
  }
  // A path of JSON, or the name of a collation.
  if (begin > 0 && Is(tokens[begin - 1], {"->", "->>", "collate"})) return {};
  return TextBetween(tokens, begin, end, columns);
}
TextOperand TextAt(const std::vector<Token>& tokens, size_t begin, const std::vector<Column>& columns) {
  if (begin >= tokens.size()) return {};
  size_t end = begin + 1;
  if (tokens[begin].text == "(") {
    end = Closing(tokens, begin) + 1;
  } else if (end < tokens.size() && tokens[end].text == "(" && tokens[begin].kind == Token::Kind::kName) {
    end = Closing(tokens, end) + 1;
  }
  if (end < tokens.size() && Is(tokens[end], {"->", "->>"})) return {};
  return TextBetween(tokens, begin, end, columns);
}

std::string FindTextInArithmetic(const std::vector<Token>& tokens, const std::vector<Column>& columns) {
  const auto refusal = [](const TextOperand& text, const std::string& use) {
    if (text.column != nullptr) return ArithmeticRefusal(*text.column, use);
    const std::string function(text.function);
    if (function == "date" || function == "time" || function == "datetime") {
      return "it takes the text of " + function + "(...) for a number" + use +
             "; julianday(...) gives days, and unixepoch(...) seconds";
    }
    return "it takes the text of " + function + "(...) for a number" + use + "; write CAST(" + function +
           "(...) AS REAL), or AS INTEGER";
  };
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (IsArithmetic(tokens[i])) {
      const std::string use = " (operator " + std::string(tokens[i].text) + ")";
      const bool unary = BeginsAt(tokens, i) || IsComparison(tokens[i - 1]) || IsArithmetic(tokens[i - 1]) ||
                         Is(tokens[i - 1], {"||"});
      // A + before a text is no operation.
      if (unary && tokens[i].text == "+" && (i == 0 || !IsArithmetic(tokens[i - 1]))) continue;
      if (!unary) {
        if (const TextOperand text = TextBefore(tokens, i, columns); text.found()) return refusal(text, use);
      }
      size_t right = i + 1;
      while (right < tokens.size() && tokens[right].text == "+") ++right;
      if (const TextOperand text = TextAt(tokens, right, columns); text.found()) return refusal(text, use);
    } else if (TakesNumber(tokens[i]) && i + 1 < tokens.size() && tokens[i + 1].text == "(") {
      for (const auto& [from, to] : ArgumentsOf(tokens, i + 1)) {
        const TextOperand text = TextBetween(tokens, from, to, columns);
        if (text.found()) return refusal(text, " (function " + std::string(tokens[i].text) + ")");
      }
    }
  }
  return "";
}

}  // namespace

std::string FindMistake(const std::vector<Token>& given, const std::vector<Column>& columns) {
  std::deque<std::string> texts;
  const std::vector<Token> tokens = Plain(given, &texts);
  const auto number = [&](size_t at) { return at < tokens.size() && tokens[at].kind == Token::Kind::kNumber; };
  for (size_t i = 0; i < tokens.size(); ++i) {
    if ((SameName(tokens[i].text, "'localtime'") || SameName(tokens[i].text, "'utc'")) && IsTimeModifier(tokens, i)) {
      return "it uses " + std::string(tokens[i].text) +
             ", which depends on the time zone of each worker; times are UTC, and '+2 hours' shifts one";
    }
    if (!IsComparison(tokens[i]) || i == 0 || i + 1 == tokens.size()) continue;
    const bool between = Is(tokens[i], {"between"});
    const size_t left = between && i > 1 && Is(tokens[i - 1], {"not"}) ? i - 2 : i - 1;
    // TEXT op NUMBER
    if (number(i + 1) && EndsBefore(tokens, i + 2)) {
      const std::string written(tokens[i + 1].text);
      if (const Column* column = TextColumn(tokens[left], columns); column != nullptr && BeginsAt(tokens, left))
        return ComparisonRefusal(*column, written);
      if (tokens[left].text == ")") {
        const size_t open = Opening(tokens, left);
        if (open > 0 && GivesText(tokens[open - 1]) && BeginsAt(tokens, open - 1)) {
          return "it compares the text of " + std::string(tokens[open - 1].text) + "(...) with the number " + written +
                 "; write CAST(" + std::string(tokens[open - 1].text) + "(...) AS INTEGER), or '" + written +
                 "' in quotes";
        }
      }
    }
    const auto text = [&](size_t at) { return at < tokens.size() && tokens[at].kind == Token::Kind::kText; };
    // FUNCTION(...) op 'TEXT', where the function gives a number
    if (text(i + 1) && EndsBefore(tokens, i + 2) && tokens[left].text == ")") {
      const size_t open = Opening(tokens, left);
      if (open > 0 && GivesNumber(tokens[open - 1]) && BeginsAt(tokens, open - 1))
        return NumberRefusal(tokens[open - 1].text, tokens[i + 1].text);
    }
    if (!between && text(left) && BeginsAt(tokens, left) && i + 2 < tokens.size() && GivesNumber(tokens[i + 1]) &&
        tokens[i + 2].text == "(" && EndsBefore(tokens, Closing(tokens, i + 2) + 1)) {
      return NumberRefusal(tokens[i + 1].text, tokens[left].text);
    }
    // NUMBER op TEXT
    if (!between && number(left) && BeginsAt(tokens, left)) {
      const std::string written(tokens[left].text);
      if (const Column* column = TextColumn(tokens[i + 1], columns); column != nullptr && EndsBefore(tokens, i + 2))
        return ComparisonRefusal(*column, written);
      if (i + 2 < tokens.size() && GivesText(tokens[i + 1]) && tokens[i + 2].text == "(" &&
          EndsBefore(tokens, Closing(tokens, i + 2) + 1)) {
        return "it compares the number " + written + " with the text of " + std::string(tokens[i + 1].text) +
               "(...); write CAST(" + std::string(tokens[i + 1].text) + "(...) AS INTEGER), or '" + written +
               "' in quotes";
      }
    }
  }
  return FindTextInArithmetic(tokens, columns);
}

}  // namespace mr::expr
