# Adds a policy to master/sched/policies/list.cc: its headers and its line.
/^#include ".*\/mantri\/reasons.h"/a\
#include "tests/master/sched/random_order/random_order.h"\
#include "tests/master/sched/random_order/reasons.h"
/^    {"mantri_restart", /a\
    {"random_order", &MakeRandomOrder, 0, &RandomOrderReasons},
