// Where the CPU time of a cluster goes: perf samples its processes while a job runs, and each sample counts for one
// place. Thread: one.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "tests/support/process.h"

namespace mr::bench {

enum class CpuPlace {
  kOperators,
  kTask,
  kWorker,
  kMaster,
  kLibraries,
  kCopies,
  kZstd,
  kSums,
  kFileWrites,
  kReads,
  kPages,
  kKernel,
  kPlaces
};
const char* WhatOf(CpuPlace place);

// The share of each place in all samples, in percent.
using CpuShares = std::array<double, static_cast<size_t>(CpuPlace::kPlaces)>;

// Returns the place of a sample: the thread's name, the file that has the code ("[kernel.kallsyms]" for the kernel),
// and the function.
CpuPlace PlaceOf(const std::string& thread, const std::string& file, const std::string& function);
// Reads "percent;thread;file;function" lines as perf prints them; skips others.
CpuShares SharesOf(const std::string& report);

// Samples these processes, and what they start, from its construction to Stop. Ends the process on errors.
class CpuSampler {
 public:
  // Whether perf is installed and may sample here.
  static bool Works();
  CpuSampler(const std::vector<int>& pids, std::string file);
  CpuShares Stop();

 private:
  const std::string file_;
  test::Process perf_;
};

}  // namespace mr::bench
