#include "tests/bench/sched_load.h"

#include <malloc.h>
#include <time.h>
#ifdef MR_TCMALLOC
#include <gperftools/malloc_extension.h>
#endif

#include <algorithm>
#include <vector>

#include "common/base/check.h"
#include "common/base/digest.h"
#include "common/base/rng.h"
#include "master/sched/job_graph.h"
#include "master/sched/job_profile.h"
#include "master/sched/scheduler.h"
#include "master/sched/state/state.h"

namespace mr::bench {

namespace {

using namespace sched;

constexpr int64_t kTick = 100'000'000;  // ns
constexpr uint32_t kWheel = 1 << 14;    // in ticks, longer than any delay
constexpr uint64_t kInput = uint64_t{128} << 20;

// The bench links the master's allocator, and glibc's knows nothing of its memory.
double BytesInUse() {
#ifdef MR_TCMALLOC
  size_t bytes = 0;
  MR_CHECK(MallocExtension::instance()->GetNumericProperty("generic.current_allocated_bytes", &bytes));
  return static_cast<double>(bytes);
#else
  const struct mallinfo2 m = mallinfo2();
  return static_cast<double>(m.uordblks + m.hblkhd);
#endif
}

class Host {
 public:
  explicit Host(const Load& load) : load_(load), wheel_(kWheel), slots_(load.workers * load.slots) {
    free_.resize(load.workers);
    for (uint32_t w = 0; w < load.workers; ++w) {
      for (uint32_t s = load.slots; s-- > 0;) free_[w].push_back(static_cast<uint8_t>(s));
    }
    Step(ConfigChanged{load.policies, 1, kSchedulerVersion, Millis(100)});
    for (uint32_t w = 0; w < load.workers; ++w) {
      WorkerRegistered e;
      e.worker = {w + 1};
      e.incarnation = 1;
      e.rack = "r" + std::to_string(w % load.racks);
      e.slots = {load.slots, 0, 0};
      Step(std::move(e));
      if (load.report_period > 0) Push(1 + w % Period(), {Kind::kFrame, w, 0});
    }
  }

  Cost Run() {
    const double empty = BytesInUse();
    uint32_t submitted = 0;
    int64_t next_batch = 0;
    while (ended_ < load_.jobs) {
      if (submitted < load_.jobs && tick_ >= next_batch) {
        const double begin = CpuSeconds();
        const double spent = cost_.cpu_seconds;
        for (uint32_t i = 0; i < load_.batch && submitted < load_.jobs; ++i) Submit(++submitted);
        cost_.plan_seconds += CpuSeconds() - begin - (cost_.cpu_seconds - spent);
        next_batch = tick_ + static_cast<int64_t>(load_.gap * 10);
      }
      if (cost_.tasks_live == 0 && running_ == slots_.size() && tick_ > 2 * Period()) {
        cost_.tasks_live = uint64_t{submitted} * (load_.maps + load_.reduces) - finished_;
        cost_.bytes_per_live_task = (BytesInUse() - empty) / static_cast<double>(cost_.tasks_live);
      }
      if (tick_ > 0 && tick_ == static_cast<int64_t>(load_.warm_seconds * 10)) warm_ = cost_;
      const double begin = CpuSeconds();
      Turn();
      cost_.cpu_seconds += CpuSeconds() - begin;
      if (load_.stop_after != 0 && cost_.events >= load_.stop_after) break;
    }
    cost_.virtual_seconds = static_cast<double>(tick_) * 0.1 - load_.warm_seconds;
    cost_.cpu_seconds -= warm_.cpu_seconds;
    cost_.events -= warm_.events;
    cost_.starts -= warm_.starts;
    cost_.speculative -= warm_.speculative;
    cost_.reports -= warm_.reports;
    cost_.looks = scheduler_.state().looks();
    cost_.digest = MixHash(digest_, scheduler_.Digest());
    return cost_;
  }

