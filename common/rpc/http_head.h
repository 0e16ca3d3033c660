// The head of an HTTP request: all that a daemon reads of a browser or a program. Pure: no I/O, no clock.
//
// It is stricter than the standard (RFC 9110, 9112), since nothing that pages need is lost: GET and HEAD only, no body,
// no upgrade, lines that end with CR LF. Two programs can thus not disagree about where a request ends.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mr::rpc {

// Bytes of a request line with its headers. Browsers send 1 to 4 KiB; Apache and nginx take 8 KiB per line.
inline constexpr size_t kMostHeadBytes = 16 << 10;
inline constexpr size_t kMostHeaders = 100;  // as Apache's LimitRequestFields

// The parts that daemons use. They point into the bytes that were read. Empty: absent.
struct HttpHead {
  bool head = false;    // HEAD, else GET
  bool close = false;   // the peer wants no further request on this connection, or speaks HTTP/1.0
  bool chunked = true;  // the peer reads bodies in pieces: HTTP/1.1
  std::string_view target;
  std::string_view host, origin, fetch_site, if_none_match, accept_encoding, authorization, cookie;
};

struct HeadRead {
  enum class State {
    kMore,     // the head has no end yet; more bytes may follow
    kWhole,    // `head` is set, and has `size` bytes
    kRefused,  // no further byte of this connection means anything
  };
  State state = State::kMore;
  HttpHead head;
  size_t size = 0;
  unsigned status = 0;  // of the answer to a refused head
  std::string why;      // for the peer: a sentence without its bytes
};

// Reads the head at the beginning of the bytes. Cost: one pass over the bytes, and none until their end is there.
HeadRead ReadHttpHead(std::string_view bytes);

}  // namespace mr::rpc
