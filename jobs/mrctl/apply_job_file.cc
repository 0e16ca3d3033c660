// Applies the keys of a job file to the options of submit.
#include <charconv>
#include <functional>
#include <map>

#include "common/base/text.h"
#include "jobs/mrctl/job_file.h"
#include "jobs/mrctl/job_steps.h"
#include "jobs/mrctl/options.h"

namespace mr::ctl {
namespace {

using Entry = KeyTable::Entry;
using Setter = std::function<Status(const Entry&)>;

Setter Text(std::string* target) {
  return [target](const Entry& e) -> Status {
    if (e.list) return InvalidArgument("takes one value");
    if (target->empty()) *target = e.values[0];
    return Status::Ok();
  };
}

Setter List(std::vector<std::string>* target) {
  return [target](const Entry& e) -> Status {
    // Values of the command line follow those of the file, so that the last of two equal keys is the command line's.
    target->insert(target->begin(), e.values.begin(), e.values.end());
    return Status::Ok();
  };
}

Setter Inputs(std::vector<std::string>* target) {
  return [target](const Entry& e) -> Status {
    if (target->empty()) *target = e.values;
    return Status::Ok();
  };
}

Setter Flag(bool* target) {
  return [target](const Entry& e) -> Status {
    if (e.list || (e.values[0] != "true" && e.values[0] != "false")) return InvalidArgument("takes true or false");
    *target = *target || e.values[0] == "true";
    return Status::Ok();
  };
}

template <class T>
Setter Number(T* target) {
  return [target](const Entry& e) -> Status {
    T value{};
    const std::string& text = e.values.empty() ? std::string() : e.values[0];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (e.list || error != std::errc() || end != text.data() + text.size())
      return InvalidArgument("takes a whole number");
    if (*target == T{}) *target = value;
    return Status::Ok();
  };
}

// Like Number, but 0 is a value, too.
Setter Optional(std::optional<uint32_t>* target) {
  return [target](const Entry& e) -> Status {
    uint32_t value = 0;
    MR_RETURN_IF_ERROR(Number(&value)(e));
    if (!target->has_value()) *target = value;
    return Status::Ok();
  };
}

}  // namespace

Status ApplyJobFile(const KeyTable& table, const std::string& file, SubmitOptions* o) {
  std::string job;
  std::vector<std::string> args;
  const std::map<std::string, Setter, std::less<>> setters = {
      {"job", Text(&job)},
      {"args", List(&args)},
      {"lib", Text(&o->lib)},
      {"name", Text(&o->name)},
      {"queue", Text(&o->queue)},
      {"priority", Number(&o->priority)},
      {"input", Inputs(&o->inputs)},
      {"format", Text(&o->format)},
      {"output", Text(&o->output)},
      {"output_format", Text(&o->output_format)},
      {"overwrite", Flag(&o->overwrite)},
      {"reduces", Optional(&o->reduces)},
      {"conf", List(&o->conf)},
      {"env", List(&o->env)},
      {"files", List(&o->files)},
      {"label", List(&o->labels)},
      {"submission_id", Text(&o->submission_id)},
      {"scheduler", Text(&o->scheduler)},
      {"speculation", Text(&o->speculation)},
      {"clone", Text(&o->clone)},
      {"max_attempts", Number(&o->max_attempts)},
      {"max_bad_records", Number(&o->max_bad_records)},
      {"task_timeout", Text(&o->task_timeout)},
      {"memory", Text(&o->memory)},
      {"deadline", Text(&o->deadline)},
      {"strict_deadline", Flag(&o->strict_deadline)},
      {"best_effort", Flag(&o->best_effort)},
      {"strict_inputs", Flag(&o->strict_inputs)},
  };
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
    const auto setter = setters.find(key);
    if (setter == setters.end()) {
      std::vector<std::string_view> names = {"step", "version"};
      for (const auto& [name, unused] : setters) names.push_back(name);
      faults.Add("unknown key '" + entry.key + "'" + DidYouMean(key, names));
    } else if (!entry.fault.empty() || !entry.tables.empty()) {
      faults.Add(entry.key + " " + (entry.fault.empty() ? "takes no tables" : entry.fault));
    } else if (Status set = setter->second(entry); !set.ok()) {
      faults.Add(entry.key + " " + set.message());
    }
  }
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
