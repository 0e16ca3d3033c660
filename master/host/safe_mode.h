// Lost records of the journal, and the safe mode that an operator ends.
//
// The journal checks its own witness when it is opened (master/journal). Here a worker shows that it was sent a record
// that this journal lacks. So an older copy of the whole data directory is noticed, even with its witness.
//
// Until an operator accepts the loss, nothing new is taken, no block is deleted or copied, and workers are sent no
// record as durable: a better copy of the directory that is restored meanwhile must not look older than this one.
// Epochs, and with them ids of jobs, and ids of blocks go on above all that the lost records can have assigned.
#pragma once

#include <functional>
#include <string>

#include "common/base/status.h"
#include "common/model/changed.h"
#include "common/model/status.h"
#include "master/core/epochs.h"
#include "master/host/driver.h"
#include "master/host/host_clock.h"

namespace mr::master {

// Thread: the master's. Driver::InLossMode says on any thread whether safe mode holds.
class SafeMode {
 public:
  SafeMode(Driver& driver, HostClock& clock, std::string directory);

  // Start: records the loss that this start accepted, and waits until that is durable.
  void SettleAcceptedLoss();
  // Start: a loss that no operator has accepted goes on to hold the block store.
  void GoOn();
  // Begins safe mode if the worker was sent a record that this journal lacks.
  void NoteSeen(const std::string& worker, const Durable& seen);
  // Ends safe mode. The reply waits until that is in the journal.
  void Accept(std::function<void(Changed)> reply);

  // Returns the durable record that workers may be sent.
  Durable DurableNow() const;
  // Returns the last loss and the choices, for people; "" where there was none.
  std::string Words() const;
  // Errors: in safe mode, why nothing new is taken.
  Status Check() const;
  // Returns all but disk_bytes and free_bytes.
  JournalStatus JournalNow() const;

 private:
  void RaiseIds();

  Driver& driver_;
  MasterCore& core_;
  HostClock& clock_;
  const std::string directory_;  // the master's --data, for texts
};

}  // namespace mr::master
