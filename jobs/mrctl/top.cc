// mrctl top: shows the current state of the cluster, once or, on a terminal, every second until Ctrl-C.
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

#include "common/io/clock.h"
#include "jobs/mrctl/client.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/operate.h"
#include "jobs/mrctl/verbs.h"
#include "jobs/mrctl/wait.h"

namespace mr::ctl {
namespace {

constexpr Duration kRefresh = Seconds(1);
// Cursor to the first cell; erase all below; erase the rest of a line.
constexpr char kHome[] = "\x1b[H", kEraseBelow[] = "\x1b[J", kEraseLine[] = "\x1b[K";
constexpr char kClear[] = "\x1b[2J";

Result<TopShown> Ask(Client& client) {
  TopShown top;
  MR_ASSIGN_OR_RETURN(top.master, client.Info());
  MR_ASSIGN_OR_RETURN(top.jobs, client.Jobs());
  MR_ASSIGN_OR_RETURN(top.workers, client.Workers());
  return top;
}

// Overwrites the previous screen, to avoid flicker.
std::string Screen(const std::string& text) {
  winsize size{};
  if (ioctl(1, TIOCGWINSZ, &size) != 0 || size.ws_row < 2 || size.ws_col < 2) size = {24, 80, 0, 0};
  std::string screen = kHome;
  // The last row stays free: a line end there would scroll.
  for (const char c : CutTo(text, size.ws_row - 1u, size.ws_col)) {
    if (c == '\n') screen += kEraseLine;
    screen += c;
  }
  return screen + kEraseBelow;
}

}  // namespace

Result<int> RunTop(const Command&, const Settings& settings) {
  Client client(settings.master);
  MR_ASSIGN_OR_RETURN(const TopShown first, Ask(client));
  const char* term = std::getenv("TERM");
  const bool dumb = term == nullptr || std::string(term) == "dumb";
  if (settings.form != OutputForm::kTable || !isatty(1) || dumb) {
    Print(RenderTop(first, settings.form));
    return kExitOk;
  }
  Print(kClear + Screen(RenderTop(first, OutputForm::kTable)));
  while (true) {
    const Woken woken = WaitFor(-1, Earlier(Now() + kRefresh, TimeLimit()));
    if (woken == Woken::kInterrupted) return kExitOk;  // the normal way to end it
    if (TimeLimit().has_value() && Now() >= *TimeLimit()) return TimeoutStatus();
    auto top = Ask(client);
    if (top.ok()) {
      Print(Screen(RenderTop(*top, OutputForm::kTable)));
      continue;
    }
    if (top.status().code() == Code::kCancelled) return kExitOk;
    if (top.status().code() != Code::kUnavailable) return top.status();
    // Shows the error and goes on: the master may restart.
    Print(Screen(FailureText(ToFailure(top.status()))));
    client.Reconnect();
  }
}

}  // namespace mr::ctl
