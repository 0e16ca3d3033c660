// Encoding of typed keys and values.
//
// KeyCodec<T> keeps order: a < b exactly if memcmp orders their bytes so. Integers are big-endian with the sign bit
// flipped. Floating point bits are mapped likewise; -0 is written as 0, and NaN comes last. A string alone is its
// bytes. Within a pair or tuple a string is escaped (00 -> 00 FF) and ends with 00 00, so that ("a", "z") sorts before
// ("aa", "b"). ValueCodec<T> is plain: little-endian numbers, and a length before strings within tuples and vectors.
//
// View is the type that operators receive: std::string_view for std::string (valid during the call).
//
// Decode requires all the bytes of one key or value. With more or fewer it throws a JobError that names the type and
// both lengths: an int32_t is never read from the bytes of an int64_t.
//
// To add a type, specialise KeyCodec or ValueCodec with the same members. TypeTag() is optional. With it, stages that
// disagree about the type are refused before the job starts (common/abi/type_tags.h has the rules). Without it, the
// type matches every other. sdk::DecodeWhole makes Decode from TakePart.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/abi/type_tags.h"
#include "paceline/convert.h"
#include "paceline/error.h"

namespace mr {

namespace sdk {

// The bytes end before the value: at least `missing` more are needed.
class BytesMissing : public JobError {
 public:
  BytesMissing(const char* what, size_t missing)
      : JobError(std::string("cannot decode ") + what + ": " + std::to_string(missing) + " bytes are missing"),
        missing_(missing) {}
  size_t missing() const { return missing_; }

 private:
  size_t missing_;
};

[[noreturn]] inline void BadBytes(const char* what) {
  throw JobError(std::string("cannot decode ") + what +
                 ": the bytes are malformed; do the types of the writing and the reading operator agree?");
}

inline std::string_view Take(std::string_view* in, size_t n, const char* what) {
  if (in->size() < n) throw BytesMissing(what, n - in->size());
  std::string_view head = in->substr(0, n);
  in->remove_prefix(n);
  return head;
}

// Returns the type's tag, or "?" if a user's codec has none.
template <class Codec>
std::string TagOf() {
  if constexpr (requires { Codec::TypeTag(); }) {
    return std::string(Codec::TypeTag());
  } else {
    return kUnknownType;
  }
}

template <class Codec>
[[noreturn]] void WrongLength(size_t takes, size_t there, const char* bound = "") {
  throw JobError("cannot decode " + TagOf<Codec>() + ": it takes " + bound + std::to_string(takes) +
                 " bytes, and there are " + std::to_string(there) +
                 "; do the types of the writing and the reading operator agree?");
}

// Decodes all of `in` as one value by Codec::TakePart. Errors: JobError if bytes are missing or left over.
template <class Codec>
auto DecodeWhole(std::string_view in) {
  std::string_view rest = in;
  const auto take = [&] {
    try {
      return Codec::TakePart(&rest);
    } catch (const BytesMissing& short_of) {
      WrongLength<Codec>(in.size() + short_of.missing(), in.size(), "at least ");
    }
  };
  auto value = take();
  if (!rest.empty()) [[unlikely]]
    WrongLength<Codec>(in.size() - rest.size(), in.size());
  return value;
}

template <size_t N>
using UintOf = std::conditional_t<N == 1, uint8_t,
                                  std::conditional_t<N == 2, uint16_t, std::conditional_t<N == 4, uint32_t, uint64_t>>>;

// Returns unsigned bits in the same order as the number.
template <class T>
UintOf<sizeof(T)> OrderedBits(T v) {
  using U = UintOf<sizeof(T)>;
  constexpr U kSign = U{1} << (sizeof(T) * 8 - 1);
  if constexpr (std::is_floating_point_v<T>) {
    if (v == 0) v = 0;  // -0
    if (std::isnan(v)) v = std::numeric_limits<T>::quiet_NaN();
    const U bits = std::bit_cast<U>(v);
    return bits & kSign ? static_cast<U>(~bits) : static_cast<U>(bits | kSign);
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<U>(static_cast<U>(v) ^ kSign);
  } else {
    return static_cast<U>(v);
  }
}

template <class T>
T FromOrderedBits(UintOf<sizeof(T)> bits) {
  using U = UintOf<sizeof(T)>;
  constexpr U kSign = U{1} << (sizeof(T) * 8 - 1);
  if constexpr (std::is_floating_point_v<T>) {
    return std::bit_cast<T>(bits & kSign ? static_cast<U>(bits & ~kSign) : static_cast<U>(~bits));
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<T>(bits ^ kSign);
  } else {
    return static_cast<T>(bits);
  }
}

inline void AppendVarint(uint64_t v, std::string* out) {
  while (v >= 128) {
    out->push_back(static_cast<char>(v | 128));
    v >>= 7;
  }
  out->push_back(static_cast<char>(v));
}

inline uint64_t TakeVarint(std::string_view* in) {
  uint64_t v = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const auto byte = static_cast<uint8_t>(Take(in, 1, "a length")[0]);
    v |= uint64_t{byte & 127u} << shift;
    if (byte < 128) return v;
  }
  BadBytes("a length");
}

}  // namespace sdk

