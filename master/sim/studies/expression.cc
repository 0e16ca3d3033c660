#include "master/sim/studies/expression.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <numeric>

#include "common/base/text.h"

namespace mr::sim {

struct Term {
  enum class Kind : uint8_t { kNumber, kName, kRead, kCall, kJoin, kEntry, kOperator };
  Kind kind = Kind::kNumber;
  double number = 0;
  std::string name;     // kName, kCall; kRead: the run; kOperator: "+", "<=" ...
  std::string measure;  // kRead
  std::vector<std::shared_ptr<const Term>> of;
};

namespace {

using TermPtr = std::shared_ptr<const Term>;

constexpr size_t kDeepest = 100;  // nested terms: far more than a formula has, far less than the stack holds

struct Function {
  size_t arguments;
  std::function<Result<Numbers>(const std::vector<Numbers>&)> call;
};

Numbers Sorted(Numbers v) {
  std::sort(v.begin(), v.end());
  return v;
}

// Applies to each pair of entries; a list of one goes with each entry.
template <class F>
Result<Numbers> Pairwise(const Numbers& a, const Numbers& b, F f) {
  if (a.size() != b.size() && a.size() != 1 && b.size() != 1) {
    return InvalidArgument("lists of " + std::to_string(a.size()) + " and " + std::to_string(b.size()) + " entries");
  }
  Numbers out;
  const size_t n = a.size() == 1 ? b.size() : a.size();
  for (size_t i = 0; i < n; ++i) out.push_back(f(a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]));
  return out;
}

Function OfList(double (*f)(const Numbers& sorted)) {
  return {1, [f](const std::vector<Numbers>& a) -> Result<Numbers> {
            if (a[0].empty()) return Numbers{std::numeric_limits<double>::quiet_NaN()};
            return Numbers{f(Sorted(a[0]))};
          }};
}

const std::map<std::string, Function, std::less<>>& Functions() {
  static const std::map<std::string, Function, std::less<>> functions = {
      {"less",
       {2,
        [](const std::vector<Numbers>& a) {
          return Pairwise(a[0], a[1], [](double x, double y) { return 100 * (1 - x / y); });
        }}},
      {"where",
       {2,
        [](const std::vector<Numbers>& a) -> Result<Numbers> {
          if (a[0].size() != a[1].size()) return InvalidArgument("where() has a condition of another length");
          Numbers out;
          for (size_t i = 0; i < a[0].size(); ++i) {
            if (a[1][i] != 0) out.push_back(a[0][i]);
          }
          return out;
        }}},
      {"sort", {1, [](const std::vector<Numbers>& a) -> Result<Numbers> { return Sorted(a[0]); }}},
      {"first",
       {1,
        [](const std::vector<Numbers>& a) -> Result<Numbers> {
          if (a[0].empty()) return InvalidArgument("first() of an empty list");
          return Numbers{a[0].front()};
        }}},
      {"mean",
       {1,
        [](const std::vector<Numbers>& a) -> Result<Numbers> {
          return Numbers{std::accumulate(a[0].begin(), a[0].end(), 0.0) / static_cast<double>(a[0].size())};
        }}},
      {"sum",
       {1,
        [](const std::vector<Numbers>& a) -> Result<Numbers> {
          return Numbers{std::accumulate(a[0].begin(), a[0].end(), 0.0)};
        }}},
      {"min", OfList([](const Numbers& v) { return v.front(); })},
      {"max", OfList([](const Numbers& v) { return v.back(); })},
      {"median", OfList([](const Numbers& v) { return (v[(v.size() - 1) / 2] + v[v.size() / 2]) / 2; })},
      {"percentiles",
       {1,
        [](const std::vector<Numbers>& a) -> Result<Numbers> {
          if (a[0].empty()) return InvalidArgument("percentiles() of an empty list");
          const Numbers v = Sorted(a[0]);
          Numbers out;
          for (size_t p = 1; p < 100; ++p) out.push_back(v[p * v.size() / 100]);
          return out;
        }}},
      {"quantile",
       {2,
        [](const std::vector<Numbers>& a) -> Result<Numbers> {
          if (a[1].size() != 1 || !(a[1][0] >= 0 && a[1][0] <= 1)) return InvalidArgument("quantile() wants a share");
          if (a[0].empty()) return Numbers{std::numeric_limits<double>::quiet_NaN()};
          return Numbers{Sorted(a[0])[static_cast<size_t>(a[1][0] * static_cast<double>(a[0].size() - 1))]};
        }}},
  };
  return functions;
}

// Replaces the parameters of a function's body by the arguments of a call.
Result<TermPtr> Substitute(const TermPtr& body, const Macro& macro, const std::vector<TermPtr>& arguments) {
  const auto argument = [&](const std::string& name) -> const TermPtr* {
    const auto it = std::find(macro.parameters.begin(), macro.parameters.end(), name);
    return it == macro.parameters.end() ? nullptr : &arguments[static_cast<size_t>(it - macro.parameters.begin())];
  };
  if (body->kind == Term::Kind::kName) {
    const TermPtr* with = argument(body->name);
    return with == nullptr ? body : *with;
  }
  Term term = *body;
  if (body->kind == Term::Kind::kRead) {
    if (const TermPtr* with = argument(body->name)) {
      if ((*with)->kind != Term::Kind::kName) return InvalidArgument("'" + body->name + "' must be a run");
      term.name = (*with)->name;
    }
  }
  for (TermPtr& of : term.of) {
    MR_ASSIGN_OR_RETURN(of, Substitute(of, macro, arguments));
  }
  return std::make_shared<const Term>(std::move(term));
}

class Parser {
 public:
  Parser(const std::string& text, const Macros& macros) : text_(text), macros_(macros) {}

