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

  // Makes the directory, stores the run durably under the next free number, and removes the oldest runs beyond `keep`
  // and kKeptRunBytes. Returns its id. Requires: keep > 0. Errors: of the file system; kRejected: the run is too large.
  Result<std::string> Add(const report::RecordedRun& recorded, size_t keep) const;

  // Returns a run, with its local_id. Errors: kNotFound; kCorrupted; kRejected: of another version.
  Result<report::RecordedRun> Find(uint32_t number) const;

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
  Result<uint32_t> Reserve() const;
  void RemoveOld(size_t keep) const;

  const std::string directory_;
};

}  // namespace mr::ctl
