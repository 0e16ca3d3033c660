#include "common/report/documents.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <string_view>

#include "common/model/attempt.h"
#include "common/report/internal_stages.h"
#include "common/report/job_run.h"

namespace mr::report {
namespace {

Json ToJson(const CloneStatus& c) {
  Json clones = Object(
      {{"launched", c.launched},
       {"won", c.won},
       {"killed", c.killed},
       {"extra_slot_s", static_cast<double>(c.extra_us) / 1e6},
       {"reads", Object({{"exclusive", c.exclusive}, {"contended", c.contended}, {"rebound", c.rebound}})},
       {"budget_used_slots", c.budget_used},
       {"budget_slots", c.budget},
       {CauseName(Cause::kOpportunistic), Object({{"launched", c.lent_launched},
                                                  {"won", c.lent_won},
                                                  {"killed", c.lent_killed},
                                                  {"extra_slot_s", static_cast<double>(c.lent_extra_us) / 1e6}})}});
  // A number, or "inf". Absent until it is chosen.
  if (c.omega_known && c.omega_us == UINT64_MAX)
    clones["omega_s"] = "inf";
  else if (c.omega_known)
    clones["omega_s"] = static_cast<double>(c.omega_us) / 1e6;
  return clones;
}

Json ToJson(const SteeringStatus& s) {
  Json points = Json::array();
  for (const SteeringPoint& p : s.points) {
    points.push_back(Object({{"at_s", p.at_s},
                             {"slots", p.slots},
                             {"asked_slots", p.asked},
                             {"progress", p.progress},
                             {"left_s", p.left_s},
                             {"deadline_s", p.deadline_s}}));
  }
  return Object({{"held_slot_s", s.held_slot_s}, {"points", std::move(points)}});
}

double SecondsOf(uint64_t us) { return static_cast<double>(us) / 1e6; }

Json ToJson(const DeadlineStatus& d) {
  Json json = Object({{"deadline_s", nullptr},
                      {"steered", d.steered},
                      {"best_effort", d.best_effort},
                      {"predicted", d.predicted},
                      {"earlier_runs", d.runs},
                      {"input_scale", d.scale},
                      {"guaranteed_slots", d.guaranteed},
                      {"held_slots", d.held},
                      {"asked_slots", nullptr},
                      {"ends_s", nullptr},
                      {"ends_spread_s", nullptr},
                      {"promised_ends_s", nullptr}});
  if (d.asked > 0) json["asked_slots"] = d.asked;
  if (d.ends_us > 0) json["ends_s"] = SecondsOf(d.ends_us);
  if (d.spread_us > 0) json["ends_spread_s"] = SecondsOf(d.spread_us);
  if (d.promised_ends_us > 0) json["promised_ends_s"] = SecondsOf(d.promised_ends_us);
  if (d.deadline_us > 0) json["deadline_s"] = SecondsOf(d.deadline_us);
  return json;
}

Json SkewOf(const SkewStatus& s, const JobStatus& job) {
  Json json = Object({{"stage", s.stage < job.stages.size() ? job.stages[s.stage].name : std::to_string(s.stage)},
                      {"key", s.key},
                      {"key_cut", s.cut},
                      {"records", s.records},
                      {"bytes", s.bytes},
                      {"stage_records", s.stage_records},
                      {"stage_bytes", s.stage_bytes},
                      {"partition", s.partition},
                      {"partition_bytes", nullptr},
                      {"median_bytes", nullptr},
                      {"text", s.text}});
  if (s.partitions_known) {
    json["partition_bytes"] = s.partition_bytes;
    json["median_bytes"] = s.median_bytes;
  }
  return json;
}

std::vector<std::string> StageNames(const JobSpec& spec) {
  std::vector<std::string> names;
  for (const StageSpec& stage : spec.stages) names.push_back(stage.name);
  return names;
}

struct JobOption {
  std::string name, value;
};

bool IsOptionName(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
  });
}

// Whether table jobs write a list of texts under this name (builtin/table.cc). Other values may look like one.
bool IsListName(std::string_view name) { return name.starts_with("columns") || name == "sides" || name == "names"; }

