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

mr::TaskStatus FromWire(mr::JobId job, TaskStatus::Reader in) {
  mr::TaskStatus s;
  s.id = Name(mr::TaskId{job, in.getStage(), in.getTask()}, LetterOf(in.getLetter()));
  s.state = in.getState().cStr();
  s.worker = WorkerName(in.getWorker());
  s.stage = in.getStage();
  s.attempts = in.getAttempts();
  s.generation = in.getGeneration();
  for (const uint32_t worker : in.getReplicas()) s.replicas.push_back(WorkerName(worker));
  s.input_bytes = in.getInputBytes();
  s.output_bytes = in.getOutputBytes();
  s.output_records = in.getOutputRecords();
  return s;
}

void ToWire(const mr::TaskStatus& s, TaskStatus::Builder out) {
  out.setStage(s.stage);
  out.setTask(TaskIn(s.id).task);
  out.setLetter(LetterIn(s.id));
  out.setState(s.state.c_str());
  out.setAttempts(s.attempts);
  out.setGeneration(s.generation);
  out.setWorker(WorkerIn(s.worker));
  auto replicas = out.initReplicas(static_cast<unsigned>(s.replicas.size()));
  for (unsigned i = 0; i < replicas.size(); ++i) replicas.set(i, WorkerIn(s.replicas[i]));
  out.setInputBytes(s.input_bytes);
  out.setOutputBytes(s.output_bytes);
  out.setOutputRecords(s.output_records);
}

mr::AttemptStatus FromWire(AttemptStatus::Reader in) {
  mr::AttemptStatus s;
  s.id = Name(FromWire(in.getId()), LetterOf(in.getLetter()));
  s.state = in.getState().cStr();
  s.cause = in.getCause().cStr();
  s.worker = WorkerName(in.getWorker());
  s.progress = in.getProgress();
  s.ran_us = in.getRanUs();
  s.message = in.getMessage().cStr();
  s.reason = in.getReason().cStr();
  s.launched_us = in.getLaunchedUs();
  s.started_us = in.getStartedUs();
  s.inputs_us = in.getInputsUs();
  s.sort_us = in.getSortUs();
  s.reduce_us = in.getReduceUs();
  s.ended_us = in.getEndedUs();
  s.won = in.getWon();
  s.failure = in.getFailure().cStr();
  return s;
}

void ToWire(const mr::AttemptStatus& s, AttemptStatus::Builder out) {
  ToWire(ParseAttemptId(s.id).value_or(mr::AttemptId{}), out.initId());
  out.setLetter(LetterIn(s.id));
  out.setState(s.state.c_str());
  out.setCause(s.cause.c_str());
  out.setWorker(WorkerIn(s.worker));
  out.setProgress(s.progress);
  out.setRanUs(s.ran_us);
  out.setMessage(s.message.c_str());
  out.setReason(s.reason.c_str());
  out.setLaunchedUs(s.launched_us);
  out.setStartedUs(s.started_us);
  out.setInputsUs(s.inputs_us);
  out.setSortUs(s.sort_us);
  out.setReduceUs(s.reduce_us);
  out.setEndedUs(s.ended_us);
  out.setWon(s.won);
  out.setFailure(s.failure.c_str());
}

mr::WorkerStatus FromWire(WorkerStatus::Reader in) {
  mr::WorkerStatus s;
  s.id = Name(WorkerId{in.getId()});
  s.name = in.getName().cStr();
  s.address = in.getAddress().cStr();
  s.rack = in.getRack().cStr();
  s.state = in.getState().cStr();
  s.slots = in.getSlots();
  s.busy = in.getBusy();
  s.incarnation = in.getIncarnation();
  for (auto label : in.getLabels()) s.labels.emplace_back(label.cStr());
  s.blocks = in.getBlocks();
  s.used_bytes = in.getUsedBytes();
  s.capacity_bytes = in.getCapacityBytes();
  s.pid = in.getPid();
  s.memory_bytes = in.getMemoryBytes();
  s.reports_given_up = in.getReportsGivenUp();
  s.wrong_outputs = in.getWrongOutputs();
  s.safe_to_stop = in.getSafeToStop();
  return s;
}

void ToWire(const mr::WorkerStatus& s, WorkerStatus::Builder out) {
  out.setId(WorkerIn(s.id));
  out.setName(s.name.c_str());
  out.setAddress(s.address.c_str());
  out.setRack(s.rack.c_str());
  out.setState(s.state.c_str());
  out.setSlots(s.slots);
  out.setBusy(s.busy);
  out.setIncarnation(s.incarnation);
  auto labels = out.initLabels(static_cast<unsigned>(s.labels.size()));
  for (unsigned i = 0; i < labels.size(); ++i) labels.set(i, s.labels[i].c_str());
  out.setBlocks(s.blocks);
  out.setUsedBytes(s.used_bytes);
  out.setCapacityBytes(s.capacity_bytes);
  out.setPid(s.pid);
  out.setMemoryBytes(s.memory_bytes);
  out.setReportsGivenUp(s.reports_given_up);
  out.setWrongOutputs(s.wrong_outputs);
  out.setSafeToStop(s.safe_to_stop);
}

mr::DecisionStatus FromWire(Decision::Reader in) {
  return {in.getAtUs(), in.getWhat().cStr(), in.getAttempt().cStr(), WorkerName(in.getWorker()), in.getReason().cStr()};
}

void ToWire(const mr::DecisionStatus& s, Decision::Builder out) {
  out.setAtUs(s.at_us);
  out.setWhat(s.what.c_str());
  out.setAttempt(s.attempt.c_str());
  out.setWorker(WorkerIn(s.worker));
  out.setReason(s.reason.c_str());
}

mr::CounterValue FromWire(CounterValue::Reader in) { return ReadWire<mr::CounterValue>(in); }
void ToWire(const mr::CounterValue& counter, CounterValue::Builder out) { WriteWire(counter, out); }

}  // namespace mr::rpc
