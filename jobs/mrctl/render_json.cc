// JSON output of mrctl. The schemas of its documents are in jobs/mrctl/schema.
#include "jobs/mrctl/json.h"

#include "common/base/text.h"
#include "common/model/attempt.h"
#include "jobs/mrctl/render.h"
#include "jobs/mrctl/sdk_check.h"
#include "jobs/mrctl/sdk_new.h"

namespace mr::ctl {
namespace {

using report::ToJson;  // beside the overloads of this file

// Short names of shared functions.
std::string Dump(const Json& json) { return DumpJson(json); }
std::string List(const char* key, const std::vector<Json>& elements, OutputForm form) {
  return ListDocument(key, elements, form);
}

std::string One(const char* key, const Json& element, OutputForm form) {
  return Dump(form == OutputForm::kJson ? Object({{"version", 1}, {key, element}}) : element);
}

double SecondsOf(uint64_t us) { return static_cast<double>(us) / 1e6; }

Json ToJson(const Explained& e) {
  Json stages = Json::array(), times = Json::array(), refusals = Json::array();
  for (const auto& s : e.stages) {
    stages.push_back(Object({{"id", s.name},
                             {"slots", s.reduces ? "reduce" : "map"},
                             {"tasks", s.tasks},
                             {"input_bytes", s.input_bytes},
                             {"splits", s.splits},
                             {"splits_with_replica", s.with_replica},
                             {"workers_with_replica", s.workers}}));
  }
  for (const auto& t : e.times) {
    times.push_back(Object({{"slots", t.slots},
                            {"median_s", SecondsOf(t.median_us)},
                            {"most_s", SecondsOf(t.most_us)},
                            {"in_time", t.in_time}}));
  }
  for (const Status& r : e.refusals)
    refusals.push_back(Object({{"code", CodeName(r.code())}, {"message", r.message()}}));
  Json json = Object({{"stages", std::move(stages)},
                      {"cluster_slots", e.slots},
                      {"basis", e.basis},
                      {"earlier_runs", e.runs},
                      {"input_scale", e.scale},
                      {"times", std::move(times)},
                      {"refusals", std::move(refusals)}});
  if (e.has_admission) {
    json["admission"] = Object({{"admitted", e.admitted},
                                {"counts", e.steered && e.runs > 0},
                                {"needs_slots", e.needs_slots},
                                {"available_slots", e.available_slots},
                                {"critical_path_s", SecondsOf(e.critical_path_us)},
                                {"earliest_s", nullptr},
                                {"account", e.account}});
    if (e.earliest_us > 0) json["admission"]["earliest_s"] = SecondsOf(e.earliest_us);
  }
  return json;
}

Json ToJson(const AttemptLog& l) {
  return Object({{"id", l.id}, {"worker", l.worker}, {"state", l.state}, {"note", l.note}, {"text", l.text}});
}

Json ToJson(const ProfileStatus& p) {
  Json stages = Json::array();
  for (const ProfileStage& s : p.stages) {
    Json inputs = Json::array();
    for (const auto& i : s.inputs) {
      inputs.push_back(
          i.edge.empty() ? Object({{"files", true}})
                         : Object({{"edge", i.edge}, {"from", i.from < p.stages.size() ? p.stages[i.from].name : ""}}));
    }
    stages.push_back(Object({{"id", s.name},
                             {"tasks", s.tasks},
                             {"inputs", std::move(inputs)},
                             {"input_bytes", s.input_bytes},
                             {"queue_s", s.queue},
                             {"attempt_fails", s.fails},
                             {"fails_again", s.fails_again},
                             {"run_s", s.run},
                             {"wait_s", s.wait}}));
  }
  return Object({{"id", p.id},
                 {"name", p.name},
                 {"runs", p.runs},
                 {"updated_unix_ms", p.updated_unix_ms},
                 {"last_job", Name(p.last)},
                 {"stages", std::move(stages)}});
}

Json ToJson(const FileRow& f) {
  Json json = Object({{"id", f.path},
                      {"type", f.directory ? "directory" : "file"},
                      {"bytes", f.bytes},
                      {"replication", f.replication},
                      {"least_replicas", f.least_replicas},
                      {"block_bytes", f.block_bytes},
                      {"blocks", f.blocks},
                      {"missing_blocks", f.missing_blocks},
                      {"modified_unix_ms", f.modified_unix_ms}});
  // Local files and files of earlier releases of the master have none.
  if (!f.owner.empty()) {
    json["owner"] = f.owner;
    json["read"] = f.read_by_all ? "all" : "owner";
  }
  return json;
}

template <class T>
std::vector<Json> All(const std::vector<T>& values) {
  std::vector<Json> out;
  out.reserve(values.size());
  for (const T& value : values) out.push_back(ToJson(value));
  return out;
}

Json ToJson(const PlanStage& s, const Plan& plan) {
  Json inputs = Json::array(), ports = Json::array();
  for (const PlanInput& i : s.inputs) {
    if (i.files) {
      inputs.push_back(Object({{"files", Object({{"input", i.input},
                                                 {"uris", i.uris},
                                                 {"format", i.format},
                                                 {"sample_bytes", i.sample_bytes},
                                                 {"max_split_bytes", i.max_split_bytes}})}}));
    } else {
      Json edge =
          Object({{"kind", i.kind}, {"from", plan.stages[i.from].name}, {"port", i.port}, {"grouped", i.grouped}});
      if (i.quotes) edge["quotes"] = true;
      if (i.splits) edge["splits"] = true;
      // Read as the files that `from` would have written.
      if (!i.format.empty())
        edge["read_as"] = Object({{"format", i.format}, {"written", i.written}, {"sample_bytes", i.sample_bytes}});
      inputs.push_back(Object({{"edge", std::move(edge)}}));
    }
  }
  for (const PlanPort& p : s.ports) {
    if (p.files) {
      Json files = Object({{"format", p.format}});
      if (!p.name.empty()) files["name"] = p.name;
      ports.push_back(Object({{"files", std::move(files)}}));
    } else {
      ports.push_back(Object({{"shuffle", Object({{"sorted", p.sorted},
                                                  {"combine", p.combine},
                                                  {"partition", p.custom_partition ? "custom" : "hash"}})}}));
    }
  }
  const auto flags = plan.operator_flags.find(s.op);
  Json json = Object({{"id", s.name},
                      {"operator", s.op},
                      {"tasks", s.tasks},
                      {"task_bytes", s.task_bytes},
                      {"flags", s.flags.has_value()                  ? *s.flags
                                : flags == plan.operator_flags.end() ? 0
                                                                     : flags->second},
                      {"builtin", s.builtin},
                      {"inputs", std::move(inputs)},
                      {"ports", std::move(ports)}});
  if (s.memory_bytes != 0) json["memory_bytes"] = s.memory_bytes;
  return json;
}

}  // namespace

std::string JsonJobs(const std::vector<JobStatus>& jobs, OutputForm form) { return List("jobs", All(jobs), form); }
std::string JsonJob(const JobStatus& job, OutputForm form, const JobSpec* spec) {
  return One("job", spec == nullptr ? ToJson(job) : ToJson(job, *spec), form);
}
std::string JsonStages(const JobStatus& job, OutputForm form) { return List("stages", All(job.stages), form); }
std::string JsonTasks(const std::vector<TaskStatus>& v, OutputForm form) { return List("tasks", All(v), form); }
std::string JsonAttempts(const std::vector<AttemptStatus>& v, OutputForm form) {
  return List("attempts", All(v), form);
}
std::string JsonCounters(const std::vector<CounterValue>& v, OutputForm form) { return List("counters", All(v), form); }
std::string JsonWorkers(const std::vector<WorkerStatus>& v, OutputForm form) { return List("workers", All(v), form); }
std::string JsonQueues(const std::vector<QueueStatus>& v, OutputForm form) { return List("queues", All(v), form); }
std::string JsonProfiles(const std::vector<ProfileStatus>& v, OutputForm form) {
  return List("profiles", All(v), form);
}
std::string JsonLogs(const std::vector<AttemptLog>& v, OutputForm form) { return List("logs", All(v), form); }
std::string JsonFiles(const std::vector<FileRow>& v, OutputForm form) { return List("files", All(v), form); }

std::string JsonVersion(const std::string& own, const MasterInfo* master, OutputForm form) {
  Json json = Object({{"mrctl", own}});
  if (master != nullptr) {
    json["master"] = Object({{"version", master->version},
                             {"cluster_id", std::to_string(master->cluster_id)},
                             {"epoch", master->master_epoch},
                             {"policies", master->policies},
                             {"pid", master->pid},
                             {"address", master->address}});
  }
  // The document's own "version" is a number. This is the release.
  return One("release", json, form);
}

std::string JsonPlan(const std::string& job, const Plan& plan, const std::vector<std::string>& inputs,
                     const std::string& output, const Explained* explained, OutputForm form) {
  Json stages = Json::array();
  for (const PlanStage& stage : plan.stages) stages.push_back(ToJson(stage, plan));
  Json json = Object({{"id", job}, {"inputs", inputs}, {"output", output}, {"stages", std::move(stages)}});
  if (!plan.notes.empty()) json["notes"] = plan.notes;
  if (explained != nullptr) json["explained"] = ToJson(*explained);
  return One("plan", json, form);
}

std::string JsonSpace(const std::vector<WorkerStatus>& workers, OutputForm form) {
  std::vector<Json> rows;
  rows.reserve(workers.size());
  for (const WorkerStatus& w : workers) {
    rows.push_back(Object({{"id", w.id},
                           {"state", w.state},
                           {"capacity_bytes", w.capacity_bytes},
                           {"used_bytes", w.used_bytes},
                           {"disk", report::DiskName(w)}}));
  }
  if (form == OutputForm::kNdjson) return List("df", rows, form);
  const StoreSpace space = SpaceOfStore(workers);
  return Dump(
      Object({{"version", 1},
              {"df", rows},
              {"total", Object({{"capacity_bytes", space.capacity_bytes}, {"used_bytes", space.used_bytes}})}}));
}

std::string JsonSums(const std::vector<FileSum>& sums, OutputForm form) {
  std::vector<Json> rows;
  rows.reserve(sums.size());
  for (const FileSum& s : sums)
    rows.push_back(Object({{"id", s.path}, {"algorithm", "xxh3-128"}, {"digest", s.digest}, {"bytes", s.bytes}}));
  return List("checksums", rows, form);
}

std::string JsonDone(const std::vector<Done>& done, OutputForm form) {
  std::vector<Json> rows;
  for (const Done& d : done) {
    rows.push_back(Object({{"id", d.id}, {"action", d.action}}));
    if (!d.to.empty()) rows.back()["to"] = d.to;
    if (!d.note.empty()) rows.back()["note"] = d.note;
  }
  return List("done", rows, form);
}

std::string JsonContents(const std::vector<FileText>& contents, OutputForm form) {
  std::vector<Json> rows;
  for (const FileText& f : contents) {
    const bool exact = ParseJson(Dump(f.text)).get_ref<const std::string&>() == f.text;
    rows.push_back(Object({{"id", f.path}, {"bytes", f.text.size()}, {"exact", exact}, {"text", f.text}}));
  }
  return List("contents", rows, form);
}

std::string JsonWhy(const std::vector<Reasons>& why, OutputForm form) {
  std::vector<Json> rows;
  rows.reserve(why.size());
  for (const Reasons& r : why) {
    rows.push_back(Object({{"id", r.id}, {"lines", r.lines}}));
    if (!r.summary.empty()) rows.back()["summary"] = r.summary;
  }
  return List("why", rows, form);
}

std::string JsonWaited(const std::vector<JobStatus>& jobs, OutputForm form, const Failure* failure) {
  if (jobs.size() == 1) return SubmitJson(jobs[0], form, failure);
  if (failure == nullptr || form == OutputForm::kNdjson) return JsonJobs(jobs, form);
  return Dump(
      Object({{"version", 1},
              {"jobs", All(jobs)},
              {"error", Object({{"code", failure->code}, {"message", failure->message}, {"hint", failure->hint}})}}));
}

std::string JsonLibrary(const LibraryReport& report, OutputForm form) {
  Json needs = Json::array(), operators = Json::array(), jobs = Json::array();
  for (const auto& [file, version] : report.needs) needs.push_back(Object({{"file", file}, {"version", version}}));
  const auto types = [](const std::vector<RecordType>& list) {
    Json out = Json::array();
    for (const RecordType& type : list) out.push_back(Object({{"key", type.key}, {"value", type.value}}));
    return out;
  };
  for (const auto& op : report.info.operators) {
    operators.push_back(Object({{"id", op.name},
                                {"flags", FlagWords(op.flags)},
                                {"takes", types(op.types.inputs)},
                                {"gives", types(op.types.ports)}}));
  }
  for (const auto& job : report.info.jobs) jobs.push_back(Object({{"id", job.name}, {"help", job.help}}));
  const Json json = Object({{"id", report.path},
                            {"bytes", report.bytes},
                            {"abi", report.info.abi},
                            {"built_with", report.info.built_with},
                            {"needs", std::move(needs)},
                            {"operators", std::move(operators)},
                            {"jobs", std::move(jobs)},
                            {"problems", report.problems},
                            {"warnings", report.warnings},
                            {"unchecked", report.unchecked}});
  if (report.problems.empty() || form == OutputForm::kNdjson) return One("library", json, form);
  return Dump(Object(
      {{"version", 1},
       {"library", json},
       {"error",
        Object({{"code", "invalid_argument"}, {"message", report.path + " " + report.problems[0]}, {"hint", ""}})}}));
}

std::string JsonCompletion(const std::string& shell, const std::string& script, OutputForm form) {
  return One("completion", Object({{"id", shell}, {"script", script}}), form);
}

std::string JsonProject(const std::string& name, const std::string& directory, const std::vector<ProjectFile>& files,
                        OutputForm form) {
  Json names = Json::array();
  for (const ProjectFile& file : files) names.push_back(file.name);
  return One("project", Object({{"id", name}, {"directory", directory}, {"files", std::move(names)}}), form);
}

std::string SubmitJson(const JobStatus& job, OutputForm form, const Failure* failure) {
  if (failure == nullptr || form == OutputForm::kNdjson) return JsonJob(job, form);
  return Dump(
      Object({{"version", 1},
              {"job", ToJson(job)},
              {"error", Object({{"code", failure->code}, {"message", failure->message}, {"hint", failure->hint}})}}));
}

}  // namespace mr::ctl
