#include "tests/support/damage.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "common/io/files.h"

namespace mr::test {

std::string Hurt(const std::string& path, Damage damage, Rng& rng, uint64_t in_use) {
  const auto read = ReadFile(path);
  if (!read.ok() || read->empty()) return "";
  if (damage == Damage::kLostFile) return ::unlink(path.c_str()) == 0 ? path + " removed" : "";
  const std::string& before = *read;
  const uint64_t size = in_use == 0 ? before.size() : std::min<uint64_t>(in_use, before.size());
  const uint64_t pages = (size + kDamagePage - 1) / kDamagePage, at = rng.Below(pages) * kDamagePage;
  const uint64_t n = std::min(kDamagePage, size - at);
  std::string after = before, what;
  switch (damage) {
    case Damage::kFlip: {
      const uint64_t byte = rng.Below(size), bit = rng.Below(8);
      after[byte] = static_cast<char>(after[byte] ^ (1 << bit));
      what = "bit " + std::to_string(bit) + " of byte " + std::to_string(byte) + " flipped";
      break;
    }
    case Damage::kZeroedPage:
      after.replace(at, n, n, '\0');
      what = "page at " + std::to_string(at) + " zeroed";
      break;
    case Damage::kSwappedPages: {
      const uint64_t other = rng.Below(pages) * kDamagePage, m = std::min({n, size - other});
      if (other == at) return "";
      after.replace(at, m, before.substr(other, m));
      after.replace(other, m, before.substr(at, m));
      what = "pages at " + std::to_string(at) + " and " + std::to_string(other) + " swapped";
      break;
    }
    case Damage::kLostPage:  // later pages move up, and the file becomes shorter
      after.erase(at, n);
      what = "page at " + std::to_string(at) + " lost";
      break;
    case Damage::kLostFile: break;
  }
  if (after == before) return "";
  const auto fd = OpenFile(path, O_WRONLY);
  if (!fd.ok() || !PwriteAll(fd->get(), after, 0).ok()) return "";
  if (after.size() < before.size() && ::ftruncate(fd->get(), static_cast<off_t>(after.size())) != 0) return "";
  return path + ": " + what;
}

}  // namespace mr::test
