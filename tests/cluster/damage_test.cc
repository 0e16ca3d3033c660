// Damaged shuffle output heals: the map whose output a disk damaged runs again, once, and the answer is right.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "common/base/rng.h"
#include "common/io/clock.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"

namespace mr::test {
namespace {

enum class Damage { kFlips, kCut, kEmptied };

class DamagedOutput : public testing::TestWithParam<Damage> {};

TEST_P(DamagedOutput, IsMadeAgainOnceAndTheAnswerIsRight) {
  Cluster cluster({.workers = 2, .slots = 1});
  ASSERT_TRUE(cluster.Start().ok());
  const std::string dir = cluster.directory(), go = dir + "/go";
  // Three splits that compress to three quarters: above 4 MiB an output is a file of its own in its worker's store.
  {
    Rng rng(5);
    std::ofstream in(dir + "/in");
    constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (int i = 0; i < 430'000; ++i) {
      std::string line;
      while (line.size() < 48) line += kLetters[rng.Below(64)];
      in << line << '\n';
    }
  }
  // The two other maps hold both slots and wait, so that the first output lies there and no early reduce reads it yet.
  const std::string map =
      "cat; case $MR_TASK_ID in *_m_000000) ;; *) until [ -e " + go + " ]; do sleep .05; done ;; esac";
  auto follower = cluster.MrctlInBackground(
      {"submit", "stream", "--conf", "max_split_bytes=7m", "--clone", "off", "--speculation", "off", "--map", map,
       "--reduce", "cat", "--reduces", "2", "--input", "file://" + dir + "/in", "--output", "file://" + dir + "/out"},
      "follower");
  ASSERT_TRUE(follower.ok());
  const auto files = [&] {
    std::vector<std::string> found;
    for (int w = 0; w < cluster.workers(); ++w) {
      for (const auto& e : std::filesystem::recursive_directory_iterator(
               cluster.worker_data(w) + "/shuffle", std::filesystem::directory_options::skip_permission_denied)) {
        const std::string path = e.path();
        if (path.find("/cohort-") != std::string::npos && path.ends_with(".sst")) found.push_back(path);
      }
    }
    return found;
  };
  Instant limit = Now() + Seconds(60);
  const auto committed = [&] {
    return cluster.Mrctl({"job", "attempts", "job_1_0001"}).out.find("committed") != std::string::npos;
  };
  while (!(committed() && !files().empty()) && Now() < limit) {
  }
  ASSERT_EQ(files().size(), 1u) << cluster.Logs();
  const std::string path = files()[0];
  switch (GetParam()) {
    case Damage::kFlips: {
      const uint64_t size = std::filesystem::file_size(path);
      std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
      for (uint64_t at = 1000; at < size; at += size / 23) {
        file.seekg(static_cast<std::streamoff>(at));
        const int byte = file.get();
        file.seekp(static_cast<std::streamoff>(at));
        file.put(static_cast<char>(byte ^ 4));
      }
      break;
    }
    case Damage::kCut: std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2); break;
    case Damage::kEmptied: std::filesystem::resize_file(path, 0); break;
  }
  std::ofstream(go) << "x";
  EXPECT_EQ(follower->Wait(Seconds(60)), 0) << cluster.Logs();
  EXPECT_EQ(SortedLines(ReadParts(dir + "/out")), SortedLines(*ReadFile(dir + "/in")));
  const std::string why = cluster.Mrctl({"why", "task_1_0001_0_m_000000"}).out;
  EXPECT_NE(why.find("output lost attempt_1_0001_0_m_000000_1"), std::string::npos) << why << cluster.Logs();
  EXPECT_NE(why.find("damaged on its worker's disk"), std::string::npos) << why;
  EXPECT_NE(why.find("launched attempt_1_0001_0_m_000000_2"), std::string::npos) << why;
  EXPECT_EQ(why.find("attempt_1_0001_0_m_000000_3"), std::string::npos) << why;
  const std::string attempts = cluster.Mrctl({"job", "attempts", "job_1_0001"}).out;
  EXPECT_EQ(attempts.find("failed"), std::string::npos) << "its readers waited for it\n" << attempts;
}

INSTANTIATE_TEST_SUITE_P(Kinds, DamagedOutput, testing::Values(Damage::kFlips, Damage::kCut, Damage::kEmptied),
                         [](const auto& p) {
                           return p.param == Damage::kFlips ? "Flips" : p.param == Damage::kCut ? "Cut" : "Emptied";
                         });

}  // namespace
}  // namespace mr::test
