#include "master/journal/journal.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "common/base/digest.h"
#include "common/io/clock.h"
#include "common/io/fault.h"

namespace mr::journal {
namespace {

// The longest group, unless one record is longer (guess: keeps the disk busy for some 10 ms).
constexpr uint64_t kGroupBytes = 8u << 20;
// The most bytes of records that wait for a full disk. Running work makes at most some 1 MB per second (measured: 3,000
// jobs in 73 s), and new work is refused meanwhile.
constexpr uint64_t kMaxQueuedBytes = 1ull << 30;
// The period at which a full disk is tried again.
constexpr Duration kRoomPeriod = Millis(200);

[[noreturn]] void Die(const std::string& path, const Status& status) {
  std::fprintf(stderr,
               "journal: %s: %s. The master stops, because it may not promise anything that is not on disk; "
               "make room or repair the disk, then start it again.\n",
               path.c_str(), status.ToString().c_str());
  std::fflush(stderr);
  std::abort();
}

bool IsFull(int error) { return error == ENOSPC || error == EDQUOT; }

bool AllZero(int fd, uint64_t from) {
  std::string bytes(1 << 20, '\0');
  while (true) {
    const auto n = PreadUpTo(fd, bytes.data(), bytes.size(), from);
    if (!n.ok()) return false;
    if (std::string_view(bytes).substr(0, *n).find_first_not_of('\0') != std::string_view::npos) return false;
    if (*n < bytes.size()) return true;
    from += *n;
  }
}

// Allocates the space of [from, to), where it has holes, as a copied file may. Returns whether all of it is allocated.
bool Allocated(int fd, uint64_t from, uint64_t to) {
  struct stat info {};
  if (fstat(fd, &info) == 0 && static_cast<uint64_t>(info.st_size) >= to &&
      static_cast<uint64_t>(info.st_blocks) * 512 >= static_cast<uint64_t>(info.st_size)) {
    return true;
  }
  return fallocate(fd, 0, static_cast<off_t>(from), static_cast<off_t>(to - from)) == 0;
}

std::string Number(uint64_t n) { return std::to_string(n); }

}  // namespace

Result<std::unique_ptr<Journal>> Journal::Open(const Options& options, const OnRecord& on_record) {
  std::unique_ptr<Journal> journal(new Journal());
  journal->options_ = options;
  MR_RETURN_IF_ERROR(MakeJournalDirectory(options.directory));
  auto lock = LockFile(options.directory + "/lock");
  if (!lock.ok()) return lock.status().With("another master uses " + options.directory);
  journal->lock_ = *std::move(lock);
  MR_ASSIGN_OR_RETURN(journal->directory_fd_, OpenFile(options.directory, O_RDONLY | O_DIRECTORY));

  // Nothing is written before everything is read and compared.
  Witnessed witness;
  bool witnessed = false;
  if (!options.witness.empty()) {
    const auto read = WitnessFile::Read(options.witness);
    witnessed = read.ok();
    if (read.ok()) witness = *read;
    // A damaged witness proves nothing; the journal and the workers still can show a loss.
    else if (read.status().code() != Code::kNotFound && read.status().code() != Code::kCorrupted)
      return read.status();
    else if (read.status().code() == Code::kCorrupted)
      journal->read_.warnings.push_back(read.status().message());
    if (witnessed && options.cluster_id != 0 && witness.cluster_id != options.cluster_id) {
      return Rejected(options.witness + " belongs to another cluster than its directory");
    }
  }
  MR_ASSIGN_OR_RETURN(const Listing files, ListFiles(options.directory));
  const bool fresh = files.segments.empty() && files.snapshots.empty();
  if (!fresh) {
    const auto warnings = journal->read_.warnings;
    MR_ASSIGN_OR_RETURN(journal->read_,
                        ReadWhatIsThere(options.directory, options.cluster_id, witness.sequence, on_record));
    journal->read_.warnings.insert(journal->read_.warnings.begin(), warnings.begin(), warnings.end());
  } else if (options.expected || witness.sequence > 0) {
    journal->read_.loss = Loss{"there is no journal in " + options.directory, 0, 0, 0};
  }
  if (!witnessed && options.expected && !fresh && journal->read_.end.sequence == 0 && !journal->read_.loss) {
    journal->read_.loss = Loss{"the journal in " + options.directory + " is empty", 0, 0, 0};
  }
  MR_RETURN_IF_ERROR(journal->CheckLoss(witness));

  MR_RETURN_IF_ERROR(RemoveHalfMade(options.directory));
  if (journal->accepted_) MR_RETURN_IF_ERROR(journal->KeepAside(*journal->accepted_));
  MR_RETURN_IF_ERROR(journal->OpenLast());
  const ChainEnd& end = journal->end_;
  journal->last_epoch_ = std::max(
      {end.epoch, witness.epoch, witness.reported_epoch, journal->accepted_ ? journal->accepted_->known_epoch : 0});
  journal->next_sequence_ = end.sequence + 1;
  journal->durable_ = journal->synced_ = end.sequence;
  journal->epoch_ = end.epoch;
  if (!options.witness.empty()) {
    // The last record's hash. Where the last file has no record yet, that is in its header.
    const bool empty = end.offset == kHeaderBytes;
    const uint64_t hash = empty ? journal->read_.last.header.after_hash : end.hash;
    Witnessed now{journal->options_.cluster_id, end.sequence, hash, end.epoch, 0, 0};
    if (journal->accepted_) {
      now.reported_epoch = journal->accepted_->known_epoch;
      now.reported_sequence = journal->accepted_->known;
      now.unsettled = true;
    }
    MR_ASSIGN_OR_RETURN(journal->witness_, WitnessFile::Create(options.witness, now));
  }
  return journal;
}

// Compares the records that were read with those that the witness, the workers and the files themselves know.
Status Journal::CheckLoss(const Witnessed& witness) {
  std::optional<Loss> loss = read_.loss;
  const ChainEnd& end = read_.end;
  const auto found = [&](uint64_t known, uint32_t epoch, const std::string& text) {
    if (!loss) loss = Loss{text, 0, 0, end.epoch};
    loss->known = std::max(loss->known, known);
    loss->known_epoch = std::max(loss->known_epoch, epoch);
  };
  const std::string ends = "the journal in " + options_.directory + " ends with record " + Number(end.sequence) +
                           " of epoch " + Number(end.epoch) + ", but ";
  if (end.sequence < witness.sequence) {
    found(witness.sequence, witness.epoch,
          ends + "record " + Number(witness.sequence) + " of epoch " + Number(witness.epoch) + " was durable, as " +
              options_.witness + " says (the end is lost, or this is an older copy)");
  } else if (read_.hash_at && *read_.hash_at != witness.hash) {
    found(witness.sequence, witness.epoch,
          "record " + Number(witness.sequence) + " of the journal in " + options_.directory + " is not the one that " +
              options_.witness + " knows (this is another copy that went its own way)");
  }
  if (witness.unsettled) {
    found(witness.reported_sequence, witness.reported_epoch,
          "the loss of records up to " + Number(witness.reported_sequence) + " of the journal in " +
              options_.directory + " was accepted, but the master ended before new ids were above the lost ones");
  } else if (witness.reported_epoch > end.epoch || witness.reported_sequence > end.sequence) {
    found(witness.reported_sequence, witness.reported_epoch,
          ends + "a worker knows record " + Number(witness.reported_sequence) + " of epoch " +
              Number(witness.reported_epoch) + " (this is an older copy)");
  }
  if (!loss) return Status::Ok();
  loss->kept = end.sequence;
  if (options_.accept_loss == loss->known) {
    accepted_ = loss;
    return Status::Ok();
  }
  std::string text = loss->text + ". Acknowledged records after " + Number(loss->kept) + " are lost" +
                     (loss->known > loss->kept ? ", up to " + Number(loss->known) + " at least" : "") +
                     ". Nothing was changed. ";
  if (options_.accept_loss) {
    text += "--accept_loss=" + Number(*options_.accept_loss) + " was given for another loss. ";
  }
  text += "Restore the files of " + options_.directory + " from a backup or another disk that has record " +
          Number(loss->known) + ", and start again; or start once with --accept_loss=" + Number(loss->known) +
          ": the master then goes on from record " + Number(loss->kept) + " without them, keeps the present files as " +
          options_.directory + "/lost.*, gives new ids above all lost ones, and deletes no block of theirs";
  return Corrupted(text);
}

// Keeps the lost parts beside the journal, under names that it does not read.
Status Journal::KeepAside(const Loss& loss) {
  const auto aside = [&](const std::string& path) {
    const std::string name =
        options_.directory + "/lost." + Number(loss.known) + "." + path.substr(path.rfind('/') + 1);
    std::string free = name;
    for (int n = 2; PathExists(free); ++n) free = name + "." + std::to_string(n);
    return free;
  };
  for (const std::string& path : read_.unread) {
    if (rename(path.c_str(), aside(path).c_str()) != 0) return ErrnoStatus(errno, "cannot move " + path + " aside");
  }
  MR_ASSIGN_OR_RETURN(const Listing files, ListFiles(options_.directory));
  for (const File& file : files.snapshots) {
    if (file.after <= read_.end.sequence) continue;
    if (rename(file.path.c_str(), aside(file.path).c_str()) != 0) {
      return ErrnoStatus(errno, "cannot move " + file.path + " aside");
    }
  }
  if (!read_.last_path.empty()) {
    MR_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(read_.last_path));
    MR_RETURN_IF_ERROR(WriteFileDurably(aside(read_.last_path), bytes));
  }
  return SyncDirectory(options_.directory);
}

