// Parses all JSON that mrctl reads: plan documents, library lists, job files, _SUCCESS.
#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "common/base/text.h"
#include "jobs/mrctl/job_file.h"
#include "jobs/mrctl/json.h"
#include "jobs/mrctl/part_headers.h"
#include "jobs/mrctl/plan.h"

namespace mr::ctl {
namespace {

// An error; Guarded turns it into a Status.
struct Wrong {
  std::string text;
};

[[noreturn]] void ThrowWrong(std::string_view where, const char* key, const char* what) {
  throw Wrong{std::string(where) + ": '" + key + "' " + what};
}

// Returns the member, or null.
const Json* Find(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at == object.end() ? nullptr : &*at;
}

template <class T>
T As(const Json& value, const char* key, std::string_view where) {
  try {
    return value.get<T>();
  } catch (const Json::exception&) {
    ThrowWrong(where, key, "has a wrong type");
  }
}

template <class T>
T Get(const Json& object, const char* key, std::string_view where) {
  const Json* value = Find(object, key);
  if (value == nullptr) ThrowWrong(where, key, "is missing");
  return As<T>(*value, key, where);
}

template <class T>
T GetOr(const Json& object, const char* key, T otherwise, std::string_view where) {
  const Json* value = Find(object, key);
  return value == nullptr ? std::move(otherwise) : As<T>(*value, key, where);
}

template <class F>
auto Guarded(const std::string& what, F fn) -> Result<decltype(fn())> {
  try {
    return fn();
  } catch (const Wrong& wrong) {
    return InvalidArgument(what + ": " + wrong.text);
  } catch (const Json::exception& error) {
    return InvalidArgument(what + ": " + error.what());
  }
}

PlanInput ReadInput(const Json& json, const std::vector<PlanStage>& earlier, const std::string& where) {
  PlanInput input;
  if (json.contains("files")) {
    const Json& files = json["files"];
    input.files = true;
    input.input = GetOr<int>(files, "input", 0, where);
    input.uris = GetOr<std::vector<std::string>>(files, "uris", {}, where);
    input.format = GetOr<std::string>(files, "format", "text", where);
    input.only_format = GetOr<bool>(files, "only_format", false, where);
    input.sample_bytes = GetOr<uint64_t>(files, "sample_bytes", 0, where);
    input.max_split_bytes = GetOr<uint64_t>(files, "max_split_bytes", 0, where);
    return input;
  }
  const Json edge = Get<Json>(json, "edge", where);
  input.kind = Get<std::string>(edge, "kind", where);
  input.port = GetOr<uint32_t>(edge, "port", 0, where);
  input.grouped = GetOr<bool>(edge, "grouped", false, where);
  input.splits = GetOr<bool>(edge, "splits", false, where);
  const auto from = Get<std::string>(edge, "from", where);
  for (size_t i = 0; i < earlier.size(); ++i) {
    if (earlier[i].name != from) continue;
    input.from = static_cast<uint32_t>(i);
    if (input.port >= earlier[i].ports.size()) throw Wrong{where + ": stage '" + from + "' has no such port"};
    return input;
  }
  throw Wrong{where + ": an edge from '" + from + "', which is no earlier stage"};
}

PlanPort ReadPort(const Json& json, const std::string& where) {
  PlanPort port;
  if (json.contains("files")) {
    port.files = true;
    port.format = GetOr<std::string>(json["files"], "format", "text", where);
    port.name = GetOr<std::string>(json["files"], "name", "", where);
    return port;
  }
  const Json shuffle = Get<Json>(json, "shuffle", where);
  port.sorted = GetOr<bool>(shuffle, "sorted", false, where);
  port.combine = GetOr<bool>(shuffle, "combine", false, where);
  port.custom_partition = GetOr<std::string>(shuffle, "partition", "hash", where) == "custom";
  return port;
}

PlanStage ReadStage(const Json& json, const std::vector<PlanStage>& earlier) {
  PlanStage stage;
  stage.name = Get<std::string>(json, "name", "stage " + std::to_string(earlier.size()));
  const std::string where = "stage '" + stage.name + "'";
  stage.op = Get<std::string>(json, "operator", where);
  stage.tasks = GetOr<uint32_t>(json, "tasks", 0, where);
  stage.task_bytes = GetOr<uint64_t>(json, "task_bytes", 0, where);
  stage.memory_bytes = GetOr<uint64_t>(json, "memory_bytes", 0, where);
  auto config = DecodeBase64(GetOr<std::string>(json, "config", "", where));
  if (!config.ok()) throw Wrong{where + ": config " + config.status().message()};
  stage.config = *std::move(config);
  for (const Json& port : Get<Json>(json, "ports", where)) stage.ports.push_back(ReadPort(port, where));
  for (const Json& input : Get<Json>(json, "inputs", where)) stage.inputs.push_back(ReadInput(input, earlier, where));
  return stage;
}

std::vector<RecordType> ReadTypeList(const Json& json, const char* key, const std::string& where) {
  std::vector<RecordType> types;
  if (!json.contains(key)) return types;
  for (const Json& pair : json[key]) {
    if (!pair.is_array() || pair.size() != 2) throw Wrong{where + ": '" + key + "' is no list of pairs"};
    types.push_back({pair[0].get<std::string>(), pair[1].get<std::string>()});
  }
  return types;
}

OperatorTypes ReadTypes(const Json& json, const std::string& where) {
  return {ReadTypeList(json, "inputs", where), ReadTypeList(json, "ports", where), ReadTypeList(json, "side", where),
          ReadTypeList(json, "combine", where)};
}

OperatorCalls ReadCalls(const Json& names) {
  const auto has = [&](const char* name) { return std::find(names.begin(), names.end(), name) != names.end(); };
  return {has("combine"), has("partition"), has("groups"), has("part_groups"), has("side")};
}

std::string ScalarText(const Json& value, std::string* fault) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (value.is_number_integer()) return std::to_string(value.get<int64_t>());
  *fault = "must be a string, a whole number, true or false";
  return {};
}

// Returns the members of an object in the order of their names, in which faults are reported.
std::map<std::string_view, const Json*> Sorted(const Json& object) {
  std::map<std::string_view, const Json*> members;
  for (const auto& [name, value] : object.get_ref<const Json::object_t&>()) members.emplace(name, &value);
  return members;
}

KeyTable Flatten(const Json& root) {
  KeyTable table;
  for (const auto& [key, at] : Sorted(root)) {
    const Json& value = *at;
    KeyTable::Entry entry{std::string(key), {}, value.is_structured(), {}, {}};
    if (value.is_array()) {
      for (const Json& element : value) {
        if (element.is_object()) {
          entry.tables.push_back(Flatten(element));
        } else {
          entry.values.push_back(ScalarText(element, &entry.fault));
        }
      }
    } else if (value.is_object()) {
      for (const auto& [name, element] : Sorted(value)) {
        entry.values.push_back(std::string(name) + "=" + ScalarText(*element, &entry.fault));
      }
    } else {
      entry.values.push_back(ScalarText(value, &entry.fault));
    }
    table.entries.push_back(std::move(entry));
  }
  return table;
}

}  // namespace

