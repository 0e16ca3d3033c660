#include "worker/task/output.h"

#include <string.h>

#include <algorithm>
#include <charconv>

#include "common/base/file_format.h"
#include "common/io/crc32c.h"
#include "common/io/ledger.h"
#include "worker/task/compress.h"
#include "worker/task/key_sampler.h"
#include "worker/task/partition_buffer.h"
#include "worker/task/sort_buffer.h"

namespace mr::task {
namespace {

Status BadBatch(const Operator& oper, const char* wrong) {
  return InvalidArgument("operator " + oper.name() + " emitted a bad batch: " + wrong);
}

Status NoHeader(Operator* oper) {
  oper->final = true;  // another attempt would emit none, either
  oper->failure = InvalidArgument("operator " + oper->name() +
                                  " emitted no header, with which each part of an output of format csv begins; "
                                  "emit it before the first row, or in End() if there is no row");
  return oper->failure;
}

// A partitioned port, with a buffer that sorts or one that does not. Passes its chunks on at the end.
template <class Buffer>
class CollectedPort : public Port {
 public:
  CollectedPort(typename Buffer::Options options, uint32_t first, Operator* oper, ChunkSink sink)
      : port_(options.how.port),
        first_(first),
        sampler_(port_, options.how.partitions),
        buffer_(std::move(options), oper),
        sink_(std::move(sink)) {}
  Status Emit(std::string_view batch) override { return buffer_.Add(batch); }
  Status Finish() override {
    return buffer_.Finish({[this](uint32_t partition, uint32_t records, std::string_view bytes) {
                             sampler_.Add(first_ + partition, records, bytes);
                             return sink_(port_, first_ + partition, records, bytes);
                           },
                           sink_.room});
  }
  std::vector<HotKey> Hottest() const override { return sampler_.Top(); }

 private:
  uint32_t port_, first_;
  KeySampler sampler_;
  Buffer buffer_;
  ChunkSink sink_;
};

// A port with one partition, in the order of emission. Streams its chunks.
class StreamedPort : public Port {
 public:
  StreamedPort(uint32_t port, uint32_t first, Operator* oper, ChunkSink sink)
      : oper_(oper),
        writer_({}, oper, [port, first, sink = std::move(sink)](uint32_t, uint32_t records, std::string_view bytes) {
          return sink(port, first, records, bytes);
        }) {}
  Status Emit(std::string_view batch) override {
    BatchView view;
    if (const char* wrong = BatchView::Parse(batch.data(), batch.size(), &view)) return BadBatch(*oper_, wrong);
    for (uint32_t i = 0; i < view.size(); ++i) MR_RETURN_IF_ERROR(writer_.Add(view.key(i), view.value(i)));
    return {};
  }
  Status Finish() override { return writer_.End(); }

 private:
  Operator* oper_;
  ChunkWriter writer_;
};

// A port that writes a plain file of formatted records, in the order of emission, in pieces of equal size: so the
// daemon can pass each on as it is. The first record of a csv file is its header, which is not counted.
class PlainFilesPort : public Port {
 public:
  // alone: the task has no other port, so this one may keep a room between two calls.
  PlainFilesPort(uint32_t port, uint32_t first, FileFormat format, bool alone, Operator* oper, ChunkSink sink)
      : port_(port),
        first_(first),
        format_(format),
        text_(format.kind == FileFormat::Kind::kText || format.kind == FileFormat::Kind::kCsv),
        alone_(alone),
        oper_(oper),
        sink_(std::move(sink)),
        header_(format.kind == FileFormat::Kind::kCsv) {}