// Opens the last file for further records and cuts off its torn tail. Makes the file where there is none.
Status Journal::OpenLast() {
  if (read_.last_path.empty()) {
    const ChainEnd& end = read_.end;
    const std::string path = SegmentPath(options_.directory, end.sequence);
    MR_RETURN_IF_ERROR(
        WriteFileDurably(path, EncodeHeader({options_.cluster_id, WallClockMs(), end.sequence, end.hash, end.epoch})));
    MR_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_RDONLY));
    MR_ASSIGN_OR_RETURN(read_.last, ReadJournal(fd.get(), path, [](const Record&, uint64_t) { return Status::Ok(); }));
    read_.last_path = path;
    read_.end = read_.last.end;
  }
  path_ = read_.last_path;
  end_ = read_.end;
  MR_ASSIGN_OR_RETURN(fd_, OpenFile(path_, O_RDWR));
  options_.cluster_id = read_.last.header.cluster_id;
  // The tail becomes zeros, so that no old byte can be taken for a record. The space stays allocated: on a full disk
  // this start writes there.
  MR_ASSIGN_OR_RETURN(uint64_t size, FileSize(path_));
  if (read_.loss && size > end_.offset) {
    if (ftruncate(fd_.get(), static_cast<off_t>(end_.offset)) != 0) return ErrnoStatus(errno, "cannot cut " + path_);
    size = end_.offset;
  } else if (read_.last.cut_bytes > 0) {
    const std::string zeros(std::min<uint64_t>(read_.last.cut_bytes, 1 << 20), '\0');
    for (uint64_t at = 0; at < read_.last.cut_bytes; at += zeros.size()) {
      const uint64_t n = std::min<uint64_t>(zeros.size(), read_.last.cut_bytes - at);
      if (end_.offset + at >= size) break;
      MR_RETURN_IF_ERROR(PwriteAll(fd_.get(), std::string_view(zeros).substr(0, std::min(n, size - end_.offset - at)),
                                   end_.offset + at)
                             .With("cannot cut " + path_));
    }
  }
  if (fsync(fd_.get()) != 0) return ErrnoStatus(errno, "cannot sync " + path_);
  allocated_ = end_.offset;
  if (size > end_.offset && Allocated(fd_.get(), end_.offset, size)) allocated_ = size;
  PrepareSpare();
  // A start writes its epoch and the first events (guess: a few hundred bytes, and some for each running job).
  if (!Ensure(std::min<uint64_t>(options_.preallocate_bytes, 8 << 10)) && !spare_.valid()) {
    return {Code::kOverloaded, "the disk of " + options_.directory + " is full and nothing is left of the journal's " +
                                   "reserve, so the master cannot begin. Nothing is lost. Make room there (" +
                                   Number((2 * options_.preallocate_bytes) >> 10) + " KiB are enough) and start again"};
  }
  return Status::Ok();
}

