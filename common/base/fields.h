// Binary codec and digest from one list of fields per struct.
//
// A struct S takes part by `template <class V> static void Fields(V&& v) { v(&S::a, &S::b); }`.
// Supported fields: scalars, enums, bools, strings, Duration, Instant, Digest128, ids, structs with
// Fields(), and vectors, optionals and variants of all these. The binary form is little-endian;
// lengths are u32; a variant begins with its index as u8. The form is the fields in their order: a struct has no length
// and no version.
//
// How to add a stored field. "Stored" means that another release reads it. Stored are:
// - records of the journal, promises, and extras of events;
// - the images of the core, the jobs and the namespace in snapshots;
// - the checksum file of each block on a worker's disk (dfs/block/sidecar.h).
// A field appended to such a struct makes all older bytes unreadable, even at the end of Fields(): another struct or
// record follows, or the decoder refuses bytes that end early. So write the field behind the outermost struct, and read
// it only if bytes are left:
//
//   write:  EncodeFields(published) + EncodeFields(published.at)
//   read:   reader.Get(published);
//           if (reader.ok() && !reader.AtEnd()) reader.Get(published.at);
//
// A later tail goes behind the earlier ones. Nothing can go behind a struct in a list: give it a list of its own in a
// tail. A new alternative of a variant goes to its end; older releases refuse records with it. A new meaning of a field
// is a new kind of record. The test StoredShapesTest (tests/master/core) compares the structs that it lists with
// stored_shapes.txt. Add a new stored struct there.
//
// The scheduler's own image (master/sched/state/image.cc) is read by builds with the same kSchedulerVersion only. There
// a field goes anywhere, and the version rises. Structs that are only digested or sent in one process are free.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "common/base/digest.h"
#include "common/base/ids.h"
#include "common/base/time.h"

namespace mr {

namespace fields_internal {
struct Probe {
  template <class... M>
  void operator()(M...) const {}
};
template <class T>
concept HasFields = requires {
  T::Fields(Probe{});
};
template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsVariant : std::false_type {};
template <class... T>
struct IsVariant<std::variant<T...>> : std::true_type {};

// Returns the fields of the plain structs of ids.h, time.h and digest.h, which have no Fields().
inline auto Parts(auto& v) requires std::is_same_v<std::remove_const_t<std::remove_reference_t<decltype(v)>>, JobId> {
  return std::tie(v.epoch, v.seq);
}
inline auto Parts(auto& v) requires std::is_same_v<std::remove_const_t<std::remove_reference_t<decltype(v)>>, StageId> {
  return std::tie(v.job, v.stage);
}
inline auto Parts(auto& v) requires std::is_same_v<std::remove_const_t<std::remove_reference_t<decltype(v)>>, TaskId> {
  return std::tie(v.job, v.stage, v.task);
}
inline auto Parts(
    auto& v) requires std::is_same_v<std::remove_const_t<std::remove_reference_t<decltype(v)>>, AttemptId> {
  return std::tie(v.task, v.number);
}
inline auto Parts(
    auto& v) requires std::is_same_v<std::remove_const_t<std::remove_reference_t<decltype(v)>>, OutputId> {
  return std::tie(v.task, v.generation);
}
inline auto Parts(
    auto& v) requires std::is_same_v<std::remove_const_t<std::remove_reference_t<decltype(v)>>, WorkerId> ||
    std::is_same_v<std::remove_const_t<std::remove_reference_t<decltype(v)>>, BlockId> {
  return std::tie(v.value);
}
inline auto Parts(
    auto& v) requires std::is_same_v<std::remove_const_t<std::remove_reference_t<decltype(v)>>, Duration> ||
    std::is_same_v<std::remove_const_t<std::remove_reference_t<decltype(v)>>, Instant> {
  return std::tie(v.ns);
}
inline auto Parts(
    auto& v) requires std::is_same_v<std::remove_const_t<std::remove_reference_t<decltype(v)>>, Digest128> {
  return std::tie(v.low, v.high);
}
template <class T>
concept HasParts = requires(T& v) {
  Parts(v);
};

template <size_t I = 0, class Variant>
bool EmplaceByIndex(Variant& v, size_t index) {
  if constexpr (I < std::variant_size_v<Variant>) {
    if (index == I) {
      v.template emplace<I>();
      return true;
    }
    return EmplaceByIndex<I + 1>(v, index);
  } else {
    return false;
  }
}
}  // namespace fields_internal

// Appends values to a byte string.
class FieldWriter {
 public:
  explicit FieldWriter(std::string* out) : out_(out) {}

