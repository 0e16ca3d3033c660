// JobPlan: the stages and edges of a job, written as the plan document (jobs/PLAN.md).
//
//   auto& count = plan.Map("count", "wordcount.map").ReadFiles().Shuffle({.combine = true});
//   plan.Reduce("sum", "wordcount.reduce").Group(count).WriteFiles();
//
// Add stages in the order of the data flow. Inputs are numbered in the order of the calls; put a broadcast input last
// (SideInput in operator.h). Errors: PlanError, from the call or from Json().
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "paceline/config.h"
#include "paceline/error.h"

namespace mr {

template <class Op>
class OperatorHandle;
template <class Op>
class TypedStage;

// Settings of an input that reads files.
struct FileOptions {
  std::string format = "text";   // text | kv | csv | jsonl | fixed:N | record
  uint64_t sample_bytes = 0;     // bytes to read of each split, about; 0: all
  uint64_t max_split_bytes = 0;  // largest split; 0: one block, less for small inputs
  bool only_format = false;      // true: --format must not name another format
};

// Settings of a shuffle port.
struct ShuffleOptions {
  bool sorted = true;    // required by readers that group
  bool combine = false;  // run the operator's Combiner
  // Use the operator's Partitioner. Requires: all all-to-all inputs of a reader use the same partitioner, or none does,
  // unless it has one task. Else equal keys would go to different tasks.
  bool custom_partition = false;
};

// A table that the job reads, and the columns that it needs. The submit checks it and refuses the job if a column is
// missing.
struct TableNeeds {
  std::string side;                  // name in messages; may be empty
  std::vector<std::string> uris;     // empty: the job's --input
  std::string format = "csv";        // as in FileOptions
  bool header = true;                // whether the first row names the columns; else their names are 1, 2, 3, ...
  std::vector<std::string> columns;  // their names
};

// Expressions over the rows of the job's tables, which the submit checks against their headers. They see the columns of
// each table; those of the first `joined` tables together, if that is not 0.
struct RowExpressions {
  std::string where;                // as in the options of a table job, and so the next two; may be empty
  std::string select;               // of the same kind
  std::string types;                // of the same kind
  std::vector<std::string> nulls;   // fields that are NULL; empty: the empty field
  std::string decimal = ".";        // mark of real numbers
  size_t joined = 0;                // number of joined tables; 0: rows are not joined
  std::vector<std::string> hidden;  // by joined table: the column that the joined row does not have, or ""
};

// Facts that a plan may depend on. By default none is known.
struct PlanFacts {
  // The values of JobPlan::InputBytes and JobPlan::memory_bytes.
  std::function<std::optional<uint64_t>(const std::vector<std::string>& uris)> input_bytes;
  uint64_t memory_bytes = 0;
};

// Kinds of edges. kAllToAll: task j reads partition j of every upstream task. kManyToOne: each task reads a contiguous
// range of upstream tasks. kOneToOne: task i reads upstream task i. kBroadcast: every task reads all upstream tasks.
enum class Edge { kAllToAll, kManyToOne, kOneToOne, kBroadcast };

// The stages of a job. A plan function fills it.
class JobPlan {
 public:
  class Stage;
  // The kind of a stage, which decides how many grouped inputs it has: none, one or more, two.
  enum class Role { kMap, kReduce, kJoin };

  JobPlan() = default;
  // A plan that knows these facts.
  explicit JobPlan(PlanFacts facts) : facts_(std::move(facts)) {}

  // Returns the approximate size of the records in these files, in bytes. URIs are those of ReadUris. For compressed
  // files the decompressed size is estimated. Returns nothing while the size is unknown: before it has been measured,
  // for files of another step of the job file, and for missing inputs. mrctl measures the requested inputs and then
  // makes the plan again, so a plan must be possible in both cases.
  std::optional<uint64_t> InputBytes(const std::vector<std::string>& uris) const {
    return facts_.input_bytes && !uris.empty() ? facts_.input_bytes(uris) : std::nullopt;
  }
  // Memory of an attempt in bytes (submit --memory); 0: no limit was given.
  uint64_t memory_bytes() const { return facts_.memory_bytes; }

