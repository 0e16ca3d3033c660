// Bytes over TLS: all sizes and pieces, and what breaks a stream.
#include "common/rpc/tls_stream.h"

#include <gtest/gtest.h>
#include <kj/async-io.h>
#include <kj/async-unix.h>

#include <string>
#include <vector>

#include "common/io/clock.h"
#include "common/rpc/tls.h"
#include "common/secure/certificate.h"
#include "common/secure/names.h"

namespace mr::rpc {
namespace {

constexpr uint64_t kStreamCluster = 7;

// Keeps what one end sends, may change it, and gives it to the other end in pieces of `most` bytes.
class Tap final : public kj::AsyncIoStream {
 public:
  Tap(kj::Own<kj::AsyncIoStream> below, size_t most) : below_(kj::mv(below)), most_(most) {}
  size_t damage_at = SIZE_MAX;  // of all bytes read here
  kj::Promise<size_t> read(void* out, size_t least, size_t most) override { return tryRead(out, least, most); }
  kj::Promise<size_t> tryRead(void* out, size_t, size_t most) override {
    return below_->tryRead(out, 1, std::min(most, most_)).then([this, out](size_t n) {
      if (damage_at >= seen_ && damage_at < seen_ + n) static_cast<char*>(out)[damage_at - seen_] ^= 1;
      seen_ += n;
      return n;
    });
  }
  kj::Promise<void> write(const void* bytes, size_t size) override { return below_->write(bytes, size); }
  kj::Promise<void> write(kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>> pieces) override {
    return below_->write(pieces);
  }
  kj::Promise<void> whenWriteDisconnected() override { return below_->whenWriteDisconnected(); }
  void shutdownWrite() override { below_->shutdownWrite(); }
  size_t seen() const { return seen_; }

 private:
  kj::Own<kj::AsyncIoStream> below_;
  const size_t most_;
  size_t seen_ = 0;
};

class TlsStreamTest : public testing::Test {
 protected:
  ~TlsStreamTest() noexcept override {}

