// Cuts a split of a file into records, in batches with borders that depend on the file and the split alone.
//
// Lines (text, kv, csv, jsonl): Hadoop's rule. A split [o, o + len) owns the lines that start in (o, o + len], and the
// line at 0 if o is 0. So a reader only looks forward. The last line needs no newline; a carriage return is data. csv:
// the same for records (common/abi/csv_scan.h). fixed:N: the records that start in [o, o + len). record: the split at 0
// reads the whole container, the others are empty. byte_stream.h defines a split's range in a compressed file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/abi/batch.h"
#include "common/base/file_format.h"
#include "common/base/status.h"
#include "worker/task/byte_stream.h"
#include "worker/task/csv_quotes.h"
#include "worker/task/protocol.h"

namespace mr::task {

inline constexpr uint64_t kMaxLineBytes = kMaxRecordBytes;

class SplitReader {
 public:
  // fd is borrowed. raw_blocks: lines come as whole blocks of lines, one record each.
  SplitReader(const WireSplit& split, FileFormat format, bool raw_blocks, int fd, ReadMoreFn more);
  // Reads a whole file from `stream`. Of the split, only its name and its sample size count.
  SplitReader(const WireSplit& split, FileFormat format, bool raw_blocks, std::unique_ptr<ByteStream> stream);

  // Receives a csv record that breaks the rules of CSV, and its offset. A status that is not OK ends the reading.
  // Without such a function these records are errors. Not called for blocks: the code that takes them apart finds their
  // bad records.
  using BadCsvFn = std::function<Status(const CsvRecord& record, uint64_t offset)>;
  void SetBadCsv(BadCsvFn bad) { bad_csv_ = std::move(bad); }

  // Needed for csv files that are read in several splits. Must outlive the reader.
  void SetQuotes(const CsvQuotes* quotes) { quotes_ = quotes; }

  // Reads one batch of at least one record, valid until the next call. Returns false at the split's end. *offset: of
  // its first record; in a compressed file it counts uncompressed bytes.
  Result<bool> Next(std::string_view* batch, uint64_t* offset);
  // Returns "NAME, byte N", for messages. For a compressed file, it adds that uncompressed bytes are counted.
  std::string Where(uint64_t offset) const;
  // Returns the place of record number `record` of the last batch from Next, as Where does.
  std::string PlaceOf(const BatchView& batch, uint64_t record) const;
  // The place of a record as a number, without an allocation, for signal handlers.
  struct RecordOffset {
    uint64_t offset = 0;    // in the file; of a `record` file, that of the frame
    bool in_frame = false;  // the record's number counts from there
  };
  // Returns that place. at: a byte of the record, if it is a block of lines, to get that byte's place; else null.
  RecordOffset OffsetOf(const BatchView& batch, uint64_t record, const char* at = nullptr) const;
  const std::string& name() const { return split().name; }
  // Returns whether offsets count uncompressed bytes of a compressed file.
  bool compressed() const { return stream_ != nullptr && stream_->compressed(); }
  // Returns approximately how many bytes the split has; better with each call of Next.
  uint64_t expected() const { return stream_ != nullptr ? stream_->expected() : file_.split().length; }

 private:
  Status Start();
  Result<bool> NextLines(std::string_view* batch, uint64_t* offset);
  Result<bool> NextCsv(std::string_view* batch, uint64_t* offset);
  Result<bool> NextRaw(std::string_view* batch, uint64_t* offset);
  Result<bool> NextFixed(std::string_view* batch, uint64_t* offset);
  Result<bool> NextFrame(std::string_view* batch, uint64_t* offset);
  // Appends one more piece to the buffer. Returns false at the end of the file.
  Result<bool> Fill();
  // Reads until the buffer has `bytes` unread ones. Returns false if the file ends before.
  Result<bool> Need(uint64_t bytes);
  Status SkipFirstLine();
  Status SkipByteOrderMark();
  Status SkipFirstCsvRecord();
  // Scans what Fill has added since, up to the first end of a record at or after the limit.
  void ScanCsv();
  Status CsvRecordTooLong(uint64_t offset) const;
  Status AddLines(uint64_t offset, std::string_view block);
  Status AddCsv(uint64_t offset, std::string_view block);
  Status AddBlocks(uint64_t offset, std::string_view block);
  Status LineTooLong(uint64_t offset) const;
  const WireSplit& split() const { return file_.split(); }
  uint64_t limit() const { return stream_->limit(); }
  std::string_view unread() const { return buffer_.unread(); }
  // Returns the records of the builder as a batch.
  std::string_view Built();
  void Consume(size_t bytes);
  // Skips bytes that belong to another split.
  void Skip(size_t bytes);
  uint64_t at() const { return at_; }  // of the first unread byte

  const FileBytes file_;
  const FileFormat format_;
  const bool raw_blocks_;
  const uint64_t piece_;
  std::unique_ptr<ByteStream> stream_;  // null until the first Next, unless it was given
  bool started_ = false;
  ByteBuffer buffer_;
  uint64_t at_ = 0;
  uint64_t delivered_ = 0;
  bool ended_ = false;
  const CsvQuotes* quotes_ = nullptr;
  BadCsvFn bad_csv_;
  CsvScan scan_;              // at csv_scanned_
  uint64_t csv_scanned_ = 0;  // csv: offset up to which the ends of records are known
  uint64_t csv_end_ = 0;      // offset after the last of these
  uint64_t last_offset_ = 0;  // of the last batch's bytes; they stand before start_
  BatchBuilder builder_;
  std::string built_;
};

}  // namespace mr::task
