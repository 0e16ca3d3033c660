#include "common/report/json.h"

#include <utility>

namespace mr::report {

Member::Member(const char* key, std::nullptr_t) : key_(key) {}
Member::Member(const char* key, bool value) : key_(key), value_(value) {}
Member::Member(const char* key, int value) : key_(key), value_(value) {}
Member::Member(const char* key, long value) : key_(key), value_(value) {}
Member::Member(const char* key, unsigned value) : key_(key), value_(value) {}
Member::Member(const char* key, unsigned long value) : key_(key), value_(value) {}
Member::Member(const char* key, double value) : key_(key), value_(value) {}
Member::Member(const char* key, const char* value) : key_(key), value_(value) {}
Member::Member(const char* key, const std::string& value) : key_(key), value_(value) {}
Member::Member(const char* key, const std::vector<std::string>& value) : key_(key), value_(value) {}
Member::Member(const char* key, const std::vector<uint64_t>& value) : key_(key), value_(value) {}
Member::Member(const char* key, const std::vector<float>& value) : key_(key), value_(value) {}
Member::Member(const char* key, const std::vector<Json>& value) : key_(key), value_(value) {}
Member::Member(const char* key, const Json& value) : key_(key), value_(value) {}
Member::Member(const char* key, Json&& value) : key_(key), value_(std::move(value)) {}
Member::~Member() = default;

Json Object(std::initializer_list<Member> members) {
  Json object = Json::object();
  for (const Member& member : members) object[member.key_] = std::move(member.value_);
  return object;
}

std::string DumpJson(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

Json ParseJson(std::string_view text) { return Json::parse(text); }

}  // namespace mr::report
