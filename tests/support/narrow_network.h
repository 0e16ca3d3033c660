// A network of slow links, one per member, joined by a bridge. The process moves into a network namespace of its own,
// so nothing of the machine's network changes, and all is gone when the process ends. Needs root, ip and tc (iproute2).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/io/files.h"

namespace mr::test {

class NarrowNetwork {
 public:
  // Moves this process to the bridge, and makes the members with their links. Call before any thread is started, once
  // per process. Errors: kUnavailable: a command failed, with what it printed.
  static Result<std::unique_ptr<NarrowNetwork>> Make(int members);

  // Limits each link, in both directions. bytes_per_second: 0: no limit.
  Status Limit(double bytes_per_second);
  // Returns the bytes that the members have sent since the network was made, with headers.
  Result<double> Sent() const;

  std::string host() const;               // address of the bridge, where this process and its children are
  std::string address(int member) const;  // of a member
  int network(int member) const { return networks_.at(static_cast<size_t>(member)).get(); }  // SpawnOptions::network

 private:
  NarrowNetwork() = default;
  std::vector<UniqueFd> networks_;
};

}  // namespace mr::test
