// Tests who gets in at the port of a daemon with certificates, and which daemon a client believes.
#include "common/rpc/certified.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>
#include <mutex>
#include <thread>

#include "common/io/clock.h"
#include "common/io/files.h"
#include "common/rpc/connection.h"
#include "common/rpc/kj_thread.h"
#include "common/rpc/server.h"
#include "common/rpc/tls_credentials.h"
#include "common/rpc/wait_for_loop.h"
#include "common/secure/names.h"
#include "common/secure/private_file.h"
#include "common/secure/rotation.h"
#include "schema/data.capnp.h"
#include "tests/support/temp_directory.h"

namespace mr::rpc {
namespace {

using secure::TokenKind;
using ::testing::HasSubstr;
constexpr uint64_t kCluster = 0x123456789abcdef0;

class NoCalls final : public DataServer::Server {};

secure::UnixTime Today() { return {static_cast<int64_t>(WallClockMs() / 1000)}; }

// The files of a cluster, and those that its administrator hands out.
struct ClusterFiles {
  test::TempDirectory root;
  const std::string path = root / "credentials";
  explicit ClusterFiles(uint64_t id = kCluster) { EXPECT_TRUE(secure::MakeClusterFiles(path, id, Today()).ok()); }

  std::shared_ptr<NodeIdentity> Master() const { return NodeIdentity::Load(path, nullptr).value(); }
  std::shared_ptr<NodeIdentity> Worker(const std::string& name) const {
    const auto key = *secure::PrivateKey::Make(secure::KeyKind::kNode);
    secure::NodeCredentials own = *secure::SignWorker(path, name, *secure::MakeRequest(key), Today());
    own.key_pem = key.ToPem();
    EXPECT_TRUE(secure::KeepWorker(root / name, own).ok());
    return NodeIdentity::Load(root / name, nullptr).value();
  }
  // Writes an access file. Returns its path. *id: of the token.
  std::string Access(const secure::NewToken& wanted, std::string* id = nullptr, secure::UnixTime now = Today()) const {
    const auto issued = secure::IssueToken(path, wanted, now);
    EXPECT_TRUE(issued.ok()) << issued.status().ToString();
    if (id != nullptr) *id = issued->token.id;
    secure::AccessFile access;
    access.kind = wanted.kind;
    access.master = "127.0.0.1:1";
    access.cluster_id = issued->token.cluster_id;
    access.token = issued->text.Copy();
    access.authority = issued->authority_pem;
    const std::string file = root / issued->token.id;
    EXPECT_TRUE(secure::WritePrivateFile(file, secure::AccessText(access)).ok());
    return file;
  }
};

std::shared_ptr<const Credentials> TokenAt(const std::string& file) {
  return std::make_shared<TokenCredentials>(TokenCredentials::Places{file, ""},
                                            std::make_shared<FileCredentials>("/nowhere"));
}
std::shared_ptr<const Credentials> NodeOf(std::shared_ptr<NodeIdentity> node) {
  return std::make_shared<NodeCredentialsSource>(std::move(node));
}

// One server on its own loop.
struct CertifiedPort {
  KjThread loop{"test"};
  kj::Own<RpcServer> server;
  uint16_t number = 0;
  std::mutex mutex;
  std::vector<Identity> seen;  // by the factory

  CertifiedPort(std::shared_ptr<Authenticator> authenticator, uint64_t cluster_id, Role role = Role::kMaster) {
    auto bound = WaitForLoop<Result<uint16_t>>(loop, [&, authenticator] {
      server = kj::heap<RpcServer>(
          loop.io(), Hello{.role = role, .cluster_id = cluster_id},
          [this](const Hello&, const PeerInfo& peer) -> Result<capnp::Capability::Client> {
            const std::lock_guard lock(mutex);
            seen.push_back(peer.identity);
            return capnp::Capability::Client(kj::heap<NoCalls>());
          },
          authenticator);
      return server->Listen("127.0.0.1", 0);
    });
    EXPECT_TRUE(bound.ok()) << bound.status().ToString();
    number = bound.ok() ? *bound : 0;
  }
  explicit CertifiedPort(const std::shared_ptr<NodeIdentity>& node, Role role = Role::kMaster)
      : CertifiedPort(std::make_shared<CertifiedAuthenticator>(node), node->cluster_id(), role) {}
  ~CertifiedPort() {
    loop.Run([this] { server = nullptr; });
  }

