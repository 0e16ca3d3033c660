// The one way in which mrctl's main thread waits: for a descriptor, until a time, or until the user
// interrupts.
#pragma once

#include <optional>

#include "common/base/status.h"
#include "common/base/time.h"

namespace mr::ctl {

// Turns SIGINT and SIGTERM into something that WaitFor sees. Once, before any thread is made.
void CatchInterrupts();
bool Interrupted();
// Default dispositions again: for children and for a second Ctrl-C.
void RestoreSignals();

enum class Woken { kReady, kTimeout, kInterrupted };

// Until fd is readable (-1: none), `until` is past (nullopt: never) or an interrupt came.
Woken WaitFor(int fd, std::optional<Instant> until);

// The end of all waiting, from --timeout. Process-wide: one command, one limit.
void SetTimeLimit(std::optional<Instant> limit);
std::optional<Instant> TimeLimit();
// The earlier of the two.
std::optional<Instant> Earlier(std::optional<Instant> a, std::optional<Instant> b);

// kCancelled and kDeadline with the words for them.
Status InterruptedStatus();
Status TimeoutStatus();

}  // namespace mr::ctl
