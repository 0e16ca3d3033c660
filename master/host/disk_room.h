// Full and failing disks: a full worker takes neither blocks nor attempts, an unfit one, on which attempts cannot
// write, no attempts. Where all workers are full, the waiting job with the most shuffle output fails.
#pragma once

#include <string>

#include "common/model/disk_room.h"
#include "master/host/driver.h"
#include "master/host/forecasts.h"
#include "master/host/host_clock.h"

namespace mr::master {

// Returns how much room the worker's disk has, for people.
std::string DescribeRoom(const WorkerView& worker);
// The same, and why that is too little. Requires: it is full.
std::string DescribeFull(const WorkerView& worker);
// Returns why the worker is unfit for attempts, for people. Requires: it is.
std::string DescribeUnfit(const WorkerView& worker);
// Returns why no worker has room; "" where a worker takes attempts, or may do so soon (it stalls, or is expected back),
// or where something else than room keeps all from it. now: lived.
std::string WhyNoRoom(const MasterCore& core, Instant now);

// Thread: the master's.
class RoomKeeper {
 public:
  RoomKeeper(Driver& driver, HostClock& clock, Forecasts& forecasts);

  // Takes the room that a worker's heartbeat reported.
  void NoteRoom(WorkerView* worker, const DiskRoom& room);
  // Each tick: where no worker has had room for a while, a job that waits for some fails.
  void FailWithoutRoom();

 private:
  // Ends the offers to a worker that has become unfit, and resumes them once attempts can write there again.
  void NoteFitness(WorkerView* worker);
  // Returns the bytes of committed outputs that other stages of the job read.
  uint64_t ShuffleBytes(const JobView& job) const;

  Driver& driver_;
  MasterCore& core_;
  HostClock& clock_;
  Forecasts& forecasts_;
  Instant no_room_until_;  // lived: when a job fails, if no worker has room until then; 0: one has
};

}  // namespace mr::master
