// The replay of an attempt: the task document for mrtask, its result, and their output.
#include "common/abi/operator_table.h"
#include "common/base/count.h"
#include "common/base/text.h"
#include "jobs/mrctl/json.h"
#include "jobs/mrctl/render.h"

namespace mr::ctl {

namespace {

Json EdgesOf(const ReplayTask& task, const ReplayPlaces& places) {
  Json edges = Json::array();
  const std::vector<InputSpec>& inputs = task.stage.spec.inputs;
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    const InputSpec& input = inputs[i];
    if (!input.is_edge) continue;
    Json segments = Json::array();
    for (const ReplaySegment& s : places.segments) {
      if (s.input != i) continue;
      segments.push_back(Object({{"upstream", s.upstream}, {"partition", s.partition}, {"path", s.path}}));
    }
    edges.push_back(Object({{"input", i},
                            {"grouped", input.grouped},
                            {"broadcast", input.kind == EdgeKind::kBroadcast},
                            {"quotes", input.quotes},
                            {"format", input.format},
                            {"written", input.written},
                            {"file", input.file},
                            {"sample_bytes", input.sample_bytes},
                            {"segments", std::move(segments)}}));
  }
  return edges;
}

}  // namespace

std::string ReplayDocument(const std::string& attempt, const ReplayTask& task, const ReplayPlaces& places) {
  Json splits = Json::array(), ports = Json::array(), env = Json::object(), config = Json::array();
  const StageInfo& stage = task.stage;
  for (size_t i = 0; i < task.launch.splits.size(); ++i) {
    const Split& s = task.launch.splits[i];
    splits.push_back(Object({{"input", s.input},
                             {"name", s.uri},
                             {"format", task.FilesOf(s).format},
                             {"offset", s.offset},
                             {"length", s.length},
                             {"file_bytes", s.file_bytes},
                             {"sample_bytes", task.FilesOf(s).sample_bytes},
                             {"path", places.splits[i].path},
                             {"path_offset", places.splits[i].offset},
                             {"path_length", places.splits[i].length}}));
  }
  for (size_t i = 0; i < stage.spec.ports.size(); ++i) {
    const PortSpec& p = stage.spec.ports[i];
    ports.push_back(Object({{"files", p.files},
                            {"format", p.format},
                            {"partitions", stage.port_partitions[i]},
                            {"sorted", p.sorted},
                            {"combine", p.combine},
                            {"custom_partition", p.custom_partition}}));
  }
  for (const auto& [name, value] : stage.env) env[name] = value;
  for (const char c : stage.spec.config) config.push_back(static_cast<unsigned char>(c));
  constexpr uint64_t kSortBuffer = 160ull << 20;  // the worker's value
  return DumpJson(Object({{"attempt", attempt},
                          {"stage_name", stage.spec.name},
                          {"job_name", stage.job_name},
                          {"submitted_unix_ms", stage.submitted_unix_ms},
                          {"tasks", stage.tasks},
                          {"library", places.library},
                          {"operator", stage.spec.operator_name},
                          {"flags", stage.spec.flags},
                          {"config", std::move(config)},
                          {"inputs", stage.spec.inputs.size()},
                          {"splits", std::move(splits)},
                          {"ports", std::move(ports)},
                          {"env", std::move(env)},
                          {"sort_buffer_bytes", stage.sort_buffer_bytes != 0 ? stage.sort_buffer_bytes : kSortBuffer},
                          {"memory_bytes", stage.memory_bytes},
                          {"partition_seed", stage.partition_seed},
                          {"max_bad_records", stage.max_bad_records},
                          {"edges", EdgesOf(task, places)},
                          {"keep_directory", places.keep_directory},
                          {"keep_partitions", places.keep_partitions},
                          {"files_directory", places.side_files},
                          {"scratch", places.scratch}}));
}

Result<ReplayResult> ParseReplay(const std::string& text) {
  try {
    const Json json = ParseJson(text);
    ReplayResult result;
    result.done = json.at("done");
    result.message = json.at("message");
    result.record = json.at("record");
    result.records_in = json.at("records_in");
    result.records_out = json.at("records_out");
    result.output_bytes = json.at("output_bytes");
    result.ran_us = json.at("ran_us");
    for (const auto& c : json.at("counters")) result.counters.push_back({c.at("group"), c.at("name"), c.at("value")});
    return result;
  } catch (const Json::exception& error) {
    return Internal(std::string("mrtask replay: ") + error.what());
  }
}

std::string RenderReplay(const std::string& attempt, const ReplayTask& task, const ReplayResult& result,
                         OutputForm form) {
  if (form != OutputForm::kTable) {
    Json inputs = Json::array(), counters = Json::array();
    for (const Split& s : task.launch.splits)
      inputs.push_back(Object({{"uri", s.uri}, {"offset", s.offset}, {"bytes", s.length}}));
    for (const auto& c : result.counters)
      counters.push_back(
          Object({{"id", c.group + "." + c.name}, {"group", c.group}, {"name", c.name}, {"value", c.value}}));
    Json json = Object({{"id", attempt},
                        {"operator", task.stage.spec.operator_name},
                        {"stage", task.stage.spec.name},
                        {"inputs", std::move(inputs)},
                        {"done", result.done},
                        {"message", result.message},
                        {"record", result.record},
                        {"records_in", result.records_in},
                        {"records_out", result.records_out},
                        {"output_bytes", result.output_bytes},
                        {"ran_us", result.ran_us},
                        {"counters", std::move(counters)}});
    if (form == OutputForm::kNdjson) return DumpJson(json);
    Json all = Object({{"version", 1}, {"replay", std::move(json)}});
    if (!result.done) all["error"] = Object({{"code", "failed"}, {"message", result.message}, {"hint", ""}});
    return DumpJson(all);
  }
  std::string text = "attempt   " + attempt + "\noperator  " + task.stage.spec.operator_name + " of stage " +
                     task.stage.spec.name + "\n";
  for (const Split& s : task.launch.splits) {
    text += "input     " + s.uri + ", bytes " + std::to_string(s.offset) + " to " +
            std::to_string(s.offset + s.length) + "\n";
  }
  uint64_t segments = 0;
  for (const Slice& s : task.launch.slices) {
    segments += uint64_t{s.task_end - s.task_begin} * (s.partition_end - s.partition_begin);
  }
  if (segments > 0) text += "input     " + CountOf(segments, "partition") + " of earlier tasks, made again\n";
  text += "result    " + (result.done ? "done" : "failed: " + result.message) + "\n";
  if (!result.done && !result.record.empty()) text += "at        " + result.record + "\n";
  const bool blocks = (task.stage.spec.flags & MR_RAW_BLOCKS) != 0;
  text += "records   " +
          (blocks ? CountOf(result.records_in, "block of lines in, ", "blocks of lines in, ")
                  : Grouped(result.records_in) + " in, ") +
          Grouped(result.records_out) + " out (" + HumanBytes(result.output_bytes) + "), in " +
          HumanDuration(Micros(static_cast<int64_t>(result.ran_us))) + "\n";
  if (result.counters.empty()) return text;
  Table counters({"GROUP", "COUNTER", "VALUE"});
  for (const auto& c : result.counters) counters.Add({c.group, c.name, std::to_string(c.value)});
  return text + "\n" + counters.Text();
}

}  // namespace mr::ctl
