#include "master/core/loss.h"

namespace mr::master {

std::string LossText(const JournalLoss& loss, const std::string& directory) {
  std::string text =
      "records of the journal in " + directory + "/journal are lost: it ended with record " + std::to_string(loss.kept);
  if (loss.found_by.empty()) return text + ", and record " + std::to_string(loss.sequence) + " had been durable";
  return text + " when worker " + loss.found_by + " registered, which had been sent record " +
         std::to_string(loss.sequence) + " of epoch " + std::to_string(loss.epoch) +
         " as durable (this is an older copy of the data directory, most likely)";
}

std::string Loss::Words(const std::string& directory) const {
  if (!last_) return "";
  const std::string text = LossText(*last_, directory);
  if (!last_->open) return text + ". An operator has accepted that";
  return text + ". Nothing new is taken, and no block is deleted. Stop this master and restore a copy of " + directory +
         " that has record " + std::to_string(last_->sequence) + ", or accept the loss: `mrctl store safemode off`";
}

Status Loss::Check(const std::string& directory) const {
  if (!open()) return Status::Ok();
  return Rejected("the master is in safe mode and takes nothing new: " + Words(directory));
}

}  // namespace mr::master
