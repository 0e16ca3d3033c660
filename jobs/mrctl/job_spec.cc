#include "jobs/mrctl/job_spec.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "common/base/file_format.h"
#include "common/base/text.h"
#include "jobs/mrctl/csv_stages.h"
#include "jobs/mrctl/uri.h"

namespace mr::ctl {
namespace {

constexpr std::string_view kConfKeys[] = {"sort_buffer", "max_split_bytes", "jockey.utility"};

// The parsed values of --conf.
struct Conf {
  uint64_t sort_buffer_bytes = 0;
  uint64_t max_split_bytes = 0;
  UtilityPoints utility;
};

Result<Conf> ReadConf(const KeyValues& pairs) {
  Conf conf;
  for (const auto& [key, value] : pairs) {
    const auto size = [&, &key = key, &value = value](uint64_t* out) -> Status {
      auto bytes = ParseSize(value);
      if (!bytes.ok()) return bytes.status().With("--conf " + key);
      *out = *bytes;
      return Status::Ok();
    };
    if (key == "sort_buffer") {
      MR_RETURN_IF_ERROR(size(&conf.sort_buffer_bytes));
    } else if (key == "max_split_bytes") {
      MR_RETURN_IF_ERROR(size(&conf.max_split_bytes));
    } else if (key == "jockey.utility") {
      auto points = ParseUtility(value);
      if (!points.ok()) return points.status().With("--conf " + key);
      conf.utility = *std::move(points);
    } else {
      return InvalidArgument("--conf: unknown key '" + key + "'" + DidYouMean(key, kConfKeys) +
                             "; the keys are sort_buffer, max_split_bytes and jockey.utility");
    }
  }
  return conf;
}

// Maps each file input of the plan to options --input.
class InputTable {
 public:
  InputTable(const Plan& plan, const std::vector<std::string>& inputs) : inputs_(inputs), read_(inputs.size()) {
    for (const PlanStage& stage : plan.stages) {
      for (const PlanInput& input : stage.inputs) {
        if (input.files && input.uris.empty()) highest_ = std::max(highest_, input.input);
      }
    }
  }

  Result<std::vector<std::string>> Uris(const PlanInput& input) {
    // A job with one input only reads all of them as that input.
    if (input.input < 0 || highest_ == 0) {
      if (inputs_.empty()) return InvalidArgument("the job reads files: give --input");
      std::fill(read_.begin(), read_.end(), true);
      return inputs_;
    }
    const auto index = static_cast<size_t>(input.input);
    if (index >= inputs_.size()) {
      return InvalidArgument("the job reads " + std::to_string(highest_ + 1) + " inputs, but --input gives " +
                             std::to_string(inputs_.size()) + ": repeat --input for each");
    }
    read_[index] = true;
    return std::vector<std::string>{inputs_[index]};
  }

  Status AllRead() const {
    for (size_t i = 0; i < read_.size(); ++i) {
      if (!read_[i])
        return InvalidArgument("the job does not read --input " + inputs_[i] + ": it is number " +
                               std::to_string(i + 1) + " and the job reads " + std::to_string(highest_ + 1));
    }
    return Status::Ok();
  }

