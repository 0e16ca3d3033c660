// Saves the state as bytes and restores it. Derived data are not stored but built anew. The digest shows whether the
// restored state is the saved one.
#include "common/base/fields.h"
#include "master/sched/state/state.h"

namespace mr::sched {
namespace {

struct Fact {
  FactKey key;
  FactValue value;
  template <class V>
  static void Fields(V&& v) {
    v(&Fact::key, &Fact::value);
  }
};

struct Timer {
  std::string policy;
  uint64_t id = 0;
  Instant at;
  template <class V>
  static void Fields(V&& v) {
    v(&Timer::policy, &Timer::id, &Timer::at);
  }
};

// The first part: everything but the jobs.
struct Head {
  uint64_t digest = 0;
  Config config;
  uint64_t arrivals = 0, offers = 0, queue_numbers = 0;
  WorkerId offer_cursor;
  std::vector<Worker> workers;
  std::vector<Fact> facts;
  std::vector<Timer> timers;
  std::vector<JobId> ended;
  std::vector<Queue> queues;
  std::vector<Transfers> transfers;
  template <class V>
  static void Fields(V&& v) {
    using T = Head;
    v(&T::digest, &T::config, &T::arrivals, &T::offers, &T::offer_cursor, &T::workers, &T::facts, &T::timers, &T::ended,
      &T::queues, &T::transfers, &T::queue_numbers);
  }
};

// Each further part: one job.
struct JobImage {
  Job job;
  std::vector<BoundRead> bindings;
  std::vector<AskedReplica> asked;
  template <class V>
  static void Fields(V&& v) {
    v(&JobImage::job, &JobImage::bindings, &JobImage::asked);
  }
};

// See Job::in_queue.
bool InQueue(const Job& job) {
  const auto holds = [](const Attempt& a) { return a.holds_slot(); };
  const auto any = [&](const Task& t) { return std::any_of(t.attempts.begin(), t.attempts.end(), holds); };
  return job.running() || std::any_of(job.stages.begin(), job.stages.end(),
                                      [&](const Stage& s) { return std::any_of(s.tasks.begin(), s.tasks.end(), any); });
}

Status Unreadable(const char* what) {
  return Corrupted(std::string("the scheduler's image has a part that is no ") + what);
}

}  // namespace

void State::Save(const std::function<void(std::string)>& part) const {
  Head head{digest_,
            config_,
            arrivals_,
            offers_,
            queue_numbers_,
            offer_cursor_,
            {},
            {},
            {},
            ended_,
            {},
            {transfers_.begin(), transfers_.end()}};
  for (const auto& [id, worker] : workers_) head.workers.push_back(worker);
  for (const auto& [name, queue] : queues_) head.queues.push_back(queue);
  for (const auto& [key, value] : facts()) head.facts.push_back({key, value});
  for (const auto& [key, at] : timers()) head.timers.push_back({key.first, key.second, at});
  part(EncodeFields(head));
  for (const auto& [id, job] : jobs_) {
    std::string bytes;
    FieldWriter writer(&bytes);
    writer.Put(job);
    writer.Put(job.bindings.All());
    writer.Put(std::vector<AskedReplica>(job.asked.begin(), job.asked.end()));
    part(std::move(bytes));
  }
}

// Requires: a state that knows nothing but earlier parts of the same image.
Status State::RestorePart(std::string_view part) {
  if (!config_.known) {
    Head head;
    if (!DecodeFields(part, &head) || !head.config.known) return Unreadable("head");
    image_digest_ = head.digest;
    config_ = head.config;
    arrivals_ = head.arrivals;
    offers_ = head.offers;
    queue_numbers_ = head.queue_numbers;
    offer_cursor_ = head.offer_cursor;
    ended_ = head.ended;
    if (head.transfers.size() != transfers_.size()) return Unreadable("head of these transfers");
    std::copy(head.transfers.begin(), head.transfers.end(), transfers_.begin());
    for (Queue& queue : head.queues) queues_[queue.name] = std::move(queue);
    for (const Fact& fact : head.facts) SetFact(fact.key, fact.value);
    for (const Timer& timer : head.timers) SetTimer(timer.policy, timer.id, timer.at);
    for (Worker& worker : head.workers) {
      if (worker.held_until.ns != 0) held_workers_.insert({worker.held_until, worker.id});
      worker.rack_number = RackNumber(worker.rack);
      Worker& added = AddWorker(worker.id);
      worker.in_roll = added.in_roll;
      RefreshWorker(added = std::move(worker));
    }
  } else {
    JobImage image;
    if (!DecodeFields(part, &image)) return Unreadable("job");
    for (const BoundRead& read : image.bindings) image.job.bindings.Put(read);
    image.job.asked.insert(image.asked.begin(), image.asked.end());
    const JobId id = image.job.id;
    if (InQueue(image.job) && queues_.count(image.job.queue) == 0) return Unreadable("job of these queues");
    for (const Stage& stage : image.job.stages) {
      for (const Task& task : stage.tasks) {
        for (const ReplicaPlace& place : task.replicas) {
          if (workers_.count(place.worker) == 0) return Unreadable("job of these workers");
        }
        for (const Attempt& attempt : task.attempts) {
          if (workers_.count(attempt.worker) == 0) return Unreadable("job of these workers");
        }
      }
    }
    // A list that grows while it is read has up to twice the memory that it needs.
    for (Stage& stage : image.job.stages) stage.tasks.shrink_to_fit();
    IndexRestored(jobs_[id] = std::move(image.job));
  }
  return Status::Ok();
}

void State::IndexRestored(Job& job) {
  if (InQueue(job)) JoinQueue(job);
  ListReaders(job);
  JoinList(job);
  for (uint32_t s = 0; s < job.stages.size(); ++s) {
    Stage& stage = job.stages[s];
    if (!stage.planned()) continue;
    stage.contents.resize(stage.tasks.size());
    for (uint32_t t = 0; t < stage.tasks.size(); ++t) {
      Task& task = stage.tasks[t];
      const TaskId id{job.id, s, t};
      if (task.held_until.ns != 0) held_tasks_.insert({task.held_until, id});
      if (!task.unended.empty()) unended_.insert(id);
      NoteContent(stage, t);
      for (const ReplicaPlace& place : task.replicas) workers_.at(place.worker).replicas.Insert({id, place.attempt});
      for (Attempt& attempt : task.attempts) {
        CountAttempt(attempt, &job.causes);
        if (!attempt.holds_slot()) continue;
        TakeSlot({id, attempt.number}, attempt, +1);
        if (attempt.taken_back) ++job.taking_back;
        job.by_bind += attempt.live() && attempt.by_bind;
      }
    }
    BuildPartialReaders(job, s);
    BuildClasses(job, s);
    IndexStage(job, s);
  }
  RefreshAll(job);
  CountGuarantee(job);
}

Status State::FinishRestore() {
  for (const JobId id : ended_) {
    const Job* job = FindJob(id);
    if (job == nullptr) return Corrupted("the scheduler's image lacks a job that has ended");
    for (const Stage& stage : job->stages) ended_tasks_ += stage.tasks.size();
  }
  digest_ = RecomputeDigest();
  if (digest_ == image_digest_) return Status::Ok();
  return Corrupted("the scheduler's image gives another state than the one that was saved");
}

}  // namespace mr::sched
