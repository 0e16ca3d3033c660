#include "worker/host/packet_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "common/abi/batch.h"
#include "worker/host/task_host.h"

namespace mr::worker {
namespace {

using task::Kind;
using ::testing::HasSubstr;

constexpr task::ArenaLayout kSlots{2, 2};

class PacketChecksTest : public ::testing::Test {
 protected:
  // Two partitions of a shuffle, then one of files. One split.
  PacketChecksTest() : checks_({{false, 2}, {true, 1}}, 1, kSlots) {
    BatchBuilder builder;
    builder.Add("key", "value");
    builder.Finish(0, &batch_);
  }

  // Returns "" or the error.
  std::string Take(task::Header h, std::string payload = "") {
    task::Packet packet;
    packet.header = h;
    packet.payload = std::move(payload);
    const char* const wrong = checks_.Take(packet, sent_, memory_.get(), &effect_);
    return wrong == nullptr ? "" : wrong;
  }
  // Sends bytes in an output slot.
  std::string Output(uint32_t slot, uint32_t port, uint32_t partition, uint32_t records, const std::string& bytes,
                     uint64_t bits = 0) {
    if (slot < kSlots.output_slots) std::memcpy(memory_.get() + slot * task::kSlotBytes, bytes.data(), bytes.size());
    task::Header h;
    h.kind = Kind::kOutput;
    h.a = port, h.b = partition, h.c = records, h.d = slot, h.x = bytes.size(), h.y = bits;
    return Take(h);
  }
  std::string ReadMore() {
    task::Header h;
    h.kind = Kind::kReadMore;
    h.b = 100;
    return Take(h);
  }
  std::string Taken(uint32_t slot) {
    task::Header h;
    h.kind = Kind::kTaken;
    h.d = slot;
    return Take(h);
  }
  std::string Done(const task::WireResult& result = {}) {
    task::Header h;
    h.kind = Kind::kDone;
    return Take(h, EncodeFields(result));
  }

  PacketChecks checks_;
  uint64_t sent_ = 0;
  PacketEffect effect_;
  std::string batch_;
  const std::unique_ptr<char[]> memory_{new char[uint64_t{kSlots.output_slots} * task::kSlotBytes]()};
};

TEST_F(PacketChecksTest, TheUsualOrderFits) {
  EXPECT_EQ(checks_.FreeInputSlot(), 0u);
  checks_.InputGiven(0, 1);
  EXPECT_EQ(checks_.FreeInputSlot(), 1u);
  sent_ = 1;
  EXPECT_EQ(Taken(0), "");
  EXPECT_EQ(Output(0, 0, 1, 1, batch_), "");
  EXPECT_EQ(effect_.kind, PacketEffect::kChunk);
  EXPECT_EQ(effect_.chunk.substr(kOutputFront), batch_);
  EXPECT_EQ(Output(1, 1, 2, 0, "one ", task::kFragment), "");
  EXPECT_EQ(effect_.kind, PacketEffect::kFragment);
  checks_.OutputFreed(1, 2);
  sent_ = 2;
  EXPECT_EQ(Output(1, 1, 2, 0, "piece"), "");
  EXPECT_EQ(effect_.chunk, "one piece");
  EXPECT_EQ(ReadMore(), "");
  checks_.ReadAnswered(3);
  EXPECT_EQ(Done(), "");
  EXPECT_EQ(effect_.kind, PacketEffect::kTaskResult);
  EXPECT_EQ(Done(), "it sent a packet after its result");
}

// Without these the daemon would queue packets for it, up to 1 MiB for each of its own, as long as it goes on.
TEST_F(PacketChecksTest, AChildUsesOnlyWhatItHasReceived) {
  EXPECT_EQ(ReadMore(), "");
  EXPECT_EQ(ReadMore(), "a read before the previous one was answered");
  checks_.ReadAnswered(18);
  sent_ = 17;
  EXPECT_EQ(ReadMore(), "a read before the previous one was answered") << "the socket has not taken all of it";
  sent_ = 18;
  EXPECT_EQ(ReadMore(), "");

  EXPECT_EQ(Output(0, 1, 2, 0, "a", task::kFragment), "");
  EXPECT_EQ(Output(0, 1, 2, 0, "b", task::kFragment), "an output slot that is not free");
  checks_.OutputFreed(0, 19);
  EXPECT_EQ(Output(0, 1, 2, 0, "b", task::kFragment), "an output slot that is not free");
  sent_ = 19;
  EXPECT_EQ(Output(0, 1, 2, 0, "b"), "");

  checks_.InputGiven(1, 20);
  EXPECT_EQ(Taken(1), "an input slot that it was not given");
  sent_ = 20;
  EXPECT_EQ(Taken(1), "");
  EXPECT_EQ(Taken(1), "an input slot that it was not given");
  EXPECT_EQ(Taken(7), "an input slot that it was not given");
}

TEST_F(PacketChecksTest, FragmentsAreOfOnePartition) {
  EXPECT_EQ(Output(0, 1, 2, 0, "one ", task::kFragment), "");
  EXPECT_THAT(Output(1, 0, 0, 1, batch_), HasSubstr("fragments of two partitions"));
}

TEST_F(PacketChecksTest, OutputIsForItsOwnPartitionsInOrderAndWhole) {
  EXPECT_THAT(Output(7, 0, 0, 1, batch_), HasSubstr("not free"));
  EXPECT_THAT(Output(0, 0, 0, 1, ""), HasSubstr("overrun"));
  EXPECT_EQ(Output(0, 0, 1, 1, batch_), "");
  checks_.OutputFreed(0, 0);
  EXPECT_THAT(Output(0, 0, 0, 1, batch_), HasSubstr("out of order"));
  EXPECT_THAT(Output(1, 0, 2, 1, batch_), HasSubstr("not its own"));
  checks_.OutputFreed(0, 0);
  checks_.OutputFreed(1, 0);
  EXPECT_THAT(Output(0, 0, 1, 2, batch_), HasSubstr("number of records"));
  EXPECT_NE(Output(1, 0, 1, 1, "no batch at all, whatever its length may be"), "");
}

TEST_F(PacketChecksTest, AResultComesAfterAllElseAndHasLimits) {
  task::WireResult result;
  result.hot_keys.resize(1);
  result.hot_keys[0].partition = 2;
  EXPECT_THAT(Done(result), HasSubstr("hot key"));
  PacketChecks fresh({{true, 1}}, 1, kSlots);
  std::swap(checks_, fresh);
  EXPECT_EQ(Output(0, 0, 0, 0, "half", task::kFragment), "");
  EXPECT_THAT(Done(), HasSubstr("before its output"));
}

}  // namespace
}  // namespace mr::worker
