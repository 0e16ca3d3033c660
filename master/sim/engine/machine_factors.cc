#include "master/sim/engine/machine_factors.h"

#include <algorithm>

#include "common/base/digest.h"

namespace mr::sim {

namespace {
constexpr uint64_t kMachineLuck = 7;
// A guess: shorter stays than this are no stays.
constexpr Duration kShortest = Millis(1);
}  // namespace

MachineFactors::MachineFactors(const FactorModel& model, double lasts, uint64_t seed, size_t machines)
    : model_(model), lasts_(lasts), seed_(MixHash(seed, kMachineLuck)) {
  if (model.none()) return;
  machines_.resize(machines);
  for (uint32_t m = 0; m < machines; ++m) Turn(m);
}

void MachineFactors::Turn(uint32_t m) {
  Machine& machine = machines_[m];
  Rng rng(MixHash(seed_, uint64_t{m} << 32 | machine.drawn++));
  machine.stays = std::max(kShortest, FromSeconds(rng.Exponential(lasts_)));
  machine.factor = Draw(model_, rng);
}

}  // namespace mr::sim
