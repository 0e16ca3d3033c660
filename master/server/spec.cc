#include "master/server/spec.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>
#include <set>

#include "common/abi/operator_table.h"
#include "common/base/digest.h"
#include "common/base/file_format.h"
#include "common/base/text.h"
#include "master/sched/scheduler.h"

namespace mr::master {
namespace {

std::string Str(capnp::Text::Reader text) { return {text.begin(), text.size()}; }

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

constexpr uint64_t kMostMs = 366ull * 86'400'000;  // a year
constexpr size_t kMaxOperatorName = 200;           // of what is remembered of one

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

sched::EdgeKind KindOf(rpc::EdgeKind kind, bool* ok) {
  *ok = true;
  switch (kind) {
    case rpc::EdgeKind::ALL_TO_ALL: return sched::EdgeKind::kAllToAll;
    case rpc::EdgeKind::MANY_TO_ONE: return sched::EdgeKind::kManyToOne;
    case rpc::EdgeKind::ONE_TO_ONE: return sched::EdgeKind::kOneToOne;
    case rpc::EdgeKind::BROADCAST: return sched::EdgeKind::kBroadcast;
    case rpc::EdgeKind::UNSET: break;
  }
  *ok = false;
  return sched::EdgeKind::kAllToAll;
}

FileSource ReadFiles(rpc::FileInput::Reader in, const std::string& where, Faults* faults, Status* scheme) {
  FileSource files;
  files.format = Str(in.getFormat());
  files.max_split_bytes = in.getMaxSplitBytes();
  files.sample_bytes = in.getSampleBytes();
  CheckFormat(ParseInputFormat(files.format), where, faults);
  if (in.getUris().size() == 0) faults->Add(where + " has no input path");
  if (in.getUris().size() > kMaxUris) {
    faults->Add(where + " has more than " + std::to_string(kMaxUris) + " paths; use a directory or a glob");
    return files;
  }
  for (auto uri : in.getUris()) {
    files.uris.push_back(Str(uri));
    Status status = CheckUri(files.uris.back());
    if (status.code() == Code::kRejected) *scheme = status;
    if (status.code() == Code::kInvalidArgument) faults->Add(where + ": " + status.message());
  }
  return files;
}

// The use of a port by its readers: all of them by all-to-all edges, or all by others.
struct PortUse {
  bool files = false, sorted = false, all_to_all = false, whole = false;
};

struct Reader {
  rpc::JobSpec::Reader in;
  JobSpec spec;
  Faults faults;
  Status scheme;
  std::vector<std::vector<PortUse>> uses;
  std::set<std::string> output_names;

  void ReadEdge(rpc::EdgeInput::Reader edge, uint32_t own, const std::string& where, InputSpec* out) {
    bool known;
    out->is_edge = true;
    out->kind = KindOf(edge.getKind(), &known);
    out->stage = edge.getStage();
    out->port = edge.getPort();
    out->splits = edge.getSplits();
    if (!known) faults.Add(where + ": unknown edge kind");
    if (out->stage >= own) {
      faults.Add(where + ": an edge must come from an earlier stage, this one from number " +
                 std::to_string(out->stage));
      return;
    }
    auto& ports = uses[out->stage];
    if (out->port >= ports.size()) {
      faults.Add(where + ": stage '" + spec.stages[out->stage].name + "' has no port " + std::to_string(out->port));
      return;
    }
    PortUse& use = ports[out->port];
    if (use.files) faults.Add(where + ": reads a port that writes files");
    if (edge.getQuotes() && out->kind != sched::EdgeKind::kBroadcast) {
      faults.Add(where + ": quotes come by a broadcast");
    }
    if (edge.getFormat().size() != 0) {
      CheckFormat(ParseInputFormat(Str(edge.getFormat())), where, &faults);
      auto written = ParseOutputFormat(Str(edge.getWritten()));
      CheckFormat(written, where, &faults);
      if (written.ok() && (written->compression != Compression::kNone || written->kind == FileFormat::Kind::kRecord)) {
        faults.Add(where + ": an edge is read as files of format text, raw or fixed:N, which are not compressed");
      }
      if (edge.getGrouped() || edge.getQuotes() || out->kind == sched::EdgeKind::kAllToAll) {
        faults.Add(where + ": an edge read as files has whole outputs, so it is neither all-to-all nor grouped");
      }
    }
    if (out->splits && out->kind != sched::EdgeKind::kAllToAll) {
      faults.Add(where + ": only partitions of an all-to-all edge can be split");
    }
    if (edge.getGrouped() && !use.sorted) faults.Add(where + ": grouped input needs a sorted port");
    (out->kind == sched::EdgeKind::kAllToAll ? use.all_to_all : use.whole) = true;
    if (use.all_to_all && use.whole) {
      faults.Add(where + ": a port is read either by all-to-all edges or by others, give the operator a second port");
    }
  }

