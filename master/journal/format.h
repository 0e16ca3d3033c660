// The format of one file of the journal: a header page, then records. For this folder and its tests.
//
// Header, 4096 bytes: magic, version, cluster id, creation time, the chain's end in the file before
// (zeros in the first one), crc32c. Record, 8-aligned: length, crc32c, sequence, hash of the record
// before (a chain from the header on), highest sequence that was durable when this was written,
// epoch, class, kind; then the payload. The `durable` field distinguishes a torn tail (never
// acknowledged; it is cut off) from damage to an acknowledged record (the master then refuses to
// start).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace mr::journal {

inline constexpr uint32_t kFormatVersion = 1;
inline constexpr uint64_t kHeaderBytes = 4096;
inline constexpr uint64_t kRecordHeaderBytes = 40;
// The longest payload that a reader accepts. Owners bound their records well below it.
inline constexpr uint32_t kMaxPayload = 128u << 20;

// Hard: survives upgrades, and is durable before the messages that it promises leave. Soft: covered by
// the next sync, and replayed only by the build that wrote it.
enum class RecordClass : uint8_t { kHard = 1, kSoft = 2 };

// Kind 0 is the journal's own: a seal, which records that all before it was durable.
inline constexpr uint8_t kSealKind = 0;

struct Record {
  uint64_t sequence = 0;
  uint32_t epoch = 0;
  RecordClass record_class = RecordClass::kHard;
  uint8_t kind = 0;
  uint64_t durable = 0;
  std::string_view payload;
  uint64_t hash = 0;  // of the chain after it; set by ReadJournal
};

// The state of the chain after a record.
struct ChainEnd {
  uint64_t offset = kHeaderBytes;
  uint64_t sequence = 0;
  uint64_t hash = 0;
  uint32_t epoch = 0;
};

struct Header {
  uint64_t cluster_id = 0, created_ms = 0;
  // Sequence, hash and epoch of the record before the file's first one.
  uint64_t after = 0, after_hash = 0;
  uint32_t after_epoch = 0;
};
std::string EncodeHeader(const Header& header);
// Decodes a header. Errors: kCorrupted for anything that is not an intact header, kRejected for another version.
Result<Header> DecodeHeader(std::string_view page, uint64_t* chain_seed);

// Returns the bytes in the file of a record with a payload of this length.
uint64_t RecordBytes(uint64_t payload);
// Appends the record to *out and moves *end past it.
void EncodeRecord(const Record& record, ChainEnd* end, std::string* out);

struct Recovery {
  Header header;
  ChainEnd end;
  bool sealed = false;       // the last record is a seal of all before it
  uint64_t records = 0;      // given to the callback
  uint64_t cut_bytes = 0;    // length of the torn tail, from end.offset to its last byte that is not zero
  uint64_t cut_records = 0;  // whole records in it: none of them was ever acknowledged
};

// The highest durable record and the highest epoch that intact records of a file show, even records that its chain does
// not reach.
struct Known {
  uint64_t sequence = 0;
  uint32_t epoch = 0;
};
// Scans a file for records. Errors: those of reading it. Cost: reads all of it.
Result<Known> KnownOf(int fd);

// Reads the file from its header to its end and gives each record but seals to `on_record`; an error of
// on_record ends the reading. Changes nothing. Errors: kCorrupted, with the offset, where a durable record is damaged.
// Where `damage` is not null, it gets that text instead, and the read of the records before succeeds; it stays empty
// where there is no damage.
Result<Recovery> ReadJournal(int fd, const std::string& path,
                             const std::function<Status(const Record&, uint64_t offset)>& on_record,
                             std::string* damage = nullptr);

}  // namespace mr::journal
