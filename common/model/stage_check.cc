#include "common/model/stage_check.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <set>
#include <utility>

#include "common/base/file_format.h"

namespace mr {
namespace {

constexpr std::string_view kUrlSchemes[] = {"http://", "https://", "s3://"};

// The use of a port by its readers: all of them by all-to-all edges, or all by others.
struct PortUse {
  bool files = false, sorted = false, all_to_all = false, whole = false;
};

class StageChecker {
 public:
  StageChecker(const std::vector<StageSpec>& stages, StageFaults* out) : stages_(stages), out_(*out) {}

  void Check() {
    if (stages_.empty()) Add("it has no stage");
    if (stages_.size() > kMaxStages) return Add("it has more than " + std::to_string(kMaxStages) + " stages");
    bool any_final = false;
    for (uint32_t s = 0; s < stages_.size(); ++s) {
      CheckStage(stages_[s], s);
      any_final |= stages_[s].is_final();
    }
    for (size_t s = 0; s < uses_.size(); ++s) {
      for (size_t p = 0; p < uses_[s].size(); ++p) {
        const PortUse& use = uses_[s][p];
        if (!use.files && !use.all_to_all && !use.whole) {
          Add("nobody reads port " + std::to_string(p) + " of stage '" + stages_[s].name + "'");
        }
      }
    }
    if (!any_final) Add("no stage writes files");
  }

 private:
  void Add(std::string fault) { out_.faults.push_back(std::move(fault)); }

  void CheckFormat(const Result<FileFormat>& format, const std::string& where) {
    if (!format.ok()) Add(where + ": " + format.status().message());
  }

  void CheckFiles(const FileInput& files, const std::string& where) {
    CheckFormat(ParseInputFormat(files.format), where);
    if (files.uris.empty()) Add(where + " has no input path");
    if (files.uris.size() > kMaxUris) {
      Add(where + " has more than " + std::to_string(kMaxUris) + " paths; use a directory or a glob");
      return;
    }
    for (const std::string& uri : files.uris) {
      Status status = CheckInputUri(uri);
      if (status.code() == Code::kRejected) out_.scheme = status;
      if (status.code() == Code::kInvalidArgument) Add(where + ": " + status.message());
    }
  }

  void CheckEdge(const InputSpec& edge, uint32_t own, const std::string& where) {
    if (!Known(edge.kind)) Add(where + ": unknown edge kind");
    if (edge.stage >= own) {
      Add(where + ": an edge must come from an earlier stage, this one from number " + std::to_string(edge.stage));
      return;
    }
    auto& ports = uses_[edge.stage];
    if (edge.port >= ports.size()) {
      Add(where + ": stage '" + stages_[edge.stage].name + "' has no port " + std::to_string(edge.port));
      return;
    }
    PortUse& use = ports[edge.port];
    if (use.files) Add(where + ": reads a port that writes files");
    if (edge.quotes && edge.kind != EdgeKind::kBroadcast) Add(where + ": quotes come by a broadcast");
    if (!edge.format.empty()) {
      CheckFormat(ParseInputFormat(edge.format), where);
      auto written = ParseOutputFormat(edge.written);
      CheckFormat(written, where);
      if (written.ok() && (written->compression != Compression::kNone || written->kind == FileFormat::Kind::kRecord)) {
        Add(where + ": an edge is read as files of format text, raw or fixed:N, which are not compressed");
      }
      if (edge.grouped || edge.quotes || edge.kind == EdgeKind::kAllToAll) {
        Add(where + ": an edge read as files has whole outputs, so it is neither all-to-all nor grouped");
      }
    }
    if (edge.splits && edge.kind != EdgeKind::kAllToAll) {
      Add(where + ": only partitions of an all-to-all edge can be split");
    }
    if (edge.grouped && !use.sorted) Add(where + ": grouped input needs a sorted port");
    (edge.kind == EdgeKind::kAllToAll ? use.all_to_all : use.whole) = true;
    if (use.all_to_all && use.whole) {
      Add(where + ": a port is read either by all-to-all edges or by others, give the operator a second port");
    }
  }

  // The first files of a stage have no name, the others one that no other output of the job has. Jobs that read the
  // directory skip files with a leading '_'.
  void CheckOutputName(const std::string& name, uint32_t before, const std::string& where) {
    if (name.empty() && before == 0) return;
    const bool usable = !name.empty() && name.size() <= 100 &&
                        std::isalnum(static_cast<unsigned char>(name[name[0] == '_' && name.size() > 1 ? 1 : 0])) &&
                        std::all_of(name.begin(), name.end(), [](unsigned char c) {
                          return std::isalnum(c) || c == '_' || c == '-' || c == '.';
                        });
    if (!usable || before == 0 || name == "part") {
      Add(where + ": '" + name + "' is no name of a further output; take letters, digits, '_', '-', '.'");
    } else if (!output_names_.insert(name).second) {
      Add(where + ": two outputs have the name '" + name + "'");
    }
  }

