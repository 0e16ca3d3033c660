@0xa7b70c076f408bba;
# The control plane between one master and its workers. Its messages are small; bytes of user data
# travel on connections of their own (data.capnp).
#
# A worker opens a connection (hello role: worker), calls register and keeps the connection. The
# master reaches it only by the Worker capability that is given there. When the connection breaks,
# the worker registers again with its inventory. Commands are pushed in batches and answered when
# they are queued, not when they are done. Commands that a report causes travel with its answer,
# because a message costs more than its content. Reports are repeated until they have a verdict. The
# verdict on an end leaves the master only when its record is on disk, in a later batch.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("mr::rpc");
using Common = import "common.capnp";
using Job = import "job.capnp";
using AttemptId = Common.AttemptId;
using WorkerRef = Common.WorkerRef;
using import "access.capnp".access;
using import "access.capnp".callback;

interface MasterForWorker {
  register @0 (info :WorkerInfo, worker :Worker) -> (result :Registration)
      $access(roles = [worker], object = worker, changes = true);
  report @1 (worker :WorkerRef, reports :List(Report)) -> (verdicts :List(Verdict), batch :CommandBatch)
      $access(roles = [worker], object = worker);
  # One verdict per report, in order. batch: sequence 0 where there is none.
  progress @2 (worker :WorkerRef, frames :List(Progress)) $access(roles = [worker], object = worker);
  library @3 (sha256 :Text, offset :UInt64, length :UInt32) -> (data :Data, totalBytes :UInt64)
      $access(roles = [worker]);
  # Bytes of an operator library, at most 1 MiB a call.
  blockReceived @4 (worker :WorkerRef, blocks :List(BlockReport)) $access(roles = [worker], object = worker);
  # A replica became durable here.
  blockSuspect @5 (worker :WorkerRef, blocks :List(BlockReport)) $access(roles = [worker], object = worker);
  # A replica here failed verification or could not be read. It is kept, but does not count as a replica.
  leaving @6 (worker :WorkerRef) $access(roles = [worker], object = worker, changes = true);
  # The worker shuts down: it finishes its running attempts and takes nothing new.
  registerPage @7 (number :UInt32, page :RegistrationPage) -> () $access(roles = [worker], object = worker);
  # Part of a registration, before the register call that ends it. Page 0 begins a registration and discards an
  # unfinished one of this connection; further pages are numbered without a gap. The master acts on the register call
  # only, on all pages at once. If the connection breaks before that call, the pages are discarded.
  reportPiece @8 (worker :WorkerRef, number :UInt64, totalBytes :UInt64, offset :UInt64, bytes :Data) -> ()
      $access(roles = [worker], object = worker);
  # Part of a report that is too long for one message, in order and before the report call that names it (`pieces`):
  # bytes of a Cap'n Proto message whose root is the Report. One report at a time; offset 0 begins one.
  blockNotCopied @9 (worker :WorkerRef, block :BlockReport, sourceFailed :Bool, why :Text)
      $access(roles = [worker], object = worker);
  # The replica that replicateBlock requested was not made. sourceFailed: the replica here could not be read.
  diskFailed @10 (worker :WorkerRef, why :Text) $access(roles = [worker], object = worker);
  # The disk with the block store fails. An empty `why`: it works again.
  keepLog @11 (worker :WorkerRef, attempt :AttemptId, log :Data, logBytes :UInt64, failed :Bool) -> (known :Bool)
      $access(roles = [worker], object = worker);
  # The end of an attempt's log, at most 64 KiB, from a worker that is drained or shuts down. logBytes: of the whole log.
  # known = false: the master does not know the attempt (any more).
}

struct RegistrationPage {
  # About 256 KiB of lists. The lists in WorkerInfo itself continue them.
  inventory @0 :List(Replica);
  running @1 :List(AttemptId);
  blocks @2 :List(BlockReport);
}

