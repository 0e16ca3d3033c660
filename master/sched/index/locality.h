// Indexes tasks that can be launched, by the place of their input and by its size.
#pragma once

#include "master/sched/index/queues.h"

namespace mr::sched {

class LocalityIndex : public QueueIndex {
 protected:
  void PoolInsert(Pool& pool, uint32_t index, const Task& task) const;
  static void PoolErase(Pool& pool, uint32_t index);
  // Adds the task to the order by input size, or removes it, as its pool has it.
  static void OrderByInput(Stage& stage, uint32_t task, bool waits);
  // Builds the lists of a stage, with no task in them.
  void BuildLists(Stage& stage) const;
  // Marks in the local lists the tasks that pools have got while bulk_ was set.
  static void FillLists(Stage& stage);

  bool bulk_ = false;  // local lists are left to FillLists: finding a million tasks in them one by one takes seconds

 private:
  static void BuildByInput(Stage& stage);
};

}  // namespace mr::sched
