// A block store on a disk that loses power: what it acknowledged must be there again, whatever the disk kept.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/digest.h"
#include "common/base/rng.h"
#include "dfs/block/block_store.h"
#include "tests/support/power_cut.h"
#include "tests/support/rounds.h"

namespace mr::dfs {

using test::DiskCall;
using test::OnDiskCall;
using test::PowerCut;

inline std::string Content(uint64_t id) {
  Rng rng(id);
  std::string bytes(300 + rng.Below(9000), '\0');
  for (char& c : bytes) c = static_cast<char>(rng.Next());
  return bytes;
}

class BlockPowerTest : public testing::Test {
 protected:
  BlockPowerTest() {
    char path[] = "/dev/shm/block_power_test.XXXXXX";  // thousands of images: no real disk
    base_ = mkdtemp(path);
    root_ = base_ + "/root";
    EXPECT_TRUE(MakeDirectories(root_).ok());
  }
  ~BlockPowerTest() override { (void)RemoveTree(base_); }

  static std::unique_ptr<BlockStore> Open(const std::string& root) {
    auto opened = BlockStore::Open(root);
    EXPECT_TRUE(opened.ok()) << opened.status().ToString();
    return opened.ok() ? *std::move(opened) : nullptr;
  }
  static Status Write(BlockStore& store, uint64_t id) {
    const std::string bytes = Content(id);
    MR_ASSIGN_OR_RETURN(auto writer, store.Create({id}, 1));
    MR_RETURN_IF_ERROR(writer->Append(bytes.substr(0, 200)));
    MR_RETURN_IF_ERROR(writer->Append(bytes.substr(200)));
    return writer->Finish(bytes.size(), Hash64(bytes)).status();
  }

  // Checks a store on a disk that a cut may leave. `must`: blocks with an acknowledged replica, neither deleted nor
  // marked since. `must_not`: blocks with an acknowledged deletion. `marked`: blocks that are marked as damaged.
  // `damaged`: blocks that were marked once, and are still marked or were replaced by good ones.
  static void Check(const std::string& image, const std::set<uint64_t>& must, const std::set<uint64_t>& must_not,
                    const std::set<uint64_t>& marked, const std::set<uint64_t>& damaged) {
    const auto store = Open(image);
    ASSERT_NE(store, nullptr);
    std::set<uint64_t> listed;
    for (const BlockRef& ref : store->List()) {
      listed.insert(ref.id.value);
      const auto read = store->Read(ref.id, 1, 0, 1 << 20);
      // Listed, but found bad when it is read: not acknowledged then, and nothing wrong is served.
      ASSERT_FALSE(read.ok() && *read != Content(ref.id.value)) << "block " << ref.id.value << " is half written";
      ASSERT_TRUE(read.ok() || !must.contains(ref.id.value)) << read.status().ToString();
      ASSERT_TRUE(read.ok() || !damaged.contains(ref.id.value)) << "its mark is gone: " << read.status().ToString();
    }
    for (const uint64_t id : must) ASSERT_TRUE(listed.contains(id)) << "block " << id << " was acknowledged";
    for (const uint64_t id : must_not) ASSERT_FALSE(listed.contains(id)) << "block " << id << " was deleted";
    for (const uint64_t id : marked) ASSERT_FALSE(listed.contains(id)) << "block " << id << " was marked as damaged";
  }

  static std::vector<Status> WriteGroup(BlockStore& store, const std::vector<uint64_t>& ids) {
    std::vector<std::string> contents;
    for (const uint64_t id : ids) contents.push_back(Content(id));
    std::vector<WholeBlock> blocks;
    for (size_t i = 0; i < ids.size(); ++i) {
      blocks.push_back({{{ids[i]}, 1, contents[i].size(), Hash64(contents[i])}, contents[i]});
    }
    return store.WriteGroup(blocks);
  }

  // Checks a store on all disks that a cut at any moment of the recording may leave.
  void CheckCuts(PowerCut* cut);

  std::string base_, root_;
};

// Acknowledged numbers: 1000 * id + what was acknowledged. kLeaving: it is being deleted or marked as damaged.
inline constexpr uint64_t kWritten = 1, kLeaving = 2, kDeleted = 3, kMarked = 4, kReplacing = 5, kReplaced = 6;

inline void BlockPowerTest::CheckCuts(PowerCut* cut) {
  cut->Stop();
  const uint64_t variants = test::Long() ? std::max<uint64_t>(4, 4'000 / (cut->steps() + 1) + 1) : 4;
  const uint64_t base = test::Seed(0) * 1'000'003;
  size_t cuts = 0;
  for (size_t step = 0; step <= cut->steps(); ++step) {
    const uint64_t subsets = cut->Variants(step);
    for (uint64_t variant = 0; variant < std::max(variants, subsets); ++variant) {
      const uint64_t seed = base + step * 1000 + variant;
      const auto image =
          cut->Make(step, seed, base_ + "/image", variant < subsets ? std::optional<size_t>(variant) : std::nullopt);
      std::set<uint64_t> must, must_not, marked, damaged;
      for (const uint64_t number : image.acknowledged) {  // in the order of what happened to one block
        const uint64_t id = number / 1000, what = number % 1000;
        if (what == kWritten) must.insert(id);
        if (what == kLeaving) must.erase(id);
        if (what == kDeleted) must_not.insert(id);
        if (what == kMarked) must.erase(id), marked.insert(id), damaged.insert(id);
        if (what == kReplacing) marked.erase(id), must_not.erase(id);
        if (what == kReplaced) must.insert(id);
      }
      Check(base_ + "/image", must, must_not, marked, damaged);
      ASSERT_FALSE(HasFatalFailure()) << "seed " << seed << ", after " << image.step;
      ++cuts;
    }
  }
  EXPECT_GT(cuts, test::Long() ? 4'000u : 1'000u);
}

}  // namespace mr::dfs
