#include "master/core/spec_check.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/abi/operator_table.h"
#include "common/model/stage_check.h"
#include "master/sched/scheduler.h"

namespace mr::master {
namespace {

bool IsSha256(const std::string& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
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

class Checker {
 public:
  explicit Checker(JobSpec& spec) : spec_(spec) {}
  Status Check();

 private:
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
      const bool usable = !f.name.empty() && f.name.size() <= 200 && PrintableName(f.name) && f.name != "." &&
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
    if (spec_.name.empty() || spec_.name.size() > 200 || !PrintableName(spec_.name)) {
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
  const StageFaults stages = CheckStages(spec_.stages);
  for (const std::string& fault : stages.faults) faults_.Add(fault);
  if (!stages.scheme.ok()) scheme_ = stages.scheme;
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
