#include "tests/bench/cpu_shares.h"

#include <signal.h>

#include <cstdlib>
#include <sstream>

#include "tests/bench/report.h"
#include "tests/support/cluster.h"

namespace mr::bench {
namespace {

constexpr const char* kEnv = "/usr/bin/env";  // which finds perf in the path

bool HasAny(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts) {
    if (text.find(part) != text.npos) return true;
  }
  return false;
}

CpuPlace PlaceInKernel(const std::string& function) {
  if (HasAny(function, {"clear_page", "page_fault", "mm_fault", "anonymous_page", "shmem_get_folio", "memcg", "zap_",
                        "unmap_", "alloc_pages", "alloc_frozen", "free_unref", "_pte_", "rmap", "page_vma_mapped"})) {
    return CpuPlace::kPages;
  }
  if (HasAny(function, {"from_iter", "write_begin", "write_end", "block_write", "iomap_dio", "gup_fast", "blk_", "bio_",
                        "jbd2", "submit_"})) {
    return CpuPlace::kFileWrites;
  }
  if (HasAny(function, {"to_iter", "filemap_read", "filemap_get", "readahead"})) return CpuPlace::kReads;
  return CpuPlace::kKernel;
}

}  // namespace

const char* WhatOf(CpuPlace place) {
  switch (place) {
    case CpuPlace::kOperators: return "operators";
    case CpuPlace::kTask: return "engine in the task: batches, sort, merge";
    case CpuPlace::kWorker: return "engine in the worker, with RocksDB";
    case CpuPlace::kMaster: return "master";
    case CpuPlace::kLibraries: return "Cap'n Proto, allocation, other libraries";
    case CpuPlace::kCopies: return "copies of memory (memmove, memset)";
    case CpuPlace::kZstd: return "zstd";
    case CpuPlace::kSums: return "checksums and digests";
    case CpuPlace::kFileWrites: return "kernel: writes, and copies from user memory";
    case CpuPlace::kReads: return "kernel: reads, and copies to user memory";
    case CpuPlace::kPages: return "kernel: new pages";
    case CpuPlace::kKernel: return "kernel: rest";
    case CpuPlace::kPlaces: break;
  }
  return "";
}

CpuPlace PlaceOf(const std::string& thread, const std::string& file, const std::string& function) {
  if (file.starts_with("[kernel") || file.starts_with("[k]")) return PlaceInKernel(function);
  if (HasAny(function, {"memmove", "memcpy", "memset"})) return CpuPlace::kCopies;
  if (HasAny(function, {"XXH", "avx2::", "crc32"}) || HasAny(file, {"libisal"})) return CpuPlace::kSums;
  if (HasAny(file, {"libzstd"}) || HasAny(function, {"ZSTD_", "HUF_", "FSE_"})) return CpuPlace::kZstd;
  if (HasAny(file, {"libpaceline_jobs", "libre2", "libhs"})) return CpuPlace::kOperators;
  if (HasAny(file, {"libhwy"}) || file == "mrtask") return CpuPlace::kTask;
  if (file == "mrworker" || HasAny(file, {"librocksdb"})) return CpuPlace::kWorker;
  if (file == "mrmaster") return CpuPlace::kMaster;
  return thread == "mrtask" && HasAny(file, {"libc.so"}) ? CpuPlace::kTask : CpuPlace::kLibraries;
}

CpuShares SharesOf(const std::string& report) {
  CpuShares shares{};
  std::istringstream lines(report);
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> fields;
    std::istringstream parts(line);
    for (std::string field; std::getline(parts, field, ';');) {
      const size_t from = field.find_first_not_of(' '), to = field.find_last_not_of(' ');
      fields.push_back(from == field.npos ? "" : field.substr(from, to - from + 1));
    }
    if (fields.size() < 4 || line.starts_with('#')) continue;
    shares[static_cast<size_t>(PlaceOf(fields[1], fields[2], fields[3]))] += std::atof(fields[0].c_str());
  }
  return shares;
}

bool CpuSampler::Works() {
  return test::RunProgram({kEnv, "perf", "record", "-q", "-o", "/dev/null", "true"}, Seconds(20)).exit == 0;
}

CpuSampler::CpuSampler(const std::vector<int>& pids, std::string file) : file_(std::move(file)) {
  std::string list;
  for (const int pid : pids) list += (list.empty() ? "" : ",") + std::to_string(pid);
  // A number of samples per second that is no multiple of the kernel's ticks.
  perf_ = OrDie(test::Process::Spawn({kEnv, "perf", "record", "-q", "-F", "1999", "-p", list, "-o", file_}, {}),
                "perf record");
}

CpuShares CpuSampler::Stop() {
  perf_.Signal(SIGINT);
  if (!perf_.Wait(Seconds(60)).has_value()) Die("perf record does not end");
  const auto report = test::RunProgram({kEnv, "perf", "report", "-i", file_, "--stdio", "-q", "-t", ";", "--sort",
                                        "comm,dso,symbol", "--percent-limit", "0"},
                                       Seconds(300));
  if (report.exit != 0) Die("perf report: " + report.err);
  return SharesOf(report.out);
}

}  // namespace mr::bench