 private:
  const std::vector<std::string>& inputs_;
  std::vector<bool> read_;
  int highest_ = -1;
};

// Returns the buffer size for collecting and for merging records under a memory limit: an eighth of it, so that several
// buffers and the operator fit. It is never larger than without a limit. (Guess; with a quarter, aggregate does not run
// in 40 MiB, measured.) 0: the worker's default.
uint64_t SortBufferIn(uint64_t memory_bytes) {
  constexpr uint64_t kLeast = 1 << 20, kMost = 64 << 20;
  return memory_bytes == 0 ? 0 : std::clamp(memory_bytes / 8, kLeast, kMost);
}

rpc::EdgeKind KindOf(const std::string& word) {
  if (word == "all_to_all") return rpc::EdgeKind::ALL_TO_ALL;
  if (word == "many_to_one") return rpc::EdgeKind::MANY_TO_ONE;
  if (word == "one_to_one") return rpc::EdgeKind::ONE_TO_ONE;
  if (word == "broadcast") return rpc::EdgeKind::BROADCAST;
  return rpc::EdgeKind::UNSET;
}

// Refuses --format if the job's operators read one format only. Applies also to files that the job's arguments name.
Status CheckOnlyFormat(const PlanInput& input, const std::string& wanted) {
  const bool csv = ParseCsvFormat(input.format).has_value();
  if (!input.only_format || input.format == "raw" || wanted.empty() || wanted == input.format ||
      (csv && wanted == "csv")) {
    return Status::Ok();
  }
  if (!csv) {
    return InvalidArgument("this job reads its input as " + input.format + " only, not as " + wanted +
                           "; omit --format");
  }
  return InvalidArgument(
      "this job works on tables and reads csv only, not " + wanted +
      "; omit --format, and describe the "
      "files with --separator, --quote and --no-header. Jobs on lines, such as grep, sort, wordcount and stream, "
      "take --format " +
      wanted);
}

Status SetInput(const PlanInput& input, const SpecOptions& options, const Conf& conf, InputTable* table,
                rpc::InputSpec::Builder out) {
  if (!input.files) {
    auto edge = out.initEdge();
    const rpc::EdgeKind kind = KindOf(input.kind);
    if (kind == rpc::EdgeKind::UNSET)
      return InvalidArgument("the plan has an edge of unknown kind '" + input.kind + "'");
    edge.setKind(kind);
    edge.setStage(input.from);
    edge.setPort(input.port);
    edge.setGrouped(input.grouped);
    edge.setQuotes(input.quotes);
    edge.setSplits(input.splits);
    if (!input.format.empty()) {
      edge.setFormat(input.format.c_str());
      edge.setWritten(input.written.c_str());
      edge.setFile(input.file.c_str());
      edge.setSampleBytes(input.sample_bytes);
    }
    return Status::Ok();
  }
  std::vector<std::string> uris;
  const bool own = !input.uris.empty();
  if (own) {
    for (const std::string& uri : input.uris) {
      MR_ASSIGN_OR_RETURN(
          std::string absolute,
          ResolveUri(uri, options.bare_is_local ? BarePath::kLocalFile : BarePath::kBlockStore, options.cwd));
      uris.push_back(std::move(absolute));
    }
  } else {
    MR_ASSIGN_OR_RETURN(uris, table->Uris(input));
  }
  auto files = out.initFiles();
  auto list = files.initUris(static_cast<unsigned>(uris.size()));
  for (unsigned i = 0; i < uris.size(); ++i) list.set(i, uris[i].c_str());
  const std::string& format = FormatOf(input, options.format);
  MR_RETURN_IF_ERROR(ParseInputFormat(format).status());
  MR_RETURN_IF_ERROR(CheckOnlyFormat(input, options.format));
  files.setFormat(format.c_str());
  files.setMaxSplitBytes(conf.max_split_bytes != 0 ? conf.max_split_bytes : input.max_split_bytes);
  files.setSampleBytes(input.sample_bytes);
  return Status::Ok();
}

Status SetPort(const PlanPort& port, const SpecOptions& options, rpc::PortSpec::Builder out) {
  if (port.files) {
    // --output-format applies to the main files.
    const std::string format =
        options.output_format.empty() || !port.name.empty() ? port.format : options.output_format;
    MR_RETURN_IF_ERROR(ParseOutputFormat(format).status());
    out.initFiles().setFormat(format.c_str());
    out.getFiles().setName(port.name.c_str());
    return Status::Ok();
  }
  auto shuffle = out.initShuffle();
  shuffle.setSorted(port.sorted);
  shuffle.setCombine(port.combine);
  shuffle.setCustomPartition(port.custom_partition);
  return Status::Ok();
}

}  // namespace

bool TakesReduces(const PlanStage& stage) {
  if (stage.tasks != 0) return false;
  bool all_to_all = false;
  for (const PlanInput& input : stage.inputs) {
    if (input.files || input.kind == "one_to_one") return false;
    all_to_all = all_to_all || input.kind == "all_to_all";
  }
  return all_to_all;
}

namespace {

Status SetStage(const Plan& plan, const PlanStage& stage, const SpecOptions& options, const Conf& conf,
                InputTable* table, rpc::StageSpec::Builder out) {
  out.setName(stage.name.c_str());
  out.setOperator(stage.op.c_str());
  out.setConfig(capnp::Data::Reader(reinterpret_cast<const uint8_t*>(stage.config.data()), stage.config.size()));
  out.setTasks(TakesReduces(stage) ? options.reduces : stage.tasks);
  out.setTaskBytes(stage.task_bytes);
  out.setMemoryBytes(stage.memory_bytes);
  const auto flags = plan.operator_flags.find(stage.op);
  if (!stage.flags.has_value() && flags == plan.operator_flags.end()) {
    return InvalidArgument("stage '" + stage.name + "' names the operator '" + stage.op +
                           "', which is not in the library");
  }
  out.setFlags(stage.flags.has_value() ? *stage.flags : flags->second);
  out.setBuiltin(stage.builtin);
  auto inputs = out.initInputs(static_cast<unsigned>(stage.inputs.size()));
  for (unsigned i = 0; i < stage.inputs.size(); ++i) {
    MR_RETURN_IF_ERROR(SetInput(stage.inputs[i], options, conf, table, inputs[i]));
  }
  auto ports = out.initPorts(static_cast<unsigned>(stage.ports.size()));
  for (unsigned i = 0; i < stage.ports.size(); ++i) MR_RETURN_IF_ERROR(SetPort(stage.ports[i], options, ports[i]));
  return Status::Ok();
}

template <class List>
void SetPairs(const KeyValues& pairs, List list) {
  for (unsigned i = 0; i < pairs.size(); ++i) {
    list[i].setKey(pairs[i].first.c_str());
    list[i].setValue(pairs[i].second.c_str());
  }
}

}  // namespace

// Refuses --reduces 0 if a stage reads the output of several tasks of another one.
static Status CheckMapOnly(const Plan& plan) {
  for (const PlanStage& stage : plan.stages) {
    for (const PlanInput& input : stage.inputs) {
      if (input.files || (input.kind != "all_to_all" && input.kind != "many_to_one")) continue;
      return InvalidArgument("--reduces 0: this job cannot be map-only: its stage '" + stage.name +
                             "' reads the output of all tasks of stage '" + plan.stages[input.from].name +
                             "'; give at least 1, or omit --reduces");
    }
  }
  return Status::Ok();
}

bool IsConfOfTheJob(std::string_view key) {
  // A word close to a key of the engine is taken for a typing error, and refused with that key as a suggestion.
  return std::find(std::begin(kConfKeys), std::end(kConfKeys), key) == std::end(kConfKeys) &&
         Nearest(key, kConfKeys).empty();
}

Status BuildJobSpec(const Plan& plan, const SpecOptions& options, rpc::JobSpec::Builder out) {
  MR_ASSIGN_OR_RETURN(const Conf conf, ReadConf(options.conf));
  if (options.map_only) MR_RETURN_IF_ERROR(CheckMapOnly(plan));
  out.setName(options.name.c_str());
  out.setQueue(options.queue.c_str());
  out.setPriority(options.priority);
  out.setLibrary(options.library_sha256.c_str());
  out.getOutput().setUri(options.output_uri.c_str());
  out.getOutput().setOverwrite(options.overwrite);
  out.setMaxFailures(options.max_failures);
  out.setMemoryBytes(options.memory_bytes);
  out.setDeadlineMs(options.deadline_ms);
  out.setBestEffort(options.best_effort);
  out.setMaxBadRecords(options.max_bad_records);
  if (options.task_timeout_ms) out.setTaskTimeoutMs(*options.task_timeout_ms);
  out.setStrictInputs(options.strict_inputs);
  auto files = out.initFiles(static_cast<unsigned>(options.files.size()));
  for (unsigned i = 0; i < files.size(); ++i) {
    files[i].setName(options.files[i].name.c_str());
    files[i].setSha256(options.files[i].sha256.c_str());
    files[i].setBytes(options.files[i].bytes);
  }
  auto utility = out.initUtility(static_cast<unsigned>(conf.utility.size()));
  for (unsigned i = 0; i < utility.size(); ++i) {
    utility[i].setAtMs(conf.utility[i].first);
    utility[i].setUtility(conf.utility[i].second);
  }
  out.setSortBufferBytes(conf.sort_buffer_bytes != 0 ? conf.sort_buffer_bytes : SortBufferIn(options.memory_bytes));
  SetPairs(options.conf, out.initConf(static_cast<unsigned>(options.conf.size())));
  SetPairs(options.env, out.initEnv(static_cast<unsigned>(options.env.size())));
  SetPairs(options.labels, out.initLabels(static_cast<unsigned>(options.labels.size())));
  auto policies = out.initPolicies(static_cast<unsigned>(options.policies.size()));
  for (unsigned i = 0; i < options.policies.size(); ++i) policies.set(i, options.policies[i].c_str());
  out.setSpeculation(options.speculation);
  out.setClones(options.clones);
  InputTable table(plan, options.inputs);
  auto stages = out.initStages(static_cast<unsigned>(plan.stages.size()));
  for (unsigned i = 0; i < plan.stages.size(); ++i) {
    MR_RETURN_IF_ERROR(SetStage(plan, plan.stages[i], options, conf, &table, stages[i]));
  }
  return table.AllRead();
}

Result<KeyValues> ParseKeyValues(const std::vector<std::string>& words, const char* option) {
  KeyValues pairs;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      return InvalidArgument(std::string(option) + " takes KEY=VALUE, not '" + word + "'");
    }
    pairs.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
  return pairs;
}

