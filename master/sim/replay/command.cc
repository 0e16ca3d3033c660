#include "master/sim/replay/command.h"

#include "common/io/files.h"
#include "master/sim/replay/replay.h"

namespace mr::sim {

Result<int> RunReplay(const ReplayCommand& c) {
  MR_ASSIGN_OR_RETURN(const Replayed replayed, ReplayJournal(c.journal));
  MR_RETURN_IF_ERROR(WriteAll(1, c.form == "json" ? Json(replayed) : Table(replayed)));
  return ExitOf(replayed.verdict);
}

}  // namespace mr::sim
