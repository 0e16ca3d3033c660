// An immutable range of bytes with shared ownership. The owner is a string, or a block of a table. Copies share the
// bytes, and each keeps all memory of the owner, so an owner should not be much larger than its bytes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace mr {

class SharedBytes {
 public:
  SharedBytes() = default;
  // Not explicit: a function that takes SharedBytes takes strings, too.
  SharedBytes(std::string bytes) {
    if (bytes.empty()) return;
    const auto owner = std::make_shared<const std::string>(std::move(bytes));
    view_ = *owner;
    owner_ = owner;
  }
  SharedBytes(const char* text) : SharedBytes(std::string(text)) {}
  // bytes: valid as long as the owner exists.
  SharedBytes(std::string_view bytes, std::shared_ptr<const void> owner) : owner_(std::move(owner)), view_(bytes) {}

  SharedBytes(const SharedBytes&) = default;
  SharedBytes& operator=(const SharedBytes&) = default;
  SharedBytes(SharedBytes&& other) noexcept : owner_(std::move(other.owner_)), view_(std::exchange(other.view_, {})) {}
  SharedBytes& operator=(SharedBytes&& other) noexcept {
    owner_ = std::move(other.owner_);
    view_ = std::exchange(other.view_, {});
    return *this;
  }

  operator std::string_view() const { return view_; }
  std::string_view view() const { return view_; }
  const char* data() const { return view_.data(); }
  size_t size() const { return view_.size(); }
  bool empty() const { return view_.empty(); }

 private:
  std::shared_ptr<const void> owner_;
  std::string_view view_;
};

}  // namespace mr
