// Indexes racks: their numbers, their slots, and each rack's part of a stage. Slots and parts are maintained while a
// policy of a list places work by racks (Sharing::by_rack).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "master/sched/state/store.h"

namespace mr::sched {

class RackIndex : public EntityStore {
 public:
  const Sharing& sharing() const { return sharing_; }
  // Slots by rack number (Worker::rack_number); all 0 unless Sharing::by_rack.
  const std::vector<RackSlots>& racks() const { return racks_; }
  const std::string& RackName(uint32_t number) const { return *rack_names_[number]; }
  std::string CheckRacks() const;  // part of CheckState

 protected:
  // Returns the rack's number, by order of first use. For indexes only, since it differs after a restore.
  uint32_t RackNumber(const std::string& rack);
  // Takes the task out of its stage's racks (-1), or adds it by its current values (+1).
  void CountRacks(Stage& stage, const Task& task, int direction) const;
  void CountRack(Worker& worker);
  void RecountRacks();
  size_t rack_count() const { return rack_names_.size(); }

  Sharing sharing_;

 private:
  std::map<std::string, uint32_t> rack_numbers_;
  std::vector<const std::string*> rack_names_;  // keys of rack_numbers_
  std::vector<RackSlots> racks_;
};

}  // namespace mr::sched
