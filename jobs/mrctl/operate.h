// Output of the verbs for operators: single workers, ended jobs, top, config, doctor. As tables for people and as JSON
// for scripts. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/time.h"
#include "jobs/mrctl/config.h"
#include "jobs/mrctl/model.h"

namespace mr::ctl {

// Returns whether the attempt holds a slot.
bool Runs(const AttemptStatus& attempt);

// Measures how fast the bytes that a draining worker still has to copy become fewer.
class DrainRate {
 public:
  // Requires: instants that do not decrease.
  void Note(uint64_t left_bytes, Instant now);
  // Bytes per second over the last kWindow; 0: not known yet, or nothing was copied.
  double PerSecond() const;
  // Returns the time until nothing is left at this rate; nothing where the rate is 0 or nothing is left.
  std::optional<Duration> Left() const;

 private:
  static constexpr Duration kWindow = Seconds(30);  // guess: longer than the pauses between two copies
  std::deque<std::pair<Instant, uint64_t>> seen_;
};

// Returns one line with the work left before a draining worker may be stopped: "w2: 3 attempts run, ...", and the rate
// and the time left where bytes are being copied.
std::string DrainLine(const std::string& worker, const DrainStatus& drain, const DrainRate& rate = {});

struct WorkerShown {
  WorkerStatus worker;
  std::vector<AttemptStatus> running;
  std::vector<std::string> why;  // as printed by `mrctl why`
  DrainStatus drain;
};
std::string RenderWorkersShown(const std::vector<WorkerShown>& workers, OutputForm form);
// Returns the lines of `mrctl why WORKER` with the newest of its decisions only, for people: the state of the worker,
// the number of decisions that are left out, and the newest ones. all: the command that prints all of them.
std::vector<std::string> NewestOfWorker(const std::vector<std::string>& why, const std::string& all);

// Returns the ended jobs, the most recent first, at most `limit`.
std::vector<JobStatus> EndedJobs(std::vector<JobStatus> jobs, uint64_t limit);
std::string RenderHistory(const std::vector<JobStatus>& ended, OutputForm form);

struct TopShown {
  MasterInfo master;
  std::vector<JobStatus> jobs;  // all
  std::vector<WorkerStatus> workers;
};
std::string RenderTop(const TopShown& top, OutputForm form);
// Returns the rows and columns of a text that fit on a terminal.
std::string CutTo(const std::string& text, size_t rows, size_t columns);

std::string RenderConfig(const Settings& settings, bool show_origin);

// Returns whether the master is in safe mode, and why.
std::string RenderSafeMode(const JournalStatus& journal, OutputForm form);

enum class Verdict { kOk, kWarn, kFail };
struct Check {
  std::string id;
  Verdict verdict = Verdict::kOk;
  std::string text;
  std::string next;  // what to do; empty if all is well
};
// Returns the check that this user may not make. It says nothing about the cluster.
Check NotShown(const std::string& id);
// Returns the first five names, and how many more there are.
std::string UpTo(const std::vector<std::string>& names);
// Returns what to do about files that cannot be read. missing: some blocks have no replica on a live worker, and not
// only damaged ones. path: one of the files; empty: none is known.
std::string UnreadableNext(const std::vector<WorkerStatus>& workers, bool missing, const std::string& path,
                           const std::string& prefix);
// Returns the check of the workers' states. prefix: "mrctl ", for the commands in its text. master: its address.
Check WorkersCheck(const std::vector<WorkerStatus>& workers, const std::string& prefix, const std::string& master);
// Returns whether a tenth or less of a disk is free. total 0: not known.
bool LittleLeft(uint64_t free, uint64_t total);
// An archive for a bug report.
struct BundleShown {
  std::string file;
  uint64_t bytes = 0;
  std::vector<std::pair<std::string, uint64_t>> entries;     // names and sizes
  std::vector<std::pair<std::string, std::string>> missing;  // names, and why they are not in it
};
// bundle: the archive that was made, or null. As ndjson it is not printed.
std::string RenderChecks(const std::vector<Check>& checks, OutputForm form, const BundleShown* bundle = nullptr);

}  // namespace mr::ctl
