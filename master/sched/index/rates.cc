#include "master/sched/index/rates.h"

#include <algorithm>
#include <iterator>

#include "common/base/digest.h"
#include "common/base/prefetch.h"
#include "master/sched/index/estimate.h"

namespace mr::sched {

namespace {

constexpr double kNsPerSecond = 1e9;
// The share of its input after which an attempt's rate predicts the whole: two steps of its reports
// (worker/daemon/progress.h).
constexpr double kTold = .1;
// Reports of a stage that may stay uncounted, however few attempts it runs. A guess.
constexpr size_t kLeastKept = 256;
// Attempts between two levels of a prefetch. A guess: four attempts take as long as memory.
constexpr size_t kAhead = 4;

// Replaces the old entry of the set by the new one. Cheap if both are equal, as with most changes.
template <class Set, class T>
void Move(Set& set, bool was, const T& old, bool is, const T& value) {
  if (was == is && (!is || old == value)) return;
  if (was) set.Erase(old);
  if (is) set.Insert(value);
}

bool Same(const StageStatistics& a, const StageStatistics& b) {
  return a.by_rate.All() == b.by_rate.All() && a.by_score.All() == b.by_score.All() &&
         a.by_start.All() == b.by_start.All() && a.paced == b.paced && a.by_report.All() == b.by_report.All() &&
         a.rates.All() == b.rates.All() && a.durations.All() == b.durations.All() && a.ends.All() == b.ends.All() &&
         a.scores == b.scores && a.running == b.running && a.phase_ns == b.phase_ns && a.phase_n == b.phase_n &&
         a.measured_ns == b.measured_ns && a.measured_bytes == b.measured_bytes && a.measured_work == b.measured_work &&
         a.measured == b.measured && a.wrapup_ns == b.wrapup_ns && a.lag_ns == b.lag_ns && a.sampled == b.sampled &&
         a.told.All() == b.told.All() && a.costs.All() == b.costs.All() && a.wrapups.All() == b.wrapups.All() &&
         a.by_worker.All() == b.by_worker.All() && a.by_cost.All() == b.by_cost.All() && a.doubled == b.doubled;
}

bool Sampled(uint32_t task, size_t tasks) {
  return tasks <= kCostsKept || MixHash(0x9e37, task) % (tasks / kCostsKept + 1) == 0;
}

// Returns true if several attempts run and one is wanted, without counting clones on lent slots.
bool Doubled(const StageSpec& spec, const Task& task) {
  return !spec.side_effects && task.state == TaskState::kRunning && task.wanted == 1 && OwnLive(task) > 1;
}

void ChangeWork(const Rating& a, const Rating& b, WorkerId worker, const StatisticsWanted& wanted, StageStatistics* s) {
  s->wrapup_ns += b.wrapup - a.wrapup;
  const int64_t ns = (b.bytes > 0 ? b.work : 0) - (a.bytes > 0 ? a.work : 0);
  s->measured_work += ns;
  s->measured += static_cast<uint32_t>(b.bytes > 0) - static_cast<uint32_t>(a.bytes > 0);
  if (!wanted.costs || (a.bytes == b.bytes && ns == 0)) return;
  s->by_worker.Add(worker, ns, b.bytes - a.bytes);
}

void Change(const Rating& a, const Rating& b, AttemptKey key, WorkerId worker, const StatisticsWanted& wanted,
            StageStatistics* s) {
  using ByRate = std::pair<double, AttemptKey>;
  using ByNumber = std::pair<int64_t, AttemptKey>;
  s->scores += b.score - a.score;
  s->running += static_cast<uint32_t>(b.running) - static_cast<uint32_t>(a.running);
  if (wanted.rates) {
    Move(s->rates, a.rate > 0, a.rate, b.rate > 0, b.rate);
    Move(s->by_rate, a.candidate && a.rate > 0, ByRate{a.rate, key}, b.candidate && b.rate > 0, ByRate{b.rate, key});
    Move(s->ends, a.finished, a.started + a.lasted, b.finished, b.started + b.lasted);
  }
  if (wanted.scores) Move(s->by_score, a.candidate, ByNumber{a.score, key}, b.candidate, ByNumber{b.score, key});
  Move(s->by_start, a.candidate, ByNumber{a.started, key}, b.candidate, ByNumber{b.started, key});
  s->paced += static_cast<uint32_t>(b.paced) - static_cast<uint32_t>(a.paced);
  Move(s->by_report, a.reported > 0, ByNumber{a.reported, key}, b.reported > 0, ByNumber{b.reported, key});
  Move(s->durations, a.finished, a.lasted, b.finished, b.lasted);
  s->measured_ns += (b.bytes > 0 ? b.lasted : 0) - (a.bytes > 0 ? a.lasted : 0);
  s->measured_bytes += b.bytes - a.bytes;
  Move(s->by_cost, a.alone && a.cost > 0, ByRate{-a.cost, key}, b.alone && b.cost > 0, ByRate{-b.cost, key});
  s->lag_ns += b.lag - a.lag;
  s->sampled += static_cast<uint32_t>(b.sampled) - static_cast<uint32_t>(a.sampled);
  if (wanted.costs) {
    Move(s->told, a.sampled && a.told > 0, a.told, b.sampled && b.told > 0, b.told);
    const bool was = a.sampled && a.finished && a.cost > 0, is = b.sampled && b.finished && b.cost > 0;
    Move(s->costs, was, a.cost, is, b.cost);
    Move(s->wrapups, was, a.wrapup, is, b.wrapup);
  }
  if (a.finished || b.finished) ChangeWork(a, b, worker, wanted, s);
  for (size_t i = 0; i < b.phases.size(); ++i) {
    s->phase_ns[i] += b.phases[i] - a.phases[i];
    s->phase_n[i] += static_cast<uint32_t>(b.phases[i] > 0) - static_cast<uint32_t>(a.phases[i] > 0);
  }
}

// Returns Rating::phases. A phase that began and ended between two reports counts as a nanosecond.
std::array<int64_t, 3> PhasesOf(const Attempt& a, int64_t started) {
  std::array<int64_t, 3> phases{};
  if (a.samples.empty() || a.samples.back().phase == 0) return phases;
  const Sample& s = a.samples.back();
  const int64_t began[] = {started, a.sort_at.ns, a.reduce_at.ns};
  const int64_t ended[] = {a.sort_at.ns, a.reduce_at.ns, a.state == AttemptState::kCommitted ? a.ended_at.ns : 0};
  for (size_t i = 0; i < phases.size() && began[i] != 0; ++i) {
    if (ended[i] != 0) {
      phases[i] = std::max<int64_t>(1, ended[i] - began[i]);
    } else if (const double share = PhaseShare(s); s.phase == i + 1 && share > 0) {
      phases[i] = std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(s.at.ns - began[i]) / share));
    }
  }
  return phases;
}

