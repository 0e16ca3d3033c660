// Hashes of the entities of the state. Fields are mixed as words, so that no event allocates. A field that decides
// anything and is not derived from others belongs here. CheckState and the determinism test notice a missing field
// only when it matters, so look here first.
#include <bit>

#include "common/base/digest.h"
#include "common/base/fields.h"
#include "master/sched/state/store.h"

namespace mr::sched {

namespace {

// One per kind of entity, so that two kinds with equal words differ.
enum class Tag : uint64_t {
  kConfig = 1,
  kWorker,
  kJob,
  kStage,
  kTask,
  kAttempt,
  kReplica,
  kFact,
  kTimer,
  kCounters,
  kQueue,
  kBound,
  kAsked,
};

class Mixer {
 public:
  explicit Mixer(Tag tag) : hash_(static_cast<uint64_t>(tag)) {}
  Mixer& Word(uint64_t word) {
    hash_ = MixHash(hash_, word);
    return *this;
  }
  Mixer& Pair(uint32_t high, uint32_t low) { return Word(uint64_t{high} << 32 | low); }
  Mixer& At(Instant at) { return Word(static_cast<uint64_t>(at.ns)); }
  Mixer& For(Duration d) { return Word(static_cast<uint64_t>(d.ns)); }
  Mixer& Text(const std::string& text) { return Word(Hash64(text)); }
  Mixer& Id(const TaskId& id) { return Pair(id.job.epoch, id.job.seq).Pair(id.stage, id.task); }
  uint64_t hash() const { return hash_; }

