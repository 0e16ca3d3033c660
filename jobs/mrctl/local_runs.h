// The runs of `submit --local` that are remembered: one file per run below $XDG_STATE_HOME/paceline/runs, which only
// this user can read. Their clusters are gone, so these records are all that is left of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/model/status.h"
#include "common/report/recorded_run.h"

namespace mr::ctl {

inline constexpr size_t kKeptRuns = 200;               // by default
inline constexpr uint64_t kKeptRunBytes = 256u << 20;  // of all files

// Returns the number of "local_0017". Leading zeros are optional.
std::optional<uint32_t> ParseLocalId(std::string_view text);
std::string LocalName(uint32_t number);

// Safe for concurrent use by several processes.
class LocalRuns {
 public:
  explicit LocalRuns(std::string directory) : directory_(std::move(directory)) {}

  // Makes the directory and reserves the next free number for a run that begins. Errors: of the file system.
  Result<uint32_t> Reserve() const;
  // Gives a number back. Requires: nothing was stored under it.
  void Release(uint32_t number) const;
  // Stores the run durably under a reserved number, and removes the oldest runs beyond `keep` and kKeptRunBytes. An
  // error gives the number back. Requires: keep > 0. Errors: of the file system; kRejected: the run is too large.
  Status Store(uint32_t number, const report::RecordedRun& recorded, size_t keep) const;
  // Reserves a number and stores the run. Returns its id. Errors: those of both.
  Result<std::string> Add(const report::RecordedRun& recorded, size_t keep) const;

  // Returns a run, with its local_id and with local names in the texts of its job and in `why`. Errors: kNotFound;
  // kCorrupted; kRejected: of another version.
  Result<report::RecordedRun> Find(uint32_t number) const;

  // Removes the records of all but the newest `keep` runs, and of none that still runs. Returns the number of removed
  // runs. Requires: keep > 0. Errors: the directory cannot be read, or a file cannot be removed.
  Result<size_t> KeepNewest(size_t keep) const;

  struct Listed {
    std::vector<JobStatus> jobs;          // newest first
    std::vector<std::string> unreadable;  // a sentence for each run that cannot be read
  };
  // Returns the newest runs. Errors: the directory cannot be read; none is no error. Cost: reads each file.
  Result<Listed> List(size_t limit) const;

 private:
  struct File {
    uint32_t number = 0;
    std::string name;
    uint64_t bytes = 0;
  };
  std::string Path(uint32_t number) const;
  Result<std::vector<File>> Files() const;  // newest first, unfinished ones too
  void RemoveOld(size_t keep) const;

  const std::string directory_;
};

}  // namespace mr::ctl
