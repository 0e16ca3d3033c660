// aggregate: groups the rows of CSV inputs by columns and time buckets, and aggregates other columns. Output rows have
// the columns of --by and --bucket, then one column per element of --agg.
//
//   rows (fold_rows.h) --by hash of the group--> groups (write_groups.h)
#include <algorithm>

#include "jobs/builtin/aggregate/fold_rows.h"
#include "jobs/builtin/aggregate/write_groups.h"

namespace mr::builtin {
namespace {

struct BucketColumns {
  std::vector<std::string> columns, widths, names;
};

// Parses "ts=1h, other=month as m".
BucketColumns ParseBucketColumns(const Args& args, const std::string& list) {
  BucketColumns buckets;
  if (list.empty()) return buckets;
  for (std::string part : SplitCalls(args, "--bucket", list)) {
    const std::string alias = TakeAlias(args, "--bucket", &part);
    const size_t equals = part.rfind('=');
    const std::string width = equals == part.npos ? "" : part.substr(equals + 1);
    if (equals == part.npos || equals == 0 || !BucketWidth::Parse(width)) {
      args.Refuse("--bucket '" + part +
                  "' is not COLUMN=WIDTH; give a width such as 15m, 1h or 1d (ms, s, m, h, d), or week, month, year");
    }
    buckets.columns.push_back(part.substr(0, equals));
    buckets.widths.push_back(width);
    buckets.names.push_back(alias.empty() ? buckets.columns.back() : alias);
  }
  return buckets;
}

void CheckOutputNames(const Args& args, const TableFormat& format, const std::vector<std::string>& names) {
  const CsvDialect dialect = format.dialect();
  for (auto name = names.begin(); name != names.end(); ++name) {
    if (std::find(names.begin(), name, *name) != name) {
      args.Refuse("two columns of the output would be named '" + *name + "'; rename one, such as '" + *name +
                  " as NAME'");
    }
    if (!dialect.quotes && format.writes_header() && name->find(dialect.separator) != name->npos) {
      args.Refuse("the output's column '" + *name +
                  "' has the separator in its name, and --quote none cannot quote it; " + "rename it with: as NAME");
    }
  }
}

// Fields without quotes must not have the separator in them.
void CheckUnquotedFields(const Args& args, const TableFormat& format, const std::vector<Measure>& measures,
                         bool buckets) {
  const CsvDialect dialect = format.dialect();
  if (dialect.quotes) return;
  const bool lists =
      std::any_of(measures.begin(), measures.end(), [](const Measure& m) { return m.fold == Fold::kList; });
  const std::string separator(1, dialect.separator);
  if (lists && std::string(",[]\"\\").find(separator) != std::string::npos) {
    args.Refuse("list(COLUMN, N) writes JSON arrays, which have '" + separator +
                "' in them; with --quote none give another --separator, such as \\t");
  }
  if (buckets && std::string("-:TZ.").find(separator) != std::string::npos) {
    args.Refuse("--bucket writes times such as 2000-10-10T13:00:00Z, which have '" + separator +
                "' in them; with --quote none give another --separator, such as \\t");
  }
}

void PlanAggregate(const std::vector<std::string>& argv, JobPlan& plan) {
  TableFormat format;
  std::vector<std::string> by_lists, agg_lists, bucket_lists;
  std::string time_format = expr::TimeFormat().text(), wrong;
  Args args("aggregate");
  args.Add("--by", &by_lists).Add("--agg", &agg_lists).Add("--bucket", &bucket_lists);
  args.Add("--time-format", &time_format);
  format.AddTo(&args);
  args.Parse(argv);
  format.Check(args);
  if (!expr::TimeFormat::Parse(time_format, &wrong)) args.Refuse("--time-format " + wrong);
  const std::string by = JoinLists(by_lists);
  TableSide side;
  if (!by.empty()) side.columns = SplitNames(args, "--by", by);
  const BucketColumns buckets = ParseBucketColumns(args, JoinLists(bucket_lists));
  const MeasureList agg = ParseMeasures(args, agg_lists.empty() ? "count" : JoinLists(agg_lists));
  std::vector<std::string> names = side.columns;
  names.insert(names.end(), buckets.names.begin(), buckets.names.end());
  names.insert(names.end(), agg.names.begin(), agg.names.end());
  CheckOutputNames(args, format, names);
  CheckUnquotedFields(args, format, agg.measures, !buckets.columns.empty());
  side.columns.insert(side.columns.end(), buckets.columns.begin(), buckets.columns.end());
  const size_t groups = side.columns.size();
  side.columns.insert(side.columns.end(), agg.columns.begin(), agg.columns.end());

  auto& columns = FindColumns("aggregate", format, {side}, &plan);
  Config rows_config = RowsConfig("aggregate", format, side);
  rows_config.Set("groups", groups).Set("measures", EncodeMeasures(agg.measures));
  rows_config.Set("buckets", EncodeTexts(buckets.widths)).Set("time_format", time_format);
  // All records of a group have one key, unless it has streams of values.
  const bool streams = !Streams(agg.measures).empty();
  auto& rows = plan.Map("rows", "aggregate.fold")
                   .Configure(rows_config)
                   .ReadFiles(JobPlan::Stage::kAllInputs, format.Files())
                   .Read(Edge::kBroadcast, columns)
                   .Shuffle({.sorted = false, .custom_partition = streams});
  Config write_config;
  write_config.Set("groups", groups).Set("measures", EncodeMeasures(agg.measures)).Set("names", EncodeTexts(names));
  auto& write = plan.Reduce("groups", "aggregate.write").Configure(format.AddTo(write_config)).GroupByHash(rows);
  if (groups == 0) write.Tasks(1);
  write.WriteFiles(format.OutputFormat());
}

}  // namespace

void AddAggregate(Library& library) {
  library.Add<FoldRows>("aggregate.fold", kPure)
      .Add<WriteGroups>("aggregate.write", kPure)
      .AddJob<PlanAggregate>(
          "aggregate",
          "group the rows of CSV inputs by columns and aggregate others\n"
          "  --by COLUMN,...        columns of the groups (default: none, all rows are one group)\n"
          "  --bucket COLUMN=WIDTH  group by time, too: the start of the bucket of this width in which the\n"
          "                         column's time lies, such as 2000-10-10T13:00:00Z for ts=1h. Widths:\n"
          "                         ms, s, m, h, d, from 1970 on; or week (from Monday), month, year\n"
          "  --agg LIST             aggregates, separated by commas (default: count); C is a column\n"
          "                           count, count(C), sum(C), avg(C), min(C), max(C)\n"
          "                           distinct(C), approx_distinct(C)   different values; error 0.8 %\n"
          "                           median(C), p50(C), p99.9(C), quantile(C, Q)   exact, interpolated\n"
          "                           stddev(C), variance(C)   of a sample; stddev_pop, variance_pop\n"
          "                           min_by(C, B), max_by(C, B)   C where B is smallest, largest\n"
          "                           first(C), last(C), list(C, N)   in the order of the input\n"
          "                         Empty fields are ignored. `sum(C) as NAME` names the column of the\n"
          "                         output. Repeated --by, --bucket and --agg add to their lists.\n" MR_TIME_FORMAT_HELP
              MR_TABLE_FORMAT_HELP("line is a row",
                                   "those of --by, those of --bucket, then the elements of --agg, named as you\n"
                                   "wrote them (sum(amount)) or as their `as NAME` says"));
}

}  // namespace mr::builtin
