/* The operator table, C ABI v1: the whole interface between an operator library and its host. A
 * library exports one function, mr_library_table(). Only mrtask loads it, with RTLD_NOW | RTLD_LOCAL.
 *
 * Rules of this interface: C types only, no exceptions, no ownership of heap memory. Structs begin
 * with their size; a longer one than expected is accepted (its tail is ignored), a shorter one is
 * refused. Later members stand at a struct's end: an operator checks with MR_HAS whether its host
 * has them. Functions that return int return 0 for success; after any other value the host calls
 * nothing but close(). An operator is called from one thread.
 *
 * C++ developers do not write this by hand: the headers in jobs/sdk/paceline make it from classes.
 */
#ifndef MR_OPERATOR_TABLE_H_
#define MR_OPERATOR_TABLE_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MR_ABI_MAGIC 0x50434c4eu /* "NLCP" */
#define MR_ABI_VERSION 1u
#define MR_LIBRARY_SYMBOL "mr_library_table"

/* Whether the struct at s has this member. The build that made s may be older than this header. */
#define MR_HAS(s, member) ((s)->struct_size >= (const char*)(&(s)->member + 1) - (const char*)(s))

/* The party at fault for a failure, for fail_as(). It decides whether the task is retried. */
enum mr_failure {
  MR_FAILURE_USER = 0,      /* as fail(): charged to the task's budget of retries */
  MR_FAILURE_RETRYABLE = 1, /* the operator's environment: retried like a full disk, on another worker where possible */
  MR_FAILURE_FINAL = 2,     /* the input or the job's configuration: each attempt would fail, so the job fails at
                               once. A host that does not know this value takes it for MR_FAILURE_USER. */
};

enum mr_operator_flags {
  MR_DETERMINISTIC = 1, /* equal input gives equal output, in order */
  MR_UNORDERED = 2,     /* the order of its output records carries no meaning */
  MR_SIDE_EFFECTS = 4,  /* acts outside the engine: no speculative attempts or clones, never combined with others */
  MR_REUSABLE = 8,      /* leaves nothing behind in its process: open() may be called again */
  MR_ASSOCIATIVE = 16,  /* combine() may be applied to any subset of a group, any number of times */
  MR_RAW_BLOCKS = 32,   /* takes text splits as blocks of whole lines, each block as one record */
  MR_IDENTITY = 64,     /* batch() emits each record as it is, to port 0; the host may do that in its place */
};

typedef struct mr_bytes {
  const char* data;
  uint64_t size;
} mr_bytes;

/* An input batch. data is batch v1 (common/abi/batch.h), 4-byte aligned, valid until the operator
 * returns or calls next_batch(). */
typedef struct mr_batch {
  uint32_t struct_size;
  uint32_t input;         /* index in the stage's inputs; tagged batches have it per record */
  uint32_t grouped;       /* 1: keys ascend over all batches of the grouped inputs together */
  uint32_t upstream_task; /* for an edge that is not grouped: the upstream task that made it */
  uint64_t offset;        /* for a split: byte offset in its file of the first record */
  mr_bytes data;
  mr_bytes input_file; /* for a split: its file; a task may read several, one after the other */
} mr_batch;

/* Bounds of one attempt's counters. One more counter, or a longer group or name, fails the attempt for good
 * (MR_FAILURE_FINAL): each attempt would do the same. Counters travel with each report, stand in the journal and are
 * added up in the master's memory, so they are for totals; names that vary with the data belong in the output.
 * (Guesses; Hadoop allows 120 counters, names of 64 and groups of 128 bytes.) */
#define MR_MAX_COUNTERS 256
#define MR_HOST_COUNTERS 2      /* in addition: the host's own, "mr": "bad_records" and "bad_bytes" */
#define MR_MAX_COUNTER_NAME 256 /* bytes, of a group and of a name */

/* A receiver of text. write() may be called several times. */
typedef struct mr_sink {
  void* context;
  void (*write)(void* context, mr_bytes text);
} mr_sink;

