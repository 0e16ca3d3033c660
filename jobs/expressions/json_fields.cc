#include "jobs/expressions/json_fields.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "jobs/expressions/types.h"
#include "paceline/error.h"
#include "paceline/json_text.h"

namespace mr::expr {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostJsonDepth = 200;  // of containers; deeper lines are refused

[[noreturn]] void RefusePath(const std::string& path) {
  throw JobError("'" + path + "' is no path in JSON; write one as name, address.city, tags[0] or \"a key\".name");
}

// Returns why the parser refused a line, from its message.
std::string WhyNoJson(std::string_view error) {
  const size_t id = error.find("] ");
  std::string why(id == error.npos ? error : error.substr(id + 2));
  constexpr std::string_view kTooLarge = "number overflow parsing '";
  if (why.starts_with(kTooLarge)) {
    constexpr size_t kShownBytes = 60;
    const std::string number = why.substr(kTooLarge.size(), why.size() - kTooLarge.size() - 1);
    return "the number " + number.substr(0, kShownBytes) + " is beyond the range of JSON numbers; write it as a text";
  }
  constexpr size_t kMostBytes = 200;
  return why.substr(0, kMostBytes);
}

}  // namespace

// Receives the events of the parser. Containers that a path names are written again as JSON.
class JsonReader {
 public:
  explicit JsonReader(JsonFields* fields) : fields_(fields) {}

  bool null() { return Value("null", ""); }
  bool boolean(bool value) { return Value(value ? "true" : "false", value ? "true" : "false"); }
  bool number_integer(Json::number_integer_t value) { return Number(std::to_string(value)); }
  bool number_unsigned(Json::number_unsigned_t value) { return Number(std::to_string(value)); }
  bool number_float(Json::number_float_t, const std::string& text) { return Number(text); }
  bool string(std::string& value) {
    if (levels_.empty()) return false;
    return Value(open_.empty() ? std::string() : sdk::JsonString(value), value);
  }
  bool binary(Json::binary_t&) { return false; }
  bool start_object(size_t) { return Start('{', false); }
  bool start_array(size_t) { return Start('[', true); }
  bool end_object() { return End('}'); }
  bool end_array() { return End(']'); }
  bool key(std::string& name) {
    Level& level = levels_.back();
    // The object has a key, so the key of the object itself stands for a value.
    if (level.first_key && level.unknown) NoteUnknown();
    level.first_key = false;
    next_ = kNowhere;
    if (level.node != kNowhere) {
      for (const auto& [key, node] : fields_->nodes_[level.node].keys) {
        if (key == name) next_ = node;
      }
      if (open_.empty()) key_ = name;
    }
    if (!open_.empty()) {
      Comma();
      Write(sdk::JsonString(name) + ":");
      after_key_ = true;
    }
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& error) {
    fields_->wrong_ = WhyNoJson(error.what());
    return false;
  }

 private:
  static constexpr uint32_t kNowhere = UINT32_MAX;
  struct Level {
    uint32_t node;
    bool array;
    uint64_t index = 0;
    bool first = true;      // no element has been written again
    bool first_key = true;  // no key has been read
    bool unknown = false;   // an object whose key is on no path
  };
  struct Open {
    int field;
    size_t depth;  // the container's level
  };

  // Returns the place of the value that begins now.
  uint32_t Place() {
    if (levels_.empty()) return 0;
    Level& level = levels_.back();
    if (!level.array) return next_;
    const uint64_t index = level.index++;
    if (level.node == kNowhere) return kNowhere;
    for (const auto& [at, node] : fields_->nodes_[level.node].indexes) {
      if (at == index) return node;
    }
    return kNowhere;
  }
  void Write(std::string_view text) {
    for (const Open& open : open_) fields_->values_[static_cast<size_t>(open.field)] += text;
  }
  void Comma() {
    if (levels_.empty() || open_.empty()) return;
    if (!std::exchange(levels_.back().first, false)) Write(",");
  }
  void BeginValue() {
    if (!std::exchange(after_key_, false)) Comma();
  }
  // Returns whether a value at this place, which has no field, is on no path and not within the value of one.
  bool IsUnknown(uint32_t place) const {
    if (!open_.empty() || levels_.empty()) return false;
    return place != kNowhere || levels_.back().node != kNowhere;
  }
  void NoteUnknown() {
    if (fields_->unknown_.empty()) fields_->unknown_ = key_;
  }
  bool Number(const std::string& text) { return Value(text, text); }
  bool Value(std::string_view json, std::string_view plain) {
    if (levels_.empty()) return false;  // the line is no object
    BeginValue();
    Write(json);
    const uint32_t place = Place();
    const int field = place == kNowhere ? -1 : fields_->nodes_[place].field;
    if (field >= 0) {
      fields_->values_[static_cast<size_t>(field)].assign(json == "null" ? fields_->null_ : plain);
    } else if (json != "null" && IsUnknown(place)) {
      NoteUnknown();
    }
    return true;
  }
  bool Start(char bracket, bool array) {
    if ((levels_.empty() && array) || levels_.size() >= kMostJsonDepth) return false;
    BeginValue();
    const uint32_t place = Place();
    const int field = place == kNowhere ? -1 : fields_->nodes_[place].field;
    if (field >= 0) {
      fields_->values_[static_cast<size_t>(field)].clear();
      open_.push_back({field, levels_.size()});
    } else if (array && IsUnknown(place)) {
      NoteUnknown();
    }
    const bool unknown = field < 0 && place == kNowhere && IsUnknown(place);
    Write({&bracket, 1});
    levels_.push_back({place, array, 0, true, true, unknown});
    return true;
  }
  bool End(char bracket) {
    levels_.pop_back();
    Write({&bracket, 1});
    if (!open_.empty() && open_.back().depth == levels_.size()) open_.pop_back();
    return true;
  }

