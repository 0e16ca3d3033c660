#include "common/rpc/http_server.h"

#include <kj/debug.h>
#include <kj/vector.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <list>
#include <string_view>
#include <utility>

#include "common/rpc/http_head.h"
#include "common/rpc/http_reply.h"
#include "common/rpc/kj_status.h"
#include "common/rpc/listen_error.h"
#include "common/rpc/timed_stream.h"

namespace mr::rpc {
namespace {

constexpr kj::Duration kHttpSweep = 1 * kj::SECONDS;
// Bytes of a refused request that are read and dropped, and the time for it: a peer that is still sending reads the
// answer only if the connection is not reset. Guesses.
constexpr size_t kDropped = 1 << 20;
constexpr kj::Duration kDropTime = 2 * kj::SECONDS;

// Returns whether a list such as "br, gzip;q=0.5" has the word, unless with a quality of 0.
bool Accepts(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::string_view entry = list.substr(0, list.find(','));
    list.remove_prefix(std::min(entry.size() + 1, list.size()));
    const size_t from = entry.find_first_not_of(' ');
    if (from == std::string_view::npos || !entry.substr(from).starts_with(word)) continue;
    const size_t quality = entry.find("q=");
    return quality == std::string_view::npos || entry.substr(quality + 2).find_first_of("123456789") == 0 ||
           entry.substr(quality + 2).starts_with("0.");
  }
  return false;
}

std::shared_ptr<const Secret<std::string>> SecretOf(std::string_view value) {
  return value.empty() ? nullptr : std::make_shared<const Secret<std::string>>(std::string(value));
}

HttpRequest RequestOf(const HttpHead& head) {
  HttpRequest request;
  const size_t mark = std::min(head.target.find('?'), head.target.size());
  request.path = head.target.substr(0, mark);
  request.query = head.target.substr(std::min(mark + 1, head.target.size()));
  request.host = head.host;
  request.origin = head.origin;
  request.fetch_site = head.fetch_site;
  request.if_none_match = head.if_none_match;
  request.head = head.head;
  request.gzip = Accepts(head.accept_encoding, "gzip");
  request.authorization = SecretOf(head.authorization);
  request.cookie = SecretOf(head.cookie);
  return request;
}

struct Connection {
  TimedStream* socket = nullptr;
  kj::Own<kj::PromiseFulfiller<void>> end;
  bool closing = false;
  bool answering = false;
  std::function<bool()> still_good;  // of the answer that is being sent
};

// The bytes of a connection that were read and not used yet. They may have secrets.
class Unread {
 public:
  ~Unread() { explicit_bzero(bytes_.data(), bytes_.size()); }
  std::string_view view() const { return {bytes_.data(), size_}; }
  char* room() { return bytes_.data() + size_; }
  size_t room_size() const { return bytes_.size() - size_; }
  void Add(size_t n) { size_ += n; }
  void Drop(size_t n) {
    std::memmove(bytes_.data(), bytes_.data() + n, size_ - n);
    explicit_bzero(bytes_.data() + size_ - n, n);
    size_ -= n;
  }

 private:
  std::array<char, kMostHeadBytes> bytes_;
  size_t size_ = 0;
};

// A connection behind its TLS handshake.
struct Peer {
  Connection* connection;
  kj::Own<kj::AsyncIoStream> stream;
  Unread unread;
  size_t requests = 0;
};

}  // namespace

struct HttpServer::Impl final : kj::TaskSet::ErrorHandler {
  kj::AsyncIoContext& io;
  kj::Timer& timer;
  const std::shared_ptr<Authenticator> entry;
  const Site site;
  const HttpLimits limits;
  const LogLine log;
  std::list<Connection> open;
  HttpCounts counts;
  kj::Vector<kj::Own<AcceptLoop>> accepting;
  kj::TaskSet tasks;

  Impl(kj::AsyncIoContext& i, std::shared_ptr<Authenticator> e, Site s, HttpLimits l, LogLine lines)
      : io(i),
        timer(i.provider->getTimer()),
        entry(std::move(e)),
        site(std::move(s)),
        limits(l),
        log(std::move(lines)),
        tasks(*this) {
    tasks.add(SweepForEver());
  }

  void taskFailed(kj::Exception&&) override {}  // broken peers are expected

