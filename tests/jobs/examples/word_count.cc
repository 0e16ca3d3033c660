// Counts words.
#include "paceline/paceline.h"

PACELINE_DEFINE_LIBRARY(library) {
  const auto add = [](int64_t& total, int64_t n) { total += n; };
  const auto split = [](std::string_view line, auto& out) {
    mr::ForEachWord(line, [&](std::string_view word) { out.Emit(word, 1); });
  };
  auto map = library.MapLines<std::string, int64_t>("words.split", split, mr::FoldBy(add));
  auto reduce = library.HashReduce<std::string, int64_t>("words.total", add);
  library.AddJob("words", "counts words", [=](mr::JobPlan& plan) {
    auto words = plan.Map("split", map).ReadFiles();
    plan.Reduce("total", reduce, words).WriteFiles();
  });
}
