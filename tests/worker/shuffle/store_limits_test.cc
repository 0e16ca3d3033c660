// Shortages under the shuffle store other than bytes: descriptors, quota (D12).
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

#include "tests/support/disk_shim.h"
#include "tests/worker/shuffle/shuffle_testing.h"
#include "worker/shuffle/store.h"

namespace mr::worker {
namespace {

using test::DiskCall;
using test::OnDiskCall;

Status TryToStore(ShuffleStore& store, const ReplicaKey& key, const TestOutput& output) {
  MR_ASSIGN_OR_RETURN(auto writer, store.Begin(key, static_cast<uint32_t>(output.size())));
  for (uint32_t p = 0; p < output.size(); ++p) {
    for (const std::string& batch : output[p]) MR_RETURN_IF_ERROR(writer->Add(p, RecordsOf(batch), batch));
  }
  return writer->Finish().status();
}

TEST(StoreLimitsTest, WhatRanOutIsNamedAndCostsNoOtherOutput) {
  TempDirectory directory;
  auto store = ShuffleStore::Open({.directory = directory.path() + "/shuffle", .sst_bytes = 1});
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  StoreOutput(**store, Replica(1, 1), MakeOutput(1, 3, 2, 100));
  for (const int error : {EMFILE, EDQUOT, ENOSPC}) {
    const OnDiskCall hook(
        [error](const DiskCall& c) { return c.kind == DiskCall::kOpen && c.path.ends_with(".sst") ? error : 0; });
    const Status status = TryToStore(**store, Replica(1, 2), MakeOutput(2, 3, 2, 100));
    EXPECT_EQ(status.code(), Code::kOverloaded) << status.ToString();
    EXPECT_NE(status.message().find(std::strerror(error)), std::string::npos) << status.ToString();
  }
  EXPECT_TRUE((*store)->Get(Replica(1, 1), 1, 0).ok());
  StoreOutput(**store, Replica(1, 2), MakeOutput(2, 3, 2, 100));
  EXPECT_TRUE((*store)->Has(Replica(1, 2)));
}

}  // namespace
}  // namespace mr::worker
