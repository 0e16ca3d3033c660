#include "tests/support/json_schema.h"

#include <map>
#include <nlohmann/json.hpp>

#include "common/io/files.h"

namespace mr::test {
namespace {

using Json = nlohmann::json;

bool HasType(const Json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  if (type == "boolean") return value.is_boolean();
  return type == "null" && value.is_null();
}

class Validator {
 public:
  // path: of the schema; others that it refers to stand in its directory.
  explicit Validator(const std::string& path) : directory_(path.substr(0, path.rfind('/') + 1)) {}

  std::string Check(const Json& value, const std::string& file, const Json& schema, const std::string& at) {
    if (!schema.is_object()) return at + ": the schema of this place is no object";
    for (const auto& [word, rule] : schema.items()) {
      std::string wrong;
      if (word == "$schema" || word == "title" || word == "$defs" || word == "properties") continue;
      if (word == "$ref")
        wrong = Refer(value, file, rule, at);
      else if (word == "type")
        wrong = Type(value, rule, at);
      else if (word == "const")
        wrong = value == rule ? "" : at + " is " + value.dump() + ", not " + rule.dump();
      else if (word == "enum")
        wrong = Enum(value, rule, at);
      else if (word == "required")
        wrong = Required(value, rule, at);
      else if (word == "items")
        wrong = Items(value, file, rule, at);
      else if (word == "additionalProperties")
        wrong = rule == false ? "" : at + ": additionalProperties must be false";
      else
        wrong = at + ": the schema has the word '" + word + "', which is not checked";
      if (!wrong.empty()) return wrong;
    }
    return Properties(value, file, schema, at);
  }

  const Json& Load(const std::string& file) {
    auto found = files_.find(file);
    if (found != files_.end()) return found->second;
    const auto text = ReadFile(directory_ + file);
    return files_[file] = text.ok() ? Json::parse(*text, nullptr, false) : Json();
  }

 private:
  std::string Refer(const Json& value, const std::string& from, const std::string& where, const std::string& at) {
    const size_t hash = where.find('#');
    if (hash == std::string::npos) return at + ": $ref without '#': " + where;
    const std::string file = hash == 0 ? from : where.substr(0, hash);
    const Json& schema = Load(file);
    const Json::json_pointer pointer(where.substr(hash + 1));
    if (!schema.is_object() || !schema.contains(pointer)) return at + ": nothing is at " + where + " of " + from;
    return Check(value, file, schema.at(pointer), at);
  }

  static std::string Type(const Json& value, const Json& rule, const std::string& at) {
    const Json types = rule.is_array() ? rule : Json::array({rule});
    for (const Json& type : types) {
      if (HasType(value, type)) return "";
    }
    return at + " is " + value.dump().substr(0, 80) + ", not of type " + rule.dump();
  }

  static std::string Enum(const Json& value, const Json& rule, const std::string& at) {
    for (const Json& one : rule) {
      if (one == value) return "";
    }
    return at + " is " + value.dump() + ", none of " + rule.dump();
  }

  static std::string Required(const Json& value, const Json& rule, const std::string& at) {
    if (!value.is_object()) return "";
    for (const std::string name : rule) {
      if (!value.contains(name)) return at + " lacks '" + name + "'";
    }
    return "";
  }

  std::string Items(const Json& value, const std::string& file, const Json& rule, const std::string& at) {
    if (!value.is_array()) return "";
    for (size_t i = 0; i < value.size(); ++i) {
      std::string wrong = Check(value[i], file, rule, at + "[" + std::to_string(i) + "]");
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

  std::string Properties(const Json& value, const std::string& file, const Json& schema, const std::string& at) {
    if (!value.is_object()) return "";
    const Json known = schema.value("properties", Json::object());
    for (const auto& [name, element] : value.items()) {
      if (known.contains(name)) {
        std::string wrong = Check(element, file, known[name], at + "." + name);
        if (!wrong.empty()) return wrong;
      } else if (schema.contains("additionalProperties")) {
        return at + " has '" + name + "', which its schema does not know";
      }
    }
    return "";
  }

  const std::string directory_;
  std::map<std::string, Json> files_;
};

}  // namespace

std::string SchemaViolation(const std::string& document, const std::string& schema) {
  const Json value = Json::parse(document, nullptr, false);
  if (value.is_discarded()) return "no JSON document: " + document.substr(0, 200);
  Validator validator(schema);
  const std::string file = schema.substr(schema.rfind('/') + 1);
  const Json& rules = validator.Load(file);
  if (!rules.is_object()) return "no schema at " + schema;
  return validator.Check(value, file, rules, "$");
}

}  // namespace mr::test