Result<Plan> ParsePlan(std::string_view text) {
  return Guarded("plan document", [&] {
    const Json root = ParseJson(text);
    const Json document = Get<Json>(root, "plan", "mrtask plan");
    if (Get<int>(document, "version", "plan") != 1) throw Wrong{"version is not 1"};
    Plan plan;
    for (const Json& stage : Get<Json>(document, "stages", "plan")) {
      plan.stages.push_back(ReadStage(stage, plan.stages));
    }
    if (plan.stages.empty()) throw Wrong{"there are no stages"};
    plan.notes = GetOr<std::vector<std::string>>(document, "notes", {}, "plan");
    if (document.contains("expressions")) {
      const Json& e = document["expressions"];
      plan.expressions = PlanExpressions{GetOr<std::string>(e, "where", "", "expressions"),
                                         GetOr<std::string>(e, "select", "", "expressions"),
                                         GetOr<std::string>(e, "types", "", "expressions"),
                                         GetOr<std::vector<std::string>>(e, "nulls", {}, "expressions"),
                                         GetOr<std::string>(e, "decimal", ".", "expressions"),
                                         GetOr<uint64_t>(e, "joined", 0, "expressions"),
                                         GetOr<std::vector<std::string>>(e, "hidden", {}, "expressions")};
    }
    if (document.contains("tables")) {
      for (const Json& table : document["tables"]) {
        plan.tables.push_back({GetOr<std::string>(table, "side", "", "tables"),
                               GetOr<std::vector<std::string>>(table, "uris", {}, "tables"),
                               GetOr<std::string>(table, "format", "csv", "tables"),
                               GetOr<bool>(table, "header", true, "tables"),
                               GetOr<std::vector<std::string>>(table, "columns", {}, "tables")});
      }
    }
    plan.wants_bytes = GetOr<std::vector<std::string>>(root, "wants_bytes", {}, "mrtask plan");
    if (root.contains("operators")) plan.operator_flags = root["operators"].get<std::map<std::string, uint32_t>>();
    if (root.contains("types")) {
      for (const auto& [op, types] : root["types"].items())
        plan.operator_types[op] = ReadTypes(types, "types of " + op);
    }
    if (root.contains("calls")) {
      for (const auto& [op, names] : root["calls"].items()) plan.operator_calls[op] = ReadCalls(names);
    }
    return plan;
  });
}

