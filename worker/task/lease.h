// The helper's part of the lease of attempts with side effects (worker/adr/0003): a timer that no other process holds
// up. One thread.
#pragma once

#include <sys/types.h>

#include <map>

#include "common/io/files.h"
#include "worker/task/protocol.h"

namespace mr::task {

class Lease {
 public:
  // `fd`: of the LeasePage, borrowed; without one no lease is kept.
  explicit Lease(int fd);
  ~Lease();
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  // Its time is over: no leased child may begin.
  bool over() const;
  void Add(pid_t pid, UniqueFd pidfd);
  void Forget(pid_t pid) { children_.erase(pid); }
  // Readable when Enforce() is due; -1 where no lease is kept.
  int timer() const { return timer_.get(); }
  // Ends the leased children, with all that they started, if the time is over; arms the timer anew.
  void Enforce();

 private:
  LeasePage* page_ = nullptr;
  UniqueFd timer_;
  std::map<pid_t, UniqueFd> children_;
};

}  // namespace mr::task
