@0xe9f5ad6cb2509a3d;
# What clients (mrctl, the demo, tests) ask of a master. Hello role: client.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("mr::rpc");
using Common = import "common.capnp";
using Job = import "job.capnp";
using Dfs = import "dfs.capnp";
using Control = import "control.capnp";

interface MasterForClient {
  submit @0 (spec :Job.JobSpec, submissionId :Text) -> (outcome :Common.Outcome, job :Common.JobId);
  # Repeating a submission id with the same spec gives the same job; with another spec: rejected.
  # Answered when the job is in the journal.
  watch @1 (job :Common.JobId, watcher :JobWatcher) -> (outcome :Common.Outcome, handle :Handle);
  # The watcher gets the present status at once, then each change (at most every 50 ms), and the
  # last one when the job has ended. Dropping the handle ends it.
  job @2 (job :Common.JobId) -> (outcome :Common.Outcome, status :JobStatus);
  # Lists come in pages of about 512 KiB. from: 0, then `next` of the page before, until that is 0.
  jobs @3 (from :UInt64) -> (jobs :List(JobStatus), next :UInt64);
  tasks @4 (job :Common.JobId, from :UInt64) -> (outcome :Common.Outcome, tasks :List(TaskStatus), next :UInt64);
  attempts @5 (job :Common.JobId, after :Common.AttemptId) -> (outcome :Common.Outcome, attempts :List(AttemptStatus), more :Bool);
  # after: absent, then the last attempt of the page before, while `more` is set.
  counters @6 (job :Common.JobId, from :UInt64) -> (outcome :Common.Outcome, counters :List(CounterValue), next :UInt64);
  kill @7 (job :Common.JobId, why :Text) -> (outcome :Common.Outcome);
  why @8 (subject :Text) -> (outcome :Common.Outcome, lines :List(Text));
  # subject: a job, task, attempt or worker name.
  workers @9 (from :UInt64) -> (workers :List(WorkerStatus), next :UInt64);
  logs @10 (attempt :Common.AttemptId) -> (outcome :Common.Outcome, text :Text, note :Text);
  # The end of what it wrote, at most 256 KiB. note: not empty where that is not its whole end, and why.
  libraryKnown @11 (sha256 :Text) -> (known :Bool);
  putLibrary @12 (sha256 :Text, totalBytes :UInt64, offset :UInt64, data :Data) -> (outcome :Common.Outcome);
  # Pieces of at most 1 MiB in order; the last one is checked against the name and synced.
  files @13 () -> (files :Dfs.FileSystem);
  info @14 () -> (version :Text, clusterId :UInt64, masterEpoch :UInt32, policies :Text, pid :UInt32, address :Text, unixMs :UInt64, fileView :UInt64);
  # address: host:port under which this master says that others reach it. unixMs: its clock when it answered.
  # fileView: equal for processes that see the same file systems (common/io/file_version.h); 0: not known.
  null @15 ();
  # Does nothing: the benchmarks' unit of cost.
  drain @16 (worker :UInt32, on :Bool) -> (outcome :Common.Outcome);
  queues @17 () -> (queues :List(QueueStatus));
  # Those that have been set or named by a job, and "default".
  setQueue @18 (queue :Text, weight :Float64, minShare :Int64, maxShare :Int64) -> (outcome :Common.Outcome);
  # A weight of 0, a share below 0: stays as it is. Answered when it is in the journal.
  history @19 (job :Common.JobId, from :UInt32) -> (outcome :Common.Outcome, head :Text, text :Text, next :UInt32, beside :List(Common.JobId));
  # What an ended job's run was, as lines of master/history's document, in pages of about 512 KiB. from: 0, then
  # `next` until that is 0. With the first page: the document's head, and ended jobs that ran beside it.
  profile @20 (name :Text, index :UInt32, fromStage :UInt32) -> (outcome :Common.Outcome, count :UInt32, profile :Profile, next :UInt32);
  # What earlier runs of jobs of this name taught, one profile for each shape of their plans; index: from 0, the one
  # that changed last first, of `count`. Stages in pages of about 512 KiB. fromStage: 0, then `next` until that is 0.
  explain @21 (spec :Job.JobSpec) -> (outcome :Common.Outcome, plan :ExplainedPlan);
  # What a submit of it would run and be answered; nothing is submitted, and its library need not be there. outcome: it
  # cannot be planned, and why.
  setJob @22 (job :Common.JobId, setPriority :Bool, priority :Int32, setDeadline :Bool, deadlineMs :UInt64) -> (outcome :Common.Outcome, warning :Text);
  # Of a running job; what is not to be set stays as it is. deadlineMs: from its submission, 0 = none. Answered when it
  # is in the journal and, with a deadline that is steered by, when this job and others that run are predicted and no
  # worker is away that may come back after a restart of the master (10 s). warning: not empty where the deadline,
  # which is taken all the same, is not likely to be met; why, and the earliest that is.
  exclude @23 (worker :UInt32, on :Bool) -> (outcome :Common.Outcome);
  # on: it is given up at once, as if it were lost, and may not register until it is included again. Answered when it
  # is in the journal: it outlives this master, and this life of the worker.
  decisions @24 (job :Common.JobId, from :UInt32) -> (outcome :Common.Outcome, decisions :List(Decision), next :UInt32);
  # What was decided about a job and its tasks, as far as it is kept (64 of each task), in pages of at most 2000; each
  # task's in the order of time, and the end of the job last. from: 0, then `next` until that is 0.
  launched @25 (attempt :Common.AttemptId) -> (outcome :Common.Outcome, stage :Control.StageInfo, launch :Control.Launch);
  # What its worker was told of an attempt: for running it again elsewhere.
  measure @26 (uris :List(Text)) -> (sizes :List(InputSize));
  # What the files behind each file:// and dfs:// URI have, as a submit would read them.
  drainStatus @27 (worker :UInt32) -> (outcome :Common.Outcome, status :DrainStatus);
  # Whether a worker that is drained may be stopped, and what it waits for.
  journal @28 (acceptLoss :Bool) -> (outcome :Common.Outcome, status :JournalStatus);
  # How the master's journal is. acceptLoss: an operator accepts that records are lost, which ends the safe mode;
  # answered when that is in the journal.
}

