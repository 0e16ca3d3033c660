#include "jobs/mrctl/job_steps.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <iterator>

#include "common/base/count.h"
#include "common/base/text.h"
#include "jobs/mrctl/job_file.h"

namespace mr::ctl {
namespace {

using Entry = KeyTable::Entry;

constexpr uint32_t kMostStepTasks = 100'000;  // the master's limit
constexpr std::string_view kEdges[] = {"group", "all_to_all", "many_to_one", "one_to_one", "broadcast"};
constexpr std::string_view kOfJobs[] = {"args", "reduces"};
constexpr std::string_view kOfOperators[] = {"config", "edge", "tasks", "combine", "custom_partition", "output_format"};

bool NameIsPlain(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
  });
}

// Reads one step. Errors go to `faults` as "reduces takes ...".
struct StepReader {
  JobStep step;
  std::vector<std::string> keys, faults;

  void One(const Entry& e, std::string* to) {
    if (e.list || e.values.size() != 1) {
      faults.push_back(e.key + " takes one value");
    } else {
      *to = e.values[0];
    }
  }
  void Number(const Entry& e, uint32_t* to) {
    std::string text;
    One(e, &text);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *to);
    const bool whole = !text.empty() && error == std::errc() && end == text.data() + text.size();
    if (!whole || *to == 0 || *to > kMostStepTasks) {
      faults.push_back(e.key + " takes a whole number from 1 to " + std::to_string(kMostStepTasks) + ", not '" + text +
                       "'");
    }
  }
  void Flag(const Entry& e, bool* to) {
    std::string text;
    One(e, &text);
    if (text != "true" && text != "false") faults.push_back(e.key + " takes true or false");
    *to = text == "true";
  }

  void Read(const Entry& e);

  void CheckKeys() {
    if (step.job.empty() == step.op.empty()) faults.push_back("must have either a job or an operator");
    if (step.job.empty() && step.op.empty()) return;
    for (const std::string& key : keys) {
      const auto has = [&](const auto& list) {
        return std::find(std::begin(list), std::end(list), key) != std::end(list);
      };
      if (!step.job.empty() && has(kOfOperators))
        faults.push_back(key + " is for a step with an operator, not with a job");
      if (!step.op.empty() && has(kOfJobs)) faults.push_back(key + " is for a step with a job, not with an operator");
    }
    for (const std::string& edge : step.edges) {
      if (std::find(std::begin(kEdges), std::end(kEdges), edge) != std::end(kEdges)) continue;
      faults.push_back("unknown edge '" + edge + "'" + DidYouMean(edge, kEdges) +
                       "; use group, all_to_all, many_to_one, one_to_one or broadcast");
    }
    if (step.inputs_given && step.inputs.empty()) faults.push_back("input is empty");
    if (step.edges.size() > 1 && step.edges.size() != step.inputs.size()) {
      faults.push_back("has " + CountOf(step.edges.size(), "edge") + " for " + CountOf(step.inputs.size(), "input") +
                       "; give one for all inputs, or one for each");
    }
  }
};

// A key of a step, and the function that reads it.
struct StepKey {
  std::string_view name;
  void (*read)(StepReader& r, const Entry& e);
};
constexpr StepKey kStepKeys[] = {
    {"args", [](StepReader& r, const Entry& e) { r.step.args = e.values; }},
    {"combine", [](StepReader& r, const Entry& e) { r.Flag(e, &r.step.combine); }},
    {"config", [](StepReader& r, const Entry& e) { r.step.config = e.values; }},
    {"custom_partition", [](StepReader& r, const Entry& e) { r.Flag(e, &r.step.custom_partition); }},
    {"edge", [](StepReader& r, const Entry& e) { r.step.edges = e.values; }},
    {"format", [](StepReader& r, const Entry& e) { r.One(e, &r.step.format); }},
    {"input",
     [](StepReader& r, const Entry& e) {
       r.step.inputs = e.values;
       r.step.inputs_given = true;
     }},
    {"job", [](StepReader& r, const Entry& e) { r.One(e, &r.step.job); }},
    {"name", [](StepReader& r, const Entry& e) { r.One(e, &r.step.name); }},
    {"operator", [](StepReader& r, const Entry& e) { r.One(e, &r.step.op); }},
    {"output_format", [](StepReader& r, const Entry& e) { r.One(e, &r.step.output_format); }},
    {"reduces", [](StepReader& r, const Entry& e) { r.Number(e, &r.step.tasks); }},
    {"tasks", [](StepReader& r, const Entry& e) { r.Number(e, &r.step.tasks); }},
};

void StepReader::Read(const Entry& e) {
  std::string key = e.key;
  std::replace(key.begin(), key.end(), '-', '_');
  const auto* at =
      std::find_if(std::begin(kStepKeys), std::end(kStepKeys), [&](const StepKey& k) { return k.name == key; });
  if (at == std::end(kStepKeys)) {
    std::vector<std::string_view> names;
    for (const StepKey& known : kStepKeys) names.push_back(known.name);
    faults.push_back("unknown key '" + e.key + "'" + DidYouMean(key, names));
  } else if (!e.fault.empty() || !e.tables.empty()) {
    faults.push_back(e.key + " " + (e.fault.empty() ? "takes no tables" : e.fault));
  } else {
    keys.push_back(key);
    at->read(*this, e);
  }
}