Result<LibraryInfo> ParseLibraryInfo(std::string_view text) {
  return Guarded("library list", [&] {
    const Json root = ParseJson(text);
    LibraryInfo info;
    for (const Json& job : Get<Json>(root, "jobs", "mrtask check")) {
      info.jobs.push_back({Get<std::string>(job, "name", "jobs"), GetOr<std::string>(job, "help", "", "jobs")});
    }
    for (const Json& op : Get<Json>(root, "operators", "mrtask check")) {
      info.operators.push_back(
          {Get<std::string>(op, "name", "operators"), GetOr<uint32_t>(op, "flags", 0, "operators"), {}});
      if (op.contains("types")) info.operators.back().types = ReadTypes(op["types"], "operators");
    }
    info.built_with = GetOr<std::string>(root, "built_with", "", "mrtask check");
    info.abi = GetOr<uint32_t>(root, "abi", 0, "mrtask check");
    return info;
  });
}

Result<KeyTable> ParseJsonTable(const std::string& text, const std::string& file) {
  return Guarded(file, [&] {
    const Json root = ParseJson(text);
    if (!root.is_object()) throw Wrong{"the top must be an object"};
    return Flatten(root);
  });
}

std::optional<CsvDialect> HeaderInSuccess(std::string_view success) {
  // Other engines leave an empty _SUCCESS, or one of their own.
  if (success.find("\"header\"") == success.npos) return std::nullopt;
  const auto header = Guarded("_SUCCESS", [&] {
    const Json root = ParseJson(success);
    return root.is_object() ? GetOr<std::string>(root, "header", "", "_SUCCESS") : "";
  });
  return header.ok() ? ParseCsvFormat(*header) : std::nullopt;
}

Result<std::string> DecodeBase64(std::string_view text) {
  if (text.size() % 4 != 0) return InvalidArgument("is not base64 (length is no multiple of 4)");
  const auto value = [](char c) -> int {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
  };
  std::string out;
  for (size_t i = 0; i < text.size(); i += 4) {
    const bool last = i + 4 == text.size();
    const int padding = last ? (text[i + 3] == '=') + (text[i + 2] == '=' && text[i + 3] == '=') : 0;
    uint32_t bits = 0;
    for (size_t j = 0; j < 4; ++j) {
      const int v = j + static_cast<size_t>(padding) >= 4 ? 0 : value(text[i + j]);
      if (v < 0) return InvalidArgument("is not base64 (a stray character)");
      bits = bits << 6 | static_cast<uint32_t>(v);
    }
    for (int j = 0; j < 3 - padding; ++j) out += static_cast<char>(bits >> (16 - 8 * j) & 0xff);
  }
  return out;
}

}  // namespace mr::ctl
