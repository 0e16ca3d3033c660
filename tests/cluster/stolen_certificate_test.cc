// A worker's certificate and key in the hands of an attacker: what they are good for, at the master's port.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "common/base/digest.h"
#include "common/base/ids.h"
#include "common/io/clock.h"
#include "common/rpc/certified.h"
#include "common/rpc/connection.h"
#include "common/rpc/kj_status.h"
#include "common/rpc/kj_thread.h"
#include "common/rpc/server.h"
#include "common/rpc/tls_credentials.h"
#include "common/rpc/wait_for_loop.h"
#include "common/secure/cluster_files.h"
#include "schema/client.capnp.h"
#include "schema/control.capnp.h"
#include "schema/data.capnp.h"
#include "schema/join.capnp.h"
#include "tests/support/cluster.h"

namespace mr::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class NoData final : public rpc::DataServer::Server {};

// One cluster of two workers for all tests. The thief has the certificate of the first.
class StolenCertificateTest : public ::testing::Test {
 protected:
  ~StolenCertificateTest() noexcept override {}  // that of a KJ loop may throw
  static void SetUpTestSuite() {
    files_ = new TempDirectory();
    ::setenv("XDG_STATE_HOME", Path("state").c_str(), 1);
    cluster_ = new Cluster({.workers = 2,
                            .master_flags = {"--bind", "0.0.0.0", "--advertise", "127.0.0.1"},
                            .flags_of = {{"--join", Path("w0.join")}, {"--join", Path("w1.join")}}});
    ASSERT_EQ(RunMrctl({"cluster", "init", "--data", cluster_->master_data(), "--subject", "root"}).exit, 0);
    ASSERT_TRUE(cluster_->StartMaster().ok()) << cluster_->Logs();
    for (const int worker : {0, 1}) {
      ASSERT_EQ(RunMrctl({"token", "create", "--data", cluster_->master_data(), "--join",
                          Path("w" + std::to_string(worker) + ".join"), "--address", cluster_->master_address()})
                    .exit,
                0);
      ASSERT_TRUE(cluster_->StartWorker(worker).ok()) << cluster_->Logs();
    }
    ASSERT_TRUE(cluster_->WaitForWorkers(2).ok()) << cluster_->Logs();
    std::ofstream(Path("in")) << "a b\nb c\n";
    const RunResult put = cluster_->Mrctl({"fs", "put", Path("in"), "/in"});
    ASSERT_EQ(put.exit, 0) << put.err;
    auto stolen = rpc::NodeIdentity::Load(secure::CredentialsPath(cluster_->worker_data(0)), nullptr);
    ASSERT_TRUE(stolen.ok()) << stolen.status().ToString();
    stolen_ = new std::shared_ptr<rpc::NodeIdentity>(*std::move(stolen));
  }
  static void TearDownTestSuite() {
    delete stolen_;
    delete cluster_;
    delete files_;
    stolen_ = nullptr;
    cluster_ = nullptr;
    files_ = nullptr;
  }
  static std::string Path(const std::string& name) { return *files_ / name; }
  static std::string NameOf(int worker) {
    std::string name = *ReadFile(cluster_->worker_data(worker) + "/worker_id");
    while (!name.empty() && name.back() == '\n') name.pop_back();
    return name;
  }

  // Makes one call to the master with the stolen certificate. Returns its refusal, as an exception or as an outcome.
  template <class Interface>
  Status Call(rpc::Role role, const std::function<kj::Promise<Status>(typename Interface::Client)>& call) {
    return rpc::WaitForLoop<Status>(loop_, [&, role] {
      return rpc::RpcConnection::Connect(loop_.io(), cluster_->master_address(), {.role = role}, Seconds(5),
                                         std::make_shared<rpc::NodeCredentialsSource>(*stolen_))
          .then([&call](Result<kj::Own<rpc::RpcConnection>> made) -> kj::Promise<Status> {
            if (!made.ok()) return Status(made.status());
            auto connection = *std::move(made);
            auto answer = kj::evalNow([&] { return call(connection->Bootstrap<Interface>()); });
            return answer.attach(kj::mv(connection));
          })
          .then([](Status status) { return status; }, [](kj::Exception&& e) { return rpc::FromException(e); });
    });
  }
  template <class Request>
  static kj::Promise<Status> Outcome(Request request) {
    return request.send().then([](auto&& answer) { return rpc::FromOutcome(answer.getOutcome()); });
  }