  // Takes all slots, and sends this many frames from each worker.
  void Fill(uint32_t frames) {
    for (uint32_t j = 1; j <= load_.jobs; ++j) Submit(j);
    // Some tasks may wait for a nearer slot, for less than the shortest task takes.
    for (int i = 0; i < 200 && running_ < slots_.size(); ++i) Turn();
    MR_CHECK(running_ == slots_.size(), "all slots are taken");
    for (uint32_t i = 0; i < slots_.size(); ++i) {
      if (!slots_[i].started) Begin(i);
    }
    for (uint32_t n = 0; n < frames; ++n) {
      tick_ += 1;
      for (uint32_t w = 0; w < load_.workers; ++w) Frame(w);
    }
  }

  const State& state() const { return scheduler_.state(); }

 private:
  enum class Kind : uint8_t { kStart, kFinish, kKilled, kFrame, kTimer };
  struct Item {
    Kind kind = Kind::kStart;
    uint32_t index = 0;  // index of a slot, a worker or a timer
    uint32_t stamp = 0;  // stamp of the slot's attempt
  };
  struct Slot {
    AttemptId attempt;
    uint32_t stamp = 0;
    bool busy = false, started = false;
    int64_t from = 0, until = 0;  // ticks
  };

  uint32_t Period() const { return std::max(1u, static_cast<uint32_t>(load_.report_period * 10)); }
  void Push(int64_t ticks, Item item) {
    wheel_[static_cast<uint64_t>(tick_ + std::clamp<int64_t>(ticks, 1, kWheel - 1)) % kWheel].push_back(item);
  }

  void Turn() {
    ++tick_;
    std::vector<Item> now;
    now.swap(wheel_[static_cast<uint64_t>(tick_) % kWheel]);
    for (const Item& item : now) Handle(item);
    now.clear();
  }

  void Handle(const Item& item) {
    if (item.kind == Kind::kFrame) {
      Push(Period(), item);
      return Frame(item.index);
    }
    if (item.kind == Kind::kTimer) {
      const WakeAt wake = timers_[item.index];
      return Step(TimerDue{wake.policy, wake.id});
    }
    Slot& slot = slots_[item.index];
    if (!slot.busy || slot.stamp != item.stamp) return;
    const AttemptId id = slot.attempt;
    const WorkerId worker{item.index / load_.slots + 1};
    if (item.kind == Kind::kStart) return Begin(item.index);
    Free(item.index);
    if (item.kind == Kind::kKilled) return Step(AttemptKilled{id, worker, 1});
    AttemptFinished e;
    e.attempt = id;
    e.worker = worker;
    e.incarnation = 1;
    e.manifest = ManifestOf(id.task);
    e.ran = Nanos((tick_ - slot.from) * kTick);
    for (const Slice& slice : scheduler_.state().FindTask(id.task)->plan.slices) {
      e.consumed.reserve(slice.task_end - slice.task_begin);
      for (uint32_t t = slice.task_begin; t < slice.task_end; ++t) {
        e.consumed.push_back({0, t, 1, ManifestOf({id.task.job, 0, t}).content});
      }
    }
    ++finished_;
    Step(std::move(e));
  }

  void Begin(uint32_t index) {
    Slot& slot = slots_[index];
    slot.started = true;
    slot.from = tick_;
    // In seconds: 30 to 90, and one in twenty up to eight times as long.
    const TaskId& task = slot.attempt.task;
    Rng rng(MixHash(MixHash(task.job.seq, task.stage), uint64_t{task.task} << 32 | slot.attempt.number));
    double seconds = 30 + 60 * rng.Uniform();
    if (rng.Uniform() < 0.05) seconds *= std::min(rng.Pareto(2, 1.26), 8.0);
    const int64_t ticks = static_cast<int64_t>(seconds * 10);
    slot.until = tick_ + ticks;
    Push(ticks, {Kind::kFinish, index, slot.stamp});
    Step(AttemptStarted{slot.attempt, {index / load_.slots + 1}, 1});
  }

