// Reads single keys from a terminal. Restores the terminal however the process ends, except by SIGKILL.
#pragma once

#include <string>

namespace mr::ctl {

// Lets standard input deliver keys at once and without echo, if it is the terminal of this process. Ctrl-C, Ctrl-\ and
// Ctrl-Z stay what they are: the terminal is restored before a signal ends or stops the process, and set again when it
// continues. Signals that mrctl catches (wait.h) still end its waiting; a second one ends the process. Only one at a
// time. Requires: CatchInterrupts was called. Thread: main.
class RawTerminal {
 public:
  RawTerminal();
  ~RawTerminal();
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

  // Returns the descriptor to wait for, or -1 if there are no keys: no terminal, one of another job, or it was closed.
  int fd() const { return on_ ? 0 : -1; }
  // Returns the keys that were typed; never blocks. The end of the terminal makes fd() -1.
  std::string Keys();

 private:
  bool on_ = false;
};

}  // namespace mr::ctl
