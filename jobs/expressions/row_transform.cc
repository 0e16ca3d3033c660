#include "jobs/expressions/row_transform.h"

#include <algorithm>
#include <charconv>

#include "jobs/expressions/mistakes.h"
#include "jobs/expressions/sql_functions.h"
#include "jobs/expressions/tokens.h"
#include "paceline/args.h"
#include "paceline/error.h"

namespace mr::expr {
namespace {

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  return lower;
}

constexpr std::string_view kEndError = "near \")\": syntax error";

std::string Limited(std::string_view field) { return std::string(field.substr(0, 60)); }

}  // namespace

std::string RowOptions::Check() const {
  std::string wrong;
  if (!where.empty()) {
    const auto tokens = Tokenize(where, &wrong);
    if (wrong.empty() && tokens.empty()) wrong = "it is empty";
    if (!wrong.empty()) return "--where '" + where + "': " + wrong;
  }
  if (!select.empty()) SplitSelect(select, &wrong);
  if (!wrong.empty()) return "--select '" + select + "': " + wrong;
  if (!types.empty()) ParseTypes(types, &wrong);
  if (!wrong.empty()) return "--types '" + types + "': " + wrong;
  if (decimal.size() != 1 || std::string_view("0123456789+-eE\n\r").find(decimal[0]) != std::string_view::npos) {
    return "--decimal '" + decimal + "' is no decimal mark; give one byte, such as a comma";
  }
  return "";
}

Values RowOptions::values() const {
  Values values;
  values.SetNulls(nulls);
  values.decimal = decimal[0];
  return values;
}

std::string Describe(const Column& column) {
  std::string text = ShownName(column.name) + " " + NameOf(column.type);
  if (column.declared) return text + " (declared)";
  return text + (column.example.empty() ? " (found)" : " (found, since it has '" + column.example + "')");
}

std::string RowTransform::Compile(const RowOptions& options, std::vector<Column> columns, const Constants& constants,
                                  const std::string& hint) {
  columns_ = std::move(columns);
  constants_ = constants;
  hint_ = hint;
  if (std::string wrong = options.Check(); !wrong.empty()) return wrong;
  values_ = options.values();
  cells_.assign(columns_.size(), {});
  mentioned_ = Lower(options.where + " " + options.select);
  std::string ignored;
  if (!options.types.empty()) {
    for (const TypeOf& of : ParseTypes(options.types, &ignored)) {
      const auto at =
          std::find_if(columns_.begin(), columns_.end(), [&](const Column& c) { return c.name == of.name; });
      if (at == columns_.end()) return Explain("--types '" + options.types + "'", "no such column", of.name);
      at->type = of.type;
      at->declared = true;
    }
  }
  // Before the first expression is compiled: all of them see one type of a column.
  ChooseTypes(Tokenize(options.where, &ignored));
  for (const SelectItem& item :
       options.select.empty() ? std::vector<SelectItem>() : SplitSelect(options.select, &ignored)) {
    ChooseTypes(Tokenize(item.expression, &ignored));
  }
  names_.clear();
  for (const Column& column : columns_) names_.push_back(column.name);
  if (!options.where.empty()) {
    if (std::string wrong = CompileWhere(options.where); !wrong.empty()) return wrong;
  }
  if (!options.select.empty()) {
    if (std::string wrong = CompileSelect(options.select); !wrong.empty()) return wrong;
  }
  return "";
}

std::string RowTransform::Explain(const std::string& option, const std::string& wrong,
                                  const std::string& missing) const {
  if (missing.empty()) {
    std::string note;
    if (wrong.find("misuse of aggregate") != wrong.npos || wrong.find("misuse of window") != wrong.npos) {
      note =
          "; an expression sees one row. For totals use the job aggregate; a column with such a name is written in "
          "double quotes";
    }
    note += KeywordNote(option, wrong);
    // The parenthesis is the engine's own.
    if (note.empty() && wrong.starts_with(kEndError)) {
      return option + ": the expression ends where a value is wanted" + wrong.substr(kEndError.size());
    }
    return option + ": " + wrong + note;
  }
  std::vector<std::string> names;
  for (const Column& column : columns_) names.push_back(ShownName(column.name));
  std::string note = Suggest(missing, names);
  if (option.find('"' + missing + '"') != option.npos) {
    note += "; texts are in single quotes ('" + missing + "'), names of columns in double quotes";
  }
  return option + ": no column '" + ShownName(missing) + "'" + note + hint_;
}