template <class T>
concept Number = std::is_arithmetic_v<T> || std::is_enum_v<T>;

namespace sdk {
// Returns "i64", "u8" or "f64": the kind and the number of bits.
template <class T>
std::string NumberTag() {
  if constexpr (std::is_same_v<T, bool>) return "bool";
  return (std::is_floating_point_v<T> ? "f" : std::is_signed_v<T> ? "i" : "u") + std::to_string(sizeof(T) * 8);
}
}  // namespace sdk

// Members: View (the type that operators receive), Part (the type within a decoded tuple), Append and Decode (a value
// alone), AppendPart and TakePart (within a tuple, where the end must be found), TypeTag (optional).
//
// The primary templates are for types without a codec. Their members only keep further errors of the compiler away.
namespace sdk {
template <class>
inline constexpr bool kHasCodec = false;

template <class T>
struct NoCodec {
  using View = T;
  using Part = T;
  template <class V>
  static void Append(const V&, std::string*) {}
  template <class V>
  static void AppendPart(const V&, std::string*) {}
  static T TakePart(std::string_view*);
  static T Decode(std::string_view);
};
}  // namespace sdk
template <class T>
struct KeyCodec : sdk::NoCodec<T> {
  static_assert(
      sdk::kHasCodec<T>,
      "mr: this type cannot be a key. Use a number, an enum, std::string (not std::string_view or const char*), "
      "mr::Nothing, mr::AnyBytes, or a std::pair or std::tuple of these, or specialise mr::KeyCodec for the "
      "type (paceline/codec.h).");
};
template <class T>
struct ValueCodec : sdk::NoCodec<T> {
  static_assert(sdk::kHasCodec<T>,
                "mr: this type cannot be a value. Use a number, an enum, std::string (not std::string_view or const "
                "char*), mr::Nothing, mr::AnyBytes, or a std::pair, std::tuple or std::vector of these, or specialise "
                "mr::ValueCodec for the type (paceline/codec.h).");
};

template <Number T>
requires std::is_arithmetic_v<T>
struct KeyCodec<T> {
  using View = T;
  using Part = T;
  static void Append(T v, std::string* out) {
    auto bits = sdk::OrderedBits(v);
    char bytes[sizeof(T)];
    for (size_t i = sizeof(T); i-- > 0; bits = static_cast<decltype(bits)>(uint64_t{bits} >> 8)) {
      bytes[i] = static_cast<char>(bits);
    }
    out->append(bytes, sizeof bytes);
  }
  static void AppendPart(T v, std::string* out) { Append(v, out); }
  static T TakePart(std::string_view* in) {
    uint64_t bits = 0;
    for (char c : sdk::Take(in, sizeof(T), "a number in a key")) {
      bits = bits << 8 | static_cast<uint8_t>(c);
    }
    return sdk::FromOrderedBits<T>(static_cast<sdk::UintOf<sizeof(T)>>(bits));
  }
  static T Decode(std::string_view in) {
    if (in.size() != sizeof(T)) [[unlikely]]
      sdk::WrongLength<KeyCodec<T>>(sizeof(T), in.size());
    return TakePart(&in);
  }
  static std::string TypeTag() { return sdk::NumberTag<T>(); }
};

