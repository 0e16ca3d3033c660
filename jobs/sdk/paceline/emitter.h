// Output of an operator. Emitter<K, V> encodes records and collects them in batches of about kEmitTargetBytes per
// output port. The host takes each batch when it is full.
//
// For a `files` port use Emitter<Text, Text>. A port of format text then has lines `key TAB value`, or `value` alone by
// Line().
#pragma once

#include <charconv>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/abi/batch.h"
#include "paceline/codec.h"
#include "paceline/convert.h"
#include "paceline/error.h"

namespace mr {

// Key or value type of an output for people. Integers are decimal, and floating point has the shortest form that reads
// back. Strings are unchanged. Elements of pairs and tuples are separated by tabs.
struct Text {};

// Appends `v` in the form described at Text.
template <class T>
void AppendText(const T& v, std::string* out) {
  if constexpr (std::is_same_v<T, bool>) {
    out->append(v ? "true" : "false");
  } else if constexpr (std::is_same_v<T, char>) {
    out->push_back(v);
  } else if constexpr (std::is_arithmetic_v<T>) {
    char text[64];
    const auto end = std::to_chars(text, text + sizeof text, v).ptr;
    out->append(text, static_cast<size_t>(end - text));
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    out->append(std::string_view(v));
  } else if constexpr (std::is_same_v<T, Nothing>) {
  } else {
    std::apply(
        [out](const auto& first, const auto&... rest) {
          AppendText(first, out);
          ((out->push_back('\t'), AppendText(rest, out)), ...);
        },
        v);
  }
}

namespace sdk {

// One output port, untyped. Sends a batch when it is full and at Flush(). Mark() before an input record and Rollback()
// after it take back the records emitted for it, unless they have been sent already.
class PortWriter {
 public:
  PortWriter(const mr_host* host, uint32_t port) : host_(host), port_(port) {}

  void Add(std::string_view key, std::string_view value) {
    if (key.size() + value.size() > kMaxRecordBytes) {
      throw JobError("a record of " + std::to_string(key.size() + value.size()) +
                     " bytes was emitted; the limit is 16 MiB: split its value");
    }
    // A record larger than the target gets a batch of its own.
    if (builder_.bytes() + key.size() + value.size() > kBatchTargetBytes) Flush();
    builder_.Add(key, value);
    if (builder_.Full(kEmitTargetBytes)) FlushToMark();
  }

  // Batches go to `instead` in place of the host.
  void Divert(std::function<void(std::string_view batch)> instead) { instead_ = std::move(instead); }

  void Mark() { mark_ = builder_.size(); }
  void Rollback() {
    builder_.Truncate(mark_);
    mark_ = kNoMark;
  }

  void Flush() {
    mark_ = mark_ == kNoMark ? kNoMark : 0;
    if (builder_.empty()) return;
    bytes_.clear();
    builder_.Finish(0, &bytes_);
    if (instead_) return instead_(bytes_);
    if (host_->emit(host_->context, port_, Bytes(bytes_)) != 0) throw AttemptOver{};
  }

 private:
  static constexpr uint32_t kNoMark = ~uint32_t{0};

  // Sends the records before the mark. Records after it stay, unless they alone fill a batch.
  void FlushToMark() {
    if (mark_ == kNoMark || mark_ == 0) return Flush();
    tail_.Clear();
    builder_.MoveTail(mark_, &tail_);
    Flush();
    std::swap(builder_, tail_);
  }

  const mr_host* host_;
  uint32_t port_;
  uint32_t mark_ = kNoMark;  // number of records before the current input record
  BatchBuilder builder_, tail_;
  std::string bytes_;
  std::function<void(std::string_view)> instead_;
};

// Returns the encoded bytes of one key or value. Strings pass through; all else is written to `scratch`.
template <class Codec, class T>
std::string_view Encoded(const T& v, std::string* scratch) {
  if constexpr (std::is_same_v<typename Codec::View, std::string_view>) {
    return std::string_view(v);
  } else {
    scratch->clear();
    if constexpr (std::is_arithmetic_v<typename Codec::View>) {
      Codec::Append(Declared<typename Codec::View>(v), scratch);
    } else {
      Codec::Append(v, scratch);
    }
    return *scratch;
  }
}

// Returns `v` as text. Strings pass through; all else is written to `scratch`.
template <class T>
std::string_view AsText(const T& v, std::string* scratch) {
  if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return std::string_view(v);
  } else {
    scratch->clear();
    AppendText(v, scratch);
    return *scratch;
  }
}

}  // namespace sdk

