#include "master/host/disk_room.h"

#include <glog/logging.h>

#include <algorithm>

#include "common/base/text.h"
#include "common/io/local_time.h"
#include "master/sched/state/state.h"

namespace mr::master {
namespace {

// A job fails when no worker has had room for kNoRoom (guess: the outputs of a job that just ended are gone by then).
// The next job fails kRoomComesBack later at the earliest (guess: outputs are removed in the background, file by file).
constexpr Duration kNoRoom = Seconds(3);
constexpr Duration kRoomComesBack = Seconds(15);
constexpr size_t kNamed = 5;

// Returns whether the worker takes attempts, or will do so by itself after a stall or a restart.
bool MayHaveRoom(const WorkerView& worker, Instant now) {
  if (worker.TakesAttempts() || worker.away) return true;
  if (worker.drained_by_user || worker.distrusted() || worker.room.full) return false;
  return worker.alive || worker.MayReturn(now);
}

}  // namespace

RoomKeeper::RoomKeeper(Driver& driver, HostClock& clock, Forecasts& forecasts)
    : driver_(driver), core_(driver.core()), clock_(clock), forecasts_(forecasts) {}

void RoomKeeper::NoteRoom(WorkerView* worker, const DiskRoom& room) {
  if (room.total_bytes == 0) return;  // its disk has not answered
  worker->room = room;
  worker->capacity_bytes = room.free_bytes + core_.files().UsedOn(worker->id);
  NoteFitness(worker);
  if (room.full == worker->full) return;
  worker->full = room.full;
  const Incarnation incarnation = worker->info.incarnation;
  driver_.FeedDfs(dfs::WorkerRoom{clock_.Stamp(), worker->id, incarnation, worker->capacity_bytes, room.full});
  if (room.full) {
    LOG(WARNING) << DescribeFull(*worker) << ": it gets neither blocks nor attempts";
    driver_.Feed(sched::WorkerAway{worker->id, incarnation});
    return;
  }
  LOG(INFO) << DescribeRoom(*worker) << ": it has room again";
  if (worker->TakesAttempts()) driver_.Feed(sched::WorkerDraining{worker->id, incarnation, false});
}

void RoomKeeper::NoteFitness(WorkerView* worker) {
  const bool unfit = !worker->room.failure.empty();
  if (unfit == worker->unfit) return;
  worker->unfit = unfit;
  const Incarnation incarnation = worker->info.incarnation;
  if (unfit) {
    LOG(WARNING) << DescribeUnfit(*worker);
    driver_.Feed(sched::WorkerAway{worker->id, incarnation});
    return;
  }
  LOG(INFO) << Name(worker->id) << ": attempts can write there again";
  if (worker->TakesAttempts()) driver_.Feed(sched::WorkerDraining{worker->id, incarnation, false});
}

std::string DescribeUnfit(const WorkerView& worker) {
  return Name(worker.id) + " (" + worker.info.address + ") " + worker.room.failure +
         ": it gets no new attempts until attempts can write there again; next: check that disk, and restart the "
         "worker where the directory is gone";
}

std::string DescribeRoom(const WorkerView& worker) {
  return Name(worker.id) + " (" + worker.info.address + ") has " + HumanBytes(worker.room.free_bytes) + " of " +
         HumanBytes(worker.room.total_bytes) + " free" + (worker.room.path.empty() ? "" : " in " + worker.room.path) +
         (worker.room.no_inodes ? " but has no free inodes (that file system has as many files as it may)" : "");
}

std::string DescribeFull(const WorkerView& worker) {
  return DescribeRoom(worker) + (worker.room.no_space_unix_ms == 0 ? ", less than it keeps free (mrworker --min_free)"
                                                                   : ", and a write found no space at " +
                                                                         LocalDateTime(worker.room.no_space_unix_ms));
}

std::string WhyNoRoom(const MasterCore& core, Instant now) {
  std::string names;
  size_t full = 0;
  for (const auto& [id, worker] : core.workers().all()) {
    if (MayHaveRoom(worker, now)) return "";
    if (!worker.alive || !worker.full || worker.drained_by_user || worker.leaving) continue;
    if (full++ < kNamed) names += (names.empty() ? "" : "; ") + DescribeFull(worker);
  }
  if (full > kNamed) names += " and " + std::to_string(full - kNamed) + " more";
  if (full == 0) return "";
  return "No space left on device: no worker has room: " + names;
}

uint64_t RoomKeeper::ShuffleBytes(const JobView& job) const {
  const sched::Job* known = core_.scheduler().state().FindJob(job.id);
  uint64_t bytes = 0;
  for (size_t s = 0; known != nullptr && s < known->stages.size() && s < job.stages.size(); ++s) {
    if (known->stages[s].partitions > 0) bytes += job.stages[s].output_bytes;
  }
  return bytes;
}

void RoomKeeper::FailWithoutRoom() {
  const Instant now = clock_.Lived();
  const std::string why = WhyNoRoom(core_, now);
  if (why.empty()) {
    no_room_until_ = {};
    return;
  }
  if (no_room_until_ == Instant{}) no_room_until_ = now + kNoRoom;
  if (now < no_room_until_) return;
  const JobView* most = nullptr;
  uint64_t most_bytes = 0;
  for (const auto& [id, job] : core_.jobs().jobs()) {
    const sched::Job* known = core_.scheduler().state().FindJob(id);
    if (known == nullptr || !known->running()) continue;
    const auto waits = [](const sched::Stage& stage) { return stage.in_ready; };
    if (std::none_of(known->stages.begin(), known->stages.end(), waits)) continue;
    // Between jobs of equal size the newest fails: it has waited least.
    const uint64_t bytes = ShuffleBytes(job);
    if (most == nullptr || bytes >= most_bytes) most = &job, most_bytes = bytes;
  }
  if (most == nullptr) return;
  no_room_until_ = now + kRoomComesBack;
  const JobId id = most->id;
  driver_.Feed(sched::JobGivenUp{id, why + "; of the jobs that wait this one has most shuffle output, " +
                                         HumanBytes(most_bytes) + ". Remove what is not needed from these disks " +
                                         "(`mrctl fs du /`), or add workers, and submit it again"});
  forecasts_.Settle();
}

}  // namespace mr::master
