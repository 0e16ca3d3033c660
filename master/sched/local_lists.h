// Which tasks of a pool have their input at which place (a worker or a rack), and which of these are
// pending. All lists stand in a few arrays: a million tasks with three replicas take 120 MB, and not
// six times that in small containers; and a task knows where it stands in them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "master/sched/index_set.h"

namespace mr::sched {

class LocalLists {
 public:
  // One place's list; valid until the next Build.
  struct List {
    uint32_t begin = 0, end = 0;  // positions
    uint32_t number = 0;
  };

  // (place, task below `limit`), in any order, repeats allowed. Nothing is pending.
  void Build(std::vector<std::pair<uint32_t, uint32_t>> pairs, uint32_t limit) {
    std::sort(pairs.begin(), pairs.end());
    pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
    *this = {};
    tasks_.reserve(pairs.size());
    for (const auto& [place, task] : pairs) {
      if (places_.empty() || places_.back() != place) {
        places_.push_back(place);
        begin_.push_back(static_cast<uint32_t>(tasks_.size()));
      }
      tasks_.push_back(task);
    }
    begin_.push_back(static_cast<uint32_t>(tasks_.size()));
    places_.shrink_to_fit();
    begin_.shrink_to_fit();
    counts_.assign(places_.size(), 0);
    spots_of_.assign(tasks_.empty() ? 0 : limit + 1, 0);
    for (const uint32_t task : tasks_) ++spots_of_[task + 1];
    for (size_t t = 1; t < spots_of_.size(); ++t) spots_of_[t] += spots_of_[t - 1];
    spots_.resize(tasks_.size());
    std::vector<uint32_t> next = spots_of_;
    for (uint32_t number = 0; number < places_.size(); ++number) {
      for (uint32_t i = begin_[number]; i < begin_[number + 1]; ++i) spots_[next[tasks_[i]]++] = {i, number};
    }
    pending_ = IndexSet(static_cast<uint32_t>(tasks_.size()));
  }

  // In ascending order; each has a list.
  const std::vector<uint32_t>& places() const { return places_; }
  // Empty where the place has none.
  List Find(uint32_t place) const {
    const auto it = std::lower_bound(places_.begin(), places_.end(), place);
    if (it == places_.end() || *it != place) return {};
    return At(static_cast<uint32_t>(it - places_.begin()));
  }
  List At(uint32_t number) const { return {begin_[number], begin_[number + 1], number}; }

  uint32_t task(uint32_t position) const { return tasks_[position]; }
  bool Pending(uint32_t position) const { return pending_.Contains(position); }
  uint32_t CountPending(const List& list) const { return list.begin == list.end ? 0 : counts_[list.number]; }
  // The first pending position at or after `from`; IndexSet::kNone where there is none in the list.
  uint32_t NextPending(const List& list, uint32_t from) const {
    if (CountPending(list) == 0) return IndexSet::kNone;
    const uint32_t position = pending_.Next(from);
    return position < list.end ? position : IndexSet::kNone;
  }

  // In all lists that have the task.
  void Set(uint32_t task, bool pending) {
    if (tasks_.empty()) return;
    for (uint32_t s = spots_of_[task]; s < spots_of_[task + 1]; ++s) SetAt(spots_[s].number, spots_[s].position, pending);
  }
  // Of the list with this number.
  void SetAt(uint32_t number, uint32_t position, bool pending) {
    if (pending_.Contains(position) == pending) return;
    if (pending) {
      pending_.Insert(position);
      ++counts_[number];
    } else {
      pending_.Erase(position);
      --counts_[number];
    }
  }

 private:
  struct Spot {
    uint32_t position = 0, number = 0;
  };
  std::vector<uint32_t> places_, begin_, tasks_, counts_;
  std::vector<uint32_t> spots_of_;  // of task t: spots_[spots_of_[t]] and on, to those of t + 1
  std::vector<Spot> spots_;
  IndexSet pending_;
};

}  // namespace mr::sched