  template <class T>
  void Put(const T& v) {
    using namespace fields_internal;
    if constexpr (std::is_same_v<T, bool>) {
      Raw(static_cast<uint8_t>(v));
    } else if constexpr (std::is_enum_v<T>) {
      Raw(static_cast<std::underlying_type_t<T>>(v));
    } else if constexpr (std::is_arithmetic_v<T>) {
      Raw(v);
    } else if constexpr (std::is_same_v<T, std::string>) {
      Raw(static_cast<uint32_t>(v.size()));
      out_->append(v);
    } else if constexpr (IsVector<T>::value) {
      Raw(static_cast<uint32_t>(v.size()));
      for (const auto& e : v) Put(e);
    } else if constexpr (IsOptional<T>::value) {
      Put(v.has_value());
      if (v.has_value()) Put(*v);
    } else if constexpr (IsVariant<T>::value) {
      Raw(static_cast<uint8_t>(v.index()));
      std::visit([&](const auto& e) { Put(e); }, v);
    } else if constexpr (HasParts<const T>) {
      std::apply([&](const auto&... p) { (Put(p), ...); }, Parts(v));
    } else {
      T::Fields([&](auto... member) { (Put(v.*member), ...); });
    }
  }

 private:
  template <class T>
  void Raw(T v) {
    out_->append(reinterpret_cast<const char*>(&v), sizeof v);
  }
  std::string* out_;
};

// Reads the bytes that FieldWriter wrote. Where bytes are missing or an index is bad, ok() becomes false, and the
// values must not be used.
class FieldReader {
 public:
  explicit FieldReader(std::string_view in) : in_(in) {}
  bool ok() const { return ok_; }
  bool AtEnd() const { return in_.empty(); }

  template <class T>
  void Get(T& v) {
    using namespace fields_internal;
    if constexpr (std::is_same_v<T, bool>) {
      uint8_t b = 0;
      Raw(b);
      if (b > 1) ok_ = false;
      v = b == 1;
    } else if constexpr (std::is_enum_v<T>) {
      std::underlying_type_t<T> u{};
      Raw(u);
      v = static_cast<T>(u);
    } else if constexpr (std::is_arithmetic_v<T>) {
      Raw(v);
    } else if constexpr (std::is_same_v<T, std::string>) {
      uint32_t n = 0;
      Raw(n);
      if (n > in_.size()) {
        ok_ = false;
        return;
      }
      v.assign(in_.substr(0, n));
      in_.remove_prefix(n);
    } else if constexpr (IsVector<T>::value) {
      uint32_t n = 0;
      Raw(n);
      v.clear();
      for (uint32_t i = 0; i < n && ok_; ++i) {
        if (in_.empty()) {
          ok_ = false;
          return;
        }
        v.emplace_back();
        Get(v.back());
      }
    } else if constexpr (IsOptional<T>::value) {
      bool has = false;
      Get(has);
      v.reset();
      if (has && ok_) Get(v.emplace());
    } else if constexpr (IsVariant<T>::value) {
      uint8_t index = 0;
      Raw(index);
      if (!ok_ || !EmplaceByIndex(v, index)) {
        ok_ = false;
        return;
      }
      std::visit([&](auto& e) { Get(e); }, v);
    } else if constexpr (HasParts<T>) {
      std::apply([&](auto&... p) { (Get(p), ...); }, Parts(v));
    } else {
      T::Fields([&](auto... member) { (Get(v.*member), ...); });
    }
  }

 private:
  template <class T>
  void Raw(T& v) {
    if (in_.size() < sizeof v) {
      ok_ = false;
      in_ = {};
      v = T{};
      return;
    }
    std::memcpy(&v, in_.data(), sizeof v);
    in_.remove_prefix(sizeof v);
  }
  std::string_view in_;
  bool ok_ = true;
};

template <class T>
std::string EncodeFields(const T& v) {
  std::string out;
  FieldWriter(&out).Put(v);
  return out;
}

// Decodes one T. Returns false where the bytes are not exactly one T.
template <class T>
bool DecodeFields(std::string_view bytes, T* out) {
  FieldReader reader(bytes);
  reader.Get(*out);
  return reader.ok() && reader.AtEnd();
}

// Returns a 64-bit hash of the value's binary form.
template <class T>
uint64_t HashFields(const T& v) {
  std::string bytes;
  FieldWriter(&bytes).Put(v);
  return Hash64(bytes);
}

}  // namespace mr
