#include "common/rpc/tls_stream.h"

#include <kj/debug.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <utility>

namespace mr::rpc {
namespace {

// Bytes of one read below: doubled while reads fill it, so that only bulk connections need much memory. Measured: with
// 512 KiB and 1 MiB a byte costs a fifth less than with 64 KiB each.
constexpr size_t kFirstReceiveBytes = 16 << 10, kMostReceiveBytes = 512 << 10;
constexpr size_t kSealBytes = 1 << 20;  // sealed at a time: a whole message of bulk data
constexpr size_t kCoalesce = 16 << 10;  // pieces of a message up to this size share one record

TlsStream& StreamOf(BIO* bio) { return *static_cast<TlsStream*>(BIO_get_data(bio)); }

int ReadBio(BIO* bio, char* out, int most) {
  BIO_clear_retry_flags(bio);
  TlsStream& stream = StreamOf(bio);
  const size_t n = most <= 0 ? 0 : stream.TakeArrived(out, static_cast<size_t>(most));
  if (n > 0) return static_cast<int>(n);
  if (stream.ended()) return 0;
  BIO_set_retry_read(bio);
  return -1;
}

int WriteBio(BIO* bio, const char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  if (size > 0) StreamOf(bio).AddOutgoing(bytes, static_cast<size_t>(size));
  return size;
}

long ControlBio(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

BIO_METHOD* Method() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "paceline buffers");
    BIO_meth_set_read(made, ReadBio);
    BIO_meth_set_write(made, WriteBio);
    BIO_meth_set_ctrl(made, ControlBio);
    return made;
  }();
  return method;
}

kj::Exception Failure(const std::string& reason) {
  return {kj::Exception::Type::FAILED, __FILE__, __LINE__, kj::heapString(reason.data(), reason.size())};
}

// Returns the reason in OpenSSL's queue of errors, and empties it.
std::string Reason() {
  const unsigned long error = ERR_peek_last_error();
  ERR_clear_error();
  const char* reason = error == 0 ? nullptr : ERR_reason_error_string(error);
  return reason == nullptr ? "the peer broke the protocol" : reason;
}

}  // namespace

void FreeSsl::operator()(ssl_st* ssl) const { SSL_free(ssl); }

TlsStream::TlsStream(kj::Own<kj::AsyncIoStream> below, SslPtr ssl)
    : below_(kj::mv(below)),
      ssl_(std::move(ssl)),
      arrived_(kFirstReceiveBytes),
      sent_(kj::Promise<void>(kj::READY_NOW).fork()) {
  BIO* bio = BIO_new(Method());
  KJ_REQUIRE(bio != nullptr, "no memory for TLS");
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_.get(), bio, bio);
}

TlsStream::~TlsStream() noexcept(false) = default;

size_t TlsStream::TakeArrived(char* out, size_t most) {
  const size_t n = std::min(most, arrived_end_ - arrived_begin_);
  std::memcpy(out, arrived_.data() + arrived_begin_, n);
  arrived_begin_ += n;
  return n;
}

kj::Promise<void> TlsStream::Receive() {
  KJ_ASSERT(arrived_begin_ == arrived_end_);
  if (arrived_end_ == arrived_.size() && arrived_.size() < kMostReceiveBytes) arrived_.resize(arrived_.size() * 2);
  return below_->tryRead(arrived_.data(), 1, arrived_.size()).then([this](size_t n) {
    arrived_begin_ = 0;
    arrived_end_ = n;
    ended_ = n == 0;
  });
}

kj::Promise<void> TlsStream::Send() {
  sent_ = sent_.addBranch()
              .then([this]() -> kj::Promise<void> {
                if (outgoing_.empty()) return kj::READY_NOW;
                sending_.clear();
                sending_.swap(outgoing_);
                return below_->write(sending_.data(), sending_.size());
              })
              .fork();
  return sent_.addBranch();
}

kj::Promise<void> TlsStream::Shake() {
  ERR_clear_error();
  const int done = SSL_do_handshake(ssl_.get());
  const int error = SSL_get_error(ssl_.get(), done);
  if (done == 1) return Send();
  if (error == SSL_ERROR_WANT_READ) {
    return Send().then([this] { return Receive(); }).then([this] { return Shake(); });
  }
  if (ended_) return KJ_EXCEPTION(DISCONNECTED, "the connection ended during the TLS handshake");
  // A refused certificate has a reason of its own, which says more than that of the protocol.
  const long verified = SSL_get_verify_result(ssl_.get());
  std::string reason = Reason();
  if (verified != X509_V_OK) reason += std::string(": ") + X509_verify_cert_error_string(verified);
  // The alert should reach the peer; whether it does changes nothing here.
  return Send().catch_([](kj::Exception&&) {}).then([reason]() -> kj::Promise<void> { return Failure(reason); });
}