// Returns a note about a column whose name is a keyword, for the error `near "WORD": syntax error`: the column is WORD
// itself, or the token before it. option: ends with the expressions in quotes.
std::string RowTransform::KeywordNote(const std::string& option, const std::string& wrong) const {
  constexpr std::string_view kNear = "near \"", kIn = " in: ";
  const size_t end = wrong.find("\": syntax error");
  if (!wrong.starts_with(kNear) || end == wrong.npos) return "";
  const std::string near = wrong.substr(kNear.size(), end - kNear.size());
  const size_t in = wrong.find(kIn, end), quote = option.find('\'');
  const std::string expression =
      in == wrong.npos ? option.substr(quote + 1, option.size() - quote - 2) : wrong.substr(in + kIn.size());
  std::string ignored;
  const auto tokens = Tokenize(expression, &ignored);
  const auto is_column = [&](size_t i) {
    const auto same = [&](const Column& c) { return SameName(c.name, tokens[i].text); };
    return tokens[i].kind == Token::Kind::kName && IsKeyword(tokens[i].text) &&
           std::any_of(columns_.begin(), columns_.end(), same);
  };
  for (size_t i = 0; i <= tokens.size(); ++i) {
    if (i < tokens.size() ? tokens[i].text != near : near != ")") continue;
    for (const size_t at : {i, i - 1}) {
      if (at >= tokens.size() || !is_column(at)) continue;
      const std::string name(tokens[at].text);
      return "; column \"" + name + "\" is a SQL keyword: write \"" + name + "\" in double quotes";
    }
  }
  return "";
}

SqlEngine& RowTransform::engine() {
  if (engine_ != nullptr) return *engine_;
  // SQL takes names that differ in case only for one. The engine knows the first of them.
  std::vector<Column> known;
  for (uint32_t i = 0; i < columns_.size(); ++i) {
    const bool taken =
        std::any_of(known.begin(), known.end(), [&](const Column& c) { return SameName(c.name, columns_[i].name); });
    // Names that the expressions do not contain are left out: SQLite takes 2,000 columns.
    if (taken || columns_[i].name.empty() || mentioned_.find(Lower(columns_[i].name)) == mentioned_.npos) continue;
    known.push_back(columns_[i]);
    engine_columns_.push_back(i);
  }
  engine_ = std::make_unique<SqlEngine>(std::move(known), constants_);
  engine_cells_.resize(engine_columns_.size());
  return *engine_;
}

void RowTransform::Use(const std::vector<uint32_t>& columns) {
  used_.insert(used_.end(), columns.begin(), columns.end());
  std::sort(used_.begin(), used_.end());
  used_.erase(std::unique(used_.begin(), used_.end()), used_.end());
}

// Takes columns without a value in the sample for numbers, if the expression compares them with numbers.
void RowTransform::ChooseTypes(const std::vector<Token>& tokens) {
  std::vector<Column> alone = columns_;
  for (Column& column : alone) column.type = Type::kReal;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].known || columns_[i].declared || columns_[i].type != Type::kText) continue;
    alone[i].type = Type::kText;
    if (!FindMistake(tokens, alone).empty()) columns_[i].type = Type::kReal;
    alone[i].type = Type::kReal;
  }
}

std::string RowTransform::CompileWhere(const std::string& where) {
  const std::string option = "--where '" + where + "'";
  std::string wrong, missing;
  const auto tokens = Tokenize(where, &wrong);
  if (wrong.empty()) wrong = FindMistake(tokens, columns_);
  if (!wrong.empty()) return option + ": " + wrong;
  has_where_ = true;
  condition_ = Condition::Parse(tokens, columns_);
  if (condition_) {
    Use(condition_->columns());
    return "";
  }
  where_set_ = engine().Add({where}, true, &wrong, &missing);
  if (wrong.empty()) wrong = TryPatterns(where_set_);
  return wrong.empty() ? UseEngineColumns(option) : Explain(option, wrong, missing);
}