  // The first files of a stage have no name, the others one that no other output of the job has.
  void ReadOutputName(const std::string& name, uint32_t before, const std::string& where) {
    if (name.empty() && before == 0) return;
    const bool usable = !name.empty() && name.size() <= 100 && std::isalnum(static_cast<unsigned char>(name[0])) &&
                        std::all_of(name.begin(), name.end(), [](unsigned char c) {
                          return std::isalnum(c) || c == '_' || c == '-' || c == '.';
                        });
    if (!usable || before == 0 || name == "part") {
      faults.Add(where + ": '" + name + "' is no name of a further output; take letters, digits, '_', '-', '.'");
    } else if (!output_names.insert(name).second) {
      faults.Add(where + ": two outputs have the name '" + name + "'");
    }
  }

  void ReadPorts(rpc::StageSpec::Reader stage, const std::string& where, StageSpec* out) {
    uint32_t file_ports = 0;
    auto& ports = uses.emplace_back();
    for (auto port : stage.getPorts()) {
      PortUse use;
      switch (port.which()) {
        case rpc::PortSpec::SHUFFLE: use.sorted = port.getShuffle().getSorted(); break;
        case rpc::PortSpec::FILES:
          use.files = true;
          ReadOutputName(Str(port.getFiles().getName()), file_ports++, where);
          CheckFormat(ParseOutputFormat(Str(port.getFiles().getFormat())), where, &faults);
          break;
        default: faults.Add(where + ": unknown kind of port");
      }
      ports.push_back(use);
    }
    out->ports = static_cast<uint32_t>(ports.size());
    out->is_final = file_ports > 0;
    if (ports.empty()) faults.Add(where + " has no output port");
    if (ports.size() > 64) faults.Add(where + " has more than 64 output ports");
    if (file_ports > 0 && file_ports < ports.size()) {
      faults.Add(where + ": a stage has either shuffle ports or files ports");
    }
  }

  std::string OperatorOf(rpc::StageSpec::Reader stage) {
    const std::string name = Str(stage.getOperator()).substr(0, kMaxOperatorName);
    if (!spec.library.empty() && !stage.getBuiltin()) return spec.library + ":" + name;
    const auto config = stage.getConfig();
    const Digest128 digest = Hash128({reinterpret_cast<const char*>(config.begin()), config.size()});
    return "built-in:" + name + ":" + digest.Hex();
  }

  void ReadStage(rpc::StageSpec::Reader stage, uint32_t index) {
    StageSpec out;
    out.name = Str(stage.getName());
    out.tasks = stage.getTasks();
    out.task_bytes = stage.getTaskBytes();
    out.memory_bytes = stage.getMemoryBytes();
    out.flags = stage.getFlags();
    out.op = OperatorOf(stage);
    const std::string where = "stage '" + out.name + "'";
    if (out.name.empty() || out.name.size() > 200 || !Printable(out.name)) {
      faults.Add("stage " + std::to_string(index) + " has no usable name");
    }
    for (const auto& other : spec.stages) {
      if (other.name == out.name) faults.Add("two stages are named '" + out.name + "'");
    }
    if (stage.getOperator().size() == 0) faults.Add(where + " has no operator");
    if (stage.getConfig().size() > kMaxConfigBytes) faults.Add(where + ": its config is larger than 256 KiB");
    if (out.tasks > kMaxTasks) faults.Add(where + ": at most " + std::to_string(kMaxTasks) + " tasks");
    if (stage.getInputs().size() == 0 && out.tasks == 0) {
      faults.Add(where + " has no input, so its number of tasks must be given");
    }
    bool one_to_one = false;
    for (auto input : stage.getInputs()) {
      auto& i = out.inputs.emplace_back();
      switch (input.which()) {
        case rpc::InputSpec::FILES: i.files = ReadFiles(input.getFiles(), where, &faults, &scheme); break;
        case rpc::InputSpec::EDGE:
          ReadEdge(input.getEdge(), index, where, &i);
          one_to_one |= i.kind == sched::EdgeKind::kOneToOne;
          break;
        default: faults.Add(where + ": unknown kind of input");
      }
    }
    if (one_to_one && out.reads_files()) {
      faults.Add(where + ": files and a one-to-one edge both want to fix the number of tasks");
    }
    CheckSplits(out, where);
    ReadPorts(stage, where, &out);
    spec.stages.push_back(std::move(out));
  }

