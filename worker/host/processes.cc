#include "worker/host/processes.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "common/io/clock.h"
#include "worker/task/environment.h"
#include "worker/task/process_tree.h"
#include "worker/task/protocol.h"

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

extern char** environ;

namespace mr::worker {
namespace {

// How long to wait for the end of what a child has started, after it was killed (guess: a process in an uninterruptible
// read ends when its disk answers). All of an attempt ends within 2 s.
constexpr Duration kPatience = Millis(1500);
constexpr int kLookAgainMs = 1;
// A clone takes 0.1 ms. A helper that is silent for this long is stuck or gone.
constexpr int kHelperTimeoutSeconds = 5;

std::mutex registry_mutex;
std::set<pid_t>& Registry() {
  static auto* const pids = new std::set<pid_t>;
  return *pids;
}

task::KillRounds& Rounds() {  // under registry_mutex
  static auto* const rounds = new task::KillRounds(kPatience);
  return *rounds;
}

int PidfdSignal(int pidfd, int signal) {
  return static_cast<int>(syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0));
}

// Returns the children of the main thread. The kernel passes orphans below this subreaper to it.
std::vector<pid_t> ChildrenOfMain() {
  const std::string main = std::to_string(getpid());
  const Result<std::string> text = ReadFile("/proc/self/task/" + main + "/children");
  std::vector<pid_t> pids;
  if (!text.ok()) return pids;
  std::istringstream in(*text);
  for (pid_t pid; in >> pid;) pids.push_back(pid);
  return pids;
}

// Returns whether it was left by an ended child. Each child is a subreaper, so orphans are not below a child that goes
// on. Each child made its own session; what the daemon itself starts stays in the daemon's.
bool IsOrphan(pid_t pid) { return Registry().count(pid) == 0 && getsid(pid) != getsid(0); }

// Collects ended orphans. Returns whether some are left, alive or not yet collectable.
bool CollectOrphans() {
  bool left = false;
  for (const pid_t pid : ChildrenOfMain()) {
    if (IsOrphan(pid) && waitpid(pid, nullptr, WNOHANG) == 0) left = true;
  }
  return left;
}

// Kills and collects orphans, and waits for that. For callers without a loop.
void SweepAtOnce() {
  const Instant end = Now() + kPatience;
  while (SweepOrphans().left > 0 && Now() < end) poll(nullptr, 0, kLookAgainMs);
}

}  // namespace

Swept SweepOrphans() {
  const std::lock_guard lock(registry_mutex);
  Swept swept;
  if (CollectOrphans() || !Rounds().Stuck().empty()) {
    swept.left = Rounds().Round(getpid(), true, [](pid_t pid) { return !IsOrphan(pid); });
  }
  swept.stuck = Rounds().Stuck();
  return swept;
}

bool KillBelow(const Spawned& child) {
  PidfdSignal(child.pidfd.get(), SIGSTOP);
  const std::lock_guard lock(registry_mutex);
  return Rounds().Round(child.pid, false) == 0;
}

Result<Helper> Helper::Start(const std::string& mrtask_path, const std::string& preload,
                             const std::string& data_directory, const task::RoomOptions& rooms) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  Helper helper;
  struct stat info;
  // Identifies the directory by device and inode: another container may use the same path for another directory, with
  // processes on this machine.
  if (!data_directory.empty() && stat(data_directory.c_str(), &info) == 0) {
    helper.lives_ =
        std::string(task::kMarkVariable) + "=" + std::to_string(info.st_dev) + ":" + std::to_string(info.st_ino) + ":";
    helper.life_ = helper.lives_ + std::to_string(RandomId());
  }
  MR_ASSIGN_OR_RETURN(helper.lease_, LeaseClock::Make());
  helper.mrtask_path_ = mrtask_path;
  helper.preload_ = preload;
  helper.rooms_ = rooms;
  MR_RETURN_IF_ERROR(helper.Launch());
  // A helper that replaces this one gives the same tier, which the master knows.
  helper.rooms_.tier = helper.room_.tier;
  return helper;
}

