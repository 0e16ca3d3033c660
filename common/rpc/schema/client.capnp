@0xe9f5ad6cb2509a3d;
# The master's interface for clients (mrctl, the demo, tests). Hello role: client.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("mr::rpc");
using Common = import "common.capnp";
using Job = import "job.capnp";
using Dfs = import "dfs.capnp";
using Control = import "control.capnp";
using import "access.capnp".access;
using import "access.capnp".callback;

interface MasterForClient {
  submit @0 (spec :Job.JobSpec, submissionId :Text) -> (outcome :Common.Outcome, job :Common.JobId)
      $access(roles = [submitter, admin], object = path, others = [admin], changes = true);
  # Its inputs and its output in the block store are the objects. A repeated submission id with the same spec gives the
  # same job; with another spec it is rejected.
  # Answered when the job is in the journal.
  watch @1 (job :Common.JobId, watcher :JobWatcher) -> (outcome :Common.Outcome, handle :Handle)
      $access(roles = [viewer, submitter, operator, admin], object = job, others = [viewer, operator, admin]);
  # The watcher gets the present status at once, then each change (at most every 50 ms), and the
  # last one when the job has ended. Dropping the handle ends the watch.
  job @2 (job :Common.JobId) -> (outcome :Common.Outcome, status :JobStatus)
      $access(roles = [viewer, submitter, operator, admin], object = job, others = [viewer, operator, admin]);
  # Lists come in pages of about 512 KiB. from: 0, then `next` of the page before, until that is 0.
  jobs @3 (from :UInt64) -> (jobs :List(JobStatus), next :UInt64)
      $access(roles = [viewer, submitter, operator, admin], object = job, others = [viewer, operator, admin]);
  tasks @4 (job :Common.JobId, from :UInt64) -> (outcome :Common.Outcome, tasks :List(TaskStatus), next :UInt64)
      $access(roles = [viewer, submitter, operator, admin], object = job, others = [viewer, operator, admin]);
  attempts @5 (job :Common.JobId, after :Common.AttemptId) -> (outcome :Common.Outcome, attempts :List(AttemptStatus), more :Bool)
      $access(roles = [viewer, submitter, operator, admin], object = job, others = [viewer, operator, admin]);
  # after: absent, then the last attempt of the page before, while `more` is set.
  counters @6 (job :Common.JobId, from :UInt64) -> (outcome :Common.Outcome, counters :List(CounterValue), next :UInt64)
      $access(roles = [viewer, submitter, operator, admin], object = job, others = [viewer, operator, admin]);
  kill @7 (job :Common.JobId, why :Text) -> (outcome :Common.Outcome)
      $access(roles = [submitter, operator, admin], object = job, others = [operator, admin], changes = true);
  why @8 (subject :Text) -> (outcome :Common.Outcome, lines :List(Text))
      $access(roles = [viewer, submitter, operator, admin], object = job, others = [viewer, operator, admin]);
  # subject: a job, task, attempt or worker name.
  workers @9 (from :UInt64) -> (workers :List(WorkerStatus), next :UInt64)
      $access(roles = [viewer, submitter, operator, admin]);
  logs @10 (attempt :Common.AttemptId, from :UInt64 = 18446744073709551615, waitMs :UInt32)
           -> (outcome :Common.Outcome, text :Text, note :Text, start :UInt64, ended :Bool, worker :Text)
      $access(roles = [submitter, admin], object = job, others = [admin]);
  # Returns what the attempt wrote from byte `from` on, at most 256 KiB; by default the last 256 KiB. waitMs: if there is
  # nothing yet and the attempt runs, the answer waits for more, at most so long and at most 10 s. start: the place of
  # the text's first byte in all that the attempt wrote; above `from` where earlier bytes are not kept. ended: the
  # attempt has ended, so nothing follows what can be read now. note: where the text comes from if not from the
  # attempt's worker, and why it is not complete; else empty. worker: the name of the attempt's worker.
  libraryKnown @11 (sha256 :Text) -> (known :Bool) $access(roles = [submitter, admin]);
  putLibrary @12 (sha256 :Text, totalBytes :UInt64, offset :UInt64, data :Data) -> (outcome :Common.Outcome)
      $access(roles = [submitter, admin], changes = true);
  # Pieces of at most 1 MiB in order; the last one is checked against the name and synced.
  files @13 () -> (files :Dfs.FileSystem) $access(roles = [viewer, submitter, operator, admin, worker]);
  info @14 () -> (version :Text, clusterId :UInt64, masterEpoch :UInt32, policies :Text, pid :UInt32, address :Text, unixMs :UInt64, fileView :UInt64,
           ignoresDeadlines :Bool, ignoresQueues :Bool, scratch :Text) $access(roles = [viewer, submitter, operator, admin, worker]);
  # address: host:port at which others reach this master. unixMs: the master's clock when it answered.
  # ignoresDeadlines, ignoresQueues: no policy of the list steers by deadlines, or serves queues by their settings.
  # scratch: a directory of the block store in which the caller may make paths for the time of a command.
  # fileView: equal for processes that see the same file systems (common/io/file_version.h); 0: not known.
  null @15 () $access(roles = [viewer, submitter, operator, admin, worker]);
  # Does nothing. The cost of this call is the unit of benchmarks.
  drain @16 (worker :UInt32, on :Bool) -> (outcome :Common.Outcome) $access(roles = [operator, admin], changes = true);
  queues @17 () -> (queues :List(QueueStatus)) $access(roles = [viewer, submitter, operator, admin]);
  # Lists the queues that have been configured or that a job named, and "default".
  setQueue @18 (queue :Text, weight :Float64, minShare :Int64, maxShare :Int64) -> (outcome :Common.Outcome)
      $access(roles = [operator, admin], changes = true);
  # A weight of 0 or a share below 0 leaves that setting unchanged. Answered when the change is in the journal.
  history @19 (job :Common.JobId, from :UInt32) -> (outcome :Common.Outcome, head :Text, text :Text, next :UInt32, beside :List(Common.JobId))
      $access(roles = [viewer, submitter, operator, admin], object = job, others = [viewer, operator, admin]);
  # Returns the run of an ended job as lines of master/history's document, in pages of about 512 KiB. from: 0, then
  # `next` until that is 0. The first page also has the document's head and the ended jobs that ran at the same time.
  profile @20 (name :Text, index :UInt32, fromStage :UInt32) -> (outcome :Common.Outcome, count :UInt32, profile :Profile, next :UInt32)
      $access(roles = [viewer, submitter, operator, admin]);
  # Returns one of the `count` profiles of earlier runs of jobs of this name; each shape of plan has one. index: from 0,
  # the most recent change first. Stages come in pages of about 512 KiB. fromStage: 0, then `next` until that is 0.
  explain @21 (spec :Job.JobSpec) -> (outcome :Common.Outcome, plan :ExplainedPlan)
      $access(roles = [submitter, admin], object = path, others = [admin]);
  # Returns the plan and the answer that a submit of this spec would get. Submits nothing, and does not need the
  # library. outcome: why the spec cannot be planned.
  setJob @22 (job :Common.JobId, setPriority :Bool, priority :Int32, setDeadline :Bool, deadlineMs :UInt64) -> (outcome :Common.Outcome, warning :Text)
      $access(roles = [submitter, operator, admin], object = job, others = [operator, admin], changes = true);
  # Changes a running job; the rest stays unchanged. deadlineMs: since the submission, 0 = none. Answered when the
  # change is in the journal. With a deadline that a policy steers by, the answer also waits for predictions of this job
  # and the other running ones and, up to 10 s after a restart of the master, for absent workers to come back.
  # warning: why the deadline, which is accepted all the same, will probably be missed, and the earliest likely one;
  # empty otherwise.
  exclude @23 (worker :UInt32, on :Bool) -> (outcome :Common.Outcome)
      $access(roles = [operator, admin], changes = true);
  # on: the master treats the worker as lost at once, and refuses its registration until it is included again. Answered
  # when that is in the journal: it outlives this master and this incarnation of the worker.
  decisions @24 (job :Common.JobId, from :UInt32) -> (outcome :Common.Outcome, decisions :List(Decision), next :UInt32)
      $access(roles = [viewer, submitter, operator, admin], object = job, others = [viewer, operator, admin]);
  # Lists the decisions about a job and its tasks that are kept (64 per task), in pages of at most 2000. Those of a task
  # are in the order of time; the end of the job comes last. from: 0, then `next` until that is 0.
  launched @25 (attempt :Common.AttemptId) -> (outcome :Common.Outcome, stage :Control.StageInfo, launch :Control.Launch)
      $access(roles = [submitter, admin], object = job, others = [admin]);
  # Returns the launch that the attempt's worker received, for running it again elsewhere.
  measure @26 (uris :List(Text)) -> (sizes :List(InputSize))
      $access(roles = [submitter, admin], object = path, others = [admin]);
  # Returns the sizes of the files behind each file:// and dfs:// URI, as a submit would read them.
  drainStatus @27 (worker :UInt32) -> (outcome :Common.Outcome, status :DrainStatus)
      $access(roles = [viewer, operator, admin]);
  # Reports whether a worker that is drained may be stopped, and what the drain waits for.
  journal @28 (acceptLoss :Bool) -> (outcome :Common.Outcome, status :JournalStatus)
      $access(roles = [viewer, operator, admin]);
  # Reports the state of the master's journal. acceptLoss must be false: the method of that name does it.
  spec @29 (job :Common.JobId) -> (outcome :Common.Outcome, spec :Job.JobSpec)
      $access(roles = [submitter, admin], object = job, others = [admin]);
  # Returns the spec of a job, with the priority and the deadline that users have set since.
  acceptLoss @30 () -> (outcome :Common.Outcome, status :JournalStatus) $access(roles = [admin], changes = true);
  # Accepts that records of the journal are lost, which ends the safe mode. Answered when that is in the journal.
  page @31 () -> (outcome :Common.Outcome, url :Text)
      $access(roles = [viewer, submitter, operator, admin], changes = true);
  # Makes a link to the master's pages that lets in its user once, within a minute, with the caller's roles. The URL is a
  # secret until then. It has no code where everybody is let in (--insecure).
  ticket @32 (worker :Text) -> (outcome :Common.Outcome, ticket :Data) $access(roles = [submitter, admin]);
  # Returns what the caller shows the worker with this data address, HOST:PORT, instead of its token: a secret, good there
  # only, and as long as the token. Empty where workers ask for none.
  forget @33 (worker :UInt32, force :Bool) -> (outcome :Common.Outcome)
      $access(roles = [operator, admin], changes = true);
  # Removes a worker that is not live from all lists, and from the block store's record of replicas. force: also where
  # blocks may have their last replica there. Answered when that is in the journal.
  reach @34 (worker :UInt32) -> (outcome :Common.Outcome, pairs :List(Reached))
      $access(roles = [viewer, operator, admin]);
  # Has the worker connect to the advertised addresses of the master and of up to 16 other workers. outcome: why it
  # could not be asked.
}

