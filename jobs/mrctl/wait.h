// All waiting of mrctl's main thread: for a descriptor, until a time, or until the user interrupts.
#pragma once

#include <sys/types.h>

#include <optional>

#include "common/base/status.h"
#include "common/base/time.h"

namespace mr::ctl {

// Makes SIGINT, SIGTERM and a SIGHUP that is not ignored end WaitFor. Call once, before any thread is started.
void CatchInterrupts();
bool Interrupted();

enum class Woken { kReady, kTimeout, kInterrupted };

// Waits until fd is readable (-1: no fd), until `until` (nullopt: for ever), or for an interrupt.
Woken WaitFor(int fd, std::optional<Instant> until);

// Waits until fd takes bytes, until `until` (nullopt: for ever), or for an interrupt. Files always do. A pipe with room
// takes 4096 bytes at once.
Woken WaitForRoom(int fd, std::optional<Instant> until);

// Lets waiting go on for `limit` after an interrupt or --timeout, to save what is left. A second interrupt ends mrctl.
void WaitOnceMore(Duration limit);

// Sets the end of all waiting (--timeout). Process-wide: one command has one limit.
void SetTimeLimit(std::optional<Instant> limit);
std::optional<Instant> TimeLimit();
// Returns the earlier of the two.
std::optional<Instant> Earlier(std::optional<Instant> a, std::optional<Instant> b);

// Return kCancelled and kDeadline with their messages.
Status InterruptedStatus();
Status TimeoutStatus();

// Waits until fd is readable. Errors: kCancelled, kDeadline. Thread: any; may run on several at once.
Status WaitOrGiveUp(int fd);
// For loops that wait for nothing. Errors: kCancelled after an interrupt, kDeadline after --timeout.
Status CheckGoingOn();
// Waits for a child process to end, kills it after an interrupt or --timeout, and reaps it. Returns its status as
// waitpid has it. Errors: kCancelled, kDeadline.
Result<int> WaitForChild(pid_t pid);

}  // namespace mr::ctl