interface Heartbeats {
  # Beats travel on a connection (hello role: heartbeat) and a thread of their own.
  beat @0 (worker :WorkerRef, sequence :UInt64, loopSilentMs :UInt32, room :DiskRoom) -> (known :Bool, durable :Durable)
      $access(roles = [worker], object = worker);
  # known = false: register again. loopSilentMs: how long the worker's control loop has stood still; 0 while it runs.
}

struct DiskRoom {
  # Space on the disk with a worker's data.
  freeBytes @0 :UInt64;
  totalBytes @1 :UInt64;
  # 0: not known.
  full @2 :Bool;
  # Less is free than mrworker --min_free: the worker takes neither blocks nor attempts.
  path @3 :Text;
  # A directory on that disk, if the disk is full.
  noInodes @4 :Bool;
  # The disk is full because its file system has no free inode.
  disk @5 :UInt64;
  # Equal for workers whose data are on one file system of one machine; 0: not known.
  failure @6 :Text;
  # Why attempts cannot write in the worker's directories, though there is room; empty: they can.
  noSpaceUnixMs @7 :UInt64;
  # When a write found no space, if the disk is full for that reason alone; 0: it is not.
}

struct Durable {
  # The last record that was durable in the master's journal when this was sent. A worker stores it and sends it when it
  # registers: a journal that lacks this record has lost some.
  epoch @0 :UInt32;
  # 0: no record.
  life @1 :UInt64;
  # Distinguishes epochs with the same number: a master that runs on an older copy of the journal reuses the number.
  sequence @2 :UInt64;
}

struct WorkerInfo {
  name @0 :Text;
  # Chosen once per data directory and kept there: the same name gets the same id again.
  incarnation @1 :UInt64;
  address @2 :Text;
  # host:port of the data server, as other workers reach it.
  rack @3 :Text;
  slots @4 :UInt32;
  mapSlots @5 :UInt32;
  reduceSlots @6 :UInt32;
  memoryBytes @7 :UInt64;
  labels @8 :List(Text);
  inventory @9 :List(Replica);
  running @10 :List(AttemptId);
  blocks @11 :List(BlockReport);
  httpPort @12 :UInt16;
  capacityBytes @13 :UInt64;
  usedBytes @14 :UInt64;
  masterEpochSeen @15 :UInt32;
  leaving @16 :Bool;
  # It shuts down, as after a `leaving` call: it gets nothing new.
  pid @17 :UInt32;
  pages @18 :UInt32;
  # The number of registerPage calls that belong to this registration.
  reportsGivenUp @19 :UInt32;
  # Reports that this incarnation could not deliver: the connection broke at each of several tries.
  durableSeen @20 :Durable;
  # The newest Durable that a master of this cluster sent to any incarnation of this worker.
  tier @21 :Int8 = -1;
  # The tier of the rooms of its tasks (worker/task/room.h); -1: a release without rooms.
}

struct BlockReport {
  id @0 :UInt64;
  generation @1 :UInt32;
  length @2 :UInt64;
  digest @3 :UInt64;
  aside @4 :Bool;
  # For blockSuspect: a good replica has taken its place here, and the damaged bytes are in quarantine.
}

struct Registration {
  outcome @0 :Common.Outcome;
  workerId @1 :UInt32;
  masterEpoch @2 :UInt32;
  clusterId @3 :UInt64;
  heartbeatMs @4 :UInt32;
  leaseMs @5 :UInt32;
  unusedDropReplicas @6 :List(Replica);
  reattachMs @7 :UInt32;
  # After so long without an answered beat the worker stops its attempts. 0 = never.
  startOver @8 :Bool;
  # The master has declared this incarnation lost: its attempts and outputs do not count any more.
  drop @9 :Data;
  # One bit for each replica of the inventory, in its order, lowest bit of the first byte first. 1: nobody needs it any
  # more. Bits beyond the end are 0.
  effectsLeaseMs @10 :UInt32;
  # Attempts with side effects are stopped so long after the last answered contact (CLOCK_BOOTTIME, worker/adr/0003).
  # 0 = never.
  durable @11 :Durable;
  grantKey @12 :Data;
  # For the worker's checks of grants (common/secure/grant.h); empty: this cluster has none.
}

