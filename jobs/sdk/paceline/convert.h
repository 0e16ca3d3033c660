// Conversion of emitted numbers to the type that a port declares. Conversions that lose part of a number do not
// compile.
//
//   floating point -> integer                   refused
//   wider number -> narrower number             refused; an `int` is compared instead (see below)
//   wider integer -> narrower floating point    refused
//   same width, or wider                        allowed, also with another sign: size_t -> int64_t, int -> uint64_t
//   int -> int16_t, uint8_t, bool, ...          allowed, and checked when the operator runs: `1` and the sum of two
//                                               int16_t both have type int
//
// An enum counts as its underlying number, and a class as what it converts to.
#pragma once

#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "paceline/error.h"

namespace mr::sdk {

enum class Fit { kAlways, kIfChecked, kLossy, kNoNumber };

// Returns whether a `From` fits the number type `To`.
template <class From, class To>
constexpr Fit FitOf() {
  if constexpr (std::is_enum_v<From>) {
    return FitOf<std::underlying_type_t<From>, To>();
  } else if constexpr (std::is_class_v<From>) {
    // Braces refuse a conversion of the class's number that narrows it.
    if constexpr (requires(const From& v) { To{v}; }) {
      return Fit::kAlways;
    } else {
      return std::is_constructible_v<To, const From&> ? Fit::kLossy : Fit::kNoNumber;
    }
  } else if constexpr (!std::is_arithmetic_v<From>) {
    return Fit::kNoNumber;
  } else if constexpr (std::is_same_v<From, To>) {
    return Fit::kAlways;
  } else if constexpr (std::is_floating_point_v<From> && !std::is_floating_point_v<To>) {
    return Fit::kLossy;
  } else if constexpr (sizeof(From) <= sizeof(To) && !std::is_same_v<To, bool>) {
    return Fit::kAlways;
  } else if constexpr (std::is_same_v<From, int> && !std::is_floating_point_v<To>) {
    return Fit::kIfChecked;
  } else {
    return Fit::kLossy;
  }
}

// Returns `v` as a To. Errors: JobError if an int exceeds the range of a smaller To.
template <class To, class From>
constexpr To Declared(const From& v) {
  constexpr Fit kFit = FitOf<From, To>();
  static_assert(kFit != Fit::kNoNumber, "mr: a number is emitted here, and this is no number");
  static_assert(kFit != Fit::kLossy,
                "mr: this number may not fit the key or value type that is declared here: it is wider, or floating "
                "point where an integer is declared. Declare a wider type, such as int64_t or double, or convert with "
                "static_cast where the loss is meant");
  if constexpr (kFit == Fit::kIfChecked) {
    if (const int n = static_cast<int>(v); static_cast<int>(static_cast<To>(n)) != n) [[unlikely]] {
      throw JobError("the number " + std::to_string(n) + " does not fit the declared type of " +
                     std::to_string(sizeof(To) * 8) + " bits; declare a wider key or value type");
    }
  }
  if constexpr (kFit == Fit::kAlways || kFit == Fit::kIfChecked) {
    return static_cast<To>(v);
  } else {
    return To{};
  }
}

// Returns an element of a pair or tuple: numbers as Declared does, all else unchanged.
template <class To, class From>
constexpr decltype(auto) DeclaredPart(const From& v) {
  if constexpr (std::is_arithmetic_v<To>) {
    return Declared<To>(v);
  } else {
    return (v);
  }
}

// A pair or tuple from a list in braces, whose numbers are converted as Declared does. The constructors of std::pair
// and std::tuple would narrow them silently.
template <class View>
struct Braced;

// A number in a list that has further lists, converted as Declared does.
template <class T>
struct ListedNumber {
  template <class From>
  constexpr ListedNumber(const From& v) : value(Declared<T>(v)) {}  // NOLINT(google-explicit-constructor)
  T value;
};

// The parameter of a part in a list that has further lists, and what it stands for.
template <class T>
struct ListPart {
  using Type = T;
  static const T& Get(const T& part) { return part; }
};
template <class T>
requires std::is_arithmetic_v<T>
struct ListPart<T> {
  using Type = ListedNumber<T>;
  static T Get(const Type& part) { return part.value; }
};
template <class A, class B>
struct ListPart<std::pair<A, B>> {
  using Type = Braced<std::pair<A, B>>;
  static const std::pair<A, B>& Get(const Type& part) { return part; }
};
template <class... Ts>
struct ListPart<std::tuple<Ts...>> {
  using Type = Braced<std::tuple<Ts...>>;
  static const std::tuple<Ts...>& Get(const Type& part) { return part; }
};

template <template <class...> class Shape, class... Ts>
struct Braced<Shape<Ts...>> : Shape<Ts...> {
  using View = Shape<Ts...>;
  Braced() = default;
  Braced(const View& parts) : View(parts) {}  // NOLINT(google-explicit-constructor)
  Braced(const typename ListPart<Ts>::Type&... parts) requires(sizeof...(Ts) > 1)  // one with a list within the list
      : View(ListPart<Ts>::Get(parts)...) {}
  template <class... From>
  requires(sizeof...(From) == sizeof...(Ts) && sizeof...(Ts) > 1 &&
           ((std::is_arithmetic_v<Ts> || std::is_convertible_v<const From&, Ts>)&&...)) Braced(const From&... parts)
      : View(Ts(DeclaredPart<Ts>(parts))...) {}  // NOLINT(google-explicit-constructor)
};

// The parameter type that a list in braces initialises.
template <class View>
struct ListOf {
  using Type = View;
};
template <class A, class B>
struct ListOf<std::pair<A, B>> {
  using Type = Braced<std::pair<A, B>>;
};
template <class... Ts>
struct ListOf<std::tuple<Ts...>> {
  using Type = Braced<std::tuple<Ts...>>;
};

// Returns a list in braces as the pair or tuple that it is, and all else unchanged.
template <class T>
constexpr const T& Unbraced(const T& v) {
  return v;
}
template <class View>
constexpr const View& Unbraced(const Braced<View>& v) {
  return v;
}

}  // namespace mr::sdk
