#include "master/sched/policies/jockey/jockey.h"

#include <algorithm>
#include <cmath>

#include "common/base/check.h"
#include "master/sched/policies/baselines/fair.h"
#include "master/sched/policies/jockey/admission.h"
#include "master/sched/policies/jockey/promises.h"
#include "master/sched/policies/jockey/reasons.h"

namespace mr::sched {

namespace {

// While workers are away: short steps so far, and the end of the whole period.
constexpr char kSoonSteps[] = "soon_steps", kNext[] = "next";
constexpr double kSoon = 1;  // seconds, a guess: workers are back so soon, or not for long
// A guess: a master that starts again waits 10 s for its workers; one that is away longer is gone.
constexpr int64_t kMostSoon = 15;

struct Options {
  double slack, hysteresis, dead_zone, period;
  bool adapt, amdahl, most;
};

double TodayOf(const Job& job) {
  if (job.prediction.runs == 0) return 1;  // a bound has no times of tasks
  std::vector<Computed> done;
  for (const Stage& stage : job.stages) done.push_back({stage.timed, stage.ran.seconds()});
  return Today(job.prediction.stages, done);
}

// Returns the times left with each of the prediction's slots (as in SmallestOfBest).
std::vector<std::vector<double>> TimesLeft(const Prediction& c, double progress, const std::vector<double>& finished,
                                           double today, bool amdahl) {
  std::vector<std::vector<double>> left;
  const Amdahl law = AmdahlOf(c.stages, finished);
  for (size_t i = 0; i < c.slots.size(); ++i) {
    if (amdahl)
      left.push_back({law.Left(c.slots[i])});
    else
      left.push_back(c.At(i, progress));
  }
  Correct(c.stages, finished, c.slots, today, &left);
  return left;
}

// Returns those with this many slots, or with the next larger number in the prediction.
const std::vector<double>& WithSlots(const Prediction& c, const std::vector<std::vector<double>>& left,
                                     uint32_t slots) {
  const size_t at = std::lower_bound(c.slots.begin(), c.slots.end(), slots) - c.slots.begin();
  return left[std::min(at, left.size() - 1)];
}

class Jockey final : public Policy {
 public:
  explicit Jockey(const Options& options) : o_(options) {}

  std::string_view name() const override { return kJockey; }
  bool AnswersOffers() const override { return false; }
  Status CheckList(const std::vector<std::string>& names) const override {
    if (std::find(names.begin(), names.end(), kFair) != names.end()) return Status::Ok();
    const std::string fair = kFair;
    return InvalidArgument("it guarantees slots, which only '" + fair + "' serves: put " + fair + " before it, e.g. '" +
                           fair + "," + kJockey + "'");
  }
  void OnConfig(const View& view, std::vector<JobId>* anew) const override {
    for (const auto& [id, job] : view.state().jobs()) {
      if (job.running() && job.prediction.known()) anew->push_back(id);
    }
  }

  void Refine(const Trigger& trigger, const View& view, Rng&, Plan& plan) const override {
    if (const auto* timers = std::get_if<TimersDue>(&trigger)) {
      Guarantees guarantees(view.state(), view.now());
      for (const uint64_t id : timers->ids) Steer(JobOfFact(id), view, Step::kPeriod, &guarantees, &plan);
    } else if (const auto* changed = std::get_if<ForecastChanged>(&trigger)) {
      Guarantees guarantees(view.state(), view.now());
      for (const JobId job : changed->jobs) Steer(job, view, Step::kAnew, &guarantees, &plan);
    } else if (const auto* ended = std::get_if<JobsEnded>(&trigger)) {
      for (const JobId job : ended->jobs) plan.ForgetAll(kJockeyScope, FactId(job));
    }
  }

  std::vector<Figure> Figures(const View& view) const override {
    std::vector<Figure> figures;
    for (const auto& [due, id] : view.state().guaranteed()) {
      figures.push_back({"jockey_guaranteed_slots", Name(id), double(view.state().FindJob(id)->share)});
    }
    return figures;
  }

