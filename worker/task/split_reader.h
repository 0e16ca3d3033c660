// Cuts a split of a file into records, in batches whose borders depend on the file and the split
// alone.
//
// Lines (text, kv, csv, jsonl): Hadoop's rule. A split [o, o + len) owns the lines that start in
// (o, o + len], and that at 0 if o is 0: so a reader only ever looks forward. The last line needs no
// newline; a carriage return is data. csv: the same of records (common/abi/csv_scan.h). fixed:N: the records that start
// in [o, o + len). record: a container is read whole by the split at 0, the others are empty. Of compressed files
// byte_stream.h says which range of what they decompress to is a split's.
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
  // A whole file that comes as `stream`; of the split, only what names and samples it counts.
  SplitReader(const WireSplit& split, FileFormat format, bool raw_blocks, std::unique_ptr<ByteStream> stream);

  // Takes a csv record that breaks the rules of CSV and its place; not OK ends the reading. Without it such records are
  // an error. Not called for blocks: who takes these apart finds the bad records in them.
  using BadCsvFn = std::function<Status(const CsvRecord& record, uint64_t offset)>;
  void SetBadCsv(BadCsvFn bad) { bad_csv_ = std::move(bad); }

  // Of csv files that are read in several splits; outlives the reader.
  void SetQuotes(const CsvQuotes* quotes) { quotes_ = quotes; }

  // One batch, at least one record; false at the split's end. *offset: of its first record, in a compressed file
  // counted in what it decompresses to.
  Result<bool> Next(std::string* batch, uint64_t* offset);
  // The place of record number `record` of the batch that Next made last: "NAME, byte N".
  std::string PlaceOf(const BatchView& batch, uint64_t record) const;
  // About how many bytes the split has; better with each call of Next.
  uint64_t expected() const { return stream_ != nullptr ? stream_->expected() : file_.split().length; }

 private:
  Status Start();
  Result<bool> NextLines(std::string* batch, uint64_t* offset);
  Result<bool> NextCsv(std::string* batch, uint64_t* offset);
  Result<bool> NextRaw(std::string* batch, uint64_t* offset);
  Result<bool> NextFixed(std::string* batch, uint64_t* offset);
  Result<bool> NextFrame(std::string* batch, uint64_t* offset);
  // One more piece behind the buffer; false at the end of the file.
  Result<bool> Fill();
  // Until `bytes` unread ones are in the buffer; false where the file ends before.
  Result<bool> Need(uint64_t bytes);
  Status SkipFirstLine();
  Status SkipByteOrderMark();
  Status SkipFirstCsvRecord();
  // Looks at what Fill has added since, up to the first end of a record at or behind the limit.
  void ScanCsv();
  Status CsvRecordTooLong(uint64_t offset) const;
  Status AddLines(uint64_t offset, std::string_view block);
  Status AddCsv(uint64_t offset, std::string_view block);
  Status AddBlocks(uint64_t offset, std::string_view block);
  Status LineTooLong(uint64_t offset) const;
  const WireSplit& split() const { return file_.split(); }
  uint64_t limit() const { return stream_->limit(); }
  uint64_t at() const { return buffer_offset_ + start_; }  // of the first unread byte
  std::string_view unread() const { return std::string_view(buffer_).substr(start_); }
  void Consume(size_t bytes);

  const FileBytes file_;
  const FileFormat format_;
  const bool raw_blocks_;
  const uint64_t piece_;
  std::unique_ptr<ByteStream> stream_;  // null until the first Next, but for one that was given
  bool started_ = false;
  std::string buffer_;  // bytes from buffer_offset_
  size_t start_ = 0;    // of what is not yet consumed, within buffer_
  uint64_t buffer_offset_ = 0;
  uint64_t delivered_ = 0;
  bool ended_ = false;
  const CsvQuotes* quotes_ = nullptr;
  BadCsvFn bad_csv_;
  CsvScan scan_;              // at csv_scanned_
  uint64_t csv_scanned_ = 0;  // csv: offset up to which the ends of records are known
  uint64_t csv_end_ = 0;      // behind the last of these
  uint64_t last_offset_ = 0;  // of the bytes that the last batch was made of; they stand before start_
  BatchBuilder builder_;
};

}  // namespace mr::task
