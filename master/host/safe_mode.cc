#include "master/host/safe_mode.h"

#include <glog/logging.h>

#include "common/io/clock.h"

namespace mr::master {
namespace {

// Ids of blocks and leases begin at (epoch << kEpochShift) after a loss: more than any epoch gives.
constexpr uint32_t kEpochShift = 36;
// The highest epoch that is believed. No master reaches it.
constexpr uint32_t kMaxEpoch = 1u << 26;

}  // namespace

SafeMode::SafeMode(Driver& driver, HostClock& clock, std::string directory)
    : driver_(driver), core_(driver.core()), clock_(clock), directory_(std::move(directory)) {}

void SafeMode::SettleAcceptedLoss() {
  const auto& lost = driver_.journal().accepted_loss();
  if (!lost) return;
  driver_.Feed(
      Record(JournalLoss{lost->known_epoch, lost->known, lost->kept, driver_.epoch(), WallClockMs(), "", true}));
  RaiseIds();
  driver_.WaitDurable(driver_.dfs_sequence());
  driver_.SettleLoss();
}

void SafeMode::GoOn() {
  if (!driver_.InLossMode()) return;
  LOG(ERROR) << "journal: safe mode: " << Words();
  driver_.FeedDfs(dfs::SafeModeHeld{clock_.Stamp(), true});
}

Status SafeMode::Check() const { return core_.loss().Check(directory_); }

Durable SafeMode::DurableNow() const { return driver_.InLossMode() ? Durable{} : core_.epochs().At(driver_.durable()); }

std::string SafeMode::Words() const { return core_.loss().Words(directory_); }

void SafeMode::NoteSeen(const std::string& worker, const Durable& seen) {
  if (seen.epoch > kMaxEpoch || !core_.epochs().Lacks(seen, driver_.durable())) return;
  JournalLoss loss{
      seen.epoch, seen.sequence, driver_.durable(), std::max(driver_.epoch(), seen.epoch) + 1, WallClockMs(),
      worker,     true};
  if (driver_.InLossMode()) loss.kept = core_.loss().last()->kept;
  const uint64_t doubt = core_.epochs().DoubtFrom(seen);
  driver_.RaiseEpoch(loss.raised);
  driver_.Feed(Record(loss));
  LOG(ERROR) << "journal: " << Words();
  // Lost records may have assigned the same ids that this journal has assigned since the two journals diverged.
  driver_.FeedDfs(dfs::IdsInDoubt{doubt, core_.files().NextBlock()});
  RaiseIds();
  driver_.FeedDfs(dfs::SafeModeHeld{clock_.Stamp(), true});
}

void SafeMode::RaiseIds() {
  const uint64_t above = uint64_t{driver_.epoch()} << kEpochShift;
  driver_.FeedDfs(dfs::IdsRaised{above, above});
}

void SafeMode::Accept(std::function<void(Changed)> reply) {
  // An earlier call has accepted it; the record of that may not be durable yet.
  if (!driver_.InLossMode())
    return driver_.Hold(core_.loss().at(), [reply = std::move(reply)] { reply(Status::Ok()); });
  JournalLoss accepted = *core_.loss().last();
  accepted.open = false;
  const uint64_t sequence = driver_.Feed(Record(accepted)).sequence;
  LOG(WARNING) << "journal: an operator accepted that " << LossText(accepted, directory_);
  driver_.FeedDfs(dfs::SafeModeHeld{clock_.Stamp(), false});
  driver_.Hold(sequence, [reply = std::move(reply), sequence] { reply({Status::Ok(), sequence}); });
}

JournalStatus SafeMode::JournalNow() const {
  JournalStatus out;
  out.lost = driver_.InLossMode();
  if (const auto& loss = core_.loss().last()) {
    out.lost_epoch = loss->epoch;
    out.lost_sequence = loss->sequence;
    out.kept = loss->kept;
    out.found_by = loss->found_by;
    out.found_unix_ms = loss->wall_ms;
    out.text = Words();
  }
  out.awaits_workers = !driver_.InLossMode() && core_.files().in_safe_mode();
  out.passed_over = driver_.journal().read().warnings;
  out.full = driver_.journal_full();
  out.witness_failure = driver_.journal().witness_failure();
  return out;
}

}  // namespace mr::master