// Finds constant patterns and formats of times that are not valid, by a row of NULLs. Their functions look at them
// first.
std::string RowTransform::TryPatterns(size_t set) {
  engine_->SetRow(engine_cells_.data(), 0);
  const char* const wrong = engine_->Run(set, &results_);
  const std::string_view text = wrong == nullptr ? "" : wrong;
  return std::string(text.starts_with(kInvalidPattern) || text.starts_with(kInvalidTimeFormat) ? text : "");
}

// Takes over the columns that the engine's expressions read.
std::string RowTransform::UseEngineColumns(const std::string& option) {
  for (const uint32_t i : engine_->UsedColumns()) {
    const std::string& name = columns_[engine_columns_[i]].name;
    for (const Column& other : columns_) {
      if (&other == &columns_[engine_columns_[i]] || !SameName(other.name, name)) continue;
      return option + ": the input has the columns '" + ShownName(name) + "' and '" + ShownName(other.name) +
             "', which are one name in SQL; rename one, or read it with --no-header and numbers";
    }
    Use({engine_columns_[i]});
  }
  return "";
}

std::string RowTransform::CompileSelect(const std::string& select) {
  const std::string option = "--select '" + select + "'";
  std::string wrong, missing;
  std::vector<std::string> computed;
  std::vector<std::string> names;
  std::vector<bool> from_star;
  has_select_ = true;
  outputs_.clear();
  for (const SelectItem& item : SplitSelect(select, &wrong)) {
    if (item.name.empty()) {
      for (uint32_t i = 0; i < columns_.size(); ++i) {
        outputs_.push_back({Output::Kind::kColumn, i, {}});
        names.push_back(columns_[i].name);
        from_star.push_back(true);
      }
      continue;
    }
    names.push_back(item.name);
    from_star.push_back(false);
    const auto has_name = [&](const Column& c) { return c.name == item.column; };
    const auto exact = std::find_if(columns_.begin(), columns_.end(), has_name);
    if (!item.column.empty() && exact != columns_.end()) {
      if (std::count_if(columns_.begin(), columns_.end(), has_name) > 1) {
        return option + ": the input has two columns '" + item.column + "'; read it with --no-header and numbers";
      }
      outputs_.push_back({Output::Kind::kColumn, static_cast<uint32_t>(exact - columns_.begin()), {}});
      continue;
    }
    const auto tokens = Tokenize(item.expression, &wrong);
    wrong = FindMistake(tokens, columns_);
    if (!wrong.empty()) return option + ": " + wrong;
    if (const auto part = ParseSubstring(tokens, columns_)) {
      Use({part->column});
      outputs_.push_back({Output::Kind::kSubstring, part->column, *part});
      continue;
    }
    outputs_.push_back({Output::Kind::kComputed, static_cast<uint32_t>(computed.size()), {}});
    computed.push_back(item.expression);
  }
  // A named element takes the place of the columns of its name that * brings.
  for (size_t named = 0; named < names.size(); ++named) {
    if (from_star[named]) continue;
    for (size_t i = 0; i < names.size(); ++i) {
      if (!from_star[i] || names[i] != names[named]) continue;
      outputs_[i] = outputs_[named];
      from_star[i] = false;
      names.erase(names.begin() + static_cast<std::ptrdiff_t>(named));
      from_star.erase(from_star.begin() + static_cast<std::ptrdiff_t>(named));
      outputs_.erase(outputs_.begin() + static_cast<std::ptrdiff_t>(named));
      --named;
      break;
    }
  }
  if (!computed.empty()) {
    select_set_ = engine().Add(computed, false, &wrong, &missing);
    if (wrong.empty()) wrong = TryPatterns(select_set_);
    if (!wrong.empty()) return Explain(option, wrong, missing);
    if (wrong = UseEngineColumns(option); !wrong.empty()) return wrong;
    computes_ = true;
  }
  written_.resize(computed.size());
  names_ = std::move(names);
  return "";
}

