#include "worker/host/memory_share.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "common/base/text.h"
#include "common/io/files.h"
#include "worker/host/cgroup_place.h"

namespace mr::worker {
namespace {

constexpr uint64_t kReservePart = 10;
constexpr uint64_t kLeastReserve = 512ull << 20;
constexpr Duration kCountPeriod = Seconds(1);

// Lowers `found` to the limits of the group and of those above it.
void LowerToGroup(const CgroupPlace& place, MemoryFound* found) {
  const char* const file = place.unified ? "/memory.max" : "/memory.limit_in_bytes";
  for (std::string group = place.memory; !group.empty(); group = group.substr(0, group.rfind('/'))) {
    const auto text = ReadFile(group + file);
    if (!text.ok()) continue;
    const uint64_t limit = std::strtoull(text->c_str(), nullptr, 10);  // 0: "max"
    if (limit != 0 && limit < found->bytes) *found = {limit, group};
  }
}

// Returns a name for what limits the memory, equal for all processes of the machine that it limits.
std::string NameOf(const MemoryFound& found) {
  struct stat info {};
  if (found.group.empty() || ::stat(found.group.c_str(), &info) != 0) return "machine";
  // Containers see their groups at the same path, but under other inodes.
  return std::to_string(info.st_dev) + "g" + std::to_string(info.st_ino);
}

}  // namespace

MemoryFound FindMemory(uint64_t machine_bytes, std::string_view mountinfo, std::string_view own,
                       const std::string& group) {
  MemoryFound found{machine_bytes, ""};
  if (const auto place = FindCgroups(mountinfo, own, ""); place.ok()) LowerToGroup(*place, &found);
  if (group.empty()) return found;
  if (const auto place = FindCgroups(mountinfo, own, group); place.ok()) LowerToGroup(*place, &found);
  return found;
}

uint64_t LessReserve(uint64_t found_bytes, uint32_t slots) {
  const uint64_t reserve = std::max(found_bytes / kReservePart, kLeastReserve) + slots * kMemoryBeside;
  return found_bytes - std::min(reserve, found_bytes / 2);
}

MemoryShare::MemoryShare(const Options& options, uint64_t found, std::function<uint32_t()> workers)
    : options_(options), found_(found), count_(std::move(workers)) {}

std::unique_ptr<MemoryShare> MemoryShare::Open(const Options& options) {
  const uint64_t machine =
      static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const auto mounts = ReadFile("/proc/self/mountinfo"), own = ReadFile("/proc/self/cgroup");
  const MemoryFound found = FindMemory(machine, mounts.ok() ? *mounts : "", own.ok() ? *own : "", options.cgroup_root);
  auto peers = PeersHere::Join("memory." + NameOf(found), options.passing);
  std::string alone = peers.ok() ? "" : "; other workers are not counted: " + peers.status().message();
  std::function<uint32_t()> count = [] { return 1u; };
  if (peers.ok()) {
    count = [shared = std::make_shared<PeersHere>(*std::move(peers))] { return shared->Count(); };
  }
  auto share = std::make_unique<MemoryShare>(options, LessReserve(found.bytes, options.slots), std::move(count));
  if (options.bytes == 0) {
    share->source_ = HumanBytes(found.bytes) + " of " +
                     (found.group.empty() ? "this machine" : "the control group " + found.group) + ", less a reserve" +
                     alone;
  }
  return share;
}

uint64_t MemoryShare::Together(Instant now) {
  if (options_.bytes != 0) return options_.bytes;
  const std::lock_guard lock(mutex_);
  if (!counted_ || now - *counted_ >= kCountPeriod) {
    counted_ = now;
    workers_ = std::max(1u, count_());
  }
  return found_ / workers_;
}

uint64_t MemoryShare::PerAttempt(Instant now) {
  const uint64_t each = Together(now) / std::max(1u, options_.slots);
  return options_.bytes != 0 ? each : std::max(each, kLeastAttemptMemory);
}

}  // namespace mr::worker