Status Helper::Launch() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return ErrnoStatus(errno, "cannot start the task helper");
  socket_.reset(ends[0]);
  UniqueFd theirs(ends[1]);
  const timeval limit{kHelperTimeoutSeconds, 0};
  setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // dup2 clears close-on-exec, in glibc also if source and target are the same.
  constexpr int kHelperFd = 3;
  posix_spawn_file_actions_adddup2(&actions, theirs.get(), kHelperFd);
  posix_spawn_file_actions_adddup2(&actions, lease_->fd(), task::kLeaseFd);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  const std::string fd = std::to_string(kHelperFd), protocol = std::to_string(task::kTaskProtocol);
  std::vector<std::string> words = {mrtask_path_, "helper", fd, preload_, protocol};
  for (std::string& word : rooms_.ToWords()) words.push_back(std::move(word));
  // Made here, because a child of the helper can read the memory in which its own process was started.
  std::vector<std::string> variables = task::TaskEnvironment(environ);
  if (!life_.empty()) variables.push_back(life_);
  // Libraries bind their calls to each other once here, and not in each child at the first call.
  variables.push_back("LD_BIND_NOW=1");
  const auto pointers = [](std::vector<std::string>& texts) {
    std::vector<char*> all;
    all.reserve(texts.size() + 1);
    for (std::string& text : texts) all.push_back(text.data());
    all.push_back(nullptr);
    return all;
  };
  const std::vector<char*> argv = pointers(words), environment = pointers(variables);
  int error;
  {
    const std::lock_guard lock(registry_mutex);
    error = posix_spawn(&pid_, mrtask_path_.c_str(), &actions, &attributes, argv.data(), environment.data());
    if (error == 0) Registry().insert(pid_);
  }
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    pid_ = 0;
    return ErrnoStatus(error, "cannot run " + mrtask_path_);
  }
  theirs.reset();  // so that this process sees the end of the helper
  if (Status status = AwaitHello(); !status.ok()) {
    lost_ = true;
    End();
    return status;
  }
  return Status::Ok();
}

Status Helper::AwaitHello() {
  task::HelperHello hello{0, 0};
  std::vector<UniqueFd> fds;
  const long got = task::ReceiveWithFds(socket_.get(), &hello, sizeof hello, &fds, 0);
  const std::string remedy = ": install mrtask and mrworker from one build";
  if (got == -EAGAIN)
    return Internal(mrtask_path_ + " does not answer within " + std::to_string(kHelperTimeoutSeconds) + " s");
  if (got == 0 || got == -ECONNRESET) {
    return Rejected(mrtask_path_ + " exited before it reported its protocol version; this mrworker uses version " +
                    std::to_string(task::kTaskProtocol) + remedy);
  }
  constexpr long kOldest = 2 * sizeof(uint32_t);  // protocols below 12: magic and protocol only
  if (got < kOldest || hello.magic != task::kHelperMagic) {
    return Rejected(mrtask_path_ + " does not answer like mrtask" + remedy);
  }
  if (hello.protocol != task::kTaskProtocol) {
    return Rejected(mrtask_path_ + " speaks protocol " + std::to_string(hello.protocol) + ", this mrworker " +
                    std::to_string(task::kTaskProtocol) + remedy);
  }
  if (got != sizeof hello) return Rejected(mrtask_path_ + " does not answer like mrtask" + remedy);
  hello.why[sizeof hello.why - 1] = '\0';
  room_ = {hello.tier, hello.landlock_abi, hello.why};
  if (hello.tier < 0) return Unavailable("cannot make rooms for tasks: " + room_.why);
  if (hello.tier < rooms_.tier) {
    return Unavailable("cannot make rooms of tier " + std::to_string(rooms_.tier) + " for tasks: " + room_.why +
                       "; without --tier this worker gives tier " + std::to_string(hello.tier));
  }
  return Status::Ok();
}

// A stuck helper would never end by itself. Its children continue, because the daemon is their parent.
void Helper::End() {
  socket_.reset();
  if (pid_ == 0) return;
  if (lost_) kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  const std::lock_guard lock(registry_mutex);
  Registry().erase(pid_);
  pid_ = 0;
}

Helper::Helper(Helper&& other) noexcept
    : mrtask_path_(std::move(other.mrtask_path_)),
      preload_(std::move(other.preload_)),
      rooms_(std::move(other.rooms_)),
      room_(std::move(other.room_)),
      socket_(std::move(other.socket_)),
      pid_(std::exchange(other.pid_, 0)),
      lost_(other.lost_),
      children_(std::move(other.children_)),
      ended_(std::move(other.ended_)),
      lives_(std::move(other.lives_)),
      life_(std::move(other.life_)),
      lease_(std::move(other.lease_)) {}

Helper::~Helper() { End(); }

bool Helper::Gone() const {
  pollfd end{socket_.get(), 0, 0};
  return poll(&end, 1, 0) == 1 && (end.revents & POLLHUP) != 0;
}

Status Helper::Replace() {
  lost_ = true;
  End();
  MR_RETURN_IF_ERROR(Launch());
  lost_ = false;
  ended_.clear();
  for (const auto& [pid, child] : children_) {
    const task::SpawnRequest adopt = Request(task::HelperOp::kAdopt, pid, child.leased);
    task::SendWithFds(socket_.get(), &adopt, sizeof adopt, {child.own_control, child.own_log}, 0);
  }
  return Status::Ok();
}

task::SpawnRequest Helper::Request(task::HelperOp op, pid_t pid, bool leased) {
  task::SpawnRequest request;
  request.op = op;
  request.pid = pid;
  request.leased = leased;
  request.ended_count = static_cast<uint32_t>(ended_.size());
  std::copy(ended_.begin(), ended_.end(), request.ended);
  ended_.clear();
  return request;
}

