#include "jobs/mrctl/job_spec.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "common/base/count.h"
#include "common/base/file_format.h"
#include "common/base/text.h"
#include "jobs/mrctl/csv_stages.h"
#include "jobs/mrctl/uri.h"

namespace mr::ctl {
namespace {

constexpr std::string_view kConfKeys[] = {"sort_buffer", "max_split_bytes", "jockey.utility", "min_tier"};

// The parsed values of --conf.
struct Conf {
  uint64_t sort_buffer_bytes = 0;
  uint64_t max_split_bytes = 0;
  std::vector<UtilityPoint> utility;
  uint8_t min_tier = 0;
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
    } else if (key == "min_tier") {
      if (value.size() != 1 || value[0] < '0' || value[0] > '3') {
        return InvalidArgument("--conf min_tier is a tier of a task's room, 0 to 3, not '" + value + "'");
      }
      conf.min_tier = static_cast<uint8_t>(value[0] - '0');
    } else if (key == "jockey.utility") {
      auto points = ParseUtility(value);
      if (!points.ok()) return points.status().With("--conf " + key);
      conf.utility = *std::move(points);
    } else {
      return InvalidArgument("--conf: unknown key '" + key + "'" + DidYouMean(key, kConfKeys) +
                             "; the keys are sort_buffer, max_split_bytes, jockey.utility and min_tier");
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
      return InvalidArgument("the job reads " + CountOf(highest_ + 1, "input") + ", but --input gives " +
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

std::optional<EdgeKind> KindOf(const std::string& word) {
  if (word == "all_to_all") return EdgeKind::kAllToAll;
  if (word == "many_to_one") return EdgeKind::kManyToOne;
  if (word == "one_to_one") return EdgeKind::kOneToOne;
  if (word == "broadcast") return EdgeKind::kBroadcast;
  return std::nullopt;
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
      "this job works on tables, and reads csv here, not " + wanted +
      "; give it --format csv, tsv, jsonl or record after its name, and describe csv "
      "with --separator, --quote and --no-header. Jobs on lines, such as grep, sort, wordcount and stream, "
      "take --format " +
      wanted);
}

Result<InputSpec> InputOf(const PlanInput& input, const SpecOptions& options, const Conf& conf, InputTable* table) {
  InputSpec out;
  if (!input.files) {
    const auto kind = KindOf(input.kind);
    if (!kind) return InvalidArgument("the plan has an edge of unknown kind '" + input.kind + "'");
    out.is_edge = true;
    out.kind = *kind;
    out.stage = input.from;
    out.port = input.port;
    out.grouped = input.grouped;
    out.quotes = input.quotes;
    out.splits = input.splits;
    if (input.format.empty()) return out;
    out.format = input.format;
    out.written = input.written;
    out.file = input.file;
    out.sample_bytes = input.sample_bytes;
    return out;
  }
  FileInput& files = out.files;
  for (const std::string& uri : input.uris) {
    MR_ASSIGN_OR_RETURN(
        std::string absolute,
        ResolveInputUri(uri, options.bare_is_local ? BarePath::kLocalFile : BarePath::kBlockStore, options.cwd));
    files.uris.push_back(std::move(absolute));
  }
  if (input.uris.empty()) {
    MR_ASSIGN_OR_RETURN(files.uris, table->Uris(input));
  }
  files.format = FormatOf(input, options.format);
  MR_RETURN_IF_ERROR(ParseInputFormat(files.format).status());
  MR_RETURN_IF_ERROR(CheckOnlyFormat(input, options.format));
  files.max_split_bytes = conf.max_split_bytes != 0 ? conf.max_split_bytes : input.max_split_bytes;
  files.sample_bytes = input.sample_bytes;
  return out;
}

// Returns the format of the main files: that of the plan, or `wanted`, which is --output-format or "". A header that
// the operators write makes the files csv, also where text is wanted, and only that.
Result<std::string> OutputFormatOf(const std::string& planned, const std::string& wanted) {
  if (wanted.empty()) return planned;
  MR_ASSIGN_OR_RETURN(const FileFormat format, ParseOutputFormat(wanted));
  const std::string plain = planned.substr(0, planned.size() - Suffix(CompressionOfName(planned)).size());
  const bool header = ParseCsvFormat(plain).has_value(), csv = format.kind == FileFormat::Kind::kCsv;
  if (!header && csv) {
    return InvalidArgument("--output-format " + wanted + " is for jobs that write tables with a header; give text" +
                           std::string(Suffix(format.compression)));
  }
  if (header && !csv && format.kind != FileFormat::Kind::kText) {
    return InvalidArgument("--output-format " + wanted +
                           ": this job writes tables as csv, optionally with the suffix .gz or .zst; for another "
                           "format, give it --no-output-header");
  }
  return header ? plain + std::string(Suffix(format.compression)) : wanted;
}

Result<PortSpec> PortOf(const PlanPort& port, const SpecOptions& options) {
  PortSpec out;
  out.files = port.files;
  if (!port.files) {
    out.sorted = port.sorted;
    out.combine = port.combine;
    out.custom_partition = port.custom_partition;
    return out;
  }
  // --output-format applies to the main files.
  MR_ASSIGN_OR_RETURN(out.format, OutputFormatOf(port.format, port.name.empty() ? options.output_format : ""));
  MR_RETURN_IF_ERROR(ParseOutputFormat(out.format).status());
  out.name = port.name;
  return out;
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

Result<StageSpec> StageOf(const Plan& plan, const PlanStage& stage, const SpecOptions& options, const Conf& conf,
                          InputTable* table) {
  StageSpec out;
  out.name = stage.name;
  out.operator_name = stage.op;
  out.config = stage.config;
  out.tasks = TakesReduces(stage) ? options.reduces : stage.tasks;
  out.task_bytes = stage.task_bytes;
  out.memory_bytes = stage.memory_bytes;
  const auto flags = plan.operator_flags.find(stage.op);
  if (!stage.flags.has_value() && flags == plan.operator_flags.end()) {
    return InvalidArgument("stage '" + stage.name + "' names the operator '" + stage.op +
                           "', which is not in the library");
  }
  out.flags = stage.flags.has_value() ? *stage.flags : flags->second;
  out.builtin = stage.builtin;
  for (const PlanInput& input : stage.inputs) {
    MR_ASSIGN_OR_RETURN(InputSpec made, InputOf(input, options, conf, table));
    out.inputs.push_back(std::move(made));
  }
  for (const PlanPort& port : stage.ports) {
    MR_ASSIGN_OR_RETURN(PortSpec made, PortOf(port, options));
    out.ports.push_back(std::move(made));
  }
  return out;
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

Result<JobSpec> BuildJobSpec(const Plan& plan, const SpecOptions& options) {
  MR_ASSIGN_OR_RETURN(Conf conf, ReadConf(options.conf));
  if (options.map_only) MR_RETURN_IF_ERROR(CheckMapOnly(plan));
  JobSpec out;
  out.name = options.name;
  out.queue = options.queue;
  out.priority = options.priority;
  out.library = options.library_sha256;
  out.output_uri = options.output_uri;
  out.overwrite = options.overwrite;
  out.max_failures = options.max_failures;
  out.memory_bytes = options.memory_bytes;
  out.deadline = Millis(static_cast<int64_t>(options.deadline_ms));
  out.best_effort = options.best_effort;
  out.max_bad_records = options.max_bad_records;
  if (options.task_timeout_ms) out.task_timeout = Millis(static_cast<int64_t>(*options.task_timeout_ms));
  out.strict_inputs = options.strict_inputs;
  out.allow_network = options.allow_network;
  out.min_tier = conf.min_tier;
  for (const SideFile& file : options.files) out.files.push_back({file.name, file.sha256, file.bytes});
  out.utility = std::move(conf.utility);
  out.sort_buffer_bytes = conf.sort_buffer_bytes != 0 ? conf.sort_buffer_bytes : SortBufferIn(options.memory_bytes);
  out.conf = options.conf;
  out.env = options.env;
  out.labels = options.labels;
  out.policies = options.policies;
  out.speculation = options.speculation;
  out.clones = options.clones;
  InputTable table(plan, options.inputs);
  for (const PlanStage& stage : plan.stages) {
    MR_ASSIGN_OR_RETURN(StageSpec made, StageOf(plan, stage, options, conf, &table));
    out.stages.push_back(std::move(made));
  }
  MR_RETURN_IF_ERROR(table.AllRead());
  return out;
}

Result<KeyValues> ParseKeyValues(const std::vector<std::string>& words, const char* option) {
  KeyValues pairs;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      return InvalidArgument(std::string(option) + " takes KEY=VALUE, not '" + word + "'");
    }
    pairs.push_back({word.substr(0, equals), word.substr(equals + 1)});
  }
  return pairs;
}

Result<std::vector<UtilityPoint>> ParseUtility(const std::string& text) {
  std::vector<UtilityPoint> points;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string word = text.substr(at, end - at);
    at = end + 1;
    const size_t colon = word.find(':');
    if (colon == std::string::npos) {
      return InvalidArgument("'" + word + "' is no point of a utility; write TIME:WORTH, such as 0:1,30m:1,40m:-1");
    }
    Duration at_time;
    if (const std::string time = word.substr(0, colon); time != "0") {
      auto duration = ParseDuration(time);
      if (!duration.ok()) return duration.status().With("'" + word + "'");
      at_time = Millis(duration->millis());
    }
    double worth = 0;
    const char* last = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data() + colon + 1, last, worth);
    if (error != std::errc() || stop != last || !std::isfinite(worth)) {
      return InvalidArgument("'" + word + "': the part after the colon is no number");
    }
    if (!points.empty() && at_time <= points.back().at) {
      return InvalidArgument("'" + word + "' is not later than the point before it; times must increase");
    }
    points.push_back({at_time, worth});
  }
  if (points.size() < 2) return InvalidArgument("a utility needs at least two points, such as 0:1,30m:1,40m:-1");
  return points;
}

Result<Wish> ParseWish(const std::string& word, const char* option) {
  if (word.empty() || word == "auto") return Wish::kAuto;
  if (word == "on") return Wish::kOn;
  if (word == "off") return Wish::kOff;
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