  void CheckSplits(const StageSpec& stage, const std::string& where) {
    for (const InputSpec& input : stage.inputs) {
      const bool fits =
          input.is_edge && (input.kind == sched::EdgeKind::kAllToAll || input.kind == sched::EdgeKind::kBroadcast);
      if (!stage.splits() || fits) continue;
      faults.Add(where + ": a stage that splits fat partitions reads all-to-all and broadcast edges only");
    }
  }

  void ReadOutput() {
    spec.output_uri = Str(in.getOutput().getUri());
    spec.overwrite = in.getOutput().getOverwrite();
    if (spec.output_uri.empty()) {
      faults.Add("no output is given");
      return;
    }
    Status status = CheckUri(spec.output_uri);
    if (status.code() == Code::kRejected) scheme = status;
    if (status.code() == Code::kInvalidArgument) faults.Add("output " + status.message());
    while (spec.output_uri.ends_with('/')) spec.output_uri.pop_back();
    if (spec.output_uri == "file:" || spec.output_uri == "dfs:") faults.Add("the root cannot be the output");
    if (spec.output_uri.find("/../") != std::string::npos || spec.output_uri.ends_with("/..")) {
      faults.Add("the output path must not contain '..'");
    }
  }

  sched::Wish ReadWish(rpc::Wish wish, const char* what) {
    switch (wish) {
      case rpc::Wish::AUTO: return sched::Wish::kAuto;
      case rpc::Wish::ON: return sched::Wish::kOn;
      case rpc::Wish::OFF: return sched::Wish::kOff;
    }
    faults.Add(std::string("unknown wish for ") + what);
    return sched::Wish::kAuto;
  }

  void ReadUtility() {
    if (in.getUtility().size() > kMaxUtilityPoints) {
      faults.Add("its utility has more than " + std::to_string(kMaxUtilityPoints) + " points");
      return;
    }
    for (auto point : in.getUtility()) {
      const Duration at = Millis(static_cast<int64_t>(std::min<uint64_t>(point.getAtMs(), kMostMs)));
      if (!spec.utility.empty() && at <= spec.utility.back().at) faults.Add("the times of its utility must rise");
      if (!(std::abs(point.getUtility()) <= 1e9)) faults.Add("a utility is a number from -1e9 to 1e9");
      spec.utility.push_back({at, point.getUtility()});
    }
    if (spec.utility.size() == 1) faults.Add("its utility needs two points or more");
  }

  void ReadSideFiles() {
    if (in.getFiles().size() > kMaxSideFiles) {
      faults.Add("it has more than " + std::to_string(kMaxSideFiles) + " side files");
      return;
    }
    for (auto file : in.getFiles()) {
      const SideFile f{Str(file.getName()), Str(file.getSha256())};
      const bool usable = !f.name.empty() && f.name.size() <= 200 && Printable(f.name) && f.name != "." &&
                          f.name != ".." && f.name.find('/') == std::string::npos;
      if (!usable) faults.Add("a side file has the name '" + f.name + "', which is no name of a file");
      if (!IsSha256(f.sha256)) faults.Add("side file '" + f.name + "' must be named by its SHA-256, too");
      for (const SideFile& other : spec.files) {
        if (other.name == f.name) faults.Add("two side files have the name '" + f.name + "'");
      }
      spec.files.push_back(f);
    }
  }

