#include "master/core/spec_check.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/abi/operator_table.h"
#include "common/base/file_format.h"
#include "master/sched/scheduler.h"

namespace mr::master {
namespace {

bool IsSha256(const std::string& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

bool Printable(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return c >= 0x20 && c != 0x7f; });
}

// Gathers faults, so that one answer names them all.
class Faults {
 public:
  void Add(const std::string& fault) {
    if (faults_.size() < 10) faults_.push_back(fault);
  }
  bool empty() const { return faults_.empty(); }
  Status ToStatus() const {
    std::string text;
    for (const auto& fault : faults_) text += (text.empty() ? "" : "; ") + fault;
    return InvalidArgument("the job is not valid: " + text);
  }

 private:
  std::vector<std::string> faults_;
};

constexpr Duration kMostTime = Millis(366ll * 86'400'000);  // a year

void CheckFormat(const Result<FileFormat>& format, const std::string& where, Faults* faults) {
  if (!format.ok()) faults->Add(where + ": " + format.status().message());
}

// Empty where the URI can be used.
Status CheckUri(const std::string& uri) {
  const bool file = uri.starts_with("file:///"), dfs = uri.starts_with("dfs:///");
  if (!Printable(uri)) return InvalidArgument("a URI contains control characters");
  if (file || dfs) return Status::Ok();
  for (const char* scheme : {"hdfs://", "s3://", "s3a://", "http://", "https://", "gs://"}) {
    if (uri.starts_with(scheme)) {
      return Rejected("'" + uri + "': " + scheme + " is not supported yet; use dfs:///path (mrctl fs put) or " +
                      "file:///path that all workers share");
    }
  }
  return InvalidArgument("'" + uri + "' is not an absolute URI; use file:///path or dfs:///path");
}

// The use of a port by its readers: all of them by all-to-all edges, or all by others.
struct PortUse {
  bool files = false, sorted = false, all_to_all = false, whole = false;
};

class Checker {
 public:
  explicit Checker(JobSpec& spec) : spec_(spec) {}
  Status Check();

 private:
  void CheckFiles(const FileInput& files, const std::string& where) {
    CheckFormat(ParseInputFormat(files.format), where, &faults_);
    if (files.uris.empty()) faults_.Add(where + " has no input path");
    if (files.uris.size() > kMaxUris) {
      faults_.Add(where + " has more than " + std::to_string(kMaxUris) + " paths; use a directory or a glob");
      return;
    }
    for (const std::string& uri : files.uris) {
      Status status = CheckUri(uri);
      if (status.code() == Code::kRejected) scheme_ = status;
      if (status.code() == Code::kInvalidArgument) faults_.Add(where + ": " + status.message());
    }
  }

  void CheckEdge(const InputSpec& edge, uint32_t own, const std::string& where) {
    if (!Known(edge.kind)) faults_.Add(where + ": unknown edge kind");
    if (edge.stage >= own) {
      faults_.Add(where + ": an edge must come from an earlier stage, this one from number " +
                  std::to_string(edge.stage));
      return;
    }
    auto& ports = uses_[edge.stage];
    if (edge.port >= ports.size()) {
      faults_.Add(where + ": stage '" + spec_.stages[edge.stage].name + "' has no port " + std::to_string(edge.port));
      return;
    }
    PortUse& use = ports[edge.port];
    if (use.files) faults_.Add(where + ": reads a port that writes files");
    if (edge.quotes && edge.kind != EdgeKind::kBroadcast) faults_.Add(where + ": quotes come by a broadcast");
    if (!edge.format.empty()) {
      CheckFormat(ParseInputFormat(edge.format), where, &faults_);
      auto written = ParseOutputFormat(edge.written);
      CheckFormat(written, where, &faults_);
      if (written.ok() && (written->compression != Compression::kNone || written->kind == FileFormat::Kind::kRecord)) {
        faults_.Add(where + ": an edge is read as files of format text, raw or fixed:N, which are not compressed");
      }
      if (edge.grouped || edge.quotes || edge.kind == EdgeKind::kAllToAll) {
        faults_.Add(where + ": an edge read as files has whole outputs, so it is neither all-to-all nor grouped");
      }
    }
    if (edge.splits && edge.kind != EdgeKind::kAllToAll) {
      faults_.Add(where + ": only partitions of an all-to-all edge can be split");
    }
    if (edge.grouped && !use.sorted) faults_.Add(where + ": grouped input needs a sorted port");
    (edge.kind == EdgeKind::kAllToAll ? use.all_to_all : use.whole) = true;
    if (use.all_to_all && use.whole) {
      faults_.Add(where + ": a port is read either by all-to-all edges or by others, give the operator a second port");
    }
  }

  // The first files of a stage have no name, the others one that no other output of the job has.
  void CheckOutputName(const std::string& name, uint32_t before, const std::string& where) {
    if (name.empty() && before == 0) return;
    const bool usable = !name.empty() && name.size() <= 100 && std::isalnum(static_cast<unsigned char>(name[0])) &&
                        std::all_of(name.begin(), name.end(), [](unsigned char c) {
                          return std::isalnum(c) || c == '_' || c == '-' || c == '.';
                        });
    if (!usable || before == 0 || name == "part") {
      faults_.Add(where + ": '" + name + "' is no name of a further output; take letters, digits, '_', '-', '.'");
    } else if (!output_names_.insert(name).second) {
      faults_.Add(where + ": two outputs have the name '" + name + "'");
    }
  }