// Returns a list of texts, each written as "LENGTH:TEXT", as one text: "city, year". Other values are returned
// unchanged.
std::string ListText(const std::string& value) {
  std::string text;
  for (size_t at = 0; at < value.size();) {
    const size_t colon = value.find(':', at);
    size_t length = 0;
    if (colon == std::string::npos || colon == at || colon - at > 6) return value;
    for (size_t i = at; i < colon; ++i) {
      if (std::isdigit(static_cast<unsigned char>(value[i])) == 0) return value;
      length = length * 10 + static_cast<size_t>(value[i] - '0');
    }
    if (length > value.size() - colon - 1) return value;
    text += (text.empty() ? "" : ", ") + value.substr(colon + 1, length);
    at = colon + 1 + length;
  }
  return text;
}

// Parses the lines of an operator's configuration (jobs/sdk/paceline/config.h). Returns nothing if it has another form.
std::vector<JobOption> OptionsOf(const std::string& config) {
  std::vector<JobOption> options;
  for (size_t at = 0; at < config.size();) {
    const size_t end = std::min(config.find('\n', at), config.size());
    const std::string line = config.substr(at, end - at);
    const size_t equals = line.find('=');
    if (equals == std::string::npos || !IsOptionName(std::string_view(line).substr(0, equals))) return {};
    std::string value;
    for (size_t i = equals + 1; i < line.size(); ++i) {
      const bool escaped = line[i] == '\\' && i + 1 < line.size();
      if (escaped) ++i;
      value += escaped && line[i] == 'n' ? '\n' : line[i];
    }
    std::string name = line.substr(0, equals);
    if (IsListName(name)) value = ListText(value);
    options.push_back({std::move(name), value.substr(0, kInputBytes)});
    at = end + 1;
  }
  return options;
}

}  // namespace

Json InputsJson(const JobSpec& spec) {
  const std::vector<std::string> names = StageNames(spec);
  Json inputs = Json::array();
  for (const StageSpec& stage : spec.stages) {
    if (IsInternalStage(stage.name, names)) continue;
    for (const InputSpec& input : stage.inputs) {
      if (input.is_edge) continue;
      for (const std::string& uri : input.files.uris) {
        if (inputs.size() == kMostInputs) return inputs;
        inputs.push_back(
            Object({{"stage", stage.name}, {"uri", uri.substr(0, kInputBytes)}, {"format", input.files.format}}));
      }
    }
  }
  return inputs;
}

Json OptionsJson(const JobSpec& spec) {
  const std::vector<std::string> names = StageNames(spec);
  Json options = Json::array();
  for (const KeyValue& label : spec.labels) {
    if (label.key != kArgumentsLabel) continue;
    options.push_back(
        Object({{"stage", nullptr}, {"name", kArgumentsLabel}, {"value", label.value.substr(0, kInputBytes)}}));
  }
  for (const StageSpec& stage : spec.stages) {
    if (IsInternalStage(stage.name, names)) continue;
    for (const JobOption& option : OptionsOf(stage.config)) {
      if (options.size() == kMostOptions) return options;
      options.push_back(Object({{"stage", stage.name}, {"name", option.name}, {"value", option.value}}));
    }
  }
  return options;
}

Json ToJson(const StageStatus& s) {
  return Object({{"id", s.name},
                 {"planned", s.planned},
                 {"tasks", s.tasks},
                 {"done", s.done},
                 {"running", s.running},
                 {"waiting", s.waiting},
                 {"failed", s.failed},
                 {"input_bytes", s.input_bytes},
                 {"taken_bytes", s.taken_bytes},
                 {"output_bytes", s.output_bytes},
                 {"output_records", s.output_records},
                 {"elapsed_us", s.elapsed_us}});
}

Json Reached(uint64_t us) { return us == 0 ? Json(nullptr) : Json(us); }

Json ToJson(const CounterValue& c) {
  return Object({{"id", c.group + "/" + c.name}, {"group", c.group}, {"name", c.name}, {"value", c.value}});
}

