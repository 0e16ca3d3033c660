// mrctl store: the block store as a whole.

#include "jobs/mrctl/client.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/operate.h"
#include "jobs/mrctl/render.h"
#include "jobs/mrctl/terminal_text.h"
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
  if (!before.lost && after.awaits_workers) {
    return Rejected(
        "safe mode stays on: the master has just started and waits for the reports of its workers. Nothing was "
        "changed. "
        "Safe mode ends by itself when they have reported (mrctl store safemode shows it)");
  }
  const std::string loss = "the loss of journal records up to " + std::to_string(before.lost_sequence) + " is accepted";
  const Done done{"safemode", "off", "",
                  !before.lost           ? "it was off already"
                  : after.awaits_workers ? loss + "; safe mode ends by itself when the workers have reported"
                                         : loss};
  if (!settings.quiet) {
    PrintErr((after.awaits_workers ? "safe mode ends soon: " : "safe mode is off: ") + done.note + "\n");
  }
  PrintDone({done}, settings);
  return kExitOk;
}

}  // namespace mr::ctl
