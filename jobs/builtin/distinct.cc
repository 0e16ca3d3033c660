// distinct: outputs each different line of the input once, sorted within a part; with --count, also its number of
// occurrences.
#include "jobs/builtin/builtin.h"
#include "jobs/builtin/group_table.h"
#include "paceline/args.h"
#include "paceline/text.h"

namespace mr::builtin {
namespace {

// Emits (line, count); most lines of a task have been summed already.
class EachLine : public BlockMapper<std::string, int64_t>, public SumCombiner<std::string, int64_t> {
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

class WriteLines : public Reducer<std::string, int64_t, Text, Text> {
 public:
  void Open() { count_ = context().config().Bool("count"); }
  void Reduce(std::string_view line, Values<int64_t>& counts, Out& out) {
    if (!count_) return out.Line(line);
    int64_t total = 0;
    for (int64_t n : counts) total += n;
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
  auto& lines = plan.Map("lines", "distinct.lines").ReadFiles().Shuffle({.combine = true});
  plan.Reduce("write", "distinct.write").Configure(Config().Set("count", count)).Group(lines).WriteFiles();
}

}  // namespace

void AddDistinct(Library& library) {
  library.Add<EachLine>("distinct.lines", kPure | MR_UNORDERED | MR_ASSOCIATIVE)
      .Add<WriteLines>("distinct.write", kPure)
      .AddJob<PlanDistinct>("distinct",
                            "each different line of the input once\n"
                            "  -c, --count            lines `count TAB line`");
}

}  // namespace mr::builtin