struct Reached {
  worker @0 :UInt32;
  # 0: the master.
  address @1 :Text;
  outcome @2 :Common.Outcome;
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
  # Why it is not safe to stop, in sentences; empty where it is.
  leftFiles @12 :List(Text);
  # The first few files of leftBlocks.
  thinBlocks @13 :UInt64;
  thinFiles @14 :List(Text);
  # Blocks that will have fewer replicas than their files ask for, because there are too few other workers. thinFiles:
  # the first few files with such blocks.
  note @15 :Text;
  # thinBlocks and thinFiles in a sentence, for people.
}

struct JournalStatus {
  lost @0 :Bool;
  # Records are known to be lost and nobody has accepted that: safe mode. The fields up to `text` describe the last
  # loss, also an accepted one; a lostEpoch of 0: there was none.
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
  # Damaged files that the start passed over, one line each.
  full @9 :Bool;
  # The journal's disk is full: new work is refused.
  diskBytes @10 :UInt64;
  freeBytes @11 :UInt64;
  # Size and free space of the journal's disk; both 0: not known.
  witnessFailure @12 :Text;
  # Why the journal's witness cannot be written; empty: it can.
}

struct InputSize {
  known @0 :Bool;
  # False: a submit that reads it would be refused.
  bytes @1 :UInt64;
  # Stored size.
  compressed @2 :UInt64;
  # The part of `bytes` in files whose names say that they are compressed.
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

interface JobWatcher $callback { changed @0 (status :JobStatus); }
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
  # Why the job failed, in at most ten lines for people.
  submittedUnixMs @8 :UInt64;
  elapsedUs @9 :UInt64;
  # From acceptance to now or to the end.
  outputBytes @10 :UInt64;
  outputRecords @11 :UInt64;
  outputParts @12 :UInt32;
  outputDigest @13 :Common.Digest;
  submissionId @14 :Text;
  lastFailure @15 :Text;
  # While the job has not ended: the last attempt that did not run to its end, where and why, in one
  # line; empty where all did.
  causes @16 :List(CauseCount);
  clones @17 :CloneStatus;
  # Null where none of its tasks ran as clones and none of its readers got a bind.
  warnings @18 :List(Text);
  # Facts that its user should know although the job goes on, one line each.
  steering @19 :SteeringStatus;
  # Null where no policy steered it by a deadline.
  deadline @20 :DeadlineStatus;
  # Null where it has neither a deadline nor a utility.
  skew @21 :List(SkewStatus);
  # Hot keys: their share of a stage's output makes the tasks that read them take longer. The heaviest of a stage comes
  # first. Only keys that this process of the master has seen are listed.
  hung @22 :List(Text);
  # Running attempts without progress for a good part of the job's task timeout, one line each; at most 20.
  waits @23 :List(Text);
  # Why the job runs nothing although it has runnable tasks, at most 20 lines. While some of its tasks run, only the
  # limit of its queue is a reason.
  owner @24 :Text;
  # The subject that submitted it.
}

