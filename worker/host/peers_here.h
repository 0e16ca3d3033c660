// Counts the workers on this machine that share something with this one, such as a limit of memory. They find each
// other by the names of sockets, which the kernel removes with their processes. Workers in containers with networks of
// their own do not see each other.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/status.h"
#include "common/io/files.h"

namespace mr::worker {

class PeersHere {
 public:
  // Joins the workers that share `what`: letters and digits. Counted from now on, until this object ends.
  static Result<PeersHere> Join(const std::string& what);
  // Returns how many share it, at least 1: this one counts. Thread: any. Cost: a read of /proc/net/unix, some
  // microseconds per socket of the machine.
  uint32_t Count() const;

 private:
  PeersHere(UniqueFd socket, std::string mark) : socket_(std::move(socket)), mark_(std::move(mark)) {}
  UniqueFd socket_;
  std::string mark_;  // begins the names of their sockets, as /proc/net/unix shows them
};

// Returns how many lines of /proc/net/unix name a socket that begins with this mark.
uint32_t CountSockets(const std::string& text, const std::string& mark);

}  // namespace mr::worker
