// The times at which a command reached its steps, for tests/bench/latency_bench.cc. With MR_STEP_TIMES=FILE, mrctl
// writes a line "STEP NANOSECONDS" per step to that file at its end, by the clock of Now().
#pragma once

namespace mr::ctl {

// Notes that the step was reached. step: a literal without spaces. Thread: any. Cost: a flag, without the variable.
void NoteStep(const char* step);
// Writes the file, if there is one to write. A file that cannot be written is no failure of the command.
void WriteStepTimes();

}  // namespace mr::ctl
