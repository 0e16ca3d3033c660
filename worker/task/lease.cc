#include "worker/task/lease.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <iterator>

#include "common/io/clock.h"
#include "worker/task/process_tree.h"

namespace mr::task {
namespace {

// How long a killed tree may take to end before its root is killed, too (all of an attempt ends within 2 s).
constexpr Duration kTreeLimit = Millis(1500);
// Delay of the next check while the daemon keeps no lease.
constexpr Duration kLookAgain = Seconds(1);

int Signal(int pidfd, int signal) {
  return static_cast<int>(syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0));
}

bool Ended(int pidfd) {
  pollfd p{pidfd, POLLIN, 0};
  return poll(&p, 1, 0) == 1;
}

}  // namespace

Lease::Lease(int fd) {
  void* mapped = mmap(nullptr, kLeaseBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) return;
  page_ = static_cast<LeasePage*>(mapped);
  madvise(mapped, kLeaseBytes, MADV_DONTFORK);  // no child may write to it
  timer_.reset(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
}

Lease::~Lease() {
  if (page_ != nullptr) munmap(page_, kLeaseBytes);
}

bool Lease::over() const {
  const int64_t until = page_ == nullptr ? 0 : page_->until.load();
  return until != 0 && Now().ns >= until;
}

void Lease::Add(pid_t pid, UniqueFd pidfd) {
  children_[pid] = std::move(pidfd);
  Enforce();
}

void Lease::Enforce() {
  if (page_ == nullptr) return;
  uint64_t fired;
  while (read(timer_.get(), &fired, sizeof fired) > 0) {
  }
  if (over()) {
    for (auto& [pid, pidfd] : children_) {
      if (Ended(pidfd.get())) continue;
      // The child is alive, and only the daemon reaps it, so its number is still its own. A stopped child starts
      // nothing more, and what it has started stays below it.
      Signal(pidfd.get(), SIGSTOP);
      KillBelow(pid, kTreeLimit);
      page_->pids[page_->ended.fetch_add(1) % std::size(page_->pids)].store(pid);
      Signal(pidfd.get(), SIGKILL);
    }
    children_.clear();
  }
  itimerspec at{};
  if (!children_.empty()) {
    const int64_t until = page_->until.load();
    const int64_t due = until != 0 ? until : (Now() + kLookAgain).ns;
    at.it_value = {due / 1'000'000'000, due % 1'000'000'000};
  }
  timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &at, nullptr);
}

}  // namespace mr::task
