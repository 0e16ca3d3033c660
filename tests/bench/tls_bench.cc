// ./dev bench tls: bytes of blocks over TLS between two daemons, beside the same without TLS and beside what the
// processor would need for both: the time of a byte without TLS, plus twice that of AES-GCM (sealed here, opened
// there). One server and one client, a thread each, 4 calls of 1 MiB in flight, as fetches and block reads have.
// Processor time of both threads, in alternation, medians. Exits with 1 if a target is missed. Argument: rounds;
// default 9.
#include <openssl/evp.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <future>
#include <string>
#include <vector>

#include "common/io/clock.h"
#include "common/rpc/certified.h"
#include "common/rpc/connection.h"
#include "common/rpc/kj_thread.h"
#include "common/rpc/server.h"
#include "common/rpc/tls_credentials.h"
#include "common/rpc/wait_for_loop.h"
#include "common/secure/certificate.h"
#include "common/secure/cluster_files.h"
#include "common/secure/keys.h"
#include "schema/data.capnp.h"
#include "tests/bench/report.h"
#include "tests/support/temp_directory.h"

namespace mr::bench {
namespace {

constexpr size_t kPiece = 1 << 20;
constexpr int kInFlight = 4;
constexpr int kPieces = 512;   // of one measurement
constexpr double kShare = .7;  // of what the processor allows

double CpuSeconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

class Pieces final : public rpc::DataServer::Server {
 public:
  explicit Pieces(const std::string& bytes) : bytes_(bytes) {}

 protected:
  kj::Promise<void> readBlock(ReadBlockContext context) override {
    context.getResults(capnp::MessageSize{kPiece / 8 + 32, 0})
        .setData(kj::arrayPtr(reinterpret_cast<const kj::byte*>(bytes_.data()), bytes_.size()));
    return kj::READY_NOW;
  }

 private:
  const std::string& bytes_;
};

// A server on a thread of its own, and the client that reads from it.
class Line {
 public:
  // node: null: without TLS.
  Line(const std::string& bytes, std::shared_ptr<rpc::NodeIdentity> node, const std::string& secrets)
      : node_(std::move(node)) {
    rpc::EntryOptions entry;
    entry.secret_dir = secrets;
    entry.node = node_;
    auto authenticator = OrDie(rpc::MakeAuthenticator(entry), "authenticator");
    rpc::Hello own;
    own.role = rpc::Role::kDataServer;
    own.cluster_id = node_ == nullptr ? 1 : node_->cluster_id();
    const auto port = rpc::WaitForLoop<Result<uint16_t>>(server_loop_, [&] {
      server_ = kj::heap<rpc::RpcServer>(
          server_loop_.io(), own,
          [&bytes](const rpc::Hello&, const rpc::PeerInfo&) -> Result<capnp::Capability::Client> {
            return capnp::Capability::Client(kj::heap<Pieces>(bytes));
          },
          authenticator);
      return server_->Listen("127.0.0.1", 0);
    });
    rpc::Hello hello;
    hello.role = rpc::Role::kData;
    hello.cluster_id = own.cluster_id;
    const std::string address = "127.0.0.1:" + std::to_string(OrDie(port, "listen"));
    const Status connected = rpc::WaitForLoop<Status>(client_loop_, [&] {
      return rpc::RpcConnection::Connect(client_loop_.io(), address, hello)
          .then([this](Result<kj::Own<rpc::RpcConnection>> made) -> Status {
            if (!made.ok()) return made.status();
            connection_ = *std::move(made);
            return Status::Ok();
          });
    });
    OrDie(connected, "connect");
  }
  ~Line() {
    client_loop_.Run([this] { connection_ = nullptr; });
    server_loop_.Run([this] { server_ = nullptr; });
  }

