// A campaign of damage on the disks of a running cluster: each flipped bit and each zeroed, swapped or lost page is
// found before a wrong byte is read; then it is healed, or named where no good replica is left.
//
// Short by default; MR_LONG=1 makes more than 2,000 flips and 200 pages, MR_SEED=N others. Damage in bytes that nothing
// reads (slack) is counted apart. The last line of each test says what was done and found.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "common/io/clock.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"
#include "tests/support/damage.h"
#include "tests/support/rounds.h"

namespace mr::test {
namespace {

namespace fs = std::filesystem;

constexpr Duration kHealLimit = Seconds(90);  // a pass of the scrubber takes a second here, repairs follow it

std::string RandomBytes(Rng& rng, size_t size) {
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(rng.Next());
  return bytes;
}

// Files below `directory` that end so, in order.
std::vector<std::string> FilesOf(const std::string& directory, const std::string& ending) {
  std::vector<std::string> found;
  std::error_code gone;
  for (fs::recursive_directory_iterator it(directory, gone), end; !gone && it != end; it.increment(gone)) {
    if (it->path().string().ends_with(ending)) found.push_back(it->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

struct Tally {
  uint64_t flips = 0, pages = 0, healed = 0, named = 0, slack = 0;
  void Count(Damage damage) { ++(damage == Damage::kFlip ? flips : pages); }
  void Print(const char* over) const {
    std::printf("%s: %llu flips, %llu pages; %llu healed, %llu named, %llu in slack\n", over,
                static_cast<unsigned long long>(flips), static_cast<unsigned long long>(pages),
                static_cast<unsigned long long>(healed), static_cast<unsigned long long>(named),
                static_cast<unsigned long long>(slack));
  }
};

class DamageCampaignTest : public testing::Test {
 protected:
  DamageCampaignTest() : rng_(Rng::Stream(Seed(), testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::printf("seed %llu (MR_SEED)\n", static_cast<unsigned long long>(Seed()));
  }
  void StartCluster(ClusterOptions options) {
    const int workers = options.workers;
    cluster_ = std::make_unique<Cluster>(std::move(options));
    const Status started = cluster_->Start();
    ASSERT_TRUE(started.ok()) << started.ToString();
    ASSERT_TRUE(cluster_->WaitForWorkers(workers).ok()) << cluster_->Logs();
  }
  // One in eight damages is to a page.
  Damage Draw() {
    constexpr Damage kPages[] = {Damage::kZeroedPage, Damage::kSwappedPages, Damage::kLostPage, Damage::kLostFile};
    return rng_.Below(8) != 0 ? Damage::kFlip : kPages[rng_.Below(4)];
  }
  // Until fn gives "" (nothing is amiss); what it said last otherwise.
  template <class F>
  static std::string Until(F fn) {
    std::string amiss = fn();
    for (const Instant limit = Now() + kHealLimit; !amiss.empty() && Now() < limit;) {
      ::usleep(50'000);  // each look reads all files
      amiss = fn();
    }
    return amiss;
  }

  Rng rng_;
  std::unique_ptr<Cluster> cluster_;
  Tally tally_;
};

// Blocks and their sidecars: a replica of each is damaged at a time, then both.
class DamagedBlocks : public DamageCampaignTest {
 protected:
  static constexpr int kFiles = 8, kWorkers = 3;
  static constexpr size_t kBlock = 64 << 10, kBlocksOfFile = 12;

  void Put() {
    for (int i = 0; i < kFiles; ++i) {
      contents_.push_back(RandomBytes(rng_, kBlock * kBlocksOfFile - rng_.Below(5000)));
      ASSERT_TRUE(WriteFileDurably(Local(i), contents_.back()).ok());
      ASSERT_EQ(cluster_->Mrctl({"fs", "put", Local(i), Path(i)}).exit, 0);
    }
    const std::string amiss = Until([&] { return Look(); });
    ASSERT_EQ(amiss, "") << cluster_->Logs();
  }
  std::string Local(int i) const { return cluster_->directory() + "/file" + std::to_string(i); }
  static std::string Path(int i) { return "/file" + std::to_string(i); }

  // The replicas that lie on the workers' disks, by block; what is being written or stands aside is not among them.
  std::map<std::string, std::vector<std::string>> Replicas() const {
    std::map<std::string, std::vector<std::string>> replicas;
    for (int w = 0; w < kWorkers; ++w) {
      for (const std::string& path : FilesOf(cluster_->worker_data(w) + "/blocks", ".blk")) {
        if (path.find("/quarantine/") != std::string::npos || path.find("/blocks/tmp/") != std::string::npos) continue;
        const std::string name = path.substr(path.rfind('/') + 1);
        replicas[name.substr(0, 16)].push_back(path);
      }
    }
    return replicas;
  }
  // "" where each block has two replicas with its bytes and a sidecar each, and nothing is marked or stands aside.
  std::string Look() {
    const auto replicas = Replicas();
    if (replicas.size() != kFiles * kBlocksOfFile) return std::to_string(replicas.size()) + " blocks have replicas";
    for (const auto& [block, paths] : replicas) {
      if (paths.size() != 2) return "block " + block + " has " + std::to_string(paths.size()) + " replicas";
      for (const std::string& path : paths) {
        const auto bytes = ReadFile(path);
        const auto sums = ReadFile(path.substr(0, path.size() - 4) + ".sum");
        if (!bytes.ok() || !sums.ok()) return path + " is not whole";
        const auto [blk, first] = blocks_.try_emplace(block, *bytes);
        if (blk->second != *bytes) return path + " is damaged";
        const auto [sum, first_sums] = sidecars_.try_emplace(path.substr(path.rfind('/') + 1), *sums);
        if (sum->second != *sums) return path + "'s sidecar is damaged";
      }
    }
    for (int w = 0; w < kWorkers; ++w) {
      const auto marked = FilesOf(cluster_->worker_data(w) + "/blocks", ".bad");
      if (!marked.empty()) return marked[0] + " is there";
      for (const std::string& aside : FilesOf(cluster_->worker_data(w) + "/blocks/quarantine", ".blk"))
        return aside + " is there";
    }
    return "";
  }
  void ExpectAllReadsRight(const std::string& where) {
    for (int i = 0; i < kFiles; ++i) {
      const RunResult cat = cluster_->Mrctl({"fs", "cat", Path(i)});
      ASSERT_EQ(cat.exit, 0) << where << cat.err << cluster_->Logs();
      ASSERT_TRUE(cat.out == contents_[static_cast<size_t>(i)]) << where << ": wrong bytes of " << Path(i);
    }
  }
  std::string HurtReplica(const std::string& path, Damage damage) {
    // A sidecar is a hundredth of its block: it gets more than its share.
    const bool sidecar = rng_.Below(5) == 0;
    return Hurt(sidecar ? path.substr(0, path.size() - 4) + ".sum" : path, damage, rng_);
  }

  std::vector<std::string> contents_;
  std::map<std::string, std::string> blocks_, sidecars_;  // as they were written; sidecars by the block file's name
};

TEST_F(DamagedBlocks, AreHealedWhereAGoodReplicaIsLeftAndNamedWhereNot) {
  StartCluster({.workers = kWorkers, .slots = 1, .master_flags = {"--block_size=64k", "--replication=2"}});
  ASSERT_NO_FATAL_FAILURE(Put());
  const int rounds = Rounds(2, 26);
  for (int round = 0; round < rounds; ++round) {
    std::string done;
    uint64_t hurt = 0;
    for (const auto& [block, paths] : Replicas()) {
      ASSERT_EQ(paths.size(), 2u);
      const Damage damage = Draw();
      const std::string what = HurtReplica(paths[rng_.Below(2)], damage);
      if (what.empty()) continue;
      done += what + "\n";
      tally_.Count(damage);
      ++hurt;
    }
    const std::string where = "seed " + std::to_string(Seed()) + ", round " + std::to_string(round) + "\n" + done;
    ASSERT_NO_FATAL_FAILURE(ExpectAllReadsRight(where));
    const std::string amiss = Until([&] { return Look(); });
    ASSERT_EQ(amiss, "") << where << cluster_->Mrctl({"doctor"}).out << cluster_->Logs(100);
    tally_.healed += hurt;
  }
  // Both replicas of one block of each file, in their bytes: nothing can heal that.
  std::map<std::string, std::string> both;
  for (const auto& [block, paths] : Replicas()) {
    for (size_t i = 0; i < contents_.size(); ++i) {
      const std::string file = Path(static_cast<int>(i));
      if (both.contains(file) || contents_[i].find(blocks_[block]) == std::string::npos) continue;
      for (const std::string& path : paths) {
        both[file] += Hurt(path, Damage::kFlip, rng_) + "\n";
        tally_.Count(Damage::kFlip);
      }
    }
  }
  ASSERT_EQ(both.size(), static_cast<size_t>(kFiles));
  for (int i = 0; i < kFiles; ++i) {
    const RunResult cat = cluster_->Mrctl({"fs", "cat", Path(i)});
    EXPECT_NE(cat.exit, 0) << both[Path(i)];
    EXPECT_NE(cat.err.find("damaged"), std::string::npos) << cat.err;
    EXPECT_TRUE(contents_[static_cast<size_t>(i)].starts_with(cat.out)) << "a wrong byte was given: " << both[Path(i)];
  }
  const std::string unnamed = Until([&] {
    const RunResult doctor = cluster_->Mrctl({"doctor"});
    for (int i = 0; i < kFiles; ++i) {
      if (doctor.out.find(Path(i) + ": 1 of 12 blocks damaged in each replica") == std::string::npos) return doctor.out;
    }
    return std::string();
  });
  EXPECT_EQ(unnamed, "");
  tally_.named += 2 * kFiles;
  tally_.Print("blocks and sidecars");
}

// Outputs of maps that have committed, before their readers begin.
class DamagedTables : public DamageCampaignTest {
 protected:
  static constexpr int kWorkers = 2, kCommitted = 6;

  void WriteInput() {
    // Eight splits that compress to three quarters: above 4 MiB an output is a table file of its own.
    std::ofstream in(Input());
    constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    for (size_t i = 0; i < (size_t{kCommitted} + kWorkers) * 7 * 21'000; ++i) {
      std::string line;
      for (uint64_t bits = 0, n = 0; line.size() < 48; ++n, bits >>= 6) {
        if (n % 10 == 0) bits = rng_.Next();
        line += kLetters[bits & 63];
      }
      text += line + '\n';
    }
    in << text;
  }
  std::string Input() const { return cluster_->directory() + "/in"; }
  std::vector<std::string> Tables() const {
    std::vector<std::string> tables;
    for (int w = 0; w < kWorkers; ++w) {
      for (const std::string& path : FilesOf(cluster_->worker_data(w) + "/shuffle", ".sst")) {
        if (path.find("/cohort-") != std::string::npos && !before_.contains(path)) tables.push_back(path);
      }
    }
    return tables;
  }
  std::set<std::string> before_;
};

TEST_F(DamagedTables, AreMadeAgainAndTheAnswersAreRight) {
  StartCluster({.workers = kWorkers, .slots = 1});
  ASSERT_NO_FATAL_FAILURE(WriteInput());
  const std::string dir = cluster_->directory(), answer = SortedLines(*ReadFile(Input()));
  const int rounds = Rounds(2, 20);
  for (int round = 0; round < rounds; ++round) {
    const std::string go = dir + "/go" + std::to_string(round), out = dir + "/out" + std::to_string(round);
    const std::string job =
        "job_1_" + std::string(4 - std::to_string(round + 1).size(), '0') + std::to_string(round + 1);
    // The last maps hold all slots and wait, so that no early reduce reads what is to be damaged.
    const std::string map =
        "cat; [ $MR_TASK -lt " + std::to_string(kCommitted) + " ] || until [ -e " + go + " ]; do sleep .05; done";
    auto follower = cluster_->MrctlInBackground(
        {"submit", "stream", "--conf", "max_split_bytes=7m", "--clone", "off", "--speculation", "off", "--map", map,
         "--reduce", "cat", "--reduces", "2", "--input", "file://" + Input(), "--output", "file://" + out},
        "follower" + std::to_string(round));
    ASSERT_TRUE(follower.ok());
    const std::string amiss = Until([&] {
      const std::string tasks = cluster_->Mrctl({"job", "tasks", job}).out;
      int committed = 0;
      for (size_t at = 0; (at = tasks.find("committed", at)) != std::string::npos; ++at) ++committed;
      return committed == kCommitted && Tables().size() == kCommitted ? "" : tasks + " \n";
    });
    ASSERT_EQ(amiss, "") << Tables().size() << cluster_->Logs();
    std::string done;
    uint64_t hurt = 0;
    for (const std::string& path : Tables()) {
      Damage damage = Draw();
      if (damage == Damage::kLostFile) damage = Damage::kZeroedPage;  // an open file is read on, whatever its name
      const std::string what = Hurt(path, damage, rng_);
      if (what.empty()) continue;
      done += what + "\n";
      tally_.Count(damage);
      ++hurt;
    }
    const std::string where = "seed " + std::to_string(Seed()) + ", round " + std::to_string(round) + "\n" + done;
    ASSERT_TRUE(WriteFileDurably(go, "").ok());
    ASSERT_EQ(follower->Wait(Seconds(120)), 0) << where << cluster_->Logs();
    ASSERT_TRUE(SortedLines(ReadParts(out)) == answer) << where << "a wrong answer";
    uint64_t again = 0;
    for (int task = 0; task < kCommitted; ++task) {
      const std::string why =
          cluster_->Mrctl({"why", "task" + job.substr(3) + "_0_m_00000" + std::to_string(task)}).out;
      again += why.find("damaged on its worker's disk") != std::string::npos ? 1 : 0;
    }
    EXPECT_LE(again, hurt) << where;
    tally_.healed += again;
    tally_.slack += hurt - again;
    for (const std::string& path : Tables()) before_.insert(path);
    (void)RemoveTree(out);
  }
  // Nearly all of a table is in use: its footer's padding and some properties are not.
  EXPECT_GE(tally_.healed * 20, (tally_.flips + tally_.pages) * 15);
  tally_.Print("shuffle tables");
}

// The journal and its snapshots, at a restart of the master.
class DamagedJournal : public DamageCampaignTest {
 protected:
  void MakeState() {
    StartCluster({.workers = 1, .slots = 1, .master_flags = {"--snapshot_bytes=16k"}});
    for (int life = 0; Snapshots().size() < 2 && life < 200; ++life) {
      std::vector<std::string> argv = {"fs", "mkdir", "-p"};
      for (int i = 0; i < 40; ++i) argv.push_back("/made/" + std::to_string(life) + "/" + std::to_string(i));
      ASSERT_EQ(cluster_->Mrctl(argv).exit, 0);
    }
    ASSERT_GE(Snapshots().size(), 2u);
    ASSERT_EQ(cluster_->Mrctl({"fs", "mkdir", "-p", "/made/last"}).exit, 0);
    listed_ = List();
    ASSERT_NE(listed_, "");
    cluster_->KillMaster();
    saved_ = cluster_->directory() + "/saved";
    fs::copy(cluster_->master_data(), saved_, fs::copy_options::recursive);
  }
  std::string Directory() const { return cluster_->master_data() + "/journal"; }
  std::vector<std::string> Named(const std::string& prefix) const {
    std::vector<std::string> found;
    for (const std::string& path : FilesOf(Directory(), "")) {
      const std::string name = path.substr(path.rfind('/') + 1);
      if (name.starts_with(prefix) && !name.ends_with(".tmp")) found.push_back(path);
    }
    return found;
  }
  std::vector<std::string> Snapshots() const { return Named("snapshot."); }
  std::string List() const { return cluster_->Mrctl({"fs", "ls", "-R", "/made", "-o", "json"}).out; }
  void Restore() {
    fs::remove_all(cluster_->master_data());
    fs::copy(saved_, cluster_->master_data(), fs::copy_options::recursive);
  }
  // Starts the master over what `what` did: it serves all that was acknowledged, or refuses and says what is damaged.
  void StartOver(const std::string& what, bool may_refuse) {
    const Status started = cluster_->StartMaster();
    if (started.ok()) {
      ASSERT_EQ(List(), listed_) << what;
      const std::string log = *ReadFile(cluster_->directory() + "/master.log");
      const bool said = log.find("snapshot", log.rfind("damaged")) != std::string::npos;
      ++(said ? tally_.healed : tally_.slack);
      cluster_->KillMaster();
    } else {
      ASSERT_TRUE(may_refuse) << what << started.ToString();
      ASSERT_NE(started.ToString().find("accept_loss="), std::string::npos) << what << started.ToString();
      ++tally_.named;
    }
    Restore();
  }

  std::string listed_, saved_;
};

TEST_F(DamagedJournal, IsRefusedWithItsNumberAndADamagedSnapshotIsPassedOver) {
  ASSERT_NO_FATAL_FAILURE(MakeState());
  const int rounds = Rounds(5, 60);
  for (int round = 0; round < rounds; ++round) {
    // The newest snapshot: there is the one before it, with the segments since.
    Damage damage = Draw();
    std::string what = Hurt(Snapshots().back(), damage, rng_);
    if (what.empty()) continue;
    tally_.Count(damage);
    ASSERT_NO_FATAL_FAILURE(StartOver(what, false));
  }
  ASSERT_GT(tally_.healed + tally_.slack, 0u);
  for (int round = 0; round < 2 * rounds; ++round) {
    Damage damage = Draw();
    if (damage == Damage::kLostFile) damage = Damage::kFlip;
    const std::string path = Named("journal").back();
    const auto bytes = ReadFile(path);
    ASSERT_TRUE(bytes.ok());
    const size_t in_use = bytes->find_last_not_of('\0') + 1;  // the rest is allocated ahead
    const std::string what = Hurt(path, damage, rng_, in_use);
    if (what.empty()) continue;
    tally_.Count(damage);
    ASSERT_NO_FATAL_FAILURE(StartOver(what, true));
  }
  ASSERT_TRUE(cluster_->StartMaster().ok()) << cluster_->Logs();
  EXPECT_EQ(List(), listed_);
  tally_.Print("journal and snapshots");
}

}  // namespace
}  // namespace mr::test