Json ToJson(const JobStatus& j) {
  Json causes = Json::object();
  for (const CauseStatus& c : j.causes) {
    causes[c.cause] = {
        {"launched", c.launched}, {"won", c.won}, {"wasted_slot_s", static_cast<double>(c.wasted_us) / 1e6}};
  }
  Json stages = Json::array();
  for (const StageStatus& stage : j.stages) stages.push_back(ToJson(stage));
  Json skew = Json::array();
  for (const SkewStatus& s : j.skew) skew.push_back(SkewOf(s, j));
  Json job = Object({{"id", Name(j)},
                     {"name", j.name},
                     {"state", Word(j.state)},
                     {"queue", j.queue},
                     {"priority", j.priority},
                     {"owner", j.owner},
                     {"submission_id", j.submission_id},
                     {"submitted_unix_ms", j.submitted_unix_ms},
                     {"elapsed_us", j.elapsed_us},
                     {"output", j.output_uri},
                     {"output_parts", j.output_parts},
                     {"output_bytes", j.output_bytes},
                     {"output_records", j.output_records},
                     {"output_digest", j.output_digest.Hex()},
                     {"error", j.error},
                     {"last_failure", j.last_failure},
                     {"attempts", std::move(causes)},
                     {"warnings", j.warnings},
                     {"waits", j.waits},
                     {"skew", std::move(skew)},
                     {"stages", std::move(stages)}});
  if (j.clones) job["clones"] = ToJson(*j.clones);
  if (j.steering) job["steering"] = ToJson(*j.steering);
  if (j.deadline) job["deadline"] = ToJson(*j.deadline);
  if (j.counters) {
    job["counters"] = Json::array();
    for (const CounterValue& c : *j.counters) job["counters"].push_back(ToJson(c));
  }
  return job;
}

Json ToJson(const JobStatus& j, const JobSpec& spec) {
  Json job = ToJson(j);
  job["inputs"] = InputsJson(spec);
  job["options"] = OptionsJson(spec);
  return job;
}

Json ToJson(const TaskStatus& t) {
  return Object({{"id", t.id},
                 {"stage", t.stage},
                 {"state", t.state},
                 {"attempts", t.attempts},
                 {"generation", t.generation},
                 {"worker", t.worker},
                 {"copies", t.replicas},
                 {"input_bytes", t.input_bytes},
                 {"output_bytes", t.output_bytes},
                 {"output_records", t.output_records}});
}

Json ToJson(const AttemptStatus& a) {
  return Object({{"id", a.id},
                 {"state", a.state},
                 {"cause", a.cause},
                 {"worker", a.worker},
                 {"progress", a.progress},
                 {"ran_us", a.ran_us},
                 {"message", a.message},
                 {"reason", a.reason},
                 {"launched_us", a.launched_us},
                 {"started_us", Reached(a.started_us)},
                 {"inputs_us", Reached(a.inputs_us)},
                 {"sort_us", Reached(a.sort_us)},
                 {"reduce_us", Reached(a.reduce_us)},
                 {"ended_us", Reached(a.ended_us)},
                 {"won", a.won},
                 {"failure", a.failure}});
}

Json ToJson(const WorkerStatus& w) {
  return Object({{"id", w.id},
                 {"name", w.name},
                 {"state", w.state},
                 {"address", w.address},
                 {"rack", w.rack},
                 {"slots", w.slots},
                 {"busy", w.busy},
                 {"blocks", w.blocks},
                 {"used_bytes", w.used_bytes},
                 {"capacity_bytes", w.capacity_bytes},
                 {"memory_bytes", w.memory_bytes},
                 {"slot_memory_bytes", w.slots == 0 ? 0 : w.memory_bytes / w.slots},
                 {"wrong_outputs", w.wrong_outputs},
                 // Written as text: 64 bits do not fit into a number of JavaScript.
                 {"incarnation", std::to_string(w.incarnation)},
                 {"pid", w.pid},
                 {"labels", w.labels},
                 {"safe_to_stop", w.safe_to_stop},
                 {"tier", w.tier < 0 ? Json(nullptr) : Json(w.tier)},
                 {"disk", DiskName(w)}});
}

Json DiskName(const WorkerStatus& w) {
  if (w.disk == 0) return nullptr;
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(w.disk));
  return text;
}

Json ToJson(const DrainStatus& d) {
  std::vector<std::string> jobs;
  for (const JobId job : d.jobs) jobs.push_back(Name(job));
  return Object({{"attempts", d.attempts},
                 {"blocks", d.blocks},
                 {"bytes", d.bytes},
                 {"left_blocks", d.left_blocks},
                 {"left_bytes", d.left_bytes},
                 {"left_files", d.left_files},
                 {"being_written", d.being_written},
                 {"outputs", d.outputs},
                 {"output_bytes", d.output_bytes},
                 {"jobs", jobs},
                 {"waits_for", d.waits_for},
                 {"thin_blocks", d.thin_blocks},
                 {"thin_files", d.thin_files}});
}

Json ToJson(const QueueStatus& q) {
  return Object({{"id", q.name},
                 {"weight", q.weight},
                 {"min_share", q.min_share},
                 {"max_share", q.max_share},
                 {"jobs", q.jobs},
                 {"held_slots", q.held_slots},
                 {"waits", q.waits}});
}

}  // namespace mr::report