 private:
  // kAnew: earlier steps do not count. kLess: others need its slots; A and its period stay as they are.
  enum class Step { kAnew, kPeriod, kLess };

  // Takes a step of this job, and takes from jobs without a promise what its guarantee needs of theirs.
  void Steer(JobId id, const View& view, Step step, Guarantees* guarantees, Plan* plan) const {
    const Job* job = view.state().FindJob(id);
    if (job == nullptr || !job->running() || !job->prediction.known()) return;
    Control(*job, view, step, guarantees, plan);
    for (const JobId of_other : guarantees->Unpromised()) {
      const Job& other = *view.state().FindJob(of_other);
      if (of_other == id || guarantees->SlotsOf(other) <= guarantees->Room(other, false)) continue;
      Control(other, view, Step::kLess, guarantees, plan);
    }
  }

  void Control(const Job& job, const View& view, Step step, Guarantees* guarantees, Plan* plan) const {
    const JobId id = job.id;
    if (job.deadline.ns <= 0 && job.utility.empty()) {
      plan->ForgetAll(kJockeyScope, FactId(id));
      if (job.share > 0) plan->SetShare(id, 0, {JockeyReason::kNoDeadline, "", {}});
      guarantees->Set(job, 0, 0, false);
      return;
    }
    const bool anew = step == Step::kAnew, less = step == Step::kLess;
    const Prediction& c = job.prediction;
    const double minute = JockeyMinute(job), elapsed = (view.now() - job.submitted_at).seconds();
    const std::vector<double> finished = FinishedShares(job);
    const double progress = ProgressOf(c.indicator, c.stages, finished);
    const double today = TodayOf(job);
    const auto left = TimesLeft(c, progress, finished, today, o_.amdahl);
    const uint32_t raw =
        SmallestOfBest(c.slots, left, elapsed, o_.slack, UtilityOf(job, minute).ShiftedLeft(o_.dead_zone * minute));
    double slots = raw;
    const FactValue* before = anew ? nullptr : view.FindFact(kJockeyScope, FactId(id), kJockeySlots);
    const Instant next = anew ? Instant{} : Instant{view.Number(kJockeyScope, FactId(id), kNext)};
    const bool within = less || view.now() < next;  // its period: A stays
    if (o_.most)
      slots = c.slots.back();
    else if (before != nullptr && (within || !o_.adapt))
      slots = std::get<double>(*before);
    else if (before != nullptr)
      slots = Smoothed(std::get<double>(*before), raw, o_.hysteresis);
    const bool admitted = anew ? CanBePromised(view.state(), job, view.now())
                               : view.Number(kJockeyScope, FactId(id), kJockeyPromised) != 0;
    if (!less) plan->Remember(kJockeyScope, FactId(id), kJockeySlots, slots);
    if (anew) plan->Remember(kJockeyScope, FactId(id), kJockeyPromised, int64_t{admitted});
    const bool promised = admitted && job.due() >= view.now();
    const uint32_t wished = WholeSlots(slots), most = MostFor(view.state(), job);
    const bool away = wished > most && view.state().slots().total < c.slots.back();
    const uint32_t share = std::min(wished, guarantees->Room(job, promised));
    guarantees->Set(job, share, std::min(wished, most), promised);
    const std::vector<double>& then = WithSlots(c, left, share);
    plan->SetShare(
        id, share,
        {JockeyReason::kAllotted,
         "",
         {double(share), double(raw), 100 * progress, elapsed, then[then.size() / 2], job.deadline.seconds(), today}});
    if (less) return;
    const Instant whole = view.now() + FromSeconds(o_.period * minute);
    plan->WakeAt(FactId(id), away ? Soon(id, view, anew, within ? next : whole, plan) : whole);
    for (const char* of_away : {kSoonSteps, kNext}) {
      if (!away && view.FindFact(kJockeyScope, FactId(id), of_away) != nullptr)
        plan->Forget(kJockeyScope, FactId(id), of_away);
    }
  }

