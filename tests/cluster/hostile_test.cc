// Hostile bytes on every port of a running cluster: 10,000 mutated messages each, before an identity is proved and
// behind it, and peers that send one byte at a time. The daemons go on, with the memory that they had, and serve
// others.
#include <capnp/dynamic.h>
#include <capnp/message.h>
#include <capnp/rpc.capnp.h>
#include <capnp/serialize.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <thread>

#include "common/base/rng.h"
#include "common/io/clock.h"
#include "common/rpc/hello.h"
#include "schema/client.capnp.h"
#include "schema/control.capnp.h"
#include "schema/data.capnp.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"
#include "tests/support/http_get.h"
#include "tests/support/mutate.h"
#include "tests/support/raw_port.h"

namespace mr::test {
namespace {

constexpr int kMessages = 10'000;  // on each port, before an identity and behind it (issue 26)
// Growth of a daemon's memory over the messages: buffers and the allocator's caches, not something per message.
constexpr uint64_t kMostGrowthKb = 64 << 10;
constexpr Duration kClosed = rpc::kHelloTimeout + Seconds(3);  // a slow machine's share

uint64_t RssKb(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::stoull(line.substr(6));
  }
  return 0;
}

// Returns the value of a metric; -1 where the daemon shows none without an identity.
double MetricOf(uint16_t http_port, const std::string& name) {
  const std::string text = HttpGet(http_port, "/metrics");
  const size_t at = text.find("\n" + name + " ");
  return at == std::string::npos ? -1 : std::stod(text.substr(at + name.size() + 2));
}

// Builds the frames of a client that asks for the bootstrap and calls one method of it.
class Frames {
 public:
  Frames() {
    Add([](capnp::rpc::Message::Builder root) { root.initBootstrap().setQuestionId(0); });
  }
  template <class Interface>
  Frames& Call(const char* method, const std::function<void(capnp::DynamicStruct::Builder)>& fill) {
    const auto schema = capnp::Schema::from<Interface>();
    const auto found = schema.getMethodByName(method);
    Add([&](capnp::rpc::Message::Builder root) {
      auto call = root.initCall();
      call.setQuestionId(++question_);
      call.initTarget().initPromisedAnswer().setQuestionId(0);
      call.setInterfaceId(schema.getProto().getId());
      call.setMethodId(found.getOrdinal());
      fill(call.initParams().getContent().initAs<capnp::DynamicStruct>(found.getParamType()));
    });
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void Add(const std::function<void(capnp::rpc::Message::Builder)>& fill) {
    capnp::MallocMessageBuilder message;
    fill(message.initRoot<capnp::rpc::Message>());
    const auto words = capnp::messageToFlatArray(message);
    bytes_.append(words.asChars().begin(), words.asChars().end());
  }
  uint32_t question_ = 0;
  std::string bytes_;
};

// The good conversations of each kind of peer with the master and with a worker.
std::vector<std::string> MasterConversations() {
  const auto none = [](capnp::DynamicStruct::Builder) {};
  return {Frames()
              .Call<rpc::MasterForClient>("info", none)
              .Call<rpc::MasterForClient>("jobs", none)
              .Call<rpc::MasterForClient>("workers", none)
              .bytes(),
          Frames().Call<rpc::MasterForClient>("why", [](auto params) { params.set("subject", "job_1_0001"); }).bytes(),
          Frames()
              .Call<rpc::MasterForClient>(
                  "submit",
                  [](auto params) {
                    auto spec = params.init("spec").template as<capnp::DynamicStruct>();
                    spec.set("name", "a job");
                    auto stage =
                        spec.init("stages", 1).template as<capnp::DynamicList>()[0].template as<capnp::DynamicStruct>();
                    stage.set("name", "map");
                    stage.set("operator", "wordcount.map");
                    stage.init("inputs", 1);
                    stage.init("ports", 1);
                  })
              .bytes()};
}
std::vector<std::string> WorkerConversations() {
  return {
      Frames()
          .Call<rpc::DataServer>("readBlock",
                                 [](auto params) {
                                   params.set("id", 1);
                                   params.set("length", 100);
                                 })
          .bytes(),
      Frames()
          .Call<rpc::DataServer>(
              "fetch",
              [](auto params) {
                auto request =
                    params.init("requests", 1).template as<capnp::DynamicList>()[0].template as<capnp::DynamicStruct>();
                request.set("partition", 1);
                request.init("replica");
              })
          .bytes(),
      Frames().Call<rpc::DataServer>("openFetch", [](capnp::DynamicStruct::Builder) {}).bytes()};
}
std::vector<std::string> HttpRequests() {
  return {"GET /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nUser-Agent: a\r\nAccept: */*\r\n\r\n",
          "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
          "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\nbody",
          "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff1\r\nx\r\n0\r\n\r\n",
          "GET /..%2f..%2fetc/passwd?a=%00 HTTP/1.1\r\nHost: a\r\n b\r\nX-Folded: a\r\n\tb\r\n\r\n"};
}

class HostileTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster_ = new Cluster({.workers = 1, .slots = 1});
    ASSERT_TRUE(cluster_->Start().ok());
  }
  static void TearDownTestSuite() {
    delete cluster_;
    cluster_ = nullptr;
  }