struct DrainStatus {
  draining @0 :Bool;
  # An operator drains it.
  safeToStop @1 :Bool;
  # Nothing is lost and nothing runs again when it stops.
  attempts @2 :UInt32;
  # Attempts that run on this worker.
  blocks @3 :UInt64;
  bytes @4 :UInt64;
  # Replicas there; they stay.
  leftBlocks @5 :UInt64;
  leftBytes @6 :UInt64;
  # Blocks that need more replicas on other workers first.
  beingWritten @7 :UInt64;
  # Blocks of files that are being written there.
  outputs @8 :UInt64;
  outputBytes @9 :UInt64;
  jobs @10 :List(Common.JobId);
  # Shuffle outputs that only this worker has and that these jobs (the first 20) still read.
  waitsFor @11 :List(Text);
  # In sentences; empty where it is safe to stop.
  leftFiles @12 :List(Text);
  # The first few with such blocks.
  thinBlocks @13 :UInt64;
  thinFiles @14 :List(Text);
  # Blocks that will have fewer replicas than their files ask for, since there are fewer other workers.
  note @15 :Text;
  # The same in a sentence.
}

struct JournalStatus {
  lost @0 :Bool;
  # Records are known to be lost and nobody has accepted that: safe mode. What follows describes the last loss, also an
  # accepted one; a lostEpoch of 0: there was none.
  lostEpoch @1 :UInt32;
  lostSequence @2 :UInt64;
  # The last record that is known to be lost.
  kept @3 :UInt64;
  # The last record that was there when the loss was found.
  foundBy @4 :Text;
  # Name of the worker that had seen the lost record; empty: the journal's own witness, at the start.
  foundUnixMs @5 :UInt64;
  text @6 :Text;
  # The loss and the choices, for people.
  awaitsWorkers @7 :Bool;
  # The master has just started and waits for the reports of workers before it copies or deletes blocks.
  passedOver @8 :List(Text);
  # What the start found damaged and did without, one line each.
  full @9 :Bool;
  # The disk takes nothing more: new work is refused.
  diskBytes @10 :UInt64;
  freeBytes @11 :UInt64;
  # The size of the journal's disk and what is free there; both 0: not known.
  witnessFailure @12 :Text;
  # Why the journal's witness cannot be written; empty: it can.
}

struct InputSize {
  known @0 :Bool;
  # Else a submit that reads it would be refused.
  bytes @1 :UInt64;
  # As they are stored.
  compressed @2 :UInt64;
  # Of these, in files whose names say that they are compressed.
}

struct Decision {
  atUs @0 :UInt64;
  # Since the submit.
  what @1 :Text;
  # "launched", "asked to stop", "bound", ...
  attempt @2 :Text;
  # Empty where the job is meant.
  worker @3 :UInt32;
  reason @4 :Text;
}

interface JobWatcher { changed @0 (status :JobStatus); }
interface Handle {}

enum JobState { unset @0; pending @1; running @2; committing @3; succeeded @4; failed @5; killing @6; killed @7; }