Journal::~Journal() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Journal::Start(uint32_t epoch, std::function<void(uint64_t)> on_durable, std::function<void(uint64_t)> on_segment,
                    std::function<void(bool)> on_room) {
  MR_CHECK(epoch >= last_epoch_ && !thread_.joinable());
  epoch_ = epoch;
  on_durable_ = std::move(on_durable);
  on_segment_ = std::move(on_segment);
  on_room_ = std::move(on_room);
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "journal");
    Main();
  });
}

void Journal::RaiseEpoch(uint32_t epoch) {
  std::lock_guard lock(mutex_);
  MR_CHECK(epoch >= epoch_);
  epoch_ = epoch;
}

uint64_t Journal::Append(RecordClass record_class, uint8_t kind, std::string payload, Duration may_wait) {
  MR_CHECK(kind != kSealKind);
  const Instant due = Now() + may_wait;
  std::lock_guard lock(mutex_);
  const uint64_t sequence = next_sequence_++;
  reserved_ = false;
  const bool wake = queue_.empty() || due < due_;
  if (wake) due_ = due;
  queued_bytes_ += payload.size();
  if (queued_bytes_ > kMaxQueuedBytes) {
    Die(options_.directory, {Code::kOverloaded, "the disk takes nothing, and " + std::to_string(queued_bytes_ >> 20) +
                                                    " MiB of records wait for it"});
  }
  queue_.push_back({sequence, epoch_, record_class, kind, std::move(payload)});
  if (wake) wake_.notify_one();
  return sequence;
}

