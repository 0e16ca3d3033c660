#include "common/report/report.h"

#include <algorithm>
#include <map>
#include <set>

#include "common/base/count.h"
#include "common/base/text.h"
#include "common/model/attempt.h"
#include "common/report/documents.h"
#include "common/report/internal_stages.h"

namespace mr::report {
namespace {

constexpr size_t kQuantiles = 101;  // a percent apart
constexpr size_t kSummaryLines = 4;
constexpr size_t kReasonBytes = 1'000;  // of one text; a guess

std::string Cut(const std::string& text) { return text.size() <= kReasonBytes ? text : text.substr(0, kReasonBytes); }

Json NameOrNull(uint32_t stage, const JobRun& run) {
  return stage < run.spec.stages.size() ? Json(run.spec.stages[stage].name) : Json(nullptr);
}

// Returns at most `most` of the elements, evenly spread.
std::vector<size_t> Sample(const std::vector<size_t>& elements, size_t most) {
  if (elements.size() <= most) return elements;
  std::vector<size_t> sample;
  for (size_t k = 0; k < elements.size(); ++k) {
    if (k * most / elements.size() != (k + 1) * most / elements.size()) sample.push_back(elements[k]);
  }
  return sample;
}

// The attempts that the document has, and their places in it.
class Selection {
 public:
  explicit Selection(const Report& report) : place_(report.timeline.attempts().size(), SIZE_MAX) {
    for (const Segment& s : report.path.segments) critical_.insert(s.attempt);
    const std::vector<Interval>& all = report.timeline.attempts();
    std::vector<size_t> classes[4];  // in the order of their rank
    for (size_t i = 0; i < all.size(); ++i) {
      const AttemptStatus& status = *all[i].status;
      const bool usual = status.cause == CauseName(Cause::kFirst) && status.won;
      classes[status.state == "failed" ? 0 : Critical(i) ? 1 : usual ? 3 : 2].push_back(i);
    }
    size_t later = all.size();
    for (const std::vector<size_t>& of : classes) {
      later -= of.size();
      // Half of the room is for the classes behind, if they are so large.
      const size_t room = kMostAttempts - attempts_.size();
      for (const size_t i : Sample(of, room - std::min(room / 2, later))) attempts_.push_back(i);
    }
    std::sort(attempts_.begin(), attempts_.end());
    for (size_t k = 0; k < attempts_.size(); ++k) place_[attempts_[k]] = k;
  }

  const std::vector<size_t>& attempts() const { return attempts_; }
  // Returns the attempt's place in the document, or null.
  Json Place(size_t attempt) const { return Has(attempt) ? Json(place_[attempt]) : Json(nullptr); }
  bool Critical(size_t attempt) const { return critical_.contains(attempt); }
  bool Has(size_t attempt) const { return attempt < place_.size() && place_[attempt] != SIZE_MAX; }

