// Cuts a split of a file into records, in batches whose borders depend on the file and the split
// alone.
//
// Lines (text, kv, csv, jsonl): Hadoop's rule. A split [o, o + len) owns the lines that start in
// (o, o + len], and that at 0 if o is 0: so a reader only ever looks forward. The last line needs no
// newline; a carriage return is data. fixed:N: the records that start in [o, o + len). record: a
// container is read whole by the split at 0, the others are empty.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "common/abi/batch.h"
#include "common/base/status.h"
#include "worker/task/formats.h"
#include "worker/task/protocol.h"

namespace mr::task {

inline constexpr uint64_t kMaxLineBytes = kMaxRecordBytes;

// Bytes [offset, offset + length) of the input, fewer only at its end.
using ReadMoreFn = std::function<Result<std::string>(uint64_t offset, uint32_t length)>;

class SplitReader {
 public:
  // fd is borrowed. raw_blocks: lines come as whole blocks of lines, one record each.
  SplitReader(const WireSplit& split, Format format, bool raw_blocks, int fd, ReadMoreFn more);

  // One batch, at least one record; false at the split's end. *offset: of its first record.
  Result<bool> Next(std::string* batch, uint64_t* offset);

 private:
  Result<bool> NextLines(std::string* batch, uint64_t* offset);
  Result<bool> NextFixed(std::string* batch, uint64_t* offset);
  Result<bool> NextFrame(std::string* batch, uint64_t* offset);
  // One more piece behind the buffer; false at the end of the file.
  Result<bool> Fill();
  // Appends [at, at + size) of the file to the buffer, fewer only at its end.
  Status Read(uint64_t at, uint64_t size);
  Status SkipFirstLine();
  Status AddLines(uint64_t offset, std::string_view block);
  Status LineTooLong(uint64_t offset) const;
  Status CheckNotCompressed() const;
  std::string Where(uint64_t offset) const;
  uint64_t limit() const { return split_.offset + split_.length; }
  uint64_t buffer_end() const { return buffer_offset_ + buffer_.size(); }
  void Consume(size_t bytes);

  WireSplit split_;
  Format format_;
  bool raw_blocks_;
  int fd_;
  ReadMoreFn more_;
  uint64_t piece_;
  std::string buffer_;          // file bytes from buffer_offset_
  size_t start_ = 0;            // of what is not yet consumed, within buffer_
  uint64_t buffer_offset_ = 0;
  uint64_t delivered_ = 0;
  bool started_ = false, ended_ = false;
  BatchBuilder builder_;
};

}  // namespace mr::task
