// Computes requests and bytes per owner of a web server's hosts. Three stages: `owners` reads a small table with lines
// `host owner` and sends it to all tasks of `read`, which looks up each line `host path bytes` of the log. `sum` adds
// up.
#include <array>
#include <charconv>
#include <optional>
#include <tuple>

#include "paceline/paceline.h"

namespace {

// (requests, bytes)
using Cost = std::tuple<int64_t, int64_t>;

// Returns the words of a line that has exactly N, else nothing.
template <size_t N>
std::optional<std::array<std::string_view, N>> Words(std::string_view line) {
  std::array<std::string_view, N> words;
  size_t n = 0;
  mr::ForEachWord(line, [&](std::string_view word) {
    if (n < N) words[n] = word;
    ++n;
  });
  if (n != N) return {};
  return words;
}

int64_t Number(std::string_view text) {
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || at != end) throw mr::BadRecord("'" + std::string(text) + "' is not a number");
  return number;
}

}  // namespace

PACELINE_DEFINE_LIBRARY(library) {
  auto owners = library.MapLines<std::string, std::string>("visits.owners", [](std::string_view line, auto& out) {
    const auto words = Words<2>(line);
    if (!words) throw mr::BadRecord("an owner is `host owner`");  // submit --max-bad-records N skips such lines
    out.Emit((*words)[0], (*words)[1]);
  });

  // Folds the costs of one owner, before the shuffle and after it.
  const auto add = [](Cost& total, const Cost& cost) {
    std::get<0>(total) += std::get<0>(cost);
    std::get<1>(total) += std::get<1>(cost);
  };

  // The side input, (host, owner), is a map in the memory of each task.
  auto read = library.MapLinesWith<std::string, std::string, std::string, Cost>(
      "visits.read",
      [](std::string_view line, const auto& owners, auto& out, mr::Context& context) {
        const auto words = Words<3>(line);
        if (!words) throw mr::BadRecord("a request is `host path bytes`");
        const auto owner = owners.find((*words)[0]);
        if (owner == owners.end()) ++context.counter("requests without an owner");
        out.Emit(owner == owners.end() ? "unknown" : owner->second, Cost(1, Number((*words)[2])));
      },
      mr::FoldBy(add));

  auto sum = library.HashReduce<std::string, Cost>("visits.sum", add);  // owner TAB requests TAB bytes

  library.AddJob("visits", "requests and bytes per owner of a web server's hosts", [=](mr::JobPlan& plan) {
    auto table = plan.Map("owners", owners).ReadFiles(0);               // the first --input
    auto costs = plan.Map("read", read).ReadFiles(1).SideInput(table);  // the second one
    plan.Reduce("sum", sum, costs).WriteFiles();
  });
}