  template <class Ready>
  static bool WaitFor(Ready&& ready, Duration limit = Seconds(60)) {
    const Instant end = Now() + limit;
    while (!ready()) {
      if (Now() >= end) return false;
      usleep(50'000);
    }
    return true;
  }
  // Creates a file of the block store with the stolen certificate.
  Status Create(const std::string& path) {
    return Call<rpc::MasterForClient>(rpc::Role::kClient, [&](rpc::MasterForClient::Client master) {
      auto request = master.filesRequest().send().getFiles().createRequest();
      request.setPath(path.c_str());
      return Outcome(kj::mv(request));
    });
  }

  static TempDirectory* files_;
  static Cluster* cluster_;
  static std::shared_ptr<rpc::NodeIdentity>* stolen_;
  rpc::KjThread loop_{"thief"};
};
TempDirectory* StolenCertificateTest::files_ = nullptr;
Cluster* StolenCertificateTest::cluster_ = nullptr;
std::shared_ptr<rpc::NodeIdentity>* StolenCertificateTest::stolen_ = nullptr;

TEST_F(StolenCertificateTest, BeatsForItsOwnWorkerOnly) {
  // Each data server sends its incarnation to all who connect.
  const auto incarnation_of = [&](int worker) {
    Incarnation incarnation = 0;
    const Status status = rpc::WaitForLoop<Status>(loop_, [&] {
      return rpc::RpcConnection::Connect(loop_.io(), "127.0.0.1:" + std::to_string(cluster_->worker_port(worker)),
                                         {.role = rpc::Role::kData}, Seconds(5),
                                         std::make_shared<rpc::NodeCredentialsSource>(*stolen_))
          .then([&](Result<kj::Own<rpc::RpcConnection>> made) -> Status {
            if (!made.ok()) return made.status();
            incarnation = (*made)->peer().incarnation;
            return Status::Ok();
          });
    });
    EXPECT_TRUE(status.ok()) << status.ToString();
    return incarnation;
  };
  const auto known = [&](int worker) {
    bool answer = false;
    const Incarnation incarnation = incarnation_of(worker);
    const Status status = Call<rpc::Heartbeats>(rpc::Role::kHeartbeat, [&](rpc::Heartbeats::Client beats) {
      auto request = beats.beatRequest();
      auto ref = request.initWorker();
      ref.setId(static_cast<uint32_t>(worker + 1));
      ref.setIncarnation(incarnation);
      return request.send().then([&answer](auto&& reply) {
        answer = reply.getKnown();
        return Status::Ok();
      });
    });
    EXPECT_TRUE(status.ok()) << status.ToString();
    return answer;
  };
  EXPECT_TRUE(known(0)) << "the certificate's own worker is alive";
  EXPECT_FALSE(known(1));
}

TEST_F(StolenCertificateTest, DoesNotPoseAsTheMaster) {
  kj::Own<rpc::RpcServer> server;
  size_t served = 0;
  const auto port = rpc::WaitForLoop<Result<uint16_t>>(loop_, [&] {
    server = kj::heap<rpc::RpcServer>(
        loop_.io(), rpc::Hello{.role = rpc::Role::kMaster, .cluster_id = (*stolen_)->cluster_id()},
        [&served](const rpc::Hello&, const rpc::PeerInfo&) -> Result<capnp::Capability::Client> {
          ++served;
          return capnp::Capability::Client(kj::heap<NoData>());
        },
        std::make_shared<rpc::CertifiedAuthenticator>(*stolen_));
    return server->Listen("127.0.0.1", 0);
  });
  ASSERT_TRUE(port.ok()) << port.status().ToString();
  const RunResult run = RunMrctl({"--master", "127.0.0.1:" + std::to_string(*port), "--timeout", "10s", "jobs"});
  EXPECT_EQ(run.exit, 6) << run.out << run.err;
  loop_.Run([&] { server = nullptr; });
  EXPECT_EQ(served, 0u) << "the client's token was never sent";
  // The ports of real workers are no masters, either.
  for (const int worker : {0, 1}) {
    const RunResult other = RunMrctl(
        {"--master", "127.0.0.1:" + std::to_string(cluster_->worker_port(worker)), "--timeout", "10s", "jobs"});
    EXPECT_EQ(other.exit, 6) << other.out << other.err;
  }
}

TEST_F(StolenCertificateTest, RegistersUnderNoOtherName) {
  class NoCommands final : public rpc::Worker::Server {};
  for (const std::string& name : {NameOf(1), std::string("new"), std::string("")}) {
    const Status status = Call<rpc::MasterForWorker>(rpc::Role::kWorker, [&](rpc::MasterForWorker::Client master) {
      auto request = master.registerRequest();
      auto info = request.initInfo();
      info.setName(name.c_str());
      info.setIncarnation(77);
      info.setAddress("127.0.0.1:9");
      info.setSlots(8);
      request.setWorker(kj::heap<NoCommands>());
      return request.send().then([](auto&& answer) { return rpc::FromOutcome(answer.getResult().getOutcome()); });
    });
    EXPECT_FALSE(status.ok()) << "'" << name << "'";
  }
  const RunResult workers = cluster_->Mrctl({"workers"});
  EXPECT_THAT(workers.out, Not(HasSubstr("127.0.0.1:9 ")));
  EXPECT_THAT(workers.out, Not(HasSubstr("lost")));
}

TEST_F(StolenCertificateTest, ReportsNothingInTheNameOfAnotherWorker) {
  // Neither in a session without a registration, nor with the number of the other worker.
  for (const uint32_t id : {1u, 2u}) {
    const auto ref = [id](rpc::WorkerRef::Builder out) {
      out.setId(id);
      out.setIncarnation(1);
    };
    const auto refused = [&](const char* what,
                             const std::function<kj::Promise<void>(rpc::MasterForWorker::Client)>& call) {
      const Status status = Call<rpc::MasterForWorker>(rpc::Role::kWorker, [&](rpc::MasterForWorker::Client master) {
        return call(master).then([] { return Status::Ok(); });
      });
      EXPECT_FALSE(status.ok()) << what << " of worker " << id;
    };
    refused("a finished attempt", [&](rpc::MasterForWorker::Client master) {
      auto request = master.reportRequest();
      ref(request.initWorker());
      request.initReports(1)[0].initFinished();
      return request.send().ignoreResult();
    });
    refused("a block that it claims", [&](rpc::MasterForWorker::Client master) {
      auto request = master.blockReceivedRequest();
      ref(request.initWorker());
      request.initBlocks(1)[0].setId(1);
      return request.send().ignoreResult();
    });
    refused("a block that it blames", [&](rpc::MasterForWorker::Client master) {
      auto request = master.blockSuspectRequest();
      ref(request.initWorker());
      request.initBlocks(1)[0].setId(1);
      return request.send().ignoreResult();
    });
    refused("a goodbye", [&](rpc::MasterForWorker::Client master) {
      auto request = master.leavingRequest();
      ref(request.initWorker());
      return request.send().ignoreResult();
    });
    refused("a failed disk", [&](rpc::MasterForWorker::Client master) {
      auto request = master.diskFailedRequest();
      ref(request.initWorker());
      request.setWhy("smoke");
      return request.send().ignoreResult();
    });
    refused("a log", [&](rpc::MasterForWorker::Client master) {
      auto request = master.keepLogRequest();
      ref(request.initWorker());
      return request.send().ignoreResult();
    });
  }
  const RunResult in = cluster_->Mrctl({"fs", "cat", "/in"});
  EXPECT_EQ(in.out, "a b\nb c\n") << in.err;
  EXPECT_TRUE(cluster_->WaitForWorkers(2).ok());
}

TEST_F(StolenCertificateTest, MakesNoCallOfPeople) {
  const auto refused = [&](const char* what,
                           const std::function<kj::Promise<Status>(rpc::MasterForClient::Client)>& call) {
    const Status status = Call<rpc::MasterForClient>(rpc::Role::kClient, call);
    EXPECT_EQ(status.code(), Code::kNotAllowed) << what << ": " << status.ToString();
  };
  refused("submit", [](rpc::MasterForClient::Client master) { return Outcome(master.submitRequest()); });
  refused("kill", [](rpc::MasterForClient::Client master) { return Outcome(master.killRequest()); });
  refused("drain", [](rpc::MasterForClient::Client master) { return Outcome(master.drainRequest()); });
  refused("library", [](rpc::MasterForClient::Client master) { return Outcome(master.putLibraryRequest()); });
  refused("jobs", [](rpc::MasterForClient::Client master) {
    return master.jobsRequest().send().then([](auto&&) { return Status::Ok(); });
  });
  refused("queues", [](rpc::MasterForClient::Client master) { return Outcome(master.setQueueRequest()); });
}

TEST_F(StolenCertificateTest, SignsNoCertificateOfAnotherWorker) {
  const auto key = secure::PrivateKey::Make(secure::KeyKind::kNode);
  ASSERT_TRUE(key.ok());
  const std::string request_pem = *secure::MakeRequest(*key);
  for (const std::string& name : {NameOf(1), std::string("new"), std::string("../credentials/ca")}) {
    const Status status = Call<rpc::Join>(rpc::Role::kJoin, [&](rpc::Join::Client join) {
      auto request = join.signRequest();
      request.setName(name.c_str());
      request.setRequest(request_pem.c_str());
      return Outcome(kj::mv(request));
    });
    EXPECT_FALSE(status.ok()) << name;
  }
}

TEST_F(StolenCertificateTest, WritesInAttemptsOfItsOwnWorkerOnly) {
  const RunResult job = cluster_->Mrctl({"submit", "wordcount", "--input", "/in", "--output", "/out"});
  ASSERT_EQ(job.exit, 0) << job.err << "\nattempts write with the certificates of their workers\n" << cluster_->Logs();
  EXPECT_EQ(Create("/.staging/job_1_0002/attempt_1_0002_0_m_000000_1/part").code(), Code::kNotAllowed)
      << "nobody was given it";
  const RunResult submitted = cluster_->Mrctl(
      {"submit", "--detach", "sleep", "--ms", "600000", "--tasks", "4", "--output", "/slept", "-o", "json"});
  ASSERT_EQ(submitted.exit, 0) << submitted.err;
  std::map<std::string, std::string> running;  // by worker, one each
  EXPECT_TRUE(WaitFor([&] {
    const auto shown = nlohmann::json::parse(cluster_->Mrctl({"job", "attempts", "job_1_0002", "-o", "json"}).out);
    for (const auto& attempt : shown["attempts"]) {
      if (attempt["state"] == "running") running[attempt["worker"]] = attempt["id"];
    }
    return running.size() == 2;
  }));
  const auto in = [&](const std::string& worker) { return "/.staging/job_1_0002/" + running[worker] + "/stolen"; };
  EXPECT_TRUE(Create(in("w1")).ok()) << "what the certificate is for: " << Create(in("w1")).ToString();
  EXPECT_EQ(Create(in("w2")).code(), Code::kNotAllowed);
  EXPECT_EQ(cluster_->Mrctl({"kill", "job_1_0002"}).exit, 0);
  EXPECT_TRUE(WaitFor([&] { return Create(in("w1")).code() == Code::kNotAllowed; })) << "the attempt has ended";
}

// The last test: the thief takes the place of its worker.
TEST_F(StolenCertificateTest, CostsNoOtherWorkerItsReplicaByAClaim) {
  cluster_->KillWorker(0);
  ASSERT_TRUE(cluster_->WaitForWorkers(1).ok());
  const std::string content = "the only replica\n";
  std::ofstream(Path("one")) << content;
  const RunResult put = cluster_->Mrctl({"fs", "put", "--replication", "1", Path("one"), "/one"});
  ASSERT_EQ(put.exit, 0) << put.err;
  std::string file;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(cluster_->worker_data(1))) {
    if (entry.path().extension() == ".blk" && *ReadFile(entry.path()) == content) file = entry.path();
  }
  ASSERT_FALSE(file.empty());