  JsonFields* fields_;
  std::vector<Level> levels_;
  std::vector<Open> open_;  // containers that are being written
  uint32_t next_ = kNowhere;
  bool after_key_ = false;
  std::string key_;  // the last one
};

namespace {

// Returns a key as a step of a path.
std::string StepOf(const std::string& key) {
  const bool plain = !key.empty() && key.find_first_of(".[]\"$") == key.npos;
  return plain ? key : '"' + key + '"';
}

// Collects the paths of values.
class PathReader {
 public:
  PathReader(std::vector<std::string>* paths, std::string* wrong) : paths_(paths), wrong_(wrong) {}
  bool null() { return Value(); }
  bool boolean(bool) { return Value(); }
  bool number_integer(Json::number_integer_t) { return Value(); }
  bool number_unsigned(Json::number_unsigned_t) { return Value(); }
  bool number_float(Json::number_float_t, const std::string&) { return Value(); }
  bool string(std::string&) { return Value(); }
  bool binary(Json::binary_t&) { return false; }
  bool start_object(size_t) {
    if (depth_ == 0 || arrays_ > 0) return Deeper();
    objects_.push_back(path_);
    return Deeper();
  }
  bool start_array(size_t) {
    if (depth_ == 0) return false;
    Value();
    ++arrays_;
    return Deeper();
  }
  bool end_object() {
    --depth_;
    if (arrays_ == 0 && !objects_.empty()) objects_.pop_back();
    return true;
  }
  bool end_array() {
    --depth_;
    --arrays_;
    return true;
  }
  bool key(std::string& name) {
    if (arrays_ > 0) return true;
    if (name.find('"') != name.npos) return false;  // no path can name it
    path_ = (objects_.empty() ? "" : objects_.back() + ".") + StepOf(name);
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& error) {
    if (wrong_ != nullptr) *wrong_ = WhyNoJson(error.what());
    return false;
  }

 private:
  bool Deeper() { return ++depth_ < kMostJsonDepth; }
  bool Value() {
    if (depth_ == 0) return false;
    if (arrays_ == 0 && std::find(paths_->begin(), paths_->end(), path_) == paths_->end()) paths_->push_back(path_);
    return true;
  }

  std::vector<std::string>* paths_;
  std::string* wrong_;                // null: not wanted
  std::vector<std::string> objects_;  // paths of the objects around the value, without the outermost
  std::string path_;
  size_t depth_ = 0, arrays_ = 0;
};

}  // namespace

bool AddJsonPaths(std::string_view line, std::vector<std::string>* paths, std::string* wrong) {
  const size_t known = paths->size();
  PathReader reader(paths, wrong);
  if (Json::sax_parse(line.begin(), line.end(), &reader)) return true;
  paths->resize(known);
  return false;
}

void AddDeclaredPaths(const std::string& types, std::vector<std::string>* paths) {
  std::string wrong;
  if (types.empty()) return;
  for (const TypeOf& of : ParseTypes(types, &wrong)) {
    if (std::find(paths->begin(), paths->end(), of.name) != paths->end()) continue;
    paths->push_back(of.name);
    try {
      (void)JsonFields(*paths);
    } catch (const JobError&) {
      paths->pop_back();
    }
  }
}

JsonFields::JsonFields(const std::vector<std::string>& paths, std::string null)
    : values_(paths.size()), null_(std::move(null)) {
  for (size_t i = 0; i < paths.size(); ++i) Add(paths[i], static_cast<int>(i));
}

void JsonFields::Add(const std::string& path, int field) {
  uint32_t at = 0;
  const auto child = [&](auto Node::*list, const auto& step) {
    auto& children = nodes_[at].*list;
    const auto known = std::find_if(children.begin(), children.end(), [&](const auto& c) { return c.first == step; });
    if (known != children.end()) return known->second;
    const auto made = static_cast<uint32_t>(nodes_.size());
    children.emplace_back(step, made);
    nodes_.emplace_back();
    return made;
  };
  size_t i = path.rfind("$.", 0) == 0 ? 2 : 0;
  for (bool begin = true; i < path.size(); begin = false) {
    if (path[i] == '[') {
      const size_t end = path.find(']', i);
      const std::string digits = path.substr(i + 1, end == path.npos ? 0 : end - i - 1);
      if (begin || digits.empty() || digits.size() > 9 || digits.find_first_not_of("0123456789") != digits.npos)
        RefusePath(path);
      at = child(&Node::indexes, static_cast<uint64_t>(std::stoul(digits)));
      i = end + 1;
      continue;
    }
    if (!begin && path[i++] != '.') RefusePath(path);
    std::string key;
    if (i < path.size() && path[i] == '"') {
      const size_t end = path.find('"', i + 1);
      if (end == path.npos) RefusePath(path);
      key = path.substr(i + 1, end - i - 1);
      i = end + 1;
    } else {
      const size_t end = std::min(path.find_first_of(".[", i), path.size());
      key = path.substr(i, end - i);
      i = end;
      if (key.empty()) RefusePath(path);
    }
    at = child(&Node::keys, key);
  }
  if (at == 0) RefusePath(path);
  if (nodes_[at].field >= 0) throw JobError("the path '" + path + "' is given twice");
  nodes_[at].field = field;
}

bool JsonFields::Parse(std::string_view line, CsvRow* row) {
  wrong_.clear();
  for (std::string& value : values_) value.assign(null_);
  unknown_.clear();
  JsonReader reader(this);
  if (!Json::sax_parse(line.begin(), line.end(), &reader)) return false;
  row->Clear();
  row->NotPlain();
  for (const std::string& value : values_) row->Add(value);
  return true;
}

}  // namespace mr::expr