  void ReadHead() {
    spec.name = Str(in.getName());
    spec.queue = in.getQueue().size() == 0 ? "default" : Str(in.getQueue());
    spec.library = Str(in.getLibrary());
    spec.priority = in.getPriority();
    spec.max_failures = in.getMaxFailures();
    spec.memory_bytes = in.getMemoryBytes();
    // A deadline past a year is none; the bound keeps the arithmetic away from overflow.
    spec.deadline = Millis(static_cast<int64_t>(std::min(in.getDeadlineMs(), kMostMs)));
    spec.best_effort = in.getBestEffort();
    ReadUtility();
    if (spec.name.empty() || spec.name.size() > 200 || !Printable(spec.name)) {
      faults.Add("the job's name must be 1 to 200 printable bytes");
    }
    if (!spec.library.empty() && !IsSha256(spec.library)) {
      faults.Add("the library must be named by its SHA-256 in lower-case hexadecimal digits");
    }
    spec.max_bad_records = in.getMaxBadRecords();
    spec.task_timeout = Millis(static_cast<int64_t>(std::min(in.getTaskTimeoutMs(), kMostMs)));
    ReadSideFiles();
    std::string list;
    for (auto policy : in.getPolicies()) {
      spec.policies.push_back(Str(policy));
      list += (list.empty() ? "" : ",") + spec.policies.back();
    }
    if (!list.empty()) {
      if (Status status = sched::Scheduler::CheckJobPolicies(list); !status.ok()) faults.Add(status.message());
    }
    spec.speculation = ReadWish(in.getSpeculation(), "speculation");
    spec.clones = ReadWish(in.getClones(), "clones");
  }
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
      if (input.kind == sched::EdgeKind::kOneToOne) origins.push_back(origin[input.stage]);
      if (input.kind == sched::EdgeKind::kAllToAll) origins.push_back(kNone);
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

}  // namespace

Result<JobSpec> ReadSpec(rpc::JobSpec::Reader in) {
  Reader reader{in, {}, {}, {}, {}, {}};
  reader.ReadHead();
  reader.ReadOutput();
  if (in.getStages().size() == 0) reader.faults.Add("it has no stage");
  if (in.getStages().size() > kMaxStages) {
    reader.faults.Add("it has more than " + std::to_string(kMaxStages) + " stages");
    return reader.faults.ToStatus();
  }
  uint32_t index = 0;
  for (auto stage : in.getStages()) reader.ReadStage(stage, index++);
  bool any_final = false;
  for (size_t s = 0; s < reader.spec.stages.size(); ++s) {
    any_final |= reader.spec.stages[s].is_final;
    for (size_t p = 0; p < reader.uses[s].size(); ++p) {
      const PortUse& use = reader.uses[s][p];
      if (!use.files && !use.all_to_all && !use.whole) {
        reader.faults.Add("nobody reads port " + std::to_string(p) + " of stage '" + reader.spec.stages[s].name + "'");
      }
    }
  }
  if (!any_final) reader.faults.Add("no stage writes files");
  if (!reader.faults.empty()) return reader.faults.ToStatus();
  if (!reader.scheme.ok()) return reader.scheme;
  LeaveFixedTasksAlone(&reader.spec.stages);
  return std::move(reader.spec);
}

sched::JobGraph GraphOf(const JobSpec& spec) {
  sched::JobGraph graph;
  for (const StageSpec& s : spec.stages) {
    sched::StageSpec out;
    out.name = s.name;
    out.slot_kind = s.is_map() ? sched::SlotKind::kMap : sched::SlotKind::kReduce;
    out.side_effects = (s.flags & MR_SIDE_EFFECTS) != 0;
    out.is_final = s.is_final;
    if (spec.max_failures != 0) out.max_failures = spec.max_failures;
    out.memory_bytes = spec.MemoryOf(s);
    for (const InputSpec& i : s.inputs) out.inputs.push_back({i.is_edge, i.kind, i.stage});
    graph.stages.push_back(std::move(out));
  }
  return graph;
}

std::string CanonicalBytes(rpc::JobSpec::Reader reader) {
  const auto words = capnp::canonicalize(reader);
  const auto bytes = words.asBytes();
  return {reinterpret_cast<const char*>(bytes.begin()), bytes.size()};
}

SpecBytes::SpecBytes(const std::string& bytes)
    : words_(kj::heapArray<capnp::word>(bytes.size() / sizeof(capnp::word))) {
  std::memcpy(words_.begin(), bytes.data(), words_.size() * sizeof(capnp::word));
  segment_ = words_;
  capnp::ReaderOptions options;
  options.traversalLimitInWords = UINT64_MAX;  // it was checked before it was kept
  message_ = std::make_unique<capnp::SegmentArrayMessageReader>(kj::arrayPtr(&segment_, 1), options);
}

rpc::JobSpec::Reader SpecBytes::reader() { return message_->getRoot<rpc::JobSpec>(); }

}  // namespace mr::master
