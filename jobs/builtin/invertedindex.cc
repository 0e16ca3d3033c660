// invertedindex: lists the files in which each word occurs, with counts. Output lines are `word TAB file TAB count TAB
// file TAB count ...`, sorted by word within a part, and by file within a line.
#include "jobs/builtin/builtin.h"
#include "jobs/builtin/word_table.h"
#include "paceline/args.h"

namespace mr::builtin {
namespace {

// ((word, file), count): groups of a word are adjacent, sorted by file.
using Place = std::tuple<std::string, std::string>;

class CountPlaces : public BlockMapper<Place, int64_t>, public Partitioner<Place> {
 public:
  void Map(const Block& block, Out& out) {
    const auto flush = [&](std::string_view word, int64_t count) { Give(word, count, out); };
    table_.Count(block.text, flush);
  }
  void FileEnd(Out& out) {
    table_.Drain([&](std::string_view word, int64_t count) { Give(word, count, out); });
  }
  uint32_t Partition(const Place& place, uint32_t partitions) { return PartitionOf(std::get<0>(place), partitions); }

 private:
  void Give(std::string_view word, int64_t count, Out& out) {
    out.Emit(Place(std::string(word), context().input_file()), count);
  }
  WordTable table_{TableBytes(WordTable::kMostBytes)};
};

class WritePlaces : public HashReducer<Place, int64_t, Text, Text> {
 public:
  void Fold(int64_t& total, int64_t count) { total += count; }
  void Reduce(const Place& place, int64_t total, Out& out) {
    const auto& [word, file] = place;
    if (!open_ || word != word_) {
      if (open_) out.Line(line_);
      word_ = word;
      line_ = word;
      open_ = true;
    }
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
      plan.Map("words", "invertedindex.words").ReadFiles().Shuffle({.sorted = false, .custom_partition = true});
  plan.Reduce("write", "invertedindex.write").GroupByHash(words).WriteFiles();
}

}  // namespace

void AddInvertedIndex(Library& library) {
  library.Add<CountPlaces>("invertedindex.words", kPure | MR_UNORDERED)
      .Add<WritePlaces>("invertedindex.write", kPure)
      .AddJob<PlanInvertedIndex>("invertedindex", "in which files each word of the input occurs, and how often");
}

}  // namespace mr::builtin