 private:
  std::set<size_t> critical_;
  std::vector<size_t> attempts_, place_;
};

Json Distribution(std::vector<uint64_t> values) {
  std::sort(values.begin(), values.end());
  std::vector<uint64_t> quantiles = values;
  if (values.size() > kQuantiles) {
    quantiles.clear();
    for (size_t q = 0; q < kQuantiles; ++q) quantiles.push_back(values[q * (values.size() - 1) / (kQuantiles - 1)]);
  }
  return Object({{"count", values.size()}, {"quantiles", quantiles}});
}

Json FindingsJson(const Report& report) {
  Json out = Json::array();
  for (const Finding& f : report.findings) {
    Json json = Object({{"id", f.id},
                        {"level", f.problem ? "problem" : "hint"},
                        {"stage", NameOrNull(f.stage, report.run)},
                        {"worker", nullptr},
                        {"share", nullptr},
                        {"text", f.text},
                        {"advice", f.advice},
                        {"command", nullptr}});
    if (!f.worker.empty()) json["worker"] = f.worker;
    if (f.share >= 0) json["share"] = f.share;
    if (!f.command.empty() && !report.run.gone) json["command"] = f.command;
    out.push_back(std::move(json));
  }
  return out;
}

Json PathJson(const Report& report, const Selection& selection) {
  Json segments = Json::array(), shares = Json::array();
  const std::vector<Segment>& all = report.path.segments;
  for (size_t i = all.size() - std::min(all.size(), kMostSegments); i < all.size(); ++i) {
    const Segment& s = all[i];
    segments.push_back(Object({{"kind", Word(s.kind)},
                               {"stage", NameOrNull(s.stage, report.run)},
                               {"attempt", selection.Place(s.attempt)},
                               {"from_us", s.from},
                               {"to_us", s.to},
                               {"text", Describe(s.kind, s.stage, report.run)}}));
  }
  for (const Share& s : report.path.shares) {
    shares.push_back(Object({{"kind", Word(s.kind)},
                             {"stage", NameOrNull(s.stage, report.run)},
                             {"us", s.us},
                             {"share", s.share},
                             {"text", Describe(s.kind, s.stage, report.run)}}));
  }
  return Object({{"us", report.path.us},
                 {"segments", std::move(segments)},
                 {"segments_total", all.size()},
                 {"shares", std::move(shares)}});
}

const char* WordOf(EdgeKind kind) {
  switch (kind) {
    case EdgeKind::kAllToAll: return "all_to_all";
    case EdgeKind::kManyToOne: return "many_to_one";
    case EdgeKind::kOneToOne: return "one_to_one";
    case EdgeKind::kBroadcast: return "broadcast";
  }
  return "all_to_all";
}

std::string Spaced(std::string word) {
  std::replace(word.begin(), word.end(), '_', ' ');
  return word;
}

// Returns an input of a stage as explain shows it.
std::string ReadsText(const InputSpec& input, const JobSpec& spec) {
  if (!input.is_edge) {
    const std::vector<std::string>& uris = input.files.uris;
    const std::string format = input.files.format.empty() ? "files" : input.files.format;
    return uris.empty() ? format : Cut(format + " of " + uris[0] + (uris.size() > 1 ? ", ..." : ""));
  }
  if (input.stage >= spec.stages.size()) return "outputs of earlier stages";  // which ones is not shown to the reader
  std::string text = Spaced(WordOf(input.kind));
  text += " from " + spec.stages[input.stage].name;
  if (input.port != 0) text += " port " + std::to_string(input.port);
  if (input.grouped) text += ", grouped";
  if (input.splits) text += ", large partitions are shared";
  return input.format.empty() ? text : text + ", read as " + input.format;
}

// Returns an output of a stage as explain shows it.
std::string WritesText(const PortSpec& port, size_t number) {
  if (port.files) {
    const std::string format = port.format.empty() ? "" : " (" + port.format + ")";
    return (port.name.empty() ? "files" : "files '" + port.name + "'") + format;
  }
  return "port " + std::to_string(number) + ": " + (port.sorted ? "sorted" : "in the order of emission") +
         (port.combine ? ", combined" : "") + (port.custom_partition ? ", own partition" : "");
}

Json StagesJson(const Report& report) {
  const JobRun& run = report.run;
  std::vector<std::vector<uint64_t>> inputs(run.spec.stages.size());
  for (const TaskStatus& task : run.tasks) {
    if (task.stage < inputs.size()) inputs[task.stage].push_back(task.input_bytes);
  }
  std::vector<std::string> names;
  for (const StageSpec& stage : run.spec.stages) names.push_back(stage.name);
  Json out = Json::array();
  for (uint32_t s = 0; s < run.spec.stages.size(); ++s) {
    uint64_t first = UINT64_MAX, last = 0, slot = 0, launch = 0, shuffle = 0, compute = 0;
    for (const Interval& at : report.timeline.attempts()) {
      if (at.id.task.stage != s) continue;
      first = std::min(first, at.launched);
      last = std::max(last, at.ended);
      slot += at.ran();
      launch += at.started - at.launched;
      shuffle += at.inputs - at.started;
      compute += at.ended - at.inputs;
    }
    const StageStatus status = s < run.job.stages.size() ? run.job.stages[s] : StageStatus{};
    std::vector<std::string> reads, writes;
    for (const InputSpec& input : run.spec.stages[s].inputs) reads.push_back(ReadsText(input, run.spec));
    for (const PortSpec& port : run.spec.stages[s].ports) writes.push_back(WritesText(port, writes.size()));
    Json json = Object({{"id", run.spec.stages[s].name},
                        {"kind", run.spec.stages[s].is_map() ? "map" : "reduce"},
                        {"internal", IsInternalStage(run.spec.stages[s].name, names)},
                        {"tasks", status.tasks},
                        {"operator", run.spec.stages[s].operator_name},
                        {"reads", reads},
                        {"writes", writes},
                        {"first_us", nullptr},
                        {"last_us", nullptr},
                        {"input_bytes", status.input_bytes},
                        {"output_bytes", status.output_bytes},
                        {"output_records", status.output_records},
                        {"durations_us", Distribution(report.timeline.RunTimes(s))},
                        {"task_bytes", Distribution(std::move(inputs[s]))},
                        {"slot_us", slot},
                        {"launch_us", launch},
                        {"shuffle_us", shuffle},
                        {"compute_us", compute}});
    if (first != UINT64_MAX) {
      json["first_us"] = first;
      json["last_us"] = last;
    }
    out.push_back(std::move(json));
  }
  return out;
}

// An edge has the bytes that the earlier stage wrote, and files have those of the splits that the stage's tasks read.
Json EdgesJson(const JobRun& run) {
  Json out = Json::array();
  std::vector<uint64_t> splits(run.spec.stages.size(), 0);
  for (const TaskStatus& task : run.tasks) {
    if (task.stage < splits.size()) splits[task.stage] += task.input_bytes;
  }
  for (size_t s = 0; s < run.spec.stages.size(); ++s) {
    for (const InputSpec& input : run.spec.stages[s].inputs) {
      if (!input.is_edge || input.stage >= s) continue;
      const StageStatus upstream = input.stage < run.job.stages.size() ? run.job.stages[input.stage] : StageStatus{};
      out.push_back(Object({{"from", run.spec.stages[input.stage].name},
                            {"to", run.spec.stages[s].name},
                            {"kind", WordOf(input.kind)},
                            {"bytes", upstream.output_bytes},
                            {"records", upstream.output_records}}));
    }
    if (!run.spec.stages[s].reads_files()) continue;
    out.push_back(Object({{"from", nullptr},
                          {"to", run.spec.stages[s].name},
                          {"kind", "files"},
                          {"bytes", splits[s]},
                          {"records", nullptr}}));
  }
  return out;
}

Json WorkersJson(const Report& report) {
  Json out = Json::array();
  for (const Lanes& lanes : report.timeline.workers()) {
    const WorkerStatus* w = lanes.status;
    out.push_back(Object({{"id", lanes.id},
                          {"name", w == nullptr ? "" : w->name},
                          {"rack", w == nullptr ? "" : w->rack},
                          {"state", w == nullptr ? "forgotten" : w->state},
                          {"slots", w == nullptr ? 0u : w->slots},
                          {"lanes", lanes.lanes}}));
  }
  return out;
}

Json AttemptsJson(const Report& report, const Selection& selection) {
  std::map<std::string, const TaskStatus*> tasks;
  for (const TaskStatus& task : report.run.tasks) tasks[task.id] = &task;
  Json out = Json::array();
  for (const size_t i : selection.attempts()) {
    const Interval& at = report.timeline.attempts()[i];
    const AttemptStatus& status = *at.status;
    const auto task = tasks.find(Name(at.id.task, report.run.spec.stages[at.id.task.stage].letter()));
    const bool known = task != tasks.end();
    out.push_back(Object({{"id", status.id},
                          {"stage", at.id.task.stage},
                          {"task", at.id.task.task},
                          {"number", at.id.number},
                          {"worker", at.worker},
                          {"lane", at.lane},
                          {"state", status.state},
                          {"cause", status.cause},
                          {"progress", status.progress},
                          {"launched_us", at.launched},
                          {"started_us", Reached(status.started_us)},
                          {"inputs_us", Reached(status.inputs_us)},
                          {"sort_us", Reached(status.sort_us)},
                          {"reduce_us", Reached(status.reduce_us)},
                          {"ended_us", Reached(status.ended_us)},
                          {"input_bytes", known ? task->second->input_bytes : 0},
                          {"output_bytes", known && status.won ? task->second->output_bytes : 0},
                          {"won", status.won},
                          {"critical", selection.Critical(i)},
                          {"reason", Cut(status.reason)},
                          {"message", Cut(status.message)}}));
  }
  return out;
}

// The decisions about the job and about the document's attempts, by time.
Json DecisionsJson(const Report& report, const Selection& selection) {
  const std::vector<DecisionStatus>& all = report.run.decisions;
  std::vector<size_t> attempts(all.size(), SIZE_MAX), chosen, others;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i].attempt.empty()) attempts[i] = report.timeline.Find(all[i].attempt);
    if (all[i].attempt.empty())
      chosen.push_back(i);
    else if (selection.Has(attempts[i]))
      others.push_back(i);
  }
  chosen = Sample(chosen, kMostDecisions / 2);
  for (const size_t i : Sample(others, kMostDecisions - chosen.size())) chosen.push_back(i);
  std::sort(chosen.begin(), chosen.end());
  std::map<std::string, size_t> workers;
  for (size_t w = 0; w < report.timeline.workers().size(); ++w) workers[report.timeline.workers()[w].id] = w;
  Json out = Json::array();
  for (const size_t i : chosen) {
    const auto worker = workers.find(all[i].worker);
    out.push_back(Object({{"at_us", all[i].at_us},
                          {"what", all[i].what},
                          {"attempt", selection.Place(attempts[i])},
                          {"worker", worker == workers.end() ? Json(nullptr) : Json(worker->second)},
                          {"reason", Cut(all[i].reason)}}));
  }
  return out;
}

