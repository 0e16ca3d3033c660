#include "master/sim/studies/report.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>

#include "common/base/digest.h"
#include "common/base/text.h"
#include "master/sched/job_bins.h"

namespace mr::sim {

namespace {

// Numbers of a summary beside its bins, by their JSON keys.
struct NumberOf {
  const char* key;
  double Summary::*value;
};
constexpr NumberOf kNumbers[] = {{"jobs", &Summary::jobs},
                                 {"failed_jobs", &Summary::failed},
                                 {"deadlines", &Summary::deadlines},
                                 {"missed_deadlines", &Summary::missed},
                                 {"makespan_s", &Summary::makespan},
                                 {"useful_slot_s", &Summary::useful},
                                 {"wasted_slot_s", &Summary::wasted},
                                 {"utilisation", &Summary::utilisation},
                                 {"starts", &Summary::starts},
                                 {"copies", &Summary::extra},
                                 {"copies_won", &Summary::extra_won},
                                 {"retries", &Summary::retries},
                                 {"read_bytes", &Summary::read_bytes},
                                 {"local_bytes", &Summary::local_bytes},
                                 {"cross_rack_bytes", &Summary::cross_rack_bytes},
                                 {"events", &Summary::events}};
struct NumberOfBin {
  const char* key;
  const char* ratio;
  double Bin::*value;
};
constexpr NumberOfBin kBinNumbers[] = {{"mean_s", "mean_ratio", &Bin::mean},
                                       {"p50_s", "p50_ratio", &Bin::p50},
                                       {"p95_s", "p95_ratio", &Bin::p95},
                                       {"p99_s", "p99_ratio", &Bin::p99}};

// Returns the value at the nearest rank; 0 for no values.
double Percentile(const std::vector<double>& sorted, double p) {
  if (sorted.empty()) return 0;
  const auto rank = static_cast<size_t>(std::ceil(p * static_cast<double>(sorted.size())));
  return sorted[std::max<size_t>(rank, 1) - 1];
}

// Returns the median: for an even number of values, the mean of the middle two.
double MiddleOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

std::string Bytes(double bytes) { return HumanBytes(static_cast<uint64_t>(bytes)); }

// Prints whole numbers without a point.
std::string JsonOf(double value) {
  return Printed(value == std::floor(value) && std::fabs(value) < 1e15 ? "%.0f" : "%.6f", value);
}

}  // namespace

std::string Printed(const char* format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return text;
}

std::array<Bin, kBinNames.size()> BinsOf(const std::vector<JobResult>& jobs) {
  std::array<Bin, kBinNames.size()> bins;
  std::array<std::vector<double>, kBinNames.size()> times;
  for (const JobResult& job : jobs) {
    if (!job.succeeded) continue;
    const size_t bin = sched::BinOfTasks(job.tasks) - 1;
    times[bin].push_back(job.ended - job.submitted);
    times.back().push_back(job.ended - job.submitted);
  }
  for (size_t b = 0; b < bins.size(); ++b) {
    std::sort(times[b].begin(), times[b].end());
    double sum = 0;
    for (const double t : times[b]) sum += t;
    const auto n = static_cast<double>(times[b].size());
    bins[b] = {kBinNames[b],
               n,
               n > 0 ? 1.0 : 0.0,
               n > 0 ? sum / n : 0,
               Percentile(times[b], .5),
               Percentile(times[b], .95),
               Percentile(times[b], .99)};
  }
  return bins;
}

Summary SummaryOf(const std::string& scheduler, uint32_t slots, const Simulation& run) {
  const Totals& t = run.totals();
  Summary o;
  o.scheduler = scheduler;
  o.bins = BinsOf(run.jobs());
  o.jobs = static_cast<double>(run.jobs().size());
  for (const JobResult& job : run.jobs()) {
    o.failed += !job.succeeded;
    o.deadlines += job.deadline > 0;
    o.missed += job.late();
  }
  o.makespan = t.end;
  o.useful = t.useful;
  o.wasted = t.wasted;
  o.utilisation = t.end > 0 ? t.busy / (t.end * slots) : 0;
  o.starts = static_cast<double>(t.starts);
  o.extra = static_cast<double>(t.extra);
  for (size_t i = 0; i < kCauses; ++i) {
    const sched::CauseCount& c = t.causes[i];
    o.causes[i] = {static_cast<double>(c.launched), static_cast<double>(c.won), c.wasted.seconds()};
    const auto cause = static_cast<Cause>(i + 1);
    if (cause != Cause::kFirst && cause != Cause::kRetry) o.extra_won += o.causes[i].won;
  }
  o.retries = static_cast<double>(t.retries);
  o.read_bytes = t.read_bytes;
  o.local_bytes = t.local_bytes;
  o.cross_rack_bytes = t.cross_rack_bytes;
  o.events = static_cast<double>(t.events);
  o.digest = run.Digest();
  return o;
}

Summary MedianOf(const std::vector<Summary>& runs) {
  Summary o = runs.front();
  const auto median = [&](const auto& of) {
    std::vector<double> values;
    values.reserve(runs.size());
    for (const Summary& r : runs) values.push_back(of(r));
    return MiddleOf(std::move(values));
  };
  for (const NumberOf& n : kNumbers) o.*n.value = median([&](const Summary& r) { return r.*n.value; });
  for (size_t i = 0; i < kCauses; ++i) {
    for (const auto value : {&Summary::OfCause::launched, &Summary::OfCause::won, &Summary::OfCause::wasted}) {
      o.causes[i].*value = median([&](const Summary& r) { return r.causes[i].*value; });
    }
  }
  for (size_t b = 0; b < o.bins.size(); ++b) {
    // A run without such jobs does not count.
    std::vector<const Bin*> there;
    for (const Summary& r : runs) {
      if (r.bins[b].jobs > 0) there.push_back(&r.bins[b]);
    }
    o.bins[b].seeds = static_cast<double>(there.size());
    if (there.empty()) continue;
    const auto middle = [&there](double Bin::*value) {
      std::vector<double> values;
      values.reserve(there.size());
      for (const Bin* bin : there) values.push_back(bin->*value);
      return MiddleOf(std::move(values));
    };
    o.bins[b].jobs = middle(&Bin::jobs);
    for (const NumberOfBin& n : kBinNumbers) o.bins[b].*n.value = middle(n.value);
  }
  for (size_t i = 1; i < runs.size(); ++i) o.digest = MixHash(o.digest, runs[i].digest);
  return o;
}

std::string JobsOfBin(const Bin& b, int width, uint32_t seeds) {
  return Printed("%*.0f", width, b.jobs) + (seeds > 1 ? Printed(" %5.0f", b.seeds) : "");
}

std::string Table(const Header& h, const Summary& o) {
  std::string out;
  const uint64_t last = h.seed + h.seeds - 1;
  if (h.seeds > 1) out += "Medians of seeds " + std::to_string(h.seed) + " to " + std::to_string(last) + ".\n\n";
  out += Printed("%-10s %8s", "TASKS", "JOBS") + (h.seeds > 1 ? " SEEDS" : "") +
         Printed(" %10s %10s %10s %10s\n", "MEAN s", "P50 s", "P95 s", "P99 s");
  for (const Bin& b : o.bins) {
    out += Printed("%-10s ", b.name) + JobsOfBin(b, 8, h.seeds);
    if (b.jobs == 0)
      out += Printed(" %10s %10s %10s %10s\n", "-", "-", "-", "-");
    else
      out += Printed(" %10.2f %10.2f %10.2f %10.2f\n", b.mean, b.p50, b.p95, b.p99);
  }
  out += Printed("\nmakespan      %.1f s, %.0f jobs failed\n", o.makespan, o.failed);
  if (o.deadlines > 0) out += Printed("deadlines     %.0f met, %.0f missed\n", o.deadlines - o.missed, o.missed);
  out +=
      Printed("slot-seconds  %.0f useful, %.0f wasted, utilisation %.1f %%\n", o.useful, o.wasted, 100 * o.utilisation);
  out += Printed("attempts      %.0f started, %.0f retries; extra: %.0f launched, %.0f won\n", o.starts, o.retries,
                 o.extra, o.extra_won);
  for (size_t i = 0; i < kCauses; ++i) {
    if (o.causes[i].launched == 0) continue;
    out += Printed("  %-11s %.0f launched, %.0f won, %.0f slot-seconds wasted\n", CauseName(static_cast<Cause>(i + 1)),
                   o.causes[i].launched, o.causes[i].won, o.causes[i].wasted);
  }
  return out + "bytes         " + Bytes(o.read_bytes) + " read, " + Bytes(o.local_bytes) + " on the same host, " +
         Bytes(o.cross_rack_bytes) + " across racks\n";
}

std::string JsonHead(const Header& h) {
  return "\"workload\":\"" + JsonEscape(h.workload) + "\",\"cluster\":\"" + JsonEscape(h.cluster) +
         Printed("\",\"seed\":%llu,\"seeds\":%u,\"slots\":%u,", static_cast<unsigned long long>(h.seed), h.seeds,
                 h.slots);
}

std::string JsonBody(const Summary& o, const Summary* first) {
  std::string out = "\"scheduler\":\"" + JsonEscape(o.scheduler) + "\",\"bins\":[";
  for (size_t b = 0; b < o.bins.size(); ++b) {
    out += std::string(b > 0 ? "," : "") + "{\"id\":\"" + o.bins[b].name + "\",\"jobs\":" + JsonOf(o.bins[b].jobs) +
           ",\"seeds\":" + JsonOf(o.bins[b].seeds);
    for (const NumberOfBin& n : kBinNumbers) {
      const double value = o.bins[b].*n.value;
      out += std::string(",\"") + n.key + "\":" + (o.bins[b].jobs > 0 ? JsonOf(value) : "null");
      if (first == nullptr) continue;
      const double base = first->bins[b].*n.value;
      out += std::string(",\"") + n.ratio + "\":" + (base > 0 && o.bins[b].jobs > 0 ? JsonOf(value / base) : "null");
    }
    out += "}";
  }
  out += "],";
  for (const NumberOf& n : kNumbers) {
    // Bytes are whole, though a share of a flow may not be.
    const bool bytes = std::string_view(n.key).ends_with("bytes");
    out += std::string("\"") + n.key + "\":" + (bytes ? Printed("%.0f", o.*n.value) : JsonOf(o.*n.value)) + ",";
  }
  out += "\"causes\":{";
  for (size_t i = 0; i < kCauses; ++i) {
    out += Printed("%s\"%s\":{\"launched\":", i > 0 ? "," : "", CauseName(static_cast<Cause>(i + 1))) +
           JsonOf(o.causes[i].launched) + ",\"won\":" + JsonOf(o.causes[i].won) +
           Printed(",\"wasted_slot_s\":%.6f}", o.causes[i].wasted);
  }
  out += "},";
  return out + Printed("\"digest\":\"%016llx\"", static_cast<unsigned long long>(o.digest));
}

std::string Json(const Header& h, const Summary& o) {
  return "{\"version\":1," + JsonHead(h) + JsonBody(o, nullptr) + "}\n";
}

}  // namespace mr::sim
