#include "jobs/expressions/mistakes.h"

#include <algorithm>
#include <deque>

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

const Column* TextColumn(const Token& token, const std::vector<Column>& columns) {
  if (token.kind != Token::Kind::kName && token.kind != Token::Kind::kQuotedName) return nullptr;
  const std::string name = Unquoted(token);
  const auto at = std::find_if(columns.begin(), columns.end(), [&](const Column& c) { return SameName(c.name, name); });
  return at == columns.end() || at->type != Type::kText ? nullptr : &*at;
}

std::string Refusal(const Column& column, std::string_view number) {
  std::string text = "it compares the text column '" + column.name + "' with the number " + std::string(number);
  if (!column.declared && !column.example.empty()) {
    return text + "; the column is text because it has '" + column.example +
           "'. If that stands for a missing value, "
           "give --null '" +
           column.example + "'; if it is a mistake in the data, give --types '" + column.name +
           "=int' (or real) and --max-bad-records; for texts, write '" + std::string(number) + "' in quotes";
  }
  return text + "; declare --types '" + column.name + "=int' (or real), convert it with CAST(" + column.name +
         " AS INTEGER), or write '" + std::string(number) + "' in quotes";
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
        return Refusal(*column, written);
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
        return Refusal(*column, written);
      if (i + 2 < tokens.size() && GivesText(tokens[i + 1]) && tokens[i + 2].text == "(" &&
          EndsBefore(tokens, Closing(tokens, i + 2) + 1)) {
        return "it compares the number " + written + " with the text of " + std::string(tokens[i + 1].text) +
               "(...); write CAST(" + std::string(tokens[i + 1].text) + "(...) AS INTEGER), or '" + written +
               "' in quotes";
      }
    }
  }
  return "";
}

}  // namespace mr::expr
