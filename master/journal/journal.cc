#include "master/journal/journal.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "common/base/digest.h"
#include "common/io/clock.h"
#include "common/io/fault.h"

namespace mr::journal {
namespace {

[[noreturn]] void Die(const std::string& path, const Status& status) {
  std::fprintf(stderr,
               "journal: %s: %s. The master stops before it says anything that is not on disk; "
               "make room or repair the disk, then start it again.\n",
               path.c_str(), status.ToString().c_str());
  std::fflush(stderr);
  std::abort();
}

}  // namespace

Result<std::unique_ptr<Journal>> Journal::Open(const Options& options, const OnRecord& on_record) {
  std::unique_ptr<Journal> journal(new Journal());
  journal->options_ = options;
  MR_RETURN_IF_ERROR(MakeDirectories(options.directory));
  auto lock = LockFile(options.directory + "/lock");
  if (!lock.ok()) return lock.status().With("another master uses " + options.directory);
  journal->lock_ = *std::move(lock);
  MR_RETURN_IF_ERROR(RemoveHalfMade(options.directory));
  MR_ASSIGN_OR_RETURN(const Listing files, ListFiles(options.directory));
  if (files.segments.empty() && files.snapshots.empty()) {
    MR_RETURN_IF_ERROR(WriteFileDurably(SegmentPath(options.directory, 0),
                                        EncodeHeader({options.cluster_id, WallClockMs(), 0, 0, 0})));
  }
  MR_ASSIGN_OR_RETURN(journal->read_, ReadDirectory(options.directory, options.cluster_id, UINT64_MAX, on_record));
  const std::string& path = journal->path_ = journal->read_.last_path;
  MR_ASSIGN_OR_RETURN(journal->fd_, OpenFile(path, O_RDWR));
  const Recovery& recovery = journal->read_.last;
  // Cutting and growing again leaves zeros, so that no old byte can be taken for a record.
  if (ftruncate(journal->fd_.get(), static_cast<off_t>(recovery.end.offset)) != 0) {
    return ErrnoStatus(errno, "cannot truncate " + path);
  }
  if (fsync(journal->fd_.get()) != 0) return ErrnoStatus(errno, "cannot sync " + path);
  journal->options_.cluster_id = recovery.header.cluster_id;
  journal->end_ = recovery.end;
  journal->allocated_ = recovery.end.offset;
  journal->next_sequence_ = recovery.end.sequence + 1;
  journal->durable_ = journal->synced_ = recovery.end.sequence;
  journal->epoch_ = recovery.end.epoch;
  return journal;
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

void Journal::Start(uint32_t epoch, std::function<void(uint64_t)> on_durable,
                    std::function<void(uint64_t)> on_segment) {
  MR_CHECK(epoch >= recovery().end.epoch && !thread_.joinable());
  epoch_ = epoch;
  on_durable_ = std::move(on_durable);
  on_segment_ = std::move(on_segment);
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "journal");
    Main();
  });
}

uint64_t Journal::Append(RecordClass record_class, uint8_t kind, std::string payload, Duration may_wait) {
  MR_CHECK(kind != kSealKind);
  const Instant due = Now() + may_wait;
  std::lock_guard lock(mutex_);
  const uint64_t sequence = next_sequence_++;
  const bool wake = queue_.empty() || due < due_;
  if (wake) due_ = due;
  queue_.push_back({sequence, record_class, kind, std::move(payload)});
  if (wake) wake_.notify_one();
  return sequence;
}

void Journal::WaitDurable(uint64_t sequence) {
  std::unique_lock lock(mutex_);
  durable_cv_.wait(lock, [&] { return durable_ >= sequence; });
}

uint64_t Journal::durable() const {
  std::lock_guard lock(mutex_);
  return durable_;
}

uint64_t Journal::syncs() const {
  std::lock_guard lock(mutex_);
  return syncs_;
}

