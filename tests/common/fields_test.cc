#include "common/base/fields.h"

#include <gtest/gtest.h>

#include "master/sched/event.h"

namespace mr {
namespace {

TEST(FieldsTest, AnEventComesBackFromItsBytes) {
  sched::StampedEvent in{
      {42}, sched::AttemptFinished{{{{1, 2}, 3, 4}, 5}, {6}, 7, {8, 9, {10, 11}}, {{1, 2, 3, {4, 5}}}, {12}, {13}}};
  sched::StampedEvent out;
  ASSERT_TRUE(DecodeFields(EncodeFields(in), &out));
  EXPECT_EQ(EncodeFields(out), EncodeFields(in));
  EXPECT_EQ(std::get<sched::AttemptFinished>(out.event).consumed.at(0).generation, 3u);
}

TEST(FieldsTest, CutOrLongBytesAreRefused) {
  const sched::StampedEvent in{{42}, sched::WorkerLost{{6}, 7, "gone"}};
  const std::string bytes = EncodeFields(in);
  sched::StampedEvent out;
  for (size_t n = 0; n < bytes.size(); ++n) EXPECT_FALSE(DecodeFields(bytes.substr(0, n), &out)) << n;
  EXPECT_FALSE(DecodeFields(bytes + "x", &out));
}

}  // namespace
}  // namespace mr