struct Replica {
  task @0 :Common.TaskId;
  generation @1 :UInt32;
  attempt @2 :UInt32;
  worker @3 :WorkerRef;
}

interface Worker $callback {
  apply @0 (batch :CommandBatch);
  log @1 (attempt :AttemptId, from :UInt64 = 18446744073709551615, waitMs :UInt32)
         -> (outcome :Common.Outcome, text :Text, start :UInt64, ended :Bool);
  # Returns what the attempt's child wrote to stdout and stderr, as MasterForClient.logs does. ended: it does not run on
  # this worker. Errors: not_found where this worker does not have the log (any more) and does not run the attempt.
  reach @2 (addresses :List(Text)) -> (outcomes :List(Common.Outcome));
  # Connects to the RPC ports of these daemons, HOST:PORT, at most 32 of them and all at the same time, and waits for
  # their answers, at most 3 s. One outcome per address, in order.
}

struct CommandBatch {
  masterEpoch @0 :UInt32;
  sequence @1 :UInt64;
  # Numbered without a gap from 1 after each registration. Batches arrive in two ways (calls and replies), and are
  # applied in this order.
  answers @2 :List(Answer);
  # Verdicts on reports; applied before the commands.
  commands @3 :List(Command);
}

struct Answer { report @0 :UInt64; verdict @1 :Verdict; }

struct Command {
  union {
    launch @0 :Launch;
    kill @1 :AttemptId;
    takeBack @2 :AttemptId;
    stage @3 :StageInfo;
    # Sent before the first launch of the stage on this worker.
    directory @4 :DirectoryDelta;
    bind @5 :Bind;
    drop @6 :Replica;
    # Delete this output, or what is left of it.
    endJob @7 :Common.JobId;
    # Delete everything of this job.
    deleteBlock @8 :BlockReport;
    replicateBlock @9 :ReplicateBlock;
    drain @10 :Bool;
    replicateOutput @11 :ReplicateOutput;
    # Repeated after each registration. No effect if the replica is being made or exists.
    emptyQuarantine @12 :BlockReport;
    # Delete the damaged bytes of this block: enough good replicas are known. A good replica here stays.
  }
}

struct ReplicateOutput {
  # The worker makes its own replica of this output, under the same attempt number.
  job @0 :Common.JobId;
  stage @1 :UInt32;
  source @2 :DirectoryEntry;
}

struct ReplicateBlock {
  block @0 :BlockReport;
  toAddress @1 :Text;
  grant @2 :Data;
  # To write the block there.
}

struct StageInfo {
  # The properties that all tasks of a stage share.
  job @0 :Common.JobId;
  stage @1 :UInt32;
  library @2 :Text;
  spec @3 :Job.StageSpec;
  tasks @4 :UInt32;
  portPartitions @5 :List(UInt32);
  # Number of partitions of each port (1 for files); partitions are numbered over the ports in order.
  env @6 :List(Common.KeyValue);
  memoryBytes @7 :UInt64;
  sortBufferBytes @8 :UInt64;
  partitionSeed @9 :UInt64;
  stagingUri @10 :Text;
  # For final stages: the directory under which attempts write their private files.
  jobName @11 :Text;
  files @12 :List(Job.SideFile);
  maxBadRecords @13 :UInt64;
  # A limit for the whole job. An attempt that exceeds it alone fails.
  taskTimeoutMs @14 :UInt64;
  # An attempt without progress for so long fails; the failure counts as its operator's. 0 = no limit.
  strictInputs @15 :Bool;
  # An attempt fails where a local input has grown since the job was planned.
  allowNetwork @16 :Bool;
  # Attempts may make sockets of the internet families.
  minTier @17 :UInt8;
  # A worker whose rooms have a lower tier fails the attempt; the failure is not its operator's.
  owner @18 :Text;
  # The subject that submitted the job. In rooms of tier 2 and above, attempts of different owners have different users
  # of the worker's machine. Empty (from older masters): "admin".
  submittedUnixMs @19 :UInt64;
  # When the job was submitted, for operators. 0 from older masters.
}

