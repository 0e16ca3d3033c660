// JSON that people's programs read. The order of members is fixed (ordered_json), since scripts and people compare
// output. For .cc files only; includes nlohmann's header, which is slow to compile.
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace mr::report {

using Json = nlohmann::ordered_json;

// A key and its value, an element of Object()'s list.
class Member {
 public:
  Member(const char* key, std::nullptr_t);
  Member(const char* key, bool value);
  Member(const char* key, int value);
  Member(const char* key, long value);
  Member(const char* key, unsigned value);
  Member(const char* key, unsigned long value);
  Member(const char* key, double value);
  Member(const char* key, const char* value);
  Member(const char* key, const std::string& value);
  Member(const char* key, const std::vector<std::string>& value);
  Member(const char* key, const std::vector<uint64_t>& value);
  Member(const char* key, const std::vector<float>& value);
  Member(const char* key, const std::vector<Json>& value);
  Member(const char* key, const Json& value);
  Member(const char* key, Json&& value);
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;
  ~Member();

 private:
  friend Json Object(std::initializer_list<Member> members);
  const char* key_;
  mutable Json value_;  // Object() moves it out, and elements of an initializer list are const
};

// Returns an object with these members. Json's own constructor from braces does the same, but is inline and becomes
// some hundred instructions per member.
Json Object(std::initializer_list<Member> members);

// Returns one line. Texts may contain any bytes of an operator; invalid UTF-8 is replaced.
std::string DumpJson(const Json& json);
// Parses a document. Throws Json::exception.
Json ParseJson(std::string_view text);

}  // namespace mr::report