  // Connects both ends. most: bytes that reach the client at a time.
  void Connect(size_t most = SIZE_MAX) {
    const secure::UnixTime now{static_cast<int64_t>(WallClockMs() / 1000)};
    const auto key = *secure::PrivateKey::Make(secure::KeyKind::kNode),
               own = *secure::PrivateKey::Make(secure::KeyKind::kNode);
    secure::NodeCredentials node;
    node.authority_pem = *secure::MakeAuthority(key, kStreamCluster, now);
    node.certificate_pem =
        *secure::SignRequest(*secure::MakeRequest(own), secure::NodeKind::kMaster, "", node.authority_pem, key, now);
    node.certificate = *secure::ReadCertificate(node.certificate_pem);
    node.key_pem = own.ToPem();
    auto pipe = io_.provider->newTwoWayPipe();
    auto tap = kj::heap<Tap>(kj::mv(pipe.ends[1]), most);
    tap_ = tap.get();
    auto accepted = (*Tls::ForNode(node))->Accept(kj::mv(pipe.ends[0]), false).eagerlyEvaluate(nullptr);
    auto connected = (*Tls::ForPerson(node.authority_pem, kStreamCluster))
                         ->Connect(kj::mv(tap), secure::MasterName(kStreamCluster))
                         .wait(scope_);
    ASSERT_TRUE(connected.ok()) << connected.status().message();
    client_ = kj::mv(connected->stream);
    server_ = kj::mv(accepted.wait(scope_)->stream);
  }
  static std::string Bytes(size_t size) {
    std::string bytes(size, '\0');
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31 + i / 251);
    return bytes;
  }
  std::string Read(kj::AsyncIoStream& stream, size_t size) {
    std::string got(size, '\0');
    got.resize(stream.tryRead(got.data(), size, size).wait(scope_));
    return got;
  }

  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  kj::WaitScope& scope_ = io_.waitScope;
  Tap* tap_ = nullptr;
  kj::Own<kj::AsyncIoStream> client_, server_;
};

TEST_F(TlsStreamTest, BytesArriveWholeInBothDirectionsWhateverTheirSize) {
  for (const size_t most : {size_t{1000}, size_t{70'000}, SIZE_MAX}) {
    Connect(most);
    for (const size_t size : {0, 1, 15, 16'383, 16'384, 16'385, 100'000, 3'000'000}) {
      const std::string sent = Bytes(size);
      auto down = server_->write(sent.data(), sent.size()).eagerlyEvaluate(nullptr);
      auto up = client_->write(sent.data(), sent.size()).eagerlyEvaluate(nullptr);
      EXPECT_TRUE(Read(*client_, size) == sent) << size;
      EXPECT_TRUE(Read(*server_, size) == sent) << size;
      down.wait(scope_);
      up.wait(scope_);
    }
  }
}

TEST_F(TlsStreamTest, PiecesOfAMessageArriveInTheirOrder) {
  Connect();
  for (const std::vector<size_t>& sizes :
       std::vector<std::vector<size_t>>{{8, 100}, {8, 20'000, 0, 5}, {8, 1 << 20, 7}, {3 << 20, 8, 3 << 20, 1}}) {
    std::vector<std::string> parts;
    std::string all;
    std::vector<kj::ArrayPtr<const kj::byte>> pieces;
    for (const size_t size : sizes) {
      parts.push_back(Bytes(size + 3).substr(3));
      all += parts.back();
    }
    for (const std::string& part : parts)
      pieces.push_back(kj::arrayPtr(reinterpret_cast<const kj::byte*>(part.data()), part.size()));
    auto sent = server_->write(kj::arrayPtr(pieces.data(), pieces.size())).eagerlyEvaluate(nullptr);
    EXPECT_TRUE(Read(*client_, all.size()) == all);
    sent.wait(scope_);
  }
}

TEST_F(TlsStreamTest, AWriteThatNobodyWaitsForIsWholeAllTheSame) {
  Connect();
  const std::string first = Bytes(500'000), second = "second";
  { auto dropped = server_->write(first.data(), first.size()).eagerlyEvaluate(nullptr); }
  auto sent = server_->write(second.data(), second.size()).eagerlyEvaluate(nullptr);
  EXPECT_TRUE(Read(*client_, first.size()) == first);
  EXPECT_EQ(Read(*client_, second.size()), second);
  sent.wait(scope_);
}

TEST_F(TlsStreamTest, AnEndIsSeenAfterTheLastByte) {
  Connect();
  server_->write("last", 4).wait(scope_);
  server_->shutdownWrite();
  EXPECT_EQ(Read(*client_, 100), "last");
  EXPECT_EQ(Read(*client_, 1), "");
  // The other direction goes on.
  client_->write("more", 4).wait(scope_);
  EXPECT_EQ(Read(*server_, 4), "more");
}

TEST_F(TlsStreamTest, AnEndThatTlsDidNotAnnounceIsNone) {
  Connect();
  server_->write("cut", 3).wait(scope_);
  server_ = nullptr;
  EXPECT_EQ(Read(*client_, 3), "cut");
  char more;
  auto read = client_->tryRead(&more, 1, 1);
  EXPECT_THROW(read.wait(scope_), kj::Exception);
}

TEST_F(TlsStreamTest, AChangedBitIsNeverDelivered) {
  for (const size_t at : {0, 3, 4, 5, 20, 60, 99}) {
    Connect();
    tap_->damage_at = tap_->seen() + at;
    const std::string sent = Bytes(100);
    server_->write(sent.data(), sent.size()).wait(scope_);
    server_->shutdownWrite();
    char got[100];
    auto read = client_->tryRead(got, sizeof got, sizeof got);
    EXPECT_THROW(read.wait(scope_), kj::Exception) << at;
  }
}

}  // namespace
}  // namespace mr::rpc
