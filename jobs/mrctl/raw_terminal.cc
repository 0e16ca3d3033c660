#include "jobs/mrctl/raw_terminal.h"

#include <poll.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>

namespace mr::ctl {
namespace {

// Written before the handlers are installed, and read by them: only async-signal-safe calls follow.
termios saved_terminal, raw_terminal;
// Signals that end a process and that users or the system send; SIGKILL cannot be caught. The first three are caught by
// wait.h already.
constexpr int kEnding[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
struct sigaction former_actions[std::size(kEnding)];
struct sigaction former_stop;

void Restore() { tcsetattr(0, TCSANOW, &saved_terminal); }

void RaiseDefault(int signal) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, nullptr);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  sigprocmask(SIG_UNBLOCK, &only, nullptr);
  raise(signal);
}

void OnEnding(int signal) {
  const int error = errno;
  for (size_t i = 0; i < std::size(kEnding); ++i) {
    if (kEnding[i] != signal) continue;
    const auto former = former_actions[i].sa_handler;
    if (former == SIG_IGN) break;
    if (former != SIG_DFL) {
      // The loop of the command ends, and the destructor restores the terminal. The second such signal ends all.
      former_actions[i].sa_handler = SIG_DFL;
      former(signal);
      break;
    }
    Restore();
    RaiseDefault(signal);
  }
  errno = error;
}

void OnStop(int signal) {
  const int error = errno;
  Restore();
  RaiseDefault(signal);  // returns when the process continues
  struct sigaction action {};
  action.sa_handler = OnStop;
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, nullptr);
  tcsetattr(0, TCSANOW, &raw_terminal);
  errno = error;
}

}  // namespace

RawTerminal::RawTerminal() {
  // A process in the background would be stopped when it changes the terminal.
  if (isatty(0) != 1 || tcgetpgrp(0) != getpgrp() || tcgetattr(0, &saved_terminal) != 0) return;
  raw_terminal = saved_terminal;
  raw_terminal.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  raw_terminal.c_cc[VMIN] = 1;
  raw_terminal.c_cc[VTIME] = 0;
  struct sigaction action {};
  action.sa_handler = OnEnding;
  action.sa_flags = SA_RESTART;
  for (size_t i = 0; i < std::size(kEnding); ++i) sigaction(kEnding[i], &action, &former_actions[i]);
  action.sa_handler = OnStop;
  sigaction(SIGTSTP, &action, &former_stop);
  on_ = tcsetattr(0, TCSANOW, &raw_terminal) == 0;
}

RawTerminal::~RawTerminal() {
  if (!on_) return;
  Restore();
  for (size_t i = 0; i < std::size(kEnding); ++i) sigaction(kEnding[i], &former_actions[i], nullptr);
  sigaction(SIGTSTP, &former_stop, nullptr);
}

std::string RawTerminal::Keys() {
  char keys[64];
  pollfd ready{0, POLLIN, 0};
  if (!on_ || poll(&ready, 1, 0) != 1) return "";
  const ssize_t n = read(0, keys, sizeof keys);
  if (n > 0) return {keys, static_cast<size_t>(n)};
  if (n == 0 || errno != EINTR) {
    on_ = false;  // hung up
    Restore();
  }
  return "";
}

}  // namespace mr::ctl