struct Launch {
  attempt @0 :AttemptId;
  generation @1 :UInt32;
  splits @2 :List(Split);
  slices @3 :List(Slice);
  byBind @4 :Bool;
  # The attempt reads each upstream output only from the replica that a bind names.
}

struct Split {
  input @0 :UInt32;
  uri @1 :Text;
  offset @2 :UInt64;
  length @3 :UInt64;
  fileBytes @4 :UInt64;
  blocks @5 :List(BlockLocation);
  # For dfs files: the blocks from the one that holds `offset` to the end of the file's next block.
  file @6 :UInt64;
  # For dfs files: the id of the version that was planned; 0 = not known.
  mtimeNs @7 :Int64;
  inode @8 :UInt64;
  device @9 :UInt64;
  # For local files: the values of stat() when the job was planned; an inode of 0 = not known.
  view @10 :UInt64;
  # The planner's mr::FileView. `device` is compared only where the worker has the same one.
}

struct BlockLocation {
  id @0 :UInt64;
  generation @1 :UInt32;
  offset @2 :UInt64;
  # Offset in the file.
  length @3 :UInt64;
  addresses @4 :List(Text);
  # Data servers with a replica, nearest first.
  digest @5 :UInt64;
  damaged @6 :List(Text);
  # Damaged replicas, which are not read, as "w2 (host:port)", for people.
  grants @7 :List(Data);
  # To read or write the block, in the order of addresses; empty where the cluster needs none.
}

struct Slice {
  input @0 :UInt32;
  partitionBegin @1 :UInt32;
  partitionEnd @2 :UInt32;
  taskBegin @3 :UInt32;
  taskEnd @4 :UInt32;
}

struct DirectoryDelta {
  # Changes of the places where the outputs of one stage can be read. The first delta for a stage is
  # complete up to its version; later ones come in order.
  job @0 :Common.JobId;
  stage @1 :UInt32;
  version @2 :UInt64;
  added @3 :List(DirectoryEntry);
  removed @4 :List(Replica);
}

struct DirectoryEntry {
  task @0 :UInt32;
  generation @1 :UInt32;
  attempt @2 :UInt32;
  worker @3 :WorkerRef;
  address @4 :Text;
  manifest @5 :Manifest;
  grant @6 :Data;
  # To read outputs of this job there.
}

struct Bind { reader @0 :AttemptId; stage @1 :UInt32; entry @2 :DirectoryEntry; }

struct Manifest {
  records @0 :UInt64;
  bytes @1 :UInt64;
  content @2 :Common.Digest;
  # XXH3-128 over the table's rows (records, bytes, content.low, content.high as u64 LE each).
  table @3 :List(PartitionRow);
  # Inline up to 64 partitions; else empty, and fetched from the replica (data.capnp, table).
  partitions @4 :UInt32;
  outputs @5 :List(FileOutput);
  # For final stages.
}

struct PartitionRow {
  records @0 :UInt64;
  bytes @1 :UInt64;
  content @2 :Common.Digest;
  chunks @3 :UInt32;
  # Not part of the content digest.
}

struct FileOutput {
  name @0 :Text;
  # part-r-00000
  staged @1 :Text;
  # file://: path of the private file. dfs://: empty, see blocks.
  bytes @2 :UInt64;
  records @3 :UInt64;
  content @4 :Common.Digest;
  blocks @5 :List(StagedBlock);
}

struct StagedBlock { id @0 :UInt64; generation @1 :UInt32; length @2 :UInt64; digest @3 :UInt64; workers @4 :List(UInt32); }