Json SettingsJson(const JobRun& run) {
  Json out = Json::array();
  const auto add = [&out](const std::string& name, const std::string& value) {
    if (!value.empty()) out.push_back(Object({{"name", name}, {"value", value}}));
  };
  const JobSpec& spec = run.spec;
  std::string policies;
  for (const std::string& policy : spec.policies) policies += (policies.empty() ? "" : ",") + policy;
  add("scheduler", policies.empty() ? run.policies : policies);
  add("queue", run.job.queue);
  add("priority", std::to_string(run.job.priority));
  add("output", run.job.output_uri);
  if (spec.deadline.ns > 0) add("deadline", HumanDuration(spec.deadline));
  if (spec.task_timeout.ns > 0) add("task-timeout", HumanDuration(spec.task_timeout));
  if (spec.memory_bytes > 0) add("memory", HumanBytes(spec.memory_bytes));
  if (spec.sort_buffer_bytes > 0) add("sort_buffer", HumanBytes(spec.sort_buffer_bytes));
  if (spec.max_failures > 0) add("max-attempts", std::to_string(spec.max_failures));
  if (spec.max_bad_records > 0) add("max-bad-records", std::to_string(spec.max_bad_records));
  const auto wish = [](Wish w) { return w == Wish::kOn ? "on" : w == Wish::kOff ? "off" : ""; };
  add("clone", wish(spec.clones));
  add("speculation", wish(spec.speculation));
  for (const KeyValue& c : spec.conf) add("conf " + c.key, c.value);
  for (const KeyValue& l : spec.labels) {
    if (l.key != kArgumentsLabel) add("label " + l.key, l.value);  // they are among the options
  }
  // Values of the environment may be secrets.
  for (const KeyValue& e : spec.env) add("env " + e.key, "(set)");
  for (const StageSpec& stage : spec.stages) {
    add("stage " + stage.name,
        "operator " + stage.operator_name + (stage.tasks > 0 ? ", " + CountOf(stage.tasks, "task") : std::string()));
  }
  return out;
}

}  // namespace

