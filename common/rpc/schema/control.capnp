@0xa7b70c076f408bba;
# Control plane between one master and its workers. What travels here is small and decides things;
# bytes of user data never do (data.capnp, on connections of their own).
#
# A worker opens a connection (hello role: worker), calls register and keeps the connection. The
# Worker capability given there is the only way in which the master reaches it; when the connection
# breaks, the worker registers again with its inventory. Commands are pushed in batches and answered
# when they are queued, not when they are done; what a report causes travels with the answer to it,
# for a message costs more than what is in it. Reports are repeated until they have a verdict; that
# on an end leaves the master only when its record is on disk, in a later batch.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("mr::rpc");
using Common = import "common.capnp";
using Job = import "job.capnp";
using AttemptId = Common.AttemptId;
using WorkerRef = Common.WorkerRef;

interface MasterForWorker {
  register @0 (info :WorkerInfo, worker :Worker) -> (result :Registration);
  report @1 (worker :WorkerRef, reports :List(Report)) -> (replies :List(Reply), batch :CommandBatch);
  # One reply per report, in order. batch: sequence 0 where there is none.
  progress @2 (worker :WorkerRef, frames :List(Progress));
  library @3 (sha256 :Text, offset :UInt64, length :UInt32) -> (data :Data, totalBytes :UInt64);
  # Bytes of an operator library, at most 1 MiB a call.
  blockReceived @4 (worker :WorkerRef, blocks :List(BlockReport));
  # A replica became durable here.
  blockSuspect @5 (worker :WorkerRef, blocks :List(BlockReport));
  # A replica here failed verification or could not be read. It is kept, and counts for nothing.
  leaving @6 (worker :WorkerRef);
  # The worker was told to end: it finishes what it runs and takes nothing new.
  registerPage @7 (number :UInt32, page :RegistrationPage) -> ();
  # Part of a registration, before the register call that ends it. Page 0 begins one and discards what an unfinished
  # one left on this connection; further pages are numbered without a gap. The master acts on the register call only,
  # on all pages at once. A connection that breaks before leaves nothing behind.
  reportPiece @8 (worker :WorkerRef, number :UInt64, totalBytes :UInt64, offset :UInt64, bytes :Data) -> ();
  # Part of a report that is too long for one message, in order and before the report call that names it (`pieces`):
  # bytes of a Cap'n Proto message whose root is the Report. One report at a time; offset 0 begins one.
  blockNotCopied @9 (worker :WorkerRef, block :BlockReport, sourceFailed :Bool, why :Text);
  # The copy that replicateBlock asked for was not made. sourceFailed: the replica here could not be read.
  diskFailed @10 (worker :WorkerRef, why :Text);
  # The disk with the block store fails; empty: it works again.
}

struct RegistrationPage {
  # About 256 KiB. What is listed in WorkerInfo itself comes after what is listed here.
  inventory @0 :List(Copy);
  running @1 :List(AttemptId);
  blocks @2 :List(BlockReport);
}

interface Heartbeats {
  # On its own connection (hello role: heartbeat) and thread.
  beat @0 (worker :WorkerRef, sequence :UInt64, loopSilentMs :UInt32, room :DiskRoom) -> (known :Bool, durable :Durable);
  # known = false: register again. loopSilentMs: for how long the worker's control loop has not moved; 0 while it does.
}

struct DiskRoom {
  # Of the disk of a worker's data.
  freeBytes @0 :UInt64;
  totalBytes @1 :UInt64;
  # 0: not known.
  full @2 :Bool;
  # Less is free than the worker keeps free (mrworker --min_free): it takes neither blocks nor attempts.
  path @3 :Text;
  # The directory, where it is full.
  noInodes @4 :Bool;
  # It is full because that file system has as many files as it may.
}

struct Durable {
  # The last record that was durable in the master's journal when this was sent. A worker keeps it and shows it when it
  # registers: a journal that lacks this record has lost some.
  epoch @0 :UInt32;
  # 0: nothing is said.
  life @1 :UInt64;
  # Tells epochs of one number apart: a master that runs on an older copy of the journal gives the number again.
  sequence @2 :UInt64;
}

struct WorkerInfo {
  name @0 :Text;
  # Chosen once per data directory, kept there: the same name gets the same id again.
  incarnation @1 :UInt64;
  address @2 :Text;
  # host:port of the data server, as other workers reach it.
  rack @3 :Text;
  slots @4 :UInt32;
  mapSlots @5 :UInt32;
  reduceSlots @6 :UInt32;
  memoryBytes @7 :UInt64;
  labels @8 :List(Text);
  inventory @9 :List(Copy);
  running @10 :List(AttemptId);
  blocks @11 :List(BlockReport);
  httpPort @12 :UInt16;
  capacityBytes @13 :UInt64;
  usedBytes @14 :UInt64;
  masterEpochSeen @15 :UInt32;
  leaving @16 :Bool;
  # It was told to end, as by `leaving`: nothing new goes there.
  pid @17 :UInt32;
  pages @18 :UInt32;
  # Number of registerPage calls that belong to this registration.
  reportsGivenUp @19 :UInt32;
  # Reports that this incarnation could not deliver in several tries, each of which broke the connection.
  durableSeen @20 :Durable;
  # The newest one that a master of this cluster sent, in any life of this worker.
}

