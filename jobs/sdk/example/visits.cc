// Computes requests and bytes per host from a web server's log with lines `host path bytes`.
#include <charconv>
#include <tuple>

#include "paceline/paceline.h"

namespace {

// (requests, bytes)
using Cost = std::tuple<int64_t, int64_t>;

class ReadLog : public mr::LineMapper<std::string, Cost>,
                public mr::Combiner<std::string, Cost>,
                public mr::Partitioner<std::string> {
 public:
  void Map(std::string_view line, Out& out) {
    std::string_view fields[3];
    size_t n = 0;
    mr::ForEachWord(line, [&](std::string_view word) {
      if (n < 3) fields[n] = word;
      ++n;
    });
    int64_t bytes = 0;
    if (n == 3) {
      n = std::from_chars(fields[2].data(), fields[2].data() + fields[2].size(), bytes).ec == std::errc() ? 3 : 0;
    }
    if (n != 3) {
      ++counter("lines skipped");
      return;
    }
    out.Emit(fields[0], Cost(1, bytes));
  }

  // Runs on parts of a group, before the shuffle.
  Cost Combine(std::string_view, mr::Values<Cost>& costs) { return Sum(costs); }

  // Sends hosts of one domain (its last two names) to one task, so that they are in one part of the output.
  uint32_t Partition(std::string_view host, uint32_t partitions) const {
    const size_t dot = host.rfind('.');
    const size_t begin = dot == host.npos || dot == 0 ? host.npos : host.rfind('.', dot - 1);
    uint32_t hash = 2166136261u;  // FNV-1a; std::hash may differ between machines
    for (char c : begin == host.npos ? host : host.substr(begin + 1)) {
      hash = (hash ^ static_cast<uint8_t>(c)) * 16777619u;
    }
    return hash % partitions;
  }

  static Cost Sum(mr::Values<Cost>& costs) {
    Cost sum(0, 0);
    for (const auto& [requests, bytes] : costs) {
      std::get<0>(sum) += requests;
      std::get<1>(sum) += bytes;
    }
    return sum;
  }
};

class WriteCosts : public mr::Reducer<std::string, Cost, mr::Text, mr::Text> {
 public:
  void Reduce(std::string_view host, mr::Values<Cost>& costs, Out& out) {
    out.Emit(host, ReadLog::Sum(costs));  // host TAB requests TAB bytes
  }
};

void PlanVisits(const std::vector<std::string>& args, mr::JobPlan& plan) {
  mr::Args("visits").Parse(args);
  auto& read = plan.Map("read", "visits.read").ReadFiles().Shuffle({.combine = true, .custom_partition = true});
  plan.Reduce("write", "visits.write").Group(read).WriteFiles();
}

}  // namespace

PACELINE_LIBRARY(PACELINE_OPERATOR(ReadLog, "visits.read", MR_DETERMINISTIC | MR_REUSABLE | MR_ASSOCIATIVE)
                     PACELINE_OPERATOR(WriteCosts, "visits.write", MR_DETERMINISTIC | MR_REUSABLE)
                         PACELINE_JOB("visits", "requests and bytes per host of a web server's log", PlanVisits))