// Returns a running attempt's ns per byte of its whole input, counted from when it had its inputs. 0 before two
// reports of the work itself (a reduce's third phase), a share of kTold apart.
double ToldBy(const Attempt& a, int64_t started, const Pace& pace) {
  const Sample& last = a.samples.back();
  if (last.phase == 1 || last.phase == 2) return 0;
  if (pace.from_start || last.phase > 3) return 0;
  if (static_cast<double>(last.taken_bytes) < kTold * static_cast<double>(last.total_bytes)) return 0;
  const int64_t from = last.phase == 0 ? started : std::max(started, a.inputs_done_at.ns);
  const double whole = static_cast<double>(last.at.ns - from) + pace.ns_per_byte * static_cast<double>(pace.left);
  return whole / static_cast<double>(last.total_bytes);
}

// Replaces the attempt's old values in the job's statistics by its new ones.
void Recount(const Rating& was, const Rating& is, WorkerId worker, JobStatistics* s) {
  const bool counted = was.running || was.finished, counts = is.running || is.finished;
  if (!counted && !counts) return;
  s->progress.Add(worker, (counts ? is.score : 0) - (counted ? was.score : 0), int{counts} - int{counted});
}

}  // namespace

void ProgressByWorker::Settle() const {
  if (kept_.empty()) return;
  std::sort(kept_.begin(), kept_.end(), [](const Change& a, const Change& b) { return a.worker < b.worker; });
  for (auto from = kept_.begin(); from != kept_.end();) {
    const auto it = progress_.try_emplace(from->worker).first;
    WorkerProgress& p = it->second;
    const WorkerProgress was = p;
    for (; from != kept_.end() && from->worker == it->first; ++from) {
      p.scores += from->scores;
      p.attempts += static_cast<uint32_t>(from->attempts);
    }
    if (was.attempts > 0) scores_.Erase(was.scores);
    if (p.attempts > 0)
      scores_.Insert(p.scores);
    else
      progress_.erase(it);
  }
  kept_.clear();
}

