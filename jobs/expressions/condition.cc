#include "jobs/expressions/condition.h"

#include <algorithm>
#include <charconv>

namespace mr::expr {
namespace {

constexpr int kMostDepth = 100;  // of nested parentheses and NOTs; deeper ones are SQLite's

// Orders a whole and a real number exactly: a long double has all bits of both (x86). Returns -1, 0 or 1.
int OrderOf(int64_t a, double b) {
  static_assert(sizeof(long double) > sizeof(double), "needs the 64 bits of an int64_t");
  const auto x = static_cast<long double>(a), y = static_cast<long double>(b);
  return x < y ? -1 : x > y ? 1 : 0;
}

int OrderOf(const Cell& a, const Cell& b) {
  if (a.kind == Cell::Kind::kText) return a.text.compare(b.text);
  if (a.kind == Cell::Kind::kInt && b.kind == Cell::Kind::kInt) return a.whole < b.whole ? -1 : a.whole > b.whole;
  if (a.kind == Cell::Kind::kReal && b.kind == Cell::Kind::kReal) return a.real < b.real ? -1 : a.real > b.real;
  return a.kind == Cell::Kind::kInt ? OrderOf(a.whole, b.real) : -OrderOf(b.whole, a.real);
}

// Returns the index of the column, or nothing if no name or several names fit.
std::optional<uint32_t> ColumnNamed(const Token& token, const std::vector<Column>& columns) {
  if (token.kind != Token::Kind::kName && token.kind != Token::Kind::kQuotedName) return std::nullopt;
  const std::string name = Unquoted(token);
  std::optional<uint32_t> found;
  for (uint32_t i = 0; i < columns.size(); ++i) {
    if (!SameName(columns[i].name, name)) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

bool IsWord(const Token& token, std::string_view word) {
  return token.kind == Token::Kind::kName && SameName(token.text, word);
}

std::optional<uint64_t> Count(const Token& token) {
  uint64_t n = 0;
  const char* const end = token.text.data() + token.text.size();
  const auto [at, error] = std::from_chars(token.text.data(), end, n);
  constexpr uint64_t kMost = 1u << 30;
  if (token.kind != Token::Kind::kNumber || error != std::errc() || at != end || n > kMost) return std::nullopt;
  return n;
}

// Skips characters as SQLite's substr does: a byte from 0xC0 on begins a character, with all bytes 10xxxxxx after it. A
// zero byte ends the text.
const char* Skip(const char* at, const char* end, uint64_t characters) {
  for (; characters > 0 && at != end && *at != '\0'; --characters) {
    if (static_cast<unsigned char>(*at++) < 0xC0) continue;
    while (at != end && (static_cast<unsigned char>(*at) & 0xC0) == 0x80) ++at;
  }
  return at;
}

}  // namespace

std::string_view Substring::Of(std::string_view text) const {
  const char* const end = text.data() + text.size();
  const char* const begin = Skip(text.data(), end, from - 1);
  return {begin, static_cast<size_t>(Skip(begin, end, length) - begin)};
}

std::optional<Substring> ParseSubstring(const std::vector<Token>& tokens, const std::vector<Column>& columns) {
  const bool has_length = tokens.size() == 8;
  if (!has_length && tokens.size() != 6) return std::nullopt;
  if (!(IsWord(tokens[0], "substr") || IsWord(tokens[0], "substring")) || tokens[1].text != "(" ||
      tokens[3].text != "," || (has_length && tokens[5].text != ",") || tokens.back().text != ")") {
    return std::nullopt;
  }
  const auto column = ColumnNamed(tokens[2], columns);
  const auto from = Count(tokens[4]), length = has_length ? Count(tokens[6]) : std::optional<uint64_t>(UINT64_MAX);
  if (!column || columns[*column].type != Type::kText || !from || *from == 0 || !length) return std::nullopt;
  return Substring{*column, *from, *length};
}

// Parses by SQLite's precedences: OR, AND, NOT, then one comparison.
class ConditionParser {
 public:
  ConditionParser(const std::vector<Token>& tokens, const std::vector<Column>& columns)
      : tokens_(tokens), columns_(columns) {}

  std::optional<Condition> Parse() {
    const auto root = Or(0);
    if (!root || at_ != tokens_.size()) return std::nullopt;
    made_.root_ = *root;
    auto& used = made_.used_;
    std::sort(used.begin(), used.end());
    used.erase(std::unique(used.begin(), used.end()), used.end());
    return std::move(made_);
  }

 private:
  using Node = Condition::Node;
  using Operand = Condition::Operand;
  using Op = Condition::Op;
  using Found = std::optional<uint32_t>;

  bool Takes(std::string_view word) {
    const bool is =
        at_ < tokens_.size() &&
        (IsWord(tokens_[at_], word) || (tokens_[at_].kind == Token::Kind::kOperator && tokens_[at_].text == word));
    at_ += is ? 1 : 0;
    return is;
  }
  Found Add(Node node) {
    made_.nodes_.push_back(std::move(node));
    return static_cast<uint32_t>(made_.nodes_.size() - 1);
  }
  Found Binary(int depth, const char* word, Node::Kind kind, Found (ConditionParser::*part)(int)) {
    Found left = (this->*part)(depth);
    while (left && Takes(word)) {
      const Found right = (this->*part)(depth);
      if (!right) return std::nullopt;
      left = Add({kind, Op::kEqual, *left, *right, {}, {}});
    }
    return left;
  }
  Found Or(int depth) { return Binary(depth, "or", Node::Kind::kOr, &ConditionParser::And); }
  Found And(int depth) { return Binary(depth, "and", Node::Kind::kAnd, &ConditionParser::Not); }
  Found Not(int depth) {
    if (depth > kMostDepth) return std::nullopt;
    if (!Takes("not")) return Comparison(depth);
    return Negated(Not(depth + 1));
  }
  Found Negated(Found node) {
    if (!node) return std::nullopt;
    return Add({Node::Kind::kNot, Op::kEqual, *node, 0, {}, {}});
  }

  Found Comparison(int depth) {
    if (depth > kMostDepth) return std::nullopt;
    if (Takes("(")) {
      const Found inner = Or(depth + 1);
      // A comparison of a comparison, such as (a = 1) = b, is SQLite's.
      return inner && Takes(")") && EndsHere() ? inner : std::nullopt;
    }
    const Found left = TakeOperand();
    if (!left) return std::nullopt;
    if (Takes("is")) {
      const bool negated = Takes("not");
      if (!Takes("null") || !EndsHere()) return std::nullopt;
      const Found node = Add({Node::Kind::kIsNull, Op::kEqual, *left, 0, {}, {}});
      return negated ? Negated(node) : node;
    }
    const bool negated = Takes("not");
    Found node;
    if (Takes("in")) {
      node = List(*left);
    } else if (Takes("between")) {
      node = Between(*left);
    } else if (!negated) {
      const auto op = TakeOp();
      const Found right = op ? TakeOperand() : std::nullopt;
      if (!right || !Comparable(*left, *right)) return std::nullopt;
      node = Add({Node::Kind::kCompare, *op, *left, *right, {}, {}});
    }
    if (!node || !EndsHere()) return std::nullopt;
    return negated ? Negated(node) : node;
  }

  // Returns whether a comparison may end here. Otherwise an operator of SQLite's follows.
  bool EndsHere() const {
    return at_ == tokens_.size() || tokens_[at_].text == ")" || IsWord(tokens_[at_], "and") ||
           IsWord(tokens_[at_], "or");
  }

  Found Between(uint32_t left) {
    const Found low = TakeOperand();
    if (!low || !Takes("and")) return std::nullopt;
    const Found high = TakeOperand();
    if (!high || !Comparable(left, *low) || !Comparable(left, *high)) return std::nullopt;
    const Found from = Add({Node::Kind::kCompare, Op::kGreaterEqual, left, *low, {}, {}});
    const Found to = Add({Node::Kind::kCompare, Op::kLessEqual, left, *high, {}, {}});
    return Add({Node::Kind::kAnd, Op::kEqual, *from, *to, {}, {}});
  }

  Found List(uint32_t left) {
    Node node{Node::Kind::kIn, Op::kEqual, left, 0, {}, {}};
    if (!Takes("(")) return std::nullopt;
    do {
      const Found element = TakeOperand();
      if (!element) return std::nullopt;
      const Operand& operand = made_.operands_[*element];
      if (operand.kind == Operand::Kind::kInt && made_.operands_[left].type == Type::kInt) {
        node.integers.push_back(operand.whole);
      } else if (operand.kind == Operand::Kind::kText && made_.operands_[left].type == Type::kText) {
        node.texts.push_back(operand.text);
      } else {
        return std::nullopt;
      }
    } while (Takes(","));
    if (!Takes(")")) return std::nullopt;
    std::sort(node.integers.begin(), node.integers.end());
    std::sort(node.texts.begin(), node.texts.end());
    return Add(std::move(node));
  }

  std::optional<Op> TakeOp() {
    constexpr std::pair<const char*, Op> kOps[] = {
        {"=", Op::kEqual},      {"==", Op::kEqual}, {"!=", Op::kNotEqual},     {"<>", Op::kNotEqual},
        {"<=", Op::kLessEqual}, {"<", Op::kLess},   {">=", Op::kGreaterEqual}, {">", Op::kGreater}};
    for (const auto& [text, op] : kOps) {
      if (Takes(text)) return op;
    }
    return std::nullopt;
  }

  // Returns whether SQLite compares both as they are, without a conversion from or to text.
  bool Comparable(uint32_t left, uint32_t right) const {
    const Operand &a = made_.operands_[left], &b = made_.operands_[right];
    return (a.type == Type::kText) == (b.type == Type::kText);
  }

  Found TakeOperand() {
    Operand operand;
    if (!TakePart(&operand) && !TakeConstant(&operand) && !TakeColumn(&operand)) return std::nullopt;
    made_.operands_.push_back(std::move(operand));
    return static_cast<uint32_t>(made_.operands_.size() - 1);
  }
  bool TakePart(Operand* operand) {
    size_t end = at_;
    while (end < tokens_.size() && end < at_ + 8 && tokens_[end].text != ")") ++end;
    if (end >= tokens_.size() || end == at_) return false;
    const auto part = ParseSubstring(
        {tokens_.begin() + static_cast<std::ptrdiff_t>(at_), tokens_.begin() + static_cast<std::ptrdiff_t>(end) + 1},
        columns_);
    if (!part) return false;
    operand->kind = Operand::Kind::kSubstring;
    operand->part = *part;
    made_.used_.push_back(part->column);
    at_ = end + 1;
    return true;
  }
  bool TakeConstant(Operand* operand) {
    if (at_ < tokens_.size() && tokens_[at_].kind == Token::Kind::kText && tokens_[at_].text[0] == '\'') {
      operand->kind = Operand::Kind::kText;
      operand->text = Unquoted(tokens_[at_++]);
      return true;
    }
    const size_t sign = at_ < tokens_.size() && tokens_[at_].text == "-" ? 1 : 0;
    if (at_ + sign >= tokens_.size() || tokens_[at_ + sign].kind != Token::Kind::kNumber) return false;
    const std::string number = (sign != 0 ? "-" : "") + std::string(tokens_[at_ + sign].text);
    if (ParseInt(number, &operand->whole)) {
      operand->kind = Operand::Kind::kInt;
      operand->type = Type::kInt;
    } else if (number.find_first_of(".eE") != number.npos && ParseReal(number, '.', &operand->real)) {
      operand->kind = Operand::Kind::kReal;
      operand->type = Type::kReal;
    } else {
      return false;
    }
    at_ += sign + 1;
    return true;
  }
  bool TakeColumn(Operand* operand) {
    if (at_ >= tokens_.size() || (at_ + 1 < tokens_.size() && tokens_[at_ + 1].text == "(")) return false;
    const auto column = ColumnNamed(tokens_[at_], columns_);
    if (!column) return false;
    operand->column = *column;
    operand->type = columns_[*column].type;
    made_.used_.push_back(*column);
    ++at_;
    return true;
  }

  const std::vector<Token>& tokens_;
  const std::vector<Column>& columns_;
  size_t at_ = 0;
  Condition made_;
};

std::optional<Condition> Condition::Parse(const std::vector<Token>& tokens, const std::vector<Column>& columns) {
  return ConditionParser(tokens, columns).Parse();
}

Cell Condition::ValueOf(const Operand& operand, const Cell* cells) const {
  switch (operand.kind) {
    case Operand::Kind::kColumn: return cells[operand.column];
    case Operand::Kind::kSubstring: {
      Cell cell = cells[operand.part.column];
      if (cell.kind == Cell::Kind::kText) cell.text = operand.part.Of(cell.text);
      return cell;
    }
    case Operand::Kind::kInt: return {Cell::Kind::kInt, operand.whole, 0, {}};
    case Operand::Kind::kReal: return {Cell::Kind::kReal, 0, operand.real, {}};
    case Operand::Kind::kText: return {Cell::Kind::kText, 0, 0, operand.text};
  }
  return {};
}

Condition::Truth Condition::Compare(const Node& node, const Cell* cells) const {
  const Cell a = ValueOf(operands_[node.left], cells), b = ValueOf(operands_[node.right], cells);
  if (a.kind == Cell::Kind::kNull || b.kind == Cell::Kind::kNull) return Truth::kUnknown;
  const int order = OrderOf(a, b);
  bool holds = false;
  switch (node.op) {
    case Op::kEqual: holds = order == 0; break;
    case Op::kNotEqual: holds = order != 0; break;
    case Op::kLess: holds = order < 0; break;
    case Op::kLessEqual: holds = order <= 0; break;
    case Op::kGreater: holds = order > 0; break;
    case Op::kGreaterEqual: holds = order >= 0; break;
  }
  return holds ? Truth::kTrue : Truth::kFalse;
}

Condition::Truth Condition::In(const Node& node, const Cell* cells) const {
  const Cell value = ValueOf(operands_[node.left], cells);
  if (value.kind == Cell::Kind::kNull) return Truth::kUnknown;
  const bool found = value.kind == Cell::Kind::kInt
                         ? std::binary_search(node.integers.begin(), node.integers.end(), value.whole)
                         : std::binary_search(node.texts.begin(), node.texts.end(), value.text);
  return found ? Truth::kTrue : Truth::kFalse;
}

Condition::Truth Condition::Evaluate(uint32_t index, const Cell* cells) const {
  const Node& node = nodes_[index];
  switch (node.kind) {
    case Node::Kind::kCompare: return Compare(node, cells);
    case Node::Kind::kIn: return In(node, cells);
    case Node::Kind::kIsNull:
      return ValueOf(operands_[node.left], cells).kind == Cell::Kind::kNull ? Truth::kTrue : Truth::kFalse;
    case Node::Kind::kNot: {
      const Truth inner = Evaluate(node.left, cells);
      return inner == Truth::kUnknown ? inner : inner == Truth::kTrue ? Truth::kFalse : Truth::kTrue;
    }
    case Node::Kind::kAnd: {
      const Truth left = Evaluate(node.left, cells);
      if (left == Truth::kFalse) return left;
      const Truth right = Evaluate(node.right, cells);
      return right == Truth::kFalse || left == Truth::kTrue ? right : left;
    }
    case Node::Kind::kOr: {
      const Truth left = Evaluate(node.left, cells);
      if (left == Truth::kTrue) return left;
      const Truth right = Evaluate(node.right, cells);
      return right == Truth::kTrue || left == Truth::kFalse ? right : left;
    }
  }
  return Truth::kUnknown;
}

}  // namespace mr::expr
