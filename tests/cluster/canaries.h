// Finds secrets where they should not be: as they are, in hexadecimal digits and in base64 at any alignment.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace mr::test {

// Thread: one.
class Canaries {
 public:
  // Adds a secret of at least 16 bytes. name: for findings; several secrets may share one. home: the file in which it
  // may be, or "".
  void Add(const std::string& name, std::string_view secret, const std::string& home = "");
  // Adds a token's text, and its signature alone.
  void AddToken(const std::string& name, const std::string& text, const std::string& home);
  // Adds a private key: the lines of the file and the secret number in it. Fails the test if there is none.
  void AddPrivateKey(const std::string& name, const std::string& pem, const std::string& home);

  // Returns the names of the secrets in the text, each with its form. path: the file that the text is from; secrets
  // that have it as home are left out.
  std::set<std::string> In(std::string_view text, const std::string& path = "") const;
  // Returns a line "NAME (FORM) in PATH" per secret in the regular files below the directory, and the number of files
  // that were searched.
  std::set<std::string> Below(const std::string& directory, size_t* files) const;

  size_t size() const { return secrets_; }

 private:
  struct Form {
    std::string bytes, name, home;
  };
  void AddForm(std::string bytes, const std::string& name, const std::string& home);

  size_t secrets_ = 0;
  std::vector<Form> forms_;
  std::unordered_map<uint32_t, std::vector<size_t>> by_first_;   // by the first four bytes
  std::vector<uint8_t> first_ = std::vector<uint8_t>(1u << 16);  // by the first two; not 0: there is one
};

// Returns base64 of the bytes, without padding.
std::string Base64(std::string_view bytes, bool for_urls);
// Returns the bytes; fails the test if the text is not base64url without padding.
std::string FromBase64Url(std::string_view text);

}  // namespace mr::test
