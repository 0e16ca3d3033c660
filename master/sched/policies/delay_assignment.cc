#include "master/sched/policies/delay_assignment.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "master/sched/policies/lent_slots.h"
#include "master/sched/policies/omega.h"
#include "master/sched/policies/reads_clones.h"

namespace mr::sched {

namespace {

// Outputs of which some readers still wait for a copy of their own: by "stage/task", the instant until which.
constexpr char kOpen[] = "open";

std::string OpenName(const TaskId& id) { return std::to_string(id.stage) + "/" + std::to_string(id.task); }

TaskId ParseOpen(JobId job, const std::string& name) {
  TaskId id{job, 0, 0};
  const char* end = name.data() + name.size();
  const auto stage = std::from_chars(name.data(), end, id.stage);
  std::from_chars(stage.ptr + 1, end, id.task);
  return id;
}

bool Reads(const Job& job, uint32_t stage, const Task& reader, const TaskId& output) {
  const auto& inputs = job.graph.stages[stage].inputs;
  return std::any_of(reader.plan.slices.begin(), reader.plan.slices.end(), [&](const Slice& s) {
    return inputs[s.input].upstream == output.stage && s.task_begin <= output.task && output.task < s.task_end;
  });
}

// What one trigger makes of the bindings: those of the state and those that it drafts.
class Assigner {
 public:
  Assigner(const View& view, const Omega& omega, Plan* plan) : view_(view), omega_(omega), plan_(*plan) {}

  // A copy was made, or an attempt that would have made one ended.
  void OutputMoved(const Job& job, const TaskId& id, bool committed_now) {
    const Task& task = job.stages[id.stage].tasks[id.task];
    if (task.state != TaskState::kCommitted || task.copies.empty()) return;
    const bool more = task.live > 0 && task.copies.size() < task.wanted_copies;
    if (committed_now && more && !IsOpen(id)) {
      if (!ReadersMayBeTold(job, id.stage)) EndSiblings(job, id);
      else if (const size_t waiting = WantedOfSpares(id)) EndSpares(id, waiting);
      else Open(job, id);
    }
    if (!more) Close(id);
    for (const uint32_t stage : job.stages[id.stage].readers) BindReaders(job, stage, id);
  }

  // It may have outputs to read that it was not told of.
  void ReaderMoved(const Job& job, const AttemptId& id) {
    const auto& inputs = job.graph.stages[id.task.stage].inputs;
    for (const Slice& slice : job.stages[id.task.stage].tasks[id.task.task].plan.slices) {
      for (uint32_t t = slice.task_begin; t < slice.task_end; ++t) {
        const TaskId output{job.id, inputs[slice.input].upstream, t};
        if (!job.stages[output.stage].tasks[t].copies.empty()) BindReader(job, id, output);
      }
    }
  }

  // Where something waits for the slot of an attempt that only makes a further copy, it may be had.
  void GiveWay(const Job& job, const TaskId& id) {
    const size_t waiting = WantedOfSpares(id);
    if (waiting == 0) return;
    Close(id);
    for (const uint32_t stage : job.stages[id.stage].readers) BindReaders(job, stage, id);
    EndSpares(id, waiting);
  }

  // omega is over for these outputs, or will be. By then each reader that lacked a copy shares one: none waits for what
  // the siblings would make.
  void TimerDue(const Job& job) {
    int64_t next = 0;
    std::vector<TaskId> over;
    view_.EachFact(kOpen, FactId(job.id), [&](const std::string& name, const FactValue& value) {
      const int64_t until = std::get<int64_t>(value);
      if (until <= view_.now().ns) over.push_back(ParseOpen(job.id, name));
      else if (until != kNever.ns && (next == 0 || until < next)) next = until;
    });
    for (const TaskId& id : over) {
      Close(id);
      for (const uint32_t stage : job.stages[id.stage].readers) BindReaders(job, stage, id);
      EndSiblings(job, id);
    }
    if (next != 0) plan_.WakeAt(FactId(job.id), Instant{next});
  }

 private:
  bool IsOpen(const TaskId& id) const {
    const auto it = open_.find(id);
    return it != open_.end() ? it->second : view_.FindFact(kOpen, FactId(id.job), OpenName(id)) != nullptr;
  }

  void Open(const Job& job, const TaskId& id) {
    const Duration omega = omega_.Of(view_, job, id);
    if (omega.ns == 0) return EndSiblings(job, id);
    open_[id] = true;
    if (omega >= kForever) {
      plan_.Remember(kOpen, FactId(id.job), OpenName(id), kNever.ns);
      return;
    }
    const Instant until = view_.now() + omega;
    plan_.Remember(kOpen, FactId(id.job), OpenName(id), until.ns);
    const Instant* timer = view_.FindTimer(FactId(id.job));
    const bool earlier = (timer == nullptr || until < *timer) && (woken_.ns == 0 || until < woken_);
    if (earlier) plan_.WakeAt(FactId(id.job), woken_ = until);
  }