struct JobStatus {
  id @0 :Common.JobId;
  name @1 :Text;
  state @2 :JobState;
  queue @3 :Text;
  priority @4 :Int32;
  stages @5 :List(StageStatus);
  outputUri @6 :Text;
  error @7 :Text;
  # Of a failed job: at most ten lines for people.
  submittedUnixMs @8 :UInt64;
  elapsedUs @9 :UInt64;
  # From acceptance to now or to the end.
  outputBytes @10 :UInt64;
  outputRecords @11 :UInt64;
  outputParts @12 :UInt32;
  outputDigest @13 :Common.Digest;
  submissionId @14 :Text;
  lastFailure @15 :Text;
  # Of a job that has not ended: which attempt did not run to its end last, where and why, in one
  # line; empty where all did.
  causes @16 :List(CauseCount);
  clones @17 :CloneStatus;
  # Null where none of its tasks ran as clones, and no reader was told what to read.
  warnings @18 :List(Text);
  # What its user should know although it goes on, one line each.
  steering @19 :SteeringStatus;
  # Null where no policy steered it by a deadline.
  deadline @20 :DeadlineStatus;
  # Null where it has neither a deadline nor a utility.
  skew @21 :List(SkewStatus);
  # Keys that have so much of a stage's output that who reads them takes longer than others, the heaviest of a stage
  # first; as far as this process of the master has seen them.
  hung @22 :List(Text);
  # Attempts that run and have made no progress for a good part of the job's task timeout, one line each; at most 20.
}

struct SkewStatus {
  stage @0 :UInt32;
  # Whose output it is.
  key @1 :Text;
  # Printable: quotes, backslashes, control characters and what is no UTF-8 escaped.
  cut @2 :Bool;
  # It has more bytes than its first 64.
  records @3 :UInt64;
  bytes @4 :UInt64;
  # With this key, about; of so many from the stage:
  stageRecords @5 :UInt64;
  stageBytes @6 :UInt64;
  partition @7 :UInt32;
  partitionsKnown @8 :Bool;
  # Else the next two are 0: an output did not say, as those of very many partitions do not.
  partitionBytes @9 :UInt64;
  medianBytes @10 :UInt64;
  text @11 :Text;
  # All that in one line.
}

struct SteeringStatus {
  points @0 :List(SteeringPoint);
  # In the order of time; thinned out evenly where there are too many.
  heldUs @1 :UInt64;
  # Slot time that it was guaranteed.
}

struct SteeringPoint {
  atUs @0 :UInt64;
  # Since the submit.
  slots @1 :UInt32;
  # Guaranteed from then on.
  asked @2 :UInt32;
  # That would do by what was known then.
  progress @3 :Float64;
  leftUs @4 :UInt64;
  # Expected, median.
  deadlineUs @5 :UInt64;
  # Since the submit; 0: points of utility instead.
}

struct CloneStatus {
  launched @0 :UInt64;
  won @1 :UInt64;
  killed @2 :UInt64;
  extraUs @3 :UInt64;
  # Slot time of all attempts of tasks with clones, but for those that committed.
  exclusive @4 :UInt64;
  contended @5 :UInt64;
  rebound @6 :UInt64;
  # Reads that were told a copy of their own; one with others; and those of both that had to be told another one.
  omegaUs @7 :UInt64;
  # How long readers of its outputs wait for a copy of their own, where that was chosen or given; maximum: for ever.
  omegaKnown @8 :Bool;
  budgetUsed @9 :UInt64;
  budget @10 :UInt64;
  # Slots for clones that all jobs of its list of policies have in use, of so many; both 0 where none of them clones.
  lentLaunched @11 :UInt64;
  lentWon @12 :UInt64;
  lentKilled @13 :UInt64;
  lentExtraUs @14 :UInt64;
  # The first four, of clones on slots that were idle, which take nothing of the budget.
}

struct CauseCount {
  # Attempts of a job by why they were launched.
  cause @0 :Text;
  launched @1 :UInt64;
  won @2 :UInt64;
  wastedUs @3 :UInt64;
  # Slot time of those that ended and did not commit.
}

struct StageStatus {
  name @0 :Text;
  planned @1 :Bool;
  tasks @2 :UInt32;
  done @3 :UInt32;
  running @4 :UInt32;
  waiting @5 :UInt32;
  failed @6 :UInt32;
  # Attempts.
  inputBytes @7 :UInt64;
  takenBytes @8 :UInt64;
  outputBytes @9 :UInt64;
  outputRecords @10 :UInt64;
  elapsedUs @11 :UInt64;
  # From first launch to last commit (or now).
}

struct TaskStatus {
  stage @0 :UInt32;
  task @1 :UInt32;
  letter @2 :UInt8;
  state @3 :Text;
  attempts @4 :UInt32;
  generation @5 :UInt32;
  worker @6 :UInt32;
  copies @7 :List(UInt32);
  # Workers where its output can be read now.
}

