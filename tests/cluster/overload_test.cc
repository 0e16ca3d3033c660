// Connections in excess, descriptors that run out and peers that do not read end nobody's service: everything works
// afterwards without a restart.

#include <arpa/inet.h>
#include <capnp/rpc-twoparty.h>
#include <dirent.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <fstream>
#include <functional>
#include <thread>

#include "common/io/clock.h"
#include "common/rpc/connection.h"
#include "common/rpc/credentials.h"
#include "common/rpc/handshake.h"
#include "common/rpc/hello.h"
#include "common/rpc/kj_thread.h"
#include "common/rpc/wait_for_loop.h"
#include "schema/data.capnp.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"
#include "tests/support/http_get.h"
#include "tests/support/rounds.h"

namespace mr::test {
namespace {

bool Until(const std::function<bool()>& met, Duration limit = Seconds(60)) {
  const Instant end = Now() + limit;
  while (!met()) {
    if (Now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return true;
}

bool Ready(uint16_t http_port) { return HttpGet(http_port, "/readyz").starts_with("HTTP/1.1 200"); }

double Metric(const std::string& metrics, const std::string& name) {
  const size_t at = metrics.find("\n" + name + " ");
  return at == std::string::npos ? -1 : std::stod(metrics.substr(at + name.size() + 2));
}

size_t Count(const std::string& text, const std::string& what) {
  size_t n = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

std::string LogOf(const Cluster& cluster, const std::string& member) {
  const auto text = ReadFile(cluster.directory() + "/" + member + ".log");
  return text.ok() ? *text : "";
}

void ExpectWorks(Cluster& cluster, const std::string& name) {
  EXPECT_TRUE(Until([&] { return Ready(cluster.master_http_port()) && Ready(cluster.worker_http_port(0)); }))
      << HttpGet(cluster.master_http_port(), "/readyz") << HttpGet(cluster.worker_http_port(0), "/readyz")
      << cluster.Logs();
  WriteBible(cluster.directory() + "/in-" + name, 50'000);
  const std::string root = "file://" + cluster.directory();
  const RunResult run =
      cluster.Mrctl({"submit", "wordcount", "--input", root + "/in-" + name, "--output", root + "/out-" + name});
  EXPECT_EQ(run.exit, 0) << name << ": " << run.err << cluster.Logs();
}

TEST(OverloadTest, EveryPortOutlivesMoreConnectionsThanThereAreDescriptors) {
  Cluster cluster({.workers = 1, .slots = 1, .open_files = 256});
  ASSERT_TRUE(cluster.Start().ok());
  const std::pair<const char*, uint16_t> ports[] = {{"master-rpc", cluster.master_port()},
                                                    {"master-http", cluster.master_http_port()},
                                                    {"worker-rpc", cluster.worker_port(0)},
                                                    {"worker-http", cluster.worker_http_port(0)}};
  for (const auto& [name, port] : ports) {
    const int bursts = Rounds(1, 20);
    for (int burst = 0; burst < bursts; ++burst) {
      std::vector<UniqueFd> flood;
      for (int i = 0; i < 300; ++i) flood.push_back(Connect(port));
      std::this_thread::sleep_for(std::chrono::seconds(1));
      // With all of them open the cluster still does its work.
      const RunResult workers = cluster.Mrctl({"workers"});
      EXPECT_EQ(workers.exit, 0) << name << workers.err;
    }
    ExpectWorks(cluster, name);
  }
}

// Clients that were let in and do nothing.
class HeldClients {
 public:
  HeldClients(const std::string& address, int tries) {
    for (int i = 0; i < tries; ++i) {
      (void)rpc::WaitForLoop<Status>(loop_, [this, &address] {
        return rpc::RpcConnection::Connect(loop_.io(), address, {.role = rpc::Role::kClient})
            .then([this](Result<kj::Own<rpc::RpcConnection>> connection) {
              if (connection.ok()) held_.push_back(*std::move(connection));
              return connection.status();
            });
      });
    }
  }
  ~HeldClients() {
    loop_.Run([this] { held_.clear(); });
  }
  size_t size() const { return held_.size(); }

 private:
  std::vector<kj::Own<rpc::RpcConnection>> held_;
  rpc::KjThread loop_{"held"};
};

TEST(OverloadTest, ClientsThatKeepTheirConnectionsNeverKeepAWorkerOut) {
  Cluster cluster({.workers = 1, .slots = 1, .open_files = 256});
  ASSERT_TRUE(cluster.Start().ok());
  {
    const HeldClients clients(cluster.master_address(), 300);
    EXPECT_GT(clients.size(), 10u);  // as many as the master takes
    cluster.KillWorker(0);
    ASSERT_TRUE(cluster.StartWorker(0).ok());
    EXPECT_TRUE(Until([&] { return Ready(cluster.worker_http_port(0)); })) << cluster.Logs();
  }
  ExpectWorks(cluster, "after");
}

size_t OpenFiles(pid_t pid) {
  size_t n = 0;
  DIR* directory = ::opendir(("/proc/" + std::to_string(pid) + "/fd").c_str());
  if (directory == nullptr) return 0;
  while (::readdir(directory) != nullptr) ++n;
  ::closedir(directory);
  return n;
}

// No new descriptor for a process; the limit that it had comes back with the object.
class NoNewFiles {
 public:
  explicit NoNewFiles(pid_t pid) : pid_(pid) {
    EXPECT_GT(OpenFiles(pid), 3u);
    EXPECT_EQ(::prlimit(pid, RLIMIT_NOFILE, nullptr, &before_), 0);
    const rlimit none{3, before_.rlim_max};
    EXPECT_EQ(::prlimit(pid, RLIMIT_NOFILE, &none, nullptr), 0);
  }
  ~NoNewFiles() { EXPECT_EQ(::prlimit(pid_, RLIMIT_NOFILE, &before_, nullptr), 0); }

 private:
  const pid_t pid_;
  rlimit before_{};
};

TEST(OverloadTest, AcceptsThatFailArePausedLoggedOnceAndTriedAgain) {
  Cluster cluster({.workers = 1, .slots = 1});
  ASSERT_TRUE(cluster.Start().ok());
  struct Daemon {
    const char* member;
    pid_t pid;
    uint16_t rpc, http;
  };
  const Daemon daemons[] = {{"master", cluster.master_pid(), cluster.master_port(), cluster.master_http_port()},
                            {"worker-0", cluster.worker_pid(0), cluster.worker_port(0), cluster.worker_http_port(0)}};
  for (const Daemon& d : daemons) {
    ASSERT_TRUE(Until([&] { return Ready(d.http); })) << cluster.Logs();
    const UniqueFd kept = Connect(d.http);
    std::string ready = HttpGet(kept, "/readyz"), metrics;
    ASSERT_TRUE(ready.starts_with("HTTP/1.1 200")) << ready;
    {
      const NoNewFiles none(d.pid);
      const UniqueFd rpc = Connect(d.rpc), http = Connect(d.http);
      // Not ready means that its own connection to itself is not answered.
      EXPECT_TRUE(Until([&] { return (ready = HttpGet(kept, "/readyz")).starts_with("HTTP/1.1 503"); })) << ready;
      EXPECT_TRUE(Until([&] {
        metrics = HttpGet(kept, "/metrics");
        return Metric(metrics, "mr_accept_failures_total{port=\"rpc\"}") >= 2 &&
               Metric(metrics, "mr_accept_failures_total{port=\"http\"}") >= 2;
      })) << metrics;
    }
    EXPECT_TRUE(Until([&] { return Ready(d.http); })) << HttpGet(d.http, "/readyz") << cluster.Logs();
    const std::string log = LogOf(cluster, d.member);
    EXPECT_EQ(Count(log, "RPC port " + std::to_string(d.rpc) + ": cannot accept connections"), 1u) << log;
    EXPECT_EQ(Count(log, "HTTP port " + std::to_string(d.http) + ": cannot accept connections"), 1u) << log;
  }
  ExpectWorks(cluster, "after");
}

uint64_t MemoryKib(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("VmRSS:")) return std::stoull(line.substr(6));
  }
  return 0;
}

// The only block that the worker has.
bool FindBlock(const std::string& data, uint64_t* id, unsigned* generation) {
  const auto files = RunProgram({"/usr/bin/find", data, "-name", "*.blk"});
  const size_t slash = files.out.rfind('/');
  unsigned long long number = 0;
  if (slash == std::string::npos) return false;
  if (std::sscanf(files.out.c_str() + slash + 1, "%16llx_%u.blk", &number, generation) != 2) return false;
  *id = number;
  return true;
}

// Asks for 1 MiB of a block 1,000 times and reads nothing of what comes.
class DeafReader {
 public:
  DeafReader(uint16_t port, uint64_t id, uint32_t generation) {
    const Status asked = rpc::WaitForLoop<Status>(loop_, [this, port, id, generation] {
      return loop_.io()
          .provider->getNetwork()
          .parseAddress("127.0.0.1", port)
          .then([](kj::Own<kj::NetworkAddress> a) {
            auto connected = a->connect();
            return connected.attach(kj::mv(a));
          })
          .then([this, id, generation](kj::Own<kj::AsyncIoStream> stream) {
            return rpc::Greet(kj::mv(stream), {.role = rpc::Role::kData}, "the worker", rpc::ProcessCredentials())
                .then([this, id, generation](Result<rpc::Greeted> greeted) -> Status {
                  if (!greeted.ok()) return greeted.status();
                  stream_ = kj::mv(greeted->stream);
                  out_ = kj::heap<Deaf>(*stream_);
                  client_ = kj::heap<capnp::TwoPartyClient>(*out_);
                  auto server = client_->bootstrap().castAs<rpc::DataServer>();
                  for (int i = 0; i < 1000; ++i) {
                    auto request = server.readBlockRequest();
                    request.setId(id);
                    request.setGeneration(generation);
                    request.setLength(1 << 20);
                    loop_.Spawn(request.send().ignoreResult().catch_([](kj::Exception&&) {}));
                  }
                  return Status::Ok();
                });
          });
    });
    EXPECT_TRUE(asked.ok()) << asked.ToString();
  }
  ~DeafReader() {
    loop_.Run([this] {
      client_ = nullptr;
      out_ = nullptr;
      stream_ = nullptr;
    });
  }

 private:
  struct Deaf final : kj::AsyncIoStream {
    kj::AsyncIoStream& inner;
    explicit Deaf(kj::AsyncIoStream& i) : inner(i) {}
    kj::Promise<size_t> tryRead(void*, size_t, size_t) override { return kj::NEVER_DONE; }
    kj::Promise<void> write(const void* b, size_t n) override { return inner.write(b, n); }
    kj::Promise<void> write(kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>> p) override { return inner.write(p); }
    kj::Promise<void> whenWriteDisconnected() override { return inner.whenWriteDisconnected(); }
    void shutdownWrite() override { inner.shutdownWrite(); }
  };
  kj::Own<kj::AsyncIoStream> stream_;
  kj::Own<Deaf> out_;
  kj::Own<capnp::TwoPartyClient> client_;
  rpc::KjThread loop_{"deaf"};
};

TEST(OverloadTest, APeerThatDoesNotReadCostsLittleMemoryAndIsDisconnected) {
  Cluster cluster(
      {.workers = 1, .slots = 1, .master_flags = {"--send_timeout=2s"}, .worker_flags = {"--send_timeout=2s"}});
  ASSERT_TRUE(cluster.Start().ok());
  WriteBible(cluster.directory() + "/block", 2 << 20);
  const RunResult put = cluster.Mrctl({"fs", "put", cluster.directory() + "/block", "/block"});
  ASSERT_EQ(put.exit, 0) << put.err;
  uint64_t id = 0;
  unsigned generation = 0;
  ASSERT_TRUE(FindBlock(cluster.worker_data(0), &id, &generation));
  const uint64_t before = MemoryKib(cluster.worker_pid(0));
  uint64_t most = before;
  {
    const DeafReader deaf(cluster.worker_port(0), id, generation);
    std::string metrics;
    EXPECT_TRUE(Until([&] {
      most = std::max(most, MemoryKib(cluster.worker_pid(0)));
      metrics = HttpGet(cluster.worker_http_port(0), "/metrics");
      return Metric(metrics, "mr_connections_closed_total{reason=\"slow\"}") == 1;
    })) << metrics
        << cluster.Logs();
  }
#ifdef __SANITIZE_ADDRESS__
  constexpr uint64_t kKeptFreed = 256u << 10;  // KiB: the sanitizer's quarantine_size_mb
#else
  constexpr uint64_t kKeptFreed = 0;
#endif
  // 32 replies of 1 MiB wait at most; 1,000 were asked for.
  EXPECT_LT(most - before, (128u << 10) + kKeptFreed) << "KiB";
  for (const uint16_t port : {cluster.master_http_port(), cluster.worker_http_port(0)}) {
    // Requests whose answers nobody reads, until the daemon ends the connection.
    const UniqueFd web = Connect(port);
    const std::string bearer = BearerOf(port);
    std::string requests;
    for (int i = 0; i < 3000; ++i) requests += "GET /metrics HTTP/1.1\r\nHost: x\r\n" + bearer + "\r\n";
    (void)::send(web.get(), requests.data(), requests.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    std::string metrics;
    EXPECT_TRUE(Until([&] {
      metrics = HttpGet(port, "/metrics");
      return Metric(metrics, "mr_connections_closed_total{reason=\"http_slow\"}") == 1;
    })) << metrics;
  }
  ExpectWorks(cluster, "after");
}

void Age(const std::string& path, int hours) {
  const time_t then = ::time(nullptr) - 3600 * hours;
  const timespec times[] = {{then, 0}, {then, 0}};
  EXPECT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

// A file that was last changed `hours` ago.
void Plant(const std::string& path, int hours) {
  EXPECT_TRUE(WriteFileDurably(path, std::string(1000, 'x')).ok());
  Age(path, hours);
}

TEST(OverloadTest, OldLogsOfAttemptsThatRunStay) {
  Cluster cluster(
      {.workers = 1, .slots = 2, .worker_flags = {"--log_bytes=1k", "--log_age=8h", "--housekeeping=100ms"}});
  ASSERT_TRUE(cluster.Start().ok());
  ASSERT_TRUE(WriteFileDurably(cluster.directory() + "/in", "a line\n").ok());
  const std::string in = "file://" + cluster.directory() + "/in", out = "file://" + cluster.directory() + "/out";
  const auto map = cluster.MrctlInBackground(
      {"submit", "stream", "--map", "echo a >&2; sleep 1000", "--input", in, "--output", out + "1"}, "map");
  const std::string log = cluster.worker_data(0) + "/log/", of_map = log + "attempt_1_0001_0_m_000000_1",
                    of_reduce = log + "attempt_1_0002_1_r_000000_1";
  EXPECT_TRUE(Until([&] { return FileSize(of_map).ok() && *FileSize(of_map) > 0; }));
  const auto reduce =
      cluster.MrctlInBackground({"submit", "stream", "--map", "cat", "--reduce", "echo b >&2; sleep 1000", "--reduces",
                                 "1", "--input", in, "--output", out + "2"},
                                "reduce");
  EXPECT_TRUE(Until([&] { return FileSize(of_reduce).ok() && *FileSize(of_reduce) > 0; }));
  Age(of_map, 9);
  Age(of_reduce, 9);
  const std::string ended = log + "attempt_1_0003_0_m_000000_1";
  Plant(ended, 9);
  EXPECT_TRUE(Until([&] { return !PathExists(ended); }));
  EXPECT_TRUE(PathExists(of_map));
  EXPECT_TRUE(PathExists(of_reduce));
}

TEST(OverloadTest, LogsOfTheLastMinutesAreKeptWithinTheirSizeToo) {
  Cluster cluster({.workers = 1, .slots = 1, .worker_flags = {"--log_bytes=3k", "--housekeeping=100ms"}});
  ASSERT_TRUE(cluster.Start().ok());
  const std::string log = cluster.worker_data(0) + "/log/";
  for (int i = 1; i <= 9; ++i) Plant(log + "attempt_1_0001_0_m_00000" + std::to_string(i) + "_1", 0);
  EXPECT_TRUE(Until([&] { return ListDirectory(log).value().size() == 3; })) << ListDirectory(log).value().size();
}

TEST(OverloadTest, OldLogsAndLibrariesOfAWorkerGo) {
  Cluster cluster(
      {.workers = 1, .slots = 1, .worker_flags = {"--log_bytes=3k", "--log_age=8h", "--lib_bytes=1m", "--lib_age=4h"}});
  ASSERT_TRUE(cluster.Start().ok());
  cluster.KillWorker(0);
  const std::string log = cluster.worker_data(0) + "/log/", lib = cluster.worker_data(0) + "/lib/";
  for (int hours = 1; hours <= 9; ++hours)
    Plant(log + "attempt_1_0001_0_m_00000" + std::to_string(hours) + "_1", hours);
  Plant(lib + std::string(64, 'a') + ".so", 5);
  Plant(lib + std::string(64, 'b') + ".so", 3);
  Plant(lib + std::string(64, 'c') + ".so.part", 0);
  ASSERT_TRUE(cluster.StartWorker(0).ok());
  EXPECT_TRUE(Until([&] { return ListDirectory(log).value().size() == 3 && ListDirectory(lib).value().size() == 1; }))
      << ListDirectory(log).value().size() << " logs, " << ListDirectory(lib).value().size() << " libraries";
  EXPECT_TRUE(PathExists(log + "attempt_1_0001_0_m_000001_1"));
  EXPECT_TRUE(PathExists(log + "attempt_1_0001_0_m_000003_1"));
  EXPECT_TRUE(PathExists(lib + std::string(64, 'b') + ".so"));
}

}  // namespace
}  // namespace mr::test
