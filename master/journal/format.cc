#include "master/journal/format.h"

#include <algorithm>
#include <cstring>

#include "common/base/digest.h"
#include "common/io/crc32c.h"
#include "common/io/files.h"

#include <sys/stat.h>

#include <cerrno>

namespace mr::journal {
namespace {

constexpr char kMagic[8] = {'M', 'R', 'J', 'R', 'N', 'L', '\r', '\n'};
constexpr uint16_t kRecordMagic = 0x4a52;

struct Raw {
  uint32_t length;
  uint32_t crc;
  uint64_t sequence;
  uint64_t previous;
  uint64_t durable;
  uint32_t epoch;
  uint8_t record_class;
  uint8_t kind;
  uint16_t magic;
};
static_assert(sizeof(Raw) == kRecordHeaderBytes);

uint64_t Padded(uint64_t n) { return (n + 7) & ~uint64_t{7}; }

uint32_t CrcOf(std::string_view record) { return Crc32c(record.substr(8), Crc32c(record.substr(0, 4))); }

// A sliding view of the file: At() returns the bytes of [offset, offset + size), fewer at its end.
class FileWindow {
 public:
  FileWindow(int fd, uint64_t size) : fd_(fd), size_(size) {}

  Result<std::string_view> At(uint64_t offset, uint64_t size) {
    size = offset >= size_ ? 0 : std::min(size, size_ - offset);
    if (offset < begin_ || offset + size > begin_ + bytes_.size()) {
      bytes_.resize(std::min(std::max(size, kStep), size_ - std::min(offset, size_)));
      MR_ASSIGN_OR_RETURN(const size_t n, PreadUpTo(fd_, bytes_.data(), bytes_.size(), offset));
      bytes_.resize(n);
      begin_ = offset;
      size = std::min<uint64_t>(size, n);
    }
    return std::string_view(bytes_).substr(offset - begin_, size);
  }
  uint64_t size() const { return size_; }

