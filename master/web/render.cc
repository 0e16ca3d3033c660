#include "master/web/render.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "common/model/attempt.h"
#include "common/report/documents.h"
#include "common/report/json.h"
#include "common/report/report.h"

namespace mr::web {
namespace {

using report::Json;
using report::Object;
using report::ToJson;

template <class T>
Json AllOf(const std::vector<T>& values) {
  Json out = Json::array();
  for (const T& value : values) out.push_back(ToJson(value));
  return out;
}

std::string DocumentWith(const char* key, Json value) {
  return report::DumpJson(Object({{"version", 1}, {key, std::move(value)}}));
}

std::string HexOf(uint64_t id) {
  char text[20];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(id));
  return text;
}

Json JsonOf(const std::vector<uint32_t>& numbers) {
  Json out = Json::array();
  for (const uint32_t n : numbers) out.push_back(n);
  return out;
}

Json UsageJson(const UsageView& u) {
  Json by_job = Json::array();
  for (const JobUsage& j : u.by_job) {
    by_job.push_back(Object({{"id", Name(j.id)}, {"name", j.name}, {"busy", JsonOf(j.busy)}}));
  }
  return Object({{"period_ms", u.period_ms},
                 {"to_unix_ms", u.to_unix_ms},
                 {"slots", JsonOf(u.slots)},
                 {"busy", JsonOf(u.busy)},
                 {"jobs", JsonOf(u.jobs)},
                 {"by_job", std::move(by_job)}});
}

Json ClusterJson(const ClusterView& c) {
  Json workers = Json::object(), racks = Json::array(), jobs = Json::object();
  for (const auto& [state, count] : c.workers) workers[state] = count;
  for (const auto& [rack, r] : c.racks) {
    racks.push_back(
        Object({{"id", rack}, {"workers", r.workers}, {"lost", r.lost}, {"slots", r.slots}, {"busy", r.busy}}));
  }
  for (const auto& [state, count] : c.jobs) jobs[InLowerCase(Word(state))] = count;
  return Object({{"id", HexOf(c.cluster_id)},
                 {"release", c.release},
                 {"epoch", c.epoch},
                 {"address", c.address},
                 {"policies", c.policies},
                 {"taken_unix_ms", c.taken_unix_ms},
                 {"insecure", c.insecure},
                 {"warnings", c.warnings},
                 {"slots", Object({{"total", c.slots}, {"busy", c.busy}})},
                 {"workers", std::move(workers)},
                 {"racks", std::move(racks)},
                 {"jobs", std::move(jobs)},
                 {"attempts", Object({{"live", c.live},
                                      {"launched", c.launched},
                                      {"committed", c.committed},
                                      {"failed", c.failed},
                                      {"killed", c.killed}})},
                 {"series", UsageJson(c.usage)},
                 {"store", Object({{"blocks", c.store.blocks},
                                   {"missing", c.store.missing},
                                   {"under_replicated", c.store.under_replicated},
                                   {"used_bytes", c.store.used_bytes},
                                   {"capacity_bytes", c.store.capacity_bytes}})},
                 {"queues", AllOf(c.queues)},
                 {"open", AllOf(c.open)},
                 {"open_left_out", c.open_left_out},
                 {"ended", AllOf(c.ended)}});
}

Json WorkerJson(const WorkerView& w) {
  Json json = ToJson(w.worker);
  json["running"] = AllOf(w.running);
  json["why"] = w.why;
  json["ended"] = Json::array();
  for (const EndedAttempt& a : w.ended) {
    json["ended"].push_back(Object({{"id", a.status.id},
                                    {"job", a.job},
                                    {"stage", a.stage},
                                    {"state", a.status.state},
                                    {"won", a.status.won},
                                    {"cause", a.status.cause},
                                    {"launched_unix_ms", a.launched_unix_ms},
                                    {"ran_us", a.status.ran_us},
                                    {"failure", a.status.failure},
                                    {"message", a.status.message}}));
  }
  if (w.drain.draining) json["drain"] = ToJson(w.drain);
  return json;
}

Json StoreJson(const StoreView& s) {
  Json workers = Json::array(), entries = Json::array();
  for (const WorkerStatus& w : s.workers) {
    workers.push_back(Object({{"id", w.id},
                              {"name", w.name},
                              {"rack", w.rack},
                              {"state", w.state},
                              {"blocks", w.blocks},
                              {"used_bytes", w.used_bytes},
                              {"capacity_bytes", w.capacity_bytes}}));
  }
  for (const StoreEntry& e : s.entries) {
    entries.push_back(Object({{"id", e.path},
                              {"type", e.directory ? "directory" : "file"},
                              {"bytes", e.bytes},
                              {"replication", e.replication}}));
  }
  return Object({{"blocks", s.counts.blocks},
                 {"missing", s.counts.missing},
                 {"under_replicated", s.counts.under_replicated},
                 {"copying", s.counts.copying},
                 {"suspect", s.counts.suspect},
                 {"used_bytes", s.counts.used_bytes},
                 {"capacity_bytes", s.counts.capacity_bytes},
                 {"safe_mode", s.safe_mode},
                 {"workers", std::move(workers)},
                 {"entries", std::move(entries)},
                 {"more_entries", s.more_entries}});
}

Json SchedulerJson(const SchedulerView& s) {
  Json policies = Json::array(), figures = Json::array(), causes = Json::array();
  for (const PolicyView& p : s.policies) {
    policies.push_back(
        Object({{"id", p.name}, {"text", p.text}, {"scope", p.cluster_scope ? "cluster" : "job"}, {"does", p.does}}));
  }
  for (const FigureView& f : s.figures) {
    Json figure = Object({{"id", f.name}, {"label", f.label}, {"value", nullptr}});
    if (std::isfinite(f.value)) figure["value"] = f.value;
    figures.push_back(std::move(figure));
  }
  for (const CauseStatus& c : s.causes) {
    causes.push_back(
        Object({{"cause", c.cause}, {"launched", c.launched}, {"won", c.won}, {"wasted_us", c.wasted_us}}));
  }
  return Object({{"list", s.list},
                 {"seed", s.seed},
                 {"version", s.version},
                 {"policies", std::move(policies)},
                 {"figures", std::move(figures)},
                 {"causes", std::move(causes)},
                 {"clones", Object({{"killed", s.clones.killed},
                                    {"extra_us", s.clones.extra_us},
                                    {"lent_killed", s.clones.lent_killed},
                                    {"lent_extra_us", s.clones.lent_extra_us},
                                    {"exclusive", s.clones.exclusive},
                                    {"contended", s.clones.contended},
                                    {"rebound", s.clones.rebound}})},
                 {"queues", AllOf(s.queues)}});
}

std::string RenderJobs(const JobsView& view) {
  Json next = nullptr;
  if (view.next.valid()) next = Name(view.next);
  return report::DumpJson(Object({{"version", 1}, {"jobs", AllOf(view.jobs)}, {"next", std::move(next)}}));
}

std::string RenderFound(const SearchView& view) {
  Json results = Json::array();
  for (const Found& f : view.results) results.push_back(Object({{"kind", f.kind}, {"id", f.id}, {"text", f.text}}));
  return DocumentWith("results", std::move(results));
}

std::string RenderRun(TopicKind kind, report::JobRun run) {
  // The master lists them by task.
  std::stable_sort(run.decisions.begin(), run.decisions.end(),
                   [](const DecisionStatus& a, const DecisionStatus& b) { return a.at_us < b.at_us; });
  switch (kind) {
    case TopicKind::kReport: return report::ReportJson(report::Report(run));
    case TopicKind::kTasks: return DocumentWith("tasks", AllOf(run.tasks));
    case TopicKind::kAttempts: return DocumentWith("attempts", AllOf(run.attempts));
    case TopicKind::kCounters:
      return DocumentWith("counters", AllOf(run.job.counters.value_or(std::vector<CounterValue>())));
    default: return DocumentWith("job", ToJson(run.job, run.spec));
  }
}

}  // namespace