/* The host's functions for an operator. Valid as long as the operator. */
typedef struct mr_host {
  uint32_t struct_size;
  void* context;
  /* Bytes of keys and values that the operator has taken from its batches so far. The operator
   * stores it as it goes (relaxed); the host reads it as progress. */
  uint64_t* taken;
  /* Gives a batch to output port `port`. The host has copied it when the call returns. Returns 0, or
   * another value where the attempt is over: return at once. */
  int (*emit)(void* context, uint32_t port, mr_bytes batch);
  /* Takes the next batch of the same grouped stream, within batch(), for a group that continues
   * after the current one. Returns 1: *out is filled, and the batch before is no longer valid; 0: the input
   * is at its end; -1: the attempt is over. The host does not deliver such a batch again. */
  int (*next_batch)(void* context, mr_batch* out);
  /* Adds to a job counter. Only counters of the winning attempt count. At most MR_MAX_COUNTERS of them. */
  void (*count)(void* context, mr_bytes group, mr_bytes name, int64_t n);
  /* Sets the message for the error that the operator is about to return; the user sees it. The last call counts. */
  void (*fail)(void* context, mr_bytes message);
  /* Writes one line to the attempt's log. */
  void (*log)(void* context, mr_bytes line);
  /* From here on: check with MR_HAS.
   * Like fail(), with the party at fault (mr_failure). */
  void (*fail_as)(void* context, uint32_t failure, mr_bytes message);
  /* Reports a record (line, row, group) that cannot be used. what: where it is, and why. Returns 0: it is counted
   * (group "mr", name "bad_records") and logged, go on with the next one; not 0: these are too many, the attempt is
   * over. */
  int (*bad_record)(void* context, mr_bytes what);
  /* Returns not 0 where the attempt is being stopped: its further output is dropped. An operator that has called this
   * once gets half a second before SIGKILL; others get none. */
  int (*cancelled)(void* context);
  /* Reports progress: the time that an attempt may run without progress (submit --task-timeout) restarts. Input
   * taken, output and counters do the same, so only operators without them for long need this. May be null. */
  void (*progress)(void* context);
  /* Like bad_record() for `records` records (mostly lines of a table) of `bytes` bytes in all that are skipped at
   * once. */
  int (*bad_records)(void* context, uint64_t records, uint64_t bytes, mr_bytes what);
  /* Writes the place of record number `record` (from 0) of the current batch: its file and byte, or the upstream task.
   */
  void (*record_place)(void* context, uint64_t record, mr_sink out);
  /* Sets the place of the record, line or group at which the current batch fails; it is shown with the failure. The
   * first call per batch counts; without one the place is the start of the batch. */
  void (*failed_in)(void* context, mr_bytes place);
  /* Index, from 0, of the record of the current batch that the operator works on. The operator stores it as it goes
   * (relaxed); the host names that record if the process crashes. The host sets it to 0xffffffff, "not known", with
   * each batch. May be null. */
  uint32_t* record;
  /* Bytes that the operator works on where `record` does not say it: a line of its record, if that is a block of lines
   * (data alone; size is 0), or the key of the group that end() or combine() works on. The operator stores them as it
   * goes (relaxed; size, then data) and resets data to null; the host names them if the process crashes. May be null.
   */
  mr_bytes* at;
} mr_host;

typedef struct mr_open_args {
  uint32_t struct_size;
  mr_bytes config; /* the stage's config bytes, as the job's plan set them */
  uint32_t stage, task, tasks, attempt;
  uint32_t inputs;                                     /* number of inputs of the stage */
  uint32_t ports;                                      /* number of output ports of the stage */
  const uint32_t* partitions;                          /* per port: its number of partitions (1 for files) */
  mr_bytes job_id, attempt_id, stage_name, input_file; /* text; input_file: the first, empty unless a split */
  /* From here on: check with MR_HAS. */
  mr_bytes files_directory;  /* has the job's side files under their names; empty where there are none */
  int64_t submitted_unix_ms; /* when the job was submitted: milliseconds since 1970; the same for all attempts */
} mr_open_args;

/* The inputs that an operator needs. The host compares them with the plan before the job starts. */
enum mr_operator_needs {
  MR_NEEDS_GROUPS = 1,    /* each input, apart from a side input, is grouped */
  MR_NEEDS_PARTITION = 2, /* a group is more than one key, so the writer's partition() keeps a group together */
};

typedef int (*mr_emit_fn)(void* context, mr_bytes batch);

/* The types of a record's key and value as tags: short texts such as "i64", "str" or "pair<str,i64>"
 * (common/abi/type_tags.h has the rules). Two types with one tag have the same bytes. Null or "?": the type is not
 * known; it agrees with every other. This struct never grows. */
