// Computes requests and bytes per host from a web server's log with lines `host path bytes`.
#include <array>
#include <charconv>
#include <optional>
#include <tuple>

#include "paceline/paceline.h"

namespace {

// (requests, bytes)
using Cost = std::tuple<int64_t, int64_t>;

struct Request {
  std::string_view host;
  int64_t bytes;
};

// Returns nothing for a line that has another form.
std::optional<Request> Parse(std::string_view line) {
  std::array<std::string_view, 3> fields;
  size_t n = 0;
  mr::ForEachWord(line, [&](std::string_view word) {
    if (n < fields.size()) fields[n] = word;
    ++n;
  });
  Request request{fields[0], 0};
  const char* const end = fields[2].data() + fields[2].size();
  if (n != fields.size()) return {};
  const auto [at, error] = std::from_chars(fields[2].data(), end, request.bytes);
  if (error != std::errc() || at != end) return {};
  return request;
}

Cost Total(mr::Values<Cost>& costs) {
  Cost total(0, 0);
  for (const auto& [requests, bytes] : costs) {
    std::get<0>(total) += requests;
    std::get<1>(total) += bytes;
  }
  return total;
}

// Returns the same partition for all hosts of one domain (their last two names), so that they are in one part of the
// output.
uint32_t PartitionOfDomain(std::string_view host, uint32_t partitions) {
  const size_t dot = host.rfind('.');
  const size_t begin = dot == host.npos || dot == 0 ? host.npos : host.rfind('.', dot - 1);
  uint32_t hash = 2166136261u;  // FNV-1a; std::hash may differ between machines
  for (char c : begin == host.npos ? host : host.substr(begin + 1)) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619u;
  return hash % partitions;
}

}  // namespace

PACELINE_DEFINE_LIBRARY(library) {
  auto read = library.MapLines<std::string, Cost>(
      "visits.read",
      [](std::string_view line, auto& out, mr::Context& context) {
        if (const auto request = Parse(line)) {
          out.Emit(request->host, Cost(1, request->bytes));
        } else {
          ++context.counter("lines skipped");
        }
      },
      mr::CombineBy([](std::string_view, auto& costs) { return Total(costs); }),  // on parts of a group
      mr::PartitionBy([](std::string_view host, uint32_t partitions) { return PartitionOfDomain(host, partitions); }));

  auto write = library.Reduce<std::string, Cost>("visits.write", [](std::string_view host, auto& costs, auto& out) {
    out.Emit(host, Total(costs));  // host TAB requests TAB bytes
  });

  library.AddJob("visits", "requests and bytes per host of a web server's log", [=](mr::JobPlan& plan) {
    auto hosts = plan.Map("read", read).ReadFiles();
    plan.Reduce("write", write, hosts).WriteFiles();
  });
}
