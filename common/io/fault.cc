#include "common/io/fault.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>

namespace mr {
namespace {

struct Fault {
  std::string name, token;
  long at = 0;
  std::atomic<long> passed{0};
};

Fault* ReadFault() {
  const char* text = std::getenv("MR_FAULT");
  if (text == nullptr) return nullptr;
  const std::string spec(text);
  const size_t first = spec.find(':');
  const size_t second = spec.find(':', first + 1);
  if (first == std::string::npos || second == std::string::npos) return nullptr;
  auto* fault = new Fault;  // lives as long as the process
  fault->name = spec.substr(0, first);
  fault->at = std::atol(spec.substr(first + 1, second - first - 1).c_str());
  fault->token = spec.substr(second + 1);
  return fault;
}

}  // namespace

void FaultPoint(std::string_view name) {
  static Fault* const fault = ReadFault();
  if (fault == nullptr || fault->name != name) return;
  if (fault->passed.fetch_add(1) + 1 < fault->at) return;
  if (::unlink(fault->token.c_str()) == 0) ::kill(::getpid(), SIGKILL);
}

}  // namespace mr
