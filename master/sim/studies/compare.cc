#include "master/sim/studies/compare.h"

#include <algorithm>

#include "common/base/text.h"
#include "master/sched/defaults.h"
#include "master/sched/pipeline.h"
#include "master/sched/policies/list.h"

namespace mr::sim {

namespace {

// A wider ratio of values has a logarithmic axis.
constexpr double kLogFrom = 30;

std::string Joined(const std::vector<std::string>& items) {
  std::string list;
  for (const std::string& item : items) list += (list.empty() ? "" : ",") + item;
  return list;
}

std::string NameOf(const PolicyList& l) { return l.without.empty() ? l.list : "without " + l.without; }

// Returns the table's name for the l-th list.
std::string Mark(size_t l) { return Printed("(%zu)", l + 1); }

std::string Ratio(double value, double base) { return base > 0 && value > 0 ? Printed("%.3f", value / base) : "-"; }

}  // namespace

Result<std::vector<PolicyList>> ListsToCompare(const std::vector<std::string>& lists) {
  if (lists.size() < 2) {
    return InvalidArgument("--compare wants two lists or more, each one value: --compare " +
                           std::string(sched::kPlainPolicies) + " '" + sched::kExamplePolicies + "'");
  }
  std::vector<PolicyList> found;
  std::vector<std::string> seen;
  for (const std::string& list : lists) {
    MR_RETURN_IF_ERROR(sched::Scheduler::CheckPolicies(list).With("--compare '" + list + "'"));
    const std::string plain = Joined(sched::Pipeline::Items(list));
    if (std::find(seen.begin(), seen.end(), plain) != seen.end())
      return InvalidArgument("--compare: the list '" + list + "' is there twice");
    seen.push_back(plain);
    found.push_back({list, ""});
  }
  return found;
}

Result<std::vector<PolicyList>> ListsToAblate(const std::string& list) {
  MR_RETURN_IF_ERROR(sched::Scheduler::CheckPolicies(list).With("--ablate '" + list + "'"));
  const std::vector<std::string> items = sched::Pipeline::Items(list);
  std::vector<PolicyList> lists = {{list, ""}};
  for (size_t i = 0; i < items.size(); ++i) {
    std::vector<std::string> rest = items;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    if (i == 0 && items[0] == sched::kPlainPolicies && !sched::Pipeline::AnyIs(Joined(rest), sched::kPlacesWork))
      continue;
    std::string dropped = items[i];
    // Policies that need the dropped one go with it.
    for (auto lacking = sched::Pipeline::Lacking(Joined(rest)); !lacking.empty();
         lacking = sched::Pipeline::Lacking(Joined(rest))) {
      dropped += "," + rest[lacking[0]];
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(lacking[0]));
    }
    if (rest.empty() || !sched::Scheduler::CheckPolicies(Joined(rest)).ok()) continue;
    lists.push_back({Joined(rest), dropped});
  }
  if (lists.size() < 2) {
    return InvalidArgument("--ablate '" + list +
                           "': nothing can be dropped; a list without a policy that places work begins with '" +
                           sched::kPlainPolicies + "'");
  }
  return lists;
}

Result<std::vector<ListResult>> RunLists(const CompareOptions& o) {
  std::vector<ListResult> results(o.lists.size());
  std::vector<std::vector<Summary>> runs(o.lists.size());
  for (uint32_t n = 0; n < o.seeds; ++n) {
    MR_ASSIGN_OR_RETURN(const Experiment made, o.make(o.seed + n));
    if (o.plot_job > made.jobs.size()) {
      return InvalidArgument(Printed("--plot-job %u: the workload has %zu jobs", o.plot_job, made.jobs.size()));
    }
    for (size_t l = 0; l < o.lists.size(); ++l) {
      Experiment experiment = made;
      experiment.policies = o.lists[l].list;
      if (n == 0 && o.plot_job > 0) {
        results[l].timeline = std::make_unique<Timeline>(JobId{1, o.plot_job});
        Timeline* timeline = results[l].timeline.get();
        experiment.watch = [timeline](const auto& event, const auto& decisions) { timeline->See(event, decisions); };
      }
      const uint32_t slots = experiment.cluster.slots();
      Simulation run(std::move(experiment));
      std::function<void(size_t, size_t, Instant)> progress;
      if (o.progress) progress = [&](size_t done, size_t all, Instant now) { o.progress(l, n, done, all, now); };
      const std::string wrong = run.Run(progress);
      if (!wrong.empty()) {
        return Internal(Printed("the simulation of seed %llu under '", static_cast<unsigned long long>(o.seed) + n) +
                        o.lists[l].list + "' stopped " + wrong);
      }
      runs[l].push_back(SummaryOf(o.lists[l].list, slots, run));
      for (const JobResult& job : run.jobs()) {
        if (o.keep_completions && job.succeeded) results[l].completions.push_back(job.ended - job.submitted);
      }
    }
  }
  for (size_t l = 0; l < o.lists.size(); ++l) {
    results[l].list = o.lists[l];
    results[l].summary = MedianOf(runs[l]);
  }
  return results;
}

