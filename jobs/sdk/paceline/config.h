// Settings that a plan gives to a stage and its operator reads: names and texts. They are encoded as lines `name=value`
// with \n and \\ escaped, so that a plan document stays readable.
#pragma once

#include <charconv>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>

#include "paceline/error.h"

namespace mr {

// A set of names with values. Numbers are kept as decimal text. Errors: JobError for missing and malformed values.
class Config {
 public:
  // Sets a text; an earlier value of the name is replaced.
  Config& Set(const std::string& name, std::string_view value) {
    values_[name] = std::string(value);
    return *this;
  }
  // Sets a text.
  Config& Set(const std::string& name, const char* value) { return Set(name, std::string_view(value)); }
  // Sets a number or a bool.
  template <class T>
  requires std::is_arithmetic_v<T> Config& Set(const std::string& name, T value) {
    return Set(name, std::string_view(std::to_string(value)));
  }

  // Returns whether the name is set.
  bool Has(const std::string& name) const { return values_.count(name) != 0; }
  // Returns the text. Errors: JobError if the name is not set.
  const std::string& Text(const std::string& name) const {
    const auto it = values_.find(name);
    if (it == values_.end()) {
      throw JobError("the stage's config has no '" + name + "'; its plan must set it");
    }
    return it->second;
  }
  // Returns the integer. Errors: JobError if the name is not set, or set to something else.
  int64_t Int(const std::string& name) const {
    const std::string& text = Text(name);
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
      throw JobError("the stage's config has " + name + "=" + text + ", which is not an integer");
    }
    return value;
  }
  // Returns the bool; false if the name is not set.
  bool Bool(const std::string& name) const { return Has(name) && Int(name) != 0; }

  // Returns the lines `name=value`, by name.
  std::string Encode() const {
    std::string out;
    for (const auto& [name, value] : values_) {
      out += name + "=";
      for (char c : value) {
        if (c == '\\') {
          out += "\\\\";
        } else if (c == '\n') {
          out += "\\n";
        } else {
          out += c;
        }
      }
      out += '\n';
    }
    return out;
  }

  // Reads what Encode wrote. Errors: JobError.
  static Config Decode(std::string_view bytes) {
    Config config;
    while (!bytes.empty()) {
      const size_t equals = bytes.find('=');
      const size_t end = bytes.find('\n');
      if (equals == bytes.npos || end == bytes.npos || equals > end) {
        throw JobError("the stage's config is not made of name=value lines");
      }
      std::string value;
      for (size_t i = equals + 1; i < end; ++i) {
        if (bytes[i] == '\\' && i + 1 < end) {
          ++i;
          value += bytes[i] == 'n' ? '\n' : bytes[i];
        } else {
          value += bytes[i];
        }
      }
      config.values_[std::string(bytes.substr(0, equals))] = std::move(value);
      bytes.remove_prefix(end + 1);
    }
    return config;
  }

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace mr
