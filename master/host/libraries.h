// The operator libraries and side files that clients have uploaded, by SHA-256.
#pragma once

#include <set>
#include <string>

namespace mr::master {

// Thread: the master's, and before the loop runs the one that starts it.
class Libraries {
 public:
  void Stored(const std::string& sha256) { known_.insert(sha256); }
  void Removed(const std::string& sha256) { known_.erase(sha256); }
  bool Known(const std::string& sha256) const { return known_.contains(sha256); }

 private:
  std::set<std::string> known_;
};

}  // namespace mr::master
