#include "tests/support/narrow_network.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "tests/support/cluster.h"

namespace mr::test {
namespace {

constexpr char kOwnNetwork[] = "/proc/self/ns/net";
// Most bytes that a link sends at once: a few ticks of the kernel's clock at the rates used here. A guess.
constexpr char kBurst[] = "64kb";
constexpr char kQueue[] = "200ms";  // longest wait in a link's queue

std::string Link(int member) { return "link" + std::to_string(member); }

// Runs a line of sh. network: -1: this process's.
Status RunLine(const std::string& line, int network = -1) {
  SpawnOptions options;
  options.network = network;
  const RunResult run = RunProgram({"/bin/sh", "-ec", line}, Seconds(20), options);
  return run.exit == 0 ? Status::Ok() : Unavailable("'" + line + "': " + run.err);
}

Result<UniqueFd> EnterNewNetwork() {
  if (unshare(CLONE_NEWNET) != 0) return ErrnoStatus(errno, "cannot make a network namespace");
  UniqueFd fd(open(kOwnNetwork, O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, std::string("cannot open ") + kOwnNetwork);
  return fd;
}

}  // namespace

Result<std::unique_ptr<NarrowNetwork>> NarrowNetwork::Make(int members) {
  std::unique_ptr<NarrowNetwork> made(new NarrowNetwork());
  for (int m = 0; m < members; ++m) {
    MR_ASSIGN_OR_RETURN(UniqueFd network, EnterNewNetwork());
    made->networks_.push_back(std::move(network));
  }
  MR_ASSIGN_OR_RETURN(const UniqueFd bridge, EnterNewNetwork());
  MR_RETURN_IF_ERROR(
      RunLine("ip link set lo up; ip link add bridge type bridge; ip link set bridge up; ip address add " +
              made->host() + "/24 dev bridge"));
  for (int m = 0; m < members; ++m) {
    const std::string inside = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(made->network(m));
    MR_RETURN_IF_ERROR(RunLine("ip link add " + Link(m) + " type veth peer name inside; ip link set inside netns " +
                               inside + "; ip link set " + Link(m) + " master bridge up"));
    MR_RETURN_IF_ERROR(
        RunLine("ip link set lo up; ip address add " + made->address(m) + "/24 dev inside; ip link set inside up",
                made->network(m)));
  }
  return made;
}

Status NarrowNetwork::Limit(double bytes_per_second) {
  const auto line = [&](const std::string& device) {
    if (bytes_per_second <= 0) return "tc qdisc del dev " + device + " root 2>/dev/null || true";
    char rate[32];
    std::snprintf(rate, sizeof rate, "%.0fbit", 8 * bytes_per_second);
    return "tc qdisc replace dev " + device + " root tbf rate " + rate + " burst " + kBurst + " latency " + kQueue;
  };
  for (int m = 0; m < static_cast<int>(networks_.size()); ++m) {
    MR_RETURN_IF_ERROR(RunLine(line(Link(m))));
    MR_RETURN_IF_ERROR(RunLine(line("inside"), network(m)));
  }
  return Status::Ok();
}

Result<double> NarrowNetwork::Sent() const {
  MR_ASSIGN_OR_RETURN(const std::string devices, ReadFile("/proc/self/net/dev"));
  double sum = 0;
  for (int m = 0; m < static_cast<int>(networks_.size()); ++m) {
    const std::string name = Link(m) + ":";  // the bytes that the bridge received from it follow
    const size_t at = devices.find(name);
    if (at == std::string::npos) return NotFound("no device " + Link(m) + " in /proc/self/net/dev");
    sum += std::strtod(devices.c_str() + at + name.size(), nullptr);
  }
  return sum;
}

std::string NarrowNetwork::host() const { return "10.99.0.1"; }
std::string NarrowNetwork::address(int member) const { return "10.99.0." + std::to_string(member + 2); }

}  // namespace mr::test