  // Commands of the master: it has decided about the claim when the first arrives.
  class Commands final : public rpc::Worker::Server {
   public:
    explicit Commands(kj::Own<kj::PromiseFulfiller<void>> arrived) : arrived_(kj::mv(arrived)) {}
    kj::Promise<void> apply(ApplyContext) override {
      arrived_->fulfill();
      return kj::READY_NOW;
    }

   private:
    kj::Own<kj::PromiseFulfiller<void>> arrived_;
  };
  const auto claim = [&](rpc::MasterForWorker::Client master) {
    auto arrived = kj::newPromiseAndFulfiller<void>();
    auto request = master.registerRequest();
    auto info = request.initInfo();
    info.setName(NameOf(0).c_str());
    info.setIncarnation(77);
    info.setAddress("127.0.0.1:9");
    info.setSlots(1);
    request.setWorker(kj::heap<Commands>(kj::mv(arrived.fulfiller)));
    return request.send().then([&, master, decided = kj::mv(arrived.promise)](auto&& answer) mutable {
      const Status registered = rpc::FromOutcome(answer.getResult().getOutcome());
      if (!registered.ok()) return kj::Promise<Status>(registered);
      auto report = master.blockReceivedRequest();
      auto ref = report.initWorker();
      ref.setId(answer.getResult().getWorkerId());
      ref.setIncarnation(77);
      auto block = report.initBlocks(1)[0];
      block.setId(std::stoull(std::filesystem::path(file).stem(), nullptr, 16));
      block.setGeneration(1);
      block.setLength(content.size());
      block.setDigest(Hash64(content));
      return report.send().ignoreResult().then(
          [decided = kj::mv(decided)]() mutable { return decided.then([] { return Status::Ok(); }); });
    });
  };
  Status claimed;
  EXPECT_TRUE(WaitFor([&] {
    // Refused as long as the master takes the killed worker for alive.
    claimed = Call<rpc::MasterForWorker>(rpc::Role::kWorker, [&](rpc::MasterForWorker::Client master) {
      return loop_.timer().timeoutAfter(20 * kj::SECONDS, claim(kj::mv(master)));
    });
    return claimed.code() != Code::kRejected;
  })) << claimed.ToString();
  EXPECT_TRUE(claimed.ok()) << "the master deletes what was claimed: " << claimed.ToString();
  EXPECT_TRUE(std::filesystem::exists(file));
  const RunResult read = cluster_->Mrctl({"fs", "cat", "/one"});
  EXPECT_EQ(read.out, content) << read.err;
}

}  // namespace
}  // namespace mr::test
