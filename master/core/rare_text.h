// A text that is mostly empty, in eight bytes. An empty std::string takes 32.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace mr::master {

class RareText {
 public:
  RareText() = default;
  RareText(std::string text)  // NOLINT(google-explicit-constructor)
      : text_(text.empty() ? nullptr : std::make_unique<const std::string>(std::move(text))) {}
  RareText(const char* text) : RareText(std::string(text)) {}  // NOLINT(google-explicit-constructor)
  RareText(const RareText& other) : RareText(other.str()) {}
  RareText(RareText&& other) noexcept = default;
  RareText& operator=(RareText other) noexcept {
    text_ = std::move(other.text_);
    return *this;
  }
  ~RareText() = default;

  const std::string& str() const {
    static const std::string kEmpty;
    return text_ == nullptr ? kEmpty : *text_;
  }
  operator const std::string&() const { return str(); }  // NOLINT(google-explicit-constructor)
  bool empty() const { return text_ == nullptr; }
  friend bool operator==(const RareText& a, std::string_view b) { return a.str() == b; }

 private:
  std::unique_ptr<const std::string> text_;
};

}  // namespace mr::master