  void Close(Connection* c) {
    if (c->closing) return;
    c->closing = true;
    c->end->fulfill();
  }

  void Take(kj::Own<kj::AsyncIoStream> accepted) {
    size_t live = 0;
    Connection* oldest = nullptr;
    for (auto& c : open) {
      if (c.closing) continue;
      ++live;
      // An answer under way, such as a stream of events, is not ended for a peer that nobody knows yet.
      if (c.answering) continue;
      if (oldest == nullptr || c.socket->moved() < oldest->socket->moved()) oldest = &c;
    }
    if (live >= limits.connections) {
      ++counts.replaced;
      if (oldest == nullptr) return;  // closes the new one
      Close(oldest);
    }
    const SocketFacts facts = FactsOfPeer(*accepted);
    auto stream = kj::heap<TimedStream>(kj::mv(accepted), timer);
    auto paf = kj::newPromiseAndFulfiller<void>();
    const auto c = open.emplace(open.end());
    c->socket = stream;
    c->end = kj::mv(paf.fulfiller);
    // One chain per connection: a peer that sends garbage ends its own connection, never the accept loop.
    auto served = kj::evalNow([&] { return Begin(*c, kj::mv(stream), facts); });
    tasks.add(served.exclusiveJoin(kj::mv(paf.promise)).attach(kj::defer([this, c] { open.erase(c); })));
  }

  kj::Promise<void> Begin(Connection& c, kj::Own<kj::AsyncIoStream> stream, const SocketFacts& facts) {
    auto peer = kj::heap<Peer>();
    peer->connection = &c;
    Peer& p = *peer;
    const Hello person;  // of the kind that has no certificate
    if (!entry->Encrypts(person, facts)) {
      p.stream = kj::mv(stream);
      return Serve(p).attach(kj::mv(peer));
    }
    return InTime(limits.head, entry->Encrypt(kj::mv(stream), person))
        .then([this, &p](Result<Encrypted> encrypted) -> kj::Promise<void> {
          if (!encrypted.ok()) return kj::READY_NOW;  // expected of browsers without our authority
          p.stream = kj::mv(encrypted->stream);
          return Serve(p);
        })
        .attach(kj::mv(peer));
  }

  // Counts the peer as slow when the time is over, and breaks the promise.
  template <class T>
  kj::Promise<T> InTime(Duration limit, kj::Promise<T> promise) {
    return promise.exclusiveJoin(timer.afterDelay(ToKj(limit)).then([this]() -> kj::Promise<T> {
      ++counts.slow;
      return KJ_EXCEPTION(OVERLOADED, "the peer is too slow");
    }));
  }

  // Answers requests until the connection ends.
  kj::Promise<void> Serve(Peer& p) {
    return Head(p).then([this, &p](const HeadRead& read) -> kj::Promise<void> {
      if (read.state == HeadRead::State::kMore) return kj::READY_NOW;  // the peer has ended
      if (read.state == HeadRead::State::kRefused) return Refuse(p, read);
      const bool close = read.head.close || ++p.requests >= limits.requests;
      const ReplyForm form{read.head.head, close, read.head.chunked};
      const HttpRequest request = RequestOf(read.head);
      p.unread.Drop(read.size);
      p.connection->answering = true;
      return Answer(request)
          .then([&p, form](HttpReply reply) {
            p.connection->still_good = std::move(reply.still_good);
            return WriteReply(*p.stream, std::move(reply), form);
          })
          .then([this, &p, close]() -> kj::Promise<void> {
            p.connection->still_good = nullptr;
            p.connection->answering = false;
            if (close) {
              p.stream->shutdownWrite();
              return kj::READY_NOW;
            }
            return Serve(p);
          });
    });
  }

  // Returns the next head; kMore: the peer has ended the connection.
  kj::Promise<HeadRead> Head(Peer& p) {
    if (!p.unread.view().empty()) return InTime(limits.head, More(p, ReadHttpHead(p.unread.view())));
    auto first = p.stream->tryRead(p.unread.room(), 1, p.unread.room_size());
    return first.exclusiveJoin(timer.afterDelay(ToKj(limits.idle)).then([]() -> size_t { return 0; }))
        .then([this, &p](size_t n) -> kj::Promise<HeadRead> {
          if (n == 0) return HeadRead{};
          p.unread.Add(n);
          return InTime(limits.head, More(p, ReadHttpHead(p.unread.view())));
        });
  }

