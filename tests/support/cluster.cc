#include "tests/support/cluster.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "common/base/text.h"
#include "common/io/clock.h"

namespace mr::test {
namespace {

constexpr int kReadyFd = 10;
constexpr int kLifelineFd = 11;

std::string Tail(const std::string& path, int lines) {
  auto text = ReadFile(path);
  if (!text.ok()) return text.status().message() + "\n";
  size_t at = text->size();
  for (int i = 0; i <= lines && at != 0 && at != std::string::npos; ++i) at = text->rfind('\n', at - 1);
  return at == 0 || at == std::string::npos ? *text : text->substr(at + 1);
}

// Reads the line "ready <rpc_port> <http_port>". Errors: the other end was closed first, or the limit has passed.
Status ReadReady(int fd, Duration limit, uint16_t* port, uint16_t* http_port) {
  std::string text;
  const Instant end = Now() + limit;
  while (text.find('\n') == std::string::npos) {
    pollfd ready{fd, POLLIN, 0};
    const int64_t left = (end - Now()).millis();
    if (left <= 0) return {Code::kDeadline, "did not become ready in " + HumanDuration(limit)};
    const int n = poll(&ready, 1, static_cast<int>(left));
    if (n < 0 && errno == EINTR) continue;
    char piece[128];
    const ssize_t got = n > 0 ? read(fd, piece, sizeof piece) : 0;
    if (n > 0 && got <= 0) return Unavailable("ended before it was ready");
    text.append(piece, static_cast<size_t>(got));
  }
  unsigned rpc = 0, http = 0;
  if (std::sscanf(text.c_str(), "ready %u %u", &rpc, &http) != 2)
    return Internal("wrote '" + text + "' as its ready line");
  *port = static_cast<uint16_t>(rpc);
  *http_port = static_cast<uint16_t>(http);
  return Status::Ok();
}

std::string DirectoryOfThisProgram() {
  char path[4096];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  MR_CHECK(n > 0);
  const std::string self(path, static_cast<size_t>(n));
  return self.substr(0, self.rfind('/'));
}

// Read before main: once SmallDisk has left the mount namespace, a program in a chroot no longer has its path there.
const std::string kBinaryDirectory = DirectoryOfThisProgram();

}  // namespace

std::string BinaryDirectory() { return kBinaryDirectory; }

RunResult RunProgram(const std::vector<std::string>& argv, Duration limit, SpawnOptions options) {
  TempDirectory directory;
  if (options.stdout_path == "/dev/null") options.stdout_path = directory / "out";
  if (options.stderr_path == "/dev/null") options.stderr_path = directory / "err";
  RunResult result;
  auto process = Process::Spawn(argv, options);
  if (!process.ok()) {
    result.err = process.status().ToString();
    return result;
  }
  const auto exit = process->Wait(limit);
  if (!exit.has_value()) process->Kill();
  result.exit = exit.value_or(-1);
  if (auto text = ReadFile(options.stdout_path); text.ok()) result.out = *text;
  if (auto text = ReadFile(options.stderr_path); text.ok()) result.err = *text;
  return result;
}

RunResult RunMrctl(const std::vector<std::string>& args, Duration limit, SpawnOptions options) {
  std::vector<std::string> argv = {BinaryDirectory() + "/mrctl"};
  argv.insert(argv.end(), args.begin(), args.end());
  return RunProgram(argv, limit, std::move(options));
}

Cluster::Cluster(ClusterOptions options) : options_(std::move(options)) {
  int ends[2];
  MR_CHECK(pipe2(ends, O_CLOEXEC) == 0);
  lifeline_read_.reset(ends[0]);
  lifeline_write_.reset(ends[1]);
  master_.name = "master";
  master_.data = directory_ / "master";
  master_.log = directory_ / "master.log";
  for (int i = 0; i < options_.workers; ++i) {
    auto worker = std::make_unique<Member>();
    worker->name = "worker-" + std::to_string(i);
    worker->data = directory_ / worker->name;
    worker->log = worker->data + ".log";
    workers_.push_back(std::move(worker));
  }
}

Cluster::~Cluster() {
  // Workers are killed first, so that none of them logs a lost master.
  for (auto& worker : workers_) worker->process.Kill();
  master_.process.Kill();
}

Status Cluster::Start() {
  MR_RETURN_IF_ERROR(StartMaster());
  for (int i = 0; i < workers(); ++i) MR_RETURN_IF_ERROR(StartWorker(i));
  return Status::Ok();
}

Status Cluster::StartMember(Member& member, std::vector<std::string> argv, int network) {
  argv.insert(argv.end(), {"--data", member.data, "--port", std::to_string(member.port), "--http_port",
                           std::to_string(member.http_port), "--ready_fd", std::to_string(kReadyFd), "--lifeline_fd",
                           std::to_string(kLifelineFd)});
  // Beyond loopback there are no secrets.
  if (options_.host != "127.0.0.1") argv.push_back("--insecure");
  // Operators of tests leave marks below the directories of tests. rooms_test.cc gives its own paths.
  if (&member != &master_)
    argv.insert(argv.end(), {"--task_paths", "/tmp:rw," + directory_.path() + ":rw," + BinaryDirectory() + "/.."});
  // Not a share of what the clusters of other tests on this machine leave. Earlier builds may lack the flag.
  if (&member != &master_ && options_.binaries.empty()) argv.insert(argv.end(), {"--memory", "64g"});
  const auto& more = &member == &master_ ? options_.master_flags : options_.worker_flags;
  argv.insert(argv.end(), more.begin(), more.end());
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "cannot make a pipe");
  UniqueFd ready_read(ends[0]), ready_write(ends[1]);
  SpawnOptions spawn;
  spawn.stdout_path = spawn.stderr_path = member.log;
  spawn.append = true;
  spawn.inherit = {{ready_write.get(), kReadyFd}, {lifeline_read_.get(), kLifelineFd}};
  spawn.env = options_.env;
  spawn.open_files = options_.open_files;
  spawn.network = network;
  MR_ASSIGN_OR_RETURN(member.process, Process::Spawn(argv, spawn));
  ready_write.reset();
  const Status ready = ReadReady(ready_read.get(), options_.ready_limit, &member.port, &member.http_port);
  if (!ready.ok())
    return Status(ready.code(), member.name + " " + ready.message() + "; its log ends:\n" + Tail(member.log, 20));
  return Status::Ok();
}