  void CheckPorts(const StageSpec& stage, const std::string& where) {
    uint32_t file_ports = 0;
    auto& ports = uses_.emplace_back();
    for (const PortSpec& port : stage.ports) {
      if (port.unknown) Add(where + ": unknown kind of port");
      if (port.files) {
        CheckOutputName(port.name, file_ports++, where);
        CheckFormat(ParseOutputFormat(port.format), where);
      }
      ports.push_back({port.files, port.sorted, false, false});
    }
    if (ports.empty()) Add(where + " has no output port");
    if (ports.size() > 64) Add(where + " has more than 64 output ports");
    if (file_ports > 0 && file_ports < ports.size()) {
      Add(where + ": a stage has either shuffle ports or files ports");
    }
  }

  void CheckStage(const StageSpec& stage, uint32_t index) {
    const std::string where = "stage '" + stage.name + "'";
    if (stage.name.empty() || stage.name.size() > 200 || !PrintableName(stage.name)) {
      Add("stage " + std::to_string(index) + " has no usable name");
    }
    for (uint32_t other = 0; other < index; ++other) {
      if (stages_[other].name == stage.name) Add("two stages are named '" + stage.name + "'");
    }
    if (stage.operator_name.empty()) Add(where + " has no operator");
    if (stage.config.size() > kMaxConfigBytes) Add(where + ": its config is larger than 256 KiB");
    if (stage.tasks > kMaxTasks) Add(where + ": at most " + std::to_string(kMaxTasks) + " tasks");
    if (stage.inputs.empty() && stage.tasks == 0) {
      Add(where + " has no input, so its number of tasks must be given");
    }
    bool one_to_one = false;
    for (const InputSpec& input : stage.inputs) {
      if (input.unknown) {
        Add(where + ": unknown kind of input");
      } else if (input.is_edge) {
        CheckEdge(input, index, where);
        one_to_one |= input.kind == EdgeKind::kOneToOne;
      } else {
        CheckFiles(input.files, where);
      }
    }
    if (one_to_one && stage.reads_files()) {
      Add(where + ": files and a one-to-one edge both want to fix the number of tasks");
    }
    CheckSplits(stage, where);
    CheckPorts(stage, where);
  }

  void CheckSplits(const StageSpec& stage, const std::string& where) {
    for (const InputSpec& input : stage.inputs) {
      const bool fits = input.is_edge && (input.kind == EdgeKind::kAllToAll || input.kind == EdgeKind::kBroadcast);
      if (!stage.splits() || fits) continue;
      Add(where + ": a stage that splits fat partitions reads all-to-all and broadcast edges only");
    }
  }

  const std::vector<StageSpec>& stages_;
  StageFaults& out_;
  std::vector<std::vector<PortUse>> uses_;  // by stage and port
  std::set<std::string> output_names_;
};

}  // namespace

bool PrintableName(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return c >= 0x20 && c != 0x7f; });
}

Status CheckUri(const std::string& uri) {
  const bool file = uri.starts_with("file:///"), dfs = uri.starts_with("dfs:///");
  if (!PrintableName(uri)) return InvalidArgument("a URI contains control characters");
  if (file || dfs) return Status::Ok();
  for (const std::string_view scheme : kUrlSchemes) {
    if (!uri.starts_with(scheme)) continue;
    return Rejected("'" + uri + "': " + std::string(scheme) + " is for inputs only; use dfs:///path or file:///path " +
                    "that all workers share");
  }
  for (const char* scheme : {"hdfs://", "s3a://", "gs://"}) {
    if (uri.starts_with(scheme)) {
      return Rejected("'" + uri + "': " + scheme + " is not supported yet; use dfs:///path (mrctl fs put) or " +
                      "file:///path that all workers share");
    }
  }
  return InvalidArgument("'" + uri + "' is not an absolute URI; use file:///path or dfs:///path");
}

Status CheckInputUri(const std::string& uri) {
  constexpr size_t kMostUrlBytes = 4096;
  for (const std::string_view scheme : kUrlSchemes) {
    if (!uri.starts_with(scheme)) continue;
    if (!PrintableName(uri)) return InvalidArgument("a URL contains control characters");
    if (uri.size() > kMostUrlBytes) return InvalidArgument("a URL is longer than 4096 bytes");
    const std::string_view host = std::string_view(uri).substr(scheme.size());
    // The message must not repeat a password.
    if (scheme != "s3://" && host.substr(0, host.find_first_of("/?#")).find('@') != host.npos) {
      return InvalidArgument("a URL has a user name or a password, which jobs must not contain");
    }
    return Status::Ok();
  }
  return CheckUri(uri);
}

StageFaults CheckStages(const std::vector<StageSpec>& stages) {
  StageFaults found;
  StageChecker(stages, &found).Check();
  return found;
}

}  // namespace mr
