// Types between stages: what operators declare, and what LocalJob refuses because of it.
#include "paceline/types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>

#include "paceline/paceline.h"
#include "paceline/testing.h"

namespace mr {

struct Colour {
  uint8_t red = 0;
};
struct Shape {
  uint8_t sides = 0;
};
// Codecs of a user's making, with a tag and without one.
template <>
struct ValueCodec<Colour> {
  using View = Colour;
  using Part = Colour;
  static void Append(const Colour& c, std::string* out) { out->push_back(static_cast<char>(c.red)); }
  static void AppendPart(const Colour& c, std::string* out) { Append(c, out); }
  static Colour TakePart(std::string_view* in) { return {static_cast<uint8_t>(sdk::Take(in, 1, "a colour")[0])}; }
  static Colour Decode(std::string_view in) { return sdk::DecodeWhole<ValueCodec>(in); }
  static std::string TypeTag() { return "colour"; }
};
template <>
struct ValueCodec<Shape> {
  using View = Shape;
  using Part = Shape;
  static void Append(const Shape& s, std::string* out) { out->push_back(static_cast<char>(s.sides)); }
  static void AppendPart(const Shape& s, std::string* out) { Append(s, out); }
  static Shape TakePart(std::string_view* in) { return {static_cast<uint8_t>(sdk::Take(in, 1, "a shape")[0])}; }
  static Shape Decode(std::string_view in) { return sdk::DecodeWhole<ValueCodec>(in); }
};

namespace {

using testing::AllOf;
using testing::HasSubstr;

template <class V, class C = V>
class Writes : public LineMapper<std::string, V>, public Combiner<std::string, C> {
 public:
  void Map(std::string_view line, typename LineMapper<std::string, V>::Out& out) { out.Emit(line, V{}); }
  C Combine(std::string_view, Values<C>& values) {
    C last{};
    for (auto v : values) last = C(v);
    return last;
  }
};

template <class V>
class Reads : public Reducer<std::string, V, Text, Text> {
 public:
  void Reduce(std::string_view key, Values<V>& values, TextEmitter& out) {
    for ([[maybe_unused]] auto v : values) out.Line(key);
  }
};

template <class L, class R>
class Joins : public Joiner<std::string, L, R, Text, Text> {
 public:
  void Join(std::string_view key, const std::vector<L>&, Values<R>&, TextEmitter& out) { out.Line(key); }
};

template <class V>
class LooksUp : public Mapper<std::string, std::string, Text, Text>, public SideInput<std::string, V> {
 public:
  void Side(std::string_view, const ValueView<V>&) {}
  void Map(std::string_view, std::string_view line, Out& out) { out.Line(line); }
};

class TwoPorts : public LineMapper<std::string, int64_t> {
 public:
  using MorePorts = Ports<Records<int32_t, std::vector<double>>>;
  void Map(std::string_view, Out&) {}
};

class Encodes : public LineMapper<std::string, AnyBytes> {
 public:
  void Map(std::string_view line, Out& out) { out.EmitRaw(line, std::string_view("\1\0\0\0", 4)); }
};

std::string TypesAsText(const mr_operator& op) {
  const OperatorTypes types = TypesOf(op);
  std::string text;
  for (const auto* list : {&types.inputs, &types.ports, &types.side, &types.combine}) {
    for (const RecordType& type : *list) text += TypeText(type);
    text += ";";
  }
  return text;
}

template <class Op>
std::string Declared() {
  return TypesAsText(sdk::Adapter<Op>::Table("o", 0));
}

TEST(TypeTagsTest, FollowFromTheClassesThatAnOperatorDerivesFrom) {
  EXPECT_EQ(Declared<Writes<int64_t>>(), ";(key str, value i64);;(key str, value i64);");
  EXPECT_EQ(Declared<Reads<int32_t>>(), "(key str, value i32);(key str, value str);;;");
  EXPECT_EQ((Declared<Joins<int32_t, std::pair<std::string, bool>>>()),
            "(key str, value i32)(key str, value pair<str,bool>);(key str, value str);;;");
  EXPECT_EQ(Declared<LooksUp<double>>(), "(key str, value str);(key str, value str);(key str, value f64);;");
  EXPECT_EQ(Declared<TwoPorts>(), ";(key str, value i64)(key i32, value vec<f64>);;;");
  EXPECT_EQ(Declared<Encodes>(), ";(key str, value of unknown type);;;");
  EXPECT_EQ(Declared<Reads<Colour>>(), "(key str, value colour);(key str, value str);;;");
  EXPECT_EQ((Declared<Reads<std::pair<Colour, Shape>>>()), "(key str, value pair<colour,?>);(key str, value str);;;");
}

TEST(TypeTagsTest, AgreeWhereTheyAreEqualButForPartsThatAreNotKnown) {
  EXPECT_TRUE(TypesAgree("i64", "i64"));
  EXPECT_FALSE(TypesAgree("i64", "i32"));
  EXPECT_FALSE(TypesAgree("i6", "i64"));
  EXPECT_TRUE(TypesAgree("?", "pair<str,vec<i64>>"));
  EXPECT_TRUE(TypesAgree("pair<?,i64>", "pair<tuple<a,b,c>,i64>"));
  EXPECT_TRUE(TypesAgree("pair<str,?>", "pair<str,vec<i64>>"));
  EXPECT_FALSE(TypesAgree("pair<?,i64>", "pair<tuple<a,b,c>,i32>"));
  EXPECT_FALSE(TypesAgree("pair<?,?>", "tuple<a,b,c>"));
}

// A library of a writer (or two) and a reader, which runs them as one job.
void PlanGroup(const std::vector<std::string>&, JobPlan& plan) {
  auto& from = plan.Map("count", "writes").ReadFiles().Shuffle();
  plan.Reduce("sum", "reads").Group(from).WriteFiles();
}
void PlanCombined(const std::vector<std::string>&, JobPlan& plan) {
  auto& from = plan.Map("count", "writes").ReadFiles().Shuffle({.combine = true});
  plan.Reduce("sum", "reads").Group(from).WriteFiles();
}
void PlanJoin(const std::vector<std::string>&, JobPlan& plan) {
  auto& left = plan.Map("left", "writes").ReadFiles().Shuffle();
  auto& right = plan.Map("right", "writes2").ReadFiles().Shuffle();
  plan.Join("both", "reads").Group(left).Group(right).WriteFiles();
}
void PlanSide(const std::vector<std::string>&, JobPlan& plan) {
  auto& side = plan.Map("small", "writes").ReadFiles().Shuffle();
  plan.Map("large", "reads").ReadFiles().Read(Edge::kBroadcast, side).WriteFiles();
}

template <PlanFunction kPlan, class W, class R, class W2 = W>
LocalResult RunJob() {
  Library library;
  library.Add<W>("writes", MR_DETERMINISTIC)
      .template Add<W2>("writes2", MR_DETERMINISTIC)
      .template Add<R>("reads", MR_DETERMINISTIC);
  library.AddJob<kPlan>("job", "");
  return LocalJob(library.table()).Input("in", "a\nb\n").Run("job");
}

TEST(LocalJobTypesTest, AMapperOfInt64AndAReducerOfInt32AreRefusedWithBothStagesAndTypes) {
  EXPECT_EQ(
      (RunJob<PlanGroup, Writes<int64_t>, Reads<int32_t>>().error),
      "stage 'count' writes (key str, value i64) to port 0, but stage 'sum' takes (key str, value i32) from it as "
      "input 0: let both operators declare the same types");
  EXPECT_TRUE((RunJob<PlanGroup, Writes<int64_t>, Reads<int64_t>>().ok));
}

TEST(LocalJobTypesTest, EachSideOfAJoinIsCompared) {
  EXPECT_TRUE((RunJob<PlanJoin, Writes<int32_t>, Joins<int32_t, double>, Writes<double>>().ok));
  EXPECT_THAT((RunJob<PlanJoin, Writes<float>, Joins<int32_t, double>, Writes<double>>().error),
              AllOf(HasSubstr("stage 'left' writes (key str, value f32)"), HasSubstr("value i32) from it as input 0")));
  EXPECT_THAT(
      (RunJob<PlanJoin, Writes<int32_t>, Joins<int32_t, double>, Writes<float>>().error),
      AllOf(HasSubstr("stage 'right' writes (key str, value f32)"), HasSubstr("value f64) from it as input 1")));
}

TEST(LocalJobTypesTest, ASideInputIsCompared) {
  EXPECT_TRUE((RunJob<PlanSide, Writes<double>, LooksUp<double>>().ok));
  EXPECT_THAT((RunJob<PlanSide, Writes<int64_t>, LooksUp<double>>().error),
              AllOf(HasSubstr("'small' writes (key str, value i64)"), HasSubstr("'large' takes (key str, value f64)")));
}

TEST(LocalJobTypesTest, ACombinerOfAnotherTypeIsRefusedWhereThePlanCombines) {
  EXPECT_TRUE((RunJob<PlanGroup, Writes<int64_t, int32_t>, Reads<int64_t>>().ok));
  EXPECT_EQ((RunJob<PlanCombined, Writes<int64_t, int32_t>, Reads<int64_t>>().error),
            "stage 'count' writes (key str, value i64) to port 0 and combines it as (key str, value i32): let both "
            "operators declare the same types");
}

TEST(LocalJobTypesTest, TypesThatAreNotKnownAgreeWithAll) {
  EXPECT_TRUE((RunJob<PlanGroup, Encodes, Reads<int32_t>>().ok));
  EXPECT_TRUE((RunJob<PlanGroup, Writes<Shape>, Reads<uint8_t>>().ok));
  EXPECT_FALSE((RunJob<PlanGroup, Writes<Colour>, Reads<uint8_t>>().ok));
}

// The bytes themselves are checked, too: what declares nothing wrong fails at its first record, with its place.
TEST(LocalJobTypesTest, LeftoverBytesFailTheRecordWithItsPlace) {
  const LocalResult result = RunJob<PlanGroup, Encodes, Reads<int64_t>>();
  EXPECT_FALSE(result.ok);
  EXPECT_THAT(result.error, HasSubstr("cannot decode i64: it takes 8 bytes, and there are 4"));
  EXPECT_EQ(result.failed_stage, "sum");
}

// A table of the first release of ABI 1 ends before the types.
TEST(LocalJobTypesTest, ALibraryFromBeforeThereWereTypesRuns) {
  mr_operator writes = sdk::Adapter<Writes<int64_t>>::Table("writes", MR_DETERMINISTIC);
  mr_operator reads = sdk::Adapter<Reads<int32_t>>::Table("reads", MR_DETERMINISTIC);
  writes.struct_size = offsetof(mr_operator, input_types);
  EXPECT_TRUE(TypesOf(writes).empty());
  Library library;
  library.Add<Writes<int64_t>>("writes", 0).Add<Reads<int32_t>>("reads", 0).AddJob<PlanGroup>("job", "");
  mr_library table = *library.table();
  const mr_operator* operators[] = {&writes, &reads};
  table.operators = operators;
  // Nothing is said of types; the records themselves do not fit.
  EXPECT_THAT(LocalJob(&table).Input("in", "a\n").Run("job").error,
              HasSubstr("cannot decode i32: it takes 4 bytes, and there are 8"));
  reads = sdk::Adapter<Reads<int64_t>>::Table("reads", MR_DETERMINISTIC);
  EXPECT_TRUE(LocalJob(&table).Input("in", "a\n").Run("job").ok);
}

}  // namespace
}  // namespace mr