 private:
  uint64_t hash_;
};

uint32_t Flags(std::initializer_list<bool> flags) {
  uint32_t bits = 0;
  for (const bool flag : flags) bits = bits << 1 | static_cast<uint32_t>(flag);
  return bits;
}

}  // namespace

uint64_t EntityStore::Hash(const Config& c) {
  Mixer m(Tag::kConfig);
  m.Text(c.policies).Word(c.seed).Pair(c.scheduler_version, c.restarts).For(c.offer_period).Word(c.known);
  if (c.lost_wait != kLostWait) m.For(c.lost_wait);
  for (const ListInForce& list : c.lists) m.At(list.from).Text(list.policies);
  return m.hash();
}

uint64_t EntityStore::Hash(const Worker& w) {
  return Mixer(Tag::kWorker)
      .Pair(w.id.value, Flags({w.alive, w.draining}))
      .Word(w.incarnation)
      .At(w.held_until)
      .Word(w.fixed_hash)
      .Word(w.fetched_bytes)
      .Word(w.fetch_us)
      .Word(w.fetch_failures)
      .Word(w.refused)
      .Word(w.refused_in_row)
      .Word(w.outputs_made)
      .Word(w.outputs_lost)
      .hash();
}

uint64_t EntityStore::Hash(const Queue& q) {
  return Mixer(Tag::kQueue)
      .Text(q.name)
      .Word(q.number)
      .Word(std::bit_cast<uint64_t>(q.weight))
      .Pair(q.min_share, q.max_share)
      .Word(q.set)
      .hash();
}

uint64_t EntityStore::Hash(const Job& j) {
  Mixer m(Tag::kJob);
  m.Pair(j.id.epoch, j.id.seq)
      .Word(j.submit_hash)
      .Word(static_cast<uint64_t>(j.state))
      .Text(j.message)
      .Word(j.arrival)
      .Pair(j.restarts_at_submit, j.share)
      .At(j.submitted_at)
      .At(j.ended_at)
      .Word(static_cast<uint64_t>(int64_t{j.priority}))
      .For(j.deadline)
      .Word(j.prediction_hash);
  for (const UtilityPoint& p : j.utility) m.For(p.at).Word(std::bit_cast<uint64_t>(p.utility));
  return m.hash();
}

uint64_t EntityStore::Hash(const StageId& id, const Stage& s) {
  return Mixer(Tag::kStage)
      .Pair(id.job.epoch, id.job.seq)
      .Pair(id.stage, s.partitions)
      .Pair(static_cast<uint32_t>(s.plan_state), Flags({s.indeterminate}))
      .Word(s.plan_hash)
      .hash();
}

uint64_t EntityStore::Hash(const TaskId& id, const Task& t) {
  Mixer m(Tag::kTask);
  m.Id(id)
      .Pair(static_cast<uint32_t>(t.state), Flags({t.lost, t.has_content}))
      .Pair(t.generation, t.next_number)
      .Pair(t.wanted, t.winner)
      .Pair(t.failures, t.other_failures)
      .Pair(t.environment_failures, t.wanted_replicas)
      .Pair(t.live, t.holding)
      .Word(t.manifest.records)
      .Word(t.manifest.bytes)
      .Word(t.manifest.content.low)
      .Word(t.manifest.content.high)
      .At(t.pending_since)
      .At(t.held_until);
  for (const FailedOn& f : t.failed_on) {
    m.Pair(f.worker.value, f.times).Word(f.incarnation).Word(f.environment);
  }
  for (const Unended& u : t.unended) m.Pair(u.worker.value, u.number).Word(u.incarnation).At(u.until);
  return m.hash();
}

uint64_t EntityStore::Hash(const TaskId& id, const Attempt& a) { return MixHash(HashButHistory(id, a), a.history); }

uint64_t EntityStore::HashButHistory(const TaskId& id, const Attempt& a) {
  const uint32_t kinds =
      static_cast<uint32_t>(a.cause) << 16 | static_cast<uint32_t>(a.state) << 8 | static_cast<uint32_t>(a.failure);
  return Mixer(Tag::kAttempt)
      .Id(id)
      .Pair(a.number, a.generation)
      .Pair(a.worker.value, kinds)
      .Word(a.incarnation)
      .Word(Flags({a.inputs_done, a.taken_back, a.spared, a.by_bind}))
      .At(a.launched_at)
      .At(a.started_at)
      .At(a.first_byte_at)
      .At(a.inputs_done_at)
      .At(a.ended_at)
      .At(a.sort_at)
      .At(a.reduce_at)
      .For(a.ran)
      .For(a.waited)
      .hash();
}

uint64_t EntityStore::Hash(const TaskId& id, const ReplicaPlace& c) {
  return Mixer(Tag::kReplica).Id(id).Pair(c.generation, c.attempt).Word(c.worker.value).Word(c.incarnation).hash();
}

uint64_t EntityStore::Hash(JobId job, const BoundRead& r) {
  return Mixer(Tag::kBound)
      .Pair(job.epoch, job.seq)
      .Pair(r.stage, r.task)
      .Pair(r.number, Flags({r.exclusive, r.done}))
      .Pair(r.up_stage, r.up_task)
      .Pair(r.replica.generation, r.replica.attempt)
      .Word(r.replica.worker.value)
      .Word(r.replica.incarnation)
      .At(r.at)
      .hash();
}

uint64_t EntityStore::Hash(JobId job, const AskedReplica& a) {
  return Mixer(Tag::kAsked)
      .Pair(job.epoch, job.seq)
      .Pair(a.stage, a.task)
      .Pair(a.generation, a.attempt)
      .Word(a.to.value)
      .hash();
}

uint64_t EntityStore::HashButValue(const FactKey& key) {
  return Mixer(Tag::kFact).Text(key.policy).Text(key.scope).Word(key.id).Text(key.name).hash();
}

uint64_t EntityStore::WithValue(uint64_t key_hash, const FactValue& value) {
  const uint64_t hash = MixHash(key_hash, value.index());
  return std::visit([hash](auto v) { return MixHash(hash, std::bit_cast<uint64_t>(v)); }, value);
}

uint64_t EntityStore::HashTimer(const std::string& policy, uint64_t id, Instant at) {
  return Mixer(Tag::kTimer).Text(policy).Word(id).At(at).hash();
}

uint64_t EntityStore::HashCounters() const {
  Mixer m(Tag::kCounters);
  m.Word(arrivals_).Word(offers_).Word(queue_numbers_).Word(offer_cursor_.value);
  for (const Transfers& t : transfers_) {
    if (t.n > 0) m.Word(t.n).Word(t.bytes).Word(t.us);
  }
  return m.hash();
}

// Calls visit(hash, name) for each entity; name() returns its name. The digest is the sum of the hashes.
template <class Visit>
void EntityStore::EachHash(Visit visit) const {
  const auto of = [](JobId job, uint32_t stage) { return Name(job) + "/" + std::to_string(stage); };
  visit(HashCounters(), [] { return std::string("counters of offers and arrivals"); });
  if (config_.known) visit(Hash(config_), [] { return std::string("configuration"); });
  for (const auto& [id, w] : workers_) visit(Hash(w), [&id = id] { return "worker " + Name(id); });
  for (const auto& [name, queue] : queues_) visit(Hash(queue), [&name = name] { return "queue '" + name + "'"; });
  for (const auto& entry : jobs_) {
    const JobId& id = entry.first;
    const Job& job = entry.second;
    visit(Hash(job), [&] { return "job " + Name(id); });
    for (const BoundRead& r : job.bindings.All()) {
      visit(Hash(id, r), [&] {
        return "read of " + of(id, r.up_stage) + "/" + std::to_string(r.up_task) + " by attempt " + of(id, r.stage) +
               "/" + std::to_string(r.task) + "/" + std::to_string(r.number);
      });
    }
    for (const AskedReplica& a : job.asked) {
      visit(Hash(id, a),
            [&] { return "replica of " + of(id, a.stage) + "/" + std::to_string(a.task) + " asked of " + Name(a.to); });
    }
    for (uint32_t s = 0; s < job.stages.size(); ++s) {
      const Stage& stage = job.stages[s];
      const std::string in = of(id, s);
      visit(Hash(StageId{id, s}, stage), [&] { return "stage " + in; });
      for (uint32_t t = 0; t < stage.tasks.size(); ++t) {
        const TaskId task{id, s, t};
        const auto named = [&] { return in + "/" + std::to_string(t); };
        visit(Hash(task, stage.tasks[t]), [&] { return "task " + named(); });
        for (const Attempt& a : stage.tasks[t].attempts) {
          visit(Hash(task, a), [&] { return "attempt " + named() + "/" + std::to_string(a.number); });
        }
        for (const ReplicaPlace& c : stage.tasks[t].replicas) {
          visit(Hash(task, c), [&] {
            return "replica of " + named() + " by attempt " + std::to_string(c.attempt) + " on " + Name(c.worker);
          });
        }
      }
    }
  }
  for (const auto& [key, value] : facts()) {
    visit(WithValue(HashButValue(key), value), [&key = key] {
      return "fact " + key.policy + "/" + key.scope + "/" + std::to_string(key.id) + "/" + key.name;
    });
  }
  for (const auto& [key, at] : timers()) {
    visit(HashTimer(key.first, key.second, at),
          [&key = key] { return "timer " + key.first + "/" + std::to_string(key.second); });
  }
}

uint64_t EntityStore::RecomputeDigest() const {
  uint64_t digest = 0;
  EachHash([&digest](uint64_t hash, const auto&) { digest += hash; });
  return digest;
}

std::map<std::string, uint64_t> EntityStore::Entities() const {
  std::map<std::string, uint64_t> entities;
  EachHash([&entities](uint64_t hash, const auto& name) { entities[name()] += hash; });
  return entities;
}

}  // namespace mr::sched