  Result<TermPtr> All() {
    MR_ASSIGN_OR_RETURN(TermPtr term, Comparison());
    Space();
    if (at_ < text_.size()) return Wrong("something is left over");
    return term;
  }
  // "name(a, b)"
  Result<std::pair<std::string, std::vector<std::string>>> Head() {
    std::pair<std::string, std::vector<std::string>> head{Name(), {}};
    if (head.first.empty() || !Eat("(")) return Wrong("a function is written as name(a, b)");
    do {
      head.second.push_back(Name());
      if (head.second.back().empty()) return Wrong("a parameter is missing");
    } while (Eat(","));
    if (!Eat(")") || at_ < text_.size()) return Wrong("a function is written as name(a, b)");
    return head;
  }

 private:
  Status Wrong(const std::string& why) const {
    return InvalidArgument("'" + text_ + "' at character " + std::to_string(at_ + 1) + ": " + why);
  }
  void Space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool Eat(std::string_view word) {
    Space();
    if (text_.compare(at_, word.size(), word) != 0) return false;
    at_ += word.size();
    return true;
  }
  std::string Name() {
    Space();
    const auto is_letter = [&] {
      const auto c = static_cast<unsigned char>(text_[at_]);
      return std::isalpha(c) != 0 || c == '_';
    };
    const size_t from = at_;
    if (at_ < text_.size() && is_letter()) {
      while (at_ < text_.size() && (is_letter() || std::isdigit(static_cast<unsigned char>(text_[at_])) != 0)) ++at_;
    }
    return text_.substr(from, at_ - from);
  }
  static TermPtr Operator(std::string name, TermPtr a, TermPtr b) {
    return std::make_shared<const Term>(
        Term{Term::Kind::kOperator, 0, std::move(name), "", {std::move(a), std::move(b)}});
  }