Status Cluster::StartMaster() { return StartMember(master_, {Binary("mrmaster"), "--bind", options_.host}, -1); }

Status Cluster::StartWorker(int index) {
  std::vector<std::string> argv = {Binary("mrworker"), "--master", master_address(), "--slots",
                                   std::to_string(options_.slots)};
  const auto i = static_cast<size_t>(index);
  if (i < options_.labels.size()) argv.insert(argv.end(), {"--label", options_.labels[i]});
  if (i < options_.flags_of.size()) argv.insert(argv.end(), options_.flags_of[i].begin(), options_.flags_of[i].end());
  return StartMember(*workers_.at(i), std::move(argv), i < options_.networks.size() ? options_.networks[i] : -1);
}

void Cluster::KillMaster() { master_.process.Kill(); }
void Cluster::KillWorker(int index) { workers_.at(index)->process.Kill(); }

void Cluster::LoseWorker(int index) {
  KillWorker(index);
  (void)RemoveTree(worker_data(index));
}

namespace {
Status Stop(const std::string& name, Process& process) {
  process.Signal(SIGTERM);
  const auto exit = process.Wait(Seconds(20));
  if (!exit.has_value()) return {Code::kDeadline, name + " did not stop within 20 s of SIGTERM"};
  if (*exit != 0) return Internal(name + " exited with " + std::to_string(*exit) + " after SIGTERM");
  return Status::Ok();
}
}  // namespace

Status Cluster::StopWorker(int index) { return Stop(workers_.at(index)->name, workers_.at(index)->process); }
Status Cluster::StopMaster() { return Stop(master_.name, master_.process); }

std::string Cluster::master_address() const { return options_.host + ":" + std::to_string(master_.port); }
uint16_t Cluster::master_port() const { return master_.port; }
uint16_t Cluster::master_http_port() const { return master_.http_port; }
uint16_t Cluster::worker_port(int index) const { return workers_.at(index)->port; }
uint16_t Cluster::worker_http_port(int index) const { return workers_.at(index)->http_port; }
pid_t Cluster::master_pid() const { return master_.process.pid(); }
pid_t Cluster::worker_pid(int index) const { return workers_.at(index)->process.pid(); }
int Cluster::workers() const { return static_cast<int>(workers_.size()); }
std::string Cluster::worker_data(int index) const { return workers_.at(index)->data; }
std::string Cluster::master_data() const { return master_.data; }

std::string Cluster::Logs(int lines) const {
  std::string text = "--- master\n" + Tail(master_.log, lines);
  for (const auto& worker : workers_) text += "--- " + worker->name + "\n" + Tail(worker->log, lines);
  return text;
}

bool Cluster::Insecure() const {
  const auto& flags = options_.master_flags;
  return options_.host != "127.0.0.1" || std::find(flags.begin(), flags.end(), "--insecure") != flags.end();
}

std::string Cluster::Binary(const std::string& name) const {
  return (options_.binaries.empty() ? BinaryDirectory() : options_.binaries) + "/" + name;
}

RunResult Cluster::Mrctl(std::vector<std::string> args, Duration limit, SpawnOptions options) const {
  if (Insecure()) options.env.emplace_back("MR_INSECURE=1");
  args.insert(args.begin(), {Binary("mrctl"), "--master", master_address()});
  return RunProgram(args, limit, std::move(options));
}

Result<Process> Cluster::MrctlInBackground(const std::vector<std::string>& args, const std::string& name) const {
  std::vector<std::string> argv = {Binary("mrctl"), "--master", master_address()};
  argv.insert(argv.end(), args.begin(), args.end());
  SpawnOptions options;
  if (Insecure()) options.env.emplace_back("MR_INSECURE=1");
  options.stdout_path = directory_ / (name + ".out");
  options.stderr_path = directory_ / (name + ".err");
  return Process::Spawn(argv, options);
}

Status Cluster::WaitForWorkers(int n, Duration limit) const {
  const Instant end = Now() + limit;
  RunResult last;
  while (Now() < end) {
    last = Mrctl({"-o", "ndjson", "workers"});
    int live = 0;
    for (size_t at = 0; (at = last.out.find("\"state\":\"live\"", at)) != std::string::npos; ++at) ++live;
    if (last.exit == 0 && live == n) return Status::Ok();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return {Code::kDeadline,
          "there were never " + std::to_string(n) + " live workers; the last answer was:\n" + last.out + last.err};
}

}  // namespace mr::test
