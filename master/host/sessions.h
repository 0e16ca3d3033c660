// Sessions of workers: registration, heartbeats, stalls, and what operators order about workers.
#pragma once

#include <cstdint>
#include <functional>

#include "common/base/status.h"
#include "common/model/changed.h"
#include "common/model/disk_room.h"
#include "master/host/disk_room.h"
#include "master/host/dispatcher.h"
#include "master/host/driver.h"
#include "master/host/forecasts.h"
#include "master/host/host_clock.h"
#include "master/host/input_waits.h"
#include "master/host/leases.h"
#include "master/host/outlets.h"
#include "master/host/safe_mode.h"
#include "master/host/worker_calls.h"

namespace mr::master {

// Thread: the master's.
class Sessions {
 public:
  Sessions(Driver& driver, HostClock& clock, Outlets& outlets, Dispatcher& dispatcher, SafeMode& safe_mode,
           Leases& leases, RoomKeeper& room, Forecasts& forecasts, InputWaits& inputs);

  // Takes a worker's registration. The reply waits until its record is durable.
  void Register(uint64_t session, RegisterIn in, std::function<void(RegisterOut)> reply);
  // The answer is on its way: commands may follow it, and the worker knows its id when they come.
  void RegisterAnswered(uint64_t session);
  void SessionEnded(uint64_t session);
  void HeartbeatConnected(Incarnation incarnation, bool connected);
  // Takes a heartbeat. Returns whether the worker is known; otherwise it has to register. loop_silent: for how long the
  // worker's control loop has not moved. room: of its disk.
  bool Beat(WorkerId worker, Incarnation incarnation, Duration loop_silent, const DiskRoom& room = {});
  // The worker ends by itself soon; until it is lost it gets nothing new.
  void Leaving(WorkerId worker, Incarnation incarnation);

  // Drains the worker, or ends that. Replies when it is in the journal: it outlives this master, and this life of the
  // worker. Errors: kNotFound.
  void Drain(WorkerId worker, bool on, std::function<void(Changed)> reply);
  // Excludes the worker, which is lost at once and may not register until it is included again. Replies like Drain.
  void Exclude(WorkerId worker, bool on, std::function<void(Changed)> reply);
  // Removes a worker that is not alive (MasterCore::PrepareForget). Replies like Drain.
  void Forget(WorkerId worker, bool force, std::function<void(Changed)> reply);

 private:
  void Greet(WorkerView* worker, const Greeting& greeting);
  // silent: for how long its control loop has not moved. A worker that stalls gets nothing new until it moves again.
  void NoteLoop(WorkerView* worker, Duration silent);

  Driver& driver_;
  MasterCore& core_;
  HostClock& clock_;
  Outlets& outlets_;
  Dispatcher& dispatcher_;
  SafeMode& safe_mode_;
  Leases& leases_;
  RoomKeeper& room_;
  Forecasts& forecasts_;
  InputWaits& inputs_;
};

}  // namespace mr::master
