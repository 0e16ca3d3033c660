// terasort: the three parts of the sort benchmark. generate makes rows of 100 bytes that begin with a random key of 10
// bytes (the layout of gensort -a). sort sorts them by key. validate prints the number of rows and their checksum,
// which are the same before and after. It fails if a row is out of order, within a file or between two files.
#include <cstdio>
#include <cstring>

#include "jobs/builtin/builtin.h"
#include "paceline/args.h"

namespace mr::builtin {
namespace {

constexpr int64_t kRowBytes = 100;
constexpr size_t kKeyBytes = 10;

// splitmix64: a number for each row, the same for every division into tasks.
uint64_t Scatter(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

class GenerateRows : public Mapper<int64_t, int64_t, Text, Text> {
 public:
  void Map(int64_t, int64_t, Out&) {}
  void End(Out& out) {
    const auto rows = static_cast<uint64_t>(context().config().Int("rows"));
    const uint64_t task = context().task(), tasks = context().tasks();
    char row[kRowBytes + 1];
    for (uint64_t i = rows * task / tasks; i < rows * (task + 1) / tasks; ++i) {
      uint64_t high = Scatter(2 * i), low = Scatter(2 * i + 1);
      for (size_t k = 0; k < kKeyBytes; ++k) {
        uint64_t& from = k < 5 ? high : low;
        row[k] = static_cast<char>(' ' + from % 95);
        from /= 95;
      }
      std::snprintf(row + kKeyBytes, sizeof row - kKeyBytes, "  %032llX  ", static_cast<unsigned long long>(i));
      for (size_t k = 0; k < 52; ++k) row[46 + k] = static_cast<char>('A' + (i + k / 4) % 26);
      row[98] = '\r';
      row[99] = '\n';
      out.EmitRaw({}, std::string_view(row, kRowBytes));
    }
  }
};

struct Sum {
  uint64_t rows = 0, checksum = 0;
};
using Span = std::tuple<std::string, std::string, uint64_t, uint64_t>;  // first key, last key, rows, checksum

// Emits ((file, offset), a summary of the split).
class CheckRows : public LineMapper<std::tuple<std::string, uint64_t>, Span> {
 public:
  void Open() { ordered_ = !context().config().Bool("unsorted"); }
  void Map(std::string_view row, Out&) {
    if (sum_.rows == 0) {
      offset_ = context().offset();
      first_.assign(row.substr(0, kKeyBytes));
    } else if (ordered_ && row.substr(0, kKeyBytes) < last_) {
      throw FinalError("terasort: " + context().input_file() + ": row " +
                       std::to_string(offset_ / kRowBytes + sum_.rows) +
                       " is out of order: its key is below that of the row before");
    }
    last_.assign(row.substr(0, kKeyBytes));
    ++sum_.rows;
    uint64_t hash = 0;
    for (size_t i = 0; i + 8 <= row.size(); i += 8) {
      uint64_t word;
      std::memcpy(&word, row.data() + i, 8);
      hash = Scatter(hash ^ word);
    }
    uint64_t rest = 0;
    std::memcpy(&rest, row.data() + row.size() / 8 * 8, row.size() % 8);
    sum_.checksum += Scatter(hash ^ rest);
  }
  void FileEnd(Out& out) {
    if (sum_.rows > 0)
      out.Emit(std::tuple(context().input_file(), offset_), Span(first_, last_, sum_.rows, sum_.checksum));
    sum_ = {};
  }

 private:
  bool ordered_ = true;
  Sum sum_;
  uint64_t offset_ = 0;
  std::string first_, last_;
};

class CheckSpans : public Reducer<std::tuple<std::string, uint64_t>, Span, Text, Text> {
 public:
  void Open() { ordered_ = !context().config().Bool("unsorted"); }
  void Reduce(const std::tuple<std::string, uint64_t>& place, Values<Span>& spans, Out&) {
    for (const auto& [first, last, rows, checksum] : spans) {
      if (ordered_ && sum_.rows > 0 && first < last_) {
        throw FinalError(
            "terasort: " + std::get<0>(place) + ", row " + std::to_string(std::get<1>(place) / kRowBytes) +
            " is out of order: its key is below that of the row before, the last one of the split before it");
      }
      last_.assign(last);
      sum_.rows += rows;
      sum_.checksum += checksum;
    }
  }
  void End(Out& out) {
    char checksum[32];
    std::snprintf(checksum, sizeof checksum, "%016llx", static_cast<unsigned long long>(sum_.checksum));
    out.Emit(sum_.rows, std::string_view(checksum));
  }

 private:
  bool ordered_ = true;
  Sum sum_;
  std::string last_;
};

void PlanTeraSort(const std::vector<std::string>& argv, JobPlan& plan) {
  std::vector<std::string> words;
  int64_t rows = 0, tasks = 0;
  bool unsorted = false;
  Args args("terasort");
  args.Add("--rows", &rows, 1, int64_t{1} << 40)
      .Add("--tasks", &tasks, 1, 100'000)
      .Add("--unsorted", &unsorted)
      .Rest(&words)
      .Parse(argv);
  const std::string part = words.size() == 1 ? words[0] : "";
  const FileOptions records{.format = "fixed:100"};
  if (part == "generate") {
    if (rows == 0) args.Refuse("generate needs --rows N (rows of 100 bytes)");
    if (tasks == 0) tasks = (rows + 999'999) / 1'000'000;
    plan.Map("generate", "terasort.generate")
        .Tasks(static_cast<uint32_t>(tasks))
        .Configure(Config().Set("rows", rows))
        .WriteFiles("fixed:100");
  } else if (part == "sort") {
    PlanSort({"--format", "fixed:100"}, plan);
  } else if (part == "validate") {
    const Config config = Config().Set("unsorted", unsorted);
    auto& check =
        plan.Map("check", "terasort.check").Configure(config).ReadFiles(JobPlan::Stage::kAllInputs, records).Shuffle();
    plan.Reduce("borders", "terasort.borders").Tasks(1).Configure(config).Group(check).WriteFiles();
  } else {
    args.Refuse("choose a part: terasort generate --rows N, terasort sort, terasort validate" +
                (part.empty() ? "" : "; not '" + part + "'" + Suggest(part, {"generate", "sort", "validate"})));
  }
}

}  // namespace

void AddTeraSort(Library& library) {
  library.Add<GenerateRows>("terasort.generate", kPure)
      .Add<CheckRows>("terasort.check", kPure)
      .Add<CheckSpans>("terasort.borders", kPure)
      .AddJob<PlanTeraSort>("terasort",
                            "the sort benchmark: terasort generate, terasort sort, terasort validate\n"
                            "  generate --rows N      write N rows of 100 bytes with random keys\n"
                            "  --tasks N              tasks that generate (default: one per million rows)\n"
                            "  sort                   sort by the first 10 bytes\n"
                            "  validate [--unsorted]  print rows and checksum; fail if a row is out of order");
}

}  // namespace mr::builtin
