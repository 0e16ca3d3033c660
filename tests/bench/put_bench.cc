// ./dev bench put: `mrctl fs put` of many small files, from the start of mrctl to its exit, on one machine with one
// master and two workers. Prints the files per second beside what the same disk takes in the same run: files of the
// same size that 16 threads write with one fsync each, or in groups with one sync. Then a large file, beside dd with
// one fsync. Exits with 1 if a target is missed.
// `put_bench 20000 2`: the number of files, and of workers.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "common/io/clock.h"
#include "common/io/files.h"
#include "tests/bench/null_calls.h"
#include "tests/bench/process_usage.h"
#include "tests/bench/report.h"
#include "tests/support/cluster.h"

namespace mr::bench {
namespace {

constexpr size_t kFileBytes = 1000;
constexpr int kThreads = 16;
constexpr uint64_t kLargeBytes = 512u << 20;
constexpr size_t kGroup = 256;  // files per sync of the grouped limit

std::string Content(int i) {
  std::string bytes = "file " + std::to_string(i) + "\n";
  while (bytes.size() < kFileBytes) bytes += std::to_string(i * 7919 + static_cast<int>(bytes.size())) + " ";
  bytes.resize(kFileBytes);
  return bytes;
}

void WriteNew(const std::string& path, const std::string& bytes, bool sync) {
  const UniqueFd fd = OrDie(OpenFile(path, O_WRONLY | O_CREAT | O_TRUNC), path);
  OrDie(WriteAll(fd.get(), bytes), path);
  if (sync && ::fsync(fd.get()) != 0) Die("cannot sync " + path);
}

// Returns files per second.
double SyncedEach(const std::string& directory, int files) {
  OrDie(MakeDirectories(directory), directory);
  std::atomic<int> next{0};
  const Instant begin = Now();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = next++; i < files; i = next++) WriteNew(directory + "/" + std::to_string(i), Content(i), true);
    });
  }
  for (auto& thread : threads) thread.join();
  return files / (Now() - begin).seconds();
}

double SyncedInGroups(const std::string& directory, int files) {
  OrDie(MakeDirectories(directory), directory);
  const UniqueFd fd = OrDie(OpenFile(directory, O_RDONLY | O_DIRECTORY), directory);
  const Instant begin = Now();
  for (int i = 0; i < files; ++i) {
    WriteNew(directory + "/" + std::to_string(i), Content(i), false);
    const bool full = (i + 1) % static_cast<int>(kGroup) == 0;
    if ((full || i + 1 == files) && ::syncfs(fd.get()) != 0) Die("cannot sync " + directory);
  }
  return files / (Now() - begin).seconds();
}

// Returns seconds of `mrctl fs put`.
double Put(const test::Cluster& cluster, const std::string& from, const std::string& to) {
  const Instant begin = Now();
  const auto run = cluster.Mrctl({"fs", "put", from, to}, Seconds(600));
  if (run.exit != 0) Die(run.err);
  return (Now() - begin).seconds();
}

int Main(int files, int workers) {
  test::Cluster cluster({.workers = workers, .slots = 2});
  OrDie(cluster.Start(), "start");
  const std::string dir = cluster.directory();
  const NullCalls null = MeasureNullCalls(cluster.master_address());
  OrDie(MakeDirectories(dir + "/small"), dir);
  for (int i = 0; i < files; ++i) WriteNew(dir + "/small/" + std::to_string(i), Content(i), false);
  ::sync();
  const double each = SyncedEach(dir + "/each", files);
  const double groups = SyncedInGroups(dir + "/groups", files);

  std::vector<pid_t> pids = {cluster.master_pid()};
  for (int i = 0; i < workers; ++i) pids.push_back(cluster.worker_pid(i));
  std::vector<double> before;
  for (const pid_t pid : pids) before.push_back(ProcessUsage({pid}).Cpu().total());
  const ProcessUsage self({::getpid()});
  const double all_before = self.Cpu().total();
  const double seconds = Put(cluster, dir + "/small", "/small");
  const double rate = files / seconds;
  double rest = self.Cpu().total() - all_before;
  const auto print_cpu = [&](const std::string& what, double cpu) {
    std::printf("%-58s %8.0f us\n", ("CPU per file of " + what).c_str(), cpu / files * 1e6);
  };
  for (size_t i = 0; i < pids.size(); ++i) {
    const double cpu = ProcessUsage({pids[i]}).Cpu().total() - before[i];
    print_cpu(i == 0 ? "the master" : "worker " + std::to_string(i), cpu);
    rest -= cpu;
  }
  print_cpu("mrctl", rest);
  const auto got = cluster.Mrctl({"fs", "cat", "/small/" + std::to_string(files - 1)});
  if (got.out != Content(files - 1)) Die("the last file has other bytes: " + got.err);

  {
    const UniqueFd fd = OrDie(OpenFile(dir + "/large", O_WRONLY | O_CREAT | O_TRUNC), "large");
    std::string mib;
    for (int i = 0; mib.size() < (1u << 20); ++i) mib += Content(i);
    mib.resize(1u << 20);
    for (uint64_t n = 0; n < kLargeBytes; n += mib.size()) OrDie(WriteAll(fd.get(), mib), "large");
    if (::fsync(fd.get()) != 0) Die("cannot sync the large file");
  }
  const CpuTime large_before = self.Cpu();
  const double large = Put(cluster, dir + "/large", "/large");
  const double large_cpu = self.Cpu().total() - large_before.total();

  std::printf("%-58s %8.0f per s\n", "null calls, one in flight", 1e6 / null.p50_us);
  std::printf("%-58s %8.0f per s\n", "null calls, 16 in flight", null.per_second_at_16);
  std::printf("%-58s %8.0f per s\n", "limit: 16 threads, one fsync per file", each);
  std::printf("%-58s %8.0f per s\n", "limit: one thread, one sync per 256 files", groups);
  std::printf("%-58s %8.0f per s\n", "fs put", rate);
  std::printf("%-58s %8.2f GB/s, %.2f s of CPU per GB\n", "fs put of 512 MiB", kLargeBytes / large / 1e9,
              large_cpu / (kLargeBytes / 1e9));
  Report report;
  report.Row("fs put of files of 1 KB", rate, "per s", 2000, false);
  report.Row("fs put beside one fsync per file", rate / each, "x", .1, false);
  return report.all_met() ? 0 : 1;
}

}  // namespace
}  // namespace mr::bench

int main(int argc, char** argv) {
  const auto number = [&](int i, int usual) { return argc > i ? std::max(1, std::atoi(argv[i])) : usual; };
  return mr::bench::Main(number(1, 20'000), number(2, 2));
}
