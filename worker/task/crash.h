// Reports a crash of a process that runs user code. It notes in the shared page at which record the operator is, and
// writes the stack to stderr, the attempt's log (common/io/stack_lines.h). A new process translates the stack
// (frames.h): a crashed one must not allocate memory.
#pragma once

#include <string>

#include "common/abi/operator_table.h"
#include "worker/task/protocol.h"

namespace mr::task {

class SplitReader;

// Loads the unwinder, which a signal handler must not do. Children that are made by clone inherit it.
void WarmUpBacktrace();

// Installs the handlers of fatal signals and of SIGQUIT, with which the daemon ends a task without progress, a handler
// of exit() that notes the record, and one of SampleSignal(), which writes the record and the stack to the log and lets
// the operator go on. The handlers end within seconds, whatever the state of the process. An operator may replace them.
// Requires: WarmUpBacktrace, in this process or the one that it was cloned from. Thread: the one that calls the
// operator.
void ReportCrashes(ProgressPage* page);

// Notes in the shared page at which record the operator is, as for a crash. Thread: the one that calls the operator.
void NoteCrashRecord();

// Sets the batch that the operator works on, the place where it begins, and its reader if it comes from a file. All are
// borrowed until the next call, and the batch's bytes, too. Null: the operator works on no batch, or it has no place.
void SetCrashBatch(const mr_batch* batch, const std::string* place = nullptr, const SplitReader* reader = nullptr);

// Returns where the operator stores mr_host::at.
mr_bytes* CrashAt();

}  // namespace mr::task
