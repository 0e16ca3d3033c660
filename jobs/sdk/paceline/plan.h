// JobPlan: a job as stages and edges, written down as the plan document (jobs/PLAN.md).
//
//   auto count = plan.Map("count", "wordcount.map").ReadFiles().Shuffle({.combine = true});
//   plan.Reduce("sum", "wordcount.reduce").Group(count).WriteFiles();
//
// Stages are given in the order in which data flows. Inputs are numbered in the order of the calls:
// put a broadcast input last (operator.h, SideInput). Mistakes throw JobError here, or in Json().
#pragma once

#include <algorithm>
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
#include "paceline/json_text.h"

namespace mr {

struct FileOptions {
  std::string format = "text";   // text | kv | csv | jsonl | fixed:N | record
  uint64_t sample_bytes = 0;     // not 0: only about so much of each split
  uint64_t max_split_bytes = 0;  // 0: a block, or less where the input is small
  bool only_format = false;      // --format cannot say another
};

struct ShuffleOptions {
  bool sorted = true;             // needed by readers that group
  bool combine = false;           // the operator is also a Combiner
  bool custom_partition = false;  // the operator is also a Partitioner
};

// A table that the job reads and the columns of it that it needs: looked at when the job is submitted, so that a column
// that is not there is refused before anything runs.
struct TableNeeds {
  std::string side;               // for messages; may be empty
  std::vector<std::string> uris;  // empty: the job's --input
  std::string format = "csv";     // as FileOptions
  bool header = true;             // the first row names the columns; else they are 1, 2, 3, ...
  std::vector<std::string> columns;
};

// What is known of a job when its plan is made: by default nothing.
struct PlanFacts {
  std::function<std::optional<uint64_t>(const std::vector<std::string>& uris)> input_bytes;
  uint64_t memory_bytes = 0;
};

enum class Edge { kAllToAll, kManyToOne, kOneToOne, kBroadcast };

class JobPlan {
 public:
  class Stage;
  enum class Role { kMap, kReduce, kJoin };

  JobPlan() = default;
  explicit JobPlan(PlanFacts facts) : facts_(std::move(facts)) {}

  // About how many bytes the records in the files behind these URIs have together (as ReadUris takes them; compressed
  // files are counted with a guess of what they grow to). Nothing where that is not known: as long as nobody has
  // measured them, of what another step of a job file writes, and where an input is missing. Whoever submits the job
  // measures what was asked for and asks for the plan once more, so a plan must be made in both cases.
  std::optional<uint64_t> InputBytes(const std::vector<std::string>& uris) const {
    return facts_.input_bytes && !uris.empty() ? facts_.input_bytes(uris) : std::nullopt;
  }
  // What an attempt may have, as submit --memory; 0: not given.
  uint64_t memory_bytes() const { return facts_.memory_bytes; }

  // A line that `mrctl explain` shows with the plan: why it is as it is.
  void Note(std::string note) { notes_.push_back(std::move(note)); }

  void Needs(TableNeeds table) { tables_.push_back(std::move(table)); }

  Stage& Map(std::string name, std::string op) { return Add(Role::kMap, name, op); }
  Stage& Reduce(std::string name, std::string op) { return Add(Role::kReduce, name, op); }
  // Two grouped inputs: the first is the left side.
  Stage& Join(std::string name, std::string op) { return Add(Role::kJoin, name, op); }

  // The document. Throws if the stages do not make a job.
  std::string Json() const;

  class Stage {
   public:
    // The job's --input number `input`; kAllInputs takes them all together.
    static constexpr int kAllInputs = -1;
    Stage& ReadFiles(int input = kAllInputs, const FileOptions& options = {}) {
      return AddInput("{\"files\": {\"input\": " + std::to_string(input) + Options(options) + "}}");
    }
    // Files that the job's own arguments named.
    Stage& ReadUris(const std::vector<std::string>& uris, const FileOptions& options = {}) {
      std::string list;
      if (std::count(uris.begin(), uris.end(), "") != 0) {
        throw JobError("stage '" + name_ + "' reads a file without a name: an argument of the job is missing or empty");
      }
      for (const auto& uri : uris) list += (list.empty() ? "" : ", ") + sdk::JsonString(uri);
      return AddInput("{\"files\": {\"uris\": [" + list + "]" + Options(options) + "}}");
    }

