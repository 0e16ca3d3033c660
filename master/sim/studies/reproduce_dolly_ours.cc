// Beyond the paper: our list against Dolly's with the same budget, and against LATE. It runs on the two mixes that its
// parameters were chosen on, and on two recorded days that they were not.
#include "master/sim/studies/dolly_figures.h"

namespace mr::sim {

namespace {

constexpr double kSooner = 5;  // least percent by which small jobs must be shorter
constexpr char kFewLarge[] =
    "bins of large jobs have few jobs: their means move by some percent with where stragglers fall";

Figure Ours(const std::string& id, const Workload& workload) {
  Figure f{id, std::string(kOurs) + " against " + kDollyLate + ", at the same budget, and LATE", {}, nullptr};
  f.lines = {{"ours / Dolly, small jobs shorter by, %", kNoNumber, kSooner, kNoBound},
             {"no stragglers / Dolly, small jobs shorter by, %"},
             {"ours / LATE, small jobs shorter by, %"}};
  for (size_t b = 0; b < kAllBins; ++b) {
    f.lines.push_back({std::string("ours / LATE, jobs of ") + kBinNames[b] + " tasks shorter by, %"});
  }
  f.lines.push_back({"ours / LATE, the bin that gains least, %", kNoNumber, 0, kNoBound, kFewLarge});
  f.lines.push_back({"Dolly / LATE, the bin that gains least, %"});
  f.lines.push_back({"slot-seconds of the budget's clones under Dolly, % of LATE's"});
  f.lines.push_back({"slot-seconds of the budget's clones under ours, % of LATE's"});
  f.lines.push_back({"slot-seconds of clones on idle slots, % of LATE's"});
  f.lines.push_back({"ours / LATE, extra slot-seconds in all, %"});
  f.run = [workload](const RunContext& c) -> Result<std::vector<double>> {
    std::vector<DollyOutcome> runs;
    for (const char* list : {kWithLate, kDollyLate, kOurs}) {
      MR_ASSIGN_OR_RETURN(Experiment e, workload(c, list));
      MR_ASSIGN_OR_RETURN(DollyOutcome run, RunDolly(std::move(e), false));
      runs.push_back(std::move(run));
    }
    MR_ASSIGN_OR_RETURN(Experiment without, workload(c, kWithLate));
    MR_ASSIGN_OR_RETURN(const DollyOutcome best, RunDolly(WithoutStragglers(std::move(without)), false));
    const DollyOutcome &late = runs[0], &dolly = runs[1], &ours = runs[2];
    std::vector<double> out = {Less(ours.small, dolly.small), Less(best.small, dolly.small),
                               Less(ours.small, late.small)};
    for (size_t b = 0; b < kAllBins; ++b) {
      out.push_back(late.jobs[b] > 0 ? Less(ours.mean[b], late.mean[b]) : kNoNumber);
    }
    for (const double number :
         {LeastOfBins(ours, late), LeastOfBins(dolly, late), 100 * dolly.budgeted / late.busy,
          100 * ours.budgeted / late.busy, 100 * ours.lent / late.busy, -Less(ours.busy, late.busy)}) {
      out.push_back(number);
    }
    return out;
  };
  return f;
}

}  // namespace

std::vector<Figure> OurFigures() {
  return {Ours("ours-facebook", Mix(DollyMix::kFacebook)), Ours("ours-bing", Mix(DollyMix::kBing)),
          Ours("ours-2009", Day(kSwim2009)), Ours("ours-2010", Day(kSwim2010))};
}

}  // namespace mr::sim
