// Reasons of Mantri: codes, which stand in journals, and their names and sentences.
#pragma once

#include <span>

#include "master/sched/reason.h"

namespace mr::sched {

struct MantriReason {
  // Replicated: a loss would cost more {expected s of a re-run, s of the replication}
  static constexpr ReasonCode kRedoCostsMore{27};
  // Made a second time: a read failed there {worker}
  static constexpr ReasonCode kWorkerSuspected{28};
  // Restarted: that is sooner {seconds left, of a new one, report period}
  static constexpr ReasonCode kRestartSooner{29};
  // Speculative while tasks wait {seconds left, chance that it saves: %, attempts, times as slow as others the slot is
  // that a waiting task gets then}
  static constexpr ReasonCode kSpeculativeSaves{30};
  // Speculative: a new attempt ends sooner {seconds left, of a new one}
  static constexpr ReasonCode kSpeculativeSooner{31};
  // Ended: faster attempts of its task run {seconds left, how many are kept}
  static constexpr ReasonCode kSlowestAttempt{32};
  // Launched first: it has the most to read {bytes, waiting tasks}
  static constexpr ReasonCode kLargestInput{34};
  // Replicated: another worker could not {worker, number of this try}
  static constexpr ReasonCode kReplicaElsewhere{35};
  // Not judged: too few attempts show the time {that show it, needed}
  static constexpr ReasonCode kFewTold{78};
  // Not judged: nothing is known of it {seconds since it began}
  static constexpr ReasonCode kNoEstimate{79};
  // No further attempt: as many of its task run as may {attempts}
  static constexpr ReasonCode kEnoughAttempts{80};
  // No speculative attempt: it would save too little {seconds left, of a new one, least to save}
  static constexpr ReasonCode kSavesLittle{81};
  // The same while tasks wait: {seconds left, of a new one, report period, chance that an attempt saves: %, least: %,
  // times a new one's seconds that must be left for a restart}
  static constexpr ReasonCode kSavesLittleNow{82};
  // Left alone while tasks wait: its worker is slow {seconds left, of a new one, of another task in its slot}
  static constexpr ReasonCode kSlowSlot{100};
  // It gets one once a worker is free {seconds left, of a new one}
  static constexpr ReasonCode kPays{83};
};

std::span<const ReasonText> MantriReasons();

}  // namespace mr::sched