  // Returns the time of the next step while workers are away. next: the end of the period.
  static Instant Soon(JobId id, const View& view, bool anew, Instant next, Plan* plan) {
    const int64_t steps = anew ? 0 : view.Number(kJockeyScope, FactId(id), kSoonSteps);
    const Instant soon = view.now() + FromSeconds(kSoon);
    const bool early = steps < kMostSoon && soon < next;
    plan->Remember(kJockeyScope, FactId(id), kNext, next.ns);
    plan->Remember(kJockeyScope, FactId(id), kSoonSteps, steps + early);
    return early ? soon : next;
  }

  const Options o_;
};

}  // namespace

double JockeyMinute(const Job& job) {
  MR_CHECK(!job.utility.empty() || job.deadline.ns > 0, "neither a deadline nor points");
  const double given = job.utility.empty() ? job.deadline.seconds() : job.utility.back().at.seconds();
  return std::clamp(given / 60, .25, 60.0);
}

Utility UtilityOf(const Job& job, double minute) {
  if (job.utility.empty()) return Utility::OfDeadline(job.deadline.seconds(), minute);
  std::vector<std::pair<double, double>> points;
  for (const UtilityPoint& point : job.utility) points.emplace_back(point.at.seconds(), point.utility);
  return Utility(std::move(points));
}

JobLeft LeftWith(const Job& job, uint32_t slots) {
  const Prediction& c = job.prediction;
  const std::vector<double> finished = FinishedShares(job);
  const auto left = TimesLeft(c, ProgressOf(c.indicator, c.stages, finished), finished, TodayOf(job), false);
  const std::vector<double>& times = WithSlots(c, left, slots);
  const size_t outside = times.size() / 10;  // the tenth at each end
  const double spread = c.runs == 0 ? 0 : (times[times.size() - 1 - outside] - times[outside]) / 2;  // a bound has none
  return {times[times.size() / 2], spread};
}

std::vector<double> FinishedShares(const Job& job) {
  std::vector<double> shares;
  for (const Stage& stage : job.stages) {
    if (!stage.planned())
      shares.push_back(0);
    else
      shares.push_back(stage.tasks.empty() ? 1 : double(stage.committed) / static_cast<double>(stage.tasks.size()));
  }
  return shares;
}

void DropJockey(const View& view, Plan* plan) {
  const auto& facts = view.state().facts();
  for (auto it = facts.lower_bound(FactName(kJockey, "", 0, "")); it != facts.end(); ++it) {
    if (it->first.policy != kJockey) break;
    plan->Forget(it->first.scope, it->first.id, it->first.name);
  }
  for (const auto& [due, job] : view.state().guaranteed()) plan->SetShare(job, 0, {JockeyReason::kNotSteered, "", {}});
}

Result<std::unique_ptr<Policy>> MakeJockey(PolicyParams* params) {
  Options o{};
  MR_ASSIGN_OR_RETURN(o.slack, params->Number("slack", kJockeySlack, 0.1, 100));
  MR_ASSIGN_OR_RETURN(o.hysteresis, params->Number("hysteresis", 0.2, 0.001, 1));
  MR_ASSIGN_OR_RETURN(o.dead_zone, params->Number("dead_zone", 3, 0, 60));
  MR_ASSIGN_OR_RETURN(o.period, params->Number("period", 1, 0.1, 60));
  MR_ASSIGN_OR_RETURN(o.adapt, params->Flag("adapt", true));
  MR_ASSIGN_OR_RETURN(const size_t model, params->Choice("model", {"simulator", "amdahl"}));
  MR_ASSIGN_OR_RETURN(o.most, params->Flag("most", false));
  o.amdahl = model == 1;
  return std::unique_ptr<Policy>(std::make_unique<Jockey>(o));
}

}  // namespace mr::sched
