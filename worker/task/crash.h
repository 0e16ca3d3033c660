// Reports a crash of a process that runs user code. It notes in the shared page at which record the operator is, and
// writes the stack to stderr, the attempt's log. A new process translates the stack (frames.h): a crashed one must not
// allocate memory.
#pragma once

#include <string>

#include "common/abi/operator_table.h"
#include "worker/task/protocol.h"

namespace mr::task {

// The log's line about a crash begins with this text. The stack follows.
inline constexpr char kCrashLine[] = "the process died of SIG";

// Loads the unwinder, which a signal handler must not do. Children that are made by clone inherit it.
void WarmUpBacktrace();

// Installs the handlers of fatal signals and of SIGQUIT, with which the daemon ends a task without progress, and a
// handler of exit() that notes the record. The handlers end within seconds, whatever the state of the process. An
// operator may replace them. Requires: WarmUpBacktrace, in this process or the one that it was cloned from. Thread: the
// one that calls the operator.
void ReportCrashes(ProgressPage* page);

// Notes in the shared page at which record the operator is, as for a crash. Thread: the one that calls the operator.
void NoteCrashRecord();

// Sets the batch that the operator works on, and the place where it begins. Both are borrowed until the next call.
// Null: the operator works on no batch.
void SetCrashBatch(const mr_batch* batch, const std::string* place);

}  // namespace mr::task