  void Close(const TaskId& id) {
    if (!IsOpen(id)) return;
    open_[id] = false;
    plan_.Forget(kOpen, FactId(id.job), OpenName(id));
  }

  void EndSiblings(const Job& job, const TaskId& id) {
    const Task& task = job.stages[id.stage].tasks[id.task];
    if (task.state != TaskState::kCommitted || task.copies.empty()) return;
    const double waited = (view_.now() - FirstCopyAt(task)).seconds();
    for (const Attempt& a : task.attempts) {
      if (a.live()) plan_.Kill({id, a.number}, {ReasonCode::kNoMoreCopies, "", {double(task.copies.size()), waited}});
    }
  }

  // How many tasks wait for the slot of one of the attempts that would make a further copy, where the output's first
  // copy was a clone's on an idle slot. What is lent is to cost nobody a slot, and now the original does what the
  // clone was to do.
  size_t WantedOfSpares(const TaskId& id) const {
    const Task& task = *view_.state().FindTask(id);
    const auto lent = [](const Attempt& a) {
      return a.cause == Cause::kOpportunistic && a.state == AttemptState::kCommitted;
    };
    if (task.wanted > 1 || std::none_of(task.attempts.begin(), task.attempts.end(), lent)) return 0;
    for (const Attempt& a : task.attempts) {
      const size_t waiting = a.live() ? TasksInNeedOf(view_.state(), {id, a.number}, coming_) : 0;
      if (waiting > 0) return waiting;
    }
    return 0;
  }

  void EndSpares(const TaskId& id, size_t waiting) {
    for (const Attempt& a : view_.state().FindTask(id)->attempts) {
      if (a.live()) coming_ += plan_.Kill({id, a.number}, {ReasonCode::kSpareCopy, "", {double(waiting)}});
    }
  }

  static Instant FirstCopyAt(const Task& task) {
    for (const Attempt& a : task.attempts) {
      if (a.number == task.winner) return a.ended_at;
    }
    return {};
  }

  void BindReaders(const Job& job, uint32_t stage, const TaskId& output) {
    for (const auto& [t, number] : job.stages[stage].active) {
      const Task& reader = job.stages[stage].tasks[t];
      if (Reads(job, stage, reader, output)) BindReader(job, {{job.id, stage, t}, number}, output);
    }
  }

  void BindReader(const Job& job, const AttemptId& reader, const TaskId& output) {
    const Attempt* a = view_.state().FindAttempt(reader);
    if (a == nullptr || !a->live() || !a->by_bind || a->inputs_done) return;
    if (job.bindings.Find(reader, output.stage, output.task) != nullptr || told_.count({reader, output}) != 0) return;
    const Task& up = job.stages[output.stage].tasks[output.task];
    const CopyPlace* best = nullptr;
    uint32_t fewest = 0;
    bool own = false;
    for (const CopyPlace& copy : up.copies) {
      const bool free = !UsedByGroup(job, reader.task, output, copy);
      const uint32_t readers = Readers(job, output, copy);
      if (best == nullptr || (free && !own) || (free == own && readers < fewest)) {
        best = &copy;
        fewest = readers;
        own = free;
      }
    }
    if (best == nullptr) return;
    // Also where another list was in force meanwhile, and the output's time was left open.
    const bool coming = up.live > 0 && up.copies.size() < up.wanted_copies;
    if (!own && coming && IsOpen(output)) return;
    const double waited = (view_.now() - FirstCopyAt(up)).seconds();
    const Reason reason = own ? Reason{ReasonCode::kOwnCopy, "", {waited}}
                              : Reason{ReasonCode::kSharedCopy, "", {double(fewest) + 1, waited}};
    if (!plan_.Bind(reader, view_.state().MakeCopy(output, *best), reason, own)) return;
    told_.insert({reader, output});
    const size_t place = static_cast<size_t>(best - up.copies.data());
    ++drafted_[{output, place}];
    groups_.insert({reader.task, output, place});
  }

  bool UsedByGroup(const Job& job, const TaskId& reader, const TaskId& output, const CopyPlace& copy) const {
    return groups_.count({reader, output, PlaceOf(job, output, copy)}) != 0 ||
           job.bindings.Used(reader, output.stage, output.task, copy);
  }

  uint32_t Readers(const Job& job, const TaskId& output, const CopyPlace& copy) const {
    const auto it = drafted_.find({output, PlaceOf(job, output, copy)});
    return job.bindings.Reading(output.stage, output.task, copy) + (it == drafted_.end() ? 0 : it->second);
  }

  static size_t PlaceOf(const Job& job, const TaskId& output, const CopyPlace& copy) {
    return static_cast<size_t>(&copy - job.stages[output.stage].tasks[output.task].copies.data());
  }