  // Sends `count` mutations of the `valid` texts, each behind an unchanged `prefix`. The seed decides all.
  static void Send(uint16_t port, const std::string& prefix, const std::vector<std::string>& valid, int count,
                   uint64_t seed) {
    Rng rng(seed);
    for (int i = 0; i < count; ++i) {
      const std::string bytes = Mutated(valid[rng.Below(valid.size())], valid, &rng);
      ASSERT_TRUE(SendUntilClosed(port, prefix + bytes)) << "port " << port << ", seed " << seed << ", message " << i;
    }
  }
  // Sends on all ports at a time: a quarter of the time.
  static void SendToAll(const std::function<void(int)>& send) {
    std::vector<std::thread> threads;
    for (int port = 0; port < 4; ++port) threads.emplace_back([&send, port] { send(port); });
    for (std::thread& thread : threads) thread.join();
  }
  static void ExpectSameMemory(const std::function<void()>& hostile) {
    const uint64_t master = RssKb(cluster_->master_pid()), worker = RssKb(cluster_->worker_pid(0));
    hostile();
    EXPECT_LT(RssKb(cluster_->master_pid()), master + kMostGrowthKb) << "the master had " << master;
    EXPECT_LT(RssKb(cluster_->worker_pid(0)), worker + kMostGrowthKb) << "the worker had " << worker;
  }
  static void ExpectWorks(const std::string& name) {
    WriteBible(cluster_->directory() + "/in-" + name, 50'000);
    const std::string root = "file://" + cluster_->directory();
    const RunResult run =
        cluster_->Mrctl({"submit", "wordcount", "--input", root + "/in-" + name, "--output", root + "/out-" + name});
    EXPECT_EQ(run.exit, 0) << run.err << cluster_->Logs();
  }

  static Cluster* cluster_;
};
Cluster* HostileTest::cluster_ = nullptr;

TEST_F(HostileTest, MessagesBeforeAnIdentityAreNeverDecoded) {
  ExpectWorks("before");
  const uint16_t rpc_ports[2] = {cluster_->master_port(), cluster_->worker_port(0)};
  const uint16_t http_ports[2] = {cluster_->master_http_port(), cluster_->worker_http_port(0)};
  const pid_t master = cluster_->master_pid(), worker = cluster_->worker_pid(0);
  // A peer without the secret can send hellos of all roles, frames of all kinds, and messages behind them.
  std::vector<std::string> anonymous;
  for (const rpc::Role role : {rpc::Role::kClient, rpc::Role::kWorker, rpc::Role::kHeartbeat, rpc::Role::kData,
                               rpc::Role::kProbe, rpc::Role::kJoin}) {
    const std::string hello = BytesOf({.role = role});
    anonymous.push_back(hello + SecretFrame(std::string(kSecretBytes, 's')) + MasterConversations()[0]);
    anonymous.push_back(hello + rpc::EncodeCredential({}).Reveal() + WorkerConversations()[0]);
  }
  double streams[2], identities[2];
  for (const int i : {0, 1}) {
    streams[i] = MetricOf(http_ports[i], "mr_message_streams_total");
    identities[i] = MetricOf(http_ports[i], "mr_identities_total");
  }
  ExpectSameMemory([&] {
    SendToAll([&](int port) {
      if (port < 2) {
        Send(rpc_ports[port], "", anonymous, kMessages, 100 + static_cast<uint64_t>(port));
      } else {
        Send(http_ports[port - 2], "", HttpRequests(), kMessages, 100 + static_cast<uint64_t>(port));
      }
    });
  });
  for (const int i : {0, 1}) {
    EXPECT_EQ(MetricOf(http_ports[i], "mr_message_streams_total"), streams[i]);
    EXPECT_EQ(MetricOf(http_ports[i], "mr_identities_total"), identities[i]);
  }
  EXPECT_EQ(cluster_->master_pid(), master);
  EXPECT_EQ(RssKb(worker) > 0, true) << "the worker lives";
  ExpectWorks("anonymous");
}

TEST_F(HostileTest, MessagesBehindAnIdentityHurtNobodyElse) {
  const uint16_t http_ports[2] = {cluster_->master_http_port(), cluster_->worker_http_port(0)};
  ASSERT_NE(OwnersFrame(cluster_->master_port()), "");
  ASSERT_NE(OwnersFrame(cluster_->worker_port(0)), "");
  const std::string client = BytesOf({.role = rpc::Role::kClient}) + OwnersFrame(cluster_->master_port());
  const std::string data = BytesOf({.role = rpc::Role::kData}) + OwnersFrame(cluster_->worker_port(0));
  // The conversations are good: unchanged, they are answered.
  for (const std::string& frames : MasterConversations())
    EXPECT_TRUE(SendUntilClosed(cluster_->master_port(), client + frames));
  std::atomic<bool> done = false;
  int served = 0;
  std::thread good([&] {
    while (!done) {
      const RunResult run = cluster_->Mrctl({"workers"});
      EXPECT_EQ(run.exit, 0) << run.err;
      ++served;
    }
  });
  ExpectSameMemory([&] {
    SendToAll([&](int port) {
      const uint64_t seed = 200 + static_cast<uint64_t>(port);
      if (port == 0) {
        Send(cluster_->master_port(), client, MasterConversations(), kMessages, seed);
      } else if (port == 1) {
        Send(cluster_->worker_port(0), data, WorkerConversations(), kMessages, seed);
      } else {
        Send(http_ports[port - 2], "", HttpRequests(), kMessages, seed);
      }
    });
  });
  done = true;
  good.join();
  EXPECT_GT(served, 3) << "an honest client was served meanwhile";
  for (const int i : {0, 1}) {
    EXPECT_LE(MetricOf(http_ports[i], "mr_message_streams_total"), MetricOf(http_ports[i], "mr_identities_total"));
  }
  // The attacker has all roles here: a mutated call may have asked to drain the worker, which it may.
  EXPECT_EQ(cluster_->Mrctl({"worker", "undrain", "w1"}).exit, 0);
  ExpectWorks("known");
}

TEST_F(HostileTest, AByteAtATimeGainsNoTimeOnAnyPort) {
  const std::string hello = BytesOf({.role = rpc::Role::kClient});
  const std::string request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nX-Slow: " + std::string(1000, 'a');
  struct Loris {
    uint16_t port;
    const std::string& text;
    UniqueFd fd;
    size_t sent = 0;
    bool closed = false;
  };
  Loris all[] = {{cluster_->master_port(), hello, {}},
                 {cluster_->worker_port(0), hello, {}},
                 {cluster_->master_http_port(), request, {}},
                 {cluster_->worker_http_port(0), request, {}}};
  for (Loris& loris : all) loris.fd = Connect(loris.port);
  const Instant begin = Now();
  size_t open = std::size(all);
  // The head of an HTTP request has 10 s (http_server.cc).
  while (open > 0 && Now() - begin < Seconds(10) + kClosed) {
    for (Loris& loris : all) {
      if (loris.closed) continue;
      (void)::send(loris.fd.get(), loris.text.data() + loris.sent++ % loris.text.size(), 1, MSG_NOSIGNAL);
      char byte;
      const ssize_t got = ::recv(loris.fd.get(), &byte, 1, MSG_DONTWAIT);
      if (got == 0 || (got < 0 && errno != EAGAIN)) {
        loris.closed = true;
        --open;
        const bool http = &loris.text == &request;
        if (!http) {
          EXPECT_LT(Now() - begin, kClosed) << "port " << loris.port;
        }
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  for (const Loris& loris : all) EXPECT_TRUE(loris.closed) << "port " << loris.port;
  ExpectWorks("slow");
}

}  // namespace
}  // namespace mr::test
