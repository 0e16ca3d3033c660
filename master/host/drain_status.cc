#include "master/host/drain_status.h"

#include "common/io/clock.h"

namespace mr::master {
namespace {

// The highest age of a report about very many blocks: a walk over them blocks the master's thread.
constexpr Duration kLookAgain = Seconds(1);
constexpr size_t kJobsSent = 20;

}  // namespace

const dfs::DrainBlocks& DrainReader::BlocksKept(WorkerId id) {
  auto& [at, blocks] = blocks_kept_[id];
  const Instant now = Now();
  if (at.ns != 0 && core_.files().BlocksOn(id) > kCountSlice && now - at < kLookAgain) return blocks;
  at = now;
  blocks = core_.files().DrainOf(id);
  return blocks;
}

Result<DrainReport> DrainReader::DrainOf(WorkerId id) {
  const WorkerView* worker = core_.workers().Find(id);
  if (worker == nullptr) return NotFound("there is no worker " + Name(id));
  DrainReport report;
  report.draining = worker->drained_by_user;
  report.here = worker->alive && !worker->away;
  report.word = worker->Word();
  report.blocks = BlocksKept(id);
  AddScheduled(
      core_.scheduler().state(), id,
      [this](const Replica& replica) {
        const ReplicaView* view = core_.jobs().FindReplica(replica);
        return view == nullptr ? uint64_t{0} : view->manifest.bytes;
      },
      &report);
  return report;
}

DrainStatus StatusOf(const DrainReport& report) {
  const dfs::DrainBlocks& blocks = report.blocks;
  DrainStatus out{.draining = report.draining,
                  .safe_to_stop = report.Safe(),
                  .attempts = report.attempts,
                  .blocks = blocks.blocks,
                  .bytes = blocks.bytes,
                  .left_blocks = blocks.left_blocks,
                  .left_bytes = blocks.left_bytes,
                  .being_written = blocks.being_written,
                  .outputs = report.outputs,
                  .output_bytes = report.output_bytes,
                  .thin_blocks = blocks.thin_blocks,
                  .jobs = report.jobs,
                  .waits_for = WaitsFor(report),
                  .left_files = blocks.left_files,
                  .thin_files = blocks.thin_files,
                  .note = StaysThin(report)};
  if (out.jobs.size() > kJobsSent) out.jobs.resize(kJobsSent);
  return out;
}

}  // namespace mr::master
