#include "master/sched/index/locality.h"

#include <algorithm>

namespace mr::sched {

void LocalityIndex::PoolInsert(Pool& pool, uint32_t index, const Task& task) const {
  (task.live > 0 ? pool.clones : task.next_number > 1 ? pool.retry : pool.fresh).Insert(index);
  if (bulk_) return;
  pool.by_worker.Set(index, true);
  pool.by_rack.Set(index, true);
}

void LocalityIndex::PoolErase(Pool& pool, uint32_t index) {
  pool.retry.Erase(index);
  pool.fresh.Erase(index);
  pool.clones.Erase(index);
  pool.by_worker.Set(index, false);
  pool.by_rack.Set(index, false);
}

void LocalityIndex::BuildByInput(Stage& stage) {
  stage.by_input.clear();
  stage.input_place.clear();
  const auto bytes = [&](uint32_t t) { return stage.tasks[t].plan.input_bytes; };
  const uint32_t n = static_cast<uint32_t>(stage.tasks.size());
  uint32_t same = 1;
  while (same < n && bytes(same) == bytes(0)) ++same;
  if (same >= n) return;
  stage.waiting_by_input = IndexSet(n);
  stage.input_place.resize(n);
  for (uint32_t t = 0; t < n; ++t) stage.by_input.push_back(t);
  std::stable_sort(stage.by_input.begin(), stage.by_input.end(),
                   [&](uint32_t a, uint32_t b) { return bytes(a) > bytes(b); });
  for (uint32_t i = 0; i < n; ++i) stage.input_place[stage.by_input[i]] = i;
}

void LocalityIndex::BuildLists(Stage& stage) const {
  const uint32_t n = static_cast<uint32_t>(stage.tasks.size());
  BuildByInput(stage);
  using Pairs = std::vector<std::pair<uint32_t, uint32_t>>;
  std::vector<Pairs> workers(stage.classes.size()), racks(stage.classes.size());
  for (uint32_t t = 0; t < n; ++t) {
    const Task& task = stage.tasks[t];
    for (const WorkerId w : task.plan.preferred) {
      workers[task.task_class].emplace_back(w.value, t);
      if (const Worker* worker = FindWorker(w)) racks[task.task_class].emplace_back(worker->rack_number, t);
    }
  }
  for (size_t i = 0; i < stage.classes.size(); ++i) {
    TaskClass& c = stage.classes[i];
    c.ready = Pool{IndexSet(n), IndexSet(n), IndexSet(n), {}, {}};
    c.ready.by_worker.Build(std::move(workers[i]), n);
    c.ready.by_rack.Build(std::move(racks[i]), n);
    c.blocked = IndexSet(n);
  }
}

void LocalityIndex::OrderByInput(Stage& stage, uint32_t task, bool waits) {
  if (stage.by_input.empty()) return;
  if (waits)
    stage.waiting_by_input.Insert(stage.input_place[task]);
  else
    stage.waiting_by_input.Erase(stage.input_place[task]);
}

void LocalityIndex::FillLists(Stage& stage) {
  for (TaskClass& c : stage.classes) {
    for (LocalLists* lists : {&c.ready.by_worker, &c.ready.by_rack}) {
      for (uint32_t l = 0; l < lists->places().size(); ++l) {
        const LocalLists::List list = lists->At(l);
        for (uint32_t i = list.begin; i < list.end; ++i) {
          const uint32_t t = lists->task(i);
          if (c.ready.Contains(t)) lists->SetAt(l, i, true);
        }
      }
    }
  }
}

}  // namespace mr::sched
