// mrctl top: shows the current state of the cluster, once or, on a terminal, every second until q or Ctrl-C.
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>

#include "common/io/clock.h"
#include "common/io/files.h"
#include "jobs/mrctl/client.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/operate.h"
#include "jobs/mrctl/raw_terminal.h"
#include "jobs/mrctl/terminal_text.h"
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

winsize ScreenSize() {
  winsize size{};
  if (ioctl(1, TIOCGWINSZ, &size) != 0 || size.ws_row < 2 || size.ws_col < 2) size = {24, 80, 0, 0};
  return size;
}

std::string LastRow() { return "\x1b[" + std::to_string(ScreenSize().ws_row) + ";1H"; }

// Overwrites the previous screen, to avoid flicker. The last row says how to leave it, if keys are read.
std::string Screen(const std::string& text, bool keys) {
  const winsize size = ScreenSize();
  std::string screen = kHome;
  // The last row stays free: a line end there would scroll.
  for (const char c : CutTo(TerminalText(text), size.ws_row - 1u, size.ws_col)) {
    if (c == '\n') screen += kEraseLine;
    screen += c;
  }
  return screen + kEraseBelow + (keys ? LastRow() + "q: quit" : "");
}

// Print() would escape the controls of a screen.
void Draw(const std::string& screen) { (void)WriteAll(1, screen); }

// Redraws until the user ends it: by q, or by Ctrl-C.
Result<int> Refresh(Client& client, RawTerminal* terminal, const std::function<std::string(const std::string&)>& draw) {
  Instant next = Now() + kRefresh;
  while (true) {
    const Woken woken = WaitFor(terminal->fd(), Earlier(next, TimeLimit()));
    if (woken == Woken::kInterrupted) return kExitOk;
    if (TimeLimit().has_value() && Now() >= *TimeLimit()) return TimeoutStatus();
    if (woken == Woken::kReady) {
      if (terminal->Keys().find_first_of("qQ") != std::string::npos) return kExitOk;
      if (Now() < next) continue;
    }
    next = Now() + kRefresh;
    auto top = Ask(client);
    if (top.ok()) {
      Draw(draw(RenderTop(*top, OutputForm::kTable)));
      continue;
    }
    if (top.status().code() == Code::kCancelled) return kExitOk;
    if (top.status().code() != Code::kUnavailable) return top.status();
    // Shows the error and goes on: the master may restart.
    Draw(draw(FailureText(ToFailure(top.status()))));
    client.Reconnect();
  }
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
  RawTerminal terminal;
  const auto draw = [&](const std::string& text) { return Screen(text, terminal.fd() >= 0); };
  Draw(kClear + draw(RenderTop(first, OutputForm::kTable)));
  auto exit = Refresh(client, &terminal, draw);
  // The prompt of the shell comes below the last screen.
  if (terminal.fd() >= 0) Draw(LastRow() + kEraseLine);
  return exit;
}

}  // namespace mr::ctl