Result<Spawned> Helper::Spawn(const ChildFds& with, bool leased, const ChildRoom& room) {
  const std::lock_guard lock(registry_mutex);
  task::SpawnRequest request = Request(task::HelperOp::kSpawn, 0, leased);
  request.user = room.user;
  request.network = room.network;
  std::vector<int> sent = {with.control, with.arena, with.log, with.own_control, with.own_log};
  sent.insert(sent.end(), room.joins.begin(), room.joins.end());
  if (int error = task::SendWithFds(socket_.get(), &request, sizeof request, sent, 0)) {
    lost_ = true;
    return ErrnoStatus(error, "cannot start a task: the helper process is gone");
  }
  task::SpawnReply reply;
  std::vector<UniqueFd> fds;
  const long got = task::ReceiveWithFds(socket_.get(), &reply, sizeof reply, &fds, 0);
  if (got != sizeof reply) {
    lost_ = true;
    return Internal("cannot start a task: the helper process does not answer (" + std::to_string(got) + ")");
  }
  if (reply.error == ETIME) return Rejected("the lease has run out");
  if (reply.error != 0) return ErrnoStatus(reply.error, "cannot start a task: clone");
  if (fds.size() != 1) return Internal("cannot start a task: the helper sent no pidfd");
  Registry().insert(reply.pid);
  if (reply.keeper != 0) Registry().insert(reply.keeper);
  children_[reply.pid] = {leased, with.own_control, with.own_log, reply.keeper};
  Spawned child;
  child.pid = reply.pid;
  child.pidfd = std::move(fds[0]);
  return child;
}

Helper::Exit Helper::Reap(const Spawned& child) {
  siginfo_t info{};
  const std::lock_guard lock(registry_mutex);
  // The child stays a zombie while its group is killed, so that its number is not reused.
  waitid(static_cast<idtype_t>(P_PIDFD), child.pidfd.get(), &info, WEXITED | WNOWAIT);
  kill(-child.pid, SIGKILL);
  ended_.push_back(child.pid);
  // The lease knows a child by its number, which may be reused from here on.
  if (children_[child.pid].leased || ended_.size() == task::SpawnRequest::kMostEnded) {
    const task::SpawnRequest forget = Request(task::HelperOp::kForget);
    task::SendWithFds(socket_.get(), &forget, sizeof forget, {}, 0);
  }
  waitid(static_cast<idtype_t>(P_PIDFD), child.pidfd.get(), &info, WEXITED);
  Registry().erase(child.pid);
  Registry().erase(children_[child.pid].keeper);
  children_.erase(child.pid);
  Exit exit;
  exit.by_signal = info.si_code != CLD_EXITED;
  exit.value = info.si_status;
  return exit;
}

Result<std::shared_ptr<LeaseClock>> LeaseClock::Make() {
  std::shared_ptr<LeaseClock> lease(new LeaseClock);
  lease->fd_.reset(memfd_create("mr-lease", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  // Above the numbers that the helper's own descriptors get.
  if (lease->fd_.valid()) lease->fd_.reset(fcntl(lease->fd_.get(), F_DUPFD_CLOEXEC, task::kLeaseFd + 1));
  if (!lease->fd_.valid() || ftruncate(lease->fd(), task::kLeaseBytes) != 0 ||
      fcntl(lease->fd(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return ErrnoStatus(errno, "cannot make the page of the task lease");
  }
  void* page = mmap(nullptr, task::kLeaseBytes, PROT_READ | PROT_WRITE, MAP_SHARED, lease->fd(), 0);
  if (page == MAP_FAILED) return ErrnoStatus(errno, "cannot map the page of the task lease");
  lease->page_ = static_cast<task::LeasePage*>(page);
  return lease;
}

LeaseClock::~LeaseClock() {
  if (page_ != nullptr) munmap(page_, task::kLeaseBytes);
}

void LeaseClock::RenewUntil(Instant until) {
  int64_t before = page_->until.load();
  while (before < until.ns && !page_->until.compare_exchange_weak(before, until.ns)) {
  }
}

bool LeaseClock::over() const {
  const int64_t until = page_->until.load();
  return until != 0 && Now().ns >= until;
}

bool LeaseClock::TakeEnded(pid_t pid) {
  if (page_->ended.load() == 0) return false;
  for (auto& ended : page_->pids) {
    int32_t expected = pid;
    if (ended.compare_exchange_strong(expected, 0)) return true;
  }
  return false;
}

void KillChild(const Spawned& child) {
  kill(-child.pid, SIGKILL);
  PidfdSignal(child.pidfd.get(), SIGKILL);
}

void EndChild(Helper* helper, const Spawned& child) {
  KillChild(child);
  helper->Reap(child);
  SweepAtOnce();
}

std::string SignalName(int signal) {
  const char* name = sigabbrev_np(signal);
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

}  // namespace mr::worker
