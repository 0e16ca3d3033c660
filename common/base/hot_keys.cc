#include "common/base/hot_keys.h"

#include <algorithm>

namespace mr {

void HotKeys::Add(uint64_t hash, std::string_view key, bool cut, uint32_t partition, uint64_t records, uint64_t bytes) {
  size_t at = static_cast<size_t>(std::find(hashes_.begin(), hashes_.end(), hash) - hashes_.begin());
  if (at == hashes_.size()) {
    if (at < most_) {
      hashes_.push_back(hash);
      weights_.push_back(0);
      keys_.emplace_back();
    } else {
      at = static_cast<size_t>(std::min_element(weights_.begin(), weights_.end()) - weights_.begin());
      hashes_[at] = hash;
    }
    HotKey& fresh = keys_[at];
    fresh.hash = hash;
    fresh.partition = partition;
    fresh.prefix.assign(key.substr(0, kHotKeyPrefix));
    fresh.cut = cut || key.size() > kHotKeyPrefix;
    fresh.records = fresh.bytes = 0;
  }
  weights_[at] += bytes;
  keys_[at].records += records;
  keys_[at].bytes += bytes;
}

std::vector<HotKey> HotKeys::Top(size_t most) const {
  std::vector<HotKey> top = keys_;
  std::sort(top.begin(), top.end(),
            [](const HotKey& a, const HotKey& b) { return a.bytes != b.bytes ? a.bytes > b.bytes : a.hash < b.hash; });
  if (top.size() > most) top.resize(most);
  return top;
}

}  // namespace mr
