// invertedindex: lists the files in which each word occurs, with counts. Output lines are `word TAB file TAB count TAB
// file TAB count ...`, sorted by word within a part, and by file within a line.
#include "jobs/builtin/builtin.h"
#include "jobs/builtin/word_table.h"
#include "paceline/args.h"
#include "paceline/text.h"

namespace mr::builtin {
namespace {

// ((word, file), count): records of a word are adjacent, sorted by file.
using Place = std::tuple<std::string, std::string>;

class CountPlaces : public BlockMapper<Place, int64_t>, public SumCombiner<Place, int64_t>, public Partitioner<Place> {
 public:
  void Map(const Block& block, Out& out) {
    const auto flush = [&](std::string_view word, int64_t count) { Give(word, count, out); };
    const char* const end = block.text.data() + block.text.size();
    ForEachWord(block.text, [&](std::string_view word) { table_.Count(word, end, flush); });
  }
  void FileEnd(Out& out) {
    table_.Drain([&](std::string_view word, int64_t count) { Give(word, count, out); });
  }
  uint32_t Partition(const Place& place, uint32_t partitions) { return PartitionOf(std::get<0>(place), partitions); }

 private:
  void Give(std::string_view word, int64_t count, Out& out) {
    out.Emit(Place(std::string(word), context().input_file()), count);
  }
  WordTable table_;
};

class WritePlaces : public Reducer<Place, int64_t, Text, Text> {
 public:
  void Reduce(const Place& place, Values<int64_t>& counts, Out& out) {
    const auto& [word, file] = place;
    if (!open_ || word != word_) {
      if (open_) out.Line(line_);
      word_ = word;
      line_ = word;
      open_ = true;
    }
    int64_t total = 0;
    for (int64_t n : counts) total += n;
    line_.append("\t").append(file).append("\t").append(std::to_string(total));
  }
  void End(Out& out) {
    if (open_) out.Line(line_);
  }

 private:
  bool open_ = false;
  std::string word_, line_;
};

void PlanInvertedIndex(const std::vector<std::string>& argv, JobPlan& plan) {
  Args("invertedindex").Parse(argv);
  auto& words =
      plan.Map("words", "invertedindex.words").ReadFiles().Shuffle({.combine = true, .custom_partition = true});
  plan.Reduce("write", "invertedindex.write").Group(words).WriteFiles();
}

}  // namespace

void AddInvertedIndex(Library& library) {
  library.Add<CountPlaces>("invertedindex.words", kPure | MR_UNORDERED | MR_ASSOCIATIVE)
      .Add<WritePlaces>("invertedindex.write", kPure)
      .AddJob<PlanInvertedIndex>("invertedindex", "in which files each word of the input occurs, and how often");
}

}  // namespace mr::builtin
