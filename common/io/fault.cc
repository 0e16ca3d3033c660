#include "common/io/fault.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>

namespace mr {
namespace {

struct Fault {
  std::string name, token;
  long at = 0;
  long stall_ms = 0;  // 0: die
  std::atomic<long> passed{0};
};

// Parses NAME:N:TOKEN, or NAME:N:MS:TOKEN for a stall. Returns null where the variable is not set or has another form.
Fault* ReadFault(const char* variable, bool stalls) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return nullptr;
  std::string rest(text);
  std::string parts[3];
  const int numbers = stalls ? 3 : 2;
  for (int i = 0; i < numbers; ++i) {
    const size_t colon = rest.find(':');
    if (colon == std::string::npos) return nullptr;
    parts[i] = rest.substr(0, colon);
    rest = rest.substr(colon + 1);
  }
  auto* fault = new Fault;  // lives as long as the process
  fault->name = parts[0];
  fault->at = std::atol(parts[1].c_str());
  fault->stall_ms = stalls ? std::atol(parts[2].c_str()) : 0;
  fault->token = rest;
  return fault;
}

void Pass(Fault* fault, std::string_view name) {
  if (fault == nullptr || fault->name != name) return;
  if (fault->passed.fetch_add(1) + 1 < fault->at) return;
  if (::unlink(fault->token.c_str()) != 0) return;
  if (fault->stall_ms == 0) ::kill(::getpid(), SIGKILL);
  const timespec pause{fault->stall_ms / 1000, fault->stall_ms % 1000 * 1'000'000};
  ::nanosleep(&pause, nullptr);
}

}  // namespace

void FaultPoint(std::string_view name) {
  static Fault* const fault = ReadFault("MR_FAULT", false);
  static Fault* const stall = ReadFault("MR_STALL", true);
  Pass(fault, name);
  Pass(stall, name);
}

}  // namespace mr
