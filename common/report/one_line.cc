#include "common/report/one_line.h"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string_view>
#include <vector>

namespace mr::report {
namespace {

// Returns whether the line is the place of a failure in its input, which stands behind an operator's message.
bool IsPlace(const std::string& line) {
  const size_t byte = line.rfind(", byte ");
  return line.starts_with("at record ") || line.starts_with("at key ") ||
         (line.starts_with("at ") && byte != std::string::npos &&
          line.find_first_not_of("0123456789", byte + 7) == std::string::npos);
}

// Returns whether master/core/failure_text.cc adds such a line after an operator's message.
bool IsAdded(const std::string& line) {
  const size_t digits = std::min(line.find_first_not_of("0123456789"), line.size());
  return (digits > 0 && line.compare(digits, 22, " attempts failed alike") == 0) || line.starts_with("skew: ") ||
         line.starts_with("stderr: ") || line.ends_with("then submit the job again") ||
         line.ends_with("so --max-attempts does not count it") || IsPlace(line);
}

}  // namespace

std::string OneLine(const std::string& error) {
  std::istringstream in(error);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    if (line.find_first_not_of(" \t\r") != std::string::npos)
      lines.push_back(line.substr(0, line.find_last_not_of(" \t\r") + 1));
  }
  if (lines.empty()) return "";
  if (lines[0].back() != ':') {
    const auto place = std::find_if(lines.begin() + 1, lines.end(), IsPlace);
    return place == lines.end() ? lines[0] : lines[0] + " (" + *place + ")";
  }
  while (lines.size() > 1 && IsAdded(lines.back())) lines.pop_back();
  if (lines.size() == 1) return lines[0];
  return lines[0] + " " + lines.back().substr(lines.back().find_first_not_of(" \t"));
}

}  // namespace mr::report
