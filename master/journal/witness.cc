#include "master/journal/witness.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "common/io/crc32c.h"

namespace mr::journal {
namespace {

constexpr char kWitnessMagic[8] = {'M', 'R', 'W', 'I', 'T', 'N', '\r', '\n'};
constexpr uint64_t kSlotBytes = 4096;      // a page; only its first sector is used
constexpr uint32_t kUnsettled = 1u << 31;  // in reported_epoch

struct Slot {
  char magic[8];
  uint32_t version;
  uint32_t epoch;
  uint64_t counter;
  uint64_t cluster_id;
  uint64_t sequence;
  uint64_t hash;
  uint64_t reported_sequence;
  uint32_t reported_epoch;
  uint32_t crc;
};
static_assert(sizeof(Slot) == 64);

std::string Encode(const Witnessed& w, uint64_t counter) {
  Slot slot{};
  std::memcpy(slot.magic, kWitnessMagic, sizeof kWitnessMagic);
  slot.version = 1;
  slot.epoch = w.epoch;
  slot.counter = counter;
  slot.cluster_id = w.cluster_id;
  slot.sequence = w.sequence;
  slot.hash = w.hash;
  slot.reported_sequence = w.reported_sequence;
  slot.reported_epoch = w.reported_epoch | (w.unsettled ? kUnsettled : 0);
  std::string bytes(reinterpret_cast<const char*>(&slot), sizeof slot);
  slot.crc = Crc32c(std::string_view(bytes).substr(0, sizeof slot - 4));
  std::memcpy(bytes.data() + sizeof slot - 4, &slot.crc, 4);
  return bytes;
}

// Sets *out to the newest statement in the file's bytes. Returns its number; 0 where no slot is whole.
uint64_t Newest(const std::string& bytes, Witnessed* out) {
  Witnessed& newest = *out;
  uint64_t counter = 0;
  for (const uint64_t at : {uint64_t{0}, kSlotBytes}) {
    if (bytes.size() < at + sizeof(Slot)) continue;
    Slot slot;
    std::memcpy(&slot, bytes.data() + at, sizeof slot);
    if (std::memcmp(slot.magic, kWitnessMagic, sizeof kWitnessMagic) != 0 || slot.version != 1) continue;
    if (slot.crc != Crc32c(std::string_view(bytes).substr(at, sizeof slot - 4)) || slot.counter <= counter) continue;
    counter = slot.counter;
    newest = {slot.cluster_id,
              slot.sequence,
              slot.hash,
              slot.epoch,
              slot.reported_epoch & ~kUnsettled,
              slot.reported_sequence,
              (slot.reported_epoch & kUnsettled) != 0};
  }
  return counter;
}

// Returns the offset of the slot for the statement of this number.
uint64_t SlotOf(uint64_t counter) { return counter % 2 == 1 ? 0 : kSlotBytes; }

}  // namespace

Result<Witnessed> WitnessFile::Read(const std::string& path) {
  MR_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  Witnessed newest;
  if (Newest(bytes, &newest) == 0)
    return Corrupted(path + " is damaged: it does not say up to where the journal was durable");
  return newest;
}

Result<std::unique_ptr<WitnessFile>> WitnessFile::Create(const std::string& path, const Witnessed& first) {
  const auto old = ReadFile(path);
  Witnessed ignored;
  uint64_t counter = 1;
  if (old.ok() && old->size() == 2 * kSlotBytes) counter += Newest(*old, &ignored);
  if (counter == 1) {
    std::string bytes = Encode(first, counter);
    bytes.resize(2 * kSlotBytes);
    MR_RETURN_IF_ERROR(WriteFileDurably(path, bytes));
  }
  MR_ASSIGN_OR_RETURN(UniqueFd fd, OpenFile(path, O_WRONLY));
  if (counter > 1) {
    // In place, beside the newest statement: a full disk has no room for another file.
    MR_RETURN_IF_ERROR(PwriteAll(fd.get(), Encode(first, counter), SlotOf(counter)).With("cannot write " + path));
    if (fdatasync(fd.get()) != 0) return ErrnoStatus(errno, "cannot sync " + path);
  }
  return std::unique_ptr<WitnessFile>(new WitnessFile(path, std::move(fd), first, counter));
}

WitnessFile::WitnessFile(std::string path, UniqueFd fd, const Witnessed& first, uint64_t counter)
    : path_(std::move(path)), fd_(std::move(fd)), now_(first), counter_(counter) {
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "witness");
    Main();
  });
}

WitnessFile::~WitnessFile() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void WitnessFile::Note(uint32_t epoch, uint64_t sequence, uint64_t hash) {
  std::lock_guard lock(mutex_);
  now_.epoch = epoch;
  now_.sequence = sequence;
  now_.hash = hash;
  Write();
}

void WitnessFile::Report(uint32_t epoch, uint64_t sequence) {
  std::lock_guard lock(mutex_);
  now_.reported_epoch = epoch;
  now_.reported_sequence = sequence;
  now_.unsettled = false;
  Write();
}

std::string WitnessFile::failure() const {
  std::lock_guard lock(mutex_);
  return write_failure_.empty() ? sync_failure_ : write_failure_;
}

void WitnessFile::Write() {
  ++counter_;
  const Status status = PwriteAll(fd_.get(), Encode(now_, counter_), SlotOf(counter_));
  write_failure_ = status.ok() ? "" : path_ + ": " + status.ToString();
  if (!dirty_) wake_.notify_one();
  dirty_ = true;
}

void WitnessFile::Main() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return dirty_ || stopping_; });
    if (!stopping_) {
      wake_.wait_for(lock, std::chrono::nanoseconds(kWitnessDelay.ns), [this] { return stopping_; });
    }
    if (dirty_) {
      dirty_ = false;
      lock.unlock();
      const int error = fdatasync(fd_.get()) == 0 ? 0 : errno;
      lock.lock();
      sync_failure_ = error == 0 ? "" : ErrnoStatus(error, "cannot sync " + path_).ToString();
    }
    if (stopping_ && !dirty_) return;
  }
}

}  // namespace mr::journal
