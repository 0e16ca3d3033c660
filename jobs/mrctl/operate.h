// What the verbs of those who operate a cluster show: workers one by one, jobs that have ended, top, config, doctor.
// Pure; as tables for people and as JSON for scripts.
#pragma once

#include <string>
#include <vector>

#include "jobs/mrctl/config.h"
#include "jobs/mrctl/model.h"

namespace mr::ctl {

// It holds a slot.
bool Runs(const AttemptStatus& attempt);

// What is left to do before a worker that is drained may be stopped, in one line: "w2: 3 attempts run, ...".
std::string DrainLine(const std::string& worker, const DrainStatus& drain);

struct WorkerShown {
  WorkerStatus worker;
  std::vector<AttemptStatus> running;
  std::vector<std::string> why;  // as `mrctl why` has it
  DrainStatus drain;
};
std::string RenderWorkersShown(const std::vector<WorkerShown>& workers, OutputForm form);

// Those that have ended, the last one first, at most `limit`.
std::vector<JobStatus> EndedJobs(std::vector<JobStatus> jobs, uint64_t limit);
std::string RenderHistory(const std::vector<JobStatus>& ended, OutputForm form);

struct TopShown {
  MasterInfo master;
  std::vector<JobStatus> jobs;  // all
  std::vector<WorkerStatus> workers;
};
std::string RenderTop(const TopShown& top, OutputForm form);
// The first rows and columns of a text that a terminal has room for.
std::string CutTo(const std::string& text, size_t rows, size_t columns);

std::string RenderConfig(const Settings& settings, bool show_origin);

// Whether the master is in safe mode, and why.
std::string RenderSafeMode(const JournalStatus& journal, OutputForm form);

enum class Verdict { kOk, kWarn, kFail };
struct Check {
  std::string id;
  Verdict verdict = Verdict::kOk;
  std::string text;
  std::string next;  // what to do; empty where all is well
};
// So little of a disk is left that its owner should know: a tenth or less. total 0: not known.
bool LittleLeft(uint64_t free, uint64_t total);
std::string RenderChecks(const std::vector<Check>& checks, OutputForm form);

}  // namespace mr::ctl
