// Places replicas so that a block survives the loss of any one rack, and the pipeline crosses racks only once. The
// first replica is on the writer's own worker (no network), the second on another rack, the third on the second's rack,
// further ones on the racks with the fewest. Source: HDFS's default policy (Shvachko et al., "The Hadoop Distributed
// File System", MSST 2010, section III.B). Among the fitting workers, two are drawn by the block's hash, and the less
// used one is taken. This power of two choices (Mitzenmacher, 1996) balances use without sending every new block to the
// emptiest worker.
// Departure: with one rack, racks do not matter.
#include "dfs/meta/placement.h"

#include <algorithm>
#include <map>

#include "common/base/digest.h"

namespace mr::dfs {
namespace {

using Pool = std::vector<const Candidate*>;

template <class F>
Pool Filter(const Pool& pool, F keep) {
  Pool out;
  std::copy_if(pool.begin(), pool.end(), std::back_inserter(out), keep);
  return out;
}

// Returns the part of the pool that `prefer` accepts, or all of it if that is empty.
template <class F>
Pool Prefer(const Pool& pool, F prefer) {
  Pool out = Filter(pool, prefer);
  return out.empty() ? pool : out;
}

const Candidate* LessUsedOfTwo(Pool pool, uint64_t seed) {
  const auto draw = [&](const Candidate* c) { return MixHash(seed, c->worker.value); };
  std::sort(pool.begin(), pool.end(), [&](const Candidate* a, const Candidate* b) {
    return std::pair(draw(a), a->worker) < std::pair(draw(b), b->worker);
  });
  if (pool.size() > 1 && pool[1]->used_bytes < pool[0]->used_bytes) return pool[1];
  return pool[0];
}

Pool WantedRacks(const Pool& pool, const std::vector<Candidate>& held) {
  if (held.empty()) return pool;
  std::map<std::string, size_t> racks;
  for (const auto& h : held) ++racks[h.rack];
  if (racks.size() == 1) {
    return Prefer(pool, [&](const Candidate* c) { return !racks.contains(c->rack); });
  }
  if (held.size() == 2) {
    return Prefer(pool, [&](const Candidate* c) { return c->rack == held[1].rack; });
  }
  const auto count = [&](const Candidate* c) {
    const auto it = racks.find(c->rack);
    return it == racks.end() ? size_t{0} : it->second;
  };
  size_t fewest = SIZE_MAX;
  for (const Candidate* c : pool) fewest = std::min(fewest, count(c));
  return Filter(pool, [&](const Candidate* c) { return count(c) == fewest; });
}

}  // namespace

std::vector<WorkerId> Place(const PlacementRequest& request) {
  std::vector<WorkerId> chosen;
  std::vector<Candidate> held = request.held;
  Pool pool;
  for (const auto& c : request.candidates) pool.push_back(&c);
  while (chosen.size() < request.count && !pool.empty()) {
    Pool fitting = Prefer(pool, [](const Candidate* c) { return !c->last_resort; });
    fitting = Prefer(fitting, [](const Candidate* c) { return !c->full; });
    const Candidate* next = nullptr;
    if (held.empty()) {
      for (const Candidate* c : fitting) {
        if (c->worker == request.writer) next = c;
      }
    }
    if (next == nullptr) next = LessUsedOfTwo(WantedRacks(fitting, held), MixHash(request.seed, held.size()));
    chosen.push_back(next->worker);
    held.push_back(*next);
    std::erase(pool, next);
  }
  return chosen;
}

}  // namespace mr::dfs
