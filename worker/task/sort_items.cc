#include "worker/task/sort_items.h"

#include <hwy/contrib/sort/vqsort.h>

#include <cstddef>

namespace mr::task {

static_assert(sizeof(hwy::uint128_t) == sizeof(SortItem) && alignof(hwy::uint128_t) == alignof(SortItem));
static_assert(offsetof(hwy::uint128_t, lo) == offsetof(SortItem, place));
static_assert(offsetof(hwy::uint128_t, hi) == offsetof(SortItem, prefix));

void SortByPrefix(std::span<SortItem> items) {
  if (items.size() < 2) return;     // the sorter gets random bytes from the kernel first
  static const hwy::Sorter sorter;  // finds the instructions of this machine
  sorter(reinterpret_cast<hwy::uint128_t*>(items.data()), items.size(), hwy::SortAscending());
}

}  // namespace mr::task