WorkDone WorkByWorker::Find(WorkerId worker) const {
  WorkDone done;
  const auto add = [&done](const WorkDone& more) {
    done.ns += more.ns;
    done.bytes += more.bytes;
  };
  const auto at = std::lower_bound(settled_.begin(), settled_.end(), worker,
                                   [](const Entry& e, WorkerId w) { return e.first < w; });
  if (at != settled_.end() && at->first == worker) add(at->second);
  for (const Entry& e : kept_) {
    if (e.first == worker) add(e.second);
  }
  return done;
}

void WorkByWorker::Settle() {
  std::vector<Entry> all;
  all.reserve(settled_.size() + kept_.size());
  const auto before = [](const Entry& a, const Entry& b) { return a.first < b.first; };
  std::sort(kept_.begin(), kept_.end(), before);
  std::merge(settled_.begin(), settled_.end(), kept_.begin(), kept_.end(), std::back_inserter(all), before);
  kept_.clear();
  settled_.clear();
  for (auto from = all.begin(); from != all.end();) {
    Entry sum{from->first, {}};
    for (; from != all.end() && from->first == sum.first; ++from) {
      sum.second.ns += from->second.ns;
      sum.second.bytes += from->second.bytes;
    }
    if (!(sum.second == WorkDone{})) settled_.push_back(sum);
  }
}

std::vector<std::pair<WorkerId, WorkDone>> WorkByWorker::All() const {
  WorkByWorker settled = *this;
  settled.Settle();
  return settled.settled_;
}

RateIndex::RateIndex() { lists_[""]; }
RateIndex::~RateIndex() = default;

double PhaseShare(const Sample& s) {
  return s.total_bytes == 0 ? 0
                            : std::min(1.0, static_cast<double>(s.taken_bytes) / static_cast<double>(s.total_bytes));
}

int64_t ScoreOf(const Attempt& a) {
  if (a.state == AttemptState::kCommitted) return kWholeScore;
  if (a.samples.empty()) return 0;
  const Sample& s = a.samples.back();
  double part = PhaseShare(s);
  if (s.phase > 3)
    part = 1;
  else if (s.phase > 0)
    part = (s.phase - 1 + part) / 3;
  return static_cast<int64_t>(part * static_cast<double>(kWholeScore));
}

uint32_t TimesFailed(const Task& task) {
  uint32_t times = 0;
  for (const FailedOn& f : task.failed_on) times += f.times;
  return times;
}

Speculated SpeculatedOn(const Task& task) {
  Speculated found = Speculated::kNever;
  for (const Attempt& a : task.attempts) {
    if (a.cause != Cause::kSpeculative || a.generation != task.generation) continue;
    const bool no_fault =
        a.state == AttemptState::kDiscarded || (a.state == AttemptState::kFailed && a.failure == FailureKind::kLost);
    if (no_fault) continue;
    if (a.state != AttemptState::kKilled || found != Speculated::kNever) return Speculated::kOnce;
    found = Speculated::kKilled;
  }
  return found;
}

bool CanDoWithout(const Task& task, const Attempt& a) {
  if (task.live < 2 || a.cause != Cause::kOpportunistic) return false;
  return std::any_of(task.attempts.begin(), task.attempts.end(), [&](const Attempt& other) {
    return other.live() && (other.cause != Cause::kOpportunistic || other.number < a.number);
  });
}

uint32_t OwnLive(const Task& task) {
  if (task.live < 2) return task.live;
  uint32_t own = 0;
  for (const Attempt& a : task.attempts) own += a.live() && !CanDoWithout(task, a);
  return own;
}

