// Dolly's figures that vary one thing: who waits for a replica of its own (11), phases (12), edges (13), the budget
// (14, 15), what happens when it is used up (16), blacklists (Table 2). Also the accuracy of its estimates.
#include <algorithm>
#include <cmath>
#include <map>

#include "master/sim/studies/dolly_figures.h"

namespace mr::sim {

namespace {

constexpr char kContend[] = "fair,dolly,delay_assignment(omega=0),late,blacklist";
constexpr char kAvoid[] = "fair,dolly,delay_assignment(omega=inf),late,blacklist";
// Like omega=0, but readers are bound, so that the time of each read is known.
constexpr char kShare[] = "fair,dolly,delay_assignment(omega=1ms),late,blacklist";
constexpr char kLend[] = "fair,dolly,delay_assignment,opportunistic,late,blacklist";
constexpr char kLendToAll[] = "fair,dolly,delay_assignment,opportunistic(tasks=1000000),late,blacklist";
constexpr char kShortReads[] =
    "128 MiB at 1 Gbit/s are read in 1.1 s, of 13 s of computing: sharing a replica costs little here";
constexpr char kLessToGain[] =
    "with more phases LATE's speculative attempts leave less to gain, see 'no stragglers'; and phases that read take "
    "4.4 s for it";
constexpr char kDrawnAnew[] = "factors are drawn anew for each attempt, on any machine: there is none to be kept from";

using Outcomes = std::vector<DollyOutcome>;

Result<Outcomes> RunAll(DollyMix mix, const std::vector<std::string>& lists, uint64_t seed,
                        const DollyShape& shape = {}, uint32_t jobs = kDollyJobs) {
  Outcomes out;
  for (const std::string& list : lists) {
    MR_ASSIGN_OR_RETURN(DollyOutcome run, RunDolly(DollyRun(mix, jobs, list, seed, shape), false));
    out.push_back(std::move(run));
  }
  return out;
}

// Returns the extra seconds per byte with two readers of a replica, in percent of one reader's.
double SharingCosts(const Samples& samples) {
  double bytes[2] = {0, 0}, seconds[2] = {0, 0};
  for (const TimedRead& r : samples.reads) {
    if (r.readers > 2 || r.bytes <= 0) continue;
    bytes[r.readers - 1] += r.bytes;
    seconds[r.readers - 1] += r.seconds;
  }
  return 100 * (seconds[1] / bytes[1] * bytes[0] / seconds[0] - 1);
}

// Figure 11.
Figure Binding(const std::string& id, DollyMix mix) {
  const bool bing = mix == DollyMix::kBing;
  Figure f{id, "who waits for a replica of its own: always (CAC), never (CC), up to omega", {}, nullptr};
  f.lines = {{"CAC / LATE, small jobs shorter by, %", bing ? 17 : kNoNumber},
             {"CC / LATE, small jobs shorter by, %", bing ? 26 : kNoNumber},
             {"delay assignment / LATE, small jobs shorter by, %", bing ? 37 : kNoNumber},
             {"delay assignment / CAC, gain of small jobs", bing ? 2.1 : 1.7, bing ? 1.7 : 1.5, kNoBound, kShortReads},
             {"delay assignment / CC, gain of small jobs", bing ? 37.0 / 26 : kNoNumber, bing ? 1.3 : -kNoBound,
              kNoBound, kShortReads},
             {"CC / CAC, seconds of large jobs", kNoNumber, 1, kNoBound, "large jobs are seldom cloned"},
             {"a read of a replica that two share takes longer by, %", 32}};
  f.run = [mix](const RunContext& c) -> Result<std::vector<double>> {
    MR_ASSIGN_OR_RETURN(const Outcomes runs, RunAll(mix, {kWithLate, kAvoid, kContend, kDollyLate}, c.seed));
    const auto small = [&](size_t l) { return Less(runs[l].small, runs[0].small); };
    return std::vector<double>{small(1),
                               small(2),
                               small(3),
                               small(3) / small(1),
                               small(3) / small(2),
                               runs[2].large / runs[1].large,
                               SharingCosts(runs[3].samples)};
  };
  return f;
}

// Figure 12.
Figure Phases() {
  constexpr uint32_t kPhases[] = {1, 2, 4, 6};
  Figure f{"phases", "small jobs of several phases, Bing-like: what clones save against LATE", {}, nullptr};
  for (const uint32_t n : kPhases) {
    const std::string of = std::to_string(n) + (n == 1 ? " phase" : " phases") + ", shorter by, %: ";
    f.lines.push_back({of + "CAC"});
    f.lines.push_back({of + "CC"});
    f.lines.push_back({of + "delay assignment", n == 6 ? 31 : kNoNumber});
    f.lines.push_back({of + "no stragglers"});
  }
  f.lines.push_back({"delay assignment, six phases / one phase, gain", kNoNumber, .75, kNoBound, kLessToGain});
  f.run = [kPhases](const RunContext& c) -> Result<std::vector<double>> {
    std::vector<double> out;
    for (const uint32_t n : kPhases) {
      const auto make = [&](const char* list) {
        return DollyRun(DollyMix::kBing, kDollyJobs, list, c.seed, {.phases = n});
      };
      MR_ASSIGN_OR_RETURN(const Outcomes runs,
                          RunAll(DollyMix::kBing, {kWithLate, kAvoid, kContend, kDollyLate}, c.seed, {.phases = n}));
      for (size_t l = 1; l < runs.size(); ++l) out.push_back(Less(runs[l].small, runs[0].small));
      MR_ASSIGN_OR_RETURN(const DollyOutcome best, RunDolly(WithoutStragglers(make(kWithLate)), false));
      out.push_back(Less(best.small, runs[0].small));
    }
    out.push_back(out[out.size() - 2] / out[2]);
    return out;
  };
  return f;
}

// Figure 13.
Figure Edges() {
  constexpr std::pair<sched::EdgeKind, const char*> kEdges[] = {{sched::EdgeKind::kAllToAll, "all-to-all"},
                                                                {sched::EdgeKind::kManyToOne, "many-to-one"},
                                                                {sched::EdgeKind::kOneToOne, "one-to-one"}};
  Figure f{"edges", "small jobs of two phases, Bing-like: delay assignment by what is read", {}, nullptr};
  for (const auto& [kind, name] : kEdges) {
    f.lines.push_back({std::string(name) + ": shorter than under CC by, %"});
    f.lines.push_back({std::string(name) + ": shorter than under CAC by, %"});
  }
  f.run = [kEdges](const RunContext& c) -> Result<std::vector<double>> {
    std::vector<double> out;
    for (const auto& [kind, name] : kEdges) {
      MR_ASSIGN_OR_RETURN(const Outcomes runs,
                          RunAll(DollyMix::kBing, {kContend, kAvoid, kDollyLate}, c.seed, {2, kind}));
      out.push_back(Less(runs[2].small, runs[0].small));
      out.push_back(Less(runs[2].small, runs[1].small));
    }
    return out;
  };
  return f;
}

// Figures 14 and 15.
Figure Budgets(const std::string& id, DollyMix mix) {
  constexpr int kPercents[] = {1, 2, 3, 5, 8, 12};
  // Share of the gain at the largest budget; a guess at what the paper reads off its curves.
  constexpr double kMostOfIt = .9;
  const bool facebook = mix == DollyMix::kFacebook;
  Figure f{id, "the budget: what clones save against LATE with beta percent of the slots", {}, nullptr};
  for (const int b : kPercents) {
    const std::string with = "beta " + std::to_string(b) + " %: ";
    const double paper = b == 5 ? (facebook ? 42 : 27) : b == 3 && facebook ? 38 : kNoNumber;
    f.lines.push_back({with + "bins' means shorter by, %", paper});
    f.lines.push_back({with + "small jobs shorter by, %", b == 3 && !facebook ? 28 : kNoNumber});
  }
  f.lines.push_back({"least of these with 9 tenths of small jobs' gain at 12 %", facebook ? 2 : 3.0, 2, 3});
  f.run = [mix, kPercents](const RunContext& c) -> Result<std::vector<double>> {
    std::vector<std::string> lists = {kWithLate};
    for (const int b : kPercents) {
      lists.push_back("fair,dolly(beta=" + std::to_string(b / 100.0) + "),delay_assignment,late,blacklist");
    }
    MR_ASSIGN_OR_RETURN(const Outcomes runs, RunAll(mix, lists, c.seed));
    std::vector<double> out;
    for (size_t l = 1; l < runs.size(); ++l) {
      out.push_back(LessByBin(runs[l], runs[0]));
      out.push_back(Less(runs[l].small, runs[0].small));
    }
    size_t knee = 0;
    while (out[2 * knee + 1] < kMostOfIt * out.back()) ++knee;
    out.push_back(kPercents[knee]);
    return out;
  };
  return f;
}

// Figure 16.
Figure Admission(const std::string& id, DollyMix mix) {
  const bool facebook = mix == DollyMix::kFacebook;
  Figure f{id, "where the budget is used up: refuse, take clones of larger jobs back, clone what fits", {}, nullptr};
  f.lines = {{"admission control / LATE, bins' means shorter by, %", facebook ? 42 : 27.0},
             {"preemption / LATE, bins' means shorter by, %", facebook ? 43 : 29.0},
             {"preemption, points more than admission control", facebook ? 1 : 2.0, -3, 3},
             {"attempts preempted, % of all", facebook ? 8 : 9.0},
             {"first come, first served: points less than admission control", 14, 8, kNoBound,
              "a budget that is seldom used up is there for late jobs, too"}};
  f.run = [mix](const RunContext& c) -> Result<std::vector<double>> {
    MR_ASSIGN_OR_RETURN(const Outcomes runs,
                        RunAll(mix,
                               {kWithLate, kDollyLate, "fair,dolly(admission=preempt),delay_assignment,late,blacklist",
                                "fair,dolly(admission=fcfs),delay_assignment,late,blacklist"},
                               c.seed));
    const double control = LessByBin(runs[1], runs[0]), preempt = LessByBin(runs[2], runs[0]);
    return std::vector<double>{control, preempt, preempt - control, runs[2].preempted,
                               control - LessByBin(runs[3], runs[0])};
  };
  return f;
}

// Beyond the paper: idle slots are lent to jobs that the budget does not clone.
Figure Lending(const std::string& id, DollyMix mix) {
  constexpr double kAtLeast = 5;  // percent
  Figure f{id, "clones on idle slots beside those of the same budget", {}, nullptr};
  f.lines = {{"opportunistic / Dolly, small jobs shorter by, %", kNoNumber, kAtLeast, kNoBound},
             {"opportunistic / Dolly, bins' means shorter by, %"},
             {"opportunistic / LATE, small jobs shorter by, %"},
             {"opportunistic / LATE, the bin that gains least, shorter by, %", kNoNumber, 0, kNoBound},
             {"opportunistic / Dolly, extra slot-seconds, %"},
             {"opportunistic for jobs of any size / Dolly, small jobs shorter by, %"},
             {"opportunistic for jobs of any size / Dolly, bins' means shorter by, %"},
             {"opportunistic for jobs of any size / LATE, the bin that gains least, shorter by, %"},
             {"opportunistic for jobs of any size / Dolly, extra slot-seconds, %"}};
  f.run = [mix](const RunContext& c) -> Result<std::vector<double>> {
    MR_ASSIGN_OR_RETURN(const Outcomes runs, RunAll(mix, {kWithLate, kDollyLate, kLend, kLendToAll}, c.seed));
    std::vector<double> out;
    for (const size_t l : {2, 3}) {
      out.push_back(Less(runs[l].small, runs[1].small));
      out.push_back(LessByBin(runs[l], runs[1]));
      if (l == 2) out.push_back(Less(runs[l].small, runs[0].small));
      out.push_back(LeastOfBins(runs[l], runs[0]));
      out.push_back(-Less(runs[l].busy, runs[1].busy));
    }
    return out;
  };
  return f;
}

// Table 2.
Figure Blacklists() {
  Figure f{"blacklist", "what blacklists save alone", {}, nullptr};
  f.lines = {{"fair,blacklist / fair, all jobs shorter by, % (Facebook-like)", 8.4, -kNoBound, kNoBound, kDrawnAnew},
             {"fair,blacklist / fair, all jobs shorter by, % (Bing-like)", 6.2, -kNoBound, kNoBound, kDrawnAnew}};
  f.run = [](const RunContext& c) -> Result<std::vector<double>> {
    std::vector<double> out;
    for (const DollyMix mix : {DollyMix::kFacebook, DollyMix::kBing}) {
      MR_ASSIGN_OR_RETURN(const Outcomes runs, RunAll(mix, {"fair", "fair,blacklist"}, c.seed));
      out.push_back(Less(runs[1].mean[kAllBins], runs[0].mean[kAllBins]));
    }
    return out;
  };
  return f;
}

// Returns 100 minus the percent by which an estimate is off.
double Accuracy(double estimate, double real) { return 100 * (1 - std::abs(estimate - real) / real); }

struct Estimates {
  double alone = 0, shared = 0, gaps = 0;  // accuracy, percent
};
struct Moved {
  double bytes = 0, seconds = 0;
};
// Judges the first half's rates by the second half: the predicted time of its bytes against the real one. As in the
// scheduler, each number of readers of one replica has a rate.
double RatesJudged(const std::vector<TimedRead>& reads, double until, bool shared) {
  std::map<uint32_t, Moved> halves[2];
  for (const TimedRead& r : reads) {
    if (r.bytes <= 0 || (r.readers > 1) != shared) continue;
    Moved& moved = halves[r.at > until][r.readers];
    moved.bytes += r.bytes;
    moved.seconds += r.seconds;
  }
  double expected = 0, real = 0;
  for (const auto& [readers, later] : halves[1]) {
    const auto learned = halves[0].find(readers);
    if (learned == halves[0].end()) continue;
    expected += later.bytes * learned->second.seconds / learned->second.bytes;
    real += later.seconds;
  }
  return Accuracy(expected, real);
}

// Learns from the first half of a run and judges on the second.
Estimates Judged(const Samples& samples, double until) {
  constexpr double kOmegas[] = {1, 2,
                                4};  // seconds, about the paper's omega; the share of later gaps is judged at each
  double later[2][std::size(kOmegas)] = {}, all[2] = {};
  for (const ReplicaGap& g : samples.gaps) {
    const size_t half = g.at > until;
    all[half] += 1;
    for (size_t o = 0; o < std::size(kOmegas); ++o) later[half][o] += g.seconds > kOmegas[o];
  }
  double gaps = 0;
  for (size_t o = 0; o < std::size(kOmegas); ++o) gaps += Accuracy(later[0][o] / all[0], later[1][o] / all[1]);
  return {RatesJudged(samples.reads, until, false), RatesJudged(samples.reads, until, true), gaps / std::size(kOmegas)};
}

Figure Estimated() {
  Figure f{
      "estimates", "what is learned in one half of a run, on the other half (Facebook-like, three hours)", {}, nullptr};
  f.lines = {{"bandwidth of a replica with one reader, right to, %", 93, 90, 100},
             {"bandwidth of each of several readers, right to, %", 97, 90, 100},
             {"chance of no replica of one's own within 1, 2, 4 s, right to, %", 95, 90, 100}};
  f.run = [](const RunContext& c) -> Result<std::vector<double>> {
    MR_ASSIGN_OR_RETURN(const Outcomes runs, RunAll(DollyMix::kFacebook, {kAvoid, kShare}, c.seed, {}, 3 * kDollyJobs));
    const auto middle = [](const Samples& s) { return s.reads.empty() ? 0 : s.reads[s.reads.size() / 2].at; };
    const Estimates avoid = Judged(runs[0].samples, middle(runs[0].samples));
    const Estimates share = Judged(runs[1].samples, middle(runs[1].samples));
    return std::vector<double>{avoid.alone, share.shared, avoid.gaps};
  };
  return f;
}

Figure Refreshes() {
  constexpr const char* kPeriods[] = {"30m", "1h", "3h"};
  Figure f{"refresh", "how often what is learned is used anew (Facebook-like, three hours)", {}, nullptr};
  for (const char* period : kPeriods) {
    f.lines.push_back({std::string("small jobs shorter than under LATE, %: each ") + period});
  }
  f.lines.push_back({"largest less least, points", kNoNumber, -kNoBound, 2});
  f.run = [kPeriods](const RunContext& c) -> Result<std::vector<double>> {
    std::vector<std::string> lists = {kWithLate};
    for (const std::string period : kPeriods) {
      lists.push_back("fair,dolly(refresh=" + period + "),delay_assignment(refresh=" + period + "),late,blacklist");
    }
    MR_ASSIGN_OR_RETURN(const Outcomes runs, RunAll(DollyMix::kFacebook, lists, c.seed, {}, 3 * kDollyJobs));
    std::vector<double> out;
    for (size_t l = 1; l < runs.size(); ++l) out.push_back(Less(runs[l].small, runs[0].small));
    const auto [least, most] = std::minmax_element(out.begin(), out.end());
    out.push_back(*most - *least);
    return out;
  };
  return f;
}

}  // namespace

std::vector<Figure> DollySweeps() {
  return {Binding("binding-facebook", DollyMix::kFacebook),
          Binding("binding-bing", DollyMix::kBing),
          Phases(),
          Edges(),
          Budgets("budget-facebook", DollyMix::kFacebook),
          Budgets("budget-bing", DollyMix::kBing),
          Admission("admission-facebook", DollyMix::kFacebook),
          Admission("admission-bing", DollyMix::kBing),
          Lending("idle-facebook", DollyMix::kFacebook),
          Lending("idle-bing", DollyMix::kBing),
          Blacklists(),
          Estimated(),
          Refreshes()};
}

}  // namespace mr::sim
