// Entry at a port: only peers with an identity are ever decoded (common/adr/0016).
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <mutex>
#include <thread>

#include "common/base/rng.h"
#include "common/io/clock.h"
#include "common/rpc/connection.h"
#include "common/rpc/kj_thread.h"
#include "common/rpc/server.h"
#include "common/rpc/wait_for_loop.h"
#include "schema/data.capnp.h"
#include "tests/support/temp_directory.h"

namespace mr::rpc {
namespace {

using ::testing::HasSubstr;

class NoData final : public DataServer::Server {};

std::string BytesOf(const Hello& hello) {
  const auto bytes = EncodeHello(hello);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// One server on its own loop, with a secret file in a directory of its own.
struct Port {
  test::TempDirectory root;
  const std::string secrets = root / "secrets";
  KjThread loop{"test"};
  kj::Own<RpcServer> server;
  uint16_t number = 0;
  std::mutex mutex;
  std::vector<Identity> seen;       // by the factory
  std::vector<std::string> logged;  // lines

  explicit Port(bool insecure = false, const std::string& socket = "") {
    EntryOptions options;
    options.insecure = insecure;
    options.secret_dir = secrets;
    auto authenticator = MakeAuthenticator(options).value();
    auto bound = WaitForLoop<Result<uint16_t>>(loop, [&] {
      server = kj::heap<RpcServer>(
          loop.io(), Hello{.role = Role::kMaster, .cluster_id = 7},
          [this](const Hello&, const PeerInfo& peer) -> Result<capnp::Capability::Client> {
            const std::lock_guard lock(mutex);
            seen.push_back(peer.identity);
            return capnp::Capability::Client(kj::heap<NoData>());
          },
          authenticator, ServerLimits{}, nullptr,
          [this](const std::string& line) {
            const std::lock_guard lock(mutex);
            logged.push_back(line);
          });
      return server->Listen("127.0.0.1", 0).then([this, socket](Result<uint16_t> port) -> Result<uint16_t> {
        if (!port.ok() || socket.empty()) return port;
        auto made = UnixSocket::Bind(socket);
        if (!made.ok()) return made.status();
        MR_RETURN_IF_ERROR(server->ListenOn(*std::move(made)));
        return port;
      });
    });
    EXPECT_TRUE(bound.ok()) << bound.status().ToString();
    number = bound.ok() ? *bound : 0;
  }
  ~Port() {
    loop.Run([this] { server = nullptr; });
  }

  std::string SecretPath() const { return secrets + "/" + SecretFileName("127.0.0.1:" + std::to_string(number)); }
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
  // Connects, with the credentials of a process that looks for secrets in `directory`.
  // trusts_all: tries without a secret, too.
  Status Connect(const std::string& directory, Role role = Role::kClient, std::string address = "",
                 bool trusts_all = true) {
    if (address.empty()) address = "127.0.0.1:" + std::to_string(number);
    const auto credentials = std::make_shared<FileCredentials>(directory, trusts_all);
    return WaitForLoop<Status>(loop, [&, role, address, credentials] {
      return RpcConnection::Connect(loop.io(), address, Hello{.role = role}, Seconds(5), credentials)
          .then([](const Result<kj::Own<RpcConnection>>& made) { return made.status(); });
    });
  }
  // Sends bytes as they are. Returns what came back until the server closed or one second passed.
  std::string Send(const std::string& bytes, UniqueFd* kept = nullptr) const {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(number);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval limit{1, 0};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    (void)::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    std::string reply;
    char buffer[4096];
    if (kept == nullptr) {
      for (ssize_t n; (n = ::recv(fd.get(), buffer, sizeof buffer, 0)) > 0;)
        reply.append(buffer, static_cast<size_t>(n));
    } else {
      *kept = std::move(fd);
    }
    return reply;
  }
};

TEST(EntryTest, TheUserWithTheSecretGetsInWithAllRoles) {
  Port port;
  for (const Role role : {Role::kClient, Role::kWorker, Role::kHeartbeat, Role::kData}) {
    const Status status = port.Connect(port.secrets, role);
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
  EXPECT_TRUE(port.Until([](const ServerCounts& c) { return c.systems == 4; }));
  EXPECT_EQ(port.Counts().identities, 4u);
  ASSERT_EQ(port.seen.size(), 4u);
  EXPECT_EQ(port.seen[0].subject, UserName(::geteuid()));
  EXPECT_EQ(port.seen[0].proof, Proof::kSecret);
  EXPECT_EQ(port.seen[0].roles, kAllPeople | kWorker | kMaster);
}

TEST(EntryTest, AProbeProvesItselfAndGetsNoCapability) {
  Port port;
  EXPECT_TRUE(port.Connect(port.secrets, Role::kProbe).ok());
  EXPECT_EQ(port.Connect("/nowhere", Role::kProbe).code(), Code::kNotAllowed);
  EXPECT_EQ(port.Counts().systems, 0u);
  EXPECT_TRUE(port.seen.empty());
}

TEST(EntryTest, WithoutTheSecretNobodyGetsInAndTheErrorSaysWhatToDo) {
  Port port;
  const Status none = port.Connect(port.root / "elsewhere");
  EXPECT_EQ(none.code(), Code::kNotAllowed);
  EXPECT_THAT(none.message(), HasSubstr("only its own user, " + UserName(::geteuid())));
  EXPECT_THAT(none.message(), HasSubstr(port.root / "elsewhere"));
  EXPECT_THAT(none.message(), HasSubstr("--master unix:PATH"));
  // Another daemon's secret under this one's name.
  const DaemonSecret other = MakeDaemonSecret().value();
  ASSERT_TRUE(MakeDirectories(port.root / "other").ok());
  ASSERT_TRUE(WriteFileDurably(port.root / "other/" + port.SecretPath().substr(port.secrets.size() + 1),
                               FormatDaemonSecret(other).Reveal(), 0600)
                  .ok());
  const Status wrong = port.Connect(port.root / "other");
  EXPECT_EQ(wrong.code(), Code::kNotAllowed);
  EXPECT_THAT(wrong.message(), HasSubstr("is not that daemon's"));
  ASSERT_EQ(::chmod(port.SecretPath().c_str(), 0644), 0);
  EXPECT_THAT(port.Connect(port.secrets).message(), HasSubstr("mode 0644"));
  const ServerCounts counts = port.Counts();
  EXPECT_EQ(counts.not_allowed, 2u);
  EXPECT_EQ(counts.systems, 0u);
  EXPECT_TRUE(port.seen.empty()) << "the bootstrap factory never heard of them";
}

TEST(EntryTest, ADaemonWithoutASecretIsUsedByThoseOnlyWhoTrustAll) {
  // Another user may listen there.
  Port impostor(/*insecure=*/true);
  for (const Role role : {Role::kClient, Role::kWorker, Role::kData, Role::kProbe}) {
    const Status status = impostor.Connect(impostor.secrets, role, "", /*trusts_all=*/false);
    EXPECT_EQ(status.code(), Code::kNotAllowed);
    EXPECT_THAT(status.message(), HasSubstr("cannot prove"));
    EXPECT_THAT(status.message(), HasSubstr("in a network that you trust"));
  }
  EXPECT_EQ(impostor.Counts().identities, 0u) << "nothing was sent";
}

TEST(EntryTest, ADaemonThatDoesNotProveItselfIsNotUsed) {
  // It took the port of one whose secret file is still there, and lets in anybody.
  Port impostor(/*insecure=*/true);
  const DaemonSecret left = MakeDaemonSecret().value();
  ASSERT_TRUE(MakeDirectories(impostor.secrets).ok());
  ASSERT_TRUE(WriteFileDurably(impostor.SecretPath(), FormatDaemonSecret(left).Reveal(), 0600).ok());
  const Status status = impostor.Connect(impostor.secrets);
  EXPECT_EQ(status.code(), Code::kNotAllowed);
  EXPECT_THAT(status.message(), HasSubstr("did not prove"));
}

TEST(EntryTest, RefusalsAreLoggedOnceASecondWithTheNumberOfTheOthers) {
  Port port;
  for (int i = 0; i < 20; ++i) EXPECT_EQ(port.Connect("/nowhere").code(), Code::kNotAllowed);
  std::this_thread::sleep_for(std::chrono::nanoseconds(RpcServer::kRefusalLog.ns) + std::chrono::milliseconds(50));
  EXPECT_EQ(port.Connect("/nowhere").code(), Code::kNotAllowed);
  const std::lock_guard lock(port.mutex);
  ASSERT_GE(port.logged.size(), 2u);
  EXPECT_LE(port.logged.size(), 4u) << "on a machine where 20 connections took seconds";
  EXPECT_THAT(port.logged[0], HasSubstr("may not connect"));
  EXPECT_THAT(port.logged.back(), HasSubstr("others since"));
}

TEST(EntryTest, OtherProgramsAreClosedAtOnceWithoutAnAnswer) {
  Port port;
  const std::string tls("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11);
  for (const std::string& bytes : {std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), tls + std::string(500, 'r'),
                                   std::string(8, '\0'), std::string(100'000, 'P')}) {
    const Instant begin = Now();
    EXPECT_EQ(port.Send(bytes), "");
    EXPECT_LT((Now() - begin).millis(), 900) << "closed, not left to its time limit";
  }
  EXPECT_EQ(port.Counts().systems, 0u);
}

TEST(EntryTest, WrongFramesBehindAGoodHelloAreClosedAndNeverDecoded) {
  Port port;
  Rng rng(11);
  const std::string hello = BytesOf({.role = Role::kClient});
  for (int i = 0; i < 300; ++i) {
    std::string frame(rng.Below(1200), '\0');
    for (char& c : frame) c = static_cast<char>(rng.Next());
    if (frame.size() >= 4 && i % 2 == 0) {  // a header that is right
      const size_t length = std::min<size_t>(frame.size() - 4, kCredentialBytes);
      frame[0] = static_cast<char>(2 + rng.Below(3));
      frame[1] = 0;
      frame[2] = static_cast<char>(length & 255);
      frame[3] = static_cast<char>(length >> 8);
    }
    UniqueFd kept;
    port.Send(hello + frame, &kept);
  }
  EXPECT_TRUE(port.Until([](const ServerCounts& c) { return c.greeting == 0; }));
  EXPECT_EQ(port.Counts().systems, 0u);
  EXPECT_EQ(port.Counts().identities, 0u);
  EXPECT_TRUE(port.Connect(port.secrets).ok()) << "it goes on";
}

TEST(EntryTest, APeerThatStopsAtAnyByteIsClosedInTime) {
  Port port;
  const std::string hello = BytesOf({.role = Role::kClient}), header("\x02\x00\x20\x00", 4);
  const std::string all = hello + header + std::string(31, 's');
  std::vector<UniqueFd> kept(all.size() + 1);
  for (size_t size = 0; size <= all.size(); ++size) port.Send(all.substr(0, size), &kept[size]);
  const Instant begin = Now();
  ASSERT_TRUE(port.Until([&](const ServerCounts& c) { return c.greeting == kept.size() || c.silent > 0; }));
  ASSERT_TRUE(port.Until([](const ServerCounts& c) { return c.greeting == 0; }));
  EXPECT_GE(Now() - begin, kHelloTimeout - Seconds(2));
  EXPECT_EQ(port.Counts().silent, kept.size());
  EXPECT_EQ(port.Counts().systems, 0u);
}

TEST(EntryTest, OneByteAtATimeGainsNoTime) {
  Port port;
  UniqueFd loris;
  const std::string hello = BytesOf({.role = Role::kClient});
  port.Send(hello.substr(0, 1), &loris);
  const Instant begin = Now();
  for (size_t at = 1; port.Counts().silent == 0 && Now() - begin < Seconds(20); ++at) {
    (void)::send(loris.get(), hello.data() + at % hello.size(), 1, MSG_NOSIGNAL);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  EXPECT_LT(Now() - begin, kHelloTimeout + Seconds(3));
  EXPECT_EQ(port.Counts().systems, 0u);
}

TEST(EntryTest, AnInsecureDaemonSaysSoAndRemovesALeftSecret) {
  Port port(/*insecure=*/true);
  EXPECT_TRUE(port.Connect(port.secrets).ok());
  ASSERT_EQ(port.seen.size(), 1u);
  EXPECT_EQ(port.seen[0].proof, Proof::kNone);
  EXPECT_EQ(port.seen[0].subject, "anonymous");
  ASSERT_FALSE(port.logged.empty());
  EXPECT_THAT(port.logged[0], HasSubstr("--insecure"));
  ASSERT_TRUE(MakeDirectories(port.secrets).ok());
  ASSERT_TRUE(WriteFileDurably(port.SecretPath(), FormatDaemonSecret(MakeDaemonSecret().value()).Reveal(), 0600).ok());
  EXPECT_TRUE(NoAuthenticator(port.secrets).Listening("127.0.0.1:" + std::to_string(port.number), true).ok());
  EXPECT_FALSE(PathExists(port.SecretPath()));
}

TEST(EntryTest, TheSecretIsOnDiskOnlyWhileTheDaemonListens) {
  Port port;
  EXPECT_TRUE(PathExists(port.SecretPath()));
  port.loop.Run([&] { port.server = nullptr; });
  EXPECT_FALSE(PathExists(port.SecretPath()));
}

TEST(EntryTest, AUnixSocketIsForItsUserAndRootByTheirUid) {
  test::TempDirectory root;
  const std::string path = root / "run/master";
  Port port(/*insecure=*/false, path);
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  const Status status = port.Connect("/nowhere", Role::kClient, "unix:" + path);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(port.seen.at(0).proof, Proof::kSocket);
  EXPECT_EQ(port.seen[0].subject, UserName(::geteuid()));
  EXPECT_EQ(UnixSocket::Bind(path).status().code(), Code::kRejected) << "somebody answers there";
  port.loop.Run([&] { port.server = nullptr; });
  EXPECT_FALSE(PathExists(path));
}

TEST(EntryTest, AnotherUidOnAUnixSocketIsRefused) {
  UserAuthenticator authenticator(MakeDaemonSecret().value(), "");
  SocketFacts peer;
  peer.loopback = true;
  for (const uint32_t uid : {::geteuid(), 0u}) {
    peer.uid = uid;
    EXPECT_TRUE(authenticator.Authenticate({}, {}, peer).ok());
  }
  peer.uid = ::geteuid() + 4242;
  EXPECT_EQ(authenticator.Authenticate({}, {}, peer).status().code(), Code::kNotAllowed);
}

TEST(UnixSocketTest, ALeftSocketIsReplacedAndNothingElse) {
  test::TempDirectory root;
  const std::string path = root / "run/master";
  {
    auto first = UnixSocket::Bind(path);
    ASSERT_TRUE(first.ok()) << first.status().ToString();
    const UniqueFd closed(first->TakeDescriptor());
    ASSERT_EQ(::rename(path.c_str(), (path + ".kept").c_str()), 0);
  }
  // The same as after kill -9: the descriptor is closed, the name stays.
  ASSERT_EQ(::rename((path + ".kept").c_str(), path.c_str()), 0);
  EXPECT_TRUE(UnixSocket::Bind(path).ok());
  ASSERT_TRUE(WriteFileDurably(path, "a file").ok());
  EXPECT_EQ(UnixSocket::Bind(path).status().code(), Code::kRejected);
  EXPECT_EQ(*ReadFile(path), "a file");
}

TEST(UnixSocketTest, ALaterSocketKeepsItsName) {
  test::TempDirectory root;
  const std::string path = root / "run/master";
  {
    const auto first = UnixSocket::Bind(path);
    ASSERT_TRUE(first.ok()) << first.status().ToString();
    ASSERT_EQ(::rename(path.c_str(), (path + ".first").c_str()), 0);
    ASSERT_TRUE(WriteFileDurably(path, "of another").ok());
  }
  EXPECT_TRUE(PathExists(path));
}

TEST(UnixSocketTest, ItsDirectoryIsForItsUserAlone) {
  test::TempDirectory root;
  ASSERT_TRUE(MakeDirectories(root / "open").ok());
  ASSERT_EQ(::chmod((root / "open").c_str(), 0755), 0);
  EXPECT_EQ(UnixSocket::Bind(root / "open/s").status().code(), Code::kNotAllowed);
  EXPECT_EQ(UnixSocket::Bind("/" + std::string(107, 'a')).status().code(), Code::kInvalidArgument);
}

TEST(BindRuleTest, OnlyThisMachineReachesADaemonWithoutCertificates) {
  for (const char* host : {"127.0.0.1", "127.9.9.9", "localhost", "::1", "[::1]", "::ffff:127.0.0.1"}) {
    const Status status = CheckBind("--bind", host, /*insecure=*/false);
    EXPECT_TRUE(status.ok()) << host << ": " << status.ToString();
  }
  for (const char* host : {"0.0.0.0", "::", "[::]", "*", "10.0.0.1", "192.168.1.1", "::ffff:10.0.0.1", "fe80::1"}) {
    const Status status = CheckBind("--bind", host, /*insecure=*/false);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << host;
    EXPECT_THAT(status.message(), HasSubstr("listen on 127.0.0.1")) << host;
    EXPECT_TRUE(CheckBind("--bind", host, /*insecure=*/true).ok()) << host;
  }
  EXPECT_THAT(CheckBind("--bind", "no.such.host.invalid", false).message(), HasSubstr("cannot be resolved"));
}

TEST(BindRuleTest, ASocketThatOthersReachIsClosedBeforeItsFirstAccept) {
  UserAuthenticator authenticator(MakeDaemonSecret().value(), "");
  EXPECT_EQ(authenticator.Listening("10.0.0.1:7070", /*loopback=*/false).code(), Code::kInvalidArgument);
}

TEST(RoleTest, AnInheritedSecretIsSharedByTheDaemonsOfOneCommandAndStandsInNoFile) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const DaemonSecret secret = MakeDaemonSecret().value();
  ASSERT_TRUE(WriteAll(ends[1], FormatDaemonSecret(secret).Reveal()).ok());
  ::close(ends[1]);
  EntryOptions options;
  options.secret_fd = ends[0];
  const auto authenticator = MakeAuthenticator(options);
  ASSERT_TRUE(authenticator.ok()) << authenticator.status().ToString();
  SocketFacts here;
  here.loopback = true;
  here.address = "127.0.0.1:1";
  const auto presented = ProcessCredentials()->For(here, {}, Role::kClient);
  ASSERT_TRUE(presented.ok());
  EXPECT_TRUE((*authenticator)->Authenticate({}, presented->credential, here).ok());
  here.loopback = false;
  EXPECT_EQ(ProcessCredentials()->For(here, {}, Role::kClient).status().code(), Code::kNotAllowed)
      << "it never leaves the machine";
  SetProcessCredentials(std::make_shared<FileCredentials>());
}

}  // namespace
}  // namespace mr::rpc
