// The witness: a small file beside the journal's directory with the last record that was durable. A journal that ends
// before that record has lost some. The journal's own files cannot always show this: a lost last page looks like a torn
// write, and an older copy looks whole.
//
// The file has two slots of one page each, written in turn, each with a checksum, so that a torn write destroys at most
// the older statement. Note() only writes; a thread of its own syncs the file within kWitnessDelay, so that a group of
// records still costs one sync. So after a power cut, losses of the last kWitnessDelay may go unnoticed.
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
  // The last durable record, with the chain's hash after it. sequence 0: there was none yet.
  uint64_t sequence = 0, hash = 0;
  uint32_t epoch = 0;
  // The last record that a worker knows and this journal does not have; 0 = none.
  uint32_t reported_epoch = 0;
  uint64_t reported_sequence = 0;
  bool unsettled = false;  // their loss was accepted, but its consequences are not durable yet
};

class WitnessFile {
 public:
  // Reads the newest statement. Errors: kNotFound: there is no file. kCorrupted: no slot is whole.
  static Result<Witnessed> Read(const std::string& path);
  // Makes the file, or takes over an existing one, and makes `first` durable in it.
  static Result<std::unique_ptr<WitnessFile>> Create(const std::string& path, const Witnessed& first);
  ~WitnessFile();  // syncs

  // Each writes a statement. Thread: any. Cost: one write of 64 bytes. Errors: kept for failure(); the journal itself
  // is not in doubt.
  void Note(uint32_t epoch, uint64_t sequence, uint64_t hash);
  void Report(uint32_t epoch, uint64_t sequence);
  // Returns why the newest statement could not be written or the last sync failed; "" where both succeeded.
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
  std::string write_failure_, sync_failure_;  // of the last write and the last sync
  std::thread thread_;
};

}  // namespace mr::journal
