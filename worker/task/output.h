// The output ports of an operator. Each takes the batches that the operator emits, and passes chunks to a sink.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/file_format.h"
#include "common/base/hot_keys.h"
#include "common/base/status.h"
#include "worker/task/chunk_writer.h"
#include "worker/task/operator_calls.h"
#include "worker/task/protocol.h"

namespace mr::task {

// Bytes of a piece of a plain file. All of a file's pieces but the last have so many: one piece of a write pipeline.
inline constexpr uint64_t kFilePieceBytes = 1u << 20;

// Receives chunks on their way to the daemon.
struct ChunkSink {
  // partition: over all ports.
  using Take = std::function<Status(uint32_t port, uint32_t partition, uint32_t records, std::string_view bytes)>;

  template <class F>
  ChunkSink(F take, ChunkOut::Room room = nullptr)  // NOLINT: like a function
      : take(std::move(take)), room(std::move(room)) {}
  Status operator()(uint32_t port, uint32_t partition, uint32_t records, std::string_view bytes) const {
    return take(port, partition, records, bytes);
  }

  Take take;
  ChunkOut::Room room;  // may be null; one room at a time for all ports
};

class Port {
 public:
  virtual ~Port() = default;
  virtual Status Emit(std::string_view batch) = 0;
  virtual Status Finish() = 0;
  // Returns the hot keys of what went to the shuffle, if there are any. Call it after Finish.
  virtual std::vector<HotKey> Hottest() const { return {}; }
};

// Makes one port of the task. Its partitions begin at first_partition; sort_budget is its share in bytes. Errors:
// kInvalidArgument if the format is unknown, or if the operator lacks what the plan asks for.
Result<std::unique_ptr<Port>> MakePort(const WireTask& task, uint32_t port, uint32_t first_partition,
                                       uint64_t sort_budget, Operator* oper, ChunkSink sink);

// Appends a record in this format of files: text, csv, raw or fixed:N. Returns false if the format cannot hold it.
inline bool AppendAsFile(const FileFormat& format, std::string_view key, std::string_view value, std::string* out) {
  if (format.kind == FileFormat::Kind::kFixed && key.size() + value.size() != format.record_bytes) return false;
  out->append(key);
  const bool text = format.kind == FileFormat::Kind::kText || format.kind == FileFormat::Kind::kCsv;
  if (text && !key.empty()) out->push_back('\t');
  out->append(value);
  if (text) out->push_back('\n');
  return true;
}
// Returns the error for a record that a fixed format cannot hold. who: the emitter of the record.
Status WrongLength(const FileFormat& format, uint64_t bytes, const std::string& who);

// Frame of the `record` file format: header, then one batch padded to a multiple of 4 bytes.
struct RecordFrame {
  uint32_t magic;
  uint32_t size;  // of the batch
  uint32_t crc;   // CRC-32C of the batch
  uint32_t records;
};
inline constexpr uint32_t kRecordFrameMagic = 0x31465250;  // "PRF1"

}  // namespace mr::task
