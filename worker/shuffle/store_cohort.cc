#include "worker/shuffle/store_cohort.h"

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>
#include <rocksdb/write_buffer_manager.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstring>

#include "common/io/clock.h"
#include "common/io/files.h"
#include "common/io/ledger.h"
#include "common/io/retention.h"
#include "worker/shuffle/format.h"
#include "worker/shuffle/recycled_files.h"
#include "worker/shuffle/store_env.h"

namespace mr::worker {
namespace {

// Most open files of a cohort. Guess: a few cohorts are open at a time, and a worker has 1024 descriptors by default.
constexpr int kMaxOpenFiles = 256;
// The most that a worker keeps free on its disk by default (--min_free): recycled files must not make it full.
constexpr uint64_t kMostKeptFree = 10ull << 30;
// Many small chunks share a block. A chunk of 1 MiB is a block of its own.
constexpr size_t kBlockBytes = 16 << 10;
// From this size on, a value stays in its block, which is larger by less than kBlockBytes: a quarter (guess).
constexpr size_t kPinnedFrom = 4 * kBlockBytes;

// Returns whether a limit of the process or the user is reached, and no file is damaged. RocksDB has no code of its own
// for these errors.
bool RanOut(const std::string& text) {
  for (const int error : {EMFILE, ENFILE, EDQUOT, ENOMEM}) {
    if (text.ends_with(std::strerror(error))) return true;
  }
  return false;
}

Status FromRocks(const rocksdb::Status& status, const std::string& what) {
  if (status.ok()) return Status::Ok();
  const std::string text = what + ": " + status.ToString();
  if (status.IsNotFound()) return NotFound(text);
  if (status.IsCorruption()) return Corrupted(text);
  if (status.IsNoSpace()) return {Code::kOverloaded, text + "; free space for the worker's --data"};
  if (status.IsIOError() && RanOut(text)) return {Code::kOverloaded, text};
  return Internal(text);
}

// Discards RocksDB's own log, because errors come as statuses. On a full disk the second line of its file ends the
// process, by an assertion in Debian's build.
class NoLog final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

// Sets the flag that readers check, and notifies the store, when a flush has failed.
class BadListener : public rocksdb::EventListener {
 public:
  BadListener(std::atomic<bool>* bad, std::function<void()> on_bad) : bad_(bad), on_bad_(std::move(on_bad)) {}
  void OnBackgroundError(rocksdb::BackgroundErrorReason, rocksdb::Status*) override {
    if (!bad_->exchange(true)) on_bad_();
  }
  // Disables recovery, because a bad cohort is given up. Closing one that waits for free space could take as long as
  // that wait.
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason, rocksdb::Status, bool* auto_recovery) override {
    *auto_recovery = false;
  }

 private:
  std::atomic<bool>* bad_;
  std::function<void()> on_bad_;
};

}  // namespace

struct RocksShared {
  std::shared_ptr<RecycledFiles> recycled;
  std::unique_ptr<rocksdb::Env> env;
  rocksdb::Options options;
};

std::shared_ptr<RocksShared> NewRocksShared(const ShuffleStore::Options& options) {
  auto shared = std::make_shared<RocksShared>();
  shared->recycled = std::make_shared<RecycledFiles>(options.directory + "/recycled", options.recycled_bytes,
                                                     8 * options.recycled_bytes + kMostKeptFree);
  shared->env = NewUnsyncedEnv(shared->recycled);
  rocksdb::Options& o = shared->options;
  o.env = shared->env.get();
  o.create_if_missing = true;
  o.error_if_exists = true;
  o.disable_auto_compactions = true;
  o.compression = rocksdb::kNoCompression;  // chunks are compressed already
  o.write_buffer_size = options.memtable_bytes;
  o.max_write_buffer_number = 3;
  o.write_buffer_manager = std::make_shared<rocksdb::WriteBufferManager>(options.all_memtables_bytes);
  o.max_open_files = kMaxOpenFiles;
  o.max_background_jobs = 2;
  // Nothing is ever compacted, so the number of files must not slow writes down.
  o.level0_slowdown_writes_trigger = 1 << 30;
  o.level0_stop_writes_trigger = 1 << 30;
  o.soft_pending_compaction_bytes_limit = 0;
  o.hard_pending_compaction_bytes_limit = 0;
  // Without a log, closing flushes the whole memtable by default, before it is discarded.
  o.avoid_flush_during_shutdown = true;
  o.info_log = std::make_shared<NoLog>();
  o.stats_dump_period_sec = 0;
  o.stats_persist_period_sec = 0;
  rocksdb::BlockBasedTableOptions table;
  table.checksum = rocksdb::kXXH3;  // measured: Debian's build has no fast CRC32C
  table.block_size = kBlockBytes;
  table.block_cache = rocksdb::NewLRUCache(options.block_cache_bytes);
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  o.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return shared;
}

void TrimRecycled(RocksShared& shared) { shared.recycled->Trim(); }

struct Cohort::Impl {
  std::string directory;
  std::shared_ptr<RocksShared> shared;
  std::atomic<bool> bad = false;
  std::unique_ptr<rocksdb::DB> db;
};