std::vector<Column> RowTransform::UsedColumns() const {
  std::vector<Column> columns;
  for (const uint32_t i : used_) columns.push_back(columns_[i]);
  return columns;
}

bool RowTransform::ReadCells(const CsvRow& in, std::string* why) {
  for (const uint32_t i : used_) {
    const std::string_view field = in[i];
    const Column& column = columns_[i];
    Cell& cell = cells_[i];
    bool is = true;
    if (values_.IsNull(field)) {
      cell.kind = Cell::Kind::kNull;
    } else if (column.type == Type::kText) {
      cell.kind = Cell::Kind::kText;
      cell.text = field;
    } else if (column.type == Type::kInt) {
      cell.kind = Cell::Kind::kInt;
      is = ParseInt(field, &cell.whole);
    } else {
      cell.kind = Cell::Kind::kReal;
      is = ParseReal(field, values_.decimal, &cell.real);
    }
    if (is) continue;
    *why = "column '" + column.name + "' has '" + Limited(field) + "', which is not of the type " +
           NameOf(column.type) +
           (column.declared ? " that --types declares" : " that was found in a sample of the rows") + " (--types '" +
           column.name + "=text' takes it as text, --null '" + Limited(field) + "' as a missing value)";
    return false;
  }
  return true;
}

void RowTransform::Write(const CsvRow& in) {
  out_.Clear();
  out_.NotPlain();
  for (const Output& output : outputs_) {
    if (output.kind == Output::Kind::kColumn) {
      out_.Add(in[output.column]);
      continue;
    }
    Cell cell;
    if (output.kind == Output::Kind::kComputed) {
      cell = results_[output.column];
    } else {
      cell = cells_[output.column];
      if (cell.kind == Cell::Kind::kText) cell.text = output.part.Of(cell.text);
    }
    switch (cell.kind) {
      case Cell::Kind::kNull: out_.Add(values_.nulls[0]); break;
      case Cell::Kind::kText: out_.Add(cell.text); break;
      default: {
        std::string& text = written_[output.column];
        text.clear();
        if (cell.kind == Cell::Kind::kReal) {
          AppendReal(cell.real, &text);
        } else {
          char digits[24];
          const auto end = std::to_chars(digits, digits + sizeof digits, cell.whole).ptr;
          text.append(digits, static_cast<size_t>(end - digits));
        }
        out_.Add(text);
      }
    }
  }
}

// Computes a set of the engine into results_. Returns null, or why the row has no value.
const char* RowTransform::Run(size_t set) {
  const char* const wrong = engine_->Run(set, &results_);
  if (engine_->lacks_now()) {
    throw FinalError(
        "an expression uses 'now', the time of the submit, which this cluster's master does not send: it is older than "
        "its workers. Nothing was written; next: upgrade the master, then submit again");
  }
  return wrong;
}

RowTransform::Result RowTransform::Apply(const CsvRow& in, uint64_t position, const CsvRow** out, std::string* why) {
  *out = &in;
  if (!ReadCells(in, why)) return Result::kBad;
  if (engine_ != nullptr) {
    for (size_t i = 0; i < engine_columns_.size(); ++i) engine_cells_[i] = cells_[engine_columns_[i]];
    engine_->SetRow(engine_cells_.data(), position);
  }
  if (has_where_) {
    if (condition_) {
      if (!condition_->Holds(cells_.data())) return Result::kDrop;
    } else {
      if (const char* wrong = Run(where_set_); wrong != nullptr) {
        *why = std::string("--where has no result: ") + wrong;
        return Result::kBad;
      }
      if (results_[0].whole == 0) return Result::kDrop;
    }
  }
  if (!has_select_) return Result::kKeep;
  if (computes_) {
    if (const char* wrong = Run(select_set_); wrong != nullptr) {
      *why = std::string("--select has no result: ") + wrong;
      return Result::kBad;
    }
  }
  Write(in);
  *out = &out_;
  return Result::kKeep;
}

}  // namespace mr::expr
