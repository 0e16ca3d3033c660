// Compiles as it is. Must not compile with one of the conversions that would change an emitted number: -DFAULT_name.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "paceline/library.h"

namespace {

enum class Colour : uint8_t { kRed };

// Conversions that change no number of usual size compile.
class Fits : public mr::LineMapper<std::string, int64_t> {
 public:
  using MorePorts = mr::Ports<mr::Records<uint64_t, double>, mr::Records<int32_t, uint8_t>>;
  void Map(std::string_view line, Out& out) {
    out.Emit(line, 1);
    out.Emit(line, line.size());
    out.Emit(line, Colour::kRed);
    out.Emit(line, line.empty());
    out.Port<uint64_t, double>(1).Emit(1, int64_t{1});
    out.Port<uint64_t, double>(1).Emit(int64_t{1}, 1.5F);
    out.Port<int32_t, uint8_t>(2).Emit(1U, 7);
    out.Port<std::pair<int64_t, uint8_t>, std::string>(3).Emit({line.size(), 7}, line);
    out.Port<std::pair<int64_t, uint8_t>, std::string>(3).Emit(std::pair(line.size(), uint8_t{7}), line);
  }
};

class Lossy : public mr::LineMapper<std::pair<std::string, int64_t>, int32_t> {
 public:
  using MorePorts = mr::Ports<mr::Records<std::string, std::pair<int64_t, std::pair<int16_t, int32_t>>>,
                              mr::Records<std::string, std::pair<int64_t, std::vector<int64_t>>>>;
  void Map(std::string_view line, Out& out) {
    const std::string text(line);
#if defined(FAULT_floating)
    out.Emit({text, 1}, 1.9);
#elif defined(FAULT_wider)
    out.Emit({text, 1}, 5000000000);
#elif defined(FAULT_part)
    out.Emit(std::pair(text, 1.9), 1);
#elif defined(FAULT_braces)
    out.Emit({text, 1.9}, 1);
#elif defined(FAULT_nested)
    out.Port<std::string, std::pair<int64_t, std::pair<int16_t, int32_t>>>(1).Emit(text, {1, { 1, int64_t{1} << 40 }});
#elif defined(FAULT_outer)
    out.Port<std::string, std::pair<int64_t, std::pair<int16_t, int32_t>>>(1).Emit(text, {1.5, { 1, 2 }});
#elif defined(FAULT_size)
    out.Port<std::string, std::pair<int64_t, std::vector<int64_t>>>(2).Emit(text, {1, 5});
#elif defined(FAULT_pointer)
    out.Emit({text, 1}, "1");
#else
    out.Emit({text, 1}, 1);
    out.Port<std::string, std::pair<int64_t, std::pair<int16_t, int32_t>>>(1).Emit(text, {line.size(), {1, 2}});
#endif
  }
};

}  // namespace

PACELINE_DEFINE_LIBRARY(library) {
  library.Operator<Fits>("fits");
  library.Operator<Lossy>("lossy");
#ifdef FAULT_combined
  const auto mean = [](std::string_view, auto& values) { return 1.5 * mr::Sum(values); };
#else
  const auto mean = [](std::string_view, auto& values) { return mr::Sum(values); };
#endif
  const auto map = [](std::string_view line, auto& out) { out.Emit(line, 1); };
  library.MapLines<std::string, int64_t>("combined", map, mr::CombineBy(mean));
}
