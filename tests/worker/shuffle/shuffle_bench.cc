// Measures the cost of a small and of a large output, and the throughput of reading them back, from the store and by a
// fetcher over loopback. Prints one line per figure, medians of five. --cpu: processor time of all threads, which other
// load on the machine disturbs less.
#include <time.h>

#include <algorithm>
#include <cstdio>

#include "common/base/time.h"
#include "tests/worker/shuffle/fetch_testing.h"

namespace mr::worker {
namespace {

constexpr int kRuns = 5;  // of each measurement (guess)
clockid_t g_clock = CLOCK_MONOTONIC;

Instant At() {
  timespec now{};
  ::clock_gettime(g_clock, &now);
  return {now.tv_sec * 1'000'000'000 + now.tv_nsec};
}

template <class F>
double MedianSeconds(F run) {
  std::vector<double> seconds;
  for (int i = 0; i < kRuns; ++i) {
    const Instant begin = At();
    run(i);
    seconds.push_back((At() - begin).seconds());
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[kRuns / 2];
}

uint64_t BytesOf(const TestOutput& output) {
  uint64_t bytes = 0;
  for (const auto& partition : output) {
    for (const auto& batch : partition) bytes += batch.size();
  }
  return bytes;
}

class Bench {
 public:
  Bench() {
    store_ = *ShuffleStore::Open({.directory = directory_.path() + "/shuffle"});
    server_ = std::make_unique<TestDataServer>(store_, pool_.poster(), kServer);
  }

  void Small() {
    constexpr int kOutputs = 2000;
    const TestOutput output = MakeOutput(1, 2, 1, 20);
    const double s = MedianSeconds([&](int run) {
      for (int i = 0; i < kOutputs; ++i) {
        StoreOutput(*store_, Replica(1, static_cast<uint32_t>(run * kOutputs + i)), output);
      }
    });
    std::printf("small output (%llu bytes, 2 partitions): %.1f us\n", static_cast<unsigned long long>(BytesOf(output)),
                s / kOutputs * 1e6);
    const double get = MedianSeconds([&](int) {
      for (uint32_t i = 0; i < kOutputs; ++i) MR_CHECK(store_->Get(Replica(1, i), 0, 0).ok());
    });
    std::printf("small chunk read: %.1f us\n", get / kOutputs * 1e6);
    const auto rows = *store_->Table(Replica(1, 0));
    const double fetch = MedianSeconds([&](int) { Fetch(1, 200, rows); });
    std::printf("200 small outputs fetched: %.2f ms\n", fetch * 1e3);
    store_->EndJob(Replica(1, 0).task.job);
  }

  // 64 partitions of one batch of about 1 MiB; value_bytes 0: compressible words.
  void Large(uint32_t job, uint32_t records, uint32_t value_bytes, const char* what) {
    TestOutput output(64);
    const TestOutput one = MakeOutput(job, 1, 1, records, value_bytes);
    for (auto& partition : output) partition = one[0];
    const double mb = static_cast<double>(BytesOf(output)) / 1e6;
    std::vector<PartitionRow> rows;
    const double store =
        MedianSeconds([&](int run) { rows = StoreOutput(*store_, Replica(job, static_cast<uint32_t>(run)), output); });
    const double read = MedianSeconds([&](int run) {
      for (uint32_t p = 0; p < 64; ++p) {
        MR_CHECK(store_->Get(Replica(job, static_cast<uint32_t>(run)), p, 0).ok());
      }
    });
    const double fetch = MedianSeconds([&](int) { Fetch(job, 1, rows); });
    std::printf(
        "%s, %.0f MB: store %.0f MB/s, read stored chunks %.0f MB/s of them raw, "
        "fetch and check %.0f MB/s\n",
        what, mb, mb / store, mb / read, mb / fetch);
    store_->EndJob(Replica(job, 0).task.job);
  }

 private:
  void Fetch(uint32_t job, uint32_t outputs, const std::vector<PartitionRow>& rows) {
    TestObserver seen;
    std::unique_ptr<Fetcher> fetcher;
    if (pool_of_fetchers_ == nullptr) {
      loop_.Run([&] {
        pool_of_fetchers_ =
            std::make_unique<FetchPool>(loop_, store_, pool_.poster(), FetchPool::Options{.incarnation = kReader});
      });
    }
    loop_.Run([&] {
      fetcher = pool_of_fetchers_->NewFetcher(&seen);
      for (uint32_t task = 0; task < outputs; ++task) {
        fetcher->Request({0, 0, static_cast<uint32_t>(rows.size()),
                          LocationOf(Replica(job, task), rows, server_->address(), kServer, true)});
      }
    });
    MR_CHECK(seen.WaitForEnds(outputs) && seen.failed.empty());
    loop_.Run([&] { fetcher.reset(); });
  }

  TempDirectory directory_;
  std::shared_ptr<ShuffleStore> store_;
  TestPool pool_;
  std::unique_ptr<TestDataServer> server_;
  rpc::KjThread loop_{"reader"};
  struct OnLoop {
    Bench* bench;
    ~OnLoop() {
      bench->loop_.Run([this] { bench->pool_of_fetchers_.reset(); });
    }
  };
  std::unique_ptr<FetchPool> pool_of_fetchers_;
  OnLoop last_{this};
};

}  // namespace

int BenchMain(bool cpu) {
  if (cpu) g_clock = CLOCK_PROCESS_CPUTIME_ID;
  Bench bench;
  bench.Small();
  bench.Large(2, 3900, 256, "incompressible output");
  bench.Large(3, 56'000, 0, "compressible output");
  return 0;
}

}  // namespace mr::worker

int main(int argc, char** argv) { return mr::worker::BenchMain(argc > 1 && std::string(argv[1]) == "--cpu"); }
