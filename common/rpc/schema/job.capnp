@0xcf1d4004b321f592;
# What a job is: a DAG of stages, each an operator of a library with inputs and output ports. Made
# by mrctl from the plan document of a job (jobs/README.md), checked again by the master, kept in
# the journal, and handed to workers stage by stage.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("mr::rpc");

enum EdgeKind { unset @0; allToAll @1; manyToOne @2; oneToOne @3; broadcast @4; }

enum Wish { auto @0; on @1; off @2; }
# What a user asks of a family of policies: as the list has it; there must be one; none for this job.

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
  # Variables that operators see, beside MR_*.
  maxFailures @8 :UInt32;
  # Failures of one task by its operator that fail the job; 0 = default (4).
  memoryBytes @9 :UInt64;
  # Per attempt; 0 = the worker's default.
  policies @10 :List(Text);
  deadlineMs @11 :UInt64;
  sortBufferBytes @12 :UInt64;
  # What an attempt sorts in memory before it spills; 0 = default. Part of what makes output bytes
  # reproducible, therefore of the job and not of the machine.
  labels @13 :List(KeyValue);
  speculation @14 :Wish;
  clones @15 :Wish;
  bestEffort @16 :Bool;
  # Accepted also where its deadline cannot be met.
  utility @17 :List(UtilityPoint);
  # What it is worth to end at these times, which rise; none, or two and more. Empty: the deadline says it.
  maxBadRecords @18 :UInt64;
  # So many records that operators cannot use are skipped and counted, in all tasks together; one more fails the job.
  files @19 :List(SideFile);
  # What each attempt finds in a directory of its worker, beside its inputs.
  taskTimeoutMs @20 :UInt64 = 600000;
  # An attempt without progress (input taken, output, counters) for so long fails; waiting for inputs does not count. 0 = never.
  strictInputs @21 :Bool;
  # A local input that grows while the job runs fails it; else it is read to the length that it had.
  struct KeyValue { key @0 :Text; value @1 :Text; }
  struct UtilityPoint { atMs @0 :UInt64; utility @1 :Float64; }
  # atMs: since the submission.
}

struct SideFile {
  name @0 :Text;
  # In that directory.
  sha256 @1 :Text;
  # Hex; its bytes are kept and sent as those of operator libraries are.
  bytes @2 :UInt64;
}

struct StageSpec {
  name @0 :Text;
  operator @1 :Text;
  config @2 :Data;
  tasks @3 :UInt32;
  # 0: the planner decides from bytes and slots. Ignored where splits or a one-to-one edge decide.
  inputs @4 :List(InputSpec);
  ports @5 :List(PortSpec);
  flags @6 :UInt32;
  # mr_operator_flags of the operator, as the library's table has them.
  taskBytes @7 :UInt64;
  # Not 0: where the planner decides, a task for each so many bytes of input, also more than there are slots: for an
  # operator whose memory grows with its task.
  memoryBytes @8 :UInt64;
  # Per attempt of this stage; 0 = as the job has it.
  builtin @9 :Bool;
  # The operator is one of the built-in library, although the job names another.
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
  # Not 0: of each split only about this many bytes, in whole records from its start (for sampling).
}

struct EdgeInput {
  kind @0 :EdgeKind;
  stage @1 :UInt32;
  port @2 :UInt32;
  grouped @3 :Bool;
  # Delivered merged in key order with the other grouped inputs of the stage (the port is sorted).
  quotes @4 :Bool;
  # A broadcast of the stage's csv files' quotes (operator mr.csv_quotes), read by the host and not by the operator;
  # such inputs are the stage's last.
  format @5 :Text;
  # Not empty: read as files are (FileInput.format), one for the output of each upstream task: what its records would be
  # if the port wrote files of format `written`. Never grouped, never by allToAll.
  written @6 :Text;
  file @7 :Text;
  # What these files are called to the operator; the upstream task's number is put behind it.
  sampleBytes @8 :UInt64;
  # As of files.
  splits @9 :Bool;
  # Of allToAll: a fat partition may be read by several tasks, each from a range of upstream tasks, beside the whole
  # partition of the stage's other inputs.
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
  # text: key TAB value NEWLINE, or value NEWLINE where the key is empty; fixed:N or raw: key bytes
  # then value bytes, nothing between; record: batches.
  name @1 :Text;
  # Of its parts, as errors-r-00000; empty: part.
}

struct OutputSpec {
  uri @0 :Text;
  overwrite @1 :Bool;
}
