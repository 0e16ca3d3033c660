// Pools, strands and loops: what runs, in which order, and what Stop drops. Run under thread sanitizer too.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "common/exec/loop.h"
#include "common/exec/pool.h"
#include "common/io/clock.h"

namespace mr {
namespace {

// Holds a thread until it is let go.
class Gate {
 public:
  std::function<void()> Closure() {
    return [this] {
      entered_.set_value();
      open_.get_future().wait();
    };
  }
  void AwaitEntered() { entered_.get_future().wait(); }
  void Open() { open_.set_value(); }

 private:
  std::promise<void> entered_, open_;
};

TEST(PoolTest, RunsClosuresOfAllThreads) {
  Pool pool(3);
  std::atomic<int> ran{0};
  std::vector<std::thread> posters;
  for (int p = 0; p < 4; ++p) {
    posters.emplace_back([&] {
      for (int i = 0; i < 500; ++i) EXPECT_TRUE(pool.Post([&ran] { ++ran; }));
    });
  }
  for (auto& poster : posters) poster.join();
  pool.Settle();
  EXPECT_EQ(ran, 2000);
}

TEST(PoolTest, ClosuresRunAtOnceOnSeveralThreads) {
  Pool pool(2);
  std::promise<void> first, second;
  pool.Post([&] {
    first.set_value();
    second.get_future().wait();
  });
  pool.Post([&] {
    first.get_future().wait();
    second.set_value();
  });
  pool.Settle();
}

TEST(PoolTest, SettleWaitsForWhatClosuresHavePosted) {
  Pool pool(2);
  std::atomic<int> ran{0};
  std::function<void(int)> chain = [&](int left) {
    ++ran;
    if (left > 0) pool.Post([&, left] { chain(left - 1); });
  };
  pool.Post([&] { chain(50); });
  pool.Settle();
  EXPECT_EQ(ran, 51);
}

TEST(PoolTest, StopDropsWhatIsQueuedAndDestroysItBeforeItReturns) {
  Pool pool(1);
  Gate gate;
  pool.Post(gate.Closure());
  gate.AwaitEntered();
  auto held = std::make_shared<int>(1);
  std::atomic<bool> ran{false};
  pool.Post([held, &ran] { ran = true; });
  std::thread stopper([&] { pool.Stop(); });
  // Refused from the moment at which the pool stops; the closure that runs holds Stop() up.
  while (pool.Post([held] {})) std::this_thread::yield();
  gate.Open();
  stopper.join();
  EXPECT_FALSE(ran);
  EXPECT_EQ(held.use_count(), 1);
}

TEST(PoolTest, FinishRunsWhatIsQueued) {
  Pool pool(1);
  std::atomic<int> ran{0};
  for (int i = 0; i < 100; ++i) pool.Post([&ran] { ++ran; });
  pool.Finish();
  EXPECT_EQ(ran, 100);
  EXPECT_FALSE(pool.Post([&ran] { ++ran; }));
  EXPECT_EQ(ran, 100);
}

TEST(StrandTest, RunsOneAtATimeInOrder) {
  Pool pool(4);
  constexpr int kStrands = 3, kEach = 400;
  int next[kStrands] = {};  // not atomic: each belongs to its strand
  std::vector<std::shared_ptr<Strand>> strands;
  for (int s = 0; s < kStrands; ++s) strands.push_back(pool.NewStrand());
  for (int i = 0; i < kEach; ++i) {
    for (int s = 0; s < kStrands; ++s) {
      strands[s]->Post([&next, s, i] { EXPECT_EQ(next[s]++, i); });
    }
  }
  strands.clear();  // what is posted runs nevertheless
  pool.Settle();
  for (const int n : next) EXPECT_EQ(n, kEach);
}

TEST(StrandTest, AClosureMayPostToItsOwnStrand) {
  Pool pool(2);
  auto strand = pool.NewStrand();
  std::vector<int> order;
  strand->Post([&] {
    strand->Post([&] { order.push_back(2); });
    order.push_back(1);
  });
  pool.Settle();
  EXPECT_EQ(order, (std::vector{1, 2}));
}

TEST(StrandTest, AStoppedPoolDropsClosuresThatOwnTheirStrand) {
  Pool pool(1);
  Gate gate;
  pool.Post(gate.Closure());
  gate.AwaitEntered();
  std::weak_ptr<Strand> weak;
  bool ran = false;
  {
    auto strand = pool.NewStrand();
    weak = strand;
    strand->Post([strand, &ran] { ran = true; });
  }
  EXPECT_FALSE(weak.expired());
  std::thread stopper([&] { pool.Stop(); });
  while (pool.Post([] {})) std::this_thread::yield();
  gate.Open();
  stopper.join();
  EXPECT_FALSE(ran);
  EXPECT_TRUE(weak.expired());
  // Nor does it keep what comes later.
  auto late = pool.NewStrand();
  weak = late;
  late->Post([late, &ran] { ran = true; });
  late = nullptr;
  EXPECT_FALSE(ran);
  EXPECT_TRUE(weak.expired());
}

TEST(LoopTest, RunsClosuresInOrderAndTheTurnsEndBehindThem) {
  int ran = 0, seen_by_turn = 0;
  Loop loop([&] { seen_by_turn = ran; });
  for (int i = 0; i < 100; ++i) loop.Post([&ran, i] { EXPECT_EQ(ran++, i); });
  loop.Start();
  loop.Run([&] { EXPECT_EQ(ran, 100); });
  loop.Run([&] { EXPECT_EQ(seen_by_turn, 100); });
}

TEST(LoopTest, TimersRunInOrderOfTheirTimeAndNotBefore) {
  Loop loop;
  std::vector<int> order;
  std::promise<void> done;
  loop.Start();
  loop.Run([&] {
    const Instant now = Now();
    loop.At(now + Millis(3), [&, now] {
      EXPECT_GE(Now(), now + Millis(3));
      order.push_back(3);
      loop.After(Millis(1), [&] { done.set_value(); });
    });
    loop.At(now + Millis(1), [&] { order.push_back(1); });
    loop.At(now, [&] { order.push_back(0); });
  });
  done.get_future().wait();
  EXPECT_EQ(order, (std::vector{0, 1, 3}));
}

TEST(LoopTest, APostWakesALoopThatWaitsForATimer) {
  Loop loop;
  loop.Start();
  loop.Run([&] { loop.After(Seconds(3600), [] { FAIL() << "an hour has not passed"; }); });
  for (int i = 0; i < 100; ++i) loop.Run([] {});
}

TEST(LoopTest, StopDropsAndDestroysWhatHasNotRun) {
  Loop loop;
  auto held = std::make_shared<int>(1);
  Gate gate;
  loop.After(Seconds(3600), [held] {});
  loop.Start();
  loop.Post(gate.Closure());
  gate.AwaitEntered();
  bool ran = false;
  loop.Post([held, &ran] { ran = true; });
  std::thread stopper([&] { loop.Stop(); });
  // Stop() waits for the closure that runs. What comes behind it is refused as soon as the loop stops.
  for (bool refused = false; !refused; std::this_thread::yield()) {
    const auto probe = std::make_shared<int>(2);
    loop.Post([probe] {});
    refused = probe.use_count() == 1;
  }
  gate.Open();
  stopper.join();
  loop.Post([held, &ran] { ran = true; });
  EXPECT_EQ(held.use_count(), 1);
}

TEST(LoopTest, MeasuresTheLongestWaitInTheQueue) {
  Loop loop;
  Gate gate;
  loop.Start();
  loop.Post(gate.Closure());
  gate.AwaitEntered();
  const Instant posted = Now();
  loop.Post([] {});
  while (Now() - posted < Millis(2)) std::this_thread::yield();
  gate.Open();
  loop.Run([] {});
  EXPECT_GE(loop.TakeMaxLag(), Millis(2));
}

class Pipe {
 public:
  Pipe() { EXPECT_EQ(::pipe(ends_), 0); }
  ~Pipe() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  int reader() const { return ends_[0]; }
  int writer() const { return ends_[1]; }
  void Put() const { EXPECT_EQ(::write(ends_[1], "x", 1), 1); }
  void Take() const {
    char byte;
    EXPECT_EQ(::read(ends_[0], &byte, 1), 1);
  }

