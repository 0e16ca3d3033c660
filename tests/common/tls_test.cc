// Both ends of TLS over a pipe, without a network.
#include "common/rpc/tls.h"

#include <gtest/gtest.h>
#include <kj/async-io.h>
#include <kj/async-unix.h>

#include "common/io/clock.h"
#include "common/secure/authority.h"
#include "common/secure/certificate.h"
#include "common/secure/names.h"

namespace mr::rpc {
namespace {

using secure::NodeKind;
constexpr uint64_t kCluster = 0x123456789abcdef0;

// OpenSSL reads the machine's clock.
secure::UnixTime Today() { return {static_cast<int64_t>(WallClockMs() / 1000)}; }

struct Cluster {
  secure::PrivateKey key = *secure::PrivateKey::Make(secure::KeyKind::kNode);
  std::string authority;
  explicit Cluster(uint64_t id = kCluster) : authority(*secure::MakeAuthority(key, id, Today())) {}

  secure::NodeCredentials Credentials(NodeKind kind, const std::string& name, secure::UnixTime now = Today()) const {
    const auto node = *secure::PrivateKey::Make(secure::KeyKind::kNode);
    secure::NodeCredentials out;
    out.certificate_pem = *secure::SignRequest(*secure::MakeRequest(node), kind, name, authority, key, now);
    out.certificate = *secure::ReadCertificate(out.certificate_pem);
    out.key_pem = node.ToPem();
    out.authority_pem = authority;
    return out;
  }
  std::shared_ptr<const Tls> Node(NodeKind kind, const std::string& name = "") const {
    return *Tls::ForNode(Credentials(kind, name));
  }
  std::shared_ptr<const Tls> Person() const { return *Tls::ForPerson(authority, kCluster); }
};

class TlsTest : public testing::Test {
 protected:
  // Both handshakes, then a byte each way: with TLS 1.3 a server refuses a client after that one is done.
  struct Outcome {
    Status client, server;
    std::string client_saw, server_saw;  // common names
    bool alert = false;                  // the client received one about its certificate
  };
  Outcome Shake(const Tls& client, const Tls& server, const std::string& name, bool node) {
    kj::EventLoop loop;
    kj::WaitScope scope(loop);
    auto pipe = kj::newTwoWayPipe();
    Outcome out;
    auto serving = server.Accept(kj::mv(pipe.ends[0]), node).then([&](Result<Encrypted> accepted) -> kj::Promise<void> {
      out.server = accepted.status();
      if (!accepted.ok()) return kj::READY_NOW;
      out.server_saw = accepted->certificate;
      auto stream = kj::mv(accepted->stream);
      auto& s = *stream;
      return s.write("v", 1).attach(kj::mv(stream));
    });
    auto using_it =
        client.Connect(kj::mv(pipe.ends[1]), name).then([&](Result<Encrypted> wrapped) -> kj::Promise<void> {
          out.client = wrapped.status();
          if (!wrapped.ok()) return kj::READY_NOW;
          out.client_saw = wrapped->certificate;
          auto stream = kj::mv(wrapped->stream);
          auto& s = *stream;
          auto byte = kj::heap<char>();
          auto& b = *byte;
          return s.read(&b, 1).attach(kj::mv(stream), kj::mv(byte)).catch_([&](kj::Exception&& e) {
            out.client = Unavailable(e.getDescription().cStr());
            out.alert = IsCertificateAlert(e);
          });
        });
    auto both = kj::heapArrayBuilder<kj::Promise<void>>(2);
    both.add(kj::mv(serving));
    both.add(kj::mv(using_it));
    kj::joinPromises(both.finish()).wait(scope);
    return out;
  }
  const Cluster cluster;
  const std::string master_name = secure::MasterName(kCluster);
};

TEST_F(TlsTest, AWorkerAndTheMasterKnowEachOther) {
  const auto out = Shake(*cluster.Node(NodeKind::kWorker, "w1"), *cluster.Node(NodeKind::kMaster), master_name, true);
  EXPECT_TRUE(out.client.ok()) << out.client.message();
  EXPECT_TRUE(out.server.ok()) << out.server.message();
  EXPECT_EQ(out.client_saw, master_name);
  EXPECT_EQ(out.server_saw, "worker:w1");
}

TEST_F(TlsTest, APersonProvesNothingByTls) {
  const auto out = Shake(*cluster.Person(), *cluster.Node(NodeKind::kMaster), master_name, false);
  EXPECT_TRUE(out.client.ok()) << out.client.message();
  EXPECT_TRUE(out.server.ok()) << out.server.message();
  EXPECT_EQ(out.server_saw, "");
}

TEST_F(TlsTest, WhoPromisesACertificateAndHasNoneIsRefused) {
  const auto out = Shake(*cluster.Person(), *cluster.Node(NodeKind::kMaster), master_name, true);
  EXPECT_EQ(out.server.code(), Code::kNotAllowed);
  EXPECT_FALSE(out.client.ok());
  EXPECT_TRUE(out.alert) << out.client.message();
}

TEST_F(TlsTest, ACertificateOfAnotherClusterIsRefusedAtBothEnds) {
  const Cluster other;  // even with the same id
  const auto worker = Shake(*other.Node(NodeKind::kWorker, "w1"), *cluster.Node(NodeKind::kMaster), master_name, true);
  EXPECT_EQ(worker.client.code(), Code::kNotAllowed);
  EXPECT_FALSE(worker.server.ok());
  // A client that trusts our authority, and has another's certificate.
  auto mixed = other.Credentials(NodeKind::kWorker, "w1");
  mixed.authority_pem = cluster.authority;
  const auto tls = Tls::ForNode(mixed);
  ASSERT_TRUE(tls.ok());
  const auto out = Shake(**tls, *cluster.Node(NodeKind::kMaster), master_name, true);
  EXPECT_EQ(out.server.code(), Code::kNotAllowed);
  EXPECT_TRUE(out.alert) << out.client.message();
}

TEST_F(TlsTest, AWorkerNeverPassesAsTheMaster) {
  for (const std::string name : {"w1", "master", master_name.c_str()}) {
    const auto out = Shake(*cluster.Person(), *cluster.Node(NodeKind::kWorker, name), master_name, false);
    EXPECT_EQ(out.client.code(), Code::kNotAllowed) << name;
    EXPECT_NE(out.client.message().find("mismatch"), std::string::npos) << out.client.message();
  }
}

TEST_F(TlsTest, AWorkerIsFoundByItsNameAndAsAnyWorker) {
  const auto worker = cluster.Node(NodeKind::kWorker, "w1");
  EXPECT_TRUE(Shake(*cluster.Person(), *worker, secure::WorkerSubject("w1"), false).client.ok());
  EXPECT_EQ(Shake(*cluster.Person(), *worker, secure::AnyWorkerName(kCluster), false).client_saw, "worker:w1");
  EXPECT_FALSE(Shake(*cluster.Person(), *worker, secure::WorkerSubject("w2"), false).client.ok());
  EXPECT_FALSE(Shake(*cluster.Person(), *worker, secure::AnyWorkerName(7), false).client.ok());
  // The master's data come from the master only.
  const auto master = cluster.Node(NodeKind::kMaster);
  EXPECT_FALSE(Shake(*cluster.Person(), *master, secure::AnyWorkerName(kCluster), false).client.ok());
}

TEST_F(TlsTest, AnExpiredCertificateIsRefusedAtBothEnds) {
  const auto old = Today() - secure::kNodeLife - Seconds(1);
  const auto expired = *Tls::ForNode(cluster.Credentials(NodeKind::kWorker, "w1", old));
  EXPECT_FALSE(Shake(*expired, *cluster.Node(NodeKind::kMaster), master_name, true).server.ok());
  const auto out = Shake(*cluster.Person(), *expired, secure::WorkerSubject("w1"), false);
  EXPECT_EQ(out.client.code(), Code::kNotAllowed);
  EXPECT_NE(out.client.message().find("expired"), std::string::npos) << out.client.message();
}

// A cluster in the middle of a rotation, and what nodes and people have of it.
struct RotatedCluster {
  Cluster before, after;
  secure::Authority authority;
  explicit RotatedCluster(const Cluster& old) : before(old), after(old) {
    after.key = *secure::PrivateKey::Make(secure::KeyKind::kNode);
    authority = *secure::Rotated({before.authority, "", ""}, before.key, after.key, Today());
    after.authority = authority.current;
  }

