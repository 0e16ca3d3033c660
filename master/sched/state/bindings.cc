#include "master/sched/state/bindings.h"

namespace mr::sched {

const BoundRead* Bindings::Find(const AttemptId& reader, uint32_t up_stage, uint32_t up_task) const {
  const auto it = reads_.find({reader.task.stage, reader.task.task, reader.number, up_stage, up_task});
  return it == reads_.end() ? nullptr : &it->second;
}

uint32_t Bindings::Reading(uint32_t up_stage, uint32_t up_task, const ReplicaPlace& replica) const {
  const auto it = reading_.find(ReplicaOf(up_stage, up_task, replica));
  return it == reading_.end() ? 0 : static_cast<uint32_t>(it->second.size());
}

bool Bindings::Used(const TaskId& reader, uint32_t up_stage, uint32_t up_task, const ReplicaPlace& replica) const {
  // Goes from clone to clone, not from read to read: a reader of a thousand outputs has a thousand reads.
  auto it = reads_.lower_bound({reader.stage, reader.task, 0, 0, 0});
  while (it != reads_.end() && it->second.stage == reader.stage && it->second.task == reader.task) {
    const uint32_t number = it->second.number;
    const auto read = reads_.find({reader.stage, reader.task, number, up_stage, up_task});
    if (read != reads_.end() && read->second.replica == replica) return true;
    it = reads_.lower_bound({reader.stage, reader.task, number + 1, 0, 0});
  }
  return false;
}

std::vector<BoundRead> Bindings::Of(const AttemptId& reader) const {
  std::vector<BoundRead> out;
  const TaskId& t = reader.task;
  auto it = reads_.lower_bound({t.stage, t.task, reader.number, 0, 0});
  for (; it != reads_.end(); ++it) {
    const BoundRead& r = it->second;
    if (r.stage != t.stage || r.task != t.task || r.number != reader.number) break;
    out.push_back(r);
  }
  return out;
}

std::vector<BoundRead> Bindings::All() const {
  std::vector<BoundRead> out;
  out.reserve(reads_.size());
  for (const auto& [key, read] : reads_) out.push_back(read);
  return out;
}

std::vector<BoundRead> Bindings::Unfinished(uint32_t up_stage, uint32_t up_task, const ReplicaPlace& replica) const {
  std::vector<BoundRead> out;
  const auto it = reading_.find(ReplicaOf(up_stage, up_task, replica));
  if (it == reading_.end()) return out;
  for (const Key& key : it->second) {
    const BoundRead& r = reads_.at(key);
    if (r.replica == replica) out.push_back(r);  // not of an earlier generation
  }
  return out;
}

void Bindings::Put(const BoundRead& read) {
  const auto it = reads_.find(KeyOf(read));
  if (it != reads_.end()) Erase(it->second);
  reads_[KeyOf(read)] = read;
  if (!read.done) reading_[ReplicaOf(read.up_stage, read.up_task, read.replica)].insert(KeyOf(read));
}

void Bindings::Erase(const BoundRead& read) {
  const auto it = reads_.find(KeyOf(read));
  if (it == reads_.end()) return;
  const BoundRead& r = it->second;
  if (!r.done) {
    const auto readers = reading_.find(ReplicaOf(r.up_stage, r.up_task, r.replica));
    readers->second.erase(it->first);
    if (readers->second.empty()) reading_.erase(readers);
  }
  reads_.erase(it);
}

std::string Bindings::Check() const {
  std::map<ReplicaKey, std::set<Key>> reading;
  for (const auto& [key, r] : reads_) {
    if (!r.done) reading[ReplicaOf(r.up_stage, r.up_task, r.replica)].insert(key);
  }
  return reading == reading_ ? "" : "readers of replicas are counted wrong";
}

}  // namespace mr::sched