struct SkewStatus {
  stage @0 :UInt32;
  # The stage that wrote the key.
  key @1 :Text;
  # Printable: quotes, backslashes, control characters and bytes that are not UTF-8 are escaped.
  cut @2 :Bool;
  # The key is longer than the 64 bytes that are shown.
  records @3 :UInt64;
  bytes @4 :UInt64;
  # Estimates for this key. The next two are the stage's totals.
  stageRecords @5 :UInt64;
  stageBytes @6 :UInt64;
  partition @7 :UInt32;
  partitionsKnown @8 :Bool;
  # False: the next two are 0, because an output did not report them. Outputs of very many partitions do not.
  partitionBytes @9 :UInt64;
  medianBytes @10 :UInt64;
  text @11 :Text;
  # All fields in one line, for people.
}

struct SteeringStatus {
  points @0 :List(SteeringPoint);
  # In the order of time; thinned out evenly where there are too many.
  heldUs @1 :UInt64;
  # Slot time that the job was guaranteed.
}

struct SteeringPoint {
  atUs @0 :UInt64;
  # Since the submit.
  slots @1 :UInt32;
  # Slots that are guaranteed from then on.
  asked @2 :UInt32;
  # Slots that were sufficient, as estimated then.
  progress @3 :Float64;
  leftUs @4 :UInt64;
  # Predicted time to the end, median.
  deadlineUs @5 :UInt64;
  # Since the submit; 0: points of utility instead.
}