  Result<TermPtr> Comparison() {
    MR_ASSIGN_OR_RETURN(TermPtr left, Sum());
    for (const char* op : {"<=", ">=", "<", ">"}) {
      if (!Eat(op)) continue;
      MR_ASSIGN_OR_RETURN(TermPtr right, Sum());
      return Operator(op, std::move(left), std::move(right));
    }
    return left;
  }
  Result<TermPtr> Sum() {
    MR_ASSIGN_OR_RETURN(TermPtr left, Product());
    for (;;) {
      const char* op = Eat("+") ? "+" : Eat("-") ? "-" : nullptr;
      if (op == nullptr) return left;
      MR_ASSIGN_OR_RETURN(TermPtr right, Product());
      left = Operator(op, std::move(left), std::move(right));
    }
  }
  Result<TermPtr> Product() {
    MR_ASSIGN_OR_RETURN(TermPtr left, Factor());
    for (;;) {
      const char* op = Eat("*") ? "*" : Eat("/") ? "/" : nullptr;
      if (op == nullptr) return left;
      MR_ASSIGN_OR_RETURN(TermPtr right, Factor());
      left = Operator(op, std::move(left), std::move(right));
    }
  }
  Result<TermPtr> Factor() {
    if (++depth_ > kDeepest) return Wrong("nested too deeply");
    Result<TermPtr> term = Simple();
    --depth_;
    while (term.ok() && Eat("[")) {
      MR_ASSIGN_OR_RETURN(TermPtr index, Sum());
      if (!Eat("]")) return Wrong("']' is missing");
      term = std::make_shared<const Term>(Term{Term::Kind::kEntry, 0, "", "", {*term, std::move(index)}});
    }
    return term;
  }
  Result<TermPtr> Simple() {
    if (Eat("-")) {
      MR_ASSIGN_OR_RETURN(TermPtr term, Factor());
      return Operator("*", std::make_shared<const Term>(Term{Term::Kind::kNumber, -1, "", "", {}}), std::move(term));
    }
    if (Eat("(")) {
      MR_ASSIGN_OR_RETURN(TermPtr term, Comparison());
      if (!Eat(")")) return Wrong("')' is missing");
      return term;
    }
    if (Eat("[")) {
      MR_ASSIGN_OR_RETURN(std::vector<TermPtr> of, List("]"));
      return TermPtr(std::make_shared<const Term>(Term{Term::Kind::kJoin, 0, "", "", std::move(of)}));
    }
    Space();
    const char* begin = text_.c_str() + at_;
    if (at_ < text_.size() && (std::isdigit(static_cast<unsigned char>(*begin)) != 0 || *begin == '.')) {
      char* end = nullptr;
      const double number = std::strtod(begin, &end);
      if (end == begin) return Wrong("not a number");
      at_ += static_cast<size_t>(end - begin);
      return TermPtr(std::make_shared<const Term>(Term{Term::Kind::kNumber, number, "", "", {}}));
    }
    std::string name = Name();
    if (name.empty()) return Wrong("a value is missing");
    if (Eat("(")) return Call(name);
    if (!Eat(".")) return TermPtr(std::make_shared<const Term>(Term{Term::Kind::kName, 0, std::move(name), "", {}}));
    std::string measure = Name();
    if (measure.empty()) return Wrong("the name of a measurement is missing");
    return TermPtr(std::make_shared<const Term>(Term{Term::Kind::kRead, 0, std::move(name), std::move(measure), {}}));
  }
  Result<std::vector<TermPtr>> List(std::string_view end) {
    std::vector<TermPtr> of;
    do {
      MR_ASSIGN_OR_RETURN(TermPtr term, Comparison());
      of.push_back(std::move(term));
    } while (Eat(","));
    if (!Eat(end)) return Wrong("'" + std::string(end) + "' is missing");
    return of;
  }
  Result<TermPtr> Call(const std::string& name) {
    MR_ASSIGN_OR_RETURN(std::vector<TermPtr> of, List(")"));
    const auto macro = macros_.find(name);
    const auto function = Functions().find(name);
    size_t want = 0;
    if (macro != macros_.end()) {
      want = macro->second.parameters.size();
    } else if (function != Functions().end()) {
      want = function->second.arguments;
    } else {
      std::vector<std::string_view> names;
      for (const auto& [known, f] : Functions()) names.push_back(known);
      for (const auto& [known, m] : macros_) names.push_back(known);
      return Wrong("there is no function '" + name + "'" + DidYouMean(name, names));
    }
    if (of.size() != want) return Wrong(name + "() takes " + std::to_string(want) + " values");
    if (macro != macros_.end()) return Substitute(macro->second.body, macro->second, of);
    return TermPtr(std::make_shared<const Term>(Term{Term::Kind::kCall, 0, name, "", std::move(of)}));
  }

