// sessionize: cuts the events of each user into sessions at every pause longer than a gap. Output rows are the user,
// session (1, 2, ...), first_time, last_time, events, with times as in the input.
//
// A secondary sort: keys are (user, time), and partitions depend on the user alone. So a user's events arrive sorted by
// time.
#include <optional>

#include "jobs/builtin/decimal.h"
#include "jobs/builtin/table.h"

namespace mr::builtin {
namespace {

// Returns microseconds. Accepts seconds as a number, or `YYYY-MM-DD HH:MM:SS` with T or a blank between, an optional
// fraction, and an optional Z at the end.
std::optional<int64_t> ParseTime(std::string_view text) {
  if (Decimal number; Decimal::Parse(text, &number)) return number.Millionths();
  if (!text.empty() && text.back() == 'Z') text.remove_suffix(1);
  constexpr std::string_view kShape = "dddd-dd-dd dd:dd:dd";
  if (text.size() < kShape.size()) return {};
  for (size_t i = 0; i < kShape.size(); ++i) {
    const bool fits =
        kShape[i] == 'd' ? text[i] >= '0' && text[i] <= '9' : text[i] == kShape[i] || (i == 10 && text[i] == 'T');
    if (!fits) return {};
  }
  const auto number = [&](size_t from, size_t digits) {
    int64_t n = 0;
    for (size_t i = from; i < from + digits; ++i) n = n * 10 + (text[i] - '0');
    return n;
  };
  const int64_t month = number(5, 2), day = number(8, 2);
  if (month < 1 || month > 12 || day < 1 || day > 31 || number(11, 2) > 24 || number(14, 2) > 59 || number(17, 2) > 60)
    return {};
  int64_t fraction = 0;
  if (text.size() > kShape.size()) {
    Decimal rest;
    if (text[kShape.size()] != '.' || !Decimal::Parse(text.substr(kShape.size()), &rest)) return {};
    const auto millionths = rest.Millionths();
    if (!millionths) return {};
    fraction = *millionths;
  }
  // Days since 1970 by the civil calendar. Years begin in March, so that the leap day is the last day of a year.
  const int64_t year = number(0, 4) - (month <= 2 ? 1 : 0), era = year / 400, of_era = year % 400;
  const int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  const int64_t days = era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
  return (days * 86400 + number(11, 2) * 3600 + number(14, 2) * 60 + number(17, 2)) * 1'000'000 + fraction;
}

class ReadEvents : public RowMapper<std::pair<std::string, int64_t>, std::string>,
                   public ByFirst<std::string, int64_t> {
 public:
  void Map(const Block& block, Out& out) {
    ForEachRow(block, [&](const CsvRow& row) {
      const std::string_view time = row[column(1)];
      const auto micros = ParseTime(time);
      if (!micros) RefuseField(column(1), "time: give seconds, or YYYY-MM-DD HH:MM:SS");
      out.Emit(std::pair(row[column(0)], *micros), time);
    });
  }
};

class WriteSessions : public SortedReducer<std::string, int64_t, std::string, Text, Text> {
 public:
  void Open() {
    const Config config = context().config();
    gap_ = config.Int("gap_ms") * 1000;
    dialect_ = DialectOf(config);
    header_ = OutputHeader(config);
    names_ = {config.Text("user"), "session", "first_time", "last_time", "events"};
  }
  void Reduce(std::string_view user, SortedValues<std::string, int64_t, std::string>& events, Out& out) {
    header_.Emit(names_, out);
    uint64_t session = 0, count = 0;
    int64_t last_micros = 0;
    for (const auto& [micros, time] : events) {
      if (count == 0 || micros - last_micros > gap_) {
        if (count != 0) Write(user, session, count, out);
        ++session;
        count = 0;
        first_.assign(time);
      }
      ++count;
      last_.assign(time);
      last_micros = micros;
    }
    Write(user, session, count, out);
  }
  void End(Out& out) { header_.Emit(names_, out); }

 private:
  void Write(std::string_view user, uint64_t session, uint64_t events, Out& out) {
    line_.clear();
    AppendCsvField(user, &line_, dialect_);
    for (const std::string& field : {std::to_string(session), first_, last_, std::to_string(events)}) {
      line_ += dialect_.separator;
      AppendCsvField(field, &line_, dialect_);
    }
    out.Line(line_);
  }

  int64_t gap_ = 0;  // microseconds
  CsvDialect dialect_;
  OutputHeader header_;
  std::vector<std::string> names_;
  std::string first_, last_, line_;
};

int64_t ParseGap(const Args& args, const std::string& text) {
  const std::pair<std::string_view, int64_t> units[] = {
      {"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}};
  size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
  for (const auto& [unit, ms] : units) {
    if (digits > 0 && digits < 10 && std::string_view(text).substr(digits) == unit)
      return std::stoll(text.substr(0, digits)) * ms;
  }
  args.Refuse("--gap '" + text + "' is no duration; give one such as 30m, 90s or 1h");
}

void PlanSessionize(const std::vector<std::string>& argv, JobPlan& plan) {
  TableFormat format;
  TableSide side;
  std::string user, time, gap = "30m";
  Args args("sessionize");
  args.Add("--user", &user).Add("--time", &time).Add("--gap", &gap);
  format.AddTo(&args);
  args.Parse(argv);
  format.Check(args);
  if (user.empty() || time.empty()) args.Refuse("give the columns: --user COLUMN --time COLUMN");
  side.columns = {user, time};
  const int64_t gap_ms = ParseGap(args, gap);
  auto& columns = FindColumns("sessionize", format, {side}, &plan);
  auto& events = plan.Map("events", "sessionize.events")
                     .Configure(RowsConfig("sessionize", format, side))
                     .ReadFiles(JobPlan::Stage::kAllInputs, format.Files())
                     .Read(Edge::kBroadcast, columns)
                     .Shuffle({.custom_partition = true});
  Config config;
  plan.Reduce("sessions", "sessionize.sessions")
      .Configure(format.AddTo(config.Set("gap_ms", gap_ms).Set("user", user)))
      .Group(events)
      .WriteFiles(format.OutputFormat());
}

}  // namespace

void AddSessionize(Library& library) {
  library.Add<ReadEvents>("sessionize.events", kPure)
      .Add<WriteSessions>("sessionize.sessions", kPure)
      .AddJob<PlanSessionize>(
          "sessionize",
          "cut the events of each user into sessions at every pause longer than a gap\n"
          "  --user COLUMN          column with the user\n"
          "  --time COLUMN          column with the time: seconds, or YYYY-MM-DD HH:MM:SS\n"
          "  --gap DURATION         longest pause within a session (default 30m)\n" MR_TABLE_FORMAT_HELP(
              "line is a row", "the user's column, session (1, 2, ...), first_time, last_time, events"));
}

}  // namespace mr::builtin