struct CloneStatus {
  launched @0 :UInt64;
  won @1 :UInt64;
  killed @2 :UInt64;
  extraUs @3 :UInt64;
  # Slot time of attempts that did not commit, of tasks with clones.
  exclusive @4 :UInt64;
  contended @5 :UInt64;
  rebound @6 :UInt64;
  # exclusive: reads that were bound to a replica of their own. contended: reads that share one with others. rebound:
  # reads of both kinds that had to be bound to another replica.
  omegaUs @7 :UInt64;
  # How long readers of its outputs wait for a replica of their own; the maximum of the type: no limit. omegaKnown:
  # whether it was chosen or given.
  omegaKnown @8 :Bool;
  budgetUsed @9 :UInt64;
  budget @10 :UInt64;
  # budgetUsed: slots that clones use, over all jobs with the same list of policies. budget: the limit of that. Both are
  # 0 where no policy clones.
  lentLaunched @11 :UInt64;
  lentWon @12 :UInt64;
  lentKilled @13 :UInt64;
  lentExtraUs @14 :UInt64;
  # The first four fields for clones on idle slots. These do not use the budget.
}

struct CauseCount {
  # Attempts of a job, by the cause of their launch.
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
  # Failed attempts.
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
  replicas @7 :List(UInt32);
  # Workers where its output can be read now.
  inputBytes @8 :UInt64;
  # The size of its splits or slices; 0: not known.
  outputBytes @9 :UInt64;
  outputRecords @10 :UInt64;
  # Committed; uncompressed.
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
  launchedUs @9 :UInt64;
  startedUs @10 :UInt64;
  inputsUs @11 :UInt64;
  sortUs @12 :UInt64;
  reduceUs @13 :UInt64;
  endedUs @14 :UInt64;
  # Times since the submit; 0: not yet, or not known. inputsUs: when it had read all outputs of earlier stages. sortUs,
  # reduceUs: when it first reported that phase.
  won @15 :Bool;
  # Its output is the one that committed the task.
  failure @16 :Text;
  # Why it did not run to its end: user, environment, lost, killed or preempted; else empty.
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
  # Memory that its attempts may use together; 0: not limited.
  reportsGivenUp @14 :UInt32;
  # Reports that the worker could not deliver to this master in several tries.
  wrongOutputs @15 :UInt32;
  # Outputs that its memory damaged; from 3 on it gets no new attempts.
  safeToStop @16 :Bool;
  # It is draining, and nothing is lost and nothing runs again when it stops.
  tier @17 :Int8 = -1;
  # The tier of the rooms of its tasks; -1: not known.
  disk @18 :UInt64;
  # Equal for workers whose data are on one file system of one machine, so that its free space is counted once; 0: not
  # known.
}