Result<UtilityPoints> ParseUtility(const std::string& text) {
  UtilityPoints points;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string word = text.substr(at, end - at);
    at = end + 1;
    const size_t colon = word.find(':');
    if (colon == std::string::npos) {
      return InvalidArgument("'" + word + "' is no point of a utility; write TIME:WORTH, such as 0:1,30m:1,40m:-1");
    }
    uint64_t ms = 0;
    if (const std::string time = word.substr(0, colon); time != "0") {
      auto duration = ParseDuration(time);
      if (!duration.ok()) return duration.status().With("'" + word + "'");
      ms = static_cast<uint64_t>(duration->millis());
    }
    double worth = 0;
    const char* last = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data() + colon + 1, last, worth);
    if (error != std::errc() || stop != last || !std::isfinite(worth)) {
      return InvalidArgument("'" + word + "': the part after the colon is no number");
    }
    if (!points.empty() && ms <= points.back().first) {
      return InvalidArgument("'" + word + "' is not later than the point before it; times must increase");
    }
    points.emplace_back(ms, worth);
  }
  if (points.size() < 2) return InvalidArgument("a utility needs at least two points, such as 0:1,30m:1,40m:-1");
  return points;
}

Result<rpc::Wish> ParseWish(const std::string& word, const char* option) {
  if (word.empty() || word == "auto") return rpc::Wish::AUTO;
  if (word == "on") return rpc::Wish::ON;
  if (word == "off") return rpc::Wish::OFF;
  constexpr std::string_view kWords[] = {"on", "off", "auto"};
  return InvalidArgument(std::string(option) + " takes on, off or auto, not '" + word + "'" + DidYouMean(word, kWords));
}

Status CheckPolicyList(std::string_view list) {
  if (list.empty() || !SplitPolicies(list).empty()) return Status::Ok();
  return InvalidArgument("--scheduler '" + std::string(list) +
                         "' names no policy; omit it to use the cluster's list, or "
                         "give none for an empty list");
}

std::vector<std::string> SplitPolicies(std::string_view list) {
  std::vector<std::string> policies;
  std::string current;
  int depth = 0;
  for (char c : list) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == ',' && depth == 0) {
      if (!current.empty()) policies.push_back(std::move(current));
      current.clear();
    } else if (c != ' ') {
      current += c;
    }
  }
  if (!current.empty()) policies.push_back(std::move(current));
  return policies;
}

}  // namespace mr::ctl
