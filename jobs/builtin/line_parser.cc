#include "jobs/builtin/line_parser.h"

#include <re2/re2.h>

#include <algorithm>
#include <deque>

#include "jobs/builtin/table.h"
#include "jobs/expressions/json_fields.h"
#include "jobs/expressions/times.h"

namespace mr::builtin {
namespace {

// ---- Logs of web servers ----

class ApacheParser : public LineParser {
 public:
  ApacheParser() {
    columns_ = {"host", "user", "time", "method", "path", "protocol", "status", "bytes", "referer", "agent"};
    std::string ignored;
    format_ = *expr::TimeFormat::Parse("apache", &ignored);
  }

  bool Parse(std::string_view line, CsvRow* row) override {
    std::string_view host, identity, user, time, request, status, bytes, referer, agent;
    if (!Word(&line, &host) || !Word(&line, &identity) || !User(&line, &user)) return false;
    int64_t micros = 0;
    if (!Within(&line, '[', ']', &time) || !expr::ParseTime(time, format_, &micros)) return false;
    if (!Quoted(&line, kRequest, &request) || !Word(&line, &status) || !IsNumber(status) || !Word(&line, &bytes))
      return false;
    if (bytes != "-" && !IsNumber(bytes)) return false;
    // The combined form has two more; other forms put more behind them.
    if (!line.empty() && line[0] == '"') {
      if (!Quoted(&line, kReferer, &referer)) return false;
      if (!line.empty() && line[0] == '"' && !Quoted(&line, kAgent, &agent)) return false;
    }
    time_.clear();
    expr::AppendTime(micros, &time_);
    row->Clear();
    row->NotPlain();
    row->Add(host);
    row->Add(Known(user));
    row->Add(time_);
    AddRequest(request, row);
    row->Add(status);
    row->Add(Known(bytes));
    row->Add(Known(referer));
    row->Add(Known(agent));
    return true;
  }

 private:
  enum Text : size_t { kRequest, kReferer, kAgent };

  static std::string_view Known(std::string_view field) { return field == "-" ? std::string_view() : field; }
  static bool IsNumber(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
  }
  static void SkipBlank(std::string_view* line) {
    if (!line->empty() && (*line)[0] == ' ') line->remove_prefix(1);
  }
  static bool Word(std::string_view* line, std::string_view* word) {
    const size_t end = std::min(line->find(' '), line->size());
    *word = line->substr(0, end);
    line->remove_prefix(end);
    SkipBlank(line);
    return end > 0;
  }
  // The name of a user may have blanks.
  static bool User(std::string_view* line, std::string_view* user) {
    const size_t end = line->find(" [");
    if (end == line->npos || end == 0) return false;
    *user = line->substr(0, end);
    line->remove_prefix(end + 1);
    return true;
  }
  static bool Within(std::string_view* line, char open, char close, std::string_view* text) {
    const size_t end = line->find(close);
    if (line->empty() || (*line)[0] != open || end == line->npos) return false;
    *text = line->substr(1, end - 1);
    line->remove_prefix(end + 1);
    SkipBlank(line);
    return true;
  }
  // Takes a text in quotes. \" and \\ stand for the second character; other escapes stay.
  bool Quoted(std::string_view* line, size_t number, std::string_view* text) {
    if (line->empty() || (*line)[0] != '"') return false;
    size_t end = 1;
    bool escapes = false;
    for (; end < line->size() && (*line)[end] != '"'; ++end) {
      if ((*line)[end] != '\\' || end + 1 == line->size()) continue;
      ++end;
      escapes |= (*line)[end] == '"' || (*line)[end] == '\\';
    }
    const bool closed = end < line->size();
    if (!closed && number == kRequest) return false;  // servers cut long lines, within the last fields
    *text = line->substr(1, end - 1);
    line->remove_prefix(end + (closed ? 1 : 0));
    SkipBlank(line);
    if (!escapes) return true;
    std::string& plain = unescaped_[number];
    plain.clear();
    for (size_t i = 0; i < text->size(); ++i) {
      const bool escape =
          (*text)[i] == '\\' && i + 1 < text->size() && ((*text)[i + 1] == '"' || (*text)[i + 1] == '\\');
      plain += (*text)[escape ? ++i : i];
    }
    *text = plain;
    return true;
  }
  // A request that is not "METHOD PATH PROTOCOL" is all path.
  static void AddRequest(std::string_view request, CsvRow* row) {
    const size_t method = request.find(' '), protocol = request.rfind(' ');
    const bool whole = method != request.npos && protocol > method && request.substr(protocol + 1, 5) == "HTTP/";
    row->Add(whole ? request.substr(0, method) : std::string_view());
    row->Add(whole ? request.substr(method + 1, protocol - method - 1) : Known(request));
    row->Add(whole ? request.substr(protocol + 1) : std::string_view());
  }

  expr::TimeFormat format_;
  std::string time_;
  std::string unescaped_[kAgent + 1];
};

// ---- Patterns ----

class RegexParser : public LineParser {
 public:
  explicit RegexParser(const std::string& pattern) : pattern_(pattern, Options()) {
    if (!pattern_.ok()) throw JobError("--regex '" + pattern + "': " + pattern_.error());
    for (const auto& [group, name] : pattern_.CapturingGroupNames()) {
      columns_.push_back(name);
      groups_.push_back(static_cast<size_t>(group));
    }
    if (columns_.empty()) {
      throw JobError("--regex '" + pattern + "' names no column; name its groups, as in (?P<level>[A-Z]+)");
    }
    found_.resize(groups_.back() + 1);
  }