void CheckNames(const std::vector<JobStep>& steps, JobFileFaults* faults) {
  for (size_t i = 0; i < steps.size(); ++i) {
    if (!NameIsPlain(steps[i].name)) {
      if (!steps[i].name.empty()) {
        faults->Add(StepText(steps[i].name) + "its name must have 1 to 64 letters, digits, '_', '-' or '.'");
      }
      continue;
    }
    for (size_t k = 0; k < i; ++k) {
      if (steps[k].name != steps[i].name) continue;
      faults->Add("two steps are named '" + steps[i].name + "': rename one of them");
      break;
    }
  }
}

}  // namespace

std::string StepText(const std::string& name) { return "step '" + name + "': "; }

bool IsStepRef(std::string_view word) { return word.size() > 1 && word[0] == '@'; }

Result<StepRef> ParseStepRef(std::string_view word) {
  StepRef ref;
  word.remove_prefix(1);
  const size_t colon = word.find(':');
  ref.step = word.substr(0, colon);
  if (colon == word.npos) return ref;
  const std::string_view port = word.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), ref.port);
  if (port.empty() || error != std::errc() || end != port.data() + port.size() || ref.port >= 64) {
    return InvalidArgument("'@" + std::string(word) + "': the part after the colon is no port number (0 to 63)");
  }
  return ref;
}

Status JobFileFaults::ToStatus(const std::string& file) const {
  if (faults_.empty()) return {};
  if (faults_.size() == 1) return InvalidArgument(file + ": " + faults_[0]);
  std::string text = file + ": " + std::to_string(faults_.size()) + " mistakes:";
  for (const std::string& fault : faults_) text += "\n  " + fault;
  return InvalidArgument(text);
}

std::vector<JobStep> ReadSteps(const std::vector<KeyTable>& tables, JobFileFaults* faults) {
  std::vector<JobStep> steps;
  for (const KeyTable& table : tables) {
    StepReader reader;
    for (const Entry& entry : table.entries) reader.Read(entry);
    reader.CheckKeys();
    JobStep& step = reader.step;
    if (step.name.empty()) step.name = !step.job.empty() ? step.job : step.op;
    const std::string who = step.name.empty() ? "step " + std::to_string(steps.size() + 1) + ": " : StepText(step.name);
    for (const std::string& fault : reader.faults) faults->Add(who + fault);
    if (!step.inputs_given && !steps.empty()) step.inputs = {"@" + steps.back().name};
    steps.push_back(std::move(step));
  }
  CheckNames(steps, faults);
  std::vector<std::string> names;
  names.reserve(steps.size());
  for (const JobStep& step : steps) names.push_back(step.name);
  std::vector<std::string_view> views;
  views.assign(names.begin(), names.end());
  std::vector<std::vector<size_t>> reads(steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    for (const std::string& word : steps[i].inputs) {
      if (!IsStepRef(word)) continue;
      const auto ref = ParseStepRef(word);
      if (!ref.ok()) {
        faults->Add(StepText(names[i]) + ref.status().message());
        continue;
      }
      const auto at = std::find(names.begin(), names.end(), ref->step);
      if (at != names.end()) {
        reads[i].push_back(static_cast<size_t>(at - names.begin()));
      } else if (steps[i].inputs_given) {
        faults->Add(StepText(names[i]) + "reads @" + ref->step + ", but no step has that name" +
                    DidYouMean(ref->step, views) + "; write a file of that name as ./@" + ref->step);
      }
    }
  }
  (void)OrderSteps(names, reads, faults);
  return steps;
}

std::vector<size_t> OrderSteps(const std::vector<std::string>& names, const std::vector<std::vector<size_t>>& reads,
                               JobFileFaults* faults) {
  enum class Mark { kNew, kOpen, kDone };
  std::vector<Mark> marks(names.size(), Mark::kNew);
  std::vector<size_t> order, path;
  bool cycle = false;
  const std::function<void(size_t)> visit = [&](size_t step) {
    if (marks[step] == Mark::kDone || cycle) return;
    path.push_back(step);
    if (marks[step] == Mark::kOpen) {
      std::string text;
      for (auto at = std::find(path.begin(), path.end(), step); at != path.end(); ++at) {
        text += (text.empty() ? "" : " -> ") + names[*at];
      }
      faults->Add("the steps read each other in a cycle: " + text);
      cycle = true;
      return;
    }
    marks[step] = Mark::kOpen;
    for (const size_t from : reads[step]) visit(from);
    path.pop_back();
    marks[step] = Mark::kDone;
    if (!cycle) order.push_back(step);
  };
  for (size_t i = 0; i < names.size(); ++i) visit(i);
  if (cycle) order.clear();
  return order;
}

}  // namespace mr::ctl