struct BlockReport {
  id @0 :UInt64;
  generation @1 :UInt32;
  length @2 :UInt64;
  digest @3 :UInt64;
  aside @4 :Bool;
  # Of blockSuspect: a good replica has taken its place here, and the damaged bytes are in quarantine.
}

struct Registration {
  outcome @0 :Common.Outcome;
  workerId @1 :UInt32;
  masterEpoch @2 :UInt32;
  clusterId @3 :UInt64;
  heartbeatMs @4 :UInt32;
  leaseMs @5 :UInt32;
  unusedDropCopies @6 :List(Copy);
  reattachMs @7 :UInt32;
  # After so long without an answered beat the worker ends its attempts. 0 = never.
  startOver @8 :Bool;
  # This incarnation was given up meanwhile: nothing that it runs or holds counts any more.
  drop @9 :Data;
  # One bit for each copy of the inventory, in its order, lowest bit of the first byte first. 1: nobody needs it any
  # more. Shorter than the inventory: the rest is 0.
  effectsLeaseMs @10 :UInt32;
  # Attempts with side effects end so long after the last answered contact (CLOCK_BOOTTIME, worker/adr/0003). 0 = never.
  durable @11 :Durable;
}

struct Copy {
  task @0 :Common.TaskId;
  generation @1 :UInt32;
  attempt @2 :UInt32;
  worker @3 :WorkerRef;
}

interface Worker {
  apply @0 (batch :CommandBatch);
  log @1 (attempt :AttemptId) -> (outcome :Common.Outcome, text :Text);
  # The end of what the attempt's child wrote to stdout and stderr, at most 256 KiB; not_found where
  # this worker does not have it (any more).
}

struct CommandBatch {
  masterEpoch @0 :UInt32;
  sequence @1 :UInt64;
  # 1 is the first after a registration, then without a gap: batches come by two ways, and count in
  # this order.
  verdicts @2 :List(Verdict);
  # To be heard before the commands.
  commands @3 :List(Command);
}

struct Verdict { report @0 :UInt64; reply @1 :Reply; }

struct Command {
  union {
    launch @0 :Launch;
    kill @1 :AttemptId;
    takeBack @2 :AttemptId;
    stage @3 :StageInfo;
    # Sent before the first launch of the stage on this worker.
    directory @4 :DirectoryDelta;
    bind @5 :Bind;
    drop @6 :Copy;
    # This output (or what is left of it) may be deleted.
    endJob @7 :Common.JobId;
    # Everything of this job may be deleted.
    deleteBlock @8 :BlockReport;
    replicateBlock @9 :ReplicateBlock;
    drain @10 :Bool;
    replicateCopy @11 :ReplicateCopy;
    # Asked again after a registration: one that is under way or done changes nothing.
    emptyQuarantine @12 :BlockReport;
    # Enough good replicas are known: the damaged bytes of this block may go. Its good replica here stays.
  }
}

struct ReplicateCopy {
  # The worker makes a copy of its own of this output, under the same attempt's number.
  job @0 :Common.JobId;
  stage @1 :UInt32;
  source @2 :DirectoryEntry;
}

struct ReplicateBlock { block @0 :BlockReport; toAddress @1 :Text; }

struct StageInfo {
  # What all tasks of a stage have in common.
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
  # Of final stages: directory under which attempts write their private files.
  jobName @11 :Text;
  files @12 :List(Job.SideFile);
  maxBadRecords @13 :UInt64;
  # Of the whole job; an attempt that alone has more fails.
  taskTimeoutMs @14 :UInt64;
  # An attempt that shows no progress for so long fails, by its operator's fault. 0 = none.
  strictInputs @15 :Bool;
  # A local input that grew since the job was planned fails it.
}

struct Launch {
  attempt @0 :AttemptId;
  generation @1 :UInt32;
  splits @2 :List(Split);
  slices @3 :List(Slice);
  byBind @4 :Bool;
  # It reads each upstream output from the copy that a bind names, and from no other.
}

struct Split {
  input @0 :UInt32;
  uri @1 :Text;
  offset @2 :UInt64;
  length @3 :UInt64;
  fileBytes @4 :UInt64;
  blocks @5 :List(BlockLocation);
  # Of dfs files: the blocks from the one that holds offset to the end of the file's next block.
  file @6 :UInt64;
  # Of dfs files: the id of the version that was planned; 0 = not known.
  mtimeNs @7 :Int64;
  inode @8 :UInt64;
  device @9 :UInt64;
  # Of local files: what stat() gave when the job was planned; an inode of 0 = not known. device counts where
  view @10 :UInt64;
  # is the worker's, too (mr::FileView).
}