void Journal::WaitDurable(uint64_t sequence) {
  std::unique_lock lock(mutex_);
  durable_cv_.wait(lock, [&] { return durable_ >= sequence; });
}

void Journal::ReportLoss(uint32_t epoch, uint64_t sequence) {
  if (witness_ != nullptr) witness_->Report(epoch, sequence);
}

uint64_t Journal::Reserve() {
  std::lock_guard lock(mutex_);
  reserved_ = true;
  return next_sequence_;
}

uint64_t Journal::durable() const {
  std::lock_guard lock(mutex_);
  return durable_;
}

uint64_t Journal::syncs() const {
  std::lock_guard lock(mutex_);
  return syncs_;
}

// Takes queued records, up to a group's length. Returns false where none is left and the journal stops.
bool Journal::TakeGroup(std::vector<Queued>* group) {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
  while (!stopping_) {
    const Duration left = due_ - Now();
    if (left.ns <= 0) break;
    wake_.wait_for(lock, std::chrono::nanoseconds(left.ns));
  }
  if (queue_.empty()) return false;  // only where stopping
  size_t n = 0;
  uint64_t bytes = 0;
  for (; n < queue_.size() && (n == 0 || bytes + queue_[n].payload.size() <= kGroupBytes); ++n) {
    bytes += queue_[n].payload.size();
  }
  if (n == queue_.size()) {
    group->swap(queue_);
    queue_.clear();
  } else {
    const auto end = queue_.begin() + static_cast<long>(n);
    group->assign(std::make_move_iterator(queue_.begin()), std::make_move_iterator(end));
    queue_.erase(queue_.begin(), end);
  }
  queued_bytes_ -= bytes;
  return true;
}

void Journal::Main() {
  while (true) {
    std::vector<Queued> group;
    if (!TakeGroup(&group)) break;
    for (std::span<const Queued> left = group; !left.empty();) {
      const size_t n = WriteSome(left);
      if (n == 0 && !WaitForRoom()) return;  // these records were never acknowledged
      if (n > 0) Settle();
      left = left.subspan(n);
    }
    if (end_.offset >= options_.segment_bytes) (void)BeginSegment();
    LookForRoom();
    bool idle;
    {
      std::lock_guard lock(mutex_);
      idle = queue_.empty();
    }
    if (idle) WriteSeal();
    // A full disk is tried again even if there is nothing to write.
    while (!room_) {
      {
        std::unique_lock lock(mutex_);
        if (stopping_ || !queue_.empty()) break;
        wake_.wait_for(lock, std::chrono::nanoseconds(kRoomPeriod.ns), [this] { return stopping_ || !queue_.empty(); });
      }
      LookForRoom();
    }
  }
  if (fdatasync(fd_.get()) != 0) Die(path_, ErrnoStatus(errno, "cannot sync"));
}

// Notes in the witness that all records up to synced_ are on disk, and notifies waiters and the owner.
void Journal::Settle() {
  if (witness_ != nullptr) witness_->Note(end_.epoch, synced_, end_.hash);
  {
    std::lock_guard lock(mutex_);
    durable_ = synced_;
    ++syncs_;
  }
  durable_cv_.notify_all();
  if (on_durable_) on_durable_(synced_);
}