std::string Render(const Topic& topic, View view) {
  if (const auto* cluster = std::get_if<ClusterView>(&view)) {
    return topic.kind == TopicKind::kQueues ? DocumentWith("queues", AllOf(cluster->queues))
                                            : DocumentWith("cluster", ClusterJson(*cluster));
  }
  if (const auto* workers = std::get_if<WorkersView>(&view)) return DocumentWith("workers", AllOf(workers->workers));
  if (const auto* worker = std::get_if<WorkerView>(&view)) {
    Json list = Json::array();
    list.push_back(WorkerJson(*worker));
    return DocumentWith("workers", std::move(list));
  }
  if (const auto* store = std::get_if<StoreView>(&view)) return DocumentWith("store", StoreJson(*store));
  if (const auto* scheduler = std::get_if<SchedulerView>(&view))
    return DocumentWith("scheduler", SchedulerJson(*scheduler));
  if (const auto* jobs = std::get_if<JobsView>(&view)) return RenderJobs(*jobs);
  if (const auto* found = std::get_if<SearchView>(&view)) return RenderFound(*found);
  if (const auto* log = std::get_if<LogView>(&view))
    return log->note.empty() ? log->text : log->note + "\n" + log->text;
  return RenderRun(topic.kind, std::move(std::get<report::JobRun>(view)));
}

std::string RenderError(const Status& status, const std::string& hint) {
  return DocumentWith("error",
                      Object({{"code", CodeName(status.code())}, {"message", status.message()}, {"hint", hint}}));
}

std::string RenderIndex() {
  Json documents = Json::array();
  for (const TopicDoc& doc : TopicDocs()) documents.push_back(Object({{"path", doc.path}, {"what", doc.what}}));
  return DocumentWith("documents", std::move(documents));
}

}  // namespace mr::web
