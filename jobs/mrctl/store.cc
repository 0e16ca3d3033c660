// mrctl store: the block store as a whole.
#include <cstdio>

#include "jobs/mrctl/client.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/operate.h"
#include "jobs/mrctl/render.h"
#include "jobs/mrctl/verbs.h"

namespace mr::ctl {

Result<int> RunStore(const Command& command, const Settings& settings) {
  Client client(settings.master);
  const bool off = !command.args.empty();
  MR_ASSIGN_OR_RETURN(const JournalStatus before, client.Journal());
  if (!off) {
    Print(RenderSafeMode(before, settings.form));
    return kExitOk;
  }
  MR_ASSIGN_OR_RETURN(const JournalStatus after, client.Journal(true));
  const Done done{"safemode", "off", "",
                  before.lost            ? "the loss of journal records up to " + std::to_string(before.lost_sequence) +
                                               " is accepted"
                  : after.awaits_workers ? "it waits for workers, which ends by itself"
                                         : "it was off already"};
  if (!settings.quiet) std::fprintf(stderr, "safe mode is ended: %s\n", done.note.c_str());
  PrintDone({done}, settings);
  return kExitOk;
}

}  // namespace mr::ctl
