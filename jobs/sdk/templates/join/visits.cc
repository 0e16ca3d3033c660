// Joins a web server's log, lines `host path bytes`, with a table of owners, lines `host owner`. Each request is
// written with the owner of its host.
#include <array>
#include <charconv>
#include <optional>
#include <tuple>

#include "paceline/paceline.h"

namespace {

// (path, bytes)
using Request = std::tuple<std::string, int64_t>;

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

  auto requests = library.MapLines<std::string, Request>("visits.requests", [](std::string_view line, auto& out) {
    const auto words = Words<3>(line);
    if (!words) throw mr::BadRecord("a request is `host path bytes`");
    out.Emit((*words)[0], Request((*words)[1], Number((*words)[2])));
  });

  // One call per host of either side. The left side is held in memory, so the smaller one is left.
  auto join = library.Join<std::string, std::string, Request>(
      "visits.join", [](std::string_view host, const std::vector<std::string>& owners, auto& requests, auto& out) {
        const std::string owner = owners.empty() ? "unknown" : owners[0];
        for (const auto& [path, bytes] : requests) out.Emit(host, std::tuple(owner, path, bytes));
      });

  library.AddJob("visits", "the requests of a web server's log with the owners of their hosts", [=](mr::JobPlan& plan) {
    auto left = plan.Map("owners", owners).ReadFiles(0);  // the first --input
    auto right = plan.Map("requests", requests).ReadFiles(1);
    plan.Join("join", join, left, right).WriteFiles();
  });
}