  bool Parse(std::string_view line, CsvRow* row) override {
    if (!pattern_.Match({line.data(), line.size()}, 0, line.size(), RE2::ANCHOR_BOTH, found_.data(),
                        static_cast<int>(found_.size()))) {
      return false;
    }
    row->Clear();
    row->NotPlain();
    for (const size_t group : groups_) row->Add({found_[group].data(), found_[group].size()});
    return true;
  }

 private:
  static RE2::Options Options() {
    RE2::Options options(RE2::Quiet);
    return options;
  }

  RE2 pattern_;
  std::vector<size_t> groups_;
  std::vector<re2::StringPiece> found_;
};

// ---- JSON ----

class JsonParser : public LineParser {
 public:
  explicit JsonParser(const std::string& paths) {
    std::vector<std::string> list;
    for (size_t from = 0; from <= paths.size();) {
      const size_t comma = std::min(paths.find(',', from), paths.size());
      std::string item = Trimmed(paths.substr(from, comma - from));
      from = comma + 1;
      const size_t equals = item.find('=');
      std::string name = Trimmed(item.substr(0, equals));
      const std::string path = equals == item.npos ? item : Trimmed(item.substr(equals + 1));
      if (name.empty() || path.empty()) throw JobError("--json '" + paths + "' has an empty name or path");
      if (std::find(columns_.begin(), columns_.end(), name) != columns_.end())
        throw JobError("--json names '" + name + "' twice; write one as NAME = PATH");
      columns_.push_back(std::move(name));
      list.push_back(path);
    }
    fields_ = expr::JsonFields(list);
  }

  bool Parse(std::string_view line, CsvRow* row) override { return fields_.Parse(line, row); }

 private:
  static std::string Trimmed(const std::string& text) {
    const size_t from = text.find_first_not_of(" \t"), to = text.find_last_not_of(" \t");
    return from == text.npos ? "" : text.substr(from, to - from + 1);
  }

  expr::JsonFields fields_;
};

// ---- Separators ----

class SplitParser : public LineParser {
 public:
  SplitParser(std::string separator, std::vector<std::string> columns) : separator_(std::move(separator)) {
    columns_ = std::move(columns);
  }

  bool Parse(std::string_view line, CsvRow* row) override {
    row->Clear();
    row->NotPlain();
    if (separator_ == " ") {
      for (size_t at = line.find_first_not_of(" \t"); at < line.size();) {
        const size_t end = std::min(line.find_first_of(" \t", at), line.size());
        row->Add(line.substr(at, end - at));
        at = std::min(line.find_first_not_of(" \t", end), line.size());
      }
      return row->size() == columns_.size();
    }
    for (size_t from = 0;;) {
      const size_t end = line.find(separator_, from);
      row->Add(line.substr(from, end == line.npos ? end : end - from));
      if (end == line.npos) return row->size() == columns_.size();
      from = end + separator_.size();
    }
  }

 private:
  std::string separator_;
};

}  // namespace

void LineFormat::AddTo(Args* args) {
  args->Add("--apache", &apache).Add("--regex", &regex).Add("--json", &json).Add("--split", &split);
  args->Add("--columns", &columns_);
}

void LineFormat::Check(const Args& args) {
  const int given = int{apache} + int{!regex.empty()} + int{!json.empty()} + int{!split.empty()};
  if (given != 1) {
    args.Refuse("give the form of the lines: one of --apache, --regex PATTERN, --json PATHS, --split SEPARATOR" +
                std::string(given > 1 ? "; several are given" : ""));
  }
  if (split == "\\t") split = "\t";
  if (split.empty() != columns_.empty()) args.Refuse("--split SEPARATOR and --columns NAME,... go together");
  if (!columns_.empty()) columns = SplitNames(args, "--columns", columns_);
  try {
    LineParser::Make(*this);
  } catch (const JobError& e) {
    args.Refuse(e.what());
  }
}

void LineFormat::AddTo(Config* config) const {
  config->Set("line_apache", apache).Set("line_regex", regex).Set("line_json", json).Set("line_split", split);
  config->Set("line_columns", EncodeTexts(columns));
}

LineFormat LineFormat::Of(const Config& config) {
  LineFormat format;
  format.apache = config.Bool("line_apache");
  format.regex = config.Text("line_regex");
  format.json = config.Text("line_json");
  format.split = config.Text("line_split");
  format.columns = DecodeTexts(config.Text("line_columns"));
  return format;
}

std::unique_ptr<LineParser> LineParser::Make(const LineFormat& format) {
  if (format.apache) return std::make_unique<ApacheParser>();
  if (!format.regex.empty()) return std::make_unique<RegexParser>(format.regex);
  if (!format.json.empty()) return std::make_unique<JsonParser>(format.json);
  return std::make_unique<SplitParser>(format.split, format.columns);
}

}  // namespace mr::builtin