  // Adds a line that `mrctl explain` shows with the plan, such as the reason for a choice.
  void Note(std::string note) { notes_.push_back(std::move(note)); }

  // Adds a table whose columns are checked when the job is submitted.
  void Needs(TableNeeds table) { tables_.push_back(std::move(table)); }

  // Sets the expressions that are checked against the tables' columns when the job is submitted. Needs() then names
  // columns that the select makes, except of joined tables.
  void Computes(RowExpressions expressions) { expressions_ = std::move(expressions); }

  // Add a stage. `op`: name of an operator of the library. The reference stays valid as long as the plan.
  Stage& Map(const std::string& name, const std::string& op) { return Add(Role::kMap, name, op); }
  Stage& Reduce(const std::string& name, const std::string& op) { return Add(Role::kReduce, name, op); }
  // Adds a stage with two grouped inputs. The first one is the left side.
  Stage& Join(const std::string& name, const std::string& op) { return Add(Role::kJoin, name, op); }

  // Adds a typed stage (typed_plan.h): the types of its edges are checked at compile time.
  template <class Op>
  TypedStage<Op> Map(const std::string& name, const OperatorHandle<Op>& op);
  // Adds a typed stage that groups the stages `from`, or their Output<N>().
  template <class Op, class... From>
  TypedStage<Op> Reduce(const std::string& name, const OperatorHandle<Op>& op, const From&... from);
  // Adds a typed stage that joins two stages, or their Output<N>().
  template <class Op, class Left, class Right>
  TypedStage<Op> Join(const std::string& name, const OperatorHandle<Op>& op, const Left& left, const Right& right);

  // Returns the plan document. Errors: PlanError if the stages do not make a job.
  std::string Json() const;

  // One stage: its inputs, ports and settings.
  class Stage {
   public:
    static constexpr int kAllInputs = -1;  // the files of all --input options

    // Reads files of the job's --input option number `input`, from 0, or of all of them.
    Stage& ReadFiles(int input = kAllInputs, const FileOptions& options = {});
    // Reads files that the job's own arguments name.
    Stage& ReadUris(const std::vector<std::string>& uris, const FileOptions& options = {});

    // Reads groups of equal keys over an all-to-all edge.
    Stage& Group(const Stage& from, uint32_t port = 0) { return Read(Edge::kAllToAll, from, port, true); }
    // Reads groups of equal keys over an all-to-all edge in no order, for a HashReducer. The port need not be sorted.
    Stage& GroupByHash(const Stage& from, uint32_t port = 0) {
      ++hashed_;
      return Read(Edge::kAllToAll, from, port);
    }
    // Reads an all-to-all edge with large partitions that several tasks may share. Each of these tasks then reads the
    // records of some upstream tasks, and the whole partition of the other inputs. Requires: only all-to-all and
    // broadcast edges, and an operator that is correct on any such part. An example is a join of each row of this input
    // with all rows of the other.
    Stage& ReadInParts(const Stage& from, uint32_t port = 0, bool grouped = false) {
      return ReadEdge(Edge::kAllToAll, from, port, grouped, true);
    }
    // Reads an edge of any kind. `grouped`: deliver groups of equal keys; requires a sorted port.
    Stage& Read(Edge edge, const Stage& from, uint32_t port = 0, bool grouped = false) {
      return ReadEdge(edge, from, port, grouped, false);
    }