struct QueueStatus {
  name @0 :Text;
  weight @1 :Float64;
  minShare @2 :UInt32;
  maxShare @3 :UInt32;
  # Slots; a max share of 0 is no limit.
  jobs @4 :UInt32;
  # Jobs that have not ended.
  heldSlots @5 :UInt32;
  waits @6 :Bool;
  # It has a runnable task without a slot.
}

struct Profile {
  name @0 :Text;
  shape @1 :UInt64;
  # Hash of the stages' names, edges and kinds.
  runs @2 :UInt32;
  updatedUnixMs @3 :UInt64;
  last @4 :Common.JobId;
  # The newest job in it.
  stages @5 :List(ProfileStage);
  # The stages of this page.
}

struct ProfileStage {
  name @0 :Text;
  tasks @1 :UInt32;
  inputs @2 :List(ProfileInput);
  run @3 :List(Float32);
  wait @4 :List(Float32);
  # Seconds of committed attempts, sorted. run: duration. wait: from having a slot and the inputs to the first byte.
  queue @5 :Float64;
  # Mean seconds from having the inputs to having a slot.
  fails @6 :Float64;
  # Probability that an attempt fails.
  failsAgain @7 :Float64;
  # Probability that a task fails again after its first failure.
  inputBytes @8 :Float64;
}

struct ProfileInput {
  edge @0 :Text;
  # all_to_all, many_to_one, one_to_one or broadcast; empty: files.
  from @1 :UInt32;
  # Index of the upstream stage in the profile.
}

struct DeadlineStatus {
  deadlineUs @0 :UInt64;
  # Since the submission; 0: the job has a utility instead.
  steered @1 :Bool;
  # A policy of the cluster's list steers by deadlines.
  predicted @2 :Bool;
  runs @3 :UInt32;
  scale @4 :Float64;
  # runs: earlier runs that the prediction is made from; 0: it is a bound from the size of the input. scale: this job's
  # input divided by theirs.
  guaranteed @5 :UInt32;
  held @6 :UInt32;
  # Slots, now.
  bestEffort @7 :Bool;
  endsUs @8 :UInt64;
  # Predicted end since the submit (median) with the slots that it holds, or is guaranteed if these are more; 0: not
  # known.
  spreadUs @9 :UInt64;
  # Four of five runs end within endsUs plus or minus this; 0: not known.
  asked @10 :UInt32;
  # Slots that would be enough, as estimated then.
  promisedEndsUs @11 :UInt64;
  # The same as endsUs for the guaranteed slots alone; 0: not known.
}

struct ExplainedPlan {
  stages @0 :List(ExplainedStage);
  refusals @1 :List(Common.Outcome);
  # Reasons for which a submit would be refused; the first would be its answer.
  slots @2 :UInt32;
  # Slots of the cluster.
  predictions @3 :List(SlotsTime);
  basis @4 :Text;
  # The basis of the predictions, or why there are none.
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
  account @14 :Text;
  # The answer and the account of the slots behind it, for people: a clause that follows the deadline.
}

struct ExplainedStage {
  name @0 :Text;
  reduces @1 :Bool;
  # Its tasks use reduce slots.
  tasks @2 :UInt32;
  inputBytes @3 :UInt64;
  # An upper bound for a stage that reads other stages.
  splits @4 :UInt32;
  withReplica @5 :UInt32;
  workers @6 :UInt32;
  # withReplica: splits with a replica on a live worker. workers: the number of these workers.
}

struct SlotsTime {
  slots @0 :UInt32;
  medianUs @1 :UInt64;
  mostUs @2 :UInt64;
  # 95th percentile: 19 of 20 runs take at most this long.
  inTime @3 :Bool;
  # Whether this meets the deadline as admission counts it, with slack and dead zone: with this many slots for the job,
  # a submit would be accepted.
}