Rating RateIndex::RatingOf(const StageSpec& spec, const Task& task, const Attempt& a, bool sampled) {
  Rating r;
  r.running = a.state == AttemptState::kRunning;
  r.finished = a.state == AttemptState::kCommitted;
  if (!r.running && !r.finished) return r;
  r.started = (a.started_at.ns != 0 ? a.started_at : a.launched_at).ns;
  r.score = ScoreOf(a);
  r.phases = PhasesOf(a, r.started);
  r.sampled = sampled;
  if (a.started_at.ns != 0) r.lag = (a.started_at - a.launched_at).ns;
  if (r.finished) {
    r.lasted = std::max<int64_t>(1, a.ended_at.ns - r.started);
    r.rate = kNsPerSecond / static_cast<double>(r.lasted);
    r.bytes = InputBytes(task, a);
    r.work = std::max<int64_t>(1, r.lasted - a.waited.ns);
    if (r.bytes > 0) r.cost = r.told = static_cast<double>(r.work) / static_cast<double>(r.bytes);
    r.wrapup = WrapupOf(a, Instant{r.started}).ns;
    return r;
  }
  r.alone = !spec.side_effects && task.state == TaskState::kRunning && task.wanted == 1 && OwnLive(task) == 1 &&
            !CanDoWithout(task, a) && a.generation == task.generation;
  const Speculated speculated = r.alone ? SpeculatedOn(task) : Speculated::kOnce;
  r.candidate = speculated == Speculated::kNever;
  if (speculated == Speculated::kKilled) r.reported = a.samples.empty() ? r.started : a.samples.back().at.ns;
  if (const auto pace = PaceOf(a)) {
    r.paced = r.candidate;
    r.cost = pace->whole_cost;
    r.told = ToldBy(a, r.started, *pace);
  }
  if (r.score > 0 && a.samples.back().at.ns > r.started) {
    r.rate = static_cast<double>(r.score) / static_cast<double>(a.samples.back().at.ns - r.started);
  }
  return r;
}

void RateIndex::Rerate(const AttemptId& id) {
  Job& job = JobOf(id.task.job);
  if (!job.list->statistics.any || !job.running()) return;
  Rerate(job, id.task, AttemptOf(id));
}

// A candidate's report decides nothing before a policy looks: its stage is speculable anyway. In a full cluster,
// where few stages are looked at, most reports are never counted by themselves.
void RateIndex::RerateReported(const AttemptId& id, Attempt& a) {
  Job& job = JobOf(id.task.job);
  if (!job.list->statistics.any || !job.running()) return;
  if (!a.rating.candidate) return Rerate(job, id.task, a);
  if (a.uncounted) return;
  a.uncounted = true;
  std::vector<AttemptKey>& uncounted = job.stages[id.task.stage].uncounted;
  if (uncounted.empty()) uncounted_.insert(id.task.stage_id());
  uncounted.emplace_back(id.task.task, id.number);
  // Bounds the list if nothing reads the statistics for days. At least half of its attempts have ended.
  if (uncounted.size() > 2 * job.stages[id.task.stage].statistics.running + kLeastKept)
    CountReports(job, id.task.stage);
}

size_t RateIndex::uncounted() const {
  size_t n = 0;
  for (const StageId& id : uncounted_) n += FindStage(id)->uncounted.size();
  return n;
}

void RateIndex::CountReports(Job& job, uint32_t stage) {
  const std::vector<AttemptKey>& keys = job.stages[stage].uncounted;
  const std::vector<Task>& tasks = job.stages[stage].tasks;
  for (size_t i = 0; i < keys.size(); ++i) {
    // Prefetches what is read some rounds later, one level of pointers after the other.
    if (i + 3 * kAhead < keys.size()) __builtin_prefetch(&tasks[keys[i + 3 * kAhead].first].attempts);
    if (i + 2 * kAhead < keys.size()) {
      AskMemory(&tasks[keys[i + 2 * kAhead].first].attempts.back(), sizeof(Attempt));
    }
    if (i + kAhead < keys.size()) {
      const std::vector<Sample>& samples = tasks[keys[i + kAhead].first].attempts.back().samples;
      AskMemory(samples.data(), samples.size() * sizeof(Sample));
    }
    const auto& [task, number] = keys[i];
    const AttemptId id{{job.id, stage, task}, number};
    Attempt& a = AttemptOf(id);
    if (a.uncounted) Rerate(job, id.task, a);
  }
  job.stages[stage].uncounted.clear();
  uncounted_.erase({job.id, stage});
}

void RateIndex::CountReports() {
  const FlatSet<StageId> uncounted = uncounted_;
  for (const StageId& id : uncounted) CountReports(JobOf(id.job), id.stage);
}

const StageStatistics& RateIndex::Counted(const StageId& id) const {
  const Stage& stage = *FindStage(id);
  if (!stage.uncounted.empty()) {
    RateIndex* self = const_cast<RateIndex*>(this);
    self->CountReports(self->JobOf(id.job), id.stage);
  }
  return stage.statistics;
}

