#include "master/sched/index/index_set.h"

namespace mr::sched {

IndexSet::IndexSet(uint32_t limit) {
  size_t words = limit;
  do {
    words = (words + 63) / 64;
    levels_.emplace_back(words, 0);
  } while (words > 1);
}

}  // namespace mr::sched