  // Returns the processor time of one MB, in ms.
  double Measure() {
    const double begin = CpuSeconds();
    const Status read = rpc::WaitForLoop<Status>(client_loop_, [this] {
      left_ = kPieces;
      auto runners = kj::heapArrayBuilder<kj::Promise<void>>(kInFlight);
      for (int i = 0; i < kInFlight; ++i) runners.add(Runner());
      return kj::joinPromises(runners.finish()).then([] { return Status::Ok(); });
    });
    OrDie(read, "read");
    return (CpuSeconds() - begin) * 1e3 / (kPieces * (kPiece / 1e6));
  }

 private:
  kj::Promise<void> Runner() {
    if (left_-- <= 0) return kj::READY_NOW;
    auto request = connection_->Bootstrap<rpc::DataServer>().readBlockRequest();
    return request.send().then([this](auto response) {
      if (response.getData().size() != kPiece) Die("an answer is too short");
      return Runner();
    });
  }

  const std::shared_ptr<rpc::NodeIdentity> node_;
  rpc::KjThread server_loop_{"server"}, client_loop_{"client"};
  kj::Own<rpc::RpcServer> server_;
  kj::Own<rpc::RpcConnection> connection_;
  int left_ = 0;
};

// Returns the processor time of sealing and opening one MB in records of 16 KiB, in ms.
double SealAndOpen(const std::string& bytes) {
  const unsigned char key[32] = {1}, nonce[12] = {2};
  std::string out(bytes.size() + 16, '\0');
  const double begin = CpuSeconds();
  constexpr int kRounds = 64;
  for (const bool seal : {true, false}) {
    EVP_CIPHER_CTX* context = EVP_CIPHER_CTX_new();
    for (int round = 0; round < kRounds; ++round) {
      for (size_t at = 0; at < bytes.size(); at += 16 << 10) {
        int n = 0;
        EVP_CipherInit_ex(context, EVP_aes_256_gcm(), nullptr, key, nonce, seal ? 1 : 0);
        EVP_CipherUpdate(context, reinterpret_cast<unsigned char*>(out.data()), &n,
                         reinterpret_cast<const unsigned char*>(bytes.data()) + at, 16 << 10);
      }
    }
    EVP_CIPHER_CTX_free(context);
  }
  return (CpuSeconds() - begin) * 1e3 / (kRounds * static_cast<double>(bytes.size()) / 1e6);
}

int Main(int rounds) {
  const test::TempDirectory root;
  const secure::UnixTime now{static_cast<int64_t>(WallClockMs() / 1000)};
  OrDie(secure::MakeClusterFiles(root / "master", 7, now), "credentials");
  const auto key = OrDie(secure::PrivateKey::Make(secure::KeyKind::kNode), "key");
  secure::NodeCredentials own =
      OrDie(secure::SignWorker(root / "master", "w1", OrDie(secure::MakeRequest(key), "request"), now), "sign");
  own.key_pem = key.ToPem();
  OrDie(secure::KeepWorker(root / "w1", own), "keep");
  auto node = OrDie(rpc::NodeIdentity::Load(root / "w1", nullptr), "node");

  std::string bytes(kPiece, '\0');
  uint64_t x = 88172645463325252ull;
  for (char& c : bytes) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    c = static_cast<char>(x);
  }
  Line plain(bytes, nullptr, root / "secrets");
  Line tls(bytes, node, root / "secrets");
  std::vector<double> without, with, aes, share;
  for (int i = -2; i < rounds; ++i) {  // the first ones warm up
    const double p = plain.Measure(), t = tls.Measure(), a = SealAndOpen(bytes);
    if (i < 0) continue;
    without.push_back(p);
    with.push_back(t);
    aes.push_back(a);
    share.push_back((p + a) / t);
  }
  std::printf("processor ms for a MB, both ends: plain %.3f, TLS %.3f, AES-256-GCM of both ends %.3f\n",
              Median(without), Median(with), Median(aes));
  Report report;
  report.Row("TLS: share of what plain and AES-GCM allow", Median(share), "", kShare, false);
  return report.all_met() ? 0 : 1;
}

}  // namespace
}  // namespace mr::bench

int main(int argc, char** argv) { return mr::bench::Main(argc > 1 ? std::max(1, std::atoi(argv[1])) : 9); }
