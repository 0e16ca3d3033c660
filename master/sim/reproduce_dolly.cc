// Dolly (Ananthanarayanan et al., NSDI 2013, section 6): what clones save against LATE and Mantri and cost, how alike
// they make the tasks of a phase, and what it is worth to wait for copies of one's own.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "master/sim/dolly_setups.h"
#include "master/sim/reproduce.h"
#include "master/sim/report.h"

namespace mr::sim {

namespace {

constexpr uint32_t kDollyJobs = 1000;  // an hour of submits
constexpr char kWithLate[] = "fair,late,blacklist", kWithMantri[] = "fair,mantri,blacklist";
constexpr char kDollyLate[] = "fair,dolly,delay_assignment,late,blacklist";
constexpr char kDollyMantri[] = "fair,dolly,delay_assignment,mantri,blacklist";
constexpr char kContend[] = "fair,dolly,delay_assignment(omega=0),late,blacklist";
constexpr char kAvoid[] = "fair,dolly,delay_assignment(omega=inf),late,blacklist";
constexpr size_t kAllBins = kBinNames.size() - 1;
// Of the bins that Dolly calls small: 1 to 10 tasks and 11 to 50.
constexpr uint32_t kSmallJob = 50;
constexpr char kShortReads[] = "128 MiB at 1 Gbit/s are read in 1.1 s, of 13 s of computing: sharing a copy costs little here";
constexpr double kPointsBelow = 8;  // a gain may be so many points below the paper's

double AsSeconds(Duration d) { return static_cast<double>(d.ns) / 1e9; }

// What each phase's attempts did.
class Watched {
 public:
  explicit Watched(const std::vector<JobModel>& jobs) {
    for (const JobModel& job : jobs) tasks_.push_back(job.tasks());
  }

  void See(const sched::StampedEvent& event, const std::vector<sched::Decision>& decisions) {
    if (const auto* e = std::get_if<sched::AttemptKilled>(&event.event)) End(e->attempt, event.at);
    if (const auto* e = std::get_if<sched::AttemptFinished>(&event.event)) {
      End(e->attempt, event.at);
      for (const sched::Decision& d : decisions) {
        const auto* accept = std::get_if<sched::Accept>(&d);
        if (accept == nullptr || !accept->winner || accept->attempt != e->attempt) continue;
        ran_[e->attempt.task.stage_id()].push_back(AsSeconds(e->ran));
      }
    }
    for (const sched::Decision& d : decisions) {
      const auto* launch = std::get_if<sched::Launch>(&d);
      if (launch == nullptr || launch->cause != sched::Cause::kClone) continue;
      cloned_.insert(launch->attempt.task.stage_id());
      clones_[launch->attempt] = event.at;
    }
  }