std::string TlsStream::PeerName() const {
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(SSL_get1_peer_certificate(ssl_.get()), &X509_free);
  if (certificate == nullptr) return "";
  const X509_NAME* subject = X509_get_subject_name(certificate.get());
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0) return "";
  unsigned char* text = nullptr;
  const int size = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
  if (size < 0) return "";
  std::string name(reinterpret_cast<const char*>(text), static_cast<size_t>(size));
  OPENSSL_free(text);
  return name;
}

kj::Promise<size_t> TlsStream::tryRead(void* buffer, size_t least, size_t most) {
  return kj::evalNow([&] { return ReadSome(static_cast<char*>(buffer), least, most, 0); });
}

kj::Promise<size_t> TlsStream::read(void* buffer, size_t least, size_t most) {
  return tryRead(buffer, least, most).then([least](size_t n) -> kj::Promise<size_t> {
    if (n >= least) return n;
    return KJ_EXCEPTION(DISCONNECTED, "the connection ended");
  });
}

kj::Promise<size_t> TlsStream::ReadSome(char* out, size_t least, size_t most, size_t sofar) {
  while (sofar < most) {
    ERR_clear_error();
    size_t n = 0;
    const int done = SSL_read_ex(ssl_.get(), out + sofar, most - sofar, &n);
    if (done == 1) {
      sofar += n;
      continue;
    }
    const int error = SSL_get_error(ssl_.get(), done);
    if (error == SSL_ERROR_WANT_READ) {
      if (sofar >= least) break;
      // Bytes that it made meanwhile, such as an answer to a change of keys. A read never waits for a write: the peer
      // may not read before it has written.
      if (!outgoing_.empty()) const auto sending = Send();  // goes on without this promise: see sent_
      return Receive().then([this, out, least, most, sofar] { return ReadSome(out, least, most, sofar); });
    }
    if (error == SSL_ERROR_ZERO_RETURN) break;
    // Bytes that were sealed have been checked; what ends a stream without TLS's end may have cut some off.
    if (ended_) return KJ_EXCEPTION(DISCONNECTED, "the connection ended without TLS's end");
    return Failure(Reason());
  }
  return sofar;
}

void TlsStream::Seal(const void* bytes, size_t size) {
  if (size == 0) return;
  ERR_clear_error();
  size_t n = 0;
  if (SSL_write_ex(ssl_.get(), bytes, size, &n) == 1 && n == size) return;
  kj::throwFatalException(Failure("cannot seal bytes for TLS: " + Reason()));
}

kj::Promise<void> TlsStream::WriteSome(const kj::byte* bytes, size_t size) {
  const size_t now = std::min(size, kSealBytes);
  Seal(bytes, now);
  auto sent = Send();
  if (now == size) return sent;
  return sent.then([this, bytes = bytes + now, left = size - now] { return WriteSome(bytes, left); });
}

kj::Promise<void> TlsStream::write(const void* bytes, size_t size) {
  return kj::evalNow([&] { return WriteSome(static_cast<const kj::byte*>(bytes), size); });
}

kj::Promise<void> TlsStream::write(kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>> pieces) {
  return kj::evalNow([&]() -> kj::Promise<void> {
    size_t all = 0, count = 0;
    for (const auto piece : pieces) {
      if (all + piece.size() > kSealBytes) break;
      all += piece.size();
      ++count;
    }
    if (all <= kCoalesce) {
      std::vector<kj::byte> one;
      one.reserve(all);
      for (size_t i = 0; i < count; ++i) one.insert(one.end(), pieces[i].begin(), pieces[i].end());
      Seal(one.data(), one.size());
    } else {
      for (size_t i = 0; i < count; ++i) Seal(pieces[i].begin(), pieces[i].size());
    }
    if (count == pieces.size()) return Send();
    // A piece for itself, then the rest. The caller keeps the array of pieces until the write is done.
    const auto next = pieces[count];
    const auto rest = pieces.slice(count + 1, pieces.size());
    return WriteSome(next.begin(), next.size()).then([this, rest]() -> kj::Promise<void> {
      if (rest.size() == 0) return kj::READY_NOW;
      return write(rest);
    });
  });
}

void TlsStream::shutdownWrite() {
  ERR_clear_error();
  SSL_shutdown(ssl_.get());
  sent_ = Send().then([this] { below_->shutdownWrite(); }).fork();
}

}  // namespace mr::rpc
