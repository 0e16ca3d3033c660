// Lost records of the journal, as far as they are known, and the safe mode until an operator accepts the loss. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "master/core/epochs.h"
#include "master/core/records.h"

namespace mr::master {

class Loss {
 public:
  void Take(const JournalLoss& loss, uint64_t sequence) {
    last_ = loss;
    at_ = sequence;
  }
  // Returns whether an operator has yet to accept it.
  bool open() const { return last_ && last_->open; }
  const std::optional<JournalLoss>& last() const { return last_; }
  uint64_t at() const { return at_; }  // the record of the last one; 0: there is none

  // For people: what was lost, and the choices; "" where nothing was. directory: the master's --data.
  std::string Words(const std::string& directory) const;
  // kRejected in safe mode: why nothing new is taken.
  Status Check(const std::string& directory) const;

 private:
  std::optional<JournalLoss> last_;
  uint64_t at_ = 0;
};

// "records of the journal in DIR/journal are lost: ..."
std::string LossText(const JournalLoss& loss, const std::string& directory);

}  // namespace mr::master