template <Number T>
requires std::is_arithmetic_v<T>
struct ValueCodec<T> {
  using View = T;
  using Part = T;
  static void Append(T v, std::string* out) {
    static_assert(std::endian::native == std::endian::little);
    out->append(reinterpret_cast<const char*>(&v), sizeof v);
  }
  static void AppendPart(T v, std::string* out) { Append(v, out); }
  static T TakePart(std::string_view* in) {
    T v;
    std::memcpy(&v, sdk::Take(in, sizeof v, "a number in a value").data(), sizeof v);
    return v;
  }
  static T Decode(std::string_view in) {
    if (in.size() != sizeof(T)) [[unlikely]]
      sdk::WrongLength<ValueCodec<T>>(sizeof(T), in.size());
    return TakePart(&in);
  }
  static std::string TypeTag() { return sdk::NumberTag<T>(); }
};

namespace sdk {
// Encodes an enum as its underlying number.
template <template <class> class Codec, class T>
struct EnumCodec {
  using Base = Codec<std::underlying_type_t<T>>;
  using View = T;
  using Part = T;
  static void Append(T v, std::string* out) { Base::Append(static_cast<std::underlying_type_t<T>>(v), out); }
  static void AppendPart(T v, std::string* out) { Append(v, out); }
  static T TakePart(std::string_view* in) { return static_cast<T>(Base::TakePart(in)); }
  static T Decode(std::string_view in) { return static_cast<T>(Base::Decode(in)); }
  static std::string TypeTag() { return Base::TypeTag(); }
};
}  // namespace sdk

template <Number T>
requires std::is_enum_v<T>
struct KeyCodec<T> : sdk::EnumCodec<KeyCodec, T> {
};
template <Number T>
requires std::is_enum_v<T>
struct ValueCodec<T> : sdk::EnumCodec<ValueCodec, T> {
};

template <>
struct KeyCodec<std::string> {
  using View = std::string_view;
  using Part = std::string;  // unescaped
  static void Append(std::string_view v, std::string* out) { out->append(v); }
  static std::string_view Decode(std::string_view in) { return in; }
  static std::string TypeTag() { return "str"; }
  static void AppendPart(std::string_view v, std::string* out) {
    for (size_t at; (at = v.find('\0')) != v.npos; v.remove_prefix(at + 1)) {
      out->append(v.substr(0, at));
      out->append("\0\xff", 2);
    }
    out->append(v);
    out->append("\0\0", 2);
  }
  static std::string TakePart(std::string_view* in) {
    std::string v;
    while (true) {
      const size_t at = in->find('\0');
      if (at == in->npos) throw sdk::BytesMissing("a string in a key", 2);
      if (at + 1 == in->size()) throw sdk::BytesMissing("a string in a key", 1);
      v.append(in->substr(0, at));
      const char next = (*in)[at + 1];
      in->remove_prefix(at + 2);
      if (next == '\0') return v;
      if (next != '\xff') sdk::BadBytes("a string in a key");
      v.push_back('\0');
    }
  }
};

template <>
struct ValueCodec<std::string> {
  using View = std::string_view;
  using Part = std::string_view;
  static void Append(std::string_view v, std::string* out) { out->append(v); }
  static std::string_view Decode(std::string_view in) { return in; }
  static std::string TypeTag() { return "str"; }
  static void AppendPart(std::string_view v, std::string* out) {
    sdk::AppendVarint(v.size(), out);
    out->append(v);
  }
  static std::string_view TakePart(std::string_view* in) {
    return sdk::Take(in, sdk::TakeVarint(in), "a string in a value");
  }
};