  void CheckPorts(const StageSpec& stage, const std::string& where) {
    uint32_t file_ports = 0;
    auto& ports = uses_.emplace_back();
    for (const PortSpec& port : stage.ports) {
      if (port.unknown) faults_.Add(where + ": unknown kind of port");
      if (port.files) {
        CheckOutputName(port.name, file_ports++, where);
        CheckFormat(ParseOutputFormat(port.format), where, &faults_);
      }
      ports.push_back({port.files, port.sorted, false, false});
    }
    if (ports.empty()) faults_.Add(where + " has no output port");
    if (ports.size() > 64) faults_.Add(where + " has more than 64 output ports");
    if (file_ports > 0 && file_ports < ports.size()) {
      faults_.Add(where + ": a stage has either shuffle ports or files ports");
    }
  }

  void CheckStage(const StageSpec& stage, uint32_t index) {
    const std::string where = "stage '" + stage.name + "'";
    if (stage.name.empty() || stage.name.size() > 200 || !Printable(stage.name)) {
      faults_.Add("stage " + std::to_string(index) + " has no usable name");
    }
    for (uint32_t other = 0; other < index; ++other) {
      if (spec_.stages[other].name == stage.name) faults_.Add("two stages are named '" + stage.name + "'");
    }
    if (stage.operator_name.empty()) faults_.Add(where + " has no operator");
    if (stage.config.size() > kMaxConfigBytes) faults_.Add(where + ": its config is larger than 256 KiB");
    if (stage.tasks > kMaxTasks) faults_.Add(where + ": at most " + std::to_string(kMaxTasks) + " tasks");
    if (stage.inputs.empty() && stage.tasks == 0) {
      faults_.Add(where + " has no input, so its number of tasks must be given");
    }
    bool one_to_one = false;
    for (const InputSpec& input : stage.inputs) {
      if (input.unknown) {
        faults_.Add(where + ": unknown kind of input");
      } else if (input.is_edge) {
        CheckEdge(input, index, where);
        one_to_one |= input.kind == EdgeKind::kOneToOne;
      } else {
        CheckFiles(input.files, where);
      }
    }
    if (one_to_one && stage.reads_files()) {
      faults_.Add(where + ": files and a one-to-one edge both want to fix the number of tasks");
    }
    CheckSplits(stage, where);
    CheckPorts(stage, where);
  }

  void CheckSplits(const StageSpec& stage, const std::string& where) {
    for (const InputSpec& input : stage.inputs) {
      const bool fits = input.is_edge && (input.kind == EdgeKind::kAllToAll || input.kind == EdgeKind::kBroadcast);
      if (!stage.splits() || fits) continue;
      faults_.Add(where + ": a stage that splits fat partitions reads all-to-all and broadcast edges only");
    }
  }

  void CheckOutput() {
    if (spec_.output_uri.empty()) {
      faults_.Add("no output is given");
      return;
    }
    Status status = CheckUri(spec_.output_uri);
    if (status.code() == Code::kRejected) scheme_ = status;
    if (status.code() == Code::kInvalidArgument) faults_.Add("output " + status.message());
    while (spec_.output_uri.ends_with('/')) spec_.output_uri.pop_back();
    if (spec_.output_uri == "file:" || spec_.output_uri == "dfs:") faults_.Add("the root cannot be the output");
    if (spec_.output_uri.find("/../") != std::string::npos || spec_.output_uri.ends_with("/..")) {
      faults_.Add("the output path must not contain '..'");
    }
  }

  void CheckUtility() {
    if (spec_.utility.size() > kMaxUtilityPoints) {
      faults_.Add("its utility has more than " + std::to_string(kMaxUtilityPoints) + " points");
      return;
    }
    const UtilityPoint* before = nullptr;
    for (UtilityPoint& point : spec_.utility) {
      point.at = std::min(point.at, kMostTime);
      if (before != nullptr && point.at <= before->at) faults_.Add("the times of its utility must rise");
      if (!(std::abs(point.utility) <= 1e9)) faults_.Add("a utility is a number from -1e9 to 1e9");
      before = &point;
    }
    if (spec_.utility.size() == 1) faults_.Add("its utility needs two points or more");
  }

  void CheckSideFiles() {
    if (spec_.files.size() > kMaxSideFiles) {
      faults_.Add("it has more than " + std::to_string(kMaxSideFiles) + " side files");
      return;
    }
    std::set<std::string_view> names;
    for (const SideFile& f : spec_.files) {
      const bool usable = !f.name.empty() && f.name.size() <= 200 && Printable(f.name) && f.name != "." &&
                          f.name != ".." && f.name.find('/') == std::string::npos;
      if (!usable) faults_.Add("a side file has the name '" + f.name + "', which is no name of a file");
      if (!IsSha256(f.sha256)) faults_.Add("side file '" + f.name + "' must be named by its SHA-256, too");
      if (!names.insert(f.name).second) faults_.Add("two side files have the name '" + f.name + "'");
    }
  }

