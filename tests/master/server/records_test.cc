// Records that earlier releases wrote are read by this one.
#include "master/server/records.h"

#include <gtest/gtest.h>

namespace mr::master {
namespace {

sched::JobSubmitted Submitted() {
  sched::JobSubmitted e;
  e.job = {3, 7};
  e.name = "nightly";
  e.queue = "default";
  e.deadline = Seconds(60);
  e.policies = {"late"};
  e.graph.stages.resize(2);
  e.graph.stages[0].name = "map";
  e.graph.stages[1].name = "sum";
  e.graph.stages[1].inputs = {sched::StageInput{true, sched::EdgeKind::kAllToAll, 0}};
  return e;
}

// The bytes of the record as a release wrote it that knew no utility: four fewer, the number of its points.
template <class Old>
std::string Before(const sched::Event& event, const Old& old, const EventRecord& record) {
  std::string bytes;
  FieldWriter writer(&bytes);
  writer.Put(record.stamped.at);
  writer.Put(static_cast<uint8_t>(event.index()));
  writer.Put(old);
  writer.Put(record.extra);
  writer.Put(record.outcome);
  writer.Put(record.digest);
  return bytes;
}

template <class Old>
Old OldOf(const sched::JobSubmitted& e) {
  Old old;
  static_cast<sched::JobSubmitted&>(old) = e;
  return old;
}

TEST(RecordsTest, ASubmissionOfAReleaseWithoutUtilitiesIsRead) {
  const sched::JobSubmitted e = Submitted();
  EventRecord record{{Instant{5}, e}, "what the shell knows", std::vector<sched::Decision>{}, 42};
  const std::string now = EncodeFields(record);
  const std::string before = Before(record.stamped.event, OldOf<SubmittedBeforeUtility>(e), record);
  EXPECT_EQ(before.size() + 4, now.size());
  for (const std::string& bytes : {now, before}) {
    EventRecord back;
    ASSERT_TRUE(DecodeEvent(bytes, &back));
    EXPECT_EQ(EncodeFields(back), now);
  }
  EventRecord back;
  EXPECT_FALSE(DecodeEvent(before.substr(0, before.size() - 1), &back));
  EXPECT_FALSE(DecodeEvent(now + "x", &back));
}

TEST(RecordsTest, SoIsAJobThatWasTakenOver) {
  sched::JobTakenOver taken{Submitted(),
                            {sched::StagePlanned{{3, 7}, 0, 1, {sched::TaskPlan{}}, ""}},
                            9,
                            {sched::KeptOutput{0, 0, 1, 2, {1, 10, {1, 2}}, {}}}};
  EventRecord record{{Instant{5}, taken}, "", std::vector<sched::Decision>{}, 42};
  const TakenOverBeforeUtility old{OldOf<SubmittedBeforeUtility>(taken.submitted), taken.plans, taken.restarts,
                                   taken.outputs};
  EventRecord back;
  ASSERT_TRUE(DecodeEvent(Before(record.stamped.event, old, record), &back));
  EXPECT_EQ(EncodeFields(back), EncodeFields(record));
}

TEST(RecordsTest, AUtilityIsKept) {
  sched::JobSubmitted e = Submitted();
  e.utility = {{Seconds(0), 1}, {Seconds(9), -1}};
  EventRecord back;
  ASSERT_TRUE(DecodeEvent(EncodeFields(EventRecord{{Instant{5}, e}, "x", {}, {}}), &back));
  EXPECT_EQ(std::get<sched::JobSubmitted>(back.stamped.event).utility, e.utility);
}

}  // namespace
}  // namespace mr::master
