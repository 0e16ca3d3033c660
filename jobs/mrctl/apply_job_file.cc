// Applies the keys of a job file to the options of submit.
#include <algorithm>
#include <charconv>
#include <iterator>
#include <string_view>

#include "common/base/text.h"
#include "jobs/mrctl/job_file.h"
#include "jobs/mrctl/job_steps.h"
#include "jobs/mrctl/options.h"

namespace mr::ctl {
namespace {

using Entry = KeyTable::Entry;
Status Text(const Entry& e, std::string* target) {
  if (e.list) return InvalidArgument("takes one value");
  if (target->empty()) *target = e.values[0];
  return Status::Ok();
}

Status List(const Entry& e, std::vector<std::string>* target) {
  // Values of the command line follow those of the file, so that the last of two equal keys is the command line's.
  target->insert(target->begin(), e.values.begin(), e.values.end());
  return Status::Ok();
}

Status Inputs(const Entry& e, std::vector<std::string>* target) {
  if (target->empty()) *target = e.values;
  return Status::Ok();
}

Status Flag(const Entry& e, bool* target) {
  if (e.list || (e.values[0] != "true" && e.values[0] != "false")) return InvalidArgument("takes true or false");
  *target = *target || e.values[0] == "true";
  return Status::Ok();
}

template <class T>
Status Number(const Entry& e, T* target) {
  T value{};
  const std::string& text = e.values.empty() ? std::string() : e.values[0];
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (e.list || error != std::errc() || end != text.data() + text.size())
    return InvalidArgument("takes a whole number");
  if (*target == T{}) *target = value;
  return Status::Ok();
}

// Like Number, but 0 is a value, too.
Status Optional(const Entry& e, std::optional<uint32_t>* target) {
  uint32_t value = 0;
  MR_RETURN_IF_ERROR(Number(e, &value));
  if (!target->has_value()) *target = value;
  return Status::Ok();
}

// The options that a file sets, and the keys of its only job, which are used if the file has no steps.
struct Target {
  SubmitOptions* options;
  std::string job;
  std::vector<std::string> args;
};

// A key of a job file, and the function that applies its value.
struct FileKey {
  std::string_view name;
  Status (*set)(const Entry& e, Target& to);
};
constexpr FileKey kFileKeys[] = {
    {"allow_network", [](const Entry& e, Target& to) { return Flag(e, &to.options->allow_network); }},
    {"args", [](const Entry& e, Target& to) { return List(e, &to.args); }},
    {"best_effort", [](const Entry& e, Target& to) { return Flag(e, &to.options->best_effort); }},
    {"clone", [](const Entry& e, Target& to) { return Text(e, &to.options->clone); }},
    {"conf", [](const Entry& e, Target& to) { return List(e, &to.options->conf); }},
    {"deadline", [](const Entry& e, Target& to) { return Text(e, &to.options->deadline); }},
    {"env", [](const Entry& e, Target& to) { return List(e, &to.options->env); }},
    {"files", [](const Entry& e, Target& to) { return List(e, &to.options->files); }},
    {"format", [](const Entry& e, Target& to) { return Text(e, &to.options->format); }},
    {"input", [](const Entry& e, Target& to) { return Inputs(e, &to.options->inputs); }},
    {"job", [](const Entry& e, Target& to) { return Text(e, &to.job); }},
    {"label", [](const Entry& e, Target& to) { return List(e, &to.options->labels); }},
    {"lib", [](const Entry& e, Target& to) { return Text(e, &to.options->lib); }},
    {"max_attempts", [](const Entry& e, Target& to) { return Number(e, &to.options->max_attempts); }},
    {"max_bad_records", [](const Entry& e, Target& to) { return Number(e, &to.options->max_bad_records); }},
    {"memory", [](const Entry& e, Target& to) { return Text(e, &to.options->memory); }},
    {"name", [](const Entry& e, Target& to) { return Text(e, &to.options->name); }},
    {"output", [](const Entry& e, Target& to) { return Text(e, &to.options->output); }},
    {"output_format", [](const Entry& e, Target& to) { return Text(e, &to.options->output_format); }},
    {"overwrite", [](const Entry& e, Target& to) { return Flag(e, &to.options->overwrite); }},
    {"priority", [](const Entry& e, Target& to) { return Number(e, &to.options->priority); }},
    {"queue", [](const Entry& e, Target& to) { return Text(e, &to.options->queue); }},
    {"reduces", [](const Entry& e, Target& to) { return Optional(e, &to.options->reduces); }},
    {"scheduler", [](const Entry& e, Target& to) { return Text(e, &to.options->scheduler); }},
    {"speculation", [](const Entry& e, Target& to) { return Text(e, &to.options->speculation); }},
    {"strict_deadline", [](const Entry& e, Target& to) { return Flag(e, &to.options->strict_deadline); }},
    {"strict_inputs", [](const Entry& e, Target& to) { return Flag(e, &to.options->strict_inputs); }},
    {"submission_id", [](const Entry& e, Target& to) { return Text(e, &to.options->submission_id); }},
    {"task_timeout", [](const Entry& e, Target& to) { return Text(e, &to.options->task_timeout); }},
};

}  // namespace

Status ApplyJobFile(const KeyTable& table, const std::string& file, SubmitOptions* o) {
  Target target{o, {}, {}};
  JobFileFaults faults;
  const KeyTable::Entry* steps = nullptr;
  for (const Entry& entry : table.entries) {
    std::string key = entry.key;
    for (char& c : key) c = c == '-' ? '_' : c;
    if (key == "version" && entry.values == std::vector<std::string>{"1"}) continue;
    if (key == "step") {
      steps = &entry;
      continue;
    }
    const auto* at =
        std::find_if(std::begin(kFileKeys), std::end(kFileKeys), [&](const FileKey& k) { return k.name == key; });
    if (at == std::end(kFileKeys)) {
      std::vector<std::string_view> names = {"step", "version"};
      for (const FileKey& known : kFileKeys) names.push_back(known.name);
      faults.Add("unknown key '" + entry.key + "'" +
                 (key == "local" ? "; whether a job runs without a cluster is chosen at its submit: "
                                   "mrctl submit --local FILE"
                                 : DidYouMean(key, names)));
    } else if (!entry.fault.empty() || !entry.tables.empty()) {
      faults.Add(entry.key + " " + (entry.fault.empty() ? "takes no tables" : entry.fault));
    } else if (Status set = at->set(entry, target); !set.ok()) {
      faults.Add(entry.key + " " + set.message());
    }
  }
  const std::string& job = target.job;
  const std::vector<std::string>& args = target.args;
  if (steps != nullptr) {
    if (steps->tables.empty() || !steps->values.empty()) {
      faults.Add("step takes tables: write [[step]] above the keys of each step");
    } else {
      o->steps = ReadSteps(steps->tables, &faults);
    }
    if (!job.empty() || !args.empty()) {
      faults.Add("job and args cannot be used beside [[step]] tables: put them into a step");
    }
    if (!o->job_args.empty()) {
      faults.Add("'" + o->job_args[0] + "' on the command line belongs to no step: put it into the args of a step");
    }
  } else if (job.empty()) {
    faults.Add("the key 'job' is missing (a built-in name or one of lib), or [[step]] tables");
  } else if (IsJobFile(job)) {
    faults.Add("job must be the name of a job, not another job file");
  }
  MR_RETURN_IF_ERROR(faults.ToStatus(file));
  if (steps != nullptr) return Status::Ok();
  o->job = job;
  o->job_args.insert(o->job_args.begin(), args.begin(), args.end());
  return Status::Ok();
}

}  // namespace mr::ctl