// Notifies the owner that the disk is full, and waits until the write may be tried again. Returns false where the
// journal stops.
bool Journal::WaitForRoom() {
  SayRoom(false);
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, std::chrono::nanoseconds(kRoomPeriod.ns), [this] { return stopping_; });
  return !stopping_;
}

void Journal::SayRoom(bool room) {
  if (room == room_) return;
  room_ = room;
  if (on_room_) on_room_(room);
}

// Keeps half a step allocated ahead, and the spare. Notifies the owner when that fails, or works again.
void Journal::LookForRoom() {
  PrepareSpare();
  SayRoom(Ensure(options_.preallocate_bytes / 2) && spare_.valid());
}

// Allocates this many bytes after the end. Returns false if the disk is full.
bool Journal::Ensure(uint64_t bytes) {
  if (end_.offset + bytes <= allocated_) return true;
  const uint64_t step = options_.preallocate_bytes;
  const uint64_t want = (end_.offset + bytes + step - 1) / step * step;
  // A file system without fallocate grows by writing instead; the order of the syncs is the same.
  if (fallocate(fd_.get(), 0, static_cast<off_t>(allocated_), static_cast<off_t>(want - allocated_)) == 0) {
    allocated_ = want;
  } else if (IsFull(errno)) {
    return false;
  } else if (errno != EOPNOTSUPP && errno != EINTR) {
    Die(path_, ErrnoStatus(errno, "cannot preallocate"));
  }
  return true;
}

// Writes all bytes at an offset. Returns false where the disk is full; a part may be written then.
bool Journal::WriteAt(const std::string& bytes, uint64_t at) {
  std::string_view left = bytes;
  while (!left.empty()) {
    const ssize_t n = pwrite(fd_.get(), left.data(), left.size(), static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && IsFull(errno)) {
      torn_ = true;
      return false;
    }
    if (n < 0) Die(path_, ErrnoStatus(errno, "cannot write"));
    left.remove_prefix(static_cast<size_t>(n));
    at += static_cast<uint64_t>(n);
  }
  return true;
}

// Cuts off, durably, the bytes of a write that found no room: a whole record after the end of a closed file would
// count as damage. allocated_ was wrong, and shrinks to the end. Returns false where the disk is too full even for
// that.
bool Journal::CutTorn() {
  if (ftruncate(fd_.get(), static_cast<off_t>(end_.offset)) != 0) {
    if (IsFull(errno)) return false;
    Die(path_, ErrnoStatus(errno, "cannot cut"));
  }
  if (fsync(fd_.get()) != 0) Die(path_, ErrnoStatus(errno, "cannot sync"));
  allocated_ = end_.offset;
  torn_ = false;
  return true;
}

// Writes and syncs the longest prefix of the group that fits. Returns its number of records; 0 where the disk is full.
size_t Journal::WriteSome(std::span<const Queued> group) {
  size_t n = RoomFor(group);
  if (n < group.size()) SayRoom(false);
  // Where space cannot be allocated ahead, only a write shows whether there is room. A half may fit.
  while (n > 0 && !WriteGroup(group.first(n))) {
    SayRoom(false);
    n /= 2;
  }
  return n;
}

// Returns the number of records of the group, from its first on, that have space. Where the current file has none left,
// this begins the next one, which is allocated already. It leaves no file empty: a record that is longer than a whole
// file waits.
size_t Journal::RoomFor(std::span<const Queued> group) {
  const auto bytes = [](const Queued& q) { return RecordBytes(q.payload.size()); };
  const auto fitting = [&](uint64_t room) {
    size_t n = 0;
    for (; n < group.size() && bytes(group[n]) <= room; ++n) room -= bytes(group[n]);
    return n;
  };
  uint64_t all = 0;
  for (const Queued& q : group) all += bytes(q);
  if (Ensure(all)) return group.size();
  if (const size_t n = fitting(allocated_ - std::min(allocated_, end_.offset)); n > 0) return n;
  if (Ensure(bytes(group[0]))) return 1;
  const size_t n = fitting(spare_bytes_ - std::min(spare_bytes_, kHeaderBytes));
  return n > 0 && end_.offset > kHeaderBytes && BeginSegment() ? n : 0;
}

