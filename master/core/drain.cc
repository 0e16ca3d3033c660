#include "master/core/drain.h"

#include <algorithm>
#include <set>

#include "common/base/count.h"
#include "common/base/text.h"
#include "master/sched/fold/output_moves.h"
#include "master/sched/state/leaving.h"
#include "master/sched/state/state.h"

namespace mr::master {
namespace {

constexpr size_t kJobsNamed = 5;

std::string Blocks(uint64_t n) { return CountOf(n, "block"); }

// "/a, /b": the first few of a list that may go on.
std::string Named(const std::vector<std::string>& files) {
  std::string text;
  for (const std::string& file : files) text += (text.empty() ? "" : ", ") + file;
  return files.size() < dfs::kDrainFiles ? text : text + ", ...";
}

std::string Named(const std::vector<JobId>& jobs) {
  std::string text;
  for (size_t i = 0; i < std::min(jobs.size(), kJobsNamed); ++i) text += (i == 0 ? "" : ", ") + Name(jobs[i]);
  return jobs.size() <= kJobsNamed ? text : text + " and " + CountOf(jobs.size() - kJobsNamed, "more job");
}

void AddBlocks(const dfs::DrainBlocks& b, std::vector<std::string>* lines) {
  if (b.safe_mode) lines->push_back("the block store is in safe mode, and copies nothing until it ends");
  if (b.left_blocks > 0) {
    lines->push_back(Blocks(b.left_blocks) + " (" + HumanBytes(b.left_bytes) + ") must be copied to other workers, " +
                     Grouped(b.copying) + " of them now: " + Named(b.left_files));
  }
  if (b.without_worker > 0) lines->push_back("no other worker takes blocks: start one, or undrain one");
  if (b.without_room > 0) {
    lines->push_back(Blocks(b.without_room) + " found no room: each other worker that could take them is full; " +
                     "remove files, or add a worker");
  }
  if (b.failing > 0) {
    lines->push_back("copying " + Blocks(b.failing) + " failed and is tried again; the master's log says why");
  }
  if (b.damaged > 0) {
    lines->push_back(Blocks(b.damaged) + " cannot be copied: no replica is good, and one of them is here; " +
                     "`mrctl doctor` names the files; remove them to give them up");
  }
  if (b.being_written > 0) {
    lines->push_back(Blocks(b.being_written) + " of files that are being written now");
  }
}

void AddOutputs(const DrainReport& report, std::vector<std::string>* lines) {
  if (report.outputs == 0) return;
  const bool one = report.jobs.size() == 1;
  lines->push_back(CountOf(report.outputs, "output") + " (" + HumanBytes(report.output_bytes) + ") that " +
                   Named(report.jobs) + (one ? " still reads" : " still read") + " must be copied to other workers, " +
                   Grouped(report.outputs_moving) + " of them now; stopped before, their tasks run again");
  if (report.outputs_without_worker) {
    lines->push_back("no other worker takes outputs: start one, or undrain one; without one this lasts until " +
                     Named(report.jobs) + (one ? " ends" : " end"));
  }
  if (report.outputs_failing > 0) {
    lines->push_back("copying " + CountOf(report.outputs_failing, "output") +
                     " failed and is tried again; the master's log says why");
  }
}

}  // namespace

void AddScheduled(const sched::State& state, WorkerId worker, const std::function<uint64_t(const Replica&)>& bytes_of,
                  DrainReport* report) {
  const sched::Worker* w = state.FindWorker(worker);
  if (w == nullptr) return;
  report->attempts = static_cast<uint32_t>(w->attempts.size());
  std::set<JobId> jobs;
  TaskId last;
  for (const auto& [id, attempt] : w->replicas.All()) {  // by task
    const sched::Job* job = state.FindJob(id.job);
    if (id == last || job == nullptr || !job->running()) continue;
    const sched::Task& task = *state.FindTask(id);
    const auto here = std::find_if(task.replicas.begin(), task.replicas.end(), [&](const sched::ReplicaPlace& replica) {
      return replica.worker == worker && replica.generation == task.generation;
    });
    if (here == task.replicas.end() || !state.Needed(*job, id)) continue;
    if (sched::StaysElsewhere(state, task, worker)) continue;
    last = id;
    ++report->outputs;
    report->outputs_moving += sched::IsBeingMoved(state, id) ? 1 : 0;
    report->outputs_failing += sched::MoveHasFailed(state, id) ? 1 : 0;
    report->output_bytes += bytes_of(state.MakeReplica(id, *here));
    jobs.insert(id.job);
  }
  report->jobs.assign(jobs.begin(), jobs.end());
  report->outputs_without_worker = std::none_of(state.workers().begin(), state.workers().end(), [&](const auto& other) {
    return other.first != worker && sched::Stays(&other.second);
  });
}

std::vector<std::string> WaitsFor(const DrainReport& report) {
  std::vector<std::string> lines;
  if (!report.draining) return {"it is not draining"};
  if (!report.here) {
    return {"it is " + report.word + ": what it alone has is not known until it registers again"};
  }
  if (report.attempts > 0) {
    lines.push_back(CountOf(report.attempts, "attempt runs", "attempts run") + " there, to the end");
  }
  AddBlocks(report.blocks, &lines);
  AddOutputs(report, &lines);
  return lines;
}

std::string StaysThin(const DrainReport& report) {
  const dfs::DrainBlocks& b = report.blocks;
  if (b.thin_blocks == 0) return "";
  return Blocks(b.thin_blocks) + " will have fewer replicas than their files ask for, since there are fewer other " +
         "workers than that: " + Named(b.thin_files);
}

}  // namespace mr::master
