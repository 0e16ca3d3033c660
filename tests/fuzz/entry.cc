// The bytes of a connection before its identity is proved, and the frames behind the verdict, over a pipe in memory.
// The first byte chooses the side: a server that reads a client, a client that reads a server, or the gate that counts
// the frames of Cap'n Proto.
#include <capnp/message.h>
#include <capnp/rpc.capnp.h>
#include <capnp/serialize.h>
#include <kj/async-io.h>

#include <array>

#include "common/base/check.h"
#include "common/rpc/authenticator.h"
#include "common/rpc/handshake.h"
#include "common/rpc/message_gate.h"
#include "common/rpc/server.h"
#include "tests/fuzz/target.h"

namespace mr::fuzz {
namespace {

enum Side : uint8_t { kServer = 0, kClient = 1, kFrames = 2, kSides = 3 };

// Known to seeds, so that the fuzzer gets past the comparison of secrets.
DaemonSecret FixedSecret() {
  SecretBytes client{}, daemon{};
  client.fill(1);
  daemon.fill(2);
  return {Secret<SecretBytes>(client), Secret<SecretBytes>(daemon)};
}

std::string TextOf(const Secret<SecretBytes>& secret) { return {secret.Reveal().begin(), secret.Reveal().end()}; }

std::string TextOf(const rpc::Hello& hello) {
  const auto bytes = rpc::EncodeHello(hello);
  return {bytes.begin(), bytes.end()};
}

// The steps of RpcServer before it makes a message stream.
kj::Promise<void> Serve(kj::AsyncIoStream& stream, rpc::Authenticator& authenticator) {
  return rpc::ReadHello(stream).then([&](Result<rpc::Hello> hello) -> kj::Promise<void> {
    if (!hello.ok()) return kj::READY_NOW;
    const auto again = rpc::DecodeHello(rpc::EncodeHello(*hello));
    MR_CHECK(again.ok() && again->role == hello->role && again->flags == hello->flags);
    return rpc::WriteHello(stream, {.role = rpc::Role::kMaster})
        .then([&stream] { return rpc::ReadCredential(stream); })
        .then([&, hello = *hello](Result<rpc::Credential> credential) -> kj::Promise<void> {
          if (!credential.ok()) return kj::READY_NOW;
          MR_CHECK(credential->bytes.Reveal().size() <= rpc::kCredentialBytes);
          auto admitted = authenticator.Authenticate(hello, *credential, {});
          rpc::EntryVerdict verdict;
          if (admitted.ok()) {
            MR_CHECK(credential->bytes.Reveal() == TextOf(FixedSecret().client));
            verdict.proof = std::move(admitted->proof);
          } else {
            verdict.code = admitted.status().code();
            verdict.why = admitted.status().message();
          }
          return rpc::WriteEntryVerdict(stream, verdict);
        });
  });
}

// Reads frames until one is refused. Replies are never written, so the gate closes behind its limit.
kj::Promise<void> ReadFrames(rpc::MessageGate& gate) {
  capnp::ReaderOptions options;
  options.traversalLimitInWords = rpc::LimitsFor(rpc::Role::kClient).traversal_words;
  options.nestingLimit = rpc::LimitsFor(rpc::Role::kClient).nesting;
  return gate.tryReadMessage(nullptr, options, nullptr)
      .then([&gate](kj::Maybe<capnp::MessageReaderAndFds> message) -> kj::Promise<void> {
        if (message == nullptr) return kj::READY_NOW;
        MR_CHECK(gate.calls() <= rpc::MessageGate::Limits{}.calls);
        return ReadFrames(gate);
      });
}

void Run(std::string_view bytes) {
  Input input(bytes);
  const uint8_t side = input.Byte() % kSides;
  const std::string_view sent = input.Rest();
  kj::EventLoop loop;
  kj::WaitScope scope(loop);
  auto pipe = kj::newTwoWayPipe();
  auto& peer = *pipe.ends[0];
  auto sending = peer.write(sent.data(), sent.size())
                     .then([&peer] { peer.shutdownWrite(); })
                     .catch_([](kj::Exception&&) {})
                     .eagerlyEvaluate(nullptr);
  auto replies = peer.readAllBytes().ignoreResult().catch_([](kj::Exception&&) {}).eagerlyEvaluate(nullptr);
  if (side == kServer) {
    rpc::UserAuthenticator authenticator(FixedSecret(), "");
    auto served = Serve(*pipe.ends[1], authenticator).catch_([](kj::Exception&&) {}).eagerlyEvaluate(nullptr);
    scope.poll();
  } else if (side == kClient) {
    auto greeted = rpc::Greet(kj::mv(pipe.ends[1]), {}, "fuzz", std::make_shared<rpc::FixedCredentials>(FixedSecret()))
                       .then([](Result<rpc::Greeted> server) {
                         if (server.ok()) MR_CHECK(server->server.refused == 0);
                       })
                       .catch_([](kj::Exception&&) {})
                       .eagerlyEvaluate(nullptr);
    scope.poll();
  } else {
    kj::TimerImpl timer(kj::origin<kj::TimePoint>());
    rpc::SharedQueue shared{.limit = 1 << 20};
    rpc::MessageGate gate(*pipe.ends[1], timer, {}, shared, [] { return size_t{0}; });
    auto read = ReadFrames(gate).catch_([](kj::Exception&&) {}).eagerlyEvaluate(nullptr);
    scope.poll();
  }
}

std::vector<std::string> Seeds() {
  const std::string server(1, kServer), client(1, kClient), frames(1, kFrames);
  const std::string hello = TextOf(rpc::Hello{.role = rpc::Role::kWorker, .cluster_id = 7, .incarnation = 9});
  const auto credential = [](rpc::CredentialKind kind, std::string text) {
    return rpc::EncodeCredential({kind, Secret<std::string>(std::move(text))}).Reveal();
  };
  std::vector<std::string> seeds = {
      server + hello + credential(rpc::CredentialKind::kSecret, TextOf(FixedSecret().client)),
      server + hello + credential(rpc::CredentialKind::kNothing, ""),
      server + hello + credential(rpc::CredentialKind::kToken, "mrt1_AAAA"),
      server + TextOf(rpc::Hello{.flags = rpc::kHelloFlags}) + credential(rpc::CredentialKind::kJoin, "mrt1_AAAA"),
      server + TextOf(rpc::Hello{.protocol = 1}),
      server + "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
      client + TextOf(rpc::Hello{.role = rpc::Role::kMaster, .refused = static_cast<uint32_t>(Code::kNotAllowed)})};
  const std::string reply = TextOf(rpc::Hello{.role = rpc::Role::kMaster});
  seeds.push_back(client + reply +
                  rpc::EncodeEntryVerdict({Code::kOk, Secret<std::string>(TextOf(FixedSecret().daemon)), ""}).Reveal());
  seeds.push_back(client + reply + rpc::EncodeEntryVerdict({Code::kNotAllowed, {}, "no\x1b[2J"}).Reveal());
  std::string calls = frames;
  for (uint32_t question = 0; question < 3; ++question) {
    capnp::MallocMessageBuilder message;
    auto root = message.initRoot<capnp::rpc::Message>();
    if (question == 0) {
      root.initBootstrap().setQuestionId(question);
    } else {
      auto call = root.initCall();
      call.setQuestionId(question);
      call.setMethodId(1);
    }
    const auto words = capnp::messageToFlatArray(message);
    calls.append(words.asBytes().begin(), words.asBytes().end());
  }
  seeds.push_back(std::move(calls));
  return seeds;
}

}  // namespace

const Target kEntry{"entry", Run, Seeds};

}  // namespace mr::fuzz
