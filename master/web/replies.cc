#include "master/web/replies.h"

#include <utility>

#include "master/web/render.h"

namespace mr::web {

unsigned HttpStatusOf(const Status& status) {
  switch (status.code()) {
    case Code::kOk: return 200;
    case Code::kInvalidArgument: return 400;
    case Code::kNotAllowed: return 403;
    case Code::kNotFound: return 404;
    default: return 503;
  }
}

rpc::HttpReply JsonReply(unsigned status, std::string text) {
  rpc::HttpReply reply{status, std::move(text), "application/json"};
  reply.headers = {{"Cache-Control", "no-store"},
                   {"Vary", "Accept-Encoding"},
                   {"X-Content-Type-Options", "nosniff"},
                   {"Cross-Origin-Resource-Policy", "same-origin"}};
  return reply;
}

rpc::HttpReply ErrorReply(const Status& status, const std::string& hint) {
  return JsonReply(HttpStatusOf(status), RenderError(status, hint));
}

rpc::HttpReply PlainPage(unsigned status, const std::string& title, const std::string& body,
                         const std::string& refresh) {
  std::string head = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">";
  if (!refresh.empty()) head += "<meta http-equiv=\"refresh\" content=\"0;url=" + refresh + "\">";
  rpc::HttpReply reply{status, head + "<title>" + title + "</title><h1>" + title + "</h1>" + body + "\n",
                       "text/html; charset=utf-8"};
  reply.headers = {
      {"Cache-Control", "no-store"},
      {"Content-Security-Policy", "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
      {"X-Content-Type-Options", "nosniff"},
      {"Referrer-Policy", "no-referrer"},
      {"Cross-Origin-Opener-Policy", "same-origin"}};
  return reply;
}

}  // namespace mr::web