Cohort::Cohort(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<Cohort>> Cohort::Open(std::string directory, std::shared_ptr<RocksShared> shared,
                                             std::function<void()> on_bad) {
  auto impl = std::make_unique<Impl>();
  impl->directory = std::move(directory);
  impl->shared = std::move(shared);
  rocksdb::Options options = impl->shared->options;
  options.listeners.push_back(std::make_shared<BadListener>(&impl->bad, std::move(on_bad)));
  rocksdb::DB* db = nullptr;
  MR_RETURN_IF_ERROR(
      FromRocks(rocksdb::DB::Open(options, impl->directory, &db), "cannot open shuffle directory " + impl->directory));
  impl->db.reset(db);
  std::unique_ptr<Cohort> cohort(new Cohort(std::move(impl)));
  cohort->opened_at = Now();
  return cohort;
}

Cohort::~Cohort() {
  impl_->db->Close().PermitUncheckedError();  // its content is not needed any more
  impl_->db.reset();
  for (const StoredFile& file : StoredFiles(impl_->directory)) {
    if (file.name.ends_with(".sst")) impl_->shared->recycled->Give(impl_->directory + "/" + file.name);
  }
  // A directory that cannot be removed now is removed at the next start of the worker.
  (void)RemoveTree(impl_->directory);
}

Status Cohort::Write(const std::vector<StoreEntry>& entries) {
  rocksdb::WriteBatch batch;
  for (const auto& [key, value] : entries) {
    MR_RETURN_IF_ERROR(FromRocks(batch.Put(key, value), "cannot collect shuffle output"));
  }
  rocksdb::WriteOptions options;
  options.disableWAL = true;
  return FromRocks(impl_->db->Write(options, &batch), "cannot write shuffle output to " + impl_->directory);
}

Status Cohort::Ingest(const std::string& path) {
  rocksdb::IngestExternalFileOptions options;
  options.move_files = true;
  options.snapshot_consistency = false;
  options.write_global_seqno = false;
  return FromRocks(impl_->db->IngestExternalFile({path}, options), "cannot add shuffle output to " + impl_->directory);
}

namespace {

// A value in the place where the database keeps it. Its block belongs to the cache of the database, so the
// slice is destroyed before the database.
struct PinnedValue {
  std::shared_ptr<const Cohort> cohort;
  rocksdb::PinnableSlice slice;
};

}  // namespace

Result<StoredChunk> Cohort::Get(const std::string& key, std::shared_ptr<const Cohort> self) {
  rocksdb::ReadOptions options;
  options.verify_checksums = true;
  const auto pinned = std::make_shared<PinnedValue>();
  pinned->cohort = std::move(self);
  rocksdb::PinnableSlice& value = pinned->slice;
  const rocksdb::Status status = impl_->db->Get(options, impl_->db->DefaultColumnFamily(), key, &value);
  if (status.IsNotFound()) return NotFound("no such chunk");
  MR_RETURN_IF_ERROR(FromRocks(status, "cannot read shuffle output"));
  Ledger::Count(Ledger::table_read, value.size());
  Ledger::Count(Ledger::table_sum, value.size());
  // A small chunk would keep a block that is several times as large.
  const bool copy = value.IsPinned() && value.size() < kPinnedFrom;
  return DecodeChunk({value.data(), value.size()}, copy ? nullptr : pinned);
}

bool Cohort::bad() const { return impl_->bad.load(std::memory_order_acquire); }

struct SstFile::Impl {
  std::string path;
  std::shared_ptr<RocksShared> shared;
  std::unique_ptr<rocksdb::SstFileWriter> writer;
};

SstFile::SstFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<SstFile>> SstFile::Create(std::string path, std::shared_ptr<RocksShared> shared) {
  auto impl = std::make_unique<Impl>();
  impl->path = std::move(path);
  impl->shared = std::move(shared);
  // A mapped file cannot be cut off at its end, as one that overwrites another must be (store_env.cc).
  rocksdb::EnvOptions env;
  env.use_mmap_writes = false;
  // The default drops each written MiB from the page cache, but readers come soon.
  impl->writer = std::make_unique<rocksdb::SstFileWriter>(env, impl->shared->options, nullptr,
                                                          /*invalidate_page_cache=*/false);
  MR_RETURN_IF_ERROR(FromRocks(impl->writer->Open(impl->path), "cannot create shuffle file " + impl->path));
  return std::unique_ptr<SstFile>(new SstFile(std::move(impl)));
}

SstFile::~SstFile() {
  impl_->writer.reset();
  ::unlink(impl_->path.c_str());  // ingested files have another link
}

Status SstFile::Put(const std::string& key, const std::string& value) {
  return FromRocks(impl_->writer->Put(key, value), "cannot write shuffle file " + impl_->path);
}

Status SstFile::Finish() { return FromRocks(impl_->writer->Finish(), "cannot finish shuffle file " + impl_->path); }

const std::string& SstFile::path() const { return impl_->path; }

}  // namespace mr::worker
