// distinct: outputs each different line of the input once, sorted within a part; with --count, also its number of
// occurrences.
#include "jobs/builtin/builtin.h"
#include "jobs/builtin/group_table.h"
#include "paceline/args.h"
#include "paceline/text.h"

namespace mr::builtin {
namespace {

// Emits (line, count); most lines of a task have been summed already.
class EachLine : public BlockMapper<std::string, int64_t> {
 public:
  void Map(const Block& block, Out& out) {
    ForEachLine(block.text, [&](std::string_view line) {
      bool added = false;
      const uint32_t number = table_.Find(line, &added);
      if (added) counts_.push_back(0);
      ++counts_[number];
      if (table_.bytes() > most_bytes_) Flush(out);
    });
  }
  void End(Out& out) { Flush(out); }

 private:
  const size_t most_bytes_ = TableBytes(24u << 20);  // guess: as in aggregate
  void Flush(Out& out) {
    for (uint32_t number = 0; number < table_.size(); ++number) out.Emit(table_.Key(number), counts_[number]);
    table_.Clear();
    counts_.clear();
  }
  GroupTable table_;
  std::vector<int64_t> counts_;
};

class WriteLines : public HashReducer<std::string, int64_t, Text, Text> {
 public:
  void Open() { count_ = context().config().Bool("count"); }
  void Fold(int64_t& total, int64_t count) { total += count; }
  void Reduce(std::string_view line, int64_t total, Out& out) {
    if (!count_) return out.Line(line);
    text_.assign(std::to_string(total)).append("\t").append(line);
    out.Line(text_);
  }

 private:
  bool count_ = false;
  std::string text_;
};

void PlanDistinct(const std::vector<std::string>& argv, JobPlan& plan) {
  bool count = false;
  Args("distinct").Add("--count", &count).Add("-c", &count).Parse(argv);
  auto& lines = plan.Map("lines", "distinct.lines").ReadFiles().Shuffle({.sorted = false});
  plan.Reduce("write", "distinct.write").Configure(Config().Set("count", count)).GroupByHash(lines).WriteFiles();
}

}  // namespace

void AddDistinct(Library& library) {
  library.Add<EachLine>("distinct.lines", kPure | MR_UNORDERED)
      .Add<WriteLines>("distinct.write", kPure)
      .AddJob<PlanDistinct>("distinct",
                            "each different line of the input once\n"
                            "  -c, --count            lines `count TAB line`");
}

}  // namespace mr::builtin
