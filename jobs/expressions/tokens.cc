#include "jobs/expressions/tokens.h"

#include <algorithm>
#include <cctype>

namespace mr::expr {
namespace {

bool IsNameStart(char c) { return c == '_' || std::isalpha(static_cast<unsigned char>(c)) || (c & 0x80) != 0; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsName(char c) { return IsNameStart(c) || IsDigit(c) || c == '$'; }
bool IsBlank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Returns the end of a token in quotes that begins at `at`, or npos. A doubled quote is a part of it.
size_t QuotedEnd(std::string_view text, size_t at) {
  const char close = text[at] == '[' ? ']' : text[at];
  for (size_t end = at + 1; end < text.size(); ++end) {
    if (text[end] != close) continue;
    if (close == ']' || end + 1 == text.size() || text[end + 1] != close) return end + 1;
    ++end;
  }
  return text.npos;
}

size_t NumberEnd(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && (IsName(text[end]) || text[end] == '.')) {
    const bool exponent = (text[end] | 0x20) == 'e' && end + 1 < text.size() &&
                          (text[end + 1] == '+' || text[end + 1] == '-') && text.substr(at, 2) != "0x" &&
                          text.substr(at, 2) != "0X";
    end += exponent ? 2 : 1;
  }
  return end;
}

size_t OperatorEnd(std::string_view text, size_t at) {
  for (const std::string_view op : {"->>", "||", "<=", ">=", "<>", "!=", "==", "<<", ">>", "->"}) {
    if (text.substr(at, op.size()) == op) return at + op.size();
  }
  return at + 1;
}

// Returns the expression between two tokens, with the blanks at its ends removed.
std::string TextOf(std::string_view list, const std::vector<Token>& tokens, size_t from, size_t to) {
  const size_t begin = tokens[from].at, end = tokens[to - 1].at + tokens[to - 1].text.size();
  return std::string(list.substr(begin, end - begin));
}

bool IsAnyName(const Token& token) {
  return token.kind == Token::Kind::kName || token.kind == Token::Kind::kQuotedName;
}

}  // namespace

std::vector<Token> Tokenize(std::string_view text, std::string* wrong) {
  std::vector<Token> tokens;
  const auto refuse = [&](std::string why) {
    *wrong = std::move(why);
    return std::vector<Token>();
  };
  int depth = 0;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (IsBlank(c)) {
      ++at;
      continue;
    }
    if (c == '\0') return refuse("it has a zero byte");
    size_t end = at + 1;
    Token token{Token::Kind::kOperator, {}, at};
    if (text.substr(at, 2) == "--" || text.substr(at, 2) == "/*") {
      return refuse("it has a comment ('" + std::string(text.substr(at, 2)) + "')");
    } else if (c == '\'' || c == '"' || c == '`' || c == '[') {
      end = QuotedEnd(text, at);
      if (end == text.npos) {
        return refuse(std::string(c == '\'' ? "a text" : "a name") + " that begins with " + c +
                      " does not end: " + std::string(text.substr(at, 40)));
      }
      token.kind = c == '\'' ? Token::Kind::kText : Token::Kind::kQuotedName;
    } else if (IsNameStart(c)) {
      while (end < text.size() && IsName(text[end])) ++end;
      token.kind = Token::Kind::kName;
      if ((c == 'x' || c == 'X') && end == at + 1 && end < text.size() && text[end] == '\'') {
        end = QuotedEnd(text, end);
        if (end == text.npos) return refuse("a blob does not end: " + std::string(text.substr(at, 40)));
        token.kind = Token::Kind::kText;
      }
    } else if (IsDigit(c) || (c == '.' && at + 1 < text.size() && IsDigit(text[at + 1]))) {
      end = NumberEnd(text, at);
      token.kind = Token::Kind::kNumber;
    } else if (c == '?' || c == ':' || c == '@' || c == '#' || c == '$') {
      return refuse(std::string("'") + c +
                    "' is no operator; a name with such a character is written in double quotes");
    } else if (c == ';') {
      return refuse("it has a semicolon; give one expression");
    } else {
      end = OperatorEnd(text, at);
    }
    token.text = text.substr(at, end - at);
    depth += token.text == "(" ? 1 : token.text == ")" ? -1 : 0;
    if (depth < 0) return refuse("a parenthesis is closed that was not opened");
    tokens.push_back(token);
    at = end;
  }
  if (depth > 0) return refuse("a parenthesis is not closed");
  return tokens;
}

std::string Unquoted(const Token& token) {
  if (token.kind != Token::Kind::kQuotedName && token.kind != Token::Kind::kText) return std::string(token.text);
  std::string out;
  const char close = token.text.back();
  for (size_t i = 1; i + 1 < token.text.size(); ++i) {
    out += token.text[i];
    if (token.text[i] == close && token.text[i + 1] == close) ++i;
  }
  return out;
}

std::string QuoteName(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) out.append(c == '"' ? 2 : 1, c);
  return out + '"';
}

std::string QuoteText(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out.append(c == '\'' ? 2 : 1, c);
  return out + '\'';
}

bool SameName(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

std::vector<SelectItem> SplitSelect(std::string_view list, std::string* wrong) {
  std::vector<SelectItem> items;
  const std::vector<Token> tokens = Tokenize(list, wrong);
  if (!wrong->empty()) return {};
  for (size_t from = 0; from <= tokens.size();) {
    size_t to = from;
    for (int depth = 0; to < tokens.size() && (depth > 0 || tokens[to].text != ","); ++to) {
      depth += tokens[to].text == "(" ? 1 : tokens[to].text == ")" ? -1 : 0;
    }
    if (from == to) {
      *wrong = tokens.empty() ? "it is empty" : "an element is empty: write NAME = EXPRESSION between the commas";
      return {};
    }
    const size_t n = to - from;
    SelectItem item;
    size_t begin = from, end = to;
    if (n == 1 && tokens[from].text == "*") {
      items.push_back(item);
      from = to + 1;
      continue;
    }
    if (n > 2 && IsAnyName(tokens[from]) && tokens[from + 1].text == "=") {
      item.name = Unquoted(tokens[from]);
      begin = from + 2;
    } else if (n > 2 && IsAnyName(tokens[to - 1]) && SameName(tokens[to - 2].text, "as")) {
      item.name = Unquoted(tokens[to - 1]);
      end = to - 2;
    } else if (n == 1 && IsAnyName(tokens[from])) {
      item.name = Unquoted(tokens[from]);
    } else {
      *wrong =
          "'" + TextOf(list, tokens, from, to) + "' has no name; write it as NAME = " + TextOf(list, tokens, from, to);
      return {};
    }
    item.expression = TextOf(list, tokens, begin, end);
    if (end - begin == 1 && IsAnyName(tokens[begin])) item.column = Unquoted(tokens[begin]);
    if (item.name.empty()) {
      *wrong = "an element has an empty name";
      return {};
    }
    for (const SelectItem& other : items) {
      if (!other.name.empty() && other.name == item.name) {
        *wrong = "it names '" + item.name + "' twice";
        return {};
      }
    }
    items.push_back(std::move(item));
    from = to + 1;
  }
  return items;
}

}  // namespace mr::expr