std::string ComparisonTable(const Header& h, const std::vector<ListResult>& results) {
  const Summary& first = results.front().summary;
  std::string out;
  for (size_t l = 0; l < results.size(); ++l) out += Mark(l) + "  " + NameOf(results[l].list) + "\n";
  const std::string medians = h.seeds > 1 ? Printed(" (medians of %u seeds)", h.seeds) : "";
  out += "\nSeconds" + medians + ", and ratios to (1).\n";
  out += Printed("%-9s %5s %7s", "TASKS", "LIST", "JOBS") + (h.seeds > 1 ? " SEEDS" : "");
  out += Printed(" %10s %10s %10s %10s  %7s %7s %7s %7s\n", "MEAN s", "P50 s", "P95 s", "P99 s", "MEAN", "P50", "P95",
                 "P99");
  for (size_t b = 0; b < first.bins.size(); ++b) {
    const auto none = [b](const ListResult& r) { return r.summary.bins[b].jobs == 0; };
    if (std::all_of(results.begin(), results.end(), none)) continue;
    for (size_t l = 0; l < results.size(); ++l) {
      const Bin &bin = results[l].summary.bins[b], &base = first.bins[b];
      out += Printed("%-9s %5s ", l == 0 ? bin.name : "", Mark(l).c_str()) + JobsOfBin(bin, 7, h.seeds);
      out += Printed(" %10.2f %10.2f %10.2f %10.2f", bin.mean, bin.p50, bin.p95, bin.p99);
      out += Printed("  %7s %7s %7s %7s\n", Ratio(bin.mean, base.mean).c_str(), Ratio(bin.p50, base.p50).c_str(),
                     Ratio(bin.p95, base.p95).c_str(), Ratio(bin.p99, base.p99).c_str());
    }
  }
  const bool deadlines = first.deadlines > 0;
  out += "\n        MAKESPAN    SLOT-SECONDS          OF (1)   UTILI-            EXTRA              ACROSS     JOBS";
  out += deadlines ? "      DEADLINES\n" : "\n";
  out += "LIST           s    USEFUL    WASTED         ALL   SATION   STARTS LAUNCHED     WON      RACKS   FAILED";
  out += deadlines ? "     MET  MISSED\n" : "\n";
  for (size_t l = 0; l < results.size(); ++l) {
    const Summary& o = results[l].summary;
    out += Printed("%-5s %10.1f %9.0f %9.0f %11s %6.1f %% %8.0f %8.0f %7.0f %10s %8.0f", Mark(l).c_str(), o.makespan,
                   o.useful, o.wasted, Ratio(o.useful + o.wasted, first.useful + first.wasted).c_str(),
                   100 * o.utilisation, o.starts, o.extra, o.extra_won,
                   HumanBytes(static_cast<uint64_t>(o.cross_rack_bytes)).c_str(), o.failed);
    out += deadlines ? Printed(" %7.0f %7.0f\n", o.deadlines - o.missed, o.missed) : "\n";
  }
  return out;
}

std::string ComparisonJson(const Header& h, const std::vector<ListResult>& results) {
  std::string out = "{\"version\":1," + JsonHead(h) + "\"lists\":[";
  for (size_t l = 0; l < results.size(); ++l) {
    out += Printed("%s{\"id\":\"%zu\",", l > 0 ? "," : "", l + 1);
    if (!results[l].list.without.empty()) out += "\"without\":\"" + JsonEscape(results[l].list.without) + "\",";
    out += JsonBody(results[l].summary, &results.front().summary) + "}";
  }
  return out + "]}\n";
}

std::string Plot(const Header& h, const std::vector<ListResult>& results, uint32_t plot_job) {
  Chart cdf;
  cdf.title = "Completion of jobs";
  cdf.x.label = "completion, s";
  cdf.y = {"part of jobs", 0, 1, false, {}};
  double least = 0, most = 0;
  for (size_t l = 0; l < results.size(); ++l) {
    for (const double t : results[l].completions) {
      least = least > 0 ? std::min(least, t) : t;
      most = std::max(most, t);
    }
    cdf.lines.push_back(Cdf(NameOf(results[l].list), ChartColour(l), results[l].completions));
  }
  cdf.x.log = least > 0 && most > kLogFrom * least;
  std::vector<Chart> charts = {std::move(cdf)};
  double end = 0;
  for (const ListResult& r : results) {
    if (r.timeline == nullptr) continue;
    charts.push_back(TimelineChart(Printed("Slots of job %u: ", plot_job) + NameOf(r.list), *r.timeline));
    for (const ChartBox& b : charts.back().boxes) end = std::max(end, b.x1);
  }
  // All timelines have one scale.
  for (size_t c = 1; c < charts.size(); ++c) charts[c].x.high = end;
  return Svg(h.workload + " on " + h.cluster + Printed(", seed %llu", static_cast<unsigned long long>(h.seed)) +
                 (h.seeds > 1 ? Printed(" to %llu", static_cast<unsigned long long>(h.seed + h.seeds - 1)) : ""),
             charts);
}

}  // namespace mr::sim