  Status Emit(std::string_view batch) override {
    BatchView view;
    if (const char* wrong = BatchView::Parse(batch.data(), batch.size(), &view)) return BadBatch(*oper_, wrong);
    const bool fixed = format_.kind == FileFormat::Kind::kFixed;
    for (uint32_t i = 0; i < view.size(); ++i) {
      const std::string_view key = view.key(i), value = view.value(i);
      const uint64_t bytes = key.size() + value.size();
      if (fixed && bytes != format_.record_bytes) {
        return WrongLength(format_, bytes, "operator " + oper_->name());
      }
      if (!header_) ++records_;
      header_ = false;
      if (to_ != nullptr && size_ + bytes + 2 < kFilePieceBytes) {
        char* to = to_ + size_;
        CopyShort(to, key.data(), key.size());
        to += key.size();
        if (text_ && !key.empty()) *to++ = '\t';
        CopyShort(to, value.data(), value.size());
        to += value.size();
        if (text_) *to++ = '\n';
        size_ = static_cast<uint64_t>(to - to_);
        continue;
      }
      MR_RETURN_IF_ERROR(Put(key));
      if (text_ && !key.empty()) MR_RETURN_IF_ERROR(Put("\t"));
      MR_RETURN_IF_ERROR(Put(value));
      if (text_) MR_RETURN_IF_ERROR(Put("\n"));
    }
    return {};
  }
  Status Finish() override {
    if (header_) return NoHeader(oper_);
    return size_ == 0 ? Status() : Send();
  }

 private:
  Status Put(std::string_view bytes) {
    while (!bytes.empty()) {
      if (to_ == nullptr) {
        to_ = alone_ && sink_.room ? sink_.room(kFilePieceBytes) : nullptr;
        if (to_ == nullptr) {
          own_.resize(kFilePieceBytes);
          to_ = own_.data();
        }
      }
      const uint64_t n = std::min<uint64_t>(bytes.size(), kFilePieceBytes - size_);
      memcpy(to_ + size_, bytes.data(), n);
      size_ += n;
      bytes.remove_prefix(n);
      if (size_ == kFilePieceBytes) MR_RETURN_IF_ERROR(Send());
    }
    return {};
  }
  Status Send() {
    Ledger::Count(Ledger::format, size_);
    Status s = sink_(port_, first_, records_, {to_, size_});
    to_ = nullptr;
    size_ = 0;
    records_ = 0;
    return s;
  }

  const uint32_t port_, first_;
  const FileFormat format_;
  const bool text_, alone_;
  Operator* oper_;
  ChunkSink sink_;
  bool header_;            // it has yet to come
  char* to_ = nullptr;     // the current piece
  uint64_t size_ = 0;      // of it, so far
  std::vector<char> own_;  // its memory, where the sink has no room
  uint32_t records_ = 0;
};

// A port that writes a compressed file, or a container of batches. A compressed csv file has its header in a frame of
// its own, so that a reader of several parts can leave it out.
class FilesPort : public Port {
 public:
  FilesPort(uint32_t port, uint32_t first, FileFormat format, Operator* oper, ChunkSink sink)
      : port_(port),
        first_(first),
        format_(format),
        oper_(oper),
        sink_(std::move(sink)),
        compressor_(MakeCompressor(format.compression)),
        header_(format.kind == FileFormat::Kind::kCsv) {}

  Status Emit(std::string_view batch) override {
    BatchView view;
    if (const char* wrong = BatchView::Parse(batch.data(), batch.size(), &view)) return BadBatch(*oper_, wrong);
    if (format_.kind == FileFormat::Kind::kRecord) return Frame(batch, view.size());
    for (uint32_t i = 0; i < view.size(); ++i) {
      const std::string_view key = view.key(i), value = view.value(i);
      if (!AppendAsFile(format_, key, value, &buffer_)) {
        return WrongLength(format_, key.size() + value.size(), "operator " + oper_->name());
      }
      if (header_) {
        header_ = false;
        MR_RETURN_IF_ERROR(EndHeader());
        continue;
      }
      ++records_;
      if (buffer_.size() >= kBatchTargetBytes) MR_RETURN_IF_ERROR(Flush());
    }
    return {};
  }
  Status Finish() override {
    if (header_) return NoHeader(oper_);
    if (compressor_ == nullptr) return Flush();
    MR_RETURN_IF_ERROR(compressor_->Add(buffer_, &compressed_));
    MR_RETURN_IF_ERROR(compressor_->Finish(&compressed_));
    return Send(&compressed_);
  }