struct AttemptStatus {
  id @0 :Common.AttemptId;
  letter @1 :UInt8;
  state @2 :Text;
  cause @3 :Text;
  worker @4 :UInt32;
  progress @5 :Float64;
  ranUs @6 :UInt64;
  message @7 :Text;
  reason @8 :Text;
}

struct CounterValue { group @0 :Text; name @1 :Text; value @2 :Int64; }

struct WorkerStatus {
  id @0 :UInt32;
  name @1 :Text;
  address @2 :Text;
  rack @3 :Text;
  state @4 :Text;
  slots @5 :UInt32;
  busy @6 :UInt32;
  incarnation @7 :UInt64;
  labels @8 :List(Text);
  blocks @9 :UInt32;
  usedBytes @10 :UInt64;
  capacityBytes @11 :UInt64;
  pid @12 :UInt32;
  memoryBytes @13 :UInt64;
  # That attempts may take together; 0: not limited.
  reportsGivenUp @14 :UInt32;
  # Reports that it could not deliver to this master in several tries.
  wrongOutputs @15 :UInt32;
  # Outputs that its memory damaged; from 3 on it gets no new attempts.
  safeToStop @16 :Bool;
  # It is draining, and nothing is lost and nothing runs again when it stops.
}

struct QueueStatus {
  name @0 :Text;
  weight @1 :Float64;
  minShare @2 :UInt32;
  maxShare @3 :UInt32;
  # Slots; a max share of 0 is no limit.
  jobs @4 :UInt32;
  # That have not ended.
  heldSlots @5 :UInt32;
  waits @6 :Bool;
  # It has a task that could run at once and has no slot.
}

struct Profile {
  name @0 :Text;
  shape @1 :UInt64;
  # Of the stages' names, edges and kinds.
  runs @2 :UInt32;
  updatedUnixMs @3 :UInt64;
  last @4 :Common.JobId;
  # The newest job in it.
  stages @5 :List(ProfileStage);
  # Of this page.
}

struct ProfileStage {
  name @0 :Text;
  tasks @1 :UInt32;
  inputs @2 :List(ProfileInput);
  run @3 :List(Float32);
  wait @4 :List(Float32);
  # Seconds of committed attempts, sorted; wait: from having slot and inputs to the first byte.
  queue @5 :Float64;
  # Seconds from inputs to a slot, mean.
  fails @6 :Float64;
  # Of an attempt.
  failsAgain @7 :Float64;
  # Of a task that failed once.
  inputBytes @8 :Float64;
}

struct ProfileInput {
  edge @0 :Text;
  # all_to_all, many_to_one, one_to_one or broadcast; empty: files.
  from @1 :UInt32;
  # Stage, by its place in the profile.
}

struct DeadlineStatus {
  deadlineUs @0 :UInt64;
  # From its submission; 0: its utility says it.
  steered @1 :Bool;
  # The cluster's list has the policy jockey.
  predicted @2 :Bool;
  runs @3 :UInt32;
  scale @4 :Float64;
  # Earlier runs that its prediction is of, 0: a bound from its input; its input over theirs.
  guaranteed @5 :UInt32;
  held @6 :UInt32;
  # Slots, now.
  bestEffort @7 :Bool;
}

struct ExplainedPlan {
  stages @0 :List(ExplainedStage);
  refusals @1 :List(Common.Outcome);
  # That a submit would meet; the first would be its answer.
  slots @2 :UInt32;
  # Of the cluster.
  predictions @3 :List(SlotsTime);
  basis @4 :Text;
  # What they rest on; where there are none, why.
  runs @5 :UInt32;
  scale @6 :Float64;
  steered @7 :Bool;
  hasAdmission @8 :Bool;
  admitted @9 :Bool;
  needsSlots @10 :UInt32;
  availableSlots @11 :UInt32;
  criticalPathUs @12 :UInt64;
  earliestUs @13 :UInt64;
  # 0: never.
}

struct ExplainedStage {
  name @0 :Text;
  reduces @1 :Bool;
  # Takes slots of reduces.
  tasks @2 :UInt32;
  inputBytes @3 :UInt64;
  # Of a stage that reads others: at most.
  splits @4 :UInt32;
  withReplica @5 :UInt32;
  workers @6 :UInt32;
  # Splits of which a worker that lives has a replica, and on how many workers those are.
}

struct SlotsTime {
  slots @0 :UInt32;
  medianUs @1 :UInt64;
  mostUs @2 :UInt64;
  # That 19 of 20 runs take.
  inTime @3 :Bool;
  # By the deadline as admission counts, with slack and dead zone: with so many slots for it a submit would be taken.
}
