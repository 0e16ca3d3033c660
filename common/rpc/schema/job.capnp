@0xcf1d4004b321f592;
# The spec of a job: a DAG of stages, each an operator of a library with inputs and output ports.
# mrctl makes it from a job's plan document (jobs/README.md). The master checks it again, keeps it
# in the journal, and sends it to workers stage by stage.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("mr::rpc");

enum EdgeKind { unset @0; allToAll @1; manyToOne @2; oneToOne @3; broadcast @4; }

enum Wish { auto @0; on @1; off @2; }
# A user's choice for a family of policies. auto: as the cluster's list has it; on: the list must have one; off: none
# for this job.

struct JobSpec {
  name @0 :Text;
  queue @1 :Text;
  priority @2 :Int32;
  library @3 :Text;
  # SHA-256 (hex) of the operator library; empty: the built-in library of the release.
  stages @4 :List(StageSpec);
  # In topological order: an edge points to a smaller index.
  output @5 :OutputSpec;
  conf @6 :List(KeyValue);
  env @7 :List(KeyValue);
  # Environment variables that operators see, beside MR_*.
  maxFailures @8 :UInt32;
  # Failures of one task by its operator that fail the job; 0 = default (4).
  memoryBytes @9 :UInt64;
  # Per attempt; 0 = the worker's default.
  policies @10 :List(Text);
  deadlineMs @11 :UInt64;
  sortBufferBytes @12 :UInt64;
  # Bytes that an attempt sorts in memory before it spills; 0 = default. Output bytes depend on it, so
  # it is a property of the job and not of the machine.
  labels @13 :List(KeyValue);
  speculation @14 :Wish;
  clones @15 :Wish;
  bestEffort @16 :Bool;
  # The job is accepted even where its deadline cannot be met.
  utility @17 :List(UtilityPoint);
  # The utility of ending at these times, which ascend; none, or at least two. Empty: the deadline decides.
  maxBadRecords @18 :UInt64;
  # Up to so many records that operators cannot use are skipped and counted, over all tasks. One more fails the job.
  files @19 :List(SideFile);
  # Files that each attempt finds in a directory on its worker, beside its inputs.
  taskTimeoutMs @20 :UInt64 = 600000;
  # An attempt without progress (input taken, output, counters) for so long fails; waiting for inputs does not count.
  # 0 = never.
  strictInputs @21 :Bool;
  # The job fails where a local input grows while it runs. False: the input is read up to its planned length.
  allowNetwork @22 :Bool;
  # Attempts may make sockets of the internet families.
  minTier @23 :UInt8;
  # The least tier of the room in which attempts run (docs/security.md).
  struct KeyValue { key @0 :Text; value @1 :Text; }
  struct UtilityPoint { atMs @0 :UInt64; utility @1 :Float64; }
  # atMs: milliseconds since the submission.
}

struct SideFile {
  name @0 :Text;
  # File name in that directory.
  sha256 @1 :Text;
  # Hexadecimal. The bytes are stored and sent like those of operator libraries.
  bytes @2 :UInt64;
}

struct StageSpec {
  name @0 :Text;
  operator @1 :Text;
  config @2 :Data;
  tasks @3 :UInt32;
  # 0: the planner chooses it from bytes and slots. Ignored where splits or a one-to-one edge decide.
  inputs @4 :List(InputSpec);
  ports @5 :List(PortSpec);
  flags @6 :UInt32;
  # The operator's mr_operator_flags in the library's table.
  taskBytes @7 :UInt64;
  # Where not 0 and the planner decides: input bytes per task, even if that makes more tasks than slots. For operators
  # that need memory in proportion to their input.
  memoryBytes @8 :UInt64;
  # Per attempt of this stage; 0 = as for the job.
  builtin @9 :Bool;
  # The operator is from the built-in library, although the job names another one.
}

struct InputSpec {
  union {
    files @0 :FileInput;
    edge @1 :EdgeInput;
  }
}

struct FileInput {
  uris @0 :List(Text);
  # Absolute: file:///path or dfs:///path; files, directories (their files, not '_' or '.') or globs.
  format @1 :Text;
  # text | kv | csv | jsonl | fixed:N | record | raw
  maxSplitBytes @2 :UInt64;
  # 0 = the block size. Tests use 4 KiB.
  sampleBytes @3 :UInt64;
  # Where not 0: only about this many bytes of each split are read, in whole records from its start (for sampling).
}

struct EdgeInput {
  kind @0 :EdgeKind;
  stage @1 :UInt32;
  port @2 :UInt32;
  grouped @3 :Bool;
  # Delivered merged in key order with the other grouped inputs of the stage (the port is sorted).
  quotes @4 :Bool;
  # The quote states of the stage's csv files (operator mr.csv_quotes), as a broadcast that the host reads and not the
  # operator. Such inputs are the stage's last.
  format @5 :Text;
  # Where not empty: the output of each upstream task is read like a file of this format (FileInput.format), with the
  # bytes that the port would write in format `written`. Of csv the header is left out. Never grouped, never by
  # allToAll.
  written @6 :Text;
  file @7 :Text;
  # The name of these files for the operator; the upstream task's number is appended.
  sampleBytes @8 :UInt64;
  # Like FileInput.sampleBytes.
  splits @9 :Bool;
  # For allToAll: several tasks may read one fat partition, each from a range of upstream tasks. Each of them reads the
  # whole partition of the stage's other inputs.
}

struct PortSpec {
  union {
    shuffle @0 :ShufflePort;
    files @1 :FilePort;
  }
}

struct ShufflePort {
  sorted @0 :Bool;
  combine @1 :Bool;
  customPartition @2 :Bool;
  # The operator's own partition(); otherwise XXH3-64 of the key.
}

struct FilePort {
  format @0 :Text;
  # text: key TAB value NEWLINE, or value NEWLINE where the key is empty; csv: the same, and the first record of each
  # task is the header; fixed:N or raw: key bytes then value bytes, nothing between; record: batches.
  name @1 :Text;
  # Name of its part files, as in errors-r-00000; empty: part.
}

struct OutputSpec {
  uri @0 :Text;
  overwrite @1 :Bool;
}