 private:
  Status EndHeader() {
    if (compressor_ == nullptr) return {};
    MR_RETURN_IF_ERROR(compressor_->Add(buffer_, &compressed_));
    buffer_.clear();
    return compressor_->EndFrame(&compressed_);
  }
  Status Frame(std::string_view batch, uint32_t records) {
    const RecordFrame frame{kRecordFrameMagic, static_cast<uint32_t>(batch.size()), Crc32c(batch), records};
    buffer_.append(reinterpret_cast<const char*>(&frame), sizeof frame);
    buffer_.append(batch);
    buffer_.append((4 - batch.size() % 4) % 4, '\0');
    records_ += records;
    return buffer_.size() >= kBatchTargetBytes ? Flush() : Status();
  }
  Status Flush() {
    if (buffer_.empty()) return {};
    if (compressor_ == nullptr) return Send(&buffer_);
    Status s = compressor_->Add(buffer_, &compressed_);
    buffer_.clear();
    if (!s.ok() || compressed_.size() < kBatchTargetBytes / 4) return s;
    return Send(&compressed_);
  }
  Status Send(std::string* bytes) {
    Ledger::Count(Ledger::format, bytes->size());
    Status s = sink_(port_, first_, records_, *bytes);
    bytes->clear();
    records_ = 0;
    return s;
  }

  uint32_t port_, first_;
  FileFormat format_;
  Operator* oper_;
  ChunkSink sink_;
  std::unique_ptr<Compressor> compressor_;  // or null
  bool header_;                             // it has yet to come
  std::string buffer_, compressed_;
  uint32_t records_ = 0;
};

}  // namespace

Status WrongLength(const FileFormat& format, uint64_t bytes, const std::string& who) {
  return InvalidArgument(who + " emitted a record of " + std::to_string(bytes) +
                         " bytes to an output of format fixed:" + std::to_string(format.record_bytes));
}

Result<std::unique_ptr<Port>> MakePort(const WireTask& task, uint32_t port, uint32_t first_partition,
                                       uint64_t sort_budget, Operator* oper, ChunkSink sink) {
  const WirePort& p = task.ports[port];
  if (p.files) {
    MR_ASSIGN_OR_RETURN(const FileFormat format, ParseOutputFormat(p.format));
    if (format.compression == Compression::kNone && format.kind != FileFormat::Kind::kRecord) {
      const bool alone = task.ports.size() == 1;
      return {std::make_unique<PlainFilesPort>(port, first_partition, format, alone, oper, std::move(sink))};
    }
    return {std::make_unique<FilesPort>(port, first_partition, format, oper, std::move(sink))};
  }
  if (p.combine && oper->table->combine == nullptr) {
    return InvalidArgument("the plan asks operator " + oper->name() + " to combine port " + std::to_string(port) +
                           ", but it has no combine()");
  }
  if (p.custom_partition && oper->table->partition == nullptr) {
    return InvalidArgument("the plan asks operator " + oper->name() + " to partition port " + std::to_string(port) +
                           " itself, but it has no partition()");
  }
  // Only the first port may stream, because the daemon needs partitions in ascending order.
  if (!p.sorted && p.partitions == 1 && !p.custom_partition && port == 0) {
    return {std::make_unique<StreamedPort>(port, first_partition, oper, std::move(sink))};
  }
  const Partitioning how{port, p.partitions, p.custom_partition, task.partition_seed};
  if (!p.sorted) {
    return {std::make_unique<CollectedPort<PartitionBuffer>>(
        PartitionBuffer::Options{how, sort_budget, task.scratch_directory}, first_partition, oper, std::move(sink))};
  }
  return {std::make_unique<CollectedPort<SortBuffer>>(
      SortBuffer::Options{how, p.combine, sort_budget, task.scratch_directory}, first_partition, oper,
      std::move(sink))};
}

}  // namespace mr::task
