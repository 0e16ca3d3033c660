#include "common/rpc/handshake.h"

#include <openssl/crypto.h>

#include <cstring>
#include <utility>

#include "common/rpc/tls.h"

namespace mr::rpc {
namespace {

// Bytes that may be a secret, wiped also where the promise that fills them is dropped.
struct WipedBuffer {
  std::string bytes;
  explicit WipedBuffer(size_t size) : bytes(size, '\0') {}
  ~WipedBuffer() { Wipe(bytes); }
};

kj::Promise<Secret<std::string>> ReadSecretBytes(kj::AsyncIoStream& stream, size_t size) {
  if (size == 0) return Secret<std::string>();
  auto buffer = kj::heap<WipedBuffer>(size);
  auto& bytes = buffer->bytes;
  return stream.read(bytes.data(), size).then([buffer = kj::mv(buffer)]() mutable {
    return Secret<std::string>(std::move(buffer->bytes));
  });
}

kj::Promise<void> WriteSecretBytes(kj::AsyncIoStream& stream, Secret<std::string> frame) {
  auto held = kj::heap<Secret<std::string>>(kj::mv(frame));
  const std::string& bytes = held->Reveal();
  return stream.write(bytes.data(), bytes.size()).attach(kj::mv(held));
}

// Reads one frame. length: checks its header; decode: makes the value.
template <class T>
kj::Promise<Result<T>> ReadFrame(kj::AsyncIoStream& stream, Result<size_t> (*length)(const FrameHeader&),
                                 T (*decode)(const FrameHeader&, Secret<std::string>)) {
  auto header = kj::heap<FrameHeader>();
  auto& raw = *header;
  return stream.read(raw.data(), raw.size())
      .then([&stream, header = kj::mv(header), length, decode]() -> kj::Promise<Result<T>> {
        const auto size = length(*header);
        if (!size.ok()) return Result<T>(size.status());
        return ReadSecretBytes(stream, *size).then([header = *header, decode](Secret<std::string> bytes) {
          return Result<T>(decode(header, std::move(bytes)));
        });
      });
}

Status CheckReply(const Hello& server, const std::string& address) {
  if (server.refused == 0) return Status::Ok();
  if (server.refused == static_cast<uint32_t>(Code::kNotAllowed)) {
    return {Code::kNotAllowed,
            address +
                " lets in nodes with a certificate and people with a token only: a worker joins with "
                "mrworker --join FILE, and people name their token file with MR_TOKEN_FILE (an "
                "administrator makes both with mrctl token create)"};
  }
  if (server.refused == static_cast<uint32_t>(Code::kRejected))
    return Rejected(address + " belongs to another cluster");
  return Unavailable(address + " refused the connection");
}

Status CheckEntryVerdict(const EntryVerdict& verdict, const Credentials::Presented& presented,
                         const std::string& address) {
  switch (verdict.code) {
    case Code::kOk: break;
    case Code::kNotAllowed:
      return {Code::kNotAllowed, address + " refused this connection: " + verdict.why +
                                     (presented.advice.empty() ? "" : "; " + presented.advice)};
    case Code::kOverloaded:
      return Unavailable(address + " has as many connections as it serves; retry later, or close some of them");
    default: return Unavailable(address + " refused the connection: " + verdict.why);
  }
  const std::string &wanted = presented.proof.Reveal(), &got = verdict.proof.Reveal();
  const bool proved =
      wanted.empty() || (got.size() == wanted.size() && CRYPTO_memcmp(got.data(), wanted.data(), wanted.size()) == 0);
  if (proved) return Status::Ok();
  return {Code::kNotAllowed,
          address + " did not prove that it is the expected daemon, and is not used; " + presented.advice};
}

}  // namespace

kj::Promise<Result<Hello>> ReadHello(kj::AsyncIoStream& stream) {
  auto buffer = kj::heap<std::array<uint8_t, kHelloBytes>>();
  auto& bytes = *buffer;
  return stream.read(bytes.data(), kHelloMagic.size())
      .then([&stream, &bytes]() -> kj::Promise<Result<Hello>> {
        if (std::memcmp(bytes.data(), kHelloMagic.data(), kHelloMagic.size()) != 0) return DecodeHello(bytes);
        return stream.read(bytes.data() + kHelloMagic.size(), bytes.size() - kHelloMagic.size()).then([&bytes] {
          return DecodeHello(bytes);
        });
      })
      .attach(kj::mv(buffer));
}

kj::Promise<void> WriteHello(kj::AsyncIoStream& stream, const Hello& hello) {
  auto bytes = kj::heap(EncodeHello(hello));
  auto written = stream.write(bytes->data(), bytes->size());
  return written.attach(kj::mv(bytes));
}

kj::Promise<Result<Credential>> ReadCredential(kj::AsyncIoStream& stream) {
  return ReadFrame<Credential>(stream, CredentialLength, DecodeCredential);
}
kj::Promise<Result<EntryVerdict>> ReadEntryVerdict(kj::AsyncIoStream& stream) {
  return ReadFrame<EntryVerdict>(stream, EntryVerdictLength, DecodeEntryVerdict);
}
kj::Promise<void> WriteEntryVerdict(kj::AsyncIoStream& stream, const EntryVerdict& verdict) {
  return WriteSecretBytes(stream, EncodeEntryVerdict(verdict));
}

namespace {

// The client's side. Alive until its last promise is done.
struct Caller {
  kj::Own<kj::AsyncIoStream> stream;
  Hello own;
  const std::string address;
  const std::shared_ptr<const Credentials> credentials;
  SocketFacts facts;
  Hello reply;
  Credentials::Presented presented;

