// topwords: finds the most frequent words of the input. One DAG counts words, sums the counts, keeps the best of each
// part, and then the best of all. Output lines are `word TAB count`, the most frequent first, equal counts sorted by
// word.
#include <algorithm>

#include "jobs/builtin/builtin.h"
#include "jobs/builtin/word_count.h"
#include "paceline/args.h"

namespace mr::builtin {
namespace {

// Keeps the n best words that it receives, in memory for about 2n.
class BestWords {
 public:
  explicit BestWords(size_t n) : n_(n) {}

  void Add(std::string_view word, int64_t count) {
    words_.emplace_back(count, word);
    if (words_.size() >= 2 * n_ + 64) Keep();
  }
  const std::vector<std::pair<int64_t, std::string>>& Keep() {
    std::sort(words_.begin(), words_.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    if (words_.size() > n_) words_.resize(n_);
    return words_;
  }

 private:
  size_t n_;
  std::vector<std::pair<int64_t, std::string>> words_;
};

class AddUp : public HashReducer<std::string, int64_t, std::string, int64_t> {
 public:
  void Open() { best_ = BestWords(static_cast<size_t>(context().config().Int("top"))); }
  void Fold(int64_t& total, int64_t count) { total += count; }
  void Reduce(std::string_view word, int64_t total, Out&) {
    best_.Add(word, total);
    ++distinct_;
  }
  void End(Out& out) {
    counter("distinct words") += distinct_;
    for (const auto& [count, word] : best_.Keep()) out.Emit(word, count);
  }

 private:
  BestWords best_{0};
  int64_t distinct_ = 0;
};

class TakeBest : public Mapper<std::string, int64_t, Text, Text> {
 public:
  void Open() { best_ = BestWords(static_cast<size_t>(context().config().Int("top"))); }
  void Map(std::string_view word, int64_t count, Out&) { best_.Add(word, count); }
  void End(Out& out) {
    for (const auto& [count, word] : best_.Keep()) out.Emit(word, count);
  }

 private:
  BestWords best_{0};
};

void PlanTopWords(const std::vector<std::string>& argv, JobPlan& plan) {
  int64_t top = 20;
  Args("topwords").Add("--top", &top, 1, 1'000'000).Parse(argv);
  const Config config = Config().Set("top", top);
  auto& count = plan.Map("count", "wordcount.map").ReadFiles().Shuffle({.sorted = false});
  auto& sum = plan.Reduce("sum", "topwords.sum").Configure(config).GroupByHash(count).Shuffle({.sorted = false});
  plan.Map("top", "topwords.top").Tasks(1).Configure(config).Read(Edge::kManyToOne, sum).WriteFiles();
}

}  // namespace

void AddTopwords(Library& library) {
  library.Add<AddUp>("topwords.sum", kPure)
      .Add<TakeBest>("topwords.top", kPure)
      .AddJob<PlanTopWords>("topwords",
                            "the most frequent words of the input and how often they occur\n"
                            "  --top N                number of words (default 20)");
}

}  // namespace mr::builtin