  const View& view_;
  const Omega& omega_;
  Plan& plan_;
  std::map<TaskId, bool> open_;                                     // as this plan changes it
  Instant woken_;
  size_t coming_ = 0;                                               // slots that it gives back
  std::set<std::pair<AttemptId, TaskId>> told_;                     // by this plan,
  std::map<std::pair<TaskId, size_t>, uint32_t> drafted_;           // and how many of each copy
  std::set<std::tuple<TaskId, TaskId, size_t>> groups_;
};

class DelayAssignment final : public Policy {
 public:
  explicit DelayAssignment(Omega omega) : omega_(omega) {}
  std::string_view name() const override { return "delay_assignment"; }

  void Refine(const Trigger& trigger, const View& view, Rng&, Plan& plan) const override {
    const State& state = view.state();
    if (const auto* offer = std::get_if<SlotOffer>(&trigger)) {
      if (!offer->idle) Mark(view, &plan);
    } else if (const auto* changed = std::get_if<AttemptsChanged>(&trigger)) {
      Assigner assigner(view, omega_, &plan);
      for (const AttemptId& id : changed->attempts) {
        const Job* job = state.FindJob(id.task.job);
        if (job != nullptr && job->running() && view.Serves(*job)) Moved(view, *job, id, &assigner, &plan);
      }
    } else if (std::holds_alternative<WorkWaits>(trigger)) {
      GiveWay(view, &plan);
    } else if (const auto* due = std::get_if<TimersDue>(&trigger)) {
      for (const uint64_t id : due->ids) {
        const Job* job = state.FindJob(JobOfFact(id));
        if (job != nullptr && job->running()) Assigner(view, omega_, &plan).TimerDue(*job);
      }
    } else if (const auto* ended = std::get_if<JobsEnded>(&trigger)) {
      for (const JobId id : ended->jobs) plan.ForgetAll(kOpen, FactId(id));
      omega_.Learn(view, ended->jobs, &plan);
    }
  }

  std::vector<Figure> Figures(const View& view) const override { return omega_.Figures(view); }

 private:
  bool MoreCopiesHelp(const Job& job, uint32_t stage) const {
    return !omega_.zero() && !job.stages[stage].indeterminate && ReadersMayBeTold(job, stage);
  }

  // Walks the outputs whose readers still wait for copies: those of small jobs, each for an omega.
  void GiveWay(const View& view, Plan* plan) const {
    Assigner assigner(view, omega_, plan);
    const auto& facts = view.state().facts();
    const std::string mine = view.owner();
    for (auto it = facts.lower_bound({mine, kOpen, 0, ""}); it != facts.end(); ++it) {
      const FactKey& key = it->first;
      if (key.policy != mine || key.scope != kOpen) return;
      const Job* job = view.state().FindJob(JobOfFact(key.id));
      if (job != nullptr && job->running()) assigner.GiveWay(*job, ParseOpen(job->id, key.name));
    }
  }

  void Moved(const View& view, const Job& job, const AttemptId& id, Assigner* assigner, Plan* plan) const {
    const Attempt* a = view.state().FindAttempt(id);
    if (a == nullptr) return;
    const Task& task = job.stages[id.task.stage].tasks[id.task.task];
    // A clone on a lent slot came after the launch that Mark saw.
    const bool lent = a->live() && a->cause == Cause::kOpportunistic && task.state != TaskState::kCommitted;
    const bool more = lent && task.wanted_copies < task.live && MoreCopiesHelp(job, id.task.stage);
    if (more) plan->WantCopies(id.task, task.live);
    const bool ended = !a->holds_slot() && a->ended_at == view.now();
    if (ended && task.wanted_copies > 1) assigner->OutputMoved(job, id.task, task.winner == id.number);
    // One copy only, and readers that are told what to read.
    else if (ended && job.by_bind > 0 && a->state == AttemptState::kCommitted) assigner->OutputMoved(job, id.task, false);
    if (a->live() && a->by_bind && !a->inputs_done) assigner->ReaderMoved(job, id);
  }

  // Launches of clones make copies that readers wait for, and readers of clones' outputs are told what to read.
  void Mark(const View& view, Plan* plan) const {
    for (const Edit& edit : std::vector<Edit>(plan->edits())) {
      const auto* launch = std::get_if<Launch>(&edit);
      if (launch == nullptr) continue;
      const TaskId& id = launch->attempt.task;
      const Job& job = *view.state().FindJob(id.job);
      if (!view.Serves(job)) continue;
      const Task& task = job.stages[id.stage].tasks[id.task];
      const bool wants = task.wanted > 1 && task.wanted_copies != task.wanted && MoreCopiesHelp(job, id.stage);
      if (wants) plan->WantCopies(id, task.wanted);
      if (ReadsClones(job, id.stage, task)) plan->ReadByBind(id);
    }
  }

  const Omega omega_;
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeDelayAssignment(PolicyParams* params) {
  MR_ASSIGN_OR_RETURN(const Omega omega, Omega::Read(params));
  return std::unique_ptr<Policy>(std::make_unique<DelayAssignment>(omega));
}

}  // namespace mr::sched
