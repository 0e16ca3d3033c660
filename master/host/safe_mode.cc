// Lost records of the journal, and the safe mode that an operator ends. The journal's own witness is checked when it is
// opened (master/journal). Here a worker shows that it was sent a record that this journal lacks. So an older copy of
// the whole data directory is noticed, even with its witness.
//
// Until an operator accepts the loss, nothing new is taken, no block is deleted or copied, and workers are sent no
// record as durable: a better copy of the directory that is restored meanwhile must not look older than this one.
// Epochs, and with them ids of jobs, and ids of blocks go on above all that the lost records can have assigned.
#include <glog/logging.h>

#include "common/io/clock.h"
#include "master/host/brain.h"

namespace mr::master {
namespace {

// Ids of blocks and leases begin at (epoch << kEpochShift) after a loss: more than any epoch gives.
constexpr uint32_t kEpochShift = 36;
// The highest credible epoch. No master reaches it.
constexpr uint32_t kMaxEpoch = 1u << 26;

}  // namespace

Durable Brain::DurableNow() const { return driver_.InLossMode() ? Durable{} : core_.epochs().At(driver_.durable()); }

std::string Brain::LossWords() const { return core_.loss().Words(options_.directory); }

void Brain::NoteSeen(const std::string& worker, const Durable& seen) {
  if (seen.epoch > kMaxEpoch || !core_.epochs().Lacks(seen, driver_.durable())) return;
  JournalLoss loss{
      seen.epoch, seen.sequence, driver_.durable(), std::max(driver_.epoch(), seen.epoch) + 1, WallClockMs(),
      worker,     true};
  if (driver_.InLossMode()) loss.kept = core_.loss().last()->kept;
  const uint64_t doubt = core_.epochs().DoubtFrom(seen);
  driver_.RaiseEpoch(loss.raised);
  driver_.Feed(Record(loss));
  LOG(ERROR) << "journal: " << LossWords();
  // Ids that were assigned here since the chains parted may be those of lost records, too.
  driver_.FeedDfs(dfs::IdsInDoubt{doubt, core_.files().NextBlock()});
  RaiseIds();
  driver_.FeedDfs(dfs::SafeModeHeld{clock_.Stamp(), true});
}

void Brain::RaiseIds() {
  const uint64_t above = uint64_t{driver_.epoch()} << kEpochShift;
  driver_.FeedDfs(dfs::IdsRaised{above, above});
}

void Brain::AcceptLoss(std::function<void(Status)> reply) {
  // Accepted by an earlier call, whose record may not be on disk yet.
  if (!driver_.InLossMode())
    return driver_.Hold(core_.loss().at(), [reply = std::move(reply)] { reply(Status::Ok()); });
  JournalLoss accepted = *core_.loss().last();
  accepted.open = false;
  const uint64_t sequence = driver_.Feed(Record(accepted)).sequence;
  LOG(WARNING) << "journal: an operator accepted that " << LossText(accepted, options_.directory);
  driver_.FeedDfs(dfs::SafeModeHeld{clock_.Stamp(), false});
  driver_.Hold(sequence, [reply = std::move(reply)] { reply(Status::Ok()); });
}

JournalStatus Brain::JournalNow() const {
  JournalStatus out;
  out.lost = driver_.InLossMode();
  if (const auto& loss = core_.loss().last()) {
    out.lost_epoch = loss->epoch;
    out.lost_sequence = loss->sequence;
    out.kept = loss->kept;
    out.found_by = loss->found_by;
    out.found_unix_ms = loss->wall_ms;
    out.text = LossWords();
  }
  out.awaits_workers = !driver_.InLossMode() && core_.files().in_safe_mode();
  out.passed_over = driver_.journal().read().warnings;
  out.full = driver_.journal_full();
  out.witness_failure = driver_.journal().witness_failure();
  return out;
}

}  // namespace mr::master
