#include "jobs/builtin/aggregate/moments.h"

#include <array>
#include <cmath>
#include <cstring>

#include "jobs/builtin/aggregate/wide_integer.h"

namespace mr::builtin {
namespace {

// Sums of exact numbers in units of 1e-18: 64 bits more than one number or one square has, so 2^64 of them fit.
struct ExactSums {
  std::array<uint64_t, 3> sum{};      // two's complement, the lowest limb first
  std::array<uint64_t, 5> squares{};  // in units of 1e-36
};

template <size_t N>
void AddLimbs(const std::array<uint64_t, N>& other, std::array<uint64_t, N>* limbs) {
  unsigned __int128 carry = 0;
  for (size_t i = 0; i < N; ++i) {
    carry += static_cast<unsigned __int128>((*limbs)[i]) + other[i];
    (*limbs)[i] = static_cast<uint64_t>(carry);
    carry >>= 64;
  }
}

// Returns the square of a magnitude in four limbs, and a fifth of zero.
std::array<uint64_t, 5> SquareOf(unsigned __int128 magnitude) {
  using Wide = unsigned __int128;
  const auto low = static_cast<uint64_t>(magnitude), high = static_cast<uint64_t>(magnitude >> 64);
  const Wide ll = Wide{low} * low, lh = Wide{low} * high, hh = Wide{high} * high;
  std::array<uint64_t, 5> square{static_cast<uint64_t>(ll), static_cast<uint64_t>(ll >> 64), static_cast<uint64_t>(hh),
                                 static_cast<uint64_t>(hh >> 64), 0};
  const std::array<uint64_t, 5> middle{0, static_cast<uint64_t>(lh), static_cast<uint64_t>(lh >> 64), 0, 0};
  AddLimbs(middle, &square);
  AddLimbs(middle, &square);
  return square;
}

// Sums of doubles: the sum in units of 2^-kDoubleShift, that of squares in units of 2^-2*kDoubleShift.
constexpr int kDoubleShift = WideInteger::kDoubleShift;
struct DoubleSums {
  WideInteger sum, squares;
};

ExactSums LoadExact(std::string_view bytes) {
  ExactSums sums;
  if (!bytes.empty()) std::memcpy(&sums, sdk::Take(&bytes, sizeof sums, "sums of squares").data(), sizeof sums);
  return sums;
}
DoubleSums LoadDoubles(std::string_view bytes) {
  DoubleSums sums;
  if (bytes.size() <= sizeof(ExactSums)) return sums;
  bytes.remove_prefix(sizeof(ExactSums));
  sums.sum = WideInteger::Decode(&bytes);
  sums.squares = WideInteger::Decode(&bytes);
  return sums;
}
void StoreExact(const ExactSums& sums, std::string* bytes) {
  if (bytes->size() < sizeof sums) bytes->resize(sizeof sums);
  std::memcpy(bytes->data(), &sums, sizeof sums);
}
void StoreDoubles(const DoubleSums& sums, std::string* bytes) {
  bytes->resize(sizeof(ExactSums));
  sums.sum.Encode(bytes);
  sums.squares.Encode(bytes);
}

void AddDouble(double value, DoubleSums* sums) {
  const WideInteger number = WideInteger::FromDouble(value);
  sums->sum.Add(number);
  sums->squares.Add(number.Times(number));
}

}  // namespace

void Moments::Add(const Decimal& number, std::string* bytes) {
  if (!number.exact()) {
    if (bytes->empty()) StoreExact({}, bytes);
    DoubleSums doubles = LoadDoubles(*bytes);
    AddDouble(number.AsDouble(), &doubles);
    StoreDoubles(doubles, bytes);
    return;
  }
  ExactSums sums = LoadExact(*bytes);
  const __int128 units = number.units();
  AddLimbs({static_cast<uint64_t>(units), static_cast<uint64_t>(units >> 64), units < 0 ? ~uint64_t{0} : 0}, &sums.sum);
  AddLimbs(SquareOf(units < 0 ? -static_cast<unsigned __int128>(units) : static_cast<unsigned __int128>(units)),
           &sums.squares);
  StoreExact(sums, bytes);
}

void Moments::Merge(std::string_view other, std::string* bytes) {
  if (other.empty()) return;
  ExactSums sums = LoadExact(*bytes);
  const ExactSums more = LoadExact(other);
  AddLimbs(more.sum, &sums.sum);
  AddLimbs(more.squares, &sums.squares);
  StoreExact(sums, bytes);
  if (other.size() == sizeof sums) return;
  DoubleSums doubles = LoadDoubles(*bytes);
  const DoubleSums more_doubles = LoadDoubles(other);
  doubles.sum.Add(more_doubles.sum);
  doubles.squares.Add(more_doubles.squares);
  StoreDoubles(doubles, bytes);
}

double Moments::Variance(std::string_view bytes, uint64_t count, uint64_t divisor, bool root) {
  // count * squares - sum^2 is exact; it is count times the sum of squared differences, times the square of the unit.
  const ExactSums exact = LoadExact(bytes);
  WideInteger sum = WideInteger::FromLimbs(exact.sum.data(), exact.sum.size(), true);
  WideInteger squares = WideInteger::FromLimbs(exact.squares.data(), exact.squares.size(), false);
  int exponent = 0;
  if (bytes.size() > sizeof exact) {
    const DoubleSums doubles = LoadDoubles(bytes);
    const WideInteger one(static_cast<unsigned __int128>(Decimal::kOne));
    sum = sum.ShiftedLeft(kDoubleShift).Add(doubles.sum.Times(one));
    squares = squares.ShiftedLeft(2 * kDoubleShift).Add(doubles.squares.Times(one).Times(one));
    exponent = -2 * kDoubleShift;
  }
  WideInteger difference = squares.Times(WideInteger(count));
  difference.Add(sum.Times(sum).Negate());
  // The exponents of a long double reach squares of doubles.
  const long double value =
      difference.Scaled(exponent) / static_cast<long double>(count) / static_cast<long double>(divisor) / 1e18L / 1e18L;
  return static_cast<double>(root ? std::sqrt(value) : value);
}

}  // namespace mr::builtin
