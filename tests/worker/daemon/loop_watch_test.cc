#include "worker/daemon/loop_watch.h"

#include <gtest/gtest.h>

#include <future>

namespace mr::worker {
namespace {

TEST(LoopWatchTest, CountsWhileTheLoopOwesAnAnswerAndNotTheTimeInWhichItsCallerStoodStill) {
  rpc::KjThread loop("loop");
  LoopWatch watch(loop);
  const Instant begin = Now();
  int64_t ms = 0;
  const auto silent_after = [&](int64_t more) { return watch.Silent(begin + Millis(ms += more)).millis(); };
  EXPECT_EQ(silent_after(500), 0);
  loop.Run([] {});  // behind the question
  EXPECT_EQ(silent_after(500), 0);
  loop.Run([] {});
  // It is held up, and asked behind that.
  std::promise<void> held, let_go;
  loop.Post([&] {
    held.set_value();
    let_go.get_future().wait();
  });
  held.get_future().wait();
  EXPECT_EQ(silent_after(500), 0);
  EXPECT_EQ(silent_after(500), 500);
  for (int i = 0; i < 9; ++i) silent_after(500);
  EXPECT_EQ(silent_after(500), 5500);
  EXPECT_EQ(silent_after(60'000), 6000) << "the whole process was stopped";
  let_go.set_value();
  loop.Run([] {});
  EXPECT_EQ(silent_after(500), 0);
}

}  // namespace
}  // namespace mr::worker
