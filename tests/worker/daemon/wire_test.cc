#include "worker/daemon/wire.h"

#include <capnp/message.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/rpc/wire.h"

namespace mr::worker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// The replicas of a launch's only block, as this attempt tries them.
std::vector<std::string> Tried(uint32_t attempt, const std::vector<std::string>& replicas) {
  capnp::MallocMessageBuilder message;
  auto command = message.initRoot<rpc::Command>();
  auto launch = command.initLaunch();
  rpc::ToWire(AttemptId{{{1, 1}, 0, 0}, attempt}, launch.initAttempt());
  auto addresses = launch.initSplits(1)[0].initBlocks(1)[0].initAddresses(static_cast<uint32_t>(replicas.size()));
  for (uint32_t i = 0; i < replicas.size(); ++i) addresses.set(i, replicas[i]);
  const Result<Command> read = FromWire(command.asReader());
  if (!read.ok()) return {read.status().ToString()};
  return std::get<Launch>(*read).splits.at(0).blocks.at(0).addresses;
}

TEST(WireTest, AttemptsOfATaskBeginWithDifferentReplicas) {
  EXPECT_THAT(Tried(1, {"a", "b", "c"}), ElementsAre("a", "b", "c")) << "nearest first";
  EXPECT_THAT(Tried(2, {"a", "b", "c"}), ElementsAre("b", "c", "a"));
  EXPECT_THAT(Tried(3, {"a", "b", "c"}), ElementsAre("c", "a", "b"));
  EXPECT_THAT(Tried(4, {"a", "b", "c"}), ElementsAre("a", "b", "c"));
  EXPECT_THAT(Tried(2, {"a"}), ElementsAre("a"));
  EXPECT_THAT(Tried(2, {}), IsEmpty());
}

}  // namespace
}  // namespace mr::worker
