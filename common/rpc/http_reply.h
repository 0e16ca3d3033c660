// Writes answers of the HTTP server. Thread: a KJ loop.
#pragma once

#include <kj/async-io.h>

#include <string>

#include "common/rpc/http_server.h"

namespace mr::rpc {

// The form in which a peer reads an answer.
struct ReplyForm {
  bool head = false;    // without the body
  bool close = false;   // the connection ends behind it
  bool chunked = true;  // streams come in pieces; else they end with the connection
};

// Writes the answer. out: outlives the promise.
kj::Promise<void> WriteReply(kj::AsyncIoStream& out, HttpReply reply, const ReplyForm& form);

}  // namespace mr::rpc
