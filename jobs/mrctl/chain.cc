#include "jobs/mrctl/chain.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "common/base/file_format.h"
#include "common/base/text.h"
#include "jobs/mrctl/csv_stages.h"
#include "jobs/mrctl/job_spec.h"

namespace mr::ctl {
namespace {

bool IsOperator(const PlannedStep& step) { return !step.step.op.empty(); }

std::string StageText(const JobStep& step, const PlanStage& stage) {
  return StepText(step.name) + "its stage '" + stage.name + "' ";
}

class Chain {
 public:
  Chain(std::vector<PlannedStep> steps, JobFileFaults* faults) : steps_(std::move(steps)), faults_(faults) {
    for (const PlannedStep& s : steps_) names_.push_back(s.step.name);
    read_.resize(steps_.size());
    first_.resize(steps_.size());
  }

  Plan Make() {
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (IsOperator(steps_[i])) MakeOperatorInputs(i);
    }
    std::vector<std::vector<size_t>> reads(steps_.size());
    for (size_t i = 0; i < steps_.size(); ++i) reads[i] = Resolve(i);
    if (!faults_->empty()) return {};
    const std::vector<size_t> order = OrderSteps(names_, reads, faults_);
    for (const size_t i : order) Append(i);
    for (const size_t i : order) MakePorts(i);
    CheckOutput();
    return std::move(plan_);
  }

 private:
  // Makes the inputs of an operator's stage: all its paths together are one input, and each step that it names is
  // another.
  void MakeOperatorInputs(size_t i) {
    const JobStep& step = steps_[i].step;
    PlanStage& stage = steps_[i].plan.stages[0];
    if (!step.inputs_given && i == 0) {
      PlanInput input;
      input.files = true;
      input.input = -1;
      input.format = step.format.empty() ? "text" : step.format;
      stage.inputs.push_back(std::move(input));
      return;
    }
    bool files = false;
    for (size_t k = 0; k < step.inputs.size(); ++k) {
      PlanInput input;
      input.files = true;
      input.format = step.format.empty() ? "text" : step.format;
      input.kind = step.edges.empty() ? "one_to_one" : step.edges[step.edges.size() == 1 ? 0 : k];
      if (IsStepRef(step.inputs[k])) {
        input.uris = {step.inputs[k]};
      } else if (std::exchange(files, true)) {
        continue;
      } else {
        for (const std::string& word : step.inputs) {
          if (!IsStepRef(word)) input.uris.push_back(word);
        }
      }
      stage.inputs.push_back(std::move(input));
    }
  }

  // Resolves each file input of the step's plan. Returns the steps that it reads.
  std::vector<size_t> Resolve(size_t i) {
    const JobStep& step = steps_[i].step;
    std::vector<size_t> from;
    int highest = -1;
    for (const PlanStage& stage : steps_[i].plan.stages) {
      for (const PlanInput& in : stage.inputs) {
        if (in.files && in.uris.empty()) highest = std::max(highest, in.input);
      }
    }
    std::set<size_t> used;
    for (PlanStage& stage : steps_[i].plan.stages) {
      for (PlanInput& in : stage.inputs) {
        if (!in.files) continue;
        if (i == 0 && !step.inputs_given && in.uris.empty()) {
          TakeFormat(step, stage, &in);
          continue;
        }
        const bool own = !in.uris.empty();
        if (!own && (in.input < 0 || highest == 0)) {
          in.uris = step.inputs;
          for (size_t k = 0; k < step.inputs.size(); ++k) used.insert(k);
        } else if (!own && static_cast<size_t>(in.input) >= step.inputs.size()) {
          faults_->Add(StepText(step.name) + "its job reads " + std::to_string(highest + 1) +
                       " inputs, but 'input' lists " + std::to_string(step.inputs.size()) +
                       ": list them all, in the job's order");
          return from;
        } else if (!own) {
          in.uris = {step.inputs[static_cast<size_t>(in.input)]};
          used.insert(static_cast<size_t>(in.input));
        }
        if (!own) TakeFormat(step, stage, &in);
        for (const std::string& word : in.uris) {
          if (!IsStepRef(word)) continue;
          if (const auto at = Find(step, word)) from.push_back(*at);
        }
        CheckWords(step, stage, in);
      }
    }
    if (step.inputs_given && !IsOperator(steps_[i])) {
      for (size_t k = 0; k < step.inputs.size(); ++k) {
        if (!used.contains(k))
          faults_->Add(StepText(step.name) + "its job does not read input '" + step.inputs[k] + "'");
      }
    }
    return from;
  }

