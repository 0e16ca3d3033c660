/* The operator table, C ABI v1: all that an operator library and its host share. A library exports
 * one function, mr_library_table(), and is loaded with RTLD_NOW | RTLD_LOCAL by mrtask only.
 *
 * Rules across this line: C types only, no exceptions, no ownership of heap memory. Structs carry
 * their size first; a longer one than expected is fine (its tail is ignored), a shorter one is
 * refused. What was added later stands at a struct's end: an operator looks by MR_HAS whether its host
 * has it. Functions that return int return 0 for success; after any other value the host calls
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

/* Whether the struct at s, of a build that may be older than this header, has this member. */
#define MR_HAS(s, member) ((s)->struct_size >= (const char*)(&(s)->member + 1) - (const char*)(s))

/* What fail_as() says of a failure: whose fault it is, which decides what becomes of the task. */
enum mr_failure {
  MR_FAILURE_USER = 0, /* as fail(): charged to the task's budget of retries */
  MR_FAILURE_RETRYABLE =
      1,                /* of what is around the operator: tried again as after a full disk, elsewhere where possible */
  MR_FAILURE_FINAL = 2, /* of the input, or of what the job was told: any attempt would find the same, so the job
                           fails at once. A host that does not know it takes it for MR_FAILURE_USER. */
};

enum mr_operator_flags {
  MR_DETERMINISTIC = 1, /* equal input gives equal output, in order */
  MR_UNORDERED = 2,     /* the order of its output records carries no meaning */
  MR_SIDE_EFFECTS = 4,  /* acts outside the engine: never copied, cloned or combined with others */
  MR_REUSABLE = 8,      /* leaves nothing behind in its process: open() may be called again */
  MR_ASSOCIATIVE = 16,  /* combine() may be applied to any subset of a group, any number of times */
  MR_RAW_BLOCKS = 32,   /* of a text split: wants whole blocks of whole lines, each as one record */
};

typedef struct mr_bytes {
  const char* data;
  uint64_t size;
} mr_bytes;

/* One batch on its way in. data is batch v1 (common/abi/batch.h), 4-byte aligned, valid until the
 * operator returns or calls next_batch(). */
typedef struct mr_batch {
  uint32_t struct_size;
  uint32_t input;         /* index in the stage's inputs; tagged batches have it per record */
  uint32_t grouped;       /* 1: keys ascend over all batches of the grouped inputs together */
  uint32_t upstream_task; /* of an edge that is not grouped: which upstream task made it */
  uint64_t offset;        /* of a split: byte offset in its file of the first record */
  mr_bytes data;
  mr_bytes input_file; /* of a split: its file; a task may read several, one after the other */
} mr_batch;

/* Bounds of one attempt's counters. One more counter, or a longer group or name, fails the attempt for good
 * (MR_FAILURE_FINAL): each attempt would do the same. Counters travel with each report, stand in the journal and are
 * added up in the master's memory, so they are for totals; what varies with the data is output. (Guesses; Hadoop allows
 * 120 counters, names of 64 and groups of 128 bytes.) */
#define MR_MAX_COUNTERS 256
#define MR_HOST_COUNTERS 2      /* on top: the host's own, "mr": "bad_records" and "bad_bytes" */
#define MR_MAX_COUNTER_NAME 256 /* bytes, of a group and of a name */

/* Where text is written; write() may be called several times. */
typedef struct mr_sink {
  void* context;
  void (*write)(void* context, mr_bytes text);
} mr_sink;

/* What the host offers to an operator. Lives as long as the operator. */
typedef struct mr_host {
  uint32_t struct_size;
  void* context;
  /* Bytes of keys and values that the operator has taken from its batches so far: the operator
   * stores it as it goes (relaxed), the host reads it as progress. */
  uint64_t* taken;
  /* Hands a batch to output port `port`; the host has copied it when the call returns. Not 0: the
   * attempt is over, return at once. */
  int (*emit)(void* context, uint32_t port, mr_bytes batch);
  /* Within batch(): the next batch of the same grouped stream, for a group that goes on behind the
   * current one. 1: *out is filled, the one before is no longer valid; 0: the input is at its end;
   * -1: the attempt is over. The host does not deliver such a batch again. */
  int (*next_batch)(void* context, mr_batch* out);
  /* Adds to a job counter; counters of the winning attempt are the job's. At most MR_MAX_COUNTERS of them. */
  void (*count)(void* context, mr_bytes group, mr_bytes name, int64_t n);
  /* Why the operator is about to return an error: shown to the user. The last call counts. */
  void (*fail)(void* context, mr_bytes message);
  /* One line for the attempt's log. */
  void (*log)(void* context, mr_bytes line);
  /* From here on: MR_HAS.
   * As fail(), with whose fault it is (mr_failure). */
  void (*fail_as)(void* context, uint32_t failure, mr_bytes message);
  /* A record (line, row, group) cannot be used; `what`: where it is, and why. 0: it is counted (group "mr", name
   * "bad_records") and logged, go on with the next one; not 0: these are too many, the attempt is over. */
  int (*bad_record)(void* context, mr_bytes what);
  /* Not 0: the attempt was told to end, and what it emits from now on is dropped. Whoever has asked once gets half a
   * second between that and SIGKILL; others get none. */
  int (*cancelled)(void* context);
  /* The operator is at work: the time in which an attempt may show no progress (submit --task-timeout) begins anew.
   * Input taken, output and counters say the same; this is for who has none of them to show for long. May be null. */
  void (*progress)(void* context);
  /* As bad_record() for `records` records (lines of a table, mostly) of `bytes` bytes together that are skipped at
   * once. */
  int (*bad_records)(void* context, uint64_t records, uint64_t bytes, mr_bytes what);
  /* Writes the place of record number `record` (from 0) of the batch at hand: its file and byte, or the upstream task.
   */
  void (*record_place)(void* context, uint64_t record, mr_sink out);
  /* The place of the record, line or group that the batch at hand fails for: shown with the failure. The first call per
   * batch counts; without one the place is where the batch begins. */
  void (*failed_in)(void* context, mr_bytes place);
} mr_host;

