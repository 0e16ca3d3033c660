// Notes about a queue that does not exist yet, at submit and at `queue set`: the scheduler makes it, also where its
// name is a typing error. And notes about settings of a queue that have other effects than were probably meant.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/model/status.h"

namespace mr::ctl {

// Returns the note, or "" if the queue is known or is the default one. prefix: "mrctl ", for the command in its text.
std::string NewQueueNote(const std::string& queue, const std::vector<QueueStatus>& known, const std::string& prefix);

// The options that were given to `queue set`.
struct QueueOptions {
  bool weight = false, min_share = false, max_share = false;
};
// Returns what `queue set` changed: "queue 'night': weight 2 (was 1), min share 40 slots (as before)". before: the
// queue, or one with default settings where it is new.
std::string QueueChange(const QueueStatus& before, const QueueStatus& now, const QueueOptions& set);

// Returns the notes on `queue set`, a sentence each. known: all queues before. now: the queue afterwards. slots: those
// of the cluster.
std::vector<std::string> QueueSetNotes(const QueueStatus& now, const std::vector<QueueStatus>& known, uint64_t slots,
                                       const std::string& prefix);

}  // namespace mr::ctl