 private:
  int ends_[2];
};

TEST(LoopTest, AWatchCallsOnceForEachRequest) {
  Pipe pipe;
  Loop loop;
  std::unique_ptr<Loop::Watch> watch;
  int calls = 0;
  loop.Start();
  for (int round = 1; round <= 3; ++round) {
    std::promise<void> called;
    loop.Run([&] {
      if (watch == nullptr) watch = loop.MakeWatch(pipe.reader());
      watch->WhenReadable([&] {
        pipe.Take();
        ++calls;
        called.set_value();
      });
    });
    pipe.Put();
    called.get_future().wait();
    EXPECT_EQ(calls, round);
  }
  pipe.Put();
  loop.Run([] {});
  EXPECT_EQ(calls, 3) << "nobody has asked for a fourth";
  std::promise<void> writable;
  std::unique_ptr<Loop::Watch> other;
  loop.Run([&] {
    other = loop.MakeWatch(pipe.writer());
    other->WhenWritable([&] { writable.set_value(); });
  });
  writable.get_future().wait();
  loop.Run([&] {
    watch = nullptr;
    other = nullptr;
  });
}

TEST(LoopTest, ADestroyedWatchDoesNotCall) {
  Pipe pipe;
  Loop loop;
  loop.Start();
  auto held = std::make_shared<int>(1);
  bool called = false;
  loop.Run([&] {
    auto watch = loop.MakeWatch(pipe.reader());
    watch->WhenReadable([held, &called] { called = true; });
    pipe.Put();
  });
  loop.Run([] {});
  loop.Stop();
  EXPECT_FALSE(called);
}

}  // namespace
}  // namespace mr