  // The step's format overrides its plan's, like --format.
  void TakeFormat(const JobStep& step, const PlanStage& stage, PlanInput* in) {
    PlanInput as_option = *in;
    as_option.uris.clear();  // they are not the job's own arguments
    const std::string format = FormatOf(as_option, step.format);
    if (in->only_format && format != in->format) {
      faults_->Add(StageText(step, stage) + "reads files of format " + in->format + " only, not " + format);
    }
    in->format = format;
  }

  // Arguments of the job may name steps, too; these are resolved here for the first time.
  std::optional<size_t> Find(const JobStep& step, const std::string& word) {
    const auto ref = ParseStepRef(word);
    const auto at = ref.ok() ? std::find(names_.begin(), names_.end(), ref->step) : names_.end();
    if (at != names_.end()) return static_cast<size_t>(at - names_.begin());
    const std::vector<std::string_view> views(names_.begin(), names_.end());
    faults_->Add(StepText(step.name) +
                 (ref.ok() ? "reads " + word + ", but no step has that name" + DidYouMean(ref->step, views)
                           : ref.status().message()));
    return std::nullopt;
  }

  void CheckWords(const JobStep& step, const PlanStage& stage, const PlanInput& in) {
    const auto refs = std::count_if(in.uris.begin(), in.uris.end(), IsStepRef);
    if (refs == 0 || in.uris.size() == 1) return;
    faults_->Add(StageText(step, stage) + "reads " +
                 (static_cast<size_t>(refs) == in.uris.size() ? "several steps" : "a step and files") +
                 " as one input; an input is one step, or files: add a step for each of them");
  }

  // Returns the only stage of a job that writes files. Reports a fault if there is none, or if there are several.
  std::optional<uint32_t> WriterOf(const JobStep& reader, size_t i) {
    std::optional<uint32_t> writer;
    const size_t count = steps_[i].plan.stages.size();
    for (uint32_t s = first_[i]; s < first_[i] + count; ++s) {
      for (const PlanPort& port : plan_.stages[s].ports) {
        if (!port.files) continue;
        if (writer.has_value()) {
          faults_->Add(StepText(reader.name) + "cannot read @" + names_[i] +
                       ", which writes files in more than one stage or under several names: "
                       "run it as a separate job, and read its OUTPUT/part-* or OUTPUT/NAME-*");
          return std::nullopt;
        }
        writer = s;
      }
    }
    if (!writer.has_value())
      faults_->Add(StepText(reader.name) + "cannot read @" + names_[i] + ", which writes no files");
    return writer;
  }

  void Append(size_t i) {
    PlannedStep& planned = steps_[i];
    const JobStep& step = planned.step;
    first_[i] = static_cast<uint32_t>(plan_.stages.size());
    const bool alone = planned.plan.stages.size() == 1;
    for (PlanStage& stage : planned.plan.stages) {
      PlanStage out = stage;
      out.name = alone ? step.name : step.name + "." + stage.name;
      out.builtin = planned.builtin;
      // For example step "a" with a stage "b.c", and step "a.b" with a stage "c".
      if (const auto [other, fresh] = named_.emplace(out.name, i); !fresh) {
        faults_->Add("steps '" + names_[other->second] + "' and '" + step.name + "' would both have a stage '" +
                     out.name + "': rename one of them");
      }
      const auto flags = planned.plan.operator_flags.find(stage.op);
      if (flags != planned.plan.operator_flags.end()) out.flags = flags->second;
      out.types = planned.plan.TypesOf(stage);
      out.calls = planned.plan.CallsOf(stage);
      for (PlanInput& in : out.inputs) {
        if (!in.files) {
          in.from += first_[i];
        } else if (in.uris.size() == 1 && IsStepRef(in.uris[0])) {
          in = IsOperator(planned) ? OperatorEdge(step, stage, in) : FilesEdge(step, stage, in);
        }
      }
      CheckTasks(step, stage, out);
      if (!IsOperator(planned) && step.tasks != 0 && TakesReduces(out)) out.tasks = step.tasks;
      plan_.stages.push_back(std::move(out));
    }
  }