  ServerCounts Counts() {
    return loop.Run([this] { return server->counts(); });
  }
  bool Until(const std::function<bool(const ServerCounts&)>& met) {
    const Instant end = Now() + Seconds(30);
    while (!met(Counts())) {
      if (Now() >= end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
  }
  // Connects. kept: keeps the connection open, if it is not null; give it back on the loop.
  Status Connect(std::shared_ptr<const Credentials> credentials, Role role = Role::kClient,
                 kj::Own<RpcConnection>* kept = nullptr) {
    return WaitForLoop<Status>(loop, [&, role, credentials, kept] {
      return RpcConnection::Connect(loop.io(), "127.0.0.1:" + std::to_string(number), Hello{.role = role}, Seconds(5),
                                    credentials)
          .then([kept](Result<kj::Own<RpcConnection>> made) {
            if (made.ok() && kept != nullptr) *kept = *std::move(made);
            return made.status();
          });
    });
  }
};

TEST(CertifiedTest, AWorkersCertificateProvesTheWorkerAndNoPerson) {
  const ClusterFiles cluster;
  CertifiedPort port(cluster.Master());
  const auto worker = NodeOf(cluster.Worker("w1"));
  for (const Role role : {Role::kWorker, Role::kHeartbeat, Role::kClient, Role::kJoin}) {
    const Status status = port.Connect(worker, role);
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
  EXPECT_TRUE(port.Connect(worker, Role::kProbe).ok());
  ASSERT_EQ(port.seen.size(), 4u);
  EXPECT_EQ(port.seen[0].subject, "worker:w1");
  EXPECT_EQ(port.seen[0].roles, kWorker);
  EXPECT_EQ(port.seen[0].proof, Proof::kCertificate);
}

TEST(CertifiedTest, ATokenProvesThePersonWithItsRoles) {
  const ClusterFiles cluster;
  CertifiedPort port(cluster.Master());
  const auto anna = TokenAt(cluster.Access({.subject = "anna", .roles = kViewer | kSubmitter}));
  const Status status = port.Connect(anna);
  ASSERT_TRUE(status.ok()) << status.ToString();
  ASSERT_EQ(port.seen.size(), 1u);
  EXPECT_EQ(port.seen[0].subject, "anna");
  EXPECT_EQ(port.seen[0].roles, kViewer | kSubmitter);
  EXPECT_EQ(port.seen[0].proof, Proof::kToken);
  EXPECT_EQ(port.Connect(anna, Role::kWorker).code(), Code::kNotAllowed);
  EXPECT_EQ(port.Connect(anna, Role::kHeartbeat).code(), Code::kNotAllowed);
}

TEST(CertifiedTest, ATokenIsFoundByTheClusterOfTheDaemon) {
  const ClusterFiles cluster, other(7);
  CertifiedPort port(cluster.Master());
  test::TempDirectory tokens;
  const auto place = [&](const ClusterFiles& of, uint64_t id) {
    const std::string file = of.Access({.subject = "anna", .roles = kViewer});
    EXPECT_TRUE(secure::WritePrivateFile(tokens / secure::ClusterText(id), *secure::ReadPrivateFile(file)).ok());
  };
  const auto anna = [&] {
    return std::make_shared<TokenCredentials>(TokenCredentials::Places{"", tokens.path()},
                                              std::make_shared<FileCredentials>("/nowhere"));
  };
  place(other, 7);
  const Status none = port.Connect(anna());
  EXPECT_EQ(none.code(), Code::kNotAllowed);
  EXPECT_THAT(none.message(), HasSubstr(tokens / secure::ClusterText(kCluster)));
  place(cluster, kCluster);
  EXPECT_TRUE(port.Connect(anna()).ok());
}

TEST(CertifiedTest, ATokenThatWasReadBeforehandIsUsedForItsClusterOnly) {
  const ClusterFiles cluster, other(7);
  CertifiedPort port(cluster.Master()), elsewhere(other.Master());
  const std::string file = cluster.Access({.subject = "anna", .roles = kViewer});
  const auto anna = std::make_shared<TokenCredentials>(TokenCredentials::Places{file, ""},
                                                       std::make_shared<FileCredentials>("/nowhere"));
  {
    const std::jthread reading = anna->Prepare();
    EXPECT_TRUE(reading.joinable());
  }
  ASSERT_EQ(::unlink(file.c_str()), 0);
  const Status wrong = elsewhere.Connect(anna);
  EXPECT_EQ(wrong.code(), Code::kNotAllowed);
  EXPECT_THAT(wrong.message(), HasSubstr("is for the cluster " + secure::ClusterText(kCluster)));

  // The first connection uses it.
  ASSERT_TRUE(
      secure::WritePrivateFile(file, *secure::ReadPrivateFile(cluster.Access({.subject = "anna", .roles = kViewer})))
          .ok());
  const std::jthread again = anna->Prepare();
  EXPECT_TRUE(port.Connect(anna).ok());
  // Where there are several files, or none, nothing is read beforehand.
  test::TempDirectory tokens;
  TokenCredentials several(TokenCredentials::Places{"", tokens.path()}, nullptr);
  EXPECT_FALSE(several.Prepare().joinable());
  for (const uint64_t id : {1, 2}) {
    ASSERT_TRUE(secure::WritePrivateFile(tokens / secure::ClusterText(id), Secret<std::string>("text")).ok());
  }
  EXPECT_FALSE(several.Prepare().joinable());
}

TEST(CertifiedTest, PeersWithoutACredentialAreNeverDecoded) {
  const ClusterFiles cluster, other;
  CertifiedPort port(cluster.Master());
  for (const Role role : {Role::kClient, Role::kWorker, Role::kJoin, Role::kProbe}) {
    const Status plain = port.Connect(std::make_shared<FileCredentials>("/nowhere"), role);
    EXPECT_EQ(plain.code(), Code::kNotAllowed);
    EXPECT_THAT(plain.message(), HasSubstr("MR_TOKEN_FILE"));
    // Nodes of a cluster with the same id, and another authority.
    EXPECT_EQ(port.Connect(NodeOf(other.Worker("w1")), role).code(), Code::kNotAllowed);
  }
  EXPECT_EQ(port.Counts().systems, 0u);
  EXPECT_TRUE(port.seen.empty());
}

// Trusts our authority, and has the certificate of another one.
TEST(CertifiedTest, ACertificateOfAnotherAuthorityIsRefusedByTheServerToo) {
  const ClusterFiles cluster, other;
  CertifiedPort port(cluster.Master());
  (void)other.Worker("w1");
  ASSERT_TRUE(WriteFileDurably(other.root / "w1/ca.pem", *ReadFile(cluster.path + "/ca.pem")).ok());
  EXPECT_EQ(NodeIdentity::Load(other.root / "w1", nullptr).status().code(), Code::kNotAllowed);
}

TEST(CertifiedTest, NoDaemonGetsATokenWithoutProvingItsCluster) {
  const ClusterFiles cluster, thief;  // the same cluster id, and another authority
  CertifiedPort port(thief.Master());
  const Status status = port.Connect(TokenAt(cluster.Access({.subject = "anna", .roles = kViewer})));
  EXPECT_EQ(status.code(), Code::kNotAllowed);
  EXPECT_THAT(status.message(), HasSubstr("does not prove"));
  EXPECT_EQ(port.Counts().systems, 0u);
}

TEST(CertifiedTest, AStolenWorkerCertificateNeverPosesAsTheMaster) {
  const ClusterFiles cluster;
  CertifiedPort port(cluster.Worker("w1"), Role::kMaster);  // its hello says so
  const std::string token = cluster.Access({.subject = "anna", .roles = kViewer});
  EXPECT_EQ(port.Connect(TokenAt(token)).code(), Code::kNotAllowed);
  EXPECT_EQ(port.Connect(NodeOf(cluster.Worker("w2")), Role::kWorker).code(), Code::kNotAllowed);
  // A worker's data port is what it may serve, to nodes and to people with a ticket.
  EXPECT_EQ(port.Connect(TokenAt(token), Role::kData).code(), Code::kNotAllowed);
  EXPECT_TRUE(port.Connect(NodeOf(cluster.Worker("w3")), Role::kData).ok());
}

TEST(CertifiedTest, AClusterWithATokenIsNotUsedWithoutTls) {
  const ClusterFiles cluster;
  CertifiedPort plain(std::make_shared<NoAuthenticator>(), kCluster);
  const Status status = plain.Connect(TokenAt(cluster.Access({.subject = "anna", .roles = kViewer})));
  EXPECT_EQ(status.code(), Code::kNotAllowed);
  EXPECT_THAT(status.message(), HasSubstr("speaks no TLS"));
  EXPECT_EQ(plain.Connect(NodeOf(cluster.Worker("w1")), Role::kWorker).code(), Code::kNotAllowed);
}

TEST(CertifiedTest, ATokenOfAnotherClusterOrTimeSaysWhatToDo) {
  const ClusterFiles cluster, other(7);
  CertifiedPort port(cluster.Master());
  const Status elsewhere = port.Connect(TokenAt(other.Access({.subject = "anna", .roles = kViewer})));
  EXPECT_EQ(elsewhere.code(), Code::kNotAllowed);
  EXPECT_THAT(elsewhere.message(), HasSubstr("0000000000000007"));
  const auto old = Today() - Seconds(100);
  const Status expired =
      port.Connect(TokenAt(cluster.Access({.subject = "anna", .roles = kViewer, .life = Seconds(50)}, nullptr, old)));
  EXPECT_EQ(expired.code(), Code::kNotAllowed);
  EXPECT_THAT(expired.message(), HasSubstr("expired"));
  EXPECT_THAT(expired.message(), HasSubstr("mrctl token create"));
  const std::string wide = cluster.Access({.subject = "anna", .roles = kViewer});
  ASSERT_EQ(::chmod(wide.c_str(), 0644), 0);
  EXPECT_THAT(port.Connect(TokenAt(wide)).message(), HasSubstr("chmod 600"));
}

TEST(CertifiedTest, AJoinTokenIsForJoiningTheMasterOnly) {
  const ClusterFiles cluster;
  CertifiedPort port(cluster.Master());
  CertifiedPort worker(cluster.Worker("w1"));
  const auto file = cluster.Access({.kind = TokenKind::kJoin, .life = secure::kJoinLife});
  const auto join = JoinCredentials::Make(*secure::ReadAccessFile(file, TokenKind::kJoin));
  ASSERT_TRUE(join.ok());
  const Status status = port.Connect(*join, Role::kJoin);
  EXPECT_TRUE(status.ok()) << status.ToString();
  ASSERT_EQ(port.seen.size(), 1u);
  EXPECT_EQ(port.seen[0].roles, kJoiner);
  EXPECT_EQ(port.seen[0].proof, Proof::kJoin);
  for (const Role role : {Role::kClient, Role::kWorker, Role::kProbe}) {
    EXPECT_EQ(port.Connect(*join, role).code(), Code::kNotAllowed);
  }
}

TEST(CertifiedTest, ARevokedTokenEndsWithinTwoSecondsAlsoWhereItIsInUse) {
  const ClusterFiles cluster;
  CertifiedPort port(cluster.Master());
  std::string id;
  const auto anna = TokenAt(cluster.Access({.subject = "anna", .roles = kViewer}, &id));
  kj::Own<RpcConnection> kept;
  ASSERT_TRUE(port.Connect(anna, Role::kClient, &kept).ok());
  ASSERT_TRUE(port.Until([](const ServerCounts& c) { return c.systems == 1; }));
  auto log = secure::TokenLog::Open(cluster.path + "/tokens");
  ASSERT_TRUE(log->Revoked(id).ok());
  EXPECT_TRUE(port.Until([](const ServerCounts& c) { return c.revoked == 1 && c.clients == 0; }));
  const Status refused = port.Connect(anna);
  EXPECT_EQ(refused.code(), Code::kNotAllowed);
  EXPECT_THAT(refused.message(), HasSubstr("revoked"));
  port.loop.Run([&] { kept = nullptr; });
}

TEST(CertifiedTest, ADeniedWorkerIsClosedAndRefused) {
  const ClusterFiles cluster;
  CertifiedPort port(cluster.Master());
  const auto worker = NodeOf(cluster.Worker("w1"));
  kj::Own<RpcConnection> kept;
  ASSERT_TRUE(port.Connect(worker, Role::kHeartbeat, &kept).ok());
  ASSERT_TRUE(port.Until([](const ServerCounts& c) { return c.systems == 1; }));
  auto log = secure::TokenLog::Open(cluster.path + "/tokens");
  ASSERT_TRUE(log->Denied("worker:w1", true).ok());
  EXPECT_TRUE(port.Until([](const ServerCounts& c) { return c.revoked == 1 && c.workers == 0; }));
  EXPECT_THAT(port.Connect(worker, Role::kHeartbeat).message(), HasSubstr("revoked"));
  EXPECT_TRUE(port.Connect(NodeOf(cluster.Worker("w2")), Role::kHeartbeat).ok());
  port.loop.Run([&] { kept = nullptr; });
}

// Keeps the kinds of what peers present, and lets all in.
class Collector final : public Authenticator {
 public:
  explicit Collector(const std::shared_ptr<NodeIdentity>& node) : real_(node) {}
  Status Listening(const std::string& bound, bool loopback) override { return real_.Listening(bound, loopback); }
  Status CheckHello(const Hello& hello, const SocketFacts& peer) const override {
    return real_.CheckHello(hello, peer);
  }
  bool Encrypts(const Hello& hello, const SocketFacts& peer) const override { return real_.Encrypts(hello, peer); }
  kj::Promise<Result<Encrypted>> Encrypt(kj::Own<kj::AsyncIoStream> stream, const Hello& hello) override {
    return real_.Encrypt(kj::mv(stream), hello);
  }
  Result<Admitted> Authenticate(const Hello&, const Credential& credential, const SocketFacts&) override {
    const std::lock_guard lock(mutex_);
    kinds_.push_back(credential.kind);
    return Admitted{{"anna", kAllPeople, Proof::kToken}, {}, {}};
  }
  bool StillGood(const Lease&) const override { return true; }
  std::vector<CredentialKind> kinds() {
    const std::lock_guard lock(mutex_);
    return kinds_;
  }

 private:
  CertifiedAuthenticator real_;
  std::mutex mutex_;
  std::vector<CredentialKind> kinds_;
};

// A worker that was taken over would use it at the master.
TEST(CertifiedTest, NoWorkerGetsAPersonsToken) {
  const ClusterFiles cluster;
  const auto thief = std::make_shared<Collector>(cluster.Worker("w1"));
  const auto anna = TokenAt(cluster.Access({.subject = "anna", .roles = kAllPeople}));
  for (const Role said : {Role::kDataServer, Role::kMaster}) {
    CertifiedPort port(thief, kCluster, said);
    for (const Role role : {Role::kData, Role::kProbe, Role::kClient, Role::kJoin}) (void)port.Connect(anna, role);
  }
  EXPECT_THAT(thief->kinds(), testing::Each(CredentialKind::kNothing));
  EXPECT_EQ(thief->kinds().size(), 1u) << "a probe of a data server";
}

struct WorkersPort {
  static constexpr secure::UnixTime kLong{4'000'000'000};
  const std::shared_ptr<secure::GrantDoor> door = std::make_shared<secure::GrantDoor>();
  const secure::GrantKey key = *secure::GrantKey::FromBytes(std::string(secure::GrantKey::kBytes, 'k'));
  const std::shared_ptr<NodeIdentity> node;
  CertifiedPort port;

  explicit WorkersPort(const ClusterFiles& cluster)
      : node(cluster.Worker("w1")),
        port(std::make_shared<CertifiedAuthenticator>(node, door), kCluster, Role::kDataServer) {
    door->SetKey(*secure::GrantKey::FromBytes(key.Bytes().Reveal()));
  }
  static std::shared_ptr<const Credentials> With(Secret<std::string> ticket, std::shared_ptr<const Credentials> token) {
    return std::make_shared<TicketCredentials>(std::move(ticket), std::move(token));
  }
};

TEST(CertifiedTest, AWorkerLetsInPeopleByTicketsOfItsMasterOnly) {
  const ClusterFiles cluster;
  WorkersPort worker(cluster);
  const auto token = TokenAt(cluster.Access({.subject = "anna", .roles = kViewer}));
  const auto enter = [&](const secure::GrantKey& key, int64_t until) {
    return worker.port.Connect(WorkersPort::With(key.SignTicket({"t1", "anna", kViewer | kSubmitter, until}), token),
                               Role::kData);
  };
  const Status entered = enter(worker.key, WorkersPort::kLong.seconds);
  ASSERT_TRUE(entered.ok()) << entered.ToString();
  ASSERT_EQ(worker.port.seen.size(), 1u);
  EXPECT_EQ(worker.port.seen[0].subject, "anna");
  EXPECT_EQ(worker.port.seen[0].roles, kViewer | kSubmitter);
  EXPECT_EQ(worker.port.seen[0].proof, Proof::kToken);
  EXPECT_EQ(enter(worker.key, 1).code(), Code::kNotAllowed) << "it has ended";
  EXPECT_EQ(enter(*secure::GrantKey::Make(), WorkersPort::kLong.seconds).code(), Code::kNotAllowed);
  // Others cannot make a connection either: the token itself, and no credential.
  EXPECT_EQ(worker.port.Connect(token, Role::kData).code(), Code::kNotAllowed);
  EXPECT_TRUE(worker.port.Connect(token, Role::kProbe).ok()) << "whether the port works is no secret";
  EXPECT_EQ(worker.port.seen.size(), 1u);
}

TEST(CertifiedTest, AWorkerTakesTheMastersList) {
  const ClusterFiles cluster;
  WorkersPort worker(cluster);
  const auto ticket = [&] {
    return WorkersPort::With(worker.key.SignTicket({"t1", "anna", kSubmitter, WorkersPort::kLong.seconds}),
                             TokenAt(cluster.Access({.subject = "anna", .roles = kSubmitter})));
  };
  kj::Own<RpcConnection> kept;
  ASSERT_TRUE(worker.port.Connect(ticket(), Role::kData, &kept).ok());
  secure::TokenList list;
  list.revoked = {"t1"};
  worker.node->SetList(list, 1);
  EXPECT_TRUE(worker.port.Until([](const ServerCounts& c) { return c.revoked == 1 && c.data == 0; }));
  EXPECT_EQ(worker.port.Connect(ticket(), Role::kData).code(), Code::kNotAllowed);
  worker.port.loop.Run([&] { kept = nullptr; });
}

TEST(CertifiedTest, ARenewedCertificateIsUsedWithoutARestart) {
  const ClusterFiles cluster;
  const auto node = cluster.Worker("w1");
  const std::string before = node->now()->certificate.serial;
  const auto key =
      *secure::PrivateKey::FromPem(*secure::ReadPrivateFile(cluster.root / "w1/worker.key"), secure::KeyKind::kNode);
  const std::string renewed =
      secure::SignWorker(cluster.path, "w1", *secure::MakeRequest(key), Today())->certificate_pem;
  ASSERT_TRUE(WriteFileDurably(cluster.root / "w1/worker.pem", renewed).ok());
  ASSERT_TRUE(node->Refresh().ok());
  EXPECT_NE(node->now()->certificate.serial, before);
}

TEST(CertifiedTest, ARotationLetsOldAndNewInUntilItIsFinished) {
  const ClusterFiles cluster;
  const auto master = cluster.Master();
  CertifiedPort port(master);
  const std::string before = cluster.Access({.subject = "anna", .roles = kViewer});
  const auto worker = cluster.Worker("w1");
  kj::Own<RpcConnection> kept;
  ASSERT_TRUE(port.Connect(NodeOf(worker), Role::kHeartbeat, &kept).ok());
  ASSERT_TRUE(secure::BeginRotation(cluster.path, Today()).ok());
  ASSERT_TRUE(master->Refresh().ok());
  const std::string after = cluster.Access({.subject = "bert", .roles = kViewer});
  EXPECT_NE(master->now()->trust, worker->now()->trust);
  for (const std::string& file : {before, after}) {
    const Status status = port.Connect(TokenAt(file));
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
  EXPECT_TRUE(port.Connect(NodeOf(worker), Role::kWorker).ok());
  EXPECT_TRUE(port.Connect(NodeOf(cluster.Worker("w2")), Role::kWorker).ok());

  ASSERT_TRUE(secure::FinishRotation(cluster.path, Today(), /*force=*/true).ok());
  ASSERT_TRUE(master->Refresh().ok());
  EXPECT_TRUE(port.Until([](const ServerCounts& c) { return c.workers == 1; })) << "the open connection goes on";
  EXPECT_TRUE(port.Connect(TokenAt(after)).ok());
  const Status old = port.Connect(TokenAt(before));
  EXPECT_EQ(old.code(), Code::kNotAllowed);
  EXPECT_THAT(old.message(), HasSubstr("rotated"));
  EXPECT_THAT(old.message(), HasSubstr("mrctl token create"));
  const Status slept = port.Connect(NodeOf(worker), Role::kWorker);
  EXPECT_EQ(slept.code(), Code::kNotAllowed);
  EXPECT_THAT(slept.message(), HasSubstr("mrctl token create --join FILE --worker w1"));
  port.loop.Run([&] { kept = nullptr; });
}

// The authority is proved first, so this is somebody who has put the new one into a token file of before.
TEST(CertifiedTest, ATokenOfTheOldKeyIsRefusedAfterARotation) {
  const ClusterFiles cluster;
  const auto master = cluster.Master();
  CertifiedPort port(master);
  auto access = *secure::ReadAccessFile(cluster.Access({.subject = "anna", .roles = kViewer}), TokenKind::kPerson);
  ASSERT_TRUE(secure::BeginRotation(cluster.path, Today()).ok());
  ASSERT_TRUE(secure::FinishRotation(cluster.path, Today(), /*force=*/true).ok());
  ASSERT_TRUE(master->Refresh().ok());
  access.authority = *ReadFile(cluster.path + "/ca.pem");
  const std::string file = cluster.root / "patched";
  ASSERT_TRUE(secure::WritePrivateFile(file, secure::AccessText(access)).ok());
  const Status status = port.Connect(TokenAt(file));
  EXPECT_EQ(status.code(), Code::kNotAllowed);
  EXPECT_THAT(status.message(), HasSubstr("rotated"));
}

}  // namespace
}  // namespace mr::rpc
