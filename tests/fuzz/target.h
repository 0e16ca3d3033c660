// The targets of the fuzzer: functions that take any bytes at all. A byte sequence that crashes one of them, lets a
// sanitizer report, or breaks a property that a target checks (MR_CHECK) is a defect.
//
// clang's libFuzzer runs them (libfuzzer_main.cc, `./dev fuzz`). corpus_test.cc runs each over its seeds and over
// corpus/NAME in the ordinary build.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mr::fuzz {

struct Target {
  const char* name;  // of its directory below corpus/
  // Must not depend on earlier calls: one input has to show a crash again.
  void (*run)(std::string_view input);
  // Valid inputs, made from the code that writes them. So they follow each change of a format.
  std::vector<std::string> (*seeds)();
};

extern const Target kEntry, kMessages, kPackets, kCredentials, kJobFiles, kTimes, kExpressions;

// Takes fields from the front of an input. An input that has ended gives zeros.
class Input {
 public:
  explicit Input(std::string_view bytes) : rest_(bytes) {}

  uint8_t Byte() {
    if (rest_.empty()) return 0;
    const auto byte = static_cast<uint8_t>(rest_[0]);
    rest_.remove_prefix(1);
    return byte;
  }
  uint16_t Short() {
    const uint16_t low = Byte();
    return static_cast<uint16_t>(low | Byte() << 8);
  }
  // Takes at most this many bytes.
  std::string_view Bytes(size_t most) {
    const std::string_view taken = rest_.substr(0, most);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  std::string_view Rest() { return Bytes(rest_.size()); }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

}  // namespace mr::fuzz
