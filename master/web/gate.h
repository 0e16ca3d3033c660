// Decides who may read what over HTTP, before any page is made: the route's roles (routes.h), the identity that a
// header or a session proves, and that no page of another site asks. Thread: the KJ loop's.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <variant>

#include "common/base/time.h"
#include "common/io/clock.h"
#include "common/model/identity.h"
#include "common/rpc/authenticator.h"
#include "common/rpc/http_server.h"
#include "master/web/hosts.h"
#include "master/web/logins.h"
#include "master/web/routes.h"

namespace mr::web {

// Returns the request without the second slash that a reverse proxy adds below a path without a slash at its end.
rpc::HttpRequest BehindProxy(const rpc::HttpRequest& request);

class Gate {
 public:
  struct Options {
    std::set<std::string> hosts;      // as of Hosts
    std::string cookie = "paceline";  // name of the session's cookie; one per cluster, since ports share cookies
    bool secure = false;              // TLS: browsers send the cookie over nothing else
    Logins::Limits logins;
    std::function<Instant()> now = Now;  // a test has its own
  };
  // A request that may be answered.
  struct Passed {
    const Route* route = nullptr;
    Identity identity;                 // without a subject: not known, which some routes allow
    std::function<bool()> still_good;  // whether the identity may go on; null: for ever
  };
  // entry: of the HTTP port.
  Gate(Options options, std::shared_ptr<rpc::Authenticator> entry);

  // Returns what passed, or the answer that refuses it.
  std::variant<Passed, rpc::HttpReply> Check(const rpc::HttpRequest& request);
  // Returns the path and the query of a link that lets in this login once: "login?code=...". Without a code where
  // everybody is let in. Errors: those of Logins::MakeLink.
  Result<Secret<std::string>> MakeLink(Login login);
  // Answers a request for such a link: a session's cookie, and a page that goes on to the site. It is no redirection:
  // browsers leave a strict cookie out of those that a page or a file of somewhere else began. HEAD leaves the link as
  // it is, and gets no cookie.
  rpc::HttpReply LogIn(const rpc::HttpRequest& request);

 private:
  // Returns the login of a request. Errors: kNotAllowed, with a text for the peer.
  Result<Login> Identify(const rpc::HttpRequest& request);
  // Returns the value of the session's cookie; empty: none.
  std::string_view SessionKey(const rpc::HttpRequest& request) const;

  const Options options_;
  const std::shared_ptr<rpc::Authenticator> entry_;
  const Hosts hosts_;
  Logins logins_;
};

}  // namespace mr::web