    // Groups of equal keys, by an all-to-all edge.
    Stage& Group(const Stage& from, uint32_t port = 0) { return Read(Edge::kAllToAll, from, port, true); }
    // By an all-to-all edge, for an operator that is right on any part of this input's partition beside the whole
    // partition of the others, as a join of each row here with those there is: where a partition is much larger than
    // the others, several tasks share it, each with what some upstream tasks wrote. All other edges of the stage are
    // all-to-all or broadcast.
    Stage& ReadInParts(const Stage& from, uint32_t port = 0, bool grouped = false) {
      return ReadEdge(Edge::kAllToAll, from, port, grouped, true);
    }
    Stage& Read(Edge edge, const Stage& from, uint32_t port = 0, bool grouped = false) {
      return ReadEdge(edge, from, port, grouped, false);
    }

    // Adds a port (0, 1, ...) for other stages to read.
    Stage& Shuffle(const ShuffleOptions& options = {}) {
      ports_.push_back({options.sorted, "{\"shuffle\": {\"sorted\": " + Bool(options.sorted) +
                                            ", \"combine\": " + Bool(options.combine) + ", \"partition\": \"" +
                                            (options.custom_partition ? "custom" : "hash") + "\"}}"});
      return *this;
    }
    // Port 0, a part of the job's output: text | fixed:N | raw | record. A stage with files has no shuffle ports.
    Stage& WriteFiles(const std::string& format = "text") {
      files_ = true;
      ports_.push_back({false, "{\"files\": {\"format\": " + sdk::JsonString(format) + "}}"});
      return *this;
    }
    // Behind WriteFiles: a further file of each task, ports 1, 2, ... in the order of the calls (out.Port(1) in the
    // operator), as NAME-r-00000 beside part-r-00000, committed together with it. The name: letters, digits, - _ .
    Stage& Named(const std::string& name, const std::string& format = "text") {
      if (!files_) throw JobError("stage '" + name_ + "' names the output '" + name + "' before it has WriteFiles()");
      ports_.push_back({false, "{\"files\": {\"format\": " + sdk::JsonString(format) +
                                   ", \"name\": " + sdk::JsonString(name) + "}}"});
      ++named_;
      return *this;
    }

    // 0, the default: decided by splits, edges, --reduces and the cluster.
    Stage& Tasks(uint32_t tasks) {
      tasks_ = tasks;
      return *this;
    }
    // Where that is left open: a task for each so many bytes of input, also more than the cluster has slots. For an
    // operator whose memory grows with its task, or is fast while it fits in a cache.
    Stage& TaskBytes(uint64_t bytes) {
      task_bytes_ = bytes;
      return *this;
    }
    // What an attempt of this stage may have, its process with all that the operator allocates; in place of the job's
    // --memory. Only workers that have as much run it.
    Stage& Memory(uint64_t bytes) {
      memory_bytes_ = bytes;
      return *this;
    }
    Stage& Configure(const Config& config) { return ConfigureRaw(config.Encode()); }
    Stage& ConfigureRaw(std::string bytes) {
      config_ = std::move(bytes);
      return *this;
    }
    const std::string& name() const { return name_; }

   private:
    friend class JobPlan;
    struct Port {
      bool sorted;
      std::string json;
    };
    Stage& ReadEdge(Edge edge, const Stage& from, uint32_t port, bool grouped, bool splits) {
      static constexpr const char* kNames[] = {"all_to_all", "many_to_one", "one_to_one", "broadcast"};
      if (grouped) {
        ++grouped_;
        if (port < from.ports_.size() && !from.ports_[port].sorted) {
          throw JobError("stage '" + name_ + "' groups what port " + std::to_string(port) + " of stage '" + from.name_ +
                         "' writes, so that port must be sorted");
        }
      }
      if (port >= from.ports_.size()) {
        throw JobError("stage '" + name_ + "' reads port " + std::to_string(port) + " of stage '" + from.name_ +
                       "', which has " + std::to_string(from.ports_.size()));
      }
      if (from.files_) {
        throw JobError("stage '" + name_ + "' reads stage '" + from.name_ +
                       "', which writes files; a stage has either shuffle ports or files");
      }
      return AddInput("{\"edge\": {\"kind\": \"" + std::string(kNames[static_cast<int>(edge)]) +
                      "\", \"from\": " + sdk::JsonString(from.name_) + ", \"port\": " + std::to_string(port) +
                      ", \"grouped\": " + Bool(grouped) + (splits ? ", \"splits\": true" : "") + "}}");
    }
    static std::string Bool(bool b) { return b ? "true" : "false"; }
    static std::string Options(const FileOptions& o) {
      std::string text = ", \"format\": " + sdk::JsonString(o.format);
      if (o.only_format) text += ", \"only_format\": true";
      if (o.sample_bytes) text += ", \"sample_bytes\": " + std::to_string(o.sample_bytes);
      if (o.max_split_bytes) text += ", \"max_split_bytes\": " + std::to_string(o.max_split_bytes);
      return text;
    }
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
    int grouped_ = 0;
    size_t named_ = 0;
    bool files_ = false;
    std::vector<std::string> inputs_;
    std::vector<Port> ports_;
  };

