// The functions of plan.h.
#pragma once

#include <algorithm>

#include "paceline/compiled.h"
#include "paceline/json_text.h"
#include "paceline/plan.h"

namespace mr {

PACELINE_INLINE JobPlan::Stage& JobPlan::Stage::ReadUris(const std::vector<std::string>& uris,
                                                         const FileOptions& options) {
  std::string list;
  if (std::count(uris.begin(), uris.end(), "") != 0) {
    throw JobError("stage '" + name_ + "' reads a file without a name: an argument of the job is missing or empty");
  }
  for (const auto& uri : uris) list += (list.empty() ? "" : ", ") + sdk::JsonString(uri);
  return AddInput("{\"files\": {\"uris\": [" + list + "]" + Options(options) + "}}");
}

PACELINE_INLINE JobPlan::Stage& JobPlan::Stage::Shuffle(const ShuffleOptions& options) {
  for (const Port& port : ports_) {
    if (!port.derived) continue;
    throw PlanError("stage '" + name_ + "' gets a Shuffle() after a typed stage has read it, which would be a port " +
                    std::to_string(ports_.size()) + " that nothing reads: call Shuffle() before");
  }
  ports_.push_back({options, ""});
  return *this;
}

PACELINE_INLINE JobPlan::Stage& JobPlan::Stage::WriteFiles(const std::string& format) {
  files_ = true;
  ports_.push_back({{}, "{\"files\": {\"format\": " + sdk::JsonString(format) + "}}"});
  return *this;
}

PACELINE_INLINE JobPlan::Stage& JobPlan::Stage::Named(const std::string& name, const std::string& format) {
  if (!files_) throw PlanError("stage '" + name_ + "' names the output '" + name + "' before it has WriteFiles()");
  ports_.push_back(
      {{}, "{\"files\": {\"format\": " + sdk::JsonString(format) + ", \"name\": " + sdk::JsonString(name) + "}}"});
  ++named_;
  return *this;
}

PACELINE_INLINE JobPlan::Stage& JobPlan::Stage::ReadFiles(int input, const FileOptions& options) {
  return AddInput("{\"files\": {\"input\": " + std::to_string(input) + Options(options) + "}}");
}

PACELINE_INLINE void JobPlan::Stage::NeedPort(uint32_t port, const ShuffleOptions& options) {
  while (!files_ && ports_.size() <= port) ports_.push_back({{.sorted = false}, "", true});
  if (port >= ports_.size() || !ports_[port].derived) return;
  ShuffleOptions& shuffle = ports_[port].shuffle;
  shuffle.sorted |= options.sorted;
  shuffle.combine |= options.combine;
  shuffle.custom_partition |= options.custom_partition;
}

PACELINE_INLINE JobPlan::Stage& JobPlan::Stage::ReadEdge(Edge edge, const Stage& from, uint32_t port, bool grouped,
                                                         bool splits) {
  static constexpr const char* kNames[] = {"all_to_all", "many_to_one", "one_to_one", "broadcast"};
  if (grouped) {
    ++grouped_;
    if (port < from.ports_.size() && !from.ports_[port].shuffle.sorted) {
      throw PlanError("stage '" + name_ + "' groups what port " + std::to_string(port) + " of stage '" + from.name_ +
                      "' writes, so that port must be sorted");
    }
  }
  if (port >= from.ports_.size()) {
    throw PlanError("stage '" + name_ + "' reads port " + std::to_string(port) + " of stage '" + from.name_ +
                    "', which has " + std::to_string(from.ports_.size()));
  }
  if (from.files_) {
    throw PlanError("stage '" + name_ + "' reads stage '" + from.name_ +
                    "', which writes files; a stage has either shuffle ports or files");
  }
  return AddInput("{\"edge\": {\"kind\": \"" + std::string(kNames[static_cast<int>(edge)]) +
                  "\", \"from\": " + sdk::JsonString(from.name_) + ", \"port\": " + std::to_string(port) +
                  ", \"grouped\": " + Bool(grouped) + (splits ? ", \"splits\": true" : "") + "}}");
}

PACELINE_INLINE std::string JobPlan::Stage::Options(const FileOptions& o) {
  std::string text = ", \"format\": " + sdk::JsonString(o.format);
  if (o.only_format) text += ", \"only_format\": true";
  if (o.sample_bytes) text += ", \"sample_bytes\": " + std::to_string(o.sample_bytes);
  if (o.max_split_bytes) text += ", \"max_split_bytes\": " + std::to_string(o.max_split_bytes);
  return text;
}

PACELINE_INLINE JobPlan::Stage& JobPlan::Add(Role role, const std::string& name, const std::string& op) {
  for (const Stage& other : stages_) {
    if (other.name_ == name) throw PlanError("two stages are named '" + name + "'");
  }
  Stage& stage = stages_.emplace_back();
  stage.role_ = role;
  stage.name_ = name;
  stage.operator_ = op;
  return stage;
}

PACELINE_INLINE std::string JobPlan::Stage::Port::Json() const {
  if (!files.empty()) return files;
  return "{\"shuffle\": {\"sorted\": " + Bool(shuffle.sorted) + ", \"combine\": " + Bool(shuffle.combine) +
         ", \"partition\": \"" + (shuffle.custom_partition ? "custom" : "hash") + "\"}}";
}

PACELINE_INLINE void JobPlan::Stage::Check() const {
  const std::string who = "stage '" + name_ + "' ";
  if (ports_.empty()) throw PlanError(who + "writes nothing: give it Shuffle() or WriteFiles()");
  if (files_ && ports_.size() != 1 + named_) {
    throw PlanError(who + "has files and other ports; a stage has either files or shuffle ports");
  }
  if (side_) throw PlanError(who + "has an operator with a side input: name it by SideInput()");
  if (side_at_ != 0 && side_at_ != inputs_.size()) {
    throw PlanError(who +
                    "reads a further input after SideInput(); the side input is the last one: call SideInput() last");
  }
  if (inputs_.empty() && tasks_ == 0) {
    throw PlanError(who + "reads nothing, so the plan must say how many Tasks() it has");
  }
  if (role_ == Role::kReduce && grouped_ + hashed_ == 0) {
    throw PlanError(who + "is a reduce stage without a grouped input: use Group() or GroupByHash()");
  }
  if (role_ == Role::kJoin && grouped_ != 2) {
    throw PlanError(who + "is a join stage, which has two grouped inputs, not " + std::to_string(grouped_));
  }
}

PACELINE_INLINE std::string JobPlan::Stage::Json() const {
  std::string inputs, ports;
  for (const auto& input : inputs_) inputs += (inputs.empty() ? "" : ", ") + input;
  for (const auto& port : ports_) ports += (ports.empty() ? "" : ", ") + port.Json();
  return "  {\"name\": " + sdk::JsonString(name_) + ", \"operator\": " + sdk::JsonString(operator_) +
         ", \"config\": \"" + sdk::Base64(config_) + "\", \"tasks\": " + std::to_string(tasks_) +
         (task_bytes_ == 0 ? "" : ", \"task_bytes\": " + std::to_string(task_bytes_)) +
         (memory_bytes_ == 0 ? "" : ", \"memory_bytes\": " + std::to_string(memory_bytes_)) + ",\n   \"inputs\": [" +
         inputs + "],\n   \"ports\": [" + ports + "]}";
}

PACELINE_INLINE std::string JobPlan::Json() const {
  if (stages_.empty()) throw PlanError("the plan has no stage");
  std::string stages;
  for (const Stage& stage : stages_) {
    stage.Check();
    stages += (stages.empty() ? "" : ",\n") + stage.Json();
  }
  std::string notes;
  for (const std::string& note : notes_) notes += (notes.empty() ? " \"notes\": [" : ", ") + sdk::JsonString(note);
  if (!notes.empty()) notes += "],\n";
  const auto list = [](const std::vector<std::string>& texts) {
    std::string json;
    for (const std::string& text : texts) json += (json.empty() ? "" : ", ") + sdk::JsonString(text);
    return "[" + json + "]";
  };
  for (const TableNeeds& t : tables_) {
    notes += (&t == tables_.data() ? " \"tables\": [\n  " : ",\n  ") + ("{\"side\": " + sdk::JsonString(t.side)) +
             ", \"uris\": " + list(t.uris) + ", \"format\": " + sdk::JsonString(t.format) +
             ", \"header\": " + (t.header ? "true" : "false") + ", \"columns\": " + list(t.columns) + "}";
  }
  if (!tables_.empty()) notes += "],\n";
  if (const auto& e = expressions_; e) {
    notes += " \"expressions\": {\"where\": " + sdk::JsonString(e->where) +
             ", \"select\": " + sdk::JsonString(e->select) + ", \"types\": " + sdk::JsonString(e->types) +
             ", \"nulls\": " + list(e->nulls) + ", \"decimal\": " + sdk::JsonString(e->decimal) +
             ", \"joined\": " + std::to_string(e->joined) + ", \"hidden\": " + list(e->hidden) + "},\n";
  }
  return "{\"version\": 1,\n" + notes + " \"stages\": [\n" + stages + "]}\n";
}

}  // namespace mr