  const std::string& text_;
  const Macros& macros_;
  size_t at_ = 0, depth_ = 0;
};

void Collect(const Term& term, std::set<std::pair<std::string, std::string>>* reads) {
  if (term.kind == Term::Kind::kRead || term.kind == Term::Kind::kName) reads->emplace(term.name, term.measure);
  for (const TermPtr& of : term.of) Collect(*of, reads);
}

Result<Numbers> ValueOf(const Term& term, const std::map<std::string, Measures>& runs) {
  if (term.kind == Term::Kind::kNumber) return Numbers{term.number};
  if (term.kind == Term::Kind::kName || term.kind == Term::Kind::kRead) {
    const auto run = runs.find(term.name);
    if (run == runs.end()) return InvalidArgument("there is no run '" + term.name + "'");
    const auto measure = run->second.find(term.measure);
    if (measure == run->second.end()) {
      return InvalidArgument("the run '" + term.name + "' has no measurement '" + term.measure + "'");
    }
    return measure->second;
  }
  std::vector<Numbers> of;
  for (const TermPtr& operand : term.of) {
    MR_ASSIGN_OR_RETURN(Numbers value, ValueOf(*operand, runs));
    of.push_back(std::move(value));
  }
  switch (term.kind) {
    case Term::Kind::kCall: return Functions().find(term.name)->second.call(of);
    case Term::Kind::kJoin: {
      Numbers all;
      for (const Numbers& v : of) all.insert(all.end(), v.begin(), v.end());
      return all;
    }
    case Term::Kind::kEntry: {
      const double index = of[1].size() == 1 ? of[1][0] : 0;
      if (!(index >= 1 && index <= static_cast<double>(of[0].size()))) {
        return InvalidArgument("a list of " + std::to_string(of[0].size()) + " has no such entry");
      }
      return Numbers{of[0][static_cast<size_t>(index) - 1]};
    }
    default: break;
  }
  static const std::map<std::string, double (*)(double, double)> operators = {
      {"+", [](double a, double b) { return a + b; }},
      {"-", [](double a, double b) { return a - b; }},
      {"*", [](double a, double b) { return a * b; }},
      {"/", [](double a, double b) { return a / b; }},
      {"<", [](double a, double b) { return a < b ? 1.0 : 0.0; }},
      {">", [](double a, double b) { return a > b ? 1.0 : 0.0; }},
      {"<=", [](double a, double b) { return a <= b ? 1.0 : 0.0; }},
      {">=", [](double a, double b) { return a >= b ? 1.0 : 0.0; }}};
  return Pairwise(of[0], of[1], operators.at(term.name));
}

}  // namespace

Status AddMacro(const std::string& head, const std::string& body, Macros* macros) {
  MR_ASSIGN_OR_RETURN(auto named, Parser(head, *macros).Head());
  if (Functions().contains(named.first)) return InvalidArgument("'" + named.first + "' is a built-in function");
  MR_ASSIGN_OR_RETURN(TermPtr term, Parser(body, *macros).All());
  if (!macros->emplace(named.first, Macro{std::move(named.second), std::move(term)}).second) {
    return InvalidArgument("there are two functions '" + named.first + "'");
  }
  return Status::Ok();
}

Result<Expression> Expression::Parse(const std::string& text, const Macros& macros) {
  Expression e;
  MR_ASSIGN_OR_RETURN(e.root_, Parser(text, macros).All());
  return e;
}

std::set<std::pair<std::string, std::string>> Expression::Reads() const {
  std::set<std::pair<std::string, std::string>> reads;
  if (root_ != nullptr) Collect(*root_, &reads);
  return reads;
}

Result<double> Expression::Evaluate(const std::map<std::string, Measures>& runs) const {
  MR_ASSIGN_OR_RETURN(const Numbers value, ValueOf(*root_, runs));
  if (value.size() != 1) return InvalidArgument("a list of " + std::to_string(value.size()) + ", not one number");
  return value[0];
}

}  // namespace mr::sim