 private:
  Stage& Add(Role role, const std::string& name, const std::string& op) {
    for (const Stage& other : stages_) {
      if (other.name_ == name) throw JobError("two stages are named '" + name + "'");
    }
    Stage& stage = stages_.emplace_back();
    stage.role_ = role;
    stage.name_ = name;
    stage.operator_ = op;
    return stage;
  }

  PlanFacts facts_;
  std::vector<std::string> notes_;
  std::vector<TableNeeds> tables_;
  std::deque<Stage> stages_;  // references stay valid
};

inline void JobPlan::Stage::Check() const {
  const std::string who = "stage '" + name_ + "' ";
  if (ports_.empty()) throw JobError(who + "writes nothing: give it Shuffle() or WriteFiles()");
  if (files_ && ports_.size() != 1 + named_) {
    throw JobError(who + "has files and other ports; a stage has either files or shuffle ports");
  }
  if (inputs_.empty() && tasks_ == 0) {
    throw JobError(who + "reads nothing, so the plan must say how many Tasks() it has");
  }
  if (role_ == Role::kReduce && grouped_ == 0) {
    throw JobError(who + "is a reduce stage without a grouped input: use Group()");
  }
  if (role_ == Role::kJoin && grouped_ != 2) {
    throw JobError(who + "is a join stage, which has two grouped inputs, not " + std::to_string(grouped_));
  }
}

inline std::string JobPlan::Stage::Json() const {
  std::string inputs, ports;
  for (const auto& input : inputs_) inputs += (inputs.empty() ? "" : ", ") + input;
  for (const auto& port : ports_) ports += (ports.empty() ? "" : ", ") + port.json;
  return "  {\"name\": " + sdk::JsonString(name_) + ", \"operator\": " + sdk::JsonString(operator_) +
         ", \"config\": \"" + sdk::Base64(config_) + "\", \"tasks\": " + std::to_string(tasks_) +
         (task_bytes_ == 0 ? "" : ", \"task_bytes\": " + std::to_string(task_bytes_)) +
         (memory_bytes_ == 0 ? "" : ", \"memory_bytes\": " + std::to_string(memory_bytes_)) + ",\n   \"inputs\": [" +
         inputs + "],\n   \"ports\": [" + ports + "]}";
}

inline std::string JobPlan::Json() const {
  if (stages_.empty()) throw JobError("the plan has no stage");
  std::string stages;
  for (const Stage& stage : stages_) {
    stage.Check();
    stages += (stages.empty() ? "" : ",\n") + stage.Json();
  }
  std::string notes;
  for (const std::string& note : notes_) notes += (notes.empty() ? " \"notes\": [" : ", ") + sdk::JsonString(note);
  if (!notes.empty()) notes += "],\n";
  const auto list = [](const std::vector<std::string>& texts) {
    std::string json;
    for (const std::string& text : texts) json += (json.empty() ? "" : ", ") + sdk::JsonString(text);
    return "[" + json + "]";
  };
  for (const TableNeeds& t : tables_) {
    notes += (&t == tables_.data() ? " \"tables\": [\n  " : ",\n  ") + ("{\"side\": " + sdk::JsonString(t.side)) +
             ", \"uris\": " + list(t.uris) + ", \"format\": " + sdk::JsonString(t.format) +
             ", \"header\": " + (t.header ? "true" : "false") + ", \"columns\": " + list(t.columns) + "}";
  }
  if (!tables_.empty()) notes += "],\n";
  return "{\"version\": 1,\n" + notes + " \"stages\": [\n" + stages + "]}\n";
}

}  // namespace mr
