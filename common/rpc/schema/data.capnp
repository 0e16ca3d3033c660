@0x8b175d4a15d89ad1;
# The data plane between workers, and from workers to clients: shuffle chunks and blocks. It has
# connections of its own (hello role: data); calls go one way on a connection. At most 1 MiB of
# data per message; 4 calls in flight.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("mr::rpc");
using Common = import "common.capnp";
using Control = import "control.capnp";
using import "access.capnp".access;

interface DataServer {
  fetch @0 (requests :List(ChunkRequest)) -> (chunks :List(Chunk))
      $access(roles = [worker], object = job, others = [worker]);
  # Answers a prefix of the requests, at least one, as many as fit in 1 MiB.
  table @1 (replica :Control.Replica, grant :Data) -> (outcome :Common.Outcome, rows :List(Control.PartitionRow))
      $access(roles = [worker], object = job, others = [worker]);
  openFetch @2 () -> (session :FetchSession) $access(roles = [worker]);
  probe @3 (replica :Control.Replica) -> (present :Bool) $access(roles = [master], object = job, others = [master]);

  writeBlock @4 (block :Control.BlockReport, downstream :List(Text), client :Text, grants :List(Data)) -> (outcome :Common.Outcome, writer :BlockWriter)
      $access(roles = [submitter, admin, worker], object = path, others = [submitter, admin, worker]);
  # downstream: addresses of the next replicas in the pipeline. grants: to write the block, of this worker and of each of
  # them.
  readBlock @5 (id :UInt64, generation :UInt32, offset :UInt64, length :UInt32, grant :Data) -> (outcome :Common.Outcome, data :Data)
      $access(roles = [submitter, admin, worker], object = path, others = [submitter, admin, worker]);
  # Returns at most 1 MiB, verified against the block's checksum file.
  verify @6 (replica :Control.Replica, content :Common.Digest, partitions :UInt32) -> (finding :Finding, why :Text)
      $access(roles = [master], object = job, others = [master]);
  # Reads all of an output here and compares it with its committed digests. Answers when that is done, which takes
  # seconds for gigabytes. why: the fault of a damaged output.
  writeBlocks @7 (blocks :List(NewBlock), downstream :List(Text)) -> (blocks :List(StoredBlock))
      $access(roles = [submitter, admin, worker], object = path, others = [submitter, admin, worker]);
  # Writes small blocks, all through one pipeline: at most 128, with at most 1 MiB of data in all. Answers when they are
  # fsynced here, and each is stored or refused on its own. downstream: as in writeBlock.
}

struct NewBlock {
  block @0 :Control.BlockReport;
  data @1 :Data;
  crc32c @2 :UInt32;
  grants @3 :List(Data);
  # To write the block, of this worker and of each one downstream.
}

struct StoredBlock {
  outcome @0 :Common.Outcome;
  durable @1 :List(UInt32);
  # Ids of the workers that have it on disk.
}

enum Finding {
  unknown @0;
  # Not examined: too many others wait.
  whole @1;
  damaged @2;
  # A part cannot be read, or differs from the digest that was stored with it.
  otherContent @3;
  # It matches the stored digests but not the committed ones: it was damaged in memory.
  gone @4;
}

interface FetchSession {
  # Requests are numbered 1, 2, ... by the caller. The bytes of request k stay referenced until
  # request k + 4 or the session's end, so that they are sent without copying them.
  fetch @0 (number :UInt64, requests :List(ChunkRequest)) -> (chunks :List(Chunk))
      $access(roles = [worker], object = job, others = [worker]);
}

struct ChunkRequest {
  replica @0 :Control.Replica;
  partition @1 :UInt32;
  chunk @2 :UInt32;
  offset @3 :UInt64;
  # Offset within the stored chunk: chunks above 1 MiB are requested in pieces.
  reader @4 :UInt64;
  # In a session: one number for all requests of one reader of the replica; 0: the reader is not counted.
  last @5 :Bool;
  # The reader will request nothing else of the replica.
  grant @6 :Data;
  # To read outputs of the replica's job.
}

struct Chunk {
  outcome @0 :Common.Outcome;
  data @1 :Data;
  # The bytes as they are stored.
  codec @2 :UInt8;
  # 0 stored, 1 zstd
  rawBytes @3 :UInt32;
  storedBytes @4 :UInt32;
  # Sizes of the whole chunk.
  wireDigest @5 :UInt64;
  # XXH3-64 of the whole stored chunk.
  readers @6 :UInt32;
  # Readers of this replica now, this one included; 0 where it is not counted.
}

interface BlockWriter {
  write @0 (offset :UInt64, data :Data, crc32c :UInt32) -> (outcome :Common.Outcome)
      $access(roles = [submitter, admin, worker], object = path, others = [submitter, admin, worker]);
  # Pieces of at most 1 MiB, in order; passed on to the next replica.
  finish @1 (length :UInt64, digest :UInt64) -> (outcome :Common.Outcome, durable :List(UInt32))
      $access(roles = [submitter, admin, worker], object = path, others = [submitter, admin, worker]);
  # Answers when the block is fsynced here; durable: ids of the workers that have it on disk.
}