void Journal::Main() {
  while (true) {
    std::vector<Queued> group;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      while (!stopping_) {
        const Duration left = due_ - Now();
        if (left.ns <= 0) break;
        wake_.wait_for(lock, std::chrono::nanoseconds(left.ns));
      }
      if (queue_.empty()) break;  // only where stopping
      group.swap(queue_);
    }
    WriteGroup(group);
    {
      std::lock_guard lock(mutex_);
      durable_ = group.back().sequence;
      ++syncs_;
    }
    durable_cv_.notify_all();
    if (on_durable_) on_durable_(group.back().sequence);
    if (end_.offset >= options_.segment_bytes) BeginSegment();
    bool idle;
    {
      std::lock_guard lock(mutex_);
      idle = queue_.empty();
    }
    if (idle) WriteSeal();
  }
  if (fdatasync(fd_.get()) != 0) Die(path_, ErrnoStatus(errno, "cannot sync"));
}

void Journal::Ensure(uint64_t bytes) {
  if (end_.offset + bytes <= allocated_) return;
  const uint64_t step = options_.preallocate_bytes;
  const uint64_t want = (end_.offset + bytes + step - 1) / step * step;
  // A file system without fallocate grows by writing instead; the order of the syncs is the same.
  if (fallocate(fd_.get(), 0, static_cast<off_t>(allocated_), static_cast<off_t>(want - allocated_)) == 0) {
    allocated_ = want;
  } else if (errno != EOPNOTSUPP && errno != EINTR) {
    Die(path_, ErrnoStatus(errno, "cannot preallocate"));
  }
}

void Journal::WriteGroup(const std::vector<Queued>& group) {
  buffer_.clear();
  const uint64_t at = end_.offset;
  for (const Queued& q : group) {
    EncodeRecord({q.sequence, epoch_, q.record_class, q.kind, synced_, q.payload}, &end_, &buffer_);
  }
  const ChainEnd end = end_;
  end_.offset = at;
  Ensure(buffer_.size());
  end_ = end;
  if (Status status = PwriteAll(fd_.get(), buffer_, at); !status.ok()) Die(path_, status);
  if (fdatasync(fd_.get()) != 0) Die(path_, ErrnoStatus(errno, "cannot sync"));
  synced_ = group.back().sequence;
}

// All of the present file is on disk; whoever reads it learns from the next one where it ends.
void Journal::BeginSegment() {
  const Header header{options_.cluster_id, WallClockMs(), end_.sequence, end_.hash, end_.epoch};
  const std::string page = EncodeHeader(header);
  const std::string next = SegmentPath(options_.directory, header.after);
  if (Status status = WriteFileDurably(next, page); !status.ok()) Die(next, status);
  FaultPoint("segment");
  auto fd = OpenFile(next, O_RDWR);
  if (!fd.ok()) Die(next, fd.status());
  // Only room: zeros at its end are no harm.
  if (ftruncate(fd_.get(), static_cast<off_t>(end_.offset)) != 0) errno = 0;
  path_ = next;
  fd_ = *std::move(fd);
  end_ = {kHeaderBytes, header.after, Hash64(page), header.after_epoch};
  allocated_ = kHeaderBytes;
  if (on_segment_) on_segment_(header.after);
}

// Says behind the last group that it is durable, so that later damage to it is told from a torn
// write. Not synced itself: it promises nothing.
void Journal::WriteSeal() {
  uint64_t sequence;
  {
    std::lock_guard lock(mutex_);
    if (!queue_.empty()) return;  // the next group's records say it
    sequence = next_sequence_++;
  }
  buffer_.clear();
  const uint64_t at = end_.offset;
  EncodeRecord({sequence, epoch_, RecordClass::kSoft, kSealKind, synced_, ""}, &end_, &buffer_);
  const ChainEnd end = end_;
  end_.offset = at;
  Ensure(buffer_.size());
  end_ = end;
  if (Status status = PwriteAll(fd_.get(), buffer_, at); !status.ok()) Die(path_, status);
}

}  // namespace mr::journal
