// A JSON reader for plan documents, so that tests of operators need no library.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "paceline/error.h"

namespace mr::sdk {

struct JsonValue {
  enum class Type { kNull, kBool, kNumber, kString, kArray, kObject } type = Type::kNull;
  bool boolean = false;
  double number = 0;
  std::string text;
  std::vector<JsonValue> items;
  std::map<std::string, JsonValue> members;

  bool Has(const std::string& name) const { return members.count(name) != 0; }
  const JsonValue& operator[](const std::string& name) const {
    const auto it = members.find(name);
    if (it == members.end()) throw JobError("plan document: there is no '" + name + "'");
    return it->second;
  }
  uint64_t UintOr(const std::string& name, uint64_t otherwise) const {
    return Has(name) ? static_cast<uint64_t>((*this)[name].number) : otherwise;
  }
};

class JsonReader {
 public:
  static JsonValue Parse(std::string_view text) {
    JsonReader reader(text);
    JsonValue value = reader.Value();
    if (reader.Peek() != '\0') reader.Fail("text after its end");
    return value;
  }

 private:
  explicit JsonReader(std::string_view text) : text_(text) {}

  [[noreturn]] void Fail(const std::string& what) const {
    throw JobError("plan document is not JSON: " + what + " at byte " + std::to_string(at_));
  }
  char Peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  void Expect(char c) {
    if (Peek() != c) Fail(std::string("no '") + c + "'");
    ++at_;
  }
  bool Accept(char c) {
    if (Peek() != c) return false;
    ++at_;
    return true;
  }
  void Word(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) Fail("an unknown word");
    at_ += word.size();
  }

  JsonValue Value() {
    JsonValue v;
    const char c = Peek();
    if (c == '{') {
      v.type = JsonValue::Type::kObject;
      for (++at_; !Accept('}');) {
        if (!v.members.empty()) Expect(',');
        std::string name = String();
        Expect(':');
        v.members[name] = Value();
      }
    } else if (c == '[') {
      v.type = JsonValue::Type::kArray;
      for (++at_; !Accept(']');) {
        if (!v.items.empty()) Expect(',');
        v.items.push_back(Value());
      }
    } else if (c == '"') {
      v.type = JsonValue::Type::kString;
      v.text = String();
    } else if (c == 't' || c == 'f') {
      v.type = JsonValue::Type::kBool;
      v.boolean = c == 't';
      Word(v.boolean ? "true" : "false");
    } else if (c == 'n') {
      Word("null");
    } else {
      const std::string number(text_.substr(at_, text_.find_first_not_of("+-.0123456789eE", at_) - at_));
      if (number.empty()) Fail("no value");
      v.type = JsonValue::Type::kNumber;
      v.number = std::strtod(number.c_str(), nullptr);
      at_ += number.size();
    }
    return v;
  }

  std::string String() {
    Expect('"');
    std::string out;
    while (true) {
      if (at_ >= text_.size()) Fail("a string without end");
      const char c = text_[at_++];
      if (c == '"') return out;
      if (static_cast<unsigned char>(c) < 0x20) Fail("a control character in a string");
      if (c != '\\') {
        out += c;
        continue;
      }
      const char e = at_ < text_.size() ? text_[at_++] : '\0';
      if (e == 'u') {
        // JsonString writes control characters only.
        out += static_cast<char>(std::strtol(std::string(text_.substr(at_, 4)).c_str(), nullptr, 16));
        at_ += 4;
      } else if (e == '"' || e == '\\' || e == '/') {
        out += e;
      } else {
        Fail("an unknown escape");
      }
    }
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace mr::sdk
