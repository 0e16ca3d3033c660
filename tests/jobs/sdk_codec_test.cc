#include "paceline/codec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "common/base/rng.h"

namespace mr {
namespace {

template <class T>
std::string Key(const T& v) {
  std::string bytes;
  KeyCodec<T>::Append(v, &bytes);
  return bytes;
}

// The sign of a - b, as values and as bytes.
template <class T>
int Order(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

template <class T>
void ExpectOrderKept(const T& a, const T& b) {
  const std::string x = Key(a), y = Key(b);
  EXPECT_EQ(Order<std::string_view>(x, y), Order(a, b)) << testing::PrintToString(a) << " and "
                                                        << testing::PrintToString(b);
  EXPECT_EQ(T(KeyCodec<T>::Decode(x)), a);
}

// Numbers of all magnitudes, with neighbours.
template <class T>
T RandomNumber(Rng& rng) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>((static_cast<double>(rng.Next()) - 9e18) *
                          std::pow(2.0, static_cast<double>(rng.Below(200)) - 100));
  } else {
    return static_cast<T>(static_cast<T>(rng.Next() >> rng.Below(64)) * (rng.Below(2) ? 1 : -1));
  }
}

// Short strings of few letters, so that prefixes and zeros are common.
std::string RandomText(Rng& rng) {
  std::string text;
  for (uint64_t n = rng.Below(5); n > 0; --n) text += "\0\x01" "ab\xff"[rng.Below(5)];
  return text;
}

template <class T>
class NumberKeyTest : public testing::Test {};
using Numbers = testing::Types<int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t,
                               uint64_t, float, double>;
TYPED_TEST_SUITE(NumberKeyTest, Numbers);

TYPED_TEST(NumberKeyTest, BytesAscendAsTheNumbersDo) {
  using Limits = std::numeric_limits<TypeParam>;
  Rng rng(3);
  std::vector<TypeParam> numbers = {0, 1, Limits::min(), Limits::max(), Limits::lowest()};
  for (int i = 0; i < 60; ++i) numbers.push_back(RandomNumber<TypeParam>(rng));
  for (TypeParam a : numbers) {
    for (TypeParam b : numbers) ExpectOrderKept(a, b);
  }
}

TEST(KeyCodecTest, NegativeZeroIsZeroAndNanComesLast) {
  EXPECT_EQ(Key(-0.0), Key(0.0));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_GT(Key(nan), Key(std::numeric_limits<double>::infinity()));
  EXPECT_EQ(Key(nan), Key(-nan));
  EXPECT_LT(Key(-std::numeric_limits<double>::infinity()), Key(-1e300));
}

TEST(KeyCodecTest, TuplesOfStringsAndNumbersKeepOrderWhateverBytesTheyHold) {
  using Tuple = std::tuple<std::string, int32_t, std::string>;
  Rng rng(4);
  for (int i = 0; i < 20000; ++i) {
    const Tuple a(RandomText(rng), static_cast<int32_t>(rng.Below(3)) - 1, RandomText(rng));
    const Tuple b(RandomText(rng), static_cast<int32_t>(rng.Below(3)) - 1, RandomText(rng));
    ExpectOrderKept(a, b);
  }
}

TEST(KeyCodecTest, NestedPairsKeepOrder) {
  using Pair = std::pair<std::string, std::pair<std::string, uint8_t>>;
  Rng rng(5);
  for (int i = 0; i < 5000; ++i) {
    const Pair a{RandomText(rng), {RandomText(rng), static_cast<uint8_t>(rng.Next())}};
    const Pair b{RandomText(rng), {RandomText(rng), static_cast<uint8_t>(rng.Next())}};
    const std::string x = Key(a), y = Key(b);
    EXPECT_EQ(Order<std::string_view>(x, y), Order(a, b));
  }
}

TEST(KeyCodecTest, EnumsAreTheirNumbers) {
  enum class Colour : int8_t { kRed = -1, kBlue = 2 };
  EXPECT_LT(Key(Colour::kRed), Key(Colour::kBlue));
  EXPECT_EQ(KeyCodec<Colour>::Decode(Key(Colour::kBlue)), Colour::kBlue);
}

TEST(KeyCodecTest, BytesOfAnotherTypeAreRefused) {
  EXPECT_THROW(KeyCodec<int64_t>::Decode("abc"), JobError);
  EXPECT_THROW((KeyCodec<std::tuple<std::string, int>>::Decode(std::string_view("a\0b", 3))),
               JobError);
  EXPECT_THROW((ValueCodec<std::tuple<std::string, int>>::Decode("\x7f" "abc")), JobError);
  EXPECT_THROW(ValueCodec<std::vector<std::string>>::Decode(std::string(11, '\xff')), JobError);
}

TEST(ValueCodecTest, ValuesComeBackAsTheyWentIn) {
  using Value = std::tuple<std::string, std::vector<uint32_t>, double, Nothing>;
  const Value value(std::string("a\0b", 3), {1, 2, 3}, -2.5, Nothing());
  std::string bytes;
  ValueCodec<Value>::Append(value, &bytes);
  EXPECT_EQ(Value(ValueCodec<Value>::Decode(bytes)), value);

  const std::vector<std::string> texts = {"", "x", std::string(300, 'y')};
  bytes.clear();
  ValueCodec<std::vector<std::string>>::Append(texts, &bytes);
  EXPECT_EQ(ValueCodec<std::vector<std::string>>::Decode(bytes), texts);
}

}  // namespace
}  // namespace mr
