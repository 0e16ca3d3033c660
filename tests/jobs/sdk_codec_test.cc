#include "paceline/codec.h"

#include <gmock/gmock.h>
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
  EXPECT_EQ(Order<std::string_view>(x, y), Order(a, b))
      << testing::PrintToString(a) << " and " << testing::PrintToString(b);
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
  for (uint64_t n = rng.Below(5); n > 0; --n)
    text +=
        "\0\x01"
        "ab\xff"[rng.Below(5)];
  return text;
}

template <class T>
class NumberKeyTest : public testing::Test {};
using Numbers = testing::Types<int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t, float, double>;
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
  EXPECT_THROW((KeyCodec<std::tuple<std::string, int>>::Decode(std::string_view("a\0b", 3))), JobError);
  EXPECT_THROW((ValueCodec<std::tuple<std::string, int>>::Decode("\x7f"
                                                                 "abc")),
               JobError);
  EXPECT_THROW(ValueCodec<std::vector<std::string>>::Decode(std::string(11, '\xff')), JobError);
}

// The error of decoding these bytes; empty: none.
template <class Codec>
std::string Complaint(std::string_view bytes) {
  try {
    (void)Codec::Decode(bytes);
    return "";
  } catch (const JobError& error) {
    return error.what();
  }
}

template <template <class> class Codec, class T>
void ExpectItsOwnBytesAlone(const T& value, const std::string& tag) {
  std::string bytes;
  Codec<T>::Append(value, &bytes);
  const std::string length = std::to_string(bytes.size());
  EXPECT_EQ(Complaint<Codec<T>>(bytes), "");
  EXPECT_THAT(Complaint<Codec<T>>(bytes + "x"),
              testing::StartsWith("cannot decode " + tag + ": it takes " + length + " bytes, and there are " +
                                  std::to_string(bytes.size() + 1)));
  if (bytes.empty()) return;
  bytes.pop_back();
  const std::string less = Complaint<Codec<T>>(bytes);
  EXPECT_THAT(less, testing::StartsWith("cannot decode " + tag + ": it takes ")) << tag;
  EXPECT_THAT(less, testing::HasSubstr(" bytes, and there are " + std::to_string(bytes.size()))) << tag;
}

template <class T>
void ExpectItsOwnBytesAlone(const T& value, const std::string& tag) {
  ExpectItsOwnBytesAlone<KeyCodec>(value, tag);
  ExpectItsOwnBytesAlone<ValueCodec>(value, tag);
}

enum class Shade : int16_t { kDark = 3 };

TEST(LeftoverBytesTest, EachCodecRefusesMoreAndFewerBytesThanItsOwnAndNamesTypeAndLengths) {
  ExpectItsOwnBytesAlone<int8_t>(-1, "i8");
  ExpectItsOwnBytesAlone<uint16_t>(7, "u16");
  ExpectItsOwnBytesAlone<int32_t>(7, "i32");
  ExpectItsOwnBytesAlone<int64_t>(7, "i64");
  ExpectItsOwnBytesAlone<uint64_t>(7, "u64");
  ExpectItsOwnBytesAlone<float>(0.5F, "f32");
  ExpectItsOwnBytesAlone<double>(0.5, "f64");
  ExpectItsOwnBytesAlone<bool>(true, "bool");
  ExpectItsOwnBytesAlone<Shade>(Shade::kDark, "i16");
  ExpectItsOwnBytesAlone<Nothing>({}, "none");
  ExpectItsOwnBytesAlone<std::pair<std::string, int64_t>>({"ab", 5}, "pair<str,i64>");
  ExpectItsOwnBytesAlone<std::pair<int32_t, std::string>>({5, "ab"}, "pair<i32,str>");
  ExpectItsOwnBytesAlone<std::tuple<std::string, uint8_t, std::string>>({"a", uint8_t{1}, "b"}, "tuple<str,u8,str>");
  ExpectItsOwnBytesAlone<std::tuple<int32_t, std::pair<std::string, Nothing>>>({1, {"b", {}}},
                                                                               "pair<i32,pair<str,none>>");
  ExpectItsOwnBytesAlone<ValueCodec, std::vector<int32_t>>({1, 2}, "vec<i32>");
  ExpectItsOwnBytesAlone<ValueCodec, std::vector<std::string>>({"a", ""}, "vec<str>");
}

TEST(LeftoverBytesTest, AnInt32IsNotReadFromAnInt64) {
  std::string bytes;
  ValueCodec<int64_t>::Append(7, &bytes);
  EXPECT_EQ(Complaint<ValueCodec<int32_t>>(bytes),
            "cannot decode i32: it takes 4 bytes, and there are 8; do the types of the writing and the reading "
            "operator agree?");
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

TEST(ValueCodecTest, PairsComeBackAsPairsAloneInsideVectorsAndInsideEachOther) {
  using Named = std::pair<std::string, int64_t>;
  using Nested = std::pair<Named, std::vector<Named>>;
  const Nested value{{"a", 1}, {{"b", 2}, {"", -3}}};
  std::string bytes;
  ValueCodec<Nested>::Append(value, &bytes);
  EXPECT_EQ(Nested(ValueCodec<Nested>::Decode(bytes)), value);

  const std::vector<Nested> list = {value, {}};
  bytes.clear();
  ValueCodec<std::vector<Nested>>::Append(list, &bytes);
  EXPECT_EQ(ValueCodec<std::vector<Nested>>::Decode(bytes), list);

  const std::pair<std::string, Named> key{"x", {"y", 4}};
  const std::string key_bytes = Key(key);
  EXPECT_EQ((std::pair<std::string, Named>(KeyCodec<std::pair<std::string, Named>>::Decode(key_bytes))), key);
}

}  // namespace
}  // namespace mr