  // A node whose certificate is of one authority, and which trusts one, or both (`rotating`).
  enum class Trusts { kOld, kNew, kBoth };
  std::shared_ptr<const Tls> Node(const Cluster& signer, Trusts trusts, NodeKind kind, const std::string& name) const {
    auto own = signer.Credentials(kind, name);
    own.previous = &signer == &before;
    own.authority_pem = trusts == Trusts::kOld   ? before.authority
                        : trusts == Trusts::kNew ? after.authority
                                                 : secure::AuthorityText(authority);
    return *Tls::ForNode(own);
  }
};

TEST_F(TlsTest, DuringARotationOldAndNewNodesAndPeopleMeet) {
  using Trusts = RotatedCluster::Trusts;
  const RotatedCluster rotated(cluster);
  const auto master = rotated.Node(rotated.after, Trusts::kBoth, NodeKind::kMaster, "");
  const struct {
    const char* who;
    std::shared_ptr<const Tls> node;
  } workers[] = {
      {"old, not renewed", rotated.Node(rotated.before, Trusts::kOld, NodeKind::kWorker, "w1")},
      {"old, trusts both", rotated.Node(rotated.before, Trusts::kBoth, NodeKind::kWorker, "w1")},
      {"renewed", rotated.Node(rotated.after, Trusts::kBoth, NodeKind::kWorker, "w1")},
  };
  for (const auto& client : workers) {
    const auto out = Shake(*client.node, *master, master_name, true);
    EXPECT_TRUE(out.client.ok() && out.server.ok())
        << client.who << ": " << out.client.message() << out.server.message();
    EXPECT_EQ(out.server_saw, "worker:w1") << client.who;
    // Workers among themselves.
    for (const auto& server : workers) {
      const auto pair = Shake(*client.node, *server.node, secure::AnyWorkerName(kCluster), true);
      EXPECT_TRUE(pair.client.ok() && pair.server.ok())
          << client.who << " to " << server.who << ": " << pair.client.message() << pair.server.message();
    }
  }
  // People with files of before and after.
  for (const auto& [authority, who] : {std::pair(rotated.before.authority, "old"), {rotated.after.authority, "new"}}) {
    const auto person = *Tls::ForPerson(authority, kCluster);
    EXPECT_TRUE(Shake(*person, *master, master_name, false).client.ok()) << who;
    EXPECT_TRUE(Shake(*person, *workers[2].node, secure::AnyWorkerName(kCluster), false).client.ok()) << who;
  }
}

TEST_F(TlsTest, AfterARotationTheOldAuthorityIsWorthNothing) {
  using Trusts = RotatedCluster::Trusts;
  const RotatedCluster rotated(cluster);
  const auto master = rotated.Node(rotated.after, Trusts::kNew, NodeKind::kMaster, "");
  const auto renewed = rotated.Node(rotated.after, Trusts::kNew, NodeKind::kWorker, "w1");
  EXPECT_TRUE(Shake(*renewed, *master, master_name, true).server.ok());
  const auto slept = rotated.Node(rotated.before, Trusts::kOld, NodeKind::kWorker, "w2");
  EXPECT_EQ(Shake(*slept, *master, master_name, true).client.code(), Code::kNotAllowed);
  const auto half = rotated.Node(rotated.before, Trusts::kBoth, NodeKind::kWorker, "w2");
  EXPECT_EQ(Shake(*half, *master, master_name, true).server.code(), Code::kNotAllowed);
  const auto person = *Tls::ForPerson(rotated.before.authority, kCluster);
  EXPECT_EQ(Shake(*person, *master, master_name, false).client.code(), Code::kNotAllowed);
}

TEST_F(TlsTest, PlainBytesAndASilentEndFailAtTheServer) {
  kj::EventLoop loop;
  kj::WaitScope scope(loop);
  const auto master = cluster.Node(NodeKind::kMaster);
  for (const std::string bytes : {"GET / HTTP/1.1\r\n\r\n", "PACELINE", ""}) {
    auto pipe = kj::newTwoWayPipe();
    auto accepted = master->Accept(kj::mv(pipe.ends[0]), false);
    if (!bytes.empty()) {
      pipe.ends[1]->write(bytes.data(), bytes.size()).wait(scope);
    }
    pipe.ends[1]->shutdownWrite();
    pipe.ends[1] = nullptr;
    EXPECT_EQ(accepted.wait(scope).status().code(), Code::kNotAllowed);
  }
}

TEST_F(TlsTest, UnusableCertificatesAreErrorsAndNoExceptions) {
  EXPECT_FALSE(Tls::ForPerson("no certificate", kCluster).ok());
  auto bad = cluster.Credentials(NodeKind::kWorker, "w1");
  bad.key_pem = Secret<std::string>("no key");
  EXPECT_EQ(Tls::ForNode(bad).status().code(), Code::kInvalidArgument);
  EXPECT_FALSE(Tls::ForPerson(cluster.Credentials(NodeKind::kWorker, "w1").certificate_pem, kCluster).ok());
}

}  // namespace
}  // namespace mr::rpc