// All output ports of one operator. Owned by the adapter; outlives its emitters.
class Outputs {
 public:
  // ports: their number.
  Outputs(const mr_host* host, uint32_t ports) {
    for (uint32_t i = 0; i < ports; ++i) ports_.emplace_back(host, i);
  }
  // Errors: JobError if the stage has no such port.
  sdk::PortWriter& port(uint32_t i) {
    if (i >= ports_.size()) {
      throw JobError("the operator emits to port " + std::to_string(i) + ", but its stage has " +
                     std::to_string(ports_.size()) + "; declare it in the plan");
    }
    return ports_[i];
  }
  // Sends all batches.
  void Flush() {
    for (auto& port : ports_) port.Flush();
  }
  // Precedes each record that may be bad.
  void Mark() {
    for (auto& port : ports_) port.Mark();
  }
  // Takes back what a bad record emitted (limits: BadRecord).
  void Rollback() {
    for (auto& port : ports_) port.Rollback();
  }

 private:
  std::vector<sdk::PortWriter> ports_;
};

// A typed handle of one port: cheap to copy, borrowed from the Outputs.
template <class K, class V>
class Emitter {
 public:
  // Requires: Outputs that outlive it.
  explicit Emitter(Outputs* outputs, uint32_t port = 0) : outputs_(outputs), port_(port) {}

  // Emits one record. A pair or a tuple may be a list in braces: out.Emit({name, time}, page).
  // A number that may not fit the declared type does not compile (convert.h).
  // Errors: JobError above 16 MiB, if an int does not fit a smaller type, or if the stage has no such port.
  // Thread: the thread that called the operator, and no other.
  template <class A = typename sdk::ListOf<KeyView<K>>::Type, class B = typename sdk::ListOf<ValueView<V>>::Type>
  void Emit(const A& key, const B& value) {
    Writer().Add(sdk::Encoded<KeyCodec<K>>(sdk::Unbraced(key), &key_),
                 sdk::Encoded<ValueCodec<V>>(sdk::Unbraced(value), &value_));
  }
  // Emits one record of encoded bytes.
  void EmitRaw(std::string_view key, std::string_view value) { Writer().Add(key, value); }

  // Returns another port with its own types: auto edges = out.Port<int, std::string>(1).
  template <class K2 = K, class V2 = V>
  Emitter<K2, V2> Port(uint32_t port) const {
    return Emitter<K2, V2>(outputs_, port);
  }

 private:
  sdk::PortWriter& Writer() {
    if (writer_ == nullptr) writer_ = &outputs_->port(port_);
    return *writer_;
  }

  Outputs* outputs_;
  uint32_t port_;
  sdk::PortWriter* writer_ = nullptr;  // set at the first record: a stage may have no port
  std::string key_, value_;
};

// Emits text. The host omits an empty key and its tab, so write a key that may be empty as part of a Line().
template <>
class Emitter<Text, Text> {
 public:
  // Requires: Outputs that outlive it.
  explicit Emitter(Outputs* outputs, uint32_t port = 0) : outputs_(outputs), port_(port) {}

  // Emits `key TAB value`, or the value alone if the key is empty. Errors: as the other Emitter's.
  template <class A, class B>
  void Emit(const A& key, const B& value) {
    outputs_->port(port_).Add(sdk::AsText(key, &key_), sdk::AsText(value, &value_));
  }
  // Emits one line without a key.
  template <class T>
  void Line(const T& line) {
    outputs_->port(port_).Add({}, sdk::AsText(line, &value_));
  }
  // Emits one record of bytes.
  void EmitRaw(std::string_view key, std::string_view value) { outputs_->port(port_).Add(key, value); }
  // Returns another port with its own types.
  template <class K2 = Text, class V2 = Text>
  Emitter<K2, V2> Port(uint32_t port) const {
    return Emitter<K2, V2>(outputs_, port);
  }

 private:
  Outputs* outputs_;
  uint32_t port_;
  std::string key_, value_;
};

// The emitter of an operator whose output is text.
using TextEmitter = Emitter<Text, Text>;

}  // namespace mr
