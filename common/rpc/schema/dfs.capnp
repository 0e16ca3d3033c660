@0xbd5f308639ad4456;
# The block store's namespace for clients and workers. The master answers; calls that change
# something are answered when their journal record is on disk. Paths are absolute, '/'-separated
# UTF-8 without '.', '..', empty or control-character components.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("mr::rpc");
using Common = import "common.capnp";
using Control = import "control.capnp";
using import "access.capnp".access;

interface FileSystem {
  create @0 (path :Text, overwrite :Bool, replication :UInt32, blockBytes :UInt64, requestId :Text) -> (outcome :Common.Outcome, lease :UInt64, blockBytes :UInt64)
      $access(roles = [submitter, admin, worker], object = path, others = [admin], changes = true);
  # Starts a file that nobody sees until `complete`.
  addBlock @1 (lease :UInt64, index :UInt32, near :Text) -> (outcome :Common.Outcome, block :Control.BlockLocation)
      $access(roles = [submitter, admin, worker], object = path, others = [admin]);
  # Returns a new block with the pipeline to write it to. A repeated index gives a fresh block and
  # abandons the one before.
  complete @2 (lease :UInt64, blocks :List(Control.StagedBlock)) -> (outcome :Common.Outcome)
      $access(roles = [submitter, admin, worker], object = path, others = [admin], changes = true);
  abandon @3 (lease :UInt64) -> (outcome :Common.Outcome)
      $access(roles = [submitter, admin, worker], object = path, others = [admin], changes = true);
  stat @4 (path :Text) -> (outcome :Common.Outcome, status :FileStatus)
      $access(roles = [viewer, submitter, operator, admin], object = path, others = [viewer, operator, admin]);
  list @5 (path :Text, after :Text) -> (outcome :Common.Outcome, entries :List(FileStatus), more :Bool)
      $access(roles = [viewer, submitter, operator, admin], object = path, others = [viewer, operator, admin]);
  # Lists entries in the order of names, in pages of about 512 KiB. after: empty, then the last path of the page before,
  # while `more` is set.
  locate @6 (path :Text, offset :UInt64, length :UInt64, near :Text, file :UInt64) -> (outcome :Common.Outcome, status :FileStatus, blocks :List(Control.BlockLocation), inlineData :Data)
      $access(roles = [submitter, admin, worker], object = path, others = [admin]);
  # file: where not 0, the file with this id (FileStatus.id), whatever `path` leads to now; `path` is then for messages.
  # inlineData: the bytes of a small file that the master made itself (_SUCCESS) and that has no blocks.
  mkdir @7 (path :Text) -> (outcome :Common.Outcome)
      $access(roles = [submitter, admin], object = path, others = [admin], changes = true);
  remove @8 (path :Text, recursive :Bool) -> (outcome :Common.Outcome)
      $access(roles = [submitter, admin, worker], object = path, others = [admin], changes = true);
  rename @9 (from :Text, to :Text) -> (outcome :Common.Outcome)
      $access(roles = [submitter, admin], object = path, others = [admin], changes = true);
  setReplication @10 (path :Text, replication :UInt32) -> (outcome :Common.Outcome)
      $access(roles = [submitter, admin], object = path, others = [admin], changes = true);
  renew @11 (lease :UInt64) -> (outcome :Common.Outcome)
      $access(roles = [submitter, admin, worker], object = path, others = [admin]);
  health @12 (maxFiles :UInt32) -> (health :StoreHealth)
      $access(roles = [viewer, submitter, operator, admin], object = path, others = [viewer, operator, admin]);
  # Cost: walks all files. For people and for tests, not for loops.
  setOwner @13 (path :Text, owner :Text) -> (outcome :Common.Outcome)
      $access(roles = [admin], object = path, others = [admin], changes = true);
  # The path, and all below it that has no owner of its own, belongs to this subject.
  setReaders @14 (path :Text, all :Bool) -> (outcome :Common.Outcome)
      $access(roles = [submitter, admin], object = path, others = [admin], changes = true);
  # Who reads the path and all below it that has no rule of its own: everybody, or its owner.
  createFiles @15 (paths :List(Text), overwrite :Bool, replication :UInt32, blockBytes :UInt64, requestId :Text, near :Text) -> (outcome :Common.Outcome, files :List(CreatedFile))
      $access(roles = [submitter, admin, worker], object = path, others = [admin], changes = true);
  # As `create`, then `addBlock` with index 0, of each path, in their order: for files of one block. At most 128 paths.
  # File i of the answer has the request id of the call with ".i" behind it, and is refused or started on its own.
  # outcome: refuses all of them.
  completeFiles @16 (files :List(FilledFile)) -> (outcome :Common.Outcome, outcomes :List(Common.Outcome))
      $access(roles = [submitter, admin, worker], object = path, others = [admin], changes = true);
  # As `complete` of each file, in their order. At most 128 files. outcome: refuses all of them.
}

struct CreatedFile {
  outcome @0 :Common.Outcome;
  lease @1 :UInt64;
  # Not 0 also where the file was started and its block was refused.
  block @2 :Control.BlockLocation;
}

struct FilledFile {
  # A file of one block.
  lease @0 :UInt64;
  block @1 :Control.StagedBlock;
}

struct StoreHealth {
  # Faults of the blocks of visible files.
  safeMode @0 :Bool;
  files @1 :UInt64;
  missingFiles @2 :UInt64;
  # Files with a block that has no replica on a live worker.
  corruptFiles @3 :UInt64;
  # Other files with a block that has only damaged replicas on live workers.
  underReplicatedFiles @4 :UInt64;
  # Other files with a block that has fewer good replicas than wanted and possible.
  troubles @5 :List(FileTrouble);
  # The worst first, at most maxFiles.
  failedDisks @6 :List(FailedDisk);
  awaited @7 :List(UInt32);
  # Ids of workers that were alive before the master's start and have not come back.
}

struct FileTrouble {
  path @0 :Text;
  blocks @1 :UInt32;
  missing @2 :UInt32;
  corrupt @3 :UInt32;
  underReplicated @4 :UInt32;
  damaged @5 :List(Text);
  # Workers with its damaged replicas: "w2 (host:port)", each once.
}

struct FailedDisk { worker @0 :UInt32; address @1 :Text; why @2 :Text; }

struct FileStatus {
  path @0 :Text;
  isDirectory @1 :Bool;
  bytes @2 :UInt64;
  replication @3 :UInt32;
  blockBytes @4 :UInt64;
  blocks @5 :UInt32;
  modifiedUnixMs @6 :UInt64;
  # Wall clock, for people only.
  missingBlocks @7 :UInt32;
  leastReplicas @8 :UInt32;
  # Good replicas now of the block that has the fewest; as many as wanted where there is no block.
  id @9 :UInt64;
  # Identifies this version of the file: one that replaces it has another id.
  owner @10 :Text;
  readByAll @11 :Bool;
  # Besides the owner.
}
