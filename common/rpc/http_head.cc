#include "common/rpc/http_head.h"

#include <algorithm>
#include <array>
#include <utility>

namespace mr::rpc {
namespace {

constexpr std::string_view kEnd = "\r\n\r\n";
constexpr size_t kLongestMethod = 17;  // UPDATEREDIRECTREF, of those that IANA lists

HeadRead RefusedHead(unsigned status, std::string why) {
  HeadRead read;
  read.state = HeadRead::State::kRefused;
  read.status = status;
  read.why = std::move(why);
  return read;
}

// A character of a token (RFC 9110, 5.6.2).
bool InToken(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool InValue(char c) { return static_cast<unsigned char>(c) >= ' ' ? c != 0x7f : c == '\t'; }
bool InTarget(char c) { return c > ' ' && c < 0x7f && c != '#'; }

bool SameName(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

std::string_view Trimmed(std::string_view text) {
  const size_t from = text.find_first_not_of(" \t");
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t") + 1 - from);
}

bool HasWord(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::string_view entry = list.substr(0, list.find(','));
    list.remove_prefix(std::min(entry.size() + 1, list.size()));
    if (SameName(Trimmed(entry), word)) return true;
  }
  return false;
}

// Returns whether bytes without an end may still become a request that is taken: a method's name and a space.
bool MayBegin(std::string_view bytes) {
  const std::string_view word = bytes.substr(0, bytes.find(' '));
  if (word.size() < bytes.size()) return word == "GET" || word == "HEAD";
  return std::string_view("GET").starts_with(word) || std::string_view("HEAD").starts_with(word);
}

HeadRead WrongMethod(std::string_view bytes) {
  const std::string_view word = bytes.substr(0, std::min(bytes.find(' '), kLongestMethod));
  if (word.empty() || !std::all_of(word.begin(), word.end(), InToken)) {
    return RefusedHead(400, "this port speaks HTTP, and these bytes are none");
  }
  return RefusedHead(405, "only GET and HEAD here: nothing is changed over HTTP");
}

// Headers that pages use. Two of one name would let two readers choose differently.
struct Field {
  std::string_view name;
  std::string_view HttpHead::*value;
};
constexpr std::array kFields{Field{"Host", &HttpHead::host},
                             Field{"Origin", &HttpHead::origin},
                             Field{"Sec-Fetch-Site", &HttpHead::fetch_site},
                             Field{"If-None-Match", &HttpHead::if_none_match},
                             Field{"Accept-Encoding", &HttpHead::accept_encoding},
                             Field{"Authorization", &HttpHead::authorization},
                             Field{"Cookie", &HttpHead::cookie}};

class HeadReader {
 public:
  // line: without its end. Returns whether it is a request line that is taken.
  bool TakeRequestLine(std::string_view line) {
    read_.head.head = line.starts_with("HEAD ");
    line.remove_prefix(read_.head.head ? 5 : 4);
    const size_t space = std::min(line.find(' '), line.size());
    read_.head.target = line.substr(0, space);
    const std::string_view version = line.substr(std::min(space + 1, line.size()));
    if (version != "HTTP/1.1" && version != "HTTP/1.0") {
      const bool other = version.starts_with("HTTP/") && version.find(' ') == std::string_view::npos;
      return other ? Refuse(505, "only HTTP/1.1 and HTTP/1.0 here") : Refuse(400, "the request line is no valid one");
    }
    const std::string_view target = read_.head.target;
    if (!target.starts_with('/') || !std::all_of(target.begin(), target.end(), InTarget)) {
      return Refuse(400, "the request line must name a path of this server");
    }
    read_.head.chunked = version == "HTTP/1.1";
    read_.head.close = !read_.head.chunked;
    return true;
  }

  bool TakeHeader(std::string_view line) {
    if (++headers_ > kMostHeaders) return Refuse(431, "a request has at most 100 headers here");
    if (line.front() == ' ' || line.front() == '\t') return Refuse(400, "headers may not go on in the next line");
    const size_t colon = std::min(line.find(':'), line.size());
    const std::string_view name = line.substr(0, colon);
    if (colon == line.size() || name.empty() || !std::all_of(name.begin(), name.end(), InToken)) {
      return Refuse(400, "a header is no NAME: VALUE, or has white space before its colon");
    }
    const std::string_view value = Trimmed(line.substr(colon + 1));
    if (!std::all_of(value.begin(), value.end(), InValue)) return Refuse(400, "a header has a control character");
    if (SameName(name, "Content-Length")) {
      return value == "0" ? true : Refuse(413, "a request has no body here");
    }
    if (SameName(name, "Transfer-Encoding")) return Refuse(413, "a request has no body here");
    if (SameName(name, "Upgrade")) return Refuse(400, "this server changes to no other protocol");
    if (SameName(name, "Connection")) {
      read_.head.close = read_.head.close || HasWord(value, "close");
      return true;
    }
    for (size_t i = 0; i < kFields.size(); ++i) {
      if (!SameName(name, kFields[i].name)) continue;
      if ((seen_ & 1u << i) != 0) return Refuse(400, std::string(kFields[i].name) + " is there twice");
      seen_ |= 1u << i;
      read_.head.*kFields[i].value = value;
    }
    return true;
  }

  HeadRead Take(size_t size) {
    if (read_.state == HeadRead::State::kRefused) return std::move(read_);
    if (read_.head.chunked && (seen_ & 1u) == 0) return RefusedHead(400, "HTTP/1.1 needs the header Host");
    read_.state = HeadRead::State::kWhole;
    read_.size = size;
    return std::move(read_);
  }

 private:
  bool Refuse(unsigned status, std::string why) {
    read_ = RefusedHead(status, std::move(why));
    return false;
  }

  HeadRead read_;
  size_t headers_ = 0;
  unsigned seen_ = 0;  // bits by place in kFields
};

}  // namespace

HeadRead ReadHttpHead(std::string_view bytes) {
  if (!MayBegin(bytes)) return WrongMethod(bytes);
  const size_t end = bytes.substr(0, kMostHeadBytes).find(kEnd);
  if (end == std::string_view::npos) {
    if (bytes.size() < kMostHeadBytes) return {};
    return RefusedHead(431, "a request's line and headers have at most 16 KiB here");
  }
  std::string_view rest = bytes.substr(0, end + 2);
  HeadReader reader;
  for (bool first = true; !rest.empty(); first = false) {
    const size_t line_end = rest.find("\r\n");
    const std::string_view line = rest.substr(0, line_end);
    rest.remove_prefix(line_end + 2);
    if (line.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos) {
      return RefusedHead(400, "lines end with CR LF, and have neither of them inside");
    }
    if (!(first ? reader.TakeRequestLine(line) : reader.TakeHeader(line))) break;
  }
  return reader.Take(end + kEnd.size());
}

}  // namespace mr::rpc
