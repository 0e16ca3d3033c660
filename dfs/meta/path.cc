#include <cstdio>

#include "dfs/meta/state.h"

namespace mr::dfs {
namespace {

// Limit of ext4 and HDFS on a name; PATH_MAX.
constexpr size_t kMaxComponent = 255;
constexpr size_t kMaxPath = 4096;

// Rejects overlong forms, surrogates and code points above U+10FFFF.
bool IsUtf8(const std::string& s) {
  for (size_t i = 0; i < s.size();) {
    const auto c = static_cast<unsigned char>(s[i]);
    const int more = c < 0x80                ? 0
                     : c >= 0xc2 && c < 0xe0 ? 1
                     : c >= 0xe0 && c < 0xf0 ? 2
                     : c >= 0xf0 && c < 0xf5 ? 3
                                             : -1;
    if (more < 0 || i + static_cast<size_t>(more) >= s.size()) return false;
    uint32_t code = more == 0 ? c : c & (0x3f >> more);
    for (int k = 1; k <= more; ++k) {
      const auto next = static_cast<unsigned char>(s[i + static_cast<size_t>(k)]);
      if ((next & 0xc0) != 0x80) return false;
      code = code << 6 | (next & 0x3f);
    }
    if ((more == 2 && code < 0x800) || (more == 3 && (code < 0x10000 || code > 0x10ffff))) return false;
    if (code >= 0xd800 && code < 0xe000) return false;
    i += static_cast<size_t>(more) + 1;
  }
  return true;
}

// Returns the path for messages, with bytes that a terminal must not receive as \xNN.
std::string Printable(const std::string& path) {
  std::string out;
  for (const char ch : path.substr(0, 200)) {
    const auto c = static_cast<unsigned char>(ch);
    if (c >= 0x20 && c < 0x7f) {
      out += ch;
    } else {
      char text[8];
      std::snprintf(text, sizeof text, "\\x%02x", c);
      out += text;
    }
  }
  return out;
}

}  // namespace

Status CheckPath(const std::string& path) {
  const auto bad = [&](const char* why) {
    return InvalidArgument("'" + Printable(path) + "' is not a valid path of the block store: " + why);
  };
  if (path.empty() || path[0] != '/') return bad("it must begin with '/'");
  if (path.size() > kMaxPath) return bad("it is longer than 4096 bytes");
  if (!IsUtf8(path)) return bad("it is not valid UTF-8");
  for (const char ch : path) {
    const auto c = static_cast<unsigned char>(ch);
    if (c < 0x20 || c == 0x7f) return bad("it contains a control character");
  }
  if (path == "/") return Status::Ok();
  size_t begin = 1;
  while (true) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string name = path.substr(begin, end - begin);
    if (name.empty()) return bad("it has an empty component (a double or a trailing '/')");
    if (name == "." || name == "..") return bad("'.' and '..' are not allowed");
    if (name.size() > kMaxComponent) return bad("a component is longer than 255 bytes");
    if (end == path.size()) return Status::Ok();
    begin = end + 1;
  }
}

std::vector<std::string> Components(const std::string& path) {
  std::vector<std::string> names;
  for (size_t begin = 1; begin < path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    names.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

std::pair<std::string, std::string> SplitPath(const std::string& path) {
  const size_t slash = path.rfind('/');
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

}  // namespace mr::dfs
