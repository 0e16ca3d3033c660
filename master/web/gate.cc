#include "master/web/gate.h"

#include <algorithm>
#include <utility>

#include "common/rpc/http_entry.h"
#include "master/web/render.h"
#include "master/web/replies.h"

namespace mr::web {
namespace {

constexpr size_t kLongestUrl = 2000;  // of a path and its query; ours are far shorter
constexpr std::string_view kCode = "code=";
constexpr const char* kAdvice = "run mrctl page on a machine where you may use this cluster, and open its link";

std::string HtmlOf(const std::string& text) {
  std::string html;
  for (const char c : text) html += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return html;
}

bool IsApi(std::string_view path) { return path == "/api/v1" || path.starts_with("/api/v1/"); }

// The answer to somebody who is not known.
rpc::HttpReply Unknown(const Route& route, const std::string& path, const Status& why) {
  rpc::HttpReply reply;
  if (IsApi(path)) {
    reply = JsonReply(401, RenderError(why, std::string(kAdvice) + ", or send a token: Authorization: Bearer TOKEN"));
  } else if (route.kind == RouteKind::kMetrics) {
    reply = {401, why.message() + ". Send a token of a viewer: Authorization: Bearer TOKEN\n"};
    reply.headers = {{"Cache-Control", "no-store"}};
  } else {
    reply = PlainPage(401, "This page needs an identity",
                      "<p>" + HtmlOf(why.message()) +
                          ".</p><p>Run <code>mrctl page</code> on a machine where you may use this "
                          "cluster, and open the link that it prints. It works once, for a minute.</p>");
  }
  reply.headers.emplace_back("WWW-Authenticate", "Bearer");
  return reply;
}

rpc::HttpReply Refused(const Status& why) {
  rpc::HttpReply reply = ErrorReply(why, "");
  reply.status = 403;
  return reply;
}

}  // namespace

rpc::HttpRequest BehindProxy(const rpc::HttpRequest& request) {
  rpc::HttpRequest own = request;
  if (own.path.starts_with("//")) own.path.erase(0, 1);
  return own;
}

Gate::Gate(Options options, std::shared_ptr<rpc::Authenticator> entry)
    : options_(std::move(options)), entry_(std::move(entry)), hosts_(options_.hosts), logins_(options_.logins) {}

std::variant<Gate::Passed, rpc::HttpReply> Gate::Check(const rpc::HttpRequest& request) {
  if (request.path.size() + request.query.size() > kLongestUrl) {
    rpc::HttpReply reply = ErrorReply(InvalidArgument("the address is too long"), "");
    reply.status = 414;
    return reply;
  }
  Passed passed;
  passed.route = &RouteOf(request.path);
  const RouteKind kind = passed.route->kind;
  const bool browser = !request.origin.empty() || !request.fetch_site.empty();
  // Programs may use any name: no page of another site can send a token, or read figures without being a browser.
  // With --insecure nothing else keeps the page of another site out, whose scripts can set this header.
  const bool program =
      !entry_->insecure() && !browser && (request.authorization != nullptr || kind == RouteKind::kMetrics);
  const bool health = kind == RouteKind::kHealth || kind == RouteKind::kReady;
  if (!program && !health) {
    const bool navigates = !IsApi(request.path) && kind != RouteKind::kMetrics;
    const Status allowed = hosts_.Check(request.host, request.origin, request.fetch_site, navigates);
    if (!allowed.ok()) return Refused(allowed);
  }
  auto login = Identify(request);
  if (login.ok()) {
    passed.identity = login->identity;
    passed.still_good = [entry = entry_, lease = login->lease, end = login->end, now = options_.now] {
      return entry->StillGood(lease) && (end == Instant{} || now() < end);
    };
  } else if (passed.route->roles != 0) {
    return Unknown(*passed.route, request.path, login.status());
  }
  if (const Status allowed = CheckRoute(*passed.route, passed.identity); !allowed.ok()) return Refused(allowed);
  return passed;
}

Result<Login> Gate::Identify(const rpc::HttpRequest& request) {
  if (entry_->insecure() || request.authorization != nullptr) {
    MR_ASSIGN_OR_RETURN(auto admitted, rpc::AdmitBearer(*entry_, request.authorization.get()));
    return Login{std::move(admitted.identity), std::move(admitted.lease), {}};
  }
  const std::string_view key = SessionKey(request);
  if (key.empty()) return Status(Code::kNotAllowed, "The request has neither a session nor a token");
  auto login = logins_.Find(key, options_.now());
  if (!login) return Status(Code::kNotAllowed, "The session has ended, or the master was started again");
  if (!entry_->StillGood(login->lease)) {
    logins_.End(key);
    return Status(Code::kNotAllowed, "The token of this session has expired or was revoked");
  }
  return *std::move(login);
}

std::string_view Gate::SessionKey(const rpc::HttpRequest& request) const {
  if (request.cookie == nullptr) return {};
  std::string_view rest = request.cookie->Reveal();
  while (!rest.empty()) {
    std::string_view pair = rest.substr(0, rest.find(';'));
    rest.remove_prefix(std::min(pair.size() + 1, rest.size()));
    pair.remove_prefix(std::min(pair.find_first_not_of(' '), pair.size()));
    const size_t name = options_.cookie.size();
    if (pair.size() > name && pair[name] == '=' && pair.starts_with(options_.cookie)) return pair.substr(name + 1);
  }
  return {};
}

Result<Secret<std::string>> Gate::MakeLink(Login login) {
  if (entry_->insecure()) return Secret<std::string>();
  login.identity.roles &= kAllPeople;
  MR_ASSIGN_OR_RETURN(const Secret<std::string> code, logins_.MakeLink(std::move(login), options_.now()));
  return Secret<std::string>("login?" + std::string(kCode) + code.Reveal());
}

rpc::HttpReply Gate::LogIn(const rpc::HttpRequest& request) {
  std::string cookie;
  // HEAD changes nothing: programs that look at a link before a person opens it must not use it up. The answer does not
  // say whether the link is good.
  if (!request.head && !entry_->insecure()) {
    const std::string_view query = request.query;
    const auto key = logins_.Exchange(query.starts_with(kCode) ? query.substr(kCode.size()) : "", options_.now());
    if (!key.ok()) {
      return PlainPage(401, "This link is of no use any more",
                       "<p>It works once, for a minute. Run <code>mrctl page</code> again, and open the new link.</p>");
    }
    cookie = options_.cookie + "=" + key->Reveal() + "; Path=/; HttpOnly; SameSite=Strict";
    if (options_.secure) cookie += "; Secure";
  }
  rpc::HttpReply reply = PlainPage(200, "Paceline", "<p><a href=\"./\">Go on to the cluster</a></p>", "./");
  if (!cookie.empty()) reply.headers.emplace_back("Set-Cookie", std::move(cookie));
  return reply;
}

}  // namespace mr::web
