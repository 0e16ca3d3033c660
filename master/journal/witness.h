// The witness: a small second file beside the journal's directory that says up to where the journal was durable. A
// journal that ends before that has lost records, which its own files cannot always show: a lost last page looks like a
// torn write, and an older copy looks whole.
//
// Two slots of one page each, written in turn, each with a checksum, so that a torn write spoils at most the older
// statement. Note() only writes; a thread of its own syncs the file within kWitnessDelay, so that a group of records
// still costs one sync. What a power cut may cost is therefore the notice of losses of the last kWitnessDelay.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "common/base/status.h"
#include "common/base/time.h"
#include "common/io/files.h"

namespace mr::journal {

inline constexpr Duration kWitnessDelay = Millis(100);

struct Witnessed {
  uint64_t cluster_id = 0;
  // The last record that was durable, with the chain's hash behind it. sequence 0: there was none yet.
  uint64_t sequence = 0, hash = 0;
  uint32_t epoch = 0;
  // The last record that a worker was told of and this journal does not have; 0 = none.
  uint32_t reported_epoch = 0;
  uint64_t reported_sequence = 0;
  bool unsettled = false;  // the loss of these was accepted, and what follows from that is not durable yet
};

class WitnessFile {
 public:
  // kNotFound: there is none. kCorrupted: no slot is whole.
  static Result<Witnessed> Read(const std::string& path);
  // Makes the file, or takes over the one there, with `first` durable in it.
  static Result<std::unique_ptr<WitnessFile>> Create(const std::string& path, const Witnessed& first);
  ~WitnessFile();  // syncs

  // Thread: any. Cost: one write of 64 bytes. Errors: kept for failure(); the journal itself is not in doubt.
  void Note(uint32_t epoch, uint64_t sequence, uint64_t hash);
  void Report(uint32_t epoch, uint64_t sequence);
  // Why the newest statement could not be written, or the last sync failed. "" where both succeeded.
  std::string failure() const;

 private:
  WitnessFile(std::string path, UniqueFd fd, const Witnessed& first, uint64_t counter);
  void Write();  // with mutex_ held
  void Main();

  const std::string path_;
  const UniqueFd fd_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  Witnessed now_;
  uint64_t counter_;  // of statements; the slot's number is its parity
  bool dirty_ = false, stopping_ = false;
  std::string write_failure_, sync_failure_;  // of the last one of each
  std::thread thread_;
};

}  // namespace mr::journal