struct Progress {
  attempt @0 :AttemptId;
  phase @1 :UInt8;
  takenBytes @2 :UInt64;
  # Taken by the operator from the input of this phase; in the shuffle: arrived.
  totalBytes @3 :UInt64;
  # Expected of this phase, in the shuffle an estimate. 0: not known.
  records @4 :UInt64;
  inputsDone @5 :Bool;
}

struct Report {
  number @8 :UInt64;
  # The worker's number of the report, unique in one incarnation.
  attempt @0 :AttemptId;
  union {
    started @1 :Void;
    finished @2 :Finished;
    failed @3 :Failed;
    refused @4 :Text;
    killed @5 :Void;
    fetchFailed @6 :FetchFailed;
    fetchDone @7 :FetchDone;
    replicaMade @9 :Replica;
    # This worker has a complete, verified replica. Verdict: replicaKept, else the worker drops it.
    replicaNotMade @10 :FetchFailed;
    # `replica` is the source. Nothing else is affected, and the replica may be requested again.
    pieces @11 :UInt64;
    # Stands for a report that came as reportPiece calls, of so many bytes in all.
  }
}

struct Finished {
  manifest @0 :Manifest;
  consumed @1 :List(Consumed);
  ranUs @2 :UInt64;
  waitedUs @3 :UInt64;
  counters @4 :List(Counter);
  badRecords @5 :List(Text);
  # The first few skipped records: their places, and why they were skipped.
  partitionKib @6 :List(UInt32);
  # The size of each partition in KiB, rounded up, for a shuffle output whose table is not inline. Empty where there are
  # too many partitions.
  hotKeys @7 :List(HotKey);
  # The hottest keys of its shuffle ports, if there are any. They are no part of the output.
  grown @8 :List(Text);
  # URIs of local inputs that have grown since the job was planned, at most 16. The attempt read the planned bytes.
}
struct HotKey {
  port @0 :UInt32;
  partition @1 :UInt32;
  # The key's partition, numbered over all ports.
  hash @2 :UInt64;
  # XXH3-64 of the whole key.
  prefix @3 :Data;
  # Its first bytes, at most 64.
  cut @4 :Bool;
  # The key is longer.
  records @5 :UInt64;
  bytes @6 :UInt64;
  # Estimates for this key.
}
struct Counter { group @0 :Text; name @1 :Text; value @2 :Int64; }

struct Consumed {
  stage @0 :UInt32;
  task @1 :UInt32;
  generation @2 :UInt32;
  content @3 :Common.Digest;
}

enum FailureKind {
  # mr::FailureKind
  unset @0;
  user @1;
  environment @2;
  lost @3;
  killed @4;
  preempted @5;
  userFinal @6;
}

struct Failed {
  kind @0 :FailureKind;
  message @1 :Text;
  record @2 :Text;
  # The place in the input, for people.
  stderrTail @3 :Text;
  log @4 :Data;
  # The end of the attempt's log, at most 64 KiB.
  logBytes @5 :UInt64;
  # Size of the whole log.
}

struct FetchFailed {
  replica @0 :Replica;
  why @1 :Text;
  here @2 :Bool;
  # For replicaNotMade: the cause is on this worker, such as a full disk. The source is not in doubt.
  unreachable @3 :Bool;
  # The source did not answer. Its bytes are not in doubt.
}
struct FetchDone {
  # Bytes and time of reads from a replica. For an attempt byBind: one read. For others: all reads from this replica's
  # worker since the last such report.
  replica @0 :Replica;
  bytes @1 :UInt64;
  tookUs @2 :UInt64;
  readers @3 :UInt32;
  # Readers of this replica at the same time, this one included, as its worker counts them: the mean over the bytes.
  # 0: not counted.
}

enum Verdict {
  # The master's answer to a report (mr::Verdict).
  noted @0;
  winner @1;
  replicaKept @2;
  replicaDropped @3;
  differs @4;
  stale @5;
  later @6;
  # Received, but not on disk yet: another verdict follows in a batch of commands.
}
