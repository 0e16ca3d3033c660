// wordcount: counts each word. Words are runs of bytes other than ASCII white space; with --conf letters=true, runs of
// ASCII letters in lower case. Output lines are `word TAB count`, sorted by word within a part.
#include "jobs/builtin/builtin.h"
#include "jobs/builtin/word_count.h"
#include "paceline/args.h"

namespace mr::builtin {
namespace {

class WriteCounts : public HashReducer<std::string, int64_t, Text, Text> {
 public:
  void Fold(int64_t& total, int64_t count) { total += count; }
  void Reduce(std::string_view word, int64_t total, Out& out) { out.Emit(word, total); }
};

void PlanWordCount(const std::vector<std::string>& args, JobPlan& plan) {
  bool letters = false;
  Args("wordcount").Conf("letters", &letters).Parse(args);
  auto& count =
      plan.Map("count", letters ? "wordcount.letters" : "wordcount.map").ReadFiles().Shuffle({.sorted = false});
  plan.Reduce("sum", "wordcount.reduce").GroupByHash(count).WriteFiles();
}

}  // namespace

void AddWordcount(Library& library) {
  library.Add<CountWords>("wordcount.map", kPure | MR_UNORDERED)
      .Add<CountLetterWords>("wordcount.letters", kPure | MR_UNORDERED)
      .Add<WriteCounts>("wordcount.reduce", kPure)
      .AddJob<PlanWordCount>("wordcount",
                             "count the words of the input, split at ASCII white space\n"
                             "  --conf letters=true    words are runs of letters, in lower case");
}

}  // namespace mr::builtin