  // Median / least progress rate of the tasks of a phase of a small job, at p of these phases; with `cloned` those
  // that run as clones only. The tasks of a phase have the same input, so rates are as times.
  double Spread(double p, bool cloned) const {
    std::vector<double> spreads;
    for (const auto& [stage, ran] : ran_) {
      if (ran.size() < 2 || tasks_[stage.job.seq - 1] > kSmallJob || (cloned && !cloned_.contains(stage))) continue;
      std::vector<double> sorted = ran;
      std::sort(sorted.begin(), sorted.end());
      spreads.push_back(sorted.back() / ((sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2));
    }
    if (spreads.empty()) return kNoNumber;
    std::sort(spreads.begin(), spreads.end());
    return spreads[static_cast<size_t>(p * static_cast<double>(spreads.size() - 1))];
  }

  // Percent of the slot-seconds of clones that were those of small jobs.
  double SmallShare() const { return all_ > 0 ? 100 * small_ / all_ : kNoNumber; }

 private:
  void End(const AttemptId& id, Instant at) {
    const auto it = clones_.find(id);
    if (it == clones_.end()) return;
    const double held = AsSeconds(at - it->second);
    all_ += held;
    if (tasks_[id.task.job.seq - 1] <= kSmallJob) small_ += held;
    clones_.erase(it);
  }

  std::vector<uint32_t> tasks_;
  std::map<StageId, std::vector<double>> ran_;
  std::set<StageId> cloned_;
  std::map<AttemptId, Instant> clones_;
  double all_ = 0, small_ = 0;
};

struct DollyOutcome {
  std::array<double, kBinNames.size()> mean{};  // seconds of completion, by bin; the last: of all jobs
  double small = 0, large = 0;  // of the first two bins, and of the others
  double busy = 0, utilisation = 0;
  double spread50 = 0, spread95 = 0, small_share = 0;
};

Result<DollyOutcome> RunDolly(Experiment e, bool cloned) {
  const uint32_t slots = e.cluster.slots();
  Watched watched(e.jobs);
  e.watch = [&watched](const auto& event, const auto& decisions) { watched.See(event, decisions); };
  Simulation run(std::move(e));
  const std::string wrong = run.Run(nullptr);
  if (!wrong.empty()) return Internal("the simulation stopped " + wrong);
  DollyOutcome out;
  const auto bins = BinsOf(run.jobs());
  for (size_t b = 0; b < bins.size(); ++b) out.mean[b] = bins[b].mean;
  double jobs[2] = {0, 0}, sums[2] = {0, 0};
  for (size_t b = 0; b < kAllBins; ++b) {
    jobs[b > 1] += bins[b].jobs;
    sums[b > 1] += bins[b].jobs * bins[b].mean;
  }
  out.small = sums[0] / jobs[0];
  out.large = sums[1] / jobs[1];
  out.busy = run.totals().busy;
  out.utilisation = 100 * run.totals().busy / (run.totals().end * slots);
  out.spread50 = watched.Spread(.5, cloned);
  out.spread95 = watched.Spread(.95, cloned);
  out.small_share = watched.SmallShare();
  return out;
}

double Less(double ours, double base) { return 100 * (1 - ours / base); }

Line Points(const std::string& what, double paper, const std::string& because = "") {
  return {what, paper, paper - kPointsBelow, kNoBound, because};
}

struct FromPaper {
  double late, mantri, late1, mantri1;     // percent
  double potential, small_potential;
};

Figure Completion(const std::string& id, DollyMix mix, const FromPaper& paper, const std::string& because) {
  Figure f{id, "completion of jobs with Dolly against LATE and Mantri, and what it costs", {}, nullptr};
  f.lines = {{"utilisation under LATE, %"},
             {"no stragglers / LATE, all jobs shorter by, %", paper.potential},
             {"no stragglers / LATE, small jobs shorter by, %", paper.small_potential},
             Points("Dolly / LATE, all jobs shorter by, %", paper.late, because),
             Points("Dolly / LATE, bin 1 shorter by, %", paper.late1, because),
             Points("Dolly / Mantri, all jobs shorter by, %", paper.mantri, because),
             Points("Dolly / Mantri, bin 1 shorter by, %", paper.mantri1, because),
             {"extra slot-seconds against LATE, %", 5, -kNoBound, 5},
             {"extra slot-seconds against Mantri, %", 5, -kNoBound, 5},
             {"clones' slot-seconds in bins 1 and 2, %", 83, 75, kNoBound},
             {"median / least rate in cloned phases, p50", 1.06, 0, 1.1, because},
             {"median / least rate in cloned phases, p95", 1.17, 0, 1.25, because},
             {"median / least rate in small jobs' phases under LATE, p95", kNoNumber, 2, kNoBound, because},
             {"median / least rate in small jobs' phases under Mantri, p95", kNoNumber, 2, kNoBound, because}};
  f.run = [mix](const RunContext& c) -> Result<std::vector<double>> {
    const auto make = [&](const char* list) { return DollyRun(mix, kDollyJobs, list, c.seed); };
    MR_ASSIGN_OR_RETURN(const DollyOutcome late, RunDolly(make(kWithLate), false));
    MR_ASSIGN_OR_RETURN(const DollyOutcome mantri, RunDolly(make(kWithMantri), false));
    MR_ASSIGN_OR_RETURN(const DollyOutcome best, RunDolly(WithoutStragglers(make(kWithLate)), false));
    MR_ASSIGN_OR_RETURN(const DollyOutcome by_late, RunDolly(make(kDollyLate), true));
    MR_ASSIGN_OR_RETURN(const DollyOutcome by_mantri, RunDolly(make(kDollyMantri), true));
    return std::vector<double>{late.utilisation,
                               Less(best.mean[kAllBins], late.mean[kAllBins]),
                               Less(best.small, late.small),
                               Less(by_late.mean[kAllBins], late.mean[kAllBins]),
                               Less(by_late.mean[0], late.mean[0]),
                               Less(by_mantri.mean[kAllBins], mantri.mean[kAllBins]),
                               Less(by_mantri.mean[0], mantri.mean[0]),
                               -Less(by_late.busy, late.busy),
                               -Less(by_mantri.busy, mantri.busy),
                               by_late.small_share,
                               by_late.spread50,
                               by_late.spread95,
                               late.spread95,
                               mantri.spread95};
  };
  return f;
}

// Figure 11.
Figure Binding(const std::string& id, DollyMix mix, Line over_avoid, Line over_contend, const std::string& because) {
  Figure f{id, "who waits for a copy of its own: always (CAC), never (CC), up to omega", {}, nullptr};
  const bool bing = mix == DollyMix::kBing;
  over_avoid.because = over_contend.because = because;
  f.lines = {{"CAC / LATE, small jobs shorter by, %", bing ? 17 : kNoNumber},
             {"CC / LATE, small jobs shorter by, %", bing ? 26 : kNoNumber},
             {"delay assignment / LATE, small jobs shorter by, %", bing ? 37 : kNoNumber},
             over_avoid,
             over_contend,
             {"CAC / LATE, large jobs shorter by, %"},
             {"CC / LATE, large jobs shorter by, %"}};
  f.run = [mix](const RunContext& c) -> Result<std::vector<double>> {
    std::vector<DollyOutcome> runs;
    for (const char* list : {kWithLate, kAvoid, kContend, kDollyLate}) {
      MR_ASSIGN_OR_RETURN(const DollyOutcome run, RunDolly(DollyRun(mix, kDollyJobs, list, c.seed), false));
      runs.push_back(run);
    }
    const auto small = [&](size_t l) { return Less(runs[l].small, runs[0].small); };
    const auto large = [&](size_t l) { return Less(runs[l].large, runs[0].large); };
    return std::vector<double>{small(1), small(2), small(3), small(3) / small(1), small(3) / small(2), large(1), large(2)};
  };
  return f;
}

}  // namespace

Study DollyStudy() {
  Study s{"dolly", "Dolly: Ananthanarayanan et al., Effective Straggler Mitigation: Attack of the Clones, NSDI 2013", {}, {}};
  s.parameters = {
      {"cluster", "150 workers of 12 slots, 1 Gbit/s, full bisection", "papers.md 1.4"},
      {"jobs", "1000", "an hour of submits"},
      {"sizes", "82/6/8/3/1 and 61/10/15/12/2 % of jobs in bins 1 to 5", "papers.md 1.4; inside a bin log-uniform, a guess"},
      {"submits", "3.5 s apart, coefficient of variation 6.7", "SWIM's FB-2010_0; Bing's are not known and taken alike"},
      {"phases", "34 % of jobs only map; bin 1 has as many reduces as maps, others one of eight tasks",
       "SWIM's FB-2010_0; papers.md 1.1; a guess"},
      {"bytes of a task", "128 MiB in bins 1 and 2, 256 MiB in others",
       "a guess, towards the 6 % of the resources of the smallest 90 % of jobs (Facebook, papers.md 1.4)"},
      {"straggler factors", "duration / median of Google's tasks, in jobs of 20 or more; drawn anew for every attempt",
       "Google's cell of 2011; neither Facebook's nor Bing's are public"},
      {"no stragglers", "factors over 1 are 1", "papers.md 1.4, potential"},
      {"heartbeat", "3 s for offers and reports", "Hadoop's"},
      {"epsilon, beta, tau", "0.05, 0.05, 0.8", "papers.md 1.1"},
      {"omega", "chosen from completed jobs' samples, each hour", "papers.md 1.3"}};
  s.figures = {Completion("facebook", DollyMix::kFacebook, {42, 40, 46, 44, 47, 49}, ""),
               Completion("bing", DollyMix::kBing, {27, 23, 37, 34, 29, 38}, ""),
               Binding("binding-facebook", DollyMix::kFacebook, {"delay assignment / CAC, gain of small jobs", 1.7, 1.5, kNoBound},
                       {"delay assignment / CC, gain of small jobs"}, kShortReads),
               Binding("binding-bing", DollyMix::kBing, {"delay assignment / CAC, gain of small jobs", 2.1, 1.7, kNoBound},
                       {"delay assignment / CC, gain of small jobs", 37.0 / 26, 1.3, kNoBound}, kShortReads)};
  return s;
}

}  // namespace mr::sim