  // The config of the built-in table jobs has whether a file's first line is a header. A step whose input lacks one
  // gets --no-header, and writes none then: the steps behind it are checked as if it had the option.
  void CheckHeader(const JobStep& step, const PlanStage& stage, const PlanInput& in) {
    if (!ParseCsvFormat(in.format) || ("\n" + stage.config).find("\nheader=1\n") == std::string::npos) return;
    if (!headerless_[step.name].insert(in.uris[0]).second) return;  // another stage of the step
    faults_->Add(StepText(step.name) + "reads the first line of each file of " + in.uris[0] +
                 " as a header, but that step writes none: put --no-header into its args, and name columns by number");
  }

  // Returns whether the stage reads csv files of a step with their headers. Others read the rows only: a header of each
  // upstream task would be a record among them.
  static bool TakesHeader(const PlanStage& stage, const PlanInput& in) {
    return ParseCsvFormat(in.format) && ("\n" + stage.config).find("\nheader=0\n") == std::string::npos;
  }

  void CheckTasks(const JobStep& step, const PlanStage& stage, const PlanStage& out) {
    bool files = false, one_to_one = false;
    for (const PlanInput& in : out.inputs) {
      files |= in.files;
      one_to_one |= !in.files && in.kind == "one_to_one";
    }
    if (!files || !one_to_one) return;
    faults_->Add(StageText(step, stage) + "reads files and, one-to-one, a step: both would decide its number of tasks");
  }

  // Returns the edge in place of the files that the step would have written.
  PlanInput FilesEdge(const JobStep& step, const PlanStage& stage, const PlanInput& in) {
    const StepRef ref = *ParseStepRef(in.uris[0]);
    const size_t from = *Find(step, in.uris[0]);
    PlanInput edge;
    edge.kind = "one_to_one";
    edge.port = ref.port;
    edge.format = in.format;
    edge.written = "text";
    edge.file = "@" + ref.step;
    edge.sample_bytes = in.sample_bytes;
    if (IsOperator(steps_[from])) {
      CheckHeader(step, stage, in);
      if (in.format == "record") {
        faults_->Add(StageText(step, stage) + "reads format record, but '" + names_[from] +
                     "' is an operator, and its records are read as text; read it as text or kv");
      }
      edge.from = first_[from];
      read_[from].insert(ref.port);
      ports_[{edge.from, ref.port}].plain = true;
      return edge;
    }
    if (ref.port != 0)
      faults_->Add(StageText(step, stage) + "reads " + in.uris[0] + ", but a job's step has no numbered ports");
    const auto writer = WriterOf(step, from);
    if (!writer.has_value()) return edge;
    edge.from = *writer;
    edge.port = 0;
    read_[from].insert(0);
    const std::string& port_format = plan_.stages[*writer].ports[0].format;
    const auto written = ParseOutputFormat(port_format);
    const bool records = written.ok() && written->kind == FileFormat::Kind::kRecord;
    if (records != (in.format == "record")) {
      faults_->Add(StageText(step, stage) + "reads files of format " + in.format + ", but step '" + names_[from] +
                   "' writes " + port_format);
    }
    const bool header = written.ok() && written->kind == FileFormat::Kind::kCsv && !headerless_.contains(names_[from]);
    if (!header) CheckHeader(step, stage, in);
    // From files written as csv the host leaves out the header.
    edge.written = header && TakesHeader(stage, in)
                       ? "text"
                       : port_format.substr(0, port_format.size() - Suffix(CompressionOfName(port_format)).size());
    if (records) edge.format.clear();  // batches, unchanged
    return edge;
  }

