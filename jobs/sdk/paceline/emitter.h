// Where an operator puts its records. Emitter<K, V> encodes them and collects them into batches of
// about kEmitTargetBytes, one builder per output port, which the host takes as they fill.
//
// For a `files` port use Emitter<Text, Text>: whatever is emitted is written as text, and a port of
// format text becomes lines `key TAB value`, or `value` alone by Line().
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/abi/batch.h"
#include "paceline/codec.h"
#include "paceline/error.h"

namespace mr {

// As the key and value type of an output: formatted for people. Integers in decimal, floating point
// in the shortest form that reads back, strings as they are, pairs and tuples with tabs between.
struct Text {};

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

// One output port, untyped. Batches go out when they are full and at Flush(). What one input record emitted can be
// taken back while it is here: Mark() before the record, Rollback() after it.
class PortWriter {
 public:
  PortWriter(const mr_host* host, uint32_t port) : host_(host), port_(port) {}

  void Add(std::string_view key, std::string_view value) {
    if (key.size() + value.size() > kMaxRecordBytes) {
      throw JobError("a record of " + std::to_string(key.size() + value.size()) +
                     " bytes was emitted; the limit is 16 MiB: split its value");
    }
    // A record that is large by itself has a batch of its own.
    if (builder_.bytes() + key.size() + value.size() > kBatchTargetBytes) Flush();
    builder_.Add(key, value);
    if (builder_.Full(kEmitTargetBytes)) FlushToMark();
  }

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
    if (host_->emit(host_->context, port_, Bytes(bytes_)) != 0) throw AttemptOver{};
  }

 private:
  static constexpr uint32_t kNoMark = ~uint32_t{0};

  // What the record at hand emitted stays, unless that alone is a batch.
  void FlushToMark() {
    if (mark_ == kNoMark || mark_ == 0) return Flush();
    tail_.Clear();
    builder_.MoveTail(mark_, &tail_);
    Flush();
    std::swap(builder_, tail_);
  }

  const mr_host* host_;
  uint32_t port_;
  uint32_t mark_ = kNoMark;  // records before the one at hand
  BatchBuilder builder_, tail_;
  std::string bytes_;
};

// The bytes of one key or value: strings pass through, all else is written into `scratch`.
template <class Codec, class T>
std::string_view Encoded(const T& v, std::string* scratch) {
  if constexpr (std::is_same_v<typename Codec::View, std::string_view>) {
    return std::string_view(v);
  } else {
    scratch->clear();
    if constexpr (std::is_arithmetic_v<typename Codec::View>) {
      Codec::Append(static_cast<typename Codec::View>(v), scratch);
    } else {
      Codec::Append(v, scratch);
    }
    return *scratch;
  }
}

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
  Outputs(const mr_host* host, uint32_t ports) {
    for (uint32_t i = 0; i < ports; ++i) ports_.emplace_back(host, i);
  }
  sdk::PortWriter& port(uint32_t i) {
    if (i >= ports_.size()) {
      throw JobError("the operator emits to port " + std::to_string(i) + ", but its stage has " +
                     std::to_string(ports_.size()) + "; declare it in the plan");
    }
    return ports_[i];
  }
  void Flush() {
    for (auto& port : ports_) port.Flush();
  }
  // Before a record that may turn out to be bad, and after one that did (as far as it has not left: PortWriter).
  void Mark() {
    for (auto& port : ports_) port.Mark();
  }
  void Rollback() {
    for (auto& port : ports_) port.Rollback();
  }

 private:
  std::vector<sdk::PortWriter> ports_;
};

// A typed handle on one port: cheap to copy, borrowed from the Outputs.
template <class K, class V>
class Emitter {
 public:
  explicit Emitter(Outputs* outputs, uint32_t port = 0) : outputs_(outputs), port_(port) {}

  template <class A, class B>
  void Emit(const A& key, const B& value) {
    Writer().Add(sdk::Encoded<KeyCodec<K>>(key, &key_), sdk::Encoded<ValueCodec<V>>(value, &value_));
  }
  // Bytes that are encoded already.
  void EmitRaw(std::string_view key, std::string_view value) { Writer().Add(key, value); }

  // Another port, with types of its own: auto edges = out.Port<int, std::string>(1).
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
  sdk::PortWriter* writer_ = nullptr;  // found at the first record: a stage may have no port
  std::string key_, value_;
};

// Text. An empty key and its tab are left out by the host, so a key that may be empty is better
// written as part of a Line().
template <>
class Emitter<Text, Text> {
 public:
  explicit Emitter(Outputs* outputs, uint32_t port = 0) : outputs_(outputs), port_(port) {}

  template <class A, class B>
  void Emit(const A& key, const B& value) {
    outputs_->port(port_).Add(sdk::AsText(key, &key_), sdk::AsText(value, &value_));
  }
  template <class T>
  void Line(const T& line) {
    outputs_->port(port_).Add({}, sdk::AsText(line, &value_));
  }
  void EmitRaw(std::string_view key, std::string_view value) { outputs_->port(port_).Add(key, value); }
  template <class K2 = Text, class V2 = Text>
  Emitter<K2, V2> Port(uint32_t port) const {
    return Emitter<K2, V2>(outputs_, port);
  }

 private:
  Outputs* outputs_;
  uint32_t port_;
  std::string key_, value_;
};

using TextEmitter = Emitter<Text, Text>;

}  // namespace mr