  kj::Promise<HeadRead> More(Peer& p, HeadRead read) {
    if (read.state != HeadRead::State::kMore) return kj::mv(read);
    return p.stream->tryRead(p.unread.room(), 1, p.unread.room_size())
        .then([this, &p](size_t n) -> kj::Promise<HeadRead> {
          if (n == 0) return HeadRead{};
          p.unread.Add(n);
          return More(p, ReadHttpHead(p.unread.view()));
        });
  }

  kj::Promise<HttpReply> Answer(const HttpRequest& request) {
    return kj::evalNow([&] { return site(request); }).catch_([this](kj::Exception&& e) {
      if (log) log(std::string("an HTTP request could not be answered: ") + e.getDescription().cStr());
      return HttpReply{500, "the server could not make this page; its log says why\n"};
    });
  }

  kj::Promise<void> Refuse(Peer& p, const HeadRead& read) {
    ++counts.refused;
    HttpReply reply{read.status, read.why + "\n"};
    if (read.status == 405) reply.headers.emplace_back("Allow", "GET, HEAD");
    auto dropped = [this, &p] {
      p.stream->shutdownWrite();
      return DropRest(p, 0).exclusiveJoin(timer.afterDelay(kDropTime));
    };
    return WriteReply(*p.stream, std::move(reply), {false, true, true}).then(std::move(dropped));
  }

  kj::Promise<void> DropRest(Peer& p, size_t dropped) {
    p.unread.Drop(p.unread.view().size());
    return p.stream->tryRead(p.unread.room(), 1, p.unread.room_size())
        .then([this, &p, dropped](size_t n) -> kj::Promise<void> {
          if (n == 0 || dropped + n > kDropped) return kj::READY_NOW;
          return DropRest(p, dropped + n);
        });
  }

  kj::Promise<void> SweepForEver() {
    return timer.afterDelay(kHttpSweep).then([this] {
      for (auto& c : open) {
        if (c.closing) continue;
        if (c.socket->Slow(limits.send_grace, limits.send_rate)) {
          ++counts.slow;
          Close(&c);
        } else if (c.still_good && !c.still_good()) {
          ++counts.revoked;
          Close(&c);
        }
      }
      return SweepForEver();
    });
  }
};

HttpServer::HttpServer(kj::AsyncIoContext& io, std::shared_ptr<Authenticator> entry, Site site, HttpLimits limits,
                       LogLine log)
    : impl_(kj::heap<Impl>(io, std::move(entry), std::move(site), limits, std::move(log))) {}
HttpServer::~HttpServer() = default;

HttpCounts HttpServer::counts() const {
  HttpCounts counts = impl_->counts;
  counts.connections = impl_->open.size();
  for (const auto& loop : impl_->accepting) counts.accept_failures += loop->failures();
  return counts;
}

kj::Promise<Result<uint16_t>> HttpServer::Listen(const std::string& address, uint16_t port) {
  const std::string where = address + ":" + std::to_string(port);
  return impl_->io.provider->getNetwork()
      .parseAddress(address.c_str(), port)
      .then([&impl = *impl_](kj::Own<kj::NetworkAddress> parsed) -> Result<uint16_t> {
        auto receiver = parsed->listen();
        sockaddr_storage bound{};
        uint size = sizeof bound;
        receiver->getsockname(reinterpret_cast<sockaddr*>(&bound), &size);
        MR_RETURN_IF_ERROR(impl.entry->Listening(AddressText(bound), IsLoopback(bound)));
        const std::string name = "HTTP port " + std::to_string(receiver->getPort());
        impl.accepting.add(kj::heap<AcceptLoop>(
            impl.timer, kj::mv(receiver), name,
            [&impl](kj::Own<kj::AsyncIoStream> stream) { impl.Take(kj::mv(stream)); }, impl.log));
        return impl.accepting.back()->port();
      })
      .catch_([where](kj::Exception&& e) -> Result<uint16_t> {
        return CannotListen("cannot listen for HTTP on " + where, "--http_port", e);
      });
}

}  // namespace mr::rpc