typedef struct mr_record_type {
  const char* key;
  const char* value;
} mr_record_type;

typedef struct mr_operator {
  uint32_t struct_size;
  uint32_t flags; /* mr_operator_flags */
  const char* name;
  /* Checks a config before the job is accepted. Returns not 0 to refuse it, with the reason in `error`. */
  int (*prepare)(mr_bytes config, mr_sink error);
  /* Returns the operator, or null after host->fail(). */
  void* (*open)(const mr_open_args* args, const mr_host* host);
  int (*batch)(void* op, const mr_batch* in);
  /* Optional: all of this input has been delivered (broadcast inputs come first, then the rest). */
  int (*input_end)(void* op, uint32_t input);
  /* All inputs are at their end: emit what is left. */
  int (*end)(void* op);
  void (*close)(void* op);
  /* Optional: folds each group of a sorted batch, which has whole groups or any subset of one. */
  int (*combine)(void* op, uint32_t port, mr_bytes sorted_batch, mr_emit_fn emit, void* context);
  /* Optional: writes the partition of each record of a batch to out, which has n places. A value >=
   * partitions fails the attempt. Without it: XXH3-64 of the key with the plan's seed, modulo
   * partitions. */
  int (*partition)(void* op, uint32_t port, mr_bytes batch, uint32_t partitions, uint32_t* out);
  /* Optional and slow: compares two keys. Returns a negative value, 0 or a positive one. */
  int (*compare)(void* op, mr_bytes a, mr_bytes b);
  /* From here on: check with MR_HAS. Types are compared between the stages of a job before it starts; they change
   * nothing at run time. Type of each input: the last one holds for all further inputs. Files are not compared. */
  const mr_record_type* input_types;
  uint32_t input_type_count; /* 0: the inputs are not known */
  uint32_t port_type_count;
  /* Type of each output port. Ports beyond the list are not known. */
  const mr_record_type* port_types;
  /* Null, or the type of the stage's last input where that one is not grouped (a side input). */
  const mr_record_type* side_type;
  /* Null, or the type that combine() takes and emits. */
  const mr_record_type* combine_type;
  uint32_t needs; /* mr_operator_needs */
  uint32_t reserved;
} mr_operator;

/* The arguments of plan_sized(). Later members stand at its end: check with MR_HAS. */
typedef struct mr_plan_args {
  uint32_t struct_size;
  uint32_t argc;
  const mr_bytes* argv;
  void* context;
  /* Estimates the decompressed bytes of all records in the files behind these URIs or paths. Returns 1 with *bytes
   * set, or 0 where they are not known. The host may ask a job that got 0 for its plan again once they are known. */
  int (*input_bytes)(void* context, uint32_t count, const mr_bytes* uris, uint64_t* bytes);
  uint64_t memory_bytes; /* per attempt, from submit --memory; 0: not given */
} mr_plan_args;

/* The results of plan() and plan_sized(). */
enum mr_plan_result {
  MR_PLAN_OK = 0,
  MR_PLAN_REFUSED = 1, /* these arguments make no plan; other ones may */
  MR_PLAN_FAILED = 2,  /* the plan itself is wrong, or user code threw something else */
};

/* A job that the library offers by name. plan() turns command-line arguments into the plan
 * document (jobs/PLAN.md). Where it cannot, it writes the reason to `error` and returns another value than
 * MR_PLAN_OK (mr_plan_result). */
typedef struct mr_job {
  uint32_t struct_size;
  uint32_t reserved;
  const char* name;
  const char* help; /* one line, then flags; shown by mrctl */
  int (*plan)(uint32_t argc, const mr_bytes* argv, mr_sink plan, mr_sink error);
  /* From here on: check with MR_HAS.
   * Optional: replaces plan() for a plan that depends on the sizes of inputs. */
  int (*plan_sized)(const mr_plan_args* args, mr_sink plan, mr_sink error);
} mr_job;

typedef struct mr_library {
  uint32_t magic;
  uint32_t abi;
  uint32_t struct_size;
  uint32_t operator_count;
  const mr_operator* const* operators;
  uint32_t job_count;
  uint32_t reserved;
  const mr_job* const* jobs;
  const char* built_with; /* compiler and SDK version, for messages */
} mr_library;

typedef const mr_library* (*mr_library_table_fn)(void);

#ifdef __cplusplus
}
#endif

#endif /* MR_OPERATOR_TABLE_H_ */
