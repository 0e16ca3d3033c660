// Lists of a pool's tasks by the place (a worker or a rack) that holds their input, with marks for pending tasks. All
// lists share a few arrays: a million tasks with three replicas take 120 MB, a sixth of what small containers would
// take. Each task knows its positions in the lists.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "master/sched/index/index_set.h"

namespace mr::sched {

class LocalLists {
 public:
  // One place's list; valid until the next Build.
  struct List {
    uint32_t begin = 0, end = 0;  // positions
    uint32_t number = 0;
  };

  // Builds the lists from (place, task below `limit`) pairs, in any order, repeats allowed. Nothing is pending then.
  void Build(std::vector<std::pair<uint32_t, uint32_t>> pairs, uint32_t limit);

  // Places with a list, ascending.
  const std::vector<uint32_t>& places() const { return places_; }
  // Returns the place's list, which is empty if it has none.
  List Find(uint32_t place) const {
    const uint32_t number = FirstFrom(place);
    return number < places_.size() && places_[number] == place ? At(number) : List{};
  }
  // Returns the number of the first list with a place not below this one, or the number of lists if there is none.
  uint32_t FirstFrom(uint32_t place) const {
    if (places_.empty() || place <= places_.front()) return 0;
    if (place > places_.back()) return static_cast<uint32_t>(places_.size());
    // Most jobs have places all over the cluster. The list then stands about where the place's number suggests, and a
    // search from there touches one or two cache lines.
    const size_t n = places_.size();
    const uint64_t span = std::max(1u, places_.back() - places_.front());
    size_t low = static_cast<size_t>(uint64_t{place - places_.front()} * (n - 1) / span), high = low, step = kNear;
    while (places_[low] > place) {
      high = low;
      low -= std::min(low, step);
      step *= 2;
    }
    while (high < n && places_[high] < place) {
      low = high;
      high += step;
      step *= 2;
    }
    const auto begin = places_.begin() + static_cast<std::ptrdiff_t>(low);
    const auto end = places_.begin() + static_cast<std::ptrdiff_t>(std::min(high + 1, n));
    return static_cast<uint32_t>(std::lower_bound(begin, end, place) - places_.begin());
  }
  List At(uint32_t number) const { return {rows_[number].begin, rows_[number + 1].begin, number}; }

  uint32_t task(uint32_t position) const { return tasks_[position]; }
  bool Pending(uint32_t position) const { return pending_.Contains(position); }
  uint32_t CountPending(const List& list) const { return list.begin == list.end ? 0 : rows_[list.number].pending; }
  uint32_t CountPending(uint32_t number) const { return rows_[number].pending; }
  // Returns true if any list has a pending task.
  bool AnyPending() const { return !pending_.empty(); }
  // Returns the first pending position of the list at or after `from`, or IndexSet::kNone.
  uint32_t NextPending(const List& list, uint32_t from) const {
    if (CountPending(list) == 0) return IndexSet::kNone;
    const uint32_t position = pending_.Next(from);
    return position < list.end ? position : IndexSet::kNone;
  }

  // Marks the task as pending or not in all lists that have it.
  void Set(uint32_t task, bool pending) {
    if (tasks_.empty()) return;
    for (uint32_t s = spots_of_[task]; s < spots_of_[task + 1]; ++s)
      SetAt(spots_[s].number, spots_[s].position, pending);
  }
  // Marks one position of the list with this number.
  void SetAt(uint32_t number, uint32_t position, bool pending) {
    if (pending_.Contains(position) == pending) return;
    if (pending) {
      pending_.Insert(position);
      ++rows_[number].pending;
    } else {
      pending_.Erase(position);
      --rows_[number].pending;
    }
  }

 private:
  struct Spot {
    uint32_t position = 0, number = 0;
  };
  struct Row {
    uint32_t begin = 0, pending = 0;  // first position; number of pending tasks
  };
  static constexpr size_t kNear = 16;  // a cache line

  std::vector<uint32_t> places_, tasks_;
  std::vector<Row> rows_;           // by the list's number, and an end entry
  std::vector<uint32_t> spots_of_;  // spots of task t: from spots_[spots_of_[t]] to those of t + 1
  std::vector<Spot> spots_;
  IndexSet pending_;
};

}  // namespace mr::sched