  void CheckHead() {
    if (spec_.queue.empty()) spec_.queue = "default";
    // A time past a year is none; the bound keeps the arithmetic away from overflow.
    spec_.deadline = std::min(spec_.deadline, kMostTime);
    spec_.task_timeout = std::min(spec_.task_timeout, kMostTime);
    CheckUtility();
    if (spec_.name.empty() || spec_.name.size() > 200 || !Printable(spec_.name)) {
      faults_.Add("the job's name must be 1 to 200 printable bytes");
    }
    if (!spec_.library.empty() && !IsSha256(spec_.library)) {
      faults_.Add("the library must be named by its SHA-256 in lower-case hexadecimal digits");
    }
    CheckSideFiles();
    std::string list;
    for (const std::string& policy : spec_.policies) list += (list.empty() ? "" : ",") + policy;
    if (!list.empty()) {
      if (Status status = sched::Scheduler::CheckJobPolicies(list); !status.ok()) faults_.Add(status.message());
    }
    if (!Known(spec_.speculation)) faults_.Add("unknown wish for speculation");
    if (!Known(spec_.clones)) faults_.Add("unknown wish for clones");
  }

  JobSpec& spec_;
  Faults faults_;
  Status scheme_;
  std::vector<std::vector<PortUse>> uses_;  // by stage and port
  std::set<std::string> output_names_;
};

// How many tasks a stage has that splits fat partitions is known late, and so it is of those that read it one-to-one.
// Where one of these has another input that fixes the number before, nothing is split: only the tasks differ.
void LeaveFixedTasksAlone(std::vector<StageSpec>* stages) {
  constexpr uint32_t kNone = UINT32_MAX;
  std::vector<uint32_t> origin(stages->size(), kNone);  // of the number of tasks, where it is known late
  for (uint32_t s = 0; s < stages->size(); ++s) {
    if ((*stages)[s].splits()) origin[s] = s;
    std::vector<uint32_t> origins;  // of each input that fixes the number
    for (const InputSpec& input : (*stages)[s].inputs) {
      if (!input.is_edge || origin[s] == s) continue;
      if (input.kind == EdgeKind::kOneToOne) origins.push_back(origin[input.stage]);
      if (input.kind == EdgeKind::kAllToAll) origins.push_back(kNone);
    }
    if (origins.empty()) continue;
    const bool agree = std::all_of(origins.begin(), origins.end(), [&](uint32_t o) { return o == origins.front(); });
    if (agree) {
      origin[s] = origins.front();
      continue;
    }
    for (const uint32_t o : origins) {
      if (o == kNone) continue;
      for (InputSpec& input : (*stages)[o].inputs) input.splits = false;
      for (uint32_t& other : origin) other = other == o ? kNone : other;
    }
  }
}

Status Checker::Check() {
  CheckHead();
  CheckOutput();
  if (spec_.stages.empty()) faults_.Add("it has no stage");
  if (spec_.stages.size() > kMaxStages) {
    faults_.Add("it has more than " + std::to_string(kMaxStages) + " stages");
    return faults_.ToStatus();
  }
  bool any_final = false;
  for (uint32_t s = 0; s < spec_.stages.size(); ++s) {
    CheckStage(spec_.stages[s], s);
    any_final |= spec_.stages[s].is_final();
  }
  for (size_t s = 0; s < uses_.size(); ++s) {
    for (size_t p = 0; p < uses_[s].size(); ++p) {
      const PortUse& use = uses_[s][p];
      if (!use.files && !use.all_to_all && !use.whole) {
        faults_.Add("nobody reads port " + std::to_string(p) + " of stage '" + spec_.stages[s].name + "'");
      }
    }
  }
  if (!any_final) faults_.Add("no stage writes files");
  return faults_.empty() ? scheme_ : faults_.ToStatus();
}

}  // namespace

Result<JobSpec> CheckSpec(JobSpec spec) {
  MR_RETURN_IF_ERROR(Checker(spec).Check());
  LeaveFixedTasksAlone(&spec.stages);
  return spec;
}

sched::JobGraph GraphOf(const JobSpec& spec) {
  sched::JobGraph graph;
  for (const StageSpec& s : spec.stages) {
    sched::StageSpec out;
    out.name = s.name;
    out.slot_kind = s.is_map() ? sched::SlotKind::kMap : sched::SlotKind::kReduce;
    out.side_effects = (s.flags & MR_SIDE_EFFECTS) != 0;
    out.is_final = s.is_final();
    if (spec.max_failures != 0) out.max_failures = spec.max_failures;
    out.memory_bytes = spec.MemoryOf(s);
    for (const InputSpec& i : s.inputs) out.inputs.push_back({i.is_edge, i.kind, i.stage});
    graph.stages.push_back(std::move(out));
  }
  return graph;
}

}  // namespace mr::master
