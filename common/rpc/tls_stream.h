// A stream over TLS, after its handshake: OpenSSL on buffers of ours. KJ 0.9.2 has one, too, but passes bytes on in
// pieces of 8 KiB, a system call each: 2.6 ms of processor time for a MB against 1.1 here (measured: ./dev bench tls).
#pragma once

#include <kj/async-io.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

struct ssl_st;  // OpenSSL's SSL; its headers stay in .cc files

namespace mr::rpc {

struct FreeSsl {
  void operator()(ssl_st* ssl) const;
};
using SslPtr = std::unique_ptr<ssl_st, FreeSsl>;

// Thread: that of the stream below. Its exceptions are DISCONNECTED where the connection ended, also where it ended
// without TLS's own end, and FAILED where the peer broke the protocol or refused the handshake.
class TlsStream final : public kj::AsyncIoStream {
 public:
  // ssl: fresh, set to accept or to connect.
  TlsStream(kj::Own<kj::AsyncIoStream> below, SslPtr ssl);
  ~TlsStream() noexcept(false);

  // Does the handshake. Call it first, and once.
  kj::Promise<void> Shake();
  // Returns the common name in the peer's certificate, or "" without one. After Shake.
  std::string PeerName() const;

  kj::Promise<size_t> tryRead(void* buffer, size_t least, size_t most) override;
  kj::Promise<size_t> read(void* buffer, size_t least, size_t most) override;
  kj::Promise<void> write(const void* bytes, size_t size) override;
  kj::Promise<void> write(kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>> pieces) override;
  kj::Promise<void> whenWriteDisconnected() override { return below_->whenWriteDisconnected(); }
  void shutdownWrite() override;
  void abortRead() override { below_->abortRead(); }
  void getsockopt(int level, int option, void* value, kj::uint* length) override {
    below_->getsockopt(level, option, value, length);
  }
  void setsockopt(int level, int option, const void* value, kj::uint length) override {
    below_->setsockopt(level, option, value, length);
  }
  void getsockname(struct sockaddr* address, kj::uint* length) override { below_->getsockname(address, length); }
  void getpeername(struct sockaddr* address, kj::uint* length) override { below_->getpeername(address, length); }

  // For the BIO between OpenSSL and the buffers. Returns how many bytes of the peer were taken; 0: there are none.
  size_t TakeArrived(char* out, size_t most);
  void AddOutgoing(const char* bytes, size_t size) { outgoing_.insert(outgoing_.end(), bytes, bytes + size); }
  bool ended() const { return ended_; }

 private:
  // Waits for more bytes of the peer.
  kj::Promise<void> Receive();
  // Sends what OpenSSL has made, behind all that was sent before.
  kj::Promise<void> Send();
  // Reads decrypted bytes until there are `least`, or the stream ends.
  kj::Promise<size_t> ReadSome(char* out, size_t least, size_t most, size_t sofar);
  kj::Promise<void> WriteSome(const kj::byte* bytes, size_t size);
  // Takes all of the bytes. They are in outgoing_ afterwards.
  void Seal(const void* bytes, size_t size);

  kj::Own<kj::AsyncIoStream> below_;
  const SslPtr ssl_;
  std::vector<char> arrived_;  // of the peer, from arrived_begin_ to arrived_end_
  size_t arrived_begin_ = 0, arrived_end_ = 0;
  std::vector<char> outgoing_, sending_;
  bool ended_ = false;  // the peer sends nothing else
  // When all before has been sent; it goes on whether somebody waits or not. Broken for ever by a failure.
  kj::ForkedPromise<void> sent_;
};

}  // namespace mr::rpc
