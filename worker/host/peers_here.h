// Counts the workers on this machine that share something with this one, such as a limit of memory. They find each
// other by the names of sockets, which the kernel removes with their processes. Workers in containers with networks of
// their own do not see each other.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/io/files.h"

namespace mr::worker {

class PeersHere {
 public:
  // Joins the workers that share `what`: letters and digits. Counted from now on, until this object ends. A passing
  // worker is counted by passing ones only.
  static Result<PeersHere> Join(const std::string& what, bool passing = false);
  // Returns how many share it, at least 1: this one counts. A passing worker counts all. Thread: any. Cost: a read of
  // /proc/net/unix, some microseconds per socket of the machine.
  uint32_t Count() const;

 private:
  PeersHere(UniqueFd socket, std::vector<std::string> marks) : socket_(std::move(socket)), marks_(std::move(marks)) {}
  UniqueFd socket_;
  std::vector<std::string> marks_;  // one of them begins the name of each socket, as /proc/net/unix shows it
};

// Returns how many lines of /proc/net/unix name a socket that begins with this mark.
uint32_t CountSockets(const std::string& text, const std::string& mark);

}  // namespace mr::worker