  // Returns an edge with the records of another operator, or with the files of a job.
  PlanInput OperatorEdge(const JobStep& step, const PlanStage& stage, const PlanInput& in) {
    const StepRef ref = *ParseStepRef(in.uris[0]);
    const size_t from = *Find(step, in.uris[0]);
    if (!IsOperator(steps_[from]) || !step.format.empty()) {
      PlanInput edge = FilesEdge(step, stage, in);
      if (in.kind == "group" || in.kind == "all_to_all") {
        faults_->Add(StepText(step.name) + "cannot read " + in.uris[0] + " by edge " + in.kind +
                     ": files have no keys to partition by; put a step with a mapper in between");
      }
      edge.kind = in.kind;
      return edge;
    }
    PlanInput edge;
    edge.grouped = in.kind == "group";
    edge.kind = edge.grouped ? "all_to_all" : in.kind;
    edge.from = first_[from];
    edge.port = ref.port;
    read_[from].insert(ref.port);
    PortUse& use = ports_[{edge.from, ref.port}];
    (edge.kind == "all_to_all" ? use.dealt : use.plain) = true;
    use.sorted |= edge.grouped;
    return edge;
  }

  void MakePorts(size_t i) {
    const JobStep& step = steps_[i].step;
    if (!IsOperator(steps_[i])) {
      if (read_[i].empty()) return;
      for (uint32_t s = first_[i]; s < first_[i] + steps_[i].plan.stages.size(); ++s) {
        if (!plan_.stages[s].ports.empty() && plan_.stages[s].ports[0].files) plan_.stages[s].ports = {PlanPort{}};
      }
      return;
    }
    PlanStage& stage = plan_.stages[first_[i]];
    if (read_[i].empty()) {
      PlanPort port;
      port.files = true;
      port.format = step.output_format.empty() ? "text" : step.output_format;
      stage.ports = {port};
      return;
    }
    if (!step.output_format.empty())
      faults_->Add(StepText(step.name) + "output_format is for a step that no other reads");
    for (uint32_t p = 0; p <= *read_[i].rbegin(); ++p) {
      const PortUse& use = ports_[{first_[i], p}];
      if (!read_[i].contains(p)) faults_->Add(StepText(step.name) + "nothing reads its port " + std::to_string(p));
      if (use.dealt && use.plain) {
        faults_->Add(StepText(step.name) + "its port " + std::to_string(p) +
                     " is read by keys (group, all_to_all) and also without; " + "give the operator a port for each");
      }
      PlanPort port;
      port.sorted = use.sorted;
      port.combine = step.combine && use.sorted;
      port.custom_partition = step.custom_partition && use.dealt;
      stage.ports.push_back(port);
    }
  }

  void CheckOutput() {
    if (!faults_->empty()) return;
    std::string writers;
    int count = 0;
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (!read_[i].empty()) continue;
      writers += (count++ == 0 ? "'" : ", '") + names_[i] + "'";
    }
    if (count > 1) {
      faults_->Add("the steps " + writers +
                   " are not read by others, so each would write the job's output; a job has one: let the "
                   "others be read, or submit them as separate jobs");
    }
  }

  struct PortUse {
    bool sorted = false, dealt = false, plain = false;
  };

  std::vector<PlannedStep> steps_;
  JobFileFaults* faults_;
  Plan plan_;
  std::vector<std::string> names_;
  std::map<std::string, size_t> named_;                      // by stage: its step
  std::map<std::string, std::set<std::string>> headerless_;  // by step: inputs without the header that it reads
  std::vector<uint32_t> first_;                              // by step: index of its first stage
  std::vector<std::set<uint32_t>> read_;                     // by step: ports that others read
  std::map<std::pair<uint32_t, uint32_t>, PortUse> ports_;   // ports of operators, by stage and port
};

}  // namespace

Plan ChainPlans(std::vector<PlannedStep> steps, JobFileFaults* faults) {
  return Chain(std::move(steps), faults).Make();
}

}  // namespace mr::ctl