 private:
  static constexpr uint64_t kStep = 4u << 20;
  int fd_;
  uint64_t size_, begin_ = 0;
  std::string bytes_;
};

// Loads the record at `offset`, whatever stands before it. Returns whether its bytes are whole.
Result<bool> LoadRecord(FileWindow& file, uint64_t offset, Raw* raw, std::string_view* bytes) {
  MR_ASSIGN_OR_RETURN(std::string_view head, file.At(offset, kRecordHeaderBytes));
  if (head.size() < kRecordHeaderBytes) return false;
  std::memcpy(raw, head.data(), sizeof *raw);
  if (raw->magic != kRecordMagic || raw->length > kMaxPayload) return false;
  const uint64_t whole = kRecordHeaderBytes + raw->length;
  MR_ASSIGN_OR_RETURN(*bytes, file.At(offset, whole));
  return bytes->size() == whole && CrcOf(*bytes) == raw->crc;
}

// A summary of the bytes after the end of the chain.
struct Beyond {
  uint64_t records = 0;
  uint64_t last_sequence = 0;
  uint64_t durable = 0;  // the highest `durable` of these records
  uint32_t last_epoch = 0;
  uint64_t last_nonzero = 0;
};

Result<Beyond> ScanBeyond(FileWindow& file, uint64_t from, uint64_t last_sequence) {
  Beyond beyond;
  for (uint64_t at = from; at < file.size();) {
    MR_ASSIGN_OR_RETURN(std::string_view word, file.At(at, 8));
    if (std::all_of(word.begin(), word.end(), [](char c) { return c == 0; })) {
      at += 8;
      continue;
    }
    beyond.last_nonzero = at + 8;
    Raw raw;
    std::string_view bytes;
    MR_ASSIGN_OR_RETURN(const bool whole, LoadRecord(file, at, &raw, &bytes));
    if (!whole || raw.sequence <= last_sequence) {
      at += 8;
      continue;
    }
    ++beyond.records;
    beyond.last_sequence = std::max(beyond.last_sequence, raw.sequence);
    beyond.durable = std::max(beyond.durable, raw.durable);
    beyond.last_epoch = std::max(beyond.last_epoch, raw.epoch);
    at += Padded(bytes.size());
    beyond.last_nonzero = at;
  }
  return beyond;
}

}  // namespace

std::string EncodeHeader(const Header& header) {
  std::string page(kHeaderBytes, '\0');
  std::memcpy(page.data(), kMagic, 8);
  std::memcpy(page.data() + 8, &kFormatVersion, 4);
  std::memcpy(page.data() + 16, &header.cluster_id, 8);
  std::memcpy(page.data() + 24, &header.created_ms, 8);
  std::memcpy(page.data() + 32, &header.after, 8);
  std::memcpy(page.data() + 40, &header.after_hash, 8);
  std::memcpy(page.data() + 48, &header.after_epoch, 4);
  const uint32_t crc = Crc32c(std::string_view(page).substr(0, kHeaderBytes - 4));
  std::memcpy(page.data() + kHeaderBytes - 4, &crc, 4);
  return page;
}

Result<Header> DecodeHeader(std::string_view page, uint64_t* chain_seed) {
  if (page.size() < kHeaderBytes || std::memcmp(page.data(), kMagic, 8) != 0) {
    return Corrupted("it does not begin with a journal header");
  }
  page = page.substr(0, kHeaderBytes);
  uint32_t crc;
  std::memcpy(&crc, page.data() + kHeaderBytes - 4, 4);
  if (crc != Crc32c(page.substr(0, kHeaderBytes - 4))) return Corrupted("its header is damaged");
  uint32_t version;
  std::memcpy(&version, page.data() + 8, 4);
  if (version != kFormatVersion) {
    return Rejected("it has format " + std::to_string(version) + ", this release reads " +
                    std::to_string(kFormatVersion) + "; start the release that wrote it");
  }
  Header header;
  std::memcpy(&header.cluster_id, page.data() + 16, 8);
  std::memcpy(&header.created_ms, page.data() + 24, 8);
  std::memcpy(&header.after, page.data() + 32, 8);
  std::memcpy(&header.after_hash, page.data() + 40, 8);
  std::memcpy(&header.after_epoch, page.data() + 48, 4);
  *chain_seed = Hash64(page);
  return header;
}

uint64_t RecordBytes(uint64_t payload) { return Padded(kRecordHeaderBytes + payload); }

void EncodeRecord(const Record& record, ChainEnd* end, std::string* out) {
  MR_CHECK(record.payload.size() <= kMaxPayload, "a journal record is too large");
  Raw raw{};
  raw.length = static_cast<uint32_t>(record.payload.size());
  raw.sequence = record.sequence;
  raw.previous = end->hash;
  raw.durable = record.durable;
  raw.epoch = record.epoch;
  raw.record_class = static_cast<uint8_t>(record.record_class);
  raw.kind = record.kind;
  raw.magic = kRecordMagic;
  const size_t at = out->size();
  out->append(reinterpret_cast<const char*>(&raw), sizeof raw);
  out->append(record.payload);
  const size_t whole = out->size() - at;
  raw.crc = CrcOf(std::string_view(*out).substr(at));
  std::memcpy(out->data() + at + 4, &raw.crc, 4);
  end->hash = Hash64(std::string_view(*out).substr(at, whole));
  end->sequence = record.sequence;
  end->epoch = record.epoch;
  end->offset += Padded(whole);
  out->append(Padded(whole) - whole, '\0');
}

Result<Known> KnownOf(int fd) {
  struct stat info;
  if (fstat(fd, &info) != 0) return ErrnoStatus(errno, "cannot stat a file of the journal");
  FileWindow file(fd, static_cast<uint64_t>(info.st_size));
  MR_ASSIGN_OR_RETURN(const Beyond all, ScanBeyond(file, std::min<uint64_t>(kHeaderBytes, file.size()), 0));
  return Known{all.durable, all.last_epoch};
}

Result<Recovery> ReadJournal(int fd, const std::string& path,
                             const std::function<Status(const Record&, uint64_t)>& on_record, std::string* damage) {
  struct stat info;
  if (fstat(fd, &info) != 0) return ErrnoStatus(errno, "cannot stat " + path);
  FileWindow file(fd, static_cast<uint64_t>(info.st_size));
  Recovery recovery;
  MR_ASSIGN_OR_RETURN(std::string_view page, file.At(0, kHeaderBytes));
  auto header = DecodeHeader(page, &recovery.end.hash);
  if (!header.ok()) return header.status().With("cannot use the journal " + path + ", at offset 0");
  recovery.header = *header;
  ChainEnd& end = recovery.end;
  end.sequence = header->after;
  end.epoch = header->after_epoch;
  while (true) {
    Raw raw;
    std::string_view bytes;
    MR_ASSIGN_OR_RETURN(const bool whole, LoadRecord(file, end.offset, &raw, &bytes));
    if (!whole || raw.sequence != end.sequence + 1 || raw.previous != end.hash || raw.epoch < end.epoch) {
      break;
    }
    recovery.sealed = raw.kind == kSealKind && raw.durable + 1 == raw.sequence;
    const uint64_t hash = Hash64(bytes);
    const uint64_t next = end.offset + Padded(bytes.size());
    if (raw.kind != kSealKind) {
      const Record record{raw.sequence, raw.epoch,   static_cast<RecordClass>(raw.record_class),
                          raw.kind,     raw.durable, bytes.substr(kRecordHeaderBytes),
                          hash};
      ++recovery.records;
      MR_RETURN_IF_ERROR(on_record(record, end.offset));
    }
    end = {next, raw.sequence, hash, raw.epoch};
  }
  MR_ASSIGN_OR_RETURN(const Beyond beyond, ScanBeyond(file, end.offset, end.sequence));
  if (beyond.durable > end.sequence) {
    const std::string text = "the journal " + path + " is damaged at offset " + std::to_string(end.offset) +
                             " (record " + std::to_string(end.sequence + 1) + "): records up to " +
                             std::to_string(beyond.durable) + " were durable and " + std::to_string(beyond.records) +
                             " intact ones follow, so this is not the end of an interrupted write";
    if (damage == nullptr) {
      return Corrupted(text + ". Nothing was changed. Restore the file from a backup or another disk");
    }
    *damage = text;
  }
  recovery.cut_records = beyond.records;
  recovery.cut_bytes = beyond.last_nonzero > end.offset ? beyond.last_nonzero - end.offset : 0;
  return recovery;
}

}  // namespace mr::journal