typedef struct mr_open_args {
  uint32_t struct_size;
  mr_bytes config; /* the stage's config bytes, as the job's plan set them */
  uint32_t stage, task, tasks, attempt;
  uint32_t inputs;                                     /* number of inputs of the stage */
  uint32_t ports;                                      /* number of output ports of the stage */
  const uint32_t* partitions;                          /* per port: its number of partitions (1 for files) */
  mr_bytes job_id, attempt_id, stage_name, input_file; /* text; input_file: the first, empty unless a split */
  /* From here on: MR_HAS. */
  mr_bytes files_directory; /* with the job's side files under their names; empty where it has none */
} mr_open_args;

typedef int (*mr_emit_fn)(void* context, mr_bytes batch);

/* The types of a record's key and value as tags: short texts such as "i64", "str" or "pair<str,i64>"
 * (common/abi/type_tags.h has the rules). Two types with one tag have the same bytes. Null or "?": the type is not
 * known, which matches every other. This struct never grows. */
typedef struct mr_record_type {
  const char* key;
  const char* value;
} mr_record_type;

typedef struct mr_operator {
  uint32_t struct_size;
  uint32_t flags; /* mr_operator_flags */
  const char* name;
  /* Checks a config before the job is accepted; not 0: refused, the text in `error` says why. */
  int (*prepare)(mr_bytes config, mr_sink error);
  /* The operator, or null after host->fail(). */
  void* (*open)(const mr_open_args* args, const mr_host* host);
  int (*batch)(void* op, const mr_batch* in);
  /* Optional: all of this input has been delivered (broadcast inputs come first, then the rest). */
  int (*input_end)(void* op, uint32_t input);
  /* All inputs are at their end: emit what is left. */
  int (*end)(void* op);
  void (*close)(void* op);
  /* Optional: folds each group of a sorted batch; whole groups or any subset of one. */
  int (*combine)(void* op, uint32_t port, mr_bytes sorted_batch, mr_emit_fn emit, void* context);
  /* Optional: the partition of each record of a batch; out has n places. A value >= partitions
   * fails the attempt. Without it: XXH3-64 of the key with the plan's seed, modulo partitions. */
  int (*partition)(void* op, uint32_t port, mr_bytes batch, uint32_t partitions, uint32_t* out);
  /* Optional, the slow path: order of two keys, negative, 0 or positive. */
  int (*compare)(void* op, mr_bytes a, mr_bytes b);
  /* From here on: MR_HAS. Types, compared between the stages of a job before it starts; they change nothing at run
   * time. Type of each input. The last one listed holds for all further inputs. Files are not compared. */
  const mr_record_type* input_types;
  uint32_t input_type_count; /* 0: the inputs are not known */
  uint32_t port_type_count;
  /* Type of each output port. Ports beyond the list are not known. */
  const mr_record_type* port_types;
  /* Null, or the type of the stage's last input where that one is not grouped (a side input). */
  const mr_record_type* side_type;
  /* Null, or what combine() takes and gives. */
  const mr_record_type* combine_type;
} mr_operator;

/* What plan_sized() is given. Later members stand at its end: MR_HAS. */
typedef struct mr_plan_args {
  uint32_t struct_size;
  uint32_t argc;
  const mr_bytes* argv;
  void* context;
  /* 1: *bytes is about what the records in the files behind these URIs or paths have together, as they are once
   * decompressed. 0: that is not known. Who asked may be asked for its plan again when it is. */
  int (*input_bytes)(void* context, uint32_t count, const mr_bytes* uris, uint64_t* bytes);
  uint64_t memory_bytes; /* what an attempt may have, as submit --memory; 0: not given */
} mr_plan_args;

/* A job that the library offers by name. plan() turns command-line arguments into the plan
 * document (jobs/PLAN.md), or writes to `error` why it cannot and returns not 0. */
typedef struct mr_job {
  uint32_t struct_size;
  uint32_t reserved;
  const char* name;
  const char* help; /* one line, then flags; shown by mrctl */
  int (*plan)(uint32_t argc, const mr_bytes* argv, mr_sink plan, mr_sink error);
  /* From here on: MR_HAS.
   * Optional: in place of plan(), for a plan that depends on the sizes of inputs. */
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
