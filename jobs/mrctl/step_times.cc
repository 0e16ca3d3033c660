#include "jobs/mrctl/step_times.h"

#include <fcntl.h>

#include <cstdlib>
#include <mutex>
#include <string>

#include "common/io/clock.h"
#include "common/io/files.h"

namespace mr::ctl {
namespace {

const char* StepTimesFile() {
  static const char* const path = std::getenv("MR_STEP_TIMES");
  return path;
}

std::mutex steps_mutex;
std::string steps_text;

}  // namespace

void NoteStep(const char* step) {
  if (StepTimesFile() == nullptr) return;
  const int64_t now = Now().ns;
  const std::lock_guard lock(steps_mutex);
  steps_text += std::string(step) + " " + std::to_string(now) + "\n";
}

void WriteStepTimes() {
  if (StepTimesFile() == nullptr) return;
  NoteStep("end");
  const std::lock_guard lock(steps_mutex);
  if (const auto file = OpenFile(StepTimesFile(), O_WRONLY | O_CREAT | O_TRUNC, 0600); file.ok()) {
    (void)WriteAll(file->get(), steps_text);
  }
}

}  // namespace mr::ctl