// The type of a missing key or value: no bytes. A reader that ignores existing bytes uses AnyBytes.
struct Nothing {
  auto operator<=>(const Nothing&) const = default;  // all are equal
};
namespace sdk {
struct NothingCodec {
  using View = Nothing;
  using Part = Nothing;
  static void Append(Nothing, std::string*) {}
  static void AppendPart(Nothing, std::string*) {}
  static Nothing TakePart(std::string_view*) { return {}; }
  static Nothing Decode(std::string_view in) {
    if (!in.empty()) [[unlikely]]
      WrongLength<NothingCodec>(0, in.size());
    return {};
  }
  static std::string TypeTag() { return "none"; }
};

// Pairs and tuples, of keys or of values. Accepts tuples with convertible elements, so views can be emitted where
// strings are declared; numbers must fit (convert.h). The view of a pair is a pair, and that of a tuple is a tuple:
// each converts to the declared type.
template <template <class> class Codec, template <class...> class Shape, class... Ts>
struct TupleCodec {
  using View = Shape<typename Codec<Ts>::Part...>;
  using Part = View;
  template <class Tuple>
  static void Append(const Tuple& v, std::string* out) {
    static_assert(std::tuple_size_v<Tuple> == sizeof...(Ts), "another number of elements");
    AppendEach(v, out, std::index_sequence_for<Ts...>{});
  }
  template <class Tuple>
  static void AppendPart(const Tuple& v, std::string* out) {
    Append(v, out);
  }
  // Braces: the elements are decoded from left to right.
  static View TakePart(std::string_view* in) { return View{Codec<Ts>::TakePart(in)...}; }
  static View Decode(std::string_view in) { return DecodeWhole<TupleCodec>(in); }
  static std::string TypeTag() {
    std::string parts;
    ((parts += (parts.empty() ? "" : ",") + TagOf<Codec<Ts>>()), ...);
    return (sizeof...(Ts) == 2 ? "pair<" : "tuple<") + parts + ">";
  }

 private:
  template <class Tuple, size_t... I>
  static void AppendEach(const Tuple& v, std::string* out, std::index_sequence<I...>) {
    (Codec<Ts>::AppendPart(DeclaredPart<Ts>(std::get<I>(v)), out), ...);
  }
};
}  // namespace sdk

// Bytes of an undeclared type: encoded like std::string, but matches every type of other stages. For operators that
// encode or decode records themselves, and for keys or values that a reader ignores.
struct AnyBytes {};
namespace sdk {
struct AnyBytesCodec {
  using View = std::string_view;
  static void Append(std::string_view v, std::string* out) { out->append(v); }
  static std::string_view Decode(std::string_view in) { return in; }
};
}  // namespace sdk
template <>
struct KeyCodec<AnyBytes> : sdk::AnyBytesCodec {};
template <>
struct ValueCodec<AnyBytes> : sdk::AnyBytesCodec {};

template <>
struct KeyCodec<Nothing> : sdk::NothingCodec {};
template <>
struct ValueCodec<Nothing> : sdk::NothingCodec {};
template <class... Ts>
struct KeyCodec<std::tuple<Ts...>> : sdk::TupleCodec<KeyCodec, std::tuple, Ts...> {};
template <class... Ts>
struct ValueCodec<std::tuple<Ts...>> : sdk::TupleCodec<ValueCodec, std::tuple, Ts...> {};
template <class A, class B>
struct KeyCodec<std::pair<A, B>> : sdk::TupleCodec<KeyCodec, std::pair, A, B> {};
template <class A, class B>
struct ValueCodec<std::pair<A, B>> : sdk::TupleCodec<ValueCodec, std::pair, A, B> {};

template <class T>
struct ValueCodec<std::vector<T>> {
  using View = std::vector<T>;
  using Part = std::vector<T>;
  static void Append(const std::vector<T>& v, std::string* out) {
    sdk::AppendVarint(v.size(), out);
    for (const T& item : v) ValueCodec<T>::AppendPart(item, out);
  }
  static void AppendPart(const std::vector<T>& v, std::string* out) { Append(v, out); }
  static std::vector<T> TakePart(std::string_view* in) {
    std::vector<T> v;
    for (uint64_t n = sdk::TakeVarint(in); n > 0; --n) v.push_back(T(ValueCodec<T>::TakePart(in)));
    return v;
  }
  static std::vector<T> Decode(std::string_view in) { return sdk::DecodeWhole<ValueCodec>(in); }
  static std::string TypeTag() { return "vec<" + sdk::TagOf<ValueCodec<T>>() + ">"; }
};

// The type in which operators receive a key or a value: std::string_view for std::string, else mostly the type itself.
template <class K>
using KeyView = typename KeyCodec<K>::View;
// The same for values.
template <class V>
using ValueView = typename ValueCodec<V>::View;

}  // namespace mr
