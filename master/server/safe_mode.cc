// Lost records of the journal, and the safe mode that an operator ends. The journal's own witness is checked when it is
// opened (master/journal). Here a worker shows that it was sent a record that this journal lacks. So an older copy of
// the whole data directory is noticed, even with its witness.
//
// Until an operator accepts the loss, nothing new is taken, no block is deleted or copied, and workers are sent no
// record as durable: a better copy of the directory that is restored meanwhile must not look older than this one.
// Epochs, and with them ids of jobs, and ids of blocks go on above all that the lost records can have assigned.
#include <glog/logging.h>

#include "common/io/clock.h"
#include "master/server/brain.h"

namespace mr::master {
namespace {

// Ids of blocks and leases begin at (epoch << kEpochShift) after a loss: more than any epoch gives.
constexpr uint32_t kEpochShift = 36;
// The highest credible epoch. No master reaches it.
constexpr uint32_t kMaxEpoch = 1u << 26;

std::string LossText(const JournalLoss& loss, const std::string& directory) {
  std::string text =
      "records of the journal in " + directory + "/journal are lost: it ended with record " + std::to_string(loss.kept);
  if (loss.found_by.empty()) return text + ", and record " + std::to_string(loss.sequence) + " had been durable";
  return text + " when worker " + loss.found_by + " registered, which had been sent record " +
         std::to_string(loss.sequence) + " of epoch " + std::to_string(loss.epoch) +
         " as durable (this is an older copy of the data directory, most likely)";
}

}  // namespace

Durable Brain::DurableNow() const { return InLossMode() ? Durable{} : epochs_.At(outbox_.durable()); }

std::string Brain::LossWords() const {
  if (!loss_) return "";
  const std::string text = LossText(*loss_, options_.directory);
  if (!loss_->open) return text + ". An operator has accepted that";
  return text + ". Nothing new is taken, and no block is deleted. Stop this master and restore a copy of " +
         options_.directory + " that has record " + std::to_string(loss_->sequence) +
         ", or accept the loss: `mrctl store safemode off`";
}

Status Brain::CheckLoss() const {
  if (!InLossMode()) return Status::Ok();
  return Rejected("the master is in safe mode and takes nothing new: " + LossWords());
}

void Brain::NoteSeen(const std::string& worker, const Durable& seen) {
  if (seen.epoch > kMaxEpoch || !epochs_.Lacks(seen, outbox_.durable())) return;
  JournalLoss loss{seen.epoch, seen.sequence, outbox_.durable(), std::max(epoch_.load(), seen.epoch) + 1, WallClockMs(),
                   worker,     true};
  if (InLossMode()) loss.kept = loss_->kept;
  const uint64_t doubt = epochs_.DoubtFrom(seen);
  journal_->RaiseEpoch(loss.raised);
  epoch_ = loss.raised;
  TakeLoss(loss, Append(journal::RecordClass::kHard, RecordKind::kLoss, EncodeFields(loss)));
  LOG(ERROR) << "journal: " << LossWords();
  // Ids that were assigned here since the chains parted may be those of lost records, too.
  ApplyDfs(dfs::IdsInDoubt{doubt, namespace_.NextBlock()});
  RaiseIds();
  ApplyDfs(dfs::SafeModeHeld{Stamp(), true});
}

void Brain::TakeLoss(const JournalLoss& loss, uint64_t sequence) {
  loss_ = loss;
  loss_at_ = sequence;
  epochs_.Began({loss.raised, loss.wall_ms, sequence, namespace_.NextBlock()});
  epochs_.Settle(loss.raised);
  loss_open_ = loss.open;
}

void Brain::RaiseIds() {
  const uint64_t above = uint64_t{epoch_} << kEpochShift;
  ApplyDfs(dfs::IdsRaised{above, above});
}

void Brain::AcceptLoss(std::function<void(Status)> reply) {
  // Accepted by an earlier call, whose record may not be on disk yet.
  if (!InLossMode()) return outbox_.Hold(loss_at_, [reply = std::move(reply)] { reply(Status::Ok()); });
  JournalLoss accepted = *loss_;
  accepted.open = false;
  const uint64_t sequence = Append(journal::RecordClass::kHard, RecordKind::kLoss, EncodeFields(accepted));
  TakeLoss(accepted, sequence);
  LOG(WARNING) << "journal: an operator accepted that " << LossText(accepted, options_.directory);
  ApplyDfs(dfs::SafeModeHeld{Stamp(), false});
  outbox_.Hold(sequence, [reply = std::move(reply)] { reply(Status::Ok()); });
}

JournalStatus Brain::JournalNow() const {
  JournalStatus out;
  out.lost = InLossMode();
  if (loss_) {
    out.lost_epoch = loss_->epoch;
    out.lost_sequence = loss_->sequence;
    out.kept = loss_->kept;
    out.found_by = loss_->found_by;
    out.found_unix_ms = loss_->wall_ms;
    out.text = LossWords();
  }
  out.awaits_workers = !InLossMode() && namespace_.in_safe_mode();
  out.passed_over = journal_->read().warnings;
  out.full = journal_full_;
  out.witness_failure = journal_->witness_failure();
  return out;
}

}  // namespace mr::master
