#include "tests/cluster/canaries.h"

#include <gtest/gtest.h>

#include <cstring>

#include "common/io/files.h"
#include "tests/support/files_below.h"

namespace mr::test {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string Hex(std::string_view bytes, std::string_view digits) {
  std::string text;
  for (const unsigned char c : bytes) {
    text += digits[c >> 4];
    text += digits[c & 15];
  }
  return text;
}

}  // namespace

std::string Base64(std::string_view bytes, bool for_urls) {
  std::string text;
  uint32_t bits = 0;
  int count = 0;
  const auto put = [&](uint32_t six) {
    const char c = kDigits[six & 63];
    text += !for_urls ? c : c == '+' ? '-' : c == '/' ? '_' : c;
  };
  for (const unsigned char c : bytes) {
    bits = bits << 8 | c;
    for (count += 8; count >= 6; count -= 6) put(bits >> (count - 6));
  }
  if (count > 0) put(bits << (6 - count));
  return text;
}

std::string FromBase64Url(std::string_view text) {
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const size_t six = kDigits.find(c == '-' ? '+' : c == '_' ? '/' : c);
    if (six == kDigits.npos) {
      ADD_FAILURE() << "no base64url";
      return "";
    }
    bits = bits << 6 | static_cast<uint32_t>(six);
    if ((count += 6) >= 8) bytes += static_cast<char>(bits >> (count -= 8));
  }
  return bytes;
}

void Canaries::AddForm(std::string bytes, const std::string& name, const std::string& home) {
  uint32_t first = 0;
  std::memcpy(&first, bytes.data(), sizeof first);
  by_first_[first].push_back(forms_.size());
  first_[first & 0xffff] = 1;
  forms_.push_back({std::move(bytes), name, home});
}

void Canaries::Add(const std::string& name, std::string_view secret, const std::string& home) {
  if (secret.size() < 16) {
    ADD_FAILURE() << name << " is too short to be searched for: " << secret.size() << " bytes";
    return;
  }
  ++secrets_;
  AddForm(std::string(secret), name, home);
  AddForm(Hex(secret, "0123456789abcdef"), name + " (hex)", home);
  AddForm(Hex(secret, "0123456789ABCDEF"), name + " (hex)", home);
  for (const bool for_urls : {false, true}) {
    for (const size_t before : {0, 1, 2}) {
      // Characters at both ends also depend on the bytes around the secret.
      const size_t bytes = before + secret.size();
      const std::string text = Base64(std::string(before, '\0') + std::string(secret), for_urls);
      const size_t from = before == 0 ? 0 : before + 1;
      AddForm(text.substr(from, bytes * 4 / 3 - from), name + " (base64)", home);
    }
  }
}

void Canaries::AddToken(const std::string& name, const std::string& text, const std::string& home) {
  Add(name, text, home);
  const std::string bytes = FromBase64Url(text.substr(std::string_view("mrt1_").size()));
  ASSERT_GT(bytes.size(), 64u);
  Add(name + "'s signature", bytes.substr(bytes.size() - 32), home);
}

void Canaries::AddPrivateKey(const std::string& name, const std::string& pem, const std::string& home) {
  std::string der;
  size_t lines = 0;
  for (size_t at = 0, end = 0; (end = pem.find('\n', at)) != pem.npos; at = end + 1) {
    std::string line = pem.substr(at, end - at);
    if (line.starts_with("-----")) continue;
    while (line.ends_with('=')) line.pop_back();
    // The public half, which may be anywhere, begins in the second line of a P-256 key.
    if (lines++ < 2 && line.size() >= 48) Add(name, line, home);
    for (char& c : line) c = c == '+' ? '-' : c == '/' ? '_' : c;
    der += line;
  }
  der = FromBase64Url(der);
  // PKCS #8: an octet string of 32 bytes, in an ECPrivateKey of version 1 or (Ed25519) in another octet string.
  for (const std::string_view head : {std::string_view("\x02\x01\x01\x04\x20"), std::string_view("\x04\x22\x04\x20")}) {
    if (const size_t at = der.find(head); at != der.npos) return Add(name, der.substr(at + head.size(), 32), home);
  }
  ADD_FAILURE() << name << " is no private key that this test can read";
}

std::set<std::string> Canaries::In(std::string_view text, const std::string& path) const {
  std::set<std::string> found;
  const uint8_t* const any = first_.data();
  const char* const bytes = text.data();
  const size_t end = text.size() < 16 ? 0 : text.size() - 15;
  for (size_t at = 0; at < end; ++at) {
    uint16_t two;
    __builtin_memcpy(&two, bytes + at, sizeof two);
    if (any[two] == 0) continue;
    uint32_t first;
    std::memcpy(&first, bytes + at, sizeof first);
    const auto forms = by_first_.find(first);
    if (forms == by_first_.end()) continue;
    for (const size_t i : forms->second) {
      const Form& form = forms_[i];
      if (text.substr(at).starts_with(form.bytes) && (form.home.empty() || form.home != path)) found.insert(form.name);
    }
  }
  return found;
}

std::set<std::string> Canaries::Below(const std::string& directory, size_t* files) const {
  std::set<std::string> found;
  for (const std::string& path : FilesBelow(directory)) {
    const auto text = ReadFile(path);
    if (!text.ok()) continue;  // removed meanwhile
    ++*files;
    for (const std::string& name : In(*text, path)) found.insert(name + " in " + path);
    for (const std::string& name : In(path.substr(path.rfind('/') + 1))) found.insert(name + " as a file's name");
  }
  return found;
}

}  // namespace mr::test
