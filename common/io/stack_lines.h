// Lines in the log of an attempt that introduce a stack. The child process writes the first two (worker/task/crash.h),
// the worker the third; people and commands look for them.
#pragma once

namespace mr {

// The process ends by a signal. The name of the signal follows without "SIG".
inline constexpr char kCrashLine[] = "the process died of SIG";
// A sample of an operator without progress, which goes on.
inline constexpr char kStuckLine[] = "the operator makes no progress";
// It made progress after such a sample.
inline constexpr char kProgressLine[] = "the operator makes progress again";

}  // namespace mr
