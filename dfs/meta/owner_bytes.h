// The bytes of files by owner, for limits. Derived from the tree; neither hashed nor stored. Private to dfs/meta.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace mr::dfs {

// Cost: some 100 bytes of memory per file that has bytes.
class OwnerBytes {
 public:
  // Charges the file to the owner with all its bytes, in place of what it was charged before.
  void Charge(uint64_t file, const std::string& owner, uint64_t bytes) {
    Refund(file);
    if (bytes == 0) return;
    const auto owner_it = owners_.try_emplace(owner, 0).first;
    owner_it->second += bytes;
    files_.emplace(file, Charged{owner_it, bytes});
  }
  // Subtracts bytes that were removed from a file.
  void Take(uint64_t file, uint64_t bytes) {
    const auto it = files_.find(file);
    if (it != files_.end()) Charge(file, it->second.owner->first, it->second.bytes - bytes);
  }
  void Refund(uint64_t file) {
    const auto it = files_.find(file);
    if (it == files_.end()) return;
    it->second.owner->second -= it->second.bytes;
    files_.erase(it);
  }
  uint64_t Of(const std::string& owner) const {
    const auto it = owners_.find(owner);
    return it == owners_.end() ? 0 : it->second;
  }
  void Clear() {
    files_.clear();
    owners_.clear();
  }

 private:
  using Owners = std::map<std::string, uint64_t>;
  struct Charged {
    Owners::iterator owner;
    uint64_t bytes;
  };
  Owners owners_;
  std::map<uint64_t, Charged> files_;
};

}  // namespace mr::dfs
