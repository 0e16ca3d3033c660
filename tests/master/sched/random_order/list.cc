// The list of this test's program, in place of master/sched/policies/list.cc: the control, and one more line.
#include "master/sched/policies/list.h"

#include "master/sched/policies/baselines/fifo.h"
#include "tests/master/sched/random_order/random_order.h"

namespace mr::sched {

namespace {

constexpr PolicyEntry kPolicies[] = {
    {kPlainPolicies, &MakeFifo, kServesAll | kPlacesWork},
    {"random_order", &MakeRandomOrder, kServesAll | kPlacesWork, &RandomOrderReasons},
};

}  // namespace

std::span<const PolicyEntry> AllPolicies() { return kPolicies; }
std::span<const PolicyGroup> PolicyGroups() { return {}; }

}  // namespace mr::sched
