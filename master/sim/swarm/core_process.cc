#include "master/sim/swarm/core_process.h"

#include <algorithm>
#include <set>

#include "common/base/fields.h"
#include "master/sched/state/state.h"

namespace mr::sim {

using master::FollowUp;
using master::MasterCore;
using master::Record;
using master::RecordKind;

std::string SpecBytes(const JobSpec& spec) { return EncodeFields(spec); }

Result<JobSpec> SpecOfBytes(std::string_view bytes) {
  JobSpec spec;
  if (!DecodeFields(bytes, &spec)) return Corrupted("no spec");
  return spec;
}

namespace {

std::string ApplyStored(MasterCore* core, const MemoryJournal::Stored& stored) {
  auto record = master::DecodeRecord(static_cast<uint8_t>(stored.kind), stored.payload);
  if (!record.ok()) return record.status().ToString();
  if (auto* event = std::get_if<master::EventRecord>(&*record)) {
    if (std::holds_alternative<sched::JobSubmitted>(event->stamped.event)) {
      master::SubmitExtra extra;
      if (!DecodeSubmit(event->extra, &extra)) return "a submission without its plan";
      auto spec = SpecOfBytes(extra.spec);
      if (!spec.ok()) return spec.status().ToString();
      event->spec = std::make_shared<const JobSpec>(*std::move(spec));
    }
  }
  if (const Status bad = core->Check(*record); !bad.ok()) return bad.ToString();
  const master::Applied applied = core->Apply(&*record, {stored.sequence, 1});
  (void)core->NoteDurable(stored.sequence);
  core->Shrink();
  return applied.differs;
}

}  // namespace

void MemoryJournal::Cut() {
  while (!records_.empty() && records_.back().sequence > durable_) records_.pop_back();
  next_ = durable_ + 1;
}

void MemoryJournal::TakeSnapshot(std::vector<std::pair<RecordKind, std::string>> parts) {
  snapshot_ = std::move(parts);
  snapshot_at_ = durable_;
  std::erase_if(records_, [this](const Stored& r) { return r.sequence <= snapshot_at_; });
}

std::string MemoryJournal::ReadInto(MasterCore* core, uint64_t until) const {
  for (const auto& [kind, part] : snapshot_) {
    if (const Status bad = core->Restore(kind, part, snapshot_at_); !bad.ok()) return bad.ToString();
  }
  return ReadInto(core, snapshot_at_, until);
}

std::string MemoryJournal::ReadInto(MasterCore* core, uint64_t after, uint64_t until) const {
  for (const Stored& stored : records_) {
    if (stored.sequence <= after || stored.sequence > until) continue;
    if (std::string wrong = ApplyStored(core, stored); !wrong.empty()) {
      return "record " + std::to_string(stored.sequence) + ": " + wrong;
    }
  }
  return "";
}

CoreProcess::CoreProcess(MemoryJournal& journal, MasterCore::Config config, Outside& outside)
    : journal_(journal), outside_(outside), core_(std::move(config), SpecOfBytes) {}

std::string CoreProcess::Start(Instant now, uint64_t seed) {
  if (std::string wrong = journal_.ReadInto(&core_, journal_.last()); !wrong.empty()) return "recovery: " + wrong;
  now_ = std::max(now, core_.last_stamp() + Nanos(1));
  const std::set<JobId> unpublished = core_.open().unpublished;
  const uint32_t version = core_.config().scheduler_version;
  const Fed begun = Feed(Record(master::EpochStarted{core_.epoch() + 1, version, 1}));
  Sync(begun.sequence);
  Feed(sched::ConfigChanged{core_.config().policies, seed, version, Millis(100)});
  std::vector<std::string> notes;
  for (sched::Event& event : core_.PrepareTakeOver(now_, &notes)) Feed(std::move(event));
  std::vector<JobId> running;
  for (const auto& [id, job] : core_.scheduler().state().jobs()) {
    if (job.running()) running.push_back(id);
  }
  for (const JobId id : running) Answer({{FollowUp::Kind::kOperators, {id, 0}}});
  Answer(core_.Unanswered());
  std::vector<WorkerId> known, awaited;
  for (const auto& [id, worker] : core_.workers().all()) {
    if (worker.alive) known.push_back(id);
    if (worker.awaited) awaited.push_back(id);
  }
  Feed(Record(dfs::Record(dfs::MasterStarted{now_, known, awaited})));
  for (const WorkerId id : known) {
    master::WorkerView* worker = core_.workers().Find(id);
    worker->away = true;
    Feed(sched::WorkerAway{id, worker->info.incarnation});
  }
  for (const JobId job : unpublished) outside_.Publish(job);
  return "";
}

CoreProcess::Fed CoreProcess::Feed(Record record) {
  std::vector<FollowUp> follow_ups;
  Fed fed = FeedOne(std::move(record), &follow_ups);
  Answer(std::move(follow_ups));
  return fed;
}

void CoreProcess::Answer(std::vector<FollowUp> follow_ups) {
  for (size_t i = 0; i < follow_ups.size(); ++i) {
    auto event = core_.Prepare(FollowUp(follow_ups[i]));
    if (event) (void)FeedOne(master::EventRecord{{now_, *std::move(event)}, {}}, &follow_ups);
  }
}

uint64_t CoreProcess::FeedAll(std::vector<Record> records) {
  for (Record& record : records) (void)Feed(std::move(record));
  return journal_.last();
}

uint64_t CoreProcess::SessionOf(const dfs::Effect& effect) {
  WorkerId id;
  if (const auto* copy = std::get_if<dfs::ReplicateBlock>(&effect)) id = copy->from;
  if (const auto* gone = std::get_if<dfs::DeleteReplica>(&effect)) id = gone->worker;
  if (const auto* empty = std::get_if<dfs::EmptyQuarantine>(&effect)) id = empty->worker;
  const master::WorkerView* worker = core_.workers().Find(id);
  return worker == nullptr ? 0 : worker->session;
}

CoreProcess::Fed CoreProcess::FeedOne(Record record, std::vector<FollowUp>* follow_ups) {
  const auto* change = std::get_if<dfs::Record>(&record);
  const bool kept = change == nullptr || dfs::IsHard(*change);
  if (change != nullptr) {
    for (dfs::Record& placed : core_.files().PlacedBy(*change)) (void)FeedOne(Record(std::move(placed)), follow_ups);
  }
  Fed fed{kept ? journal_.next() : journal_.last(), {}};
  master::Applied applied = core_.Apply(&record, {fed.sequence, 1});
  if (kept) journal_.Append(KindOf(record), EncodeRecord(record));
  follow_ups->insert(follow_ups->end(), applied.follow_ups.begin(), applied.follow_ups.end());
  CheckEffects(applied.blocks);
  uint64_t last = fed.sequence;
  for (dfs::Record& unplaced : core_.files().UnplacedBy(applied.blocks)) {
    last = FeedOne(Record(std::move(unplaced)), follow_ups).sequence;
  }
  for (const dfs::Effect& effect : applied.blocks) {
    // For the session in which it was decided, as in a master.
    const uint64_t session = SessionOf(effect);
    Hold(last, [this, effect, session] {
      if (session != 0 && SessionOf(effect) == session) outside_.Carry(effect);
    });
  }
  for (const sched::Decision& decision : applied.decisions) {
    outside_.Carry(decision);
    const auto* commit = std::get_if<sched::CommitJob>(&decision);
    if (commit == nullptr || core_.jobs().Find(commit->job)->in_dfs()) continue;
    Hold(fed.sequence, [this, job = commit->job] { outside_.Publish(job); });
  }
  fed.decisions = std::move(applied.decisions);
  NoteEnds(record, fed);
  return fed;
}

// Rule D4: in safe mode it is not known what other workers hold, so nothing is deleted or copied.
void CoreProcess::CheckEffects(const std::vector<dfs::Effect>& effects) {
  if (!core_.files().in_safe_mode()) return;
  for (const dfs::Effect& effect : effects) {
    if (std::holds_alternative<dfs::DeleteReplica>(effect)) outside_.Broken("a replica is deleted in safe mode");
    if (std::holds_alternative<dfs::ReplicateBlock>(effect)) outside_.Broken("a block is copied in safe mode");
  }
}

// The record that publishes a job's output also ends the job.
void CoreProcess::NoteEnds(const Record& record, const Fed& fed) {
  if (const auto* published = std::get_if<master::JobPublished>(&record)) ends_[published->job] = fed.sequence;
  for (const sched::Decision& decision : fed.decisions) {
    if (const auto* failed = std::get_if<sched::FailJob>(&decision)) ends_[failed->job] = fed.sequence;
    const auto* commit = std::get_if<sched::CommitJob>(&decision);
    if (commit != nullptr && core_.jobs().Find(commit->job)->in_dfs()) ends_[commit->job] = fed.sequence;
  }
}

void CoreProcess::Hold(uint64_t sequence, std::function<void()> action) {
  if (sequence <= journal_.durable()) return action();
  held_.emplace(sequence, std::move(action));
}

void CoreProcess::Sync(uint64_t sequence) {
  journal_.SyncTo(sequence);
  for (const JobId job : core_.NoteDurable(journal_.durable())) {
    const auto end = ends_.find(job);
    if (end != ends_.end() && end->second > journal_.durable()) {
      outside_.Broken("the end of " + Name(job) + " is reported before its record is durable");
    }
    outside_.Ended(job);
  }
  while (!held_.empty() && held_.begin()->first <= journal_.durable()) {
    const auto action = std::move(held_.begin()->second);
    held_.erase(held_.begin());
    action();
  }
  core_.Shrink();
}

void CoreProcess::Pass(Instant now) {
  now_ = std::max(now_, now);
  // Each timer that fires may set another one for this instant. The bound is above what any policy needs.
  for (int i = 0; i < 1000; ++i) {
    auto due = core_.DueTimer(now_);
    if (!due) break;
    Feed(*std::move(due));
  }
  for (dfs::Record& record : core_.files().Due(now_)) Feed(Record(std::move(record)));
  Answer(core_.Unanswered());
}

}  // namespace mr::sim
