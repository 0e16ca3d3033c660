#include "master/sim/report.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>

#include "common/base/text.h"

namespace mr::sim {

namespace {

constexpr uint32_t kLargest[] = {10, 50, 150, 500, ~0u};

// Nearest rank; 0 of nothing.
double Percentile(const std::vector<double>& sorted, double p) {
  if (sorted.empty()) return 0;
  const auto rank = static_cast<size_t>(std::ceil(p * static_cast<double>(sorted.size())));
  return sorted[std::max<size_t>(rank, 1) - 1];
}

__attribute__((format(printf, 2, 3))) void Print(std::string* out, const char* format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  *out += text;
}

double Utilisation(const Header& h, const Totals& t) { return t.end > 0 ? t.busy / (t.end * h.slots) : 0; }

size_t Failed(const Simulation& run) {
  return static_cast<size_t>(std::count_if(run.jobs().begin(), run.jobs().end(), [](const auto& j) { return !j.succeeded; }));
}

}  // namespace

std::array<Bin, kBinNames.size()> BinsOf(const std::vector<JobResult>& jobs) {
  std::array<Bin, kBinNames.size()> bins;
  std::array<std::vector<double>, kBinNames.size()> times;
  for (const JobResult& job : jobs) {
    if (!job.succeeded) continue;
    size_t bin = 0;
    while (job.tasks > kLargest[bin]) ++bin;
    times[bin].push_back(job.ended - job.submitted);
    times.back().push_back(job.ended - job.submitted);
  }
  for (size_t b = 0; b < bins.size(); ++b) {
    std::sort(times[b].begin(), times[b].end());
    double sum = 0;
    for (const double t : times[b]) sum += t;
    bins[b] = {kBinNames[b], times[b].size(), times[b].empty() ? 0 : sum / static_cast<double>(times[b].size()),
               Percentile(times[b], .5), Percentile(times[b], .95), Percentile(times[b], .99)};
  }
  return bins;
}

std::string Table(const Header& h, const Simulation& run) {
  const Totals& t = run.totals();
  std::string out;
  Print(&out, "%-10s %8s %10s %10s %10s %10s\n", "TASKS", "JOBS", "MEAN s", "P50 s", "P95 s", "P99 s");
  for (const Bin& b : BinsOf(run.jobs())) {
    Print(&out, "%-10s %8zu %10.2f %10.2f %10.2f %10.2f\n", b.name, b.jobs, b.mean, b.p50, b.p95, b.p99);
  }
  Print(&out, "\nmakespan      %.1f s, %zu jobs failed\n", t.end, Failed(run));
  Print(&out, "slot-seconds  %.0f useful, %.0f wasted, utilisation %.1f %%\n", t.useful, t.wasted, 100 * Utilisation(h, t));
  Print(&out, "attempts      %llu started, %llu copies, %llu retries\n", static_cast<unsigned long long>(t.starts),
        static_cast<unsigned long long>(t.copies), static_cast<unsigned long long>(t.retries));
  for (size_t i = 0; i < sched::kCauses; ++i) {
    const sched::CauseCount& c = t.causes[i];
    if (c.launched == 0) continue;
    Print(&out, "  %-11s %llu launched, %llu won, %.0f slot-seconds wasted\n", sched::CauseName(static_cast<sched::Cause>(i + 1)),
          static_cast<unsigned long long>(c.launched), static_cast<unsigned long long>(c.won), c.wasted.seconds());
  }
  Print(&out, "bytes         %s read, %s on the same host, %s across racks\n",
        HumanBytes(static_cast<uint64_t>(t.read_bytes)).c_str(), HumanBytes(static_cast<uint64_t>(t.local_bytes)).c_str(),
        HumanBytes(static_cast<uint64_t>(t.cross_rack_bytes)).c_str());
  return out;
}

std::string Json(const Header& h, const Simulation& run) {
  const Totals& t = run.totals();
  std::string out = "{\"version\":1,\"workload\":\"" + JsonEscape(h.workload) + "\",\"cluster\":\"" + JsonEscape(h.cluster) +
                    "\",\"scheduler\":\"" + JsonEscape(h.scheduler) + "\",";
  Print(&out, "\"seed\":%llu,\"slots\":%u,\"bins\":[", static_cast<unsigned long long>(h.seed), h.slots);
  const auto bins = BinsOf(run.jobs());
  for (size_t b = 0; b < bins.size(); ++b) {
    Print(&out, "%s{\"id\":\"%s\",\"jobs\":%zu,\"mean_s\":%.6f,\"p50_s\":%.6f,\"p95_s\":%.6f,\"p99_s\":%.6f}", b > 0 ? "," : "",
          bins[b].name, bins[b].jobs, bins[b].mean, bins[b].p50, bins[b].p95, bins[b].p99);
  }
  Print(&out, "],\"jobs\":%zu,\"failed_jobs\":%zu,\"makespan_s\":%.6f,", run.jobs().size(), Failed(run), t.end);
  Print(&out, "\"useful_slot_s\":%.6f,\"wasted_slot_s\":%.6f,\"utilisation\":%.6f,", t.useful, t.wasted, Utilisation(h, t));
  Print(&out, "\"starts\":%llu,\"copies\":%llu,\"retries\":%llu,", static_cast<unsigned long long>(t.starts),
        static_cast<unsigned long long>(t.copies), static_cast<unsigned long long>(t.retries));
  out += "\"causes\":{";
  for (size_t i = 0; i < sched::kCauses; ++i) {
    const sched::CauseCount& c = t.causes[i];
    Print(&out, "%s\"%s\":{\"launched\":%llu,\"won\":%llu,\"wasted_slot_s\":%.6f}", i > 0 ? "," : "",
          sched::CauseName(static_cast<sched::Cause>(i + 1)), static_cast<unsigned long long>(c.launched),
          static_cast<unsigned long long>(c.won), c.wasted.seconds());
  }
  out += "},";
  Print(&out, "\"read_bytes\":%.0f,\"local_bytes\":%.0f,\"cross_rack_bytes\":%.0f,", t.read_bytes, t.local_bytes, t.cross_rack_bytes);
  Print(&out, "\"events\":%llu,\"digest\":\"%016llx\"}\n", static_cast<unsigned long long>(t.events),
        static_cast<unsigned long long>(run.Digest()));
  return out;
}

}  // namespace mr::sim