void RateIndex::Rerate(Job& job, const TaskId& id, Attempt& a) {
  a.uncounted = false;
  Stage& stage = job.stages[id.stage];
  const Rating rating =
      RatingOf(job.graph.stages[id.stage], stage.tasks[id.task], a, Sampled(id.task, stage.tasks.size()));
  if (rating == a.rating) return;
  StageStatistics& s = stage.statistics;
  const bool had = s.speculable();
  ++s.changes;
  NoteMoved(job, id.stage);
  const StatisticsWanted& wanted = job.list->statistics;
  Change(a.rating, rating, {id.task, a.number}, a.worker, wanted, &s);
  const bool counted = a.rating.running || a.rating.finished, counts = rating.running || rating.finished;
  if (wanted.workers && (counted != counts || a.rating.score != rating.score)) {
    Recount(a.rating, rating, a.worker, &job.statistics);
  }
  a.rating = rating;
  if (had != s.speculable()) SetSpeculable(job, id.stage, !had);
}

void RateIndex::RerateTask(const TaskId& id) {
  Job& job = JobOf(id.job);
  if (!job.list->statistics.any || !job.running()) return;
  Stage& stage = job.stages[id.stage];
  StageStatistics& s = stage.statistics;
  const bool had = s.speculable();
  if (Doubled(job.graph.stages[id.stage], stage.tasks[id.task]))
    s.doubled.insert(id.task);
  else
    s.doubled.erase(id.task);
  if (had != s.speculable()) SetSpeculable(job, id.stage, !had);
  for (Attempt& a : stage.tasks[id.task].attempts) Rerate(job, id, a);
}

void RateIndex::DropStatistics(Job& job) {
  for (uint32_t s = 0; s < job.stages.size(); ++s) {
    Stage& stage = job.stages[s];
    if (stage.statistics.speculable()) SetSpeculable(job, s, false);
    // Rises on, so that no cache takes the new statistics for the old ones.
    const uint64_t changes = stage.statistics.changes + 1;
    stage.statistics = {};
    stage.statistics.changes = changes;
    NoteMoved(job, s);
    stage.uncounted.clear();
    uncounted_.erase({job.id, s});
    for (Task& task : stage.tasks) {
      for (Attempt& a : task.attempts) {
        a.rating = {};
        a.uncounted = false;
      }
    }
  }
  job.statistics = {};
}

std::string RateIndex::CheckStatistics() const {
  std::array<std::set<StageKey>, 2> speculable;
  std::array<uint32_t, 2> speculative{};
  std::set<AttemptId> lent;
  for (const auto& [id, job] : jobs_) {
    JobStatistics of_job;
    for (uint32_t s = 0; s < job.stages.size(); ++s) {
      const StageSpec& spec = job.graph.stages[s];
      StageStatistics of_stage;
      const std::set<AttemptKey> uncounted(job.stages[s].uncounted.begin(), job.stages[s].uncounted.end());
      for (uint32_t t = 0; t < job.stages[s].tasks.size(); ++t) {
        const Task& task = job.stages[s].tasks[t];
        if (job.list->statistics.any && job.running() && Doubled(spec, task)) of_stage.doubled.insert(t);
        for (const Attempt& a : task.attempts) {
          speculative[KindIndex(spec.slot_kind)] += a.holds_slot() && a.cause == Cause::kSpeculative;
          if (a.holds_slot() && a.cause == Cause::kOpportunistic) lent.insert({{id, s, t}, a.number});
          if (!job.list->statistics.any || !job.running()) continue;
          if (a.uncounted && uncounted.count({t, a.number}) == 0) return Name(id) + ": a report is lost";
          const Rating rating =
              a.uncounted ? a.rating : RatingOf(spec, task, a, Sampled(t, job.stages[s].tasks.size()));
          Change({}, rating, {t, a.number}, a.worker, job.list->statistics, &of_stage);
          if (job.list->statistics.workers) Recount({}, rating, a.worker, &of_job);
        }
      }
      if (uncounted.empty() == (uncounted_.count({id, s}) > 0))
        return Name(id) + ": a stage with late reports is not known";
      if (!Same(of_stage, job.stages[s].statistics)) return Name(id) + ": a stage's statistics are wrong";
      if (!of_stage.speculable()) continue;
      speculable[KindIndex(spec.slot_kind)].insert({-int64_t{job.priority}, job.arrival, {id, s}});
    }
    const ProgressByWorker& progress = job.statistics.progress;
    if (of_job.progress.all() != progress.all() || of_job.progress.scores().All() != progress.scores().All()) {
      return Name(id) + ": the progress of its workers is wrong";
    }
  }
  if (speculable != speculable_) return "the stages with candidates for speculation are wrong";
  if (speculative != speculative_) return "the speculative attempts are counted wrong";
  if (lent != lent_) return "the attempts on lent slots are wrong";
  return "";
}

}  // namespace mr::sched
