#include "jobs/mrctl/json.h"

namespace mr::ctl {

std::string ListDocument(const char* key, const std::vector<Json>& elements, OutputForm form) {
  if (form == OutputForm::kJson) return DumpJson(Object({{"version", 1}, {key, elements}}));
  std::string text;
  for (const Json& element : elements) text += DumpJson(element);
  return text;
}

}  // namespace mr::ctl