    // Adds a shuffle port for other stages to read. Ports are numbered 0, 1, ... in the order of the calls.
    Stage& Shuffle(const ShuffleOptions& options = {});
    // Makes port 0 a part of the job's output, in format text | csv | fixed:N | raw | record. A stage with files has no
    // shuffle ports. csv, with a separator and a quote as in CsvFormatName: lines of text after a header.
    // The engine makes no header. The operator emits it, out.Line("name,total"), as the first record of each task:
    // before its first row, or in End(out) if it had none. A task without a header fails the job. The header is not
    // counted as a record. `mrctl fs getmerge` keeps the first header, and steps of a job file that read no header do
    // not get it.
    Stage& WriteFiles(const std::string& format = "text");
    // Adds a further output file per task: NAME-r-00000 beside part-r-00000, committed together with it. Such files are
    // ports 1, 2, ... in the order of the calls (out.Port(1) in the operator). Requires: WriteFiles before; a name of
    // letters, digits and the characters - _ . that begins with a letter, a digit, or _ and one of these. Jobs that
    // read the directory skip files whose names begin with _.
    Stage& Named(const std::string& name, const std::string& format = "text");

    // Sets the number of tasks. Default, 0: decided by splits, edges, --reduces and the cluster.
    Stage& Tasks(uint32_t tasks) {
      tasks_ = tasks;
      return *this;
    }
    // Sets the input bytes per task if the number of tasks is open, even if that makes more tasks than the cluster has
    // slots. For operators whose memory grows with the input of a task, or that are fast while it fits into a cache.
    Stage& TaskBytes(uint64_t bytes) {
      task_bytes_ = bytes;
      return *this;
    }
    // Sets the memory of an attempt of this stage, in bytes, in place of --memory. It includes the process and all that
    // the operator allocates. Only workers with that much memory run the stage.
    Stage& Memory(uint64_t bytes) {
      memory_bytes_ = bytes;
      return *this;
    }
    // Sets the config that the operator reads by context().config().
    Stage& Configure(const Config& config) { return ConfigureRaw(config.Encode()); }
    // Sets the bytes that the operator reads by context().config_bytes().
    Stage& ConfigureRaw(std::string bytes) {
      config_ = std::move(bytes);
      return *this;
    }
    // Returns the name of the stage.
    const std::string& name() const { return name_; }

   private:
    friend class JobPlan;
    template <class Op>
    friend class TypedStage;
    struct Port {
      ShuffleOptions shuffle;
      std::string files;     // JSON of a port that writes files; else empty
      bool derived = false;  // options follow from the readers
      std::string Json() const;
    };
    // Adds shuffle port number `port` and those before it, unless they are there or the stage writes files, and adds
    // options that one more reader needs. Ports of Shuffle() stay as they are.
    void NeedPort(uint32_t port, const ShuffleOptions& options);
    Stage& ReadEdge(Edge edge, const Stage& from, uint32_t port, bool grouped, bool splits);
    static std::string Bool(bool b) { return b ? "true" : "false"; }
    static std::string Options(const FileOptions& o);
    Stage& AddInput(std::string json) {
      inputs_.push_back(std::move(json));
      return *this;
    }
    void Check() const;
    std::string Json() const;

    Role role_ = Role::kMap;
    std::string name_, operator_, config_;
    uint32_t tasks_ = 0;
    uint64_t task_bytes_ = 0, memory_bytes_ = 0;
    int grouped_ = 0, hashed_ = 0;
    size_t named_ = 0;
    bool files_ = false;
    bool side_ = false;   // the operator has a side input that no call has named
    size_t side_at_ = 0;  // inputs up to the side input, which must be the last; 0: none
    std::vector<std::string> inputs_;
    std::vector<Port> ports_;
  };

 private:
  Stage& Add(Role role, const std::string& name, const std::string& op);

  PlanFacts facts_;
  std::vector<std::string> notes_;
  std::vector<TableNeeds> tables_;
  std::optional<RowExpressions> expressions_;
  std::deque<Stage> stages_;  // a deque: references stay valid
};

}  // namespace mr

#ifndef PACELINE_COMPILED
#include "paceline/plan_inl.h"
#endif
