// Answers that several parts of the site give. Thread: any.
#pragma once

#include <string>

#include "common/base/status.h"
#include "common/rpc/http_server.h"

namespace mr::web {

// Returns the HTTP status of an error.
unsigned HttpStatusOf(const Status& status);
// Returns a document.
rpc::HttpReply JsonReply(unsigned status, std::string text);
// Returns an error as a document. hint: what to do next; empty: nothing.
rpc::HttpReply ErrorReply(const Status& status, const std::string& hint);
// Returns a page without scripts. title, body: HTML of this program's, without bytes of anybody else. refresh: the URL
// that a browser goes on to; empty: none.
rpc::HttpReply PlainPage(unsigned status, const std::string& title, const std::string& body,
                         const std::string& refresh = "");

}  // namespace mr::web
