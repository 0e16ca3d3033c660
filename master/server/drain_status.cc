// Answers whether a worker may be stopped, from the brain's parts.
#include <algorithm>

#include "common/io/clock.h"
#include "common/rpc/wire.h"
#include "master/server/brain.h"
#include "master/server/drain.h"

namespace mr::master {
namespace {

// The most age of a report about very many blocks: a walk over them holds up the master's thread.
constexpr Duration kLookAgain = Seconds(1);
constexpr size_t kJobsSent = 20;

template <class List>
void Put(const std::vector<std::string>& texts, List list) {
  for (unsigned i = 0; i < texts.size(); ++i) list.set(i, texts[i].c_str());
}

}  // namespace

const dfs::DrainBlocks& Brain::BlocksKept(WorkerId id) {
  auto& [at, blocks] = blocks_kept_[id];
  const Instant now = Now();
  if (at.ns != 0 && namespace_.BlocksOn(id) > kCountSlice && now - at < kLookAgain) return blocks;
  at = now;
  blocks = namespace_.DrainOf(id);
  return blocks;
}

Result<DrainReport> Brain::DrainOf(WorkerId id) {
  const WorkerView* worker = workers_.Find(id);
  if (worker == nullptr) return NotFound("there is no worker " + Name(id));
  DrainReport report;
  report.draining = worker->drained_by_user;
  report.here = worker->alive && !worker->away;
  report.word = worker->Word();
  report.blocks = BlocksKept(id);
  AddScheduled(
      scheduler_->state(), id,
      [this](const Replica& replica) {
        const ReplicaView* view = jobs_.FindReplica(replica);
        return view == nullptr ? uint64_t{0} : view->manifest.bytes;
      },
      &report);
  return report;
}

void ToWire(const DrainReport& report, rpc::DrainStatus::Builder out) {
  out.setDraining(report.draining);
  out.setSafeToStop(report.Safe());
  out.setAttempts(report.attempts);
  out.setBlocks(report.blocks.blocks);
  out.setBytes(report.blocks.bytes);
  out.setLeftBlocks(report.blocks.left_blocks);
  out.setLeftBytes(report.blocks.left_bytes);
  out.setBeingWritten(report.blocks.being_written);
  out.setOutputs(report.outputs);
  out.setOutputBytes(report.output_bytes);
  auto jobs = out.initJobs(static_cast<unsigned>(std::min(report.jobs.size(), kJobsSent)));
  for (unsigned i = 0; i < jobs.size(); ++i) rpc::ToWire(report.jobs[i], jobs[i]);
  const std::vector<std::string> waits = WaitsFor(report);
  Put(waits, out.initWaitsFor(static_cast<unsigned>(waits.size())));
  Put(report.blocks.left_files, out.initLeftFiles(static_cast<unsigned>(report.blocks.left_files.size())));
  Put(report.blocks.thin_files, out.initThinFiles(static_cast<unsigned>(report.blocks.thin_files.size())));
  out.setThinBlocks(report.blocks.thin_blocks);
  out.setNote(StaysThin(report).c_str());
}

}  // namespace mr::master
