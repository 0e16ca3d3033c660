#include "common/rpc/http_server.h"

#include <kj/compat/http.h>

#include <algorithm>
#include <list>
#include <string_view>
#include <utility>
#include <vector>

#include "common/rpc/kj_status.h"
#include "common/rpc/listen_error.h"
#include "common/rpc/timed_stream.h"

namespace mr::rpc {
namespace {

constexpr kj::Duration kSweep = 1 * kj::SECONDS;
// The time for a request's header, and between two requests on one connection.
constexpr kj::Duration kRequestTimeout = 10 * kj::SECONDS;

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

struct Connection {
  TimedStream* stream = nullptr;
  kj::Own<kj::PromiseFulfiller<void>> end;
  bool closing = false;
};

}  // namespace

struct HttpServer::Impl final : kj::HttpService, kj::TaskSet::ErrorHandler {
  kj::AsyncIoContext& io;
  kj::Timer& timer;
  std::vector<std::pair<std::string, Page>> routes;  // few, in the order in which the 404 lists them
  Site site;
  const HttpLimits limits;
  const LogLine log;
  kj::HttpHeaderTable::Builder headers;
  const kj::HttpHeaderId origin, fetch_site, if_none_match, accept_encoding;
  const kj::Own<kj::HttpHeaderTable> table;
  kj::HttpServer server;
  std::list<Connection> open;
  HttpCounts counts;
  kj::Vector<kj::Own<AcceptLoop>> accepting;
  kj::TaskSet tasks;

  static kj::HttpServerSettings Settings() {
    kj::HttpServerSettings settings;
    settings.headerTimeout = kRequestTimeout;
    settings.pipelineTimeout = kRequestTimeout;
    return settings;
  }

  Impl(kj::AsyncIoContext& i, HttpLimits l, LogLine lines)
      : io(i),
        timer(i.provider->getTimer()),
        limits(l),
        log(std::move(lines)),
        origin(headers.add("Origin")),
        fetch_site(headers.add("Sec-Fetch-Site")),
        if_none_match(headers.add("If-None-Match")),
        accept_encoding(headers.add("Accept-Encoding")),
        table(headers.build()),
        server(timer, *table, *this, Settings()),
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
      if (oldest == nullptr || c.stream->moved() < oldest->stream->moved()) oldest = &c;
    }
    if (oldest != nullptr && live >= limits.connections) {
      ++counts.replaced;
      Close(oldest);
    }
    auto stream = kj::heap<TimedStream>(kj::mv(accepted), timer);
    auto paf = kj::newPromiseAndFulfiller<void>();
    const auto c = open.emplace(open.end());
    c->stream = stream;
    c->end = kj::mv(paf.fulfiller);
    // One call per connection: a peer that sends garbage ends its own connection, never the accept loop.
    auto served = kj::evalNow([&] { return server.listenHttp(kj::mv(stream)); });
    tasks.add(served.exclusiveJoin(kj::mv(paf.promise)).attach(kj::defer([this, c] { open.erase(c); })));
  }

  kj::Promise<void> SweepForEver() {
    return timer.afterDelay(kSweep).then([this] {
      for (auto& c : open) {
        if (c.closing || !c.stream->Slow(limits.send_grace, limits.send_rate)) continue;
        ++counts.slow;
        Close(&c);
      }
      return SweepForEver();
    });
  }

  kj::Promise<void> request(kj::HttpMethod method, kj::StringPtr url, const kj::HttpHeaders& sent,
                            kj::AsyncInputStream&, Response& response) override {
    if (method != kj::HttpMethod::GET && method != kj::HttpMethod::HEAD) {
      return Send(response, false, {405, "only GET here\n"});
    }
    const auto value = [&sent](kj::HttpHeaderId id) -> std::string {
      KJ_IF_MAYBE (text, sent.get(id)) {
        return text->cStr();
      }
      return "";
    };
    HttpRequest asked;
    const std::string_view whole(url.begin(), url.size());
    const size_t mark = whole.find('?');
    asked.path = whole.substr(0, mark);
    if (mark != std::string_view::npos) asked.query = whole.substr(mark + 1);
    asked.host = value(kj::HttpHeaderId::HOST);
    asked.origin = value(origin);
    asked.fetch_site = value(fetch_site);
    asked.if_none_match = value(if_none_match);
    asked.gzip = Accepts(value(accept_encoding), "gzip");
    return PageAt(asked).then([this, &response, head = method == kj::HttpMethod::HEAD](HttpReply reply) {
      return Send(response, head, std::move(reply));
    });
  }

  kj::Promise<HttpReply> PageAt(const HttpRequest& asked) {
    for (const auto& [at, page] : routes) {
      if (at == asked.path) return page();
    }
    if (site) return site(asked);
    std::string list;
    for (size_t i = 0; i < routes.size(); ++i) {
      list += (i == 0 ? "" : i + 1 == routes.size() ? " and " : ", ") + routes[i].first;
    }
    return HttpReply{404, "no such page: there are " + list + "\n"};
  }

  static const char* Word(unsigned status) {
    switch (status) {
      case 200: return "OK";
      case 304: return "Not Modified";
      case 400: return "Bad Request";
      case 403: return "Forbidden";
      case 404: return "Not Found";
      case 405: return "Method Not Allowed";
      case 414: return "URI Too Long";
      case 503: return "Service Unavailable";
      default: return "Error";
    }
  }

  kj::Promise<void> Send(Response& response, bool head, HttpReply reply) {
    kj::HttpHeaders out(*table);
    out.set(kj::HttpHeaderId::CONTENT_TYPE, kj::str(reply.content_type.c_str()));
    for (const auto& [name, value] : reply.headers) out.add(kj::str(name.c_str()), kj::str(value.c_str()));
    if (reply.stream) {
      auto stream = response.send(reply.status, Word(reply.status), out);
      if (head) return kj::READY_NOW;
      auto writes = kj::heap<std::function<kj::Promise<void>(kj::AsyncOutputStream&)>>(std::move(reply.stream));
      auto written = (*writes)(*stream);
      return written.attach(kj::mv(stream), kj::mv(writes));
    }
    auto body = reply.shared_body != nullptr ? std::move(reply.shared_body)
                                             : std::make_shared<const std::string>(std::move(reply.body));
    auto stream = response.send(reply.status, Word(reply.status), out, body->size());
    if (head || body->empty()) return kj::READY_NOW;
    auto written = stream->write(body->data(), body->size());
    return written.attach(kj::mv(stream), std::move(body));
  }
};

HttpServer::HttpServer(kj::AsyncIoContext& io, HttpLimits limits, LogLine log)
    : impl_(kj::heap<Impl>(io, limits, std::move(log))) {}
HttpServer::~HttpServer() = default;

void HttpServer::Route(const std::string& path, Page page) { impl_->routes.emplace_back(path, std::move(page)); }

void HttpServer::SetSite(Site site) { impl_->site = std::move(site); }

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
