// wordcount: counts each word. Words are runs of bytes other than ASCII white space; with --conf letters=true, runs of
// ASCII letters in lower case. Output lines are `word TAB count`, sorted by word within a part.
#include "jobs/builtin/builtin.h"
#include "jobs/builtin/word_count.h"
#include "paceline/args.h"

namespace mr::builtin {
namespace {

class WriteCounts : public Reducer<std::string, int64_t, Text, Text> {
 public:
  void Reduce(std::string_view word, Values<int64_t>& counts, Out& out) {
    int64_t total = 0;
    for (int64_t n : counts) total += n;
    out.Emit(word, total);
  }
};

void PlanWordCount(const std::vector<std::string>& args, JobPlan& plan) {
  bool letters = false;
  Args("wordcount").Conf("letters", &letters).Parse(args);
  auto& count =
      plan.Map("count", letters ? "wordcount.letters" : "wordcount.map").ReadFiles().Shuffle({.combine = true});
  plan.Reduce("sum", "wordcount.reduce").Group(count).WriteFiles();
}

}  // namespace

void AddWordcount(Library& library) {
  library.Add<CountWords>("wordcount.map", kPure | MR_UNORDERED | MR_ASSOCIATIVE)
      .Add<CountLetterWords>("wordcount.letters", kPure | MR_UNORDERED | MR_ASSOCIATIVE)
      .Add<WriteCounts>("wordcount.reduce", kPure)
      .AddJob<PlanWordCount>("wordcount",
                             "count the words of the input, split at ASCII white space\n"
                             "  --conf letters=true    words are runs of letters, in lower case");
}

}  // namespace mr::builtin
