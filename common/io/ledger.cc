#include "common/io/ledger.h"

namespace mr {
namespace {

struct Text {
  const char *name, *what;
};
constexpr Text kTexts[] = {
#define MR_PLACE(name, what) {#name, what},
    MR_LEDGER_PLACES(MR_PLACE)
#undef MR_PLACE
};

}  // namespace

const char* Ledger::Name(Place place) { return kTexts[place].name; }

const char* Ledger::What(Place place) { return kTexts[place].what; }

void Ledger::Clear() {
  for (auto& count : counts_) count.store(0, std::memory_order_relaxed);
}

}  // namespace mr
