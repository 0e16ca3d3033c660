#include "worker/daemon/cached_inputs.h"

#include <gtest/gtest.h>

namespace mr::worker {
namespace {

CachedInputs::Place Block(uint64_t number) { return {"dfs://m/file", 1, number}; }

TEST(CachedInputsTest, TheFirstBytesOfEachJobAreCached) {
  CachedInputs inputs(100);
  EXPECT_TRUE(inputs.Admit({1, 1}, Block(0), 60));
  EXPECT_TRUE(inputs.Admit({1, 1}, Block(1), 40));
  EXPECT_FALSE(inputs.Admit({1, 1}, Block(2), 1));
  EXPECT_TRUE(inputs.Admit({1, 2}, Block(3), 60));
}

TEST(CachedInputsTest, WhatIsReadAgainIsCached) {
  CachedInputs inputs(0);
  EXPECT_FALSE(inputs.Admit({1, 1}, Block(0), 60));
  EXPECT_TRUE(inputs.Admit({1, 2}, Block(0), 60));
  EXPECT_TRUE(inputs.Admit({1, 1}, Block(0), 60));
  // Another version of the file has other bytes.
  EXPECT_FALSE(inputs.Admit({1, 2}, {"dfs://m/file", 2, 0}, 60));
}

TEST(CachedInputsTest, ForgetsWhatWasReadLongAgo) {
  CachedInputs inputs(0);
  inputs.Admit({1, 1}, Block(0), 1);
  for (uint64_t i = 1; i < 5000; ++i) inputs.Admit({1, 1}, Block(i), 1);
  EXPECT_TRUE(inputs.Admit({1, 1}, Block(0), 1));
  for (uint64_t i = 5000; i < 30000; ++i) inputs.Admit({1, 1}, Block(i), 1);
  EXPECT_FALSE(inputs.Admit({1, 1}, Block(0), 1));
}

}  // namespace
}  // namespace mr::worker
