// Dolly (Ananthanarayanan et al., NSDI'13, section 6): what clones save against LATE and Mantri, and their cost. Also
// how alike the tasks of a cloned phase are, and the value of waiting for replicas of one's own
// (reproduce_dolly_sweeps.cc).
#include "master/sim/studies/dolly_figures.h"

namespace mr::sim {

namespace {

// In percent; kNoNumber, and so no band, for workloads that the paper lacks.
struct FromPaper {
  double late = kNoNumber, mantri = kNoNumber, late1 = kNoNumber, mantri1 = kNoNumber;
  double potential = kNoNumber, small_potential = kNoNumber;
  double smallest90 = kNoNumber;
  double late1_p75 = kNoNumber, late1_p90 = kNoNumber;
};

// With SWIM's sizes, three of four jobs in bin 1 have phases of one task.
constexpr char kPotential[] =
    "a phase of one task waits for no other: of these jobs' time only so much is stragglers', see 'no stragglers'";
constexpr char kLargeJobs[] =
    "the few jobs of over 150 tasks are most of the mean, and no budget of 90 slots clones them";
constexpr char kTwoClones[] =
    "two clones leave 1 % of tasks with a factor over 3; a phase of 25 has one of these in five";
constexpr char kBase[] = "LATE and Mantri have speculated on the worst";

Figure Completion(const std::string& id, const FromPaper& paper, const Workload& workload) {
  Figure f{id, "completion of jobs with Dolly against LATE and Mantri, and what it costs", {}, nullptr};
  f.lines = {{"utilisation under LATE, %"},
             {"the smallest 90 % of jobs take of all slot-seconds, %", paper.smallest90},
             {"small jobs hold at most, % of the slots", 2},
             {"the smallest 90 % three times cost, % of the slots", 3, -kNoBound, 3},
             {"no stragglers / LATE, bins' means shorter by, %", paper.potential},
             {"no stragglers / LATE, small jobs shorter by, %", paper.small_potential},
             {"no stragglers / LATE, bin 1 shorter by, %"},
             Points("Dolly / LATE, bins' means shorter by, %", paper.late, kPotential),
             Points("Dolly / LATE, mean of all jobs shorter by, %", paper.late, kLargeJobs),
             Points("Dolly / LATE, bin 1 shorter by, %", paper.late1, kPotential),
             {"Dolly / LATE, bin 2 shorter by, %"},
             Points("Dolly / Mantri, bins' means shorter by, %", paper.mantri, kPotential),
             Points("Dolly / Mantri, mean of all jobs shorter by, %", paper.mantri, kLargeJobs),
             Points("Dolly / Mantri, bin 1 shorter by, %", paper.mantri1, kPotential),
             {"extra slot-seconds against LATE, %", 5, -kNoBound, 5},
             {"extra slot-seconds against Mantri, %", 5, -kNoBound, 5},
             {"clones' slot-seconds in bins 1 and 2, %", 83, 75, kNoBound},
             {"median / least rate in cloned phases, p50", 1.06, 0, 1.1, kTwoClones},
             {"median / least rate in cloned phases, p95", 1.17, 0, 1.25, kTwoClones},
             {"median / least rate in small jobs' phases under LATE, p95", kNoNumber, 2, kNoBound, kBase},
             {"median / least rate in small jobs' phases under Mantri, p95", kNoNumber, 2, kNoBound, kBase},
             {"jobs of bin 1 against LATE: shorter at the 10th percentile by, %"},
             Points("jobs of bin 1 against LATE: shorter at the 75th by, %", paper.late1_p75, kPotential),
             Points("jobs of bin 1 against LATE: shorter at the 90th by, %", paper.late1_p90, kPotential)};
  f.run = [workload](const RunContext& c) -> Result<std::vector<double>> {
    const auto run = [&](const char* list, bool cloned) -> Result<DollyOutcome> {
      MR_ASSIGN_OR_RETURN(Experiment e, workload(c, list));
      return RunDolly(std::move(e), cloned);
    };
    MR_ASSIGN_OR_RETURN(const DollyOutcome late, run(kWithLate, false));
    MR_ASSIGN_OR_RETURN(const DollyOutcome mantri, run(kWithMantri, false));
    MR_ASSIGN_OR_RETURN(Experiment without, workload(c, kWithLate));
    MR_ASSIGN_OR_RETURN(const DollyOutcome best, RunDolly(WithoutStragglers(std::move(without)), false));
    MR_ASSIGN_OR_RETURN(const DollyOutcome by_late, run(kDollyLate, true));
    MR_ASSIGN_OR_RETURN(const DollyOutcome by_mantri, run(kDollyMantri, true));
    return std::vector<double>{late.utilisation,
                               late.smallest90,
                               late.most_small,
                               2 * late.smallest90 * late.utilisation / 100,
                               LessByBin(best, late),
                               Less(best.small, late.small),
                               Less(best.mean[0], late.mean[0]),
                               LessByBin(by_late, late),
                               Less(by_late.mean[kAllBins], late.mean[kAllBins]),
                               Less(by_late.mean[0], late.mean[0]),
                               Less(by_late.mean[1], late.mean[1]),
                               LessByBin(by_mantri, mantri),
                               Less(by_mantri.mean[kAllBins], mantri.mean[kAllBins]),
                               Less(by_mantri.mean[0], mantri.mean[0]),
                               -Less(by_late.busy, late.busy),
                               -Less(by_mantri.busy, mantri.busy),
                               by_late.small_share,
                               by_late.spread50,
                               by_late.spread95,
                               late.spread95,
                               mantri.spread95,
                               LessAt(.1, by_late, late),
                               LessAt(.75, by_late, late),
                               LessAt(.9, by_late, late)};
  };
  return f;
}

// The same on a recorded day.
Figure OfRecord(const std::string& id, const SwimDay& day) {
  Figure f = Completion(id, {}, Day(day));
  f.what += "; a day of SWIM's";
  f.lines[0].low = 45, f.lines[0].high = 55;  // checks the scale
  return f;
}

}  // namespace

Workload Mix(DollyMix mix) {
  return [mix](const RunContext& c, const std::string& list) -> Result<Experiment> {
    return DollyRun(mix, kDollyJobs, list, c.seed);
  };
}

Workload Day(const SwimDay& day) {
  return [&day](const RunContext& c, const std::string& list) -> Result<Experiment> {
    if (c.data.empty()) *c.skipped = "MR_DATA does not say where traces are";
    MR_ASSIGN_OR_RETURN(Experiment e, SwimRun(day, c.data, list, c.seed));
    *c.used = Describe(day, e);
    return e;
  };
}

Line Points(const std::string& what, double paper, const std::string& because) {
  return {what, paper, paper - kPointsBelow, kNoBound, because};
}

Study DollyStudy() {
  Study s{"dolly",
          "Dolly: Ananthanarayanan et al., Effective Straggler Mitigation: Attack of the Clones, NSDI 2013",
          {},
          {}};
  s.parameters = {
      {"cluster", "150 workers of 12 slots, 1 Gbit/s, full bisection", "Dolly 6"},
      {"jobs", "1000", "an hour of submits; 3000 in `refresh`"},
      {"sizes", "82/6/8/3/1 and 61/10/15/12/2 % of jobs in bins 1 to 5",
       "bin 1: Dolly; bins 2 to 5: a guess; inside a bin SWIM's FB-2010_0"},
      {"submits", "3.4 s apart, coefficient of variation 1.5",
       "SWIM's FB-2010_0 without its gap of an hour; Bing's are not known"},
      {"phases", "18 to 38 % of a bin's jobs only map", "SWIM's FB-2010_0, a reduce per GiB of shuffle"},
      {"bytes of a task", "128 MiB, 13 s of computing", "a block; 10 MB/s is a guess near Hadoop's of 2010"},
      {"straggler factors", "duration / median of Google's tasks, in jobs of 20 or more; drawn anew for every attempt",
       "Google's cell of 2011; neither Facebook's nor Bing's are public"},
      {"no stragglers", "factors over 1 are 1", "Dolly, potential"},
      {"heartbeat", "3 s for offers and reports", "Hadoop's"},
      {"epsilon, beta, tau", "0.05, 0.05, 0.8", "Dolly 3"},
      {"omega", "chosen from completed jobs' samples, each hour", "Dolly 4"}};
  s.figures = {Completion("facebook", {42, 40, 46, 44, 47, 49, 6, 50, 60}, Mix(DollyMix::kFacebook)),
               Completion("bing", {27, 23, 37, 34, 29, 38, 11, 50, 60}, Mix(DollyMix::kBing)),
               OfRecord("swim-2009", kSwim2009), OfRecord("swim-2010", kSwim2010)};
  for (Figure& f : DollySweeps()) s.figures.push_back(std::move(f));
  for (Figure& f : StrandFigures()) s.figures.push_back(std::move(f));
  for (Figure& f : OurFigures()) s.figures.push_back(std::move(f));
  return s;
}

}  // namespace mr::sim
