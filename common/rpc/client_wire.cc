#include "common/rpc/client_wire.h"

#include "common/rpc/wire.h"
#include "common/rpc/wire_walk.h"

namespace mr::rpc {

static_assert(static_cast<int>(JobState::UNSET) == static_cast<int>(mr::JobState::kUnknown));
static_assert(static_cast<int>(JobState::PENDING) == static_cast<int>(mr::JobState::kPending));
static_assert(static_cast<int>(JobState::RUNNING) == static_cast<int>(mr::JobState::kRunning));
static_assert(static_cast<int>(JobState::COMMITTING) == static_cast<int>(mr::JobState::kCommitting));
static_assert(static_cast<int>(JobState::SUCCEEDED) == static_cast<int>(mr::JobState::kSucceeded));
static_assert(static_cast<int>(JobState::FAILED) == static_cast<int>(mr::JobState::kFailed));
static_assert(static_cast<int>(JobState::KILLING) == static_cast<int>(mr::JobState::kKilling));
static_assert(static_cast<int>(JobState::KILLED) == static_cast<int>(mr::JobState::kKilled));

static mr::JobState EnumFromWire(EnumOf<mr::JobState>, JobState state) {
  return state <= JobState::KILLED ? static_cast<mr::JobState>(state) : mr::JobState::kUnknown;
}
static JobState EnumToWire(EnumOf<mr::JobState>, mr::JobState state) { return static_cast<JobState>(state); }

template <class W>
void Walk(W& w, Is<mr::StageStatus> auto& s) {
  MR_WIRE(w, s.name, Name);
  MR_WIRE(w, s.planned, Planned);
  MR_WIRE(w, s.tasks, Tasks);
  MR_WIRE(w, s.done, Done);
  MR_WIRE(w, s.running, Running);
  MR_WIRE(w, s.waiting, Waiting);
  MR_WIRE(w, s.failed, Failed);
  MR_WIRE(w, s.input_bytes, InputBytes);
  MR_WIRE(w, s.taken_bytes, TakenBytes);
  MR_WIRE(w, s.output_bytes, OutputBytes);
  MR_WIRE(w, s.output_records, OutputRecords);
  MR_WIRE(w, s.elapsed_us, ElapsedUs);
}

template <class W>
void Walk(W& w, Is<CauseStatus> auto& s) {
  MR_WIRE(w, s.cause, Cause);
  MR_WIRE(w, s.launched, Launched);
  MR_WIRE(w, s.won, Won);
  MR_WIRE(w, s.wasted_us, WastedUs);
}

template <class W>
void Walk(W& w, Is<mr::CloneStatus> auto& s) {
  MR_WIRE(w, s.launched, Launched);
  MR_WIRE(w, s.won, Won);
  MR_WIRE(w, s.killed, Killed);
  MR_WIRE(w, s.extra_us, ExtraUs);
  MR_WIRE(w, s.exclusive, Exclusive);
  MR_WIRE(w, s.contended, Contended);
  MR_WIRE(w, s.rebound, Rebound);
  MR_WIRE(w, s.omega_us, OmegaUs);
  MR_WIRE(w, s.omega_known, OmegaKnown);
  MR_WIRE(w, s.budget_used, BudgetUsed);
  MR_WIRE(w, s.budget, Budget);
  MR_WIRE(w, s.lent_launched, LentLaunched);
  MR_WIRE(w, s.lent_won, LentWon);
  MR_WIRE(w, s.lent_killed, LentKilled);
  MR_WIRE(w, s.lent_extra_us, LentExtraUs);
}

template <class W>
void Walk(W& w, Is<mr::SteeringPoint> auto& p) {
  MR_WIRE(w, InMicros(p.at_s), AtUs);
  MR_WIRE(w, p.slots, Slots);
  MR_WIRE(w, p.asked, Asked);
  MR_WIRE(w, p.progress, Progress);
  MR_WIRE(w, InMicros(p.left_s), LeftUs);
  MR_WIRE(w, InMicros(p.deadline_s), DeadlineUs);
}

template <class W>
void Walk(W& w, Is<mr::SteeringStatus> auto& s) {
  MR_WIRE(w, s.points, Points);
  MR_WIRE(w, InMicros(s.held_slot_s), HeldUs);
}

template <class W>
void Walk(W& w, Is<mr::SkewStatus> auto& s) {
  MR_WIRE(w, s.stage, Stage);
  MR_WIRE(w, s.key, Key);
  MR_WIRE(w, s.cut, Cut);
  MR_WIRE(w, s.records, Records);
  MR_WIRE(w, s.bytes, Bytes);
  MR_WIRE(w, s.stage_records, StageRecords);
  MR_WIRE(w, s.stage_bytes, StageBytes);
  MR_WIRE(w, s.partition, Partition);
  MR_WIRE(w, s.partitions_known, PartitionsKnown);
  MR_WIRE(w, s.partition_bytes, PartitionBytes);
  MR_WIRE(w, s.median_bytes, MedianBytes);
  MR_WIRE(w, s.text, Text);
}

template <class W>
void Walk(W& w, Is<mr::DeadlineStatus> auto& s) {
  MR_WIRE(w, s.deadline_us, DeadlineUs);
  MR_WIRE(w, s.steered, Steered);
  MR_WIRE(w, s.predicted, Predicted);
  MR_WIRE(w, s.runs, Runs);
  MR_WIRE(w, s.scale, Scale);
  MR_WIRE(w, s.guaranteed, Guaranteed);
  MR_WIRE(w, s.held, Held);
  MR_WIRE(w, s.best_effort, BestEffort);
  MR_WIRE(w, s.ends_us, EndsUs);
  MR_WIRE(w, s.spread_us, SpreadUs);
  MR_WIRE(w, s.asked, Asked);
  MR_WIRE(w, s.promised_ends_us, PromisedEndsUs);
}

template <class W>
void Walk(W& w, Is<mr::JobStatus> auto& s) {
  MR_WIRE(w, s.id, Id);
  MR_WIRE(w, s.name, Name);
  MR_WIRE(w, s.state, State);
  MR_WIRE(w, s.queue, Queue);
  MR_WIRE(w, s.priority, Priority);
  MR_WIRE(w, s.stages, Stages);
  MR_WIRE(w, s.output_uri, OutputUri);
  MR_WIRE(w, s.error, Error);
  MR_WIRE(w, s.submitted_unix_ms, SubmittedUnixMs);
  MR_WIRE(w, s.elapsed_us, ElapsedUs);
  MR_WIRE(w, s.output_bytes, OutputBytes);
  MR_WIRE(w, s.output_records, OutputRecords);
  MR_WIRE(w, s.output_parts, OutputParts);
  MR_WIRE(w, s.output_digest, OutputDigest);
  MR_WIRE(w, s.submission_id, SubmissionId);
  MR_WIRE(w, s.owner, Owner);
  MR_WIRE(w, s.last_failure, LastFailure);
  MR_WIRE(w, s.causes, Causes);
  MR_WIRE_OPTIONAL(w, s.clones, Clones);
  MR_WIRE(w, s.warnings, Warnings);
  MR_WIRE_OPTIONAL(w, s.steering, Steering);
  MR_WIRE_OPTIONAL(w, s.deadline, Deadline);
  MR_WIRE(w, s.skew, Skew);
  MR_WIRE(w, s.hung, Hung);
  MR_WIRE(w, s.waits, Waits);
}

template <class W>
void Walk(W& w, Is<mr::QueueStatus> auto& s) {
  MR_WIRE(w, s.name, Name);
  MR_WIRE(w, s.weight, Weight);
  MR_WIRE(w, s.min_share, MinShare);
  MR_WIRE(w, s.max_share, MaxShare);
  MR_WIRE(w, s.jobs, Jobs);
  MR_WIRE(w, s.held_slots, HeldSlots);
  MR_WIRE(w, s.waits, Waits);
}

template <class W>
void Walk(W& w, Is<mr::DrainStatus> auto& s) {
  MR_WIRE(w, s.draining, Draining);
  MR_WIRE(w, s.safe_to_stop, SafeToStop);
  MR_WIRE(w, s.attempts, Attempts);
  MR_WIRE(w, s.blocks, Blocks);
  MR_WIRE(w, s.bytes, Bytes);
  MR_WIRE(w, s.left_blocks, LeftBlocks);
  MR_WIRE(w, s.left_bytes, LeftBytes);
  MR_WIRE(w, s.being_written, BeingWritten);
  MR_WIRE(w, s.outputs, Outputs);
  MR_WIRE(w, s.output_bytes, OutputBytes);
  MR_WIRE(w, s.jobs, Jobs);
  MR_WIRE(w, s.waits_for, WaitsFor);
  MR_WIRE(w, s.left_files, LeftFiles);
  MR_WIRE(w, s.thin_blocks, ThinBlocks);
  MR_WIRE(w, s.thin_files, ThinFiles);
  MR_WIRE(w, s.note, Note);
}

template <class W>
void Walk(W& w, Is<mr::JournalStatus> auto& s) {
  MR_WIRE(w, s.lost, Lost);
  MR_WIRE(w, s.lost_epoch, LostEpoch);
  MR_WIRE(w, s.lost_sequence, LostSequence);
  MR_WIRE(w, s.kept, Kept);
  MR_WIRE(w, s.found_by, FoundBy);
  MR_WIRE(w, s.found_unix_ms, FoundUnixMs);
  MR_WIRE(w, s.text, Text);
  MR_WIRE(w, s.awaits_workers, AwaitsWorkers);
  MR_WIRE(w, s.passed_over, PassedOver);
  MR_WIRE(w, s.full, Full);
  MR_WIRE(w, s.disk_bytes, DiskBytes);
  MR_WIRE(w, s.free_bytes, FreeBytes);
  MR_WIRE(w, s.witness_failure, WitnessFailure);
}

mr::JobStatus FromWire(JobStatus::Reader in) { return ReadWire<mr::JobStatus>(in); }
void ToWire(const mr::JobStatus& status, JobStatus::Builder out) { WriteWire(status, out); }

mr::QueueStatus FromWire(QueueStatus::Reader in) { return ReadWire<mr::QueueStatus>(in); }
void ToWire(const mr::QueueStatus& status, QueueStatus::Builder out) { WriteWire(status, out); }

mr::DrainStatus FromWire(DrainStatus::Reader in) { return ReadWire<mr::DrainStatus>(in); }
void ToWire(const mr::DrainStatus& status, DrainStatus::Builder out) { WriteWire(status, out); }

mr::JournalStatus FromWire(JournalStatus::Reader in) { return ReadWire<mr::JournalStatus>(in); }
void ToWire(const mr::JournalStatus& status, JournalStatus::Builder out) { WriteWire(status, out); }

static TaskLetter LetterOf(uint8_t letter) { return letter == 'r' ? TaskLetter::kReduce : TaskLetter::kMap; }

// A task's or attempt's name has its letter after the fourth underscore.
static uint8_t LetterIn(const std::string& name) {
  size_t at = 0;
  for (int underscores = 0; underscores < 4; ++underscores) at = name.find('_', at) + 1;  // 0 behind the last
  return static_cast<uint8_t>(name.substr(at, 2) == "r_" ? TaskLetter::kReduce : TaskLetter::kMap);
}

// A task has the name of its attempts without their numbers.
static mr::TaskId TaskIn(const std::string& name) {
  if (!name.starts_with("task_")) return {};
  return ParseAttemptId("attempt_" + name.substr(5) + "_1").value_or(mr::AttemptId{}).task;
}

static std::string WorkerName(uint32_t id) { return id == 0 ? "" : Name(WorkerId{id}); }
static uint32_t WorkerIn(const std::string& name) { return ParseWorkerId(name).value_or(WorkerId{}).value; }

// The rows of lists have names for people. On the wire these are numbers, which each pair of functions below
// translates; a listing has all other fields.

template <class W>
void Walk(W& w, Is<mr::TaskStatus> auto& s) {
  MR_WIRE(w, s.stage, Stage);
  MR_WIRE(w, s.state, State);
  MR_WIRE(w, s.attempts, Attempts);
  MR_WIRE(w, s.generation, Generation);
  MR_WIRE(w, s.input_bytes, InputBytes);
  MR_WIRE(w, s.output_bytes, OutputBytes);
  MR_WIRE(w, s.output_records, OutputRecords);
}

mr::TaskStatus FromWire(mr::JobId job, TaskStatus::Reader in) {
  auto s = ReadWire<mr::TaskStatus>(in);
  s.id = Name(mr::TaskId{job, in.getStage(), in.getTask()}, LetterOf(in.getLetter()));
  s.worker = WorkerName(in.getWorker());
  for (const uint32_t worker : in.getReplicas()) s.replicas.push_back(WorkerName(worker));
  return s;
}

void ToWire(const mr::TaskStatus& s, TaskStatus::Builder out) {
  WriteWire(s, out);
  out.setTask(TaskIn(s.id).task);
  out.setLetter(LetterIn(s.id));
  out.setWorker(WorkerIn(s.worker));
  auto replicas = out.initReplicas(static_cast<unsigned>(s.replicas.size()));
  for (unsigned i = 0; i < replicas.size(); ++i) replicas.set(i, WorkerIn(s.replicas[i]));
}

template <class W>
void Walk(W& w, Is<mr::AttemptStatus> auto& s) {
  MR_WIRE(w, s.state, State);
  MR_WIRE(w, s.cause, Cause);
  MR_WIRE(w, s.progress, Progress);
  MR_WIRE(w, s.ran_us, RanUs);
  MR_WIRE(w, s.message, Message);
  MR_WIRE(w, s.reason, Reason);
  MR_WIRE(w, s.launched_us, LaunchedUs);
  MR_WIRE(w, s.started_us, StartedUs);
  MR_WIRE(w, s.inputs_us, InputsUs);
  MR_WIRE(w, s.sort_us, SortUs);
  MR_WIRE(w, s.reduce_us, ReduceUs);
  MR_WIRE(w, s.ended_us, EndedUs);
  MR_WIRE(w, s.won, Won);
  MR_WIRE(w, s.failure, Failure);
}

mr::AttemptStatus FromWire(AttemptStatus::Reader in) {
  auto s = ReadWire<mr::AttemptStatus>(in);
  s.id = Name(FromWire(in.getId()), LetterOf(in.getLetter()));
  s.worker = WorkerName(in.getWorker());
  return s;
}

void ToWire(const mr::AttemptStatus& s, AttemptStatus::Builder out) {
  WriteWire(s, out);
  ToWire(ParseAttemptId(s.id).value_or(mr::AttemptId{}), out.initId());
  out.setLetter(LetterIn(s.id));
  out.setWorker(WorkerIn(s.worker));
}

template <class W>
void Walk(W& w, Is<mr::WorkerStatus> auto& s) {
  MR_WIRE(w, s.name, Name);
  MR_WIRE(w, s.address, Address);
  MR_WIRE(w, s.rack, Rack);
  MR_WIRE(w, s.state, State);
  MR_WIRE(w, s.slots, Slots);
  MR_WIRE(w, s.busy, Busy);
  MR_WIRE(w, s.incarnation, Incarnation);
  MR_WIRE(w, s.labels, Labels);
  MR_WIRE(w, s.blocks, Blocks);
  MR_WIRE(w, s.used_bytes, UsedBytes);
  MR_WIRE(w, s.capacity_bytes, CapacityBytes);
  MR_WIRE(w, s.pid, Pid);
  MR_WIRE(w, s.memory_bytes, MemoryBytes);
  MR_WIRE(w, s.reports_given_up, ReportsGivenUp);
  MR_WIRE(w, s.wrong_outputs, WrongOutputs);
  MR_WIRE(w, s.safe_to_stop, SafeToStop);
  MR_WIRE(w, s.tier, Tier);
  MR_WIRE(w, s.disk, Disk);
}

mr::WorkerStatus FromWire(WorkerStatus::Reader in) {
  auto s = ReadWire<mr::WorkerStatus>(in);
  s.id = Name(WorkerId{in.getId()});
  return s;
}

void ToWire(const mr::WorkerStatus& s, WorkerStatus::Builder out) {
  WriteWire(s, out);
  out.setId(WorkerIn(s.id));
}

template <class W>
void Walk(W& w, Is<mr::DecisionStatus> auto& s) {
  MR_WIRE(w, s.at_us, AtUs);
  MR_WIRE(w, s.what, What);
  MR_WIRE(w, s.attempt, Attempt);
  MR_WIRE(w, s.reason, Reason);
}

mr::DecisionStatus FromWire(Decision::Reader in) {
  auto s = ReadWire<mr::DecisionStatus>(in);
  s.worker = WorkerName(in.getWorker());
  return s;
}

void ToWire(const mr::DecisionStatus& s, Decision::Builder out) {
  WriteWire(s, out);
  out.setWorker(WorkerIn(s.worker));
}

mr::CounterValue FromWire(CounterValue::Reader in) { return ReadWire<mr::CounterValue>(in); }
void ToWire(const mr::CounterValue& counter, CounterValue::Builder out) { WriteWire(counter, out); }

}  // namespace mr::rpc
