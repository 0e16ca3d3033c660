// Presents the output of an upstream task as a file: the bytes that its records have in a file format.
#pragma once

#include <functional>
#include <string>

#include "common/base/file_format.h"
#include "common/base/status.h"
#include "worker/task/byte_stream.h"

namespace mr::task {

// Returns true with the next batch of the segment, or false at its end. The batch is valid until the next call.
using NextBatchFn = std::function<Result<bool>(std::string_view* batch)>;

class EdgeFile : public ByteStream {
 public:
  // written: text, csv, raw or fixed:N. Of csv the first record, the header, is left out. name: of the file, for
  // messages.
  EdgeFile(FileFormat written, std::string name, NextBatchFn next)
      : written_(written),
        name_(std::move(name)),
        next_(std::move(next)),
        header_(written.kind == FileFormat::Kind::kCsv) {}

  uint64_t begin() const override { return 0; }
  uint64_t limit() const override { return kUnknown; }
  uint64_t expected() const override { return bytes_; }
  // Appends whole batches, whatever `want` is. Errors: kCorrupted for a damaged batch, kInvalidArgument for a record
  // that the format cannot hold.
  Result<bool> Next(uint64_t want, ByteBuffer* out) override;

 private:
  const FileFormat written_;
  const std::string name_;
  const NextBatchFn next_;
  std::string file_;    // the bytes of the current batch
  bool header_;         // it has yet to be left out
  uint64_t bytes_ = 0;  // so far
};

}  // namespace mr::task