  kj::Promise<Result<Greeted>> Run() {
    facts = FactsOfPeer(*stream);
    own.flags = credentials->HelloFlags(facts, own.role);
    return WriteHello(*stream, own)
        .then([this] { return ReadHello(*stream); })
        .then([this](Result<Hello> hello) -> kj::Promise<Result<Greeted>> {
          if (!hello.ok()) return Result<Greeted>(Unavailable(address + ": " + hello.status().message()));
          reply = *hello;
          if (const Status status = CheckReply(reply, address); !status.ok()) return Result<Greeted>(status);
          return credentials->Encrypt(kj::mv(stream), own, reply, address)
              .then([this](Result<Encrypted> encrypted) -> kj::Promise<Result<Greeted>> {
                if (!encrypted.ok()) return Result<Greeted>(encrypted.status());
                stream = kj::mv(encrypted->stream);
                facts.certificate = std::move(encrypted->certificate);
                return Present();
              });
        });
  }

  kj::Promise<Result<Greeted>> Present() {
    auto found = credentials->For(facts, reply, own.role);
    if (!found.ok()) return Result<Greeted>(found.status().With("cannot connect to " + address));
    presented = *std::move(found);
    return WriteSecretBytes(*stream, EncodeCredential(presented.credential))
        .then([this] { return ReadEntryVerdict(*stream); })
        .then([this](Result<EntryVerdict> verdict) -> Result<Greeted> {
          if (!verdict.ok()) return Unavailable(address + ": " + verdict.status().message());
          const Status status = CheckEntryVerdict(*verdict, presented, address);
          if (!status.ok()) return status;
          return Greeted{kj::mv(stream), reply};
        });
  }
};

}  // namespace

kj::Promise<Result<Greeted>> Greet(kj::Own<kj::AsyncIoStream> stream, const Hello& own, const std::string& address,
                                   std::shared_ptr<const Credentials> credentials) {
  auto caller = kj::heap<Caller>(Caller{kj::mv(stream), own, address, std::move(credentials), {}, {}, {}});
  auto run = caller->Run();
  return run
      .catch_([address](kj::Exception&& e) -> kj::Promise<Result<Greeted>> {
        if (IsCertificateAlert(e)) {
          return Result<Greeted>(Status(Code::kNotAllowed, address +
                                                               " does not accept the certificate of this node: it may "
                                                               "have expired, or be of another cluster; join again "
                                                               "(mrworker --join FILE)"));
        }
        if (e.getType() != kj::Exception::Type::DISCONNECTED) return kj::mv(e);
        return Result<Greeted>(Unavailable(address + " closed the connection at once: is it a Paceline daemon?"));
      })
      .attach(kj::mv(caller));
}

}  // namespace mr::rpc