// Writes and syncs a group. Returns false where the disk is full; none of its records counts then.
bool Journal::WriteGroup(std::span<const Queued> group) {
  if (torn_ && !CutTorn()) return false;
  ChainEnd end = end_;
  buffer_.clear();
  for (const Queued& q : group) {
    EncodeRecord({q.sequence, q.epoch, q.record_class, q.kind, synced_, q.payload}, &end, &buffer_);
  }
  if (!WriteAt(buffer_, end_.offset)) return false;
  const Instant began = Now();
  if (fdatasync(fd_.get()) != 0) Die(path_, ErrnoStatus(errno, "cannot sync"));
  sync_times_.Add(Now() - began);
  end_ = end;
  written_bytes_ += buffer_.size();
  synced_ = group.back().sequence;
  return true;
}

// Allocates the next file and holds it open. Where that fails, there is none until the next call.
void Journal::PrepareSpare() {
  if (spare_.valid()) return;
  const std::string path = options_.directory + "/spare";
  auto fd = OpenFile(path, O_RDWR | O_CREAT);
  if (!fd.ok()) return;
  const auto size = FileSize(path);
  // A spare that an earlier process left has only zeros after its header.
  const bool good = size.ok() && *size == options_.preallocate_bytes && AllZero(fd->get(), kHeaderBytes);
  if (!good && ftruncate(fd->get(), 0) != 0) return;
  if (!Allocated(fd->get(), 0, options_.preallocate_bytes) && errno != EOPNOTSUPP) {
    // A partial spare would only take space from others.
    if (ftruncate(fd->get(), 0) != 0) errno = 0;
    return;
  }
  spare_ = *std::move(fd);
  spare_bytes_ = std::max(options_.preallocate_bytes, kHeaderBytes);
}

// Closes the current file, which is completely on disk, and begins the next one. The next file's header shows readers
// where the closed one ends. Returns false where there is no room for another file; the current one goes on.
bool Journal::BeginSegment() {
  PrepareSpare();
  if (!spare_.valid() || (torn_ && !CutTorn())) return false;
  const Header header{options_.cluster_id, WallClockMs(), end_.sequence, end_.hash, end_.epoch};
  const std::string page = EncodeHeader(header);
  const std::string next = SegmentPath(options_.directory, header.after), spare = options_.directory + "/spare";
  const ssize_t written = pwrite(spare_.get(), page.data(), page.size(), 0);
  if (written != static_cast<ssize_t>(page.size())) {
    if (written >= 0 || IsFull(errno)) return false;
    Die(next, ErrnoStatus(errno, "cannot write"));
  }
  if (fsync(spare_.get()) != 0) Die(next, ErrnoStatus(errno, "cannot sync"));
  if (rename(spare.c_str(), next.c_str()) != 0) {
    if (IsFull(errno)) return false;
    Die(next, ErrnoStatus(errno, "cannot name"));
  }
  if (fsync(directory_fd_.get()) != 0) Die(next, ErrnoStatus(errno, "cannot sync the directory of"));
  FaultPoint("segment");
  // This only frees space: zeros at the end do no harm.
  if (ftruncate(fd_.get(), static_cast<off_t>(end_.offset)) != 0) errno = 0;
  path_ = next;
  fd_ = std::move(spare_);
  end_ = {kHeaderBytes, header.after, Hash64(page), header.after_epoch};
  allocated_ = spare_bytes_;
  if (on_segment_) on_segment_(header.after);
  return true;
}

// Writes a seal, which records that the last group is durable. It distinguishes later damage to that group
// from a torn write. The seal is not synced: it promises nothing.
void Journal::WriteSeal() {
  if (end_.offset + kRecordHeaderBytes > allocated_ && !Ensure(kRecordHeaderBytes)) return;
  uint64_t sequence;
  uint32_t epoch;
  {
    std::lock_guard lock(mutex_);
    if (!queue_.empty() || reserved_) return;  // the next group's records have it
    sequence = next_sequence_++;
    epoch = epoch_;
  }
  buffer_.clear();
  ChainEnd end = end_;
  EncodeRecord({sequence, epoch, RecordClass::kSoft, kSealKind, synced_, ""}, &end, &buffer_);
  // An assigned sequence must be written, because the next record has the number after it.
  while (!WriteAt(buffer_, end_.offset)) {
    if (!WaitForRoom()) return;
  }
  end_ = end;
  written_bytes_ += buffer_.size();
}

}  // namespace mr::journal
