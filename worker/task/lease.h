// The helper's part of the lease of attempts with side effects (worker/adr/0003): a timer that no other process can
// delay. Used by one thread.
#pragma once

#include <sys/types.h>

#include <map>

#include "common/io/files.h"
#include "worker/task/protocol.h"

namespace mr::task {

class Lease {
 public:
  // `fd`: of the LeasePage, borrowed. Without a valid one no lease is kept.
  explicit Lease(int fd);
  ~Lease();
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  // Returns whether the lease has run out. Then no leased child may begin.
  bool over() const;
  void Add(pid_t pid, UniqueFd pidfd);
  void Forget(pid_t pid) { children_.erase(pid); }
  // Returns a descriptor that is readable when Enforce() is due; -1 if no lease is kept.
  int timer() const { return timer_.get(); }
  // Ends the leased children, with all that they started, if the lease has run out. Rearms the timer.
  void Enforce();

 private:
  LeasePage* page_ = nullptr;
  UniqueFd timer_;
  std::map<pid_t, UniqueFd> children_;
};

}  // namespace mr::task
