// Names the operator and the record at which a test crashes. A test runs operators in its own process, so a signal ends
// the whole test: a handler first writes to stderr what was called, and then leaves the signal to the handler that was
// there before.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "common/abi/batch.h"
#include "common/abi/operator_table.h"
#include "paceline/testing/shown_bytes.h"

namespace mr::sdk {

// A text of limited length. All its functions are async-signal-safe.
class ShortText {
 public:
  // Appends the text, as far as there is room.
  ShortText& Add(std::string_view text) {
    const size_t n = std::min(text.size(), sizeof text_ - size_);
    std::memcpy(text_ + size_, text.data(), n);
    size_ += n;
    return *this;
  }
  ShortText& Add(uint64_t n) {
    char digits[20];
    char* at = digits + sizeof digits;
    do {
      *--at = static_cast<char>('0' + n % 10);
      n /= 10;
    } while (n != 0);
    return Add({at, static_cast<size_t>(digits + sizeof digits - at)});
  }
  // Appends up to 100 bytes in quotes, with bytes that are not printable as \xHH.
  ShortText& AddQuoted(std::string_view bytes) {
    constexpr size_t kMost = 100;
    const bool cut = bytes.size() > kMost;
    Add("'");
    for (bytes = bytes.substr(0, kMost); !bytes.empty();) {
      const size_t length = PrintableLength(bytes);
      const auto byte = static_cast<uint8_t>(bytes[0]);
      const char hex[] = {'\\', 'x', kHexDigits[byte >> 4], kHexDigits[byte & 15]};
      Add(length == 0 ? std::string_view(hex, sizeof hex) : bytes.substr(0, length));
      bytes.remove_prefix(std::max<size_t>(length, 1));
    }
    return Add(cut ? "...'" : "'");
  }
  std::string_view view() const { return {text_, size_}; }

 private:
  char text_[1024];
  size_t size_ = 0;
};

// The call of an operator, as far as a crash names it. All pointers are borrowed.
struct OperatorCall {
  const char* op = nullptr;
  const char* stage = nullptr;
  const mr_batch* batch = nullptr;                // null: the operator works on no batch
  const std::vector<uint64_t>* places = nullptr;  // byte of each record in the batch's file; null or empty: not known
  const uint32_t* record = nullptr;               // mr_host::record
  const mr_bytes* at = nullptr;                   // mr_host::at

  // Appends the record, line or key that the operator works on: "the record at in.txt, byte 12", or nothing. Sets *text
  // to its bytes, if they say more. Async-signal-safe.
  void AddPlace(ShortText* out, std::string_view* text) const {
    const std::string_view key(at->data, at->data == nullptr ? 0 : at->size);
    if (!key.empty()) {
      out->Add("key ").AddQuoted(key);
      return;
    }
    BatchView view;
    if (batch == nullptr || BatchView::Parse(batch->data.data, batch->data.size, &view) != nullptr) return;
    const std::string_view file(batch->input_file.data, batch->input_file.size);
    const uint32_t r = *record;
    if (r >= view.size()) {
      if (!file.empty()) out->Add("the batch that begins at ").Add(file).Add(", byte ").Add(batch->offset);
      return;
    }
    if (batch->grouped != 0) {
      out->Add("key ").AddQuoted(view.key(r));
      return;
    }
    const std::string_view value = view.value(r);
    const char* const line = at->data;
    if (line != nullptr && line >= value.data() && line < value.data() + value.size()) {
      const auto begin = static_cast<size_t>(line - value.data());
      *text = value.substr(begin, value.substr(begin).find('\n'));
      out->Add("the line at ").Add(file).Add(", byte ").Add(batch->offset + begin);
      return;
    }
    *text = value.empty() ? view.key(r) : value;
    if (places != nullptr && r < places->size()) {
      out->Add("the record at ").Add(file).Add(", byte ").Add((*places)[r]);
    } else if (!file.empty()) {
      out->Add("record ").Add(r).Add(" of the batch that begins at ").Add(file).Add(", byte ").Add(batch->offset);
    } else {
      out->Add("record ").Add(r).Add(" of a batch of input ").Add(batch->input);
      out->Add(" from upstream task ").Add(batch->upstream_task);
    }
  }
};

// The innermost call of this thread.
inline constinit thread_local const OperatorCall* operator_call = nullptr;

// Makes a call that of the thread while the scope lasts.
class CallScope {
 public:
  explicit CallScope(const OperatorCall* call) : outer_(operator_call) { operator_call = call; }
  ~CallScope() { operator_call = outer_; }
  CallScope(const CallScope&) = delete;

 private:
  const OperatorCall* const outer_;
};

// While one exists, the process has the handlers. Thread: any.
class CrashHandlers {
 public:
  CrashHandlers() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (users_++ == 0) Install();
    // A stack of its own: the crash may be an overflow of the usual one.
    stack_t present{};
    if (sigaltstack(nullptr, &present) != 0 || (present.ss_flags & SS_DISABLE) == 0) return;
    stack_ = std::make_unique<char[]>(kStackBytes);
    stack_t own{};
    own.ss_sp = stack_.get();
    own.ss_size = kStackBytes;
    sigaltstack(&own, nullptr);
  }
  ~CrashHandlers() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (--users_ == 0) Restore();
    if (stack_ == nullptr) return;
    stack_t present{};
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    // Another thread than the one that made it leaves it to that thread.
    if (sigaltstack(nullptr, &present) != 0 || present.ss_sp != stack_.get() || sigaltstack(&none, nullptr) != 0) {
      (void)stack_.release();
    }
  }
  CrashHandlers(const CrashHandlers&) = delete;

 private:
  static constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
  static constexpr std::string_view kNames[] = {"SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT"};
  static constexpr int kCount = sizeof kSignals / sizeof kSignals[0];
  static constexpr size_t kStackBytes = 64 << 10;

  static void Install() {
    struct sigaction action {};
    action.sa_sigaction = OnSignal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    for (int i = 0; i < kCount; ++i) sigaction(kSignals[i], &action, &previous_[i]);
  }
  // Leaves a handler that the test has installed since. Async-signal-safe.
  static void Restore() {
    for (int i = 0; i < kCount; ++i) {
      struct sigaction present {};
      if (sigaction(kSignals[i], nullptr, &present) != 0) continue;
      if ((present.sa_flags & SA_SIGINFO) == 0 || present.sa_sigaction != OnSignal) continue;
      sigaction(kSignals[i], &previous_[i], nullptr);
    }
  }

  static void OnSignal(int signal, siginfo_t* info, void*) {
    Restore();
    if (const OperatorCall* const call = operator_call) {
      ShortText text;
      text.Add("\n").Add(kNames[std::find(kSignals, kSignals + kCount, signal) - kSignals]);
      text.Add(" while operator '").Add(call->op);
      text.Add("' of stage '").Add(call->stage).Add("' was called");
      ShortText place;
      std::string_view bytes;
      call->AddPlace(&place, &bytes);
      if (!place.view().empty()) text.Add(" with ").Add(place.view());
      if (!bytes.empty()) text.Add(": ").AddQuoted(bytes);
      text.Add("\n");
      (void)!write(STDERR_FILENO, text.view().data(), text.view().size());
    }
    // A fault comes again when the handler returns, with its address for the handler before.
    if (signal == SIGABRT || info->si_code <= 0) raise(signal);
  }

  inline static std::mutex mutex_;
  inline static int users_ = 0;
  inline static struct sigaction previous_[kCount] = {};

  std::unique_ptr<char[]> stack_;
};

}  // namespace mr::sdk
