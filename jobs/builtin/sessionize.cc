// sessionize: cuts the events of each user into sessions at every pause longer than a gap. Output rows are the user,
// session (1, 2, ...), first_time, last_time, events, with times as in the input.
//
// A secondary sort: keys are (user, time), and partitions depend on the user alone. So a user's events arrive sorted by
// time.
#include "jobs/builtin/table.h"
#include "jobs/expressions/times.h"

namespace mr::builtin {
namespace {

class ReadEvents : public RowMapper<std::pair<std::string, int64_t>, std::string>,
                   public ByFirst<std::string, int64_t> {
 public:
  void Open() {
    RowMapper::Open();
    std::string wrong;
    const auto format = expr::TimeFormat::Parse(context().config().Text("time_format"), &wrong);
    if (!format) throw JobError("the stage's config has a malformed format of times");
    format_ = *format;
  }
  void Map(const Block& block, Out& out) {
    ForEachRow(block, [&](const CsvRow& row) {
      const std::string_view time = row[column(1)];
      int64_t micros = 0;
      if (!expr::ParseTime(time, format_, &micros)) RefuseField(column(1), "time: " + format_.Wanted());
      out.Emit(std::pair(row[column(0)], micros), time);
    });
  }

 private:
  expr::TimeFormat format_;
};

class WriteSessions : public SortedReducer<std::string, int64_t, std::string, Text, Text> {
 public:
  void Open() {
    const Config config = context().config();
    gap_ = config.Int("gap_ms") * 1000;
    dialect_ = DialectOf(config);
    output_ = TableOutput(config);
    names_ = {config.Text("user"), "session", "first_time", "last_time", "events"};
  }
  void Reduce(std::string_view user, SortedValues<std::string, int64_t, std::string>& events, Out& out) {
    output_.Header(names_, out);
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
  void End(Out& out) { output_.Header(names_, out); }

 private:
  void Write(std::string_view user, uint64_t session, uint64_t events, Out& out) {
    const std::vector<std::string> row = {std::string(user), std::to_string(session), first_, last_,
                                          std::to_string(events)};
    output_.Made([&](std::string* line) { AppendRow(row, dialect_, line); }, context(), out);
  }

  int64_t gap_ = 0;  // microseconds
  CsvDialect dialect_;
  TableOutput output_;
  std::vector<std::string> names_;
  std::string first_, last_;
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
  std::string user, time, gap = "30m", time_format = expr::TimeFormat().text(), wrong;
  Args args("sessionize");
  args.Add("--user", &user).Add("--time", &time).Add("--gap", &gap).Add("--time-format", &time_format);
  format.AddTo(&args);
  args.Parse(argv);
  format.Check(args);
  if (user.empty() || time.empty()) args.Refuse("give the columns: --user COLUMN --time COLUMN");
  if (!expr::TimeFormat::Parse(time_format, &wrong)) args.Refuse("--time-format " + wrong);
  side.columns = {user, time};
  const int64_t gap_ms = ParseGap(args, gap);
  auto& columns = FindColumns("sessionize", format, {side}, &plan);
  auto& events = plan.Map("events", "sessionize.read")
                     .Configure(RowsConfig("sessionize", format, side).Set("time_format", time_format))
                     .ReadFiles(JobPlan::Stage::kAllInputs, format.Files())
                     .Read(Edge::kBroadcast, columns)
                     .Shuffle({.custom_partition = true});
  Config config;
  plan.Reduce("sessions", "sessionize.write")
      .Configure(format.AddTo(config.Set("gap_ms", gap_ms).Set("user", user)))
      .Group(events)
      .WriteFiles(format.OutputFormat());
}

}  // namespace

void AddSessionize(Library& library) {
  library.Add<ReadEvents>("sessionize.read", kPure)
      .Add<WriteSessions>("sessionize.write", kPure)
      .AddJob<PlanSessionize>(
          "sessionize",
          "cut the events of each user into sessions at every pause longer than a gap\n"
          "  --user COLUMN          column with the user\n"
          "  --time COLUMN          column with the time\n"
          "  --gap DURATION         longest pause within a session (default 30m)\n" MR_TIME_FORMAT_HELP
              MR_TABLE_FORMAT_HELP("line is a row",
                                   "the user's column, session (1, 2, ...), first_time, last_time, events"));
}

}  // namespace mr::builtin
