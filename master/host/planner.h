// From a checked spec to tasks: expands file inputs, cuts splits, fixes the number of tasks and
// partitions of every stage. Reads directories, so it runs on a pool thread, never on the master's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/io/input_files.h"
#include "common/model/job_plan.h"
#include "common/model/job_spec.h"
#include "common/url/reader.h"
#include "master/core/fat_partitions.h"

namespace mr::master {

// The cluster's state for the planner, taken on the master's thread before.
struct PlanContext {
  uint32_t total_slots = 0;
  uint64_t block_bytes = 64ull << 20;
  // The files of each dfs:// URI of the spec, or why there are none. The caller looks them up, since the
  // namespace belongs to the master's thread.
  std::vector<std::pair<std::string, Result<std::vector<InputFile>>>> dfs_files;
  FileRoots roots;                          // below which file:// inputs and outputs are
  std::shared_ptr<const url::Reader> urls;  // null: no job reads URLs
};
// Returns whether the inputs of a job are behind URLs, some or all.
bool ReadsUrls(const JobSpec& spec);
// Runs a step of planning by `pool`, or on a thread of its own if it may wait for servers: the pool also commits
// outputs.
void PostPlan(const PlanContext& context, bool reads_urls, const std::function<void(std::function<void()>)>& pool,
              std::function<void()> step);
// Returns the files behind a file:// URI or a URL. Blocks.
Result<std::vector<InputFile>> FilesOutside(const std::string& uri, const PlanContext& context);

inline constexpr size_t kMostMeasuredUrls = 1000;  // of one call: each costs at least a request (guess)
// Sets the sizes of the inputs at these indexes that `expand` can read. Ends with URLs at the first error of one that
// is neither kNotFound nor kNotAllowed, and after kMostMeasuredUrls: each URL of a server that does not answer takes as
// long as all tries, and jobs with URLs wait for the same threads.
void MeasureOutside(const std::vector<std::pair<size_t, std::string>>& uris,
                    const std::function<Result<std::vector<InputFile>>(const std::string&)>& expand,
                    std::vector<std::optional<InputSize>>* sizes);

// An automatic reduce takes about so many bytes (half a block: small jobs get parallel reduces; guess).
inline constexpr uint64_t kBytesPerTask = 32ull << 20;
// More than one for each slot where they would take more than this: the memory that a task needs does not grow with the
// input (measured: two tasks that sort 8 GB take 3.7 GiB each, tasks of this size 0.3).
inline constexpr uint64_t kMostBytesOfATask = 256ull << 20;
// But not more than this (guess: the partitions of a map's output stay above some KiB).
inline constexpr uint64_t kMostByBytes = 1000;

// Tasks, splits and partitions of all stages; slices are not filled in. kNotFound naming the path
// and the nearest name for a missing input; kRejected where the output exists and is not empty.
Result<JobPlan> PlanJob(const JobSpec& spec, const PlanContext& context);

// kRejected where the job would read what it writes over.
Status CheckInputsOutside(const JobPlan& plan, const std::string& output_uri);

// Whether a new output may be put there: absent, or an empty directory, or `overwrite`; and in the nearest directory
// above it that exists one can be made, which is tried. kRejected; kNotAllowed, also outside
// of the roots; kOverloaded for a full disk.
Status CheckFileOutput(const std::string& uri, bool overwrite, const FileRoots& roots);

// How an input of `total` bytes is cut where nobody said: blocks, halved as long as that gives no more
// than kSmallJobSplits of at least kMinSplitBytes; so an interactive job has a task for each core of a
// small cluster. Of input and block size alone, so that equal jobs have equal tasks everywhere; a
// half of a block never straddles two.
uint64_t DefaultSplitBytes(uint64_t total, uint64_t block_bytes);
inline constexpr uint64_t kSmallJobSplits = 8;          // guess
inline constexpr uint64_t kMinSplitBytes = 2ull << 20;  // measured: 4 MiB of words are counted
// sooner in pieces of 2 MiB than in one or in pieces of 1 MiB, where starting children costs more

// Joins neighbouring splits of one input into one task of at most `step` bytes and kMostJoined splits, where there are
// more than kManySplits. So ten thousand small files cost as much as their bytes. Fewer splits have a task each.
void JoinSmallSplits(uint64_t step, std::vector<Split>* splits);
inline constexpr size_t kManySplits = 100;       // guess: as many tasks cost less than a tenth of a second
inline constexpr uint64_t kMostJoined = 50;      // a descriptor each, in the worker and in the child
inline constexpr size_t kMaxSplits = 1'000'000;  // of one input
// A job is one record of the journal, which holds at most 64 MiB (journal/format.h): its splits take up to half of it.
// Each takes its URI, 36 bytes (measured) and the number of its file. A file has a split at least, so the versions of
// all files (PlannedFile) take less than another 20 MiB.
inline constexpr uint64_t kMaxPlanBytes = 32ull << 20, kSplitBytes = 44;

// Splits of one file, in order; none for an empty file.
std::vector<Split> CutFile(const InputFile& file, uint32_t input, const FileInput& source, uint64_t default_step);

}  // namespace mr::master
