#include "tests/support/mutate.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace mr::test {
namespace {

constexpr std::array<uint32_t, 8> kEdges = {0, 1, 0xff, 0xffff, 1u << 29, 0x7fffffff, 0x80000000, 0xffffffff};
constexpr std::string_view kBytes("\0\n\r/.:\xff\x7f\x80 ", 10);

void Change(std::string* text, const std::vector<std::string>& others, Rng* rng) {
  if (text->empty()) return;
  const size_t at = rng->Below(text->size());
  const size_t length = std::min<size_t>(1 + rng->Below(16), text->size() - at);
  switch (rng->Below(8)) {
    case 0: (*text)[at] = static_cast<char>((*text)[at] ^ 1 << rng->Below(8)); break;
    case 1: (*text)[at] = kBytes[rng->Below(kBytes.size())]; break;
    case 2: text->resize(at); break;
    case 3: text->erase(at, length); break;
    case 4: text->insert(at, text->substr(at, length)); break;
    case 5: text->insert(at, std::string(rng->Below(300), static_cast<char>(rng->Next()))); break;
    case 6: {
      const size_t word = at / 4 * 4;
      const uint32_t edge = kEdges[rng->Below(kEdges.size())];
      if (word + sizeof edge <= text->size()) std::memcpy(text->data() + word, &edge, sizeof edge);
      break;
    }
    default: {
      const std::string& other = others[rng->Below(others.size())];
      if (!other.empty()) text->replace(at, length, other.substr(rng->Below(other.size()), length));
    }
  }
}

}  // namespace

std::string Mutated(const std::string& valid, const std::vector<std::string>& others, Rng* rng) {
  std::string text = valid;
  for (uint64_t i = 1 + rng->Below(4); i > 0; --i) Change(&text, others, rng);
  return text;
}

}  // namespace mr::test