  void Frame(uint32_t w) {
    AttemptProgress e{{w + 1}, 1, {}};
    for (uint32_t i = w * load_.slots; i < (w + 1) * load_.slots; ++i) {
      const Slot& slot = slots_[i];
      if (!slot.busy || !slot.started || tick_ == slot.from) continue;
      const double part = static_cast<double>(tick_ - slot.from) / static_cast<double>(slot.until - slot.from);
      const bool map = slot.attempt.task.stage == 0;
      e.reports.push_back({slot.attempt, static_cast<uint8_t>(map ? 0 : 3), static_cast<uint64_t>(part * kInput),
                           kInput, static_cast<uint64_t>(part * 1e6), true});
    }
    if (e.reports.empty()) return;
    cost_.reports += e.reports.size();
    Step(std::move(e));
  }

  void Submit(uint32_t j) {
    JobSubmitted e;
    e.job = {1, j};
    e.name = "job";
    e.queue = std::string(1, static_cast<char>('a' + j % 4));
    sched::StageSpec map, reduce;
    map.name = "map";
    map.inputs.push_back({});
    map.is_final = load_.reduces == 0;
    reduce.name = "reduce";
    reduce.slot_kind = SlotKind::kReduce;
    reduce.is_final = true;
    reduce.inputs.push_back({true, EdgeKind::kAllToAll, 0});
    e.graph.stages.push_back(map);
    if (load_.reduces > 0) e.graph.stages.push_back(reduce);
    const bool due = j % 2 == 0 && j / 2 <= load_.deadlines;
    if (due) e.deadline = Seconds(load_.deadline + load_.deadline / 3 * (j % 100) / 100);
    const JobId job = e.job;
    Step(std::move(e));
    if (due) Step(ProfileLoaded{job, Foretold(), {}});
  }

  // Returns a prediction as large as the master's: 24 numbers of slots, 51 buckets, 10 quantiles.
  Prediction Foretold() const {
    constexpr double kTaskSeconds = 70;  // the mean of Begin
    const double work = kTaskSeconds * (load_.maps + load_.reduces);
    Prediction p;
    p.buckets = 50;
    p.quantiles = 10;
    p.runs = 3;
    p.stages.resize(load_.reduces > 0 ? 2 : 1);
    p.stages[0].tasks = load_.maps;
    p.stages[0].run = kTaskSeconds * load_.maps;
    if (load_.reduces > 0) p.stages[1].tasks = load_.reduces;
    if (load_.reduces > 0) p.stages[1].run = kTaskSeconds * load_.reduces;
    for (uint32_t a = 1; p.slots.size() < 24; a += std::max(1u, a / 3)) {
      p.slots.push_back(a);
      for (uint32_t b = 0; b <= p.buckets; ++b) {
        const double left = work * (p.buckets - b) / p.buckets / a;
        for (uint32_t q = 0; q < p.quantiles; ++q) p.left.push_back(static_cast<float>(left * (.9 + .02 * q)));
      }
    }
    return p;
  }

  void Plan(const PlanStage& d) {
    StagePlanned e;
    e.job = d.job;
    e.stage = d.stage;
    e.partitions = d.stage == 0 ? std::max(1u, load_.reduces) : 1;
    e.tasks.resize(d.stage == 0 ? load_.maps : load_.reduces);
    for (uint32_t t = 0; t < e.tasks.size(); ++t) {
      TaskPlan& plan = e.tasks[t];
      plan.input_bytes = kInput;
      if (d.stage > 0) {
        plan.slices.push_back(SliceOf({EdgeKind::kAllToAll, 0, load_.maps, 0, load_.reduces, load_.reduces}, t));
        continue;
      }
      Rng rng(MixHash(d.job.seq, t));
      while (plan.preferred.size() < std::min(3u, load_.workers)) {
        const WorkerId w{static_cast<uint32_t>(rng.Below(load_.workers)) + 1};
        const auto end = plan.preferred.end();
        if (std::find(plan.preferred.begin(), end, w) == end) plan.preferred.push_back(w);
      }
    }
    Step(std::move(e));
  }