Report::Report(const JobRun& of)
    : run(of), timeline(of), path(TraceCriticalPath(of, timeline)), findings(FindProblems(of, timeline, path)) {}

std::string ReportJson(const Report& report) {
  const JobRun& run = report.run;
  const Selection selection(report);
  // Without the next command, which is to make the report.
  std::vector<std::string> summary = Summary(report);
  summary.resize(kSummaryLines);
  const Json json = Object({{"id", Name(run.job)},
                            {"taken_unix_ms", run.taken_unix_ms},
                            {"release", run.release},
                            {"policies", run.policies},
                            {"live", !Ended(run.job.state)},
                            {"job", ToJson(run.job, run.spec)},
                            {"summary", summary},
                            {"findings", FindingsJson(report)},
                            {"critical_path", PathJson(report, selection)},
                            {"stages", StagesJson(report)},
                            {"edges", EdgesJson(run)},
                            {"workers", WorkersJson(report)},
                            {"attempts", AttemptsJson(report, selection)},
                            {"attempts_total", report.timeline.attempts().size()},
                            {"decisions", DecisionsJson(report, selection)},
                            {"decisions_total", run.decisions.size()},
                            {"settings", SettingsJson(run)}});
  return DumpJson(Object({{"version", 1}, {"report", json}}));
}

}  // namespace mr::report
