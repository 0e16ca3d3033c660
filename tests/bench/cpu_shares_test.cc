#include "tests/bench/cpu_shares.h"

#include <gtest/gtest.h>

#include <numeric>

namespace mr::bench {
namespace {

double Of(const CpuShares& shares, CpuPlace place) { return shares[static_cast<size_t>(place)]; }

TEST(CpuSharesTest, EachSampleCountsForOnePlace) {
  const CpuShares shares = SharesOf(
      "# a comment; of; four; fields\n"
      "    10.50;mrtask          ;libc.so.6         ;[.] __memmove_avx512_unaligned_erms\n"
      "     5.00;worker          ;[kernel.kallsyms] ;[k] copy_folio_from_iter_atomic\n"
      "     4.00;mrtask          ;[kernel.kallsyms] ;[k] clear_page_erms\n"
      "     2.00;mrworker        ;mrworker          ;[.] XXH3_hashLong_64b_withSeed.constprop.0\n"
      "     1.00;mrworker        ;mrworker          ;[.] mr::avx2::Update128\n"
      "     2.00;mrtask          ;mrtask            ;[.] mr::task::Merger::Next\n"
      "     1.00;rpc             ;libkj-async.so    ;[.] kj::_::ChainPromiseNode::fire\n"
      "     0.50;mrtask          ;libpaceline_jobs.so;[.] mr::ForEachWord<int>\n"
      "     0.25;worker          ;librocksdb.so.7   ;[.] 0x0000000000001234\n"
      "\n");
  EXPECT_DOUBLE_EQ(Of(shares, CpuPlace::kCopies), 10.5);
  EXPECT_DOUBLE_EQ(Of(shares, CpuPlace::kFileWrites), 5);
  EXPECT_DOUBLE_EQ(Of(shares, CpuPlace::kPages), 4);
  EXPECT_DOUBLE_EQ(Of(shares, CpuPlace::kSums), 3);
  EXPECT_DOUBLE_EQ(Of(shares, CpuPlace::kTask), 2);
  EXPECT_DOUBLE_EQ(Of(shares, CpuPlace::kLibraries), 1);
  EXPECT_DOUBLE_EQ(Of(shares, CpuPlace::kOperators), .5);
  EXPECT_DOUBLE_EQ(Of(shares, CpuPlace::kWorker), .25);
  EXPECT_DOUBLE_EQ(std::accumulate(shares.begin(), shares.end(), 0.), 26.25);
}

TEST(CpuSharesTest, NoSamplesAreNoShares) {
  const CpuShares shares = SharesOf("");
  EXPECT_DOUBLE_EQ(std::accumulate(shares.begin(), shares.end(), 0.), 0);
}

}  // namespace
}  // namespace mr::bench
