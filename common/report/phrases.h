// Numbers in sentences.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "common/base/count.h"
#include "common/base/text.h"

namespace mr::report {

inline std::string Percent(double share) { return std::to_string(std::lround(share * 100)) + " %"; }

inline std::string Us(uint64_t us) { return HumanDuration(Micros(static_cast<int64_t>(us))); }

// Returns the text with one full stop at its end. Messages of operators may have none, or end with a colon.
inline std::string Sentence(std::string text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == ':' || text.back() == ',' || text.back() == ';'))
    text.pop_back();
  return text.empty() || text.back() == '.' || text.back() == '!' || text.back() == '?' ? text : text + ".";
}

// Returns "2.5 times".
inline std::string TimesOf(double ratio) {
  const long tenths = std::lround(ratio * 10);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " times";
}

}  // namespace mr::report