  void Step(Event event) {
    const std::vector<Decision> decisions = scheduler_.Step({{tick_ * kTick}, std::move(event)});
    ++cost_.events;
    digest_ = MixHash(digest_, scheduler_.Digest());
    for (const Decision& decision : decisions) {
      if (const auto* launch = std::get_if<Launch>(&decision))
        Do(*launch);
      else if (const auto* kill = std::get_if<Kill>(&decision))
        End(kill->attempt, kill->worker);
      else if (const auto* back = std::get_if<TakeBack>(&decision))
        End(back->attempt, back->worker);
      else if (const auto* plan = std::get_if<PlanStage>(&decision))
        Plan(*plan);
      else if (const auto* wake = std::get_if<WakeAt>(&decision)) {
        timers_.push_back(*wake);
        Push((wake->at.ns + kTick - 1) / kTick - tick_, {Kind::kTimer, static_cast<uint32_t>(timers_.size() - 1), 0});
      }
      ended_ += std::holds_alternative<CommitJob>(decision);
      MR_CHECK(!std::holds_alternative<FailJob>(decision), "no job fails");
    }
  }

  void Do(const Launch& d) {
    std::vector<uint8_t>& free = free_[d.worker.value - 1];
    MR_CHECK(!free.empty(), "a slot is free");
    const uint32_t index = (d.worker.value - 1) * load_.slots + free.back();
    free.pop_back();
    Slot& slot = slots_[index];
    slot.attempt = d.attempt;
    slot.busy = true;
    slot.started = false;
    ++slot.stamp;
    ++running_;
    ++cost_.starts;
    cost_.speculative += d.cause == Cause::kSpeculative;
    Push(1, {Kind::kStart, index, slot.stamp});
  }

  void End(const AttemptId& id, WorkerId worker) {
    for (uint32_t i = (worker.value - 1) * load_.slots; i < worker.value * load_.slots; ++i) {
      if (slots_[i].busy && slots_[i].attempt == id) Push(1, {Kind::kKilled, i, slots_[i].stamp});
    }
  }

  void Free(uint32_t index) {
    slots_[index].busy = false;
    free_[index / load_.slots].push_back(static_cast<uint8_t>(index % load_.slots));
    --running_;
  }

  static Manifest ManifestOf(const TaskId& id) {
    const uint64_t content = MixHash(MixHash(id.job.seq, id.stage), id.task);
    return {1'000'000, kInput, {content, ~content}};
  }

  const Load load_;
  Scheduler scheduler_;
  int64_t tick_ = 0;
  std::vector<std::vector<Item>> wheel_;
  std::vector<Slot> slots_;
  std::vector<std::vector<uint8_t>> free_;
  std::vector<WakeAt> timers_;
  uint32_t running_ = 0, ended_ = 0;
  uint64_t finished_ = 0, digest_ = 0;
  Cost cost_, warm_;
};

}  // namespace

double CpuSeconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

Cost Run(const Load& load) { return Host(load).Run(); }

double BytesPerRunningTask(const std::string& policies) {
  Load load;
  load.policies = policies;
  load.workers = 1'000;
  load.racks = 25;
  load.jobs = load.batch = 8;
  load.maps = 1'000;
  load.reduces = 0;
  Host host(load);
  const double empty = BytesInUse();
  host.Fill(8);
  return (BytesInUse() - empty) / (8.0 * 1'000);
}

double ProfileCpuSeconds(uint32_t maps, uint32_t reduces) {
  Load load;
  load.workers = 100;
  load.racks = 3;
  load.jobs = load.batch = 1;
  load.maps = maps;
  load.reduces = reduces;
  load.report_period = 0;
  Host host(load);
  host.Run();
  const Job* job = host.state().FindJob({1, 1});
  MR_CHECK(job != nullptr, "a job that has just ended is known");
  std::vector<double> seconds;
  for (int i = 0; i < 21; ++i) {
    const double begin = CpuSeconds();
    const RunProfile profile = ProfileOf(*job);
    seconds.push_back(CpuSeconds() - begin);
    MR_CHECK(profile.stages[0].run.size() == std::min<size_t>(maps, kStageSamples), "of all maps");
  }
  std::nth_element(seconds.begin(), seconds.begin() + 10, seconds.end());
  return seconds[10];
}

}  // namespace mr::bench
