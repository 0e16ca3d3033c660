// The path of an acknowledgement: appended on the master's thread, made durable on the journal's,
// released on the master's again. Run under thread sanitizer too.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "common/exec/loop.h"
#include "common/io/files.h"
#include "master/journal/journal.h"
#include "master/journal/outbox.h"

namespace mr::master {
namespace {

TEST(LoopTest, AnswersLeaveInOrderAndOnlyBehindTheJournal) {
  const std::string directory = testing::TempDir() + "loop_test";
  ASSERT_TRUE(RemoveTree(directory).ok());
  ASSERT_TRUE(MakeDirectories(directory).ok());
  constexpr int kClients = 4, kEach = 300;
  std::vector<int> answered(kClients);
  std::atomic<int> total{0};
  {
    auto journal = journal::Journal::Open({.directory = directory, .cluster_id = 1},
                                          [](const journal::Record&, uint64_t) { return Status::Ok(); });
    ASSERT_TRUE(journal.ok()) << journal.status().ToString();
    journal::Outbox outbox;  // of the loop's thread
    Loop loop([] {});
    (*journal)->Start(1, [&](uint64_t sequence) { loop.Post([&outbox, sequence] { outbox.Release(sequence); }); });
    loop.Start();
    std::vector<std::thread> clients;
    for (int c = 0; c < kClients; ++c) {
      clients.emplace_back([&, c] {
        for (int i = 0; i < kEach; ++i) {
          loop.Post([&, c, i] {
            const uint64_t sequence = (*journal)->Append(journal::RecordClass::kHard, 1, "x");
            outbox.Hold(sequence, [&, c, i, sequence] {
              EXPECT_GE((*journal)->durable(), sequence);
              EXPECT_EQ(answered[c]++, i);
              ++total;
            });
          });
        }
      });
    }
    for (auto& client : clients) client.join();
    while (total < kClients * kEach) std::this_thread::yield();
    loop.Stop();
    journal->reset();  // its thread posts to the loop
  }
  EXPECT_EQ(total, kClients * kEach);
}

}  // namespace
}  // namespace mr::master