struct BlockLocation {
  id @0 :UInt64;
  generation @1 :UInt32;
  offset @2 :UInt64;
  # In the file.
  length @3 :UInt64;
  addresses @4 :List(Text);
  # Data servers with a replica, nearest first.
  digest @5 :UInt64;
  damaged @6 :List(Text);
  # For people: further replicas, which are damaged and not read, as "w2 (host:port)".
}

struct Slice {
  input @0 :UInt32;
  partitionBegin @1 :UInt32;
  partitionEnd @2 :UInt32;
  taskBegin @3 :UInt32;
  taskEnd @4 :UInt32;
}

struct DirectoryDelta {
  # Where the outputs of one stage can be read. The first delta for a stage is complete up to its
  # version; later ones are in order.
  job @0 :Common.JobId;
  stage @1 :UInt32;
  version @2 :UInt64;
  added @3 :List(DirectoryEntry);
  removed @4 :List(Copy);
}

struct DirectoryEntry {
  task @0 :UInt32;
  generation @1 :UInt32;
  attempt @2 :UInt32;
  worker @3 :WorkerRef;
  address @4 :Text;
  manifest @5 :Manifest;
}

struct Bind { reader @0 :AttemptId; stage @1 :UInt32; entry @2 :DirectoryEntry; }

struct Manifest {
  records @0 :UInt64;
  bytes @1 :UInt64;
  content @2 :Common.Digest;
  # XXH3-128 over the table's rows (records, bytes, content.low, content.high as u64 LE each).
  table @3 :List(PartitionRow);
  # Inline up to 64 partitions; else empty, and fetched from the copy (data.capnp, table).
  partitions @4 :UInt32;
  outputs @5 :List(FileOutput);
  # Of final stages.
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
  totalBytes @3 :UInt64;
  records @4 :UInt64;
  inputsDone @5 :Bool;
}

struct Report {
  number @8 :UInt64;
  # The worker's own, never given twice in one incarnation.
  attempt @0 :AttemptId;
  union {
    started @1 :Void;
    finished @2 :Finished;
    failed @3 :Failed;
    refused @4 :Text;
    killed @5 :Void;
    fetchFailed @6 :FetchFailed;
    fetchDone @7 :FetchDone;
    copyMade @9 :Copy;
    # This worker's own, whole and checked. Verdict: copyKept, else it is dropped.
    copyNotMade @10 :FetchFailed;
    # The copy is the source. It costs nothing but the copy, and may be asked for again.
    pieces @11 :UInt64;
    # The report came as reportPiece calls, so many bytes in all; this stands for it in the list.
  }
}

struct Finished {
  manifest @0 :Manifest;
  consumed @1 :List(Consumed);
  ranUs @2 :UInt64;
  waitedUs @3 :UInt64;
  counters @4 :List(Counter);
  badRecords @5 :List(Text);
  # The first few that were skipped: where they are, and why.
  partitionKib @6 :List(UInt32);
  # Of a shuffle output whose table is not inline: what each partition has, in KiB rounded up; of too many empty.
  hotKeys @7 :List(HotKey);
  # The keys that weigh most in what its shuffle ports gave out, if any does: no part of the output.
  grown @8 :List(Text);
  # URIs of local inputs that are longer than when the job was planned, at most 16: it read what was planned.
}
struct HotKey {
  port @0 :UInt32;
  partition @1 :UInt32;
  # Where it goes; over all ports.
  hash @2 :UInt64;
  # XXH3-64 of the whole key.
  prefix @3 :Data;
  # Its first bytes, at most 64.
  cut @4 :Bool;
  # It has more.
  records @5 :UInt64;
  bytes @6 :UInt64;
  # With this key, about.
}
struct Counter { group @0 :Text; name @1 :Text; value @2 :Int64; }

struct Consumed {
  stage @0 :UInt32;
  task @1 :UInt32;
  generation @2 :UInt32;
  content @3 :Common.Digest;
}

struct Failed {
  kind @0 :UInt8;
  # mr::sched::FailureKind
  message @1 :Text;
  record @2 :Text;
  # Where in the input, in words.
  stderrTail @3 :Text;
}

struct FetchFailed {
  copy @0 :Copy;
  why @1 :Text;
  here @2 :Bool;
  # Of copyNotMade: for what is this worker's own, as a full disk is. The source is in no doubt.
  unreachable @3 :Bool;
  # The source did not answer: this says nothing about its bytes.
}
struct FetchDone {
  # Of an attempt byBind: one read. Of others: all reads from this copy's worker since the last such report.
  copy @0 :Copy;
  bytes @1 :UInt64;
  tookUs @2 :UInt64;
  readers @3 :UInt32;
  # That read this copy at once, this one among them, as its worker counts them; 0 where it did not say.
}

struct Reply {
  union {
    noted @0 :Void;
    # Of reports that need no verdict.
    winner @1 :Void;
    copyKept @2 :Void;
    copyDropped @3 :Void;
    differs @4 :Void;
    stale @5 :Void;
    later @6 :Void;
    # Heard, but not on disk yet: a verdict follows.
  }
}
