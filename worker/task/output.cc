#include "worker/task/output.h"

#include <charconv>

#include "common/base/file_format.h"
#include "common/io/crc32c.h"
#include "worker/task/compress.h"
#include "worker/task/key_sampler.h"
#include "worker/task/partition_buffer.h"
#include "worker/task/sort_buffer.h"

namespace mr::task {
namespace {

Status BadBatch(const Operator& oper, const char* wrong) {
  return InvalidArgument("operator " + oper.name() + " emitted a bad batch: " + wrong);
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
    return buffer_.Finish([this](uint32_t partition, uint32_t records, std::string_view bytes) {
      sampler_.Add(first_ + partition, records, bytes);
      return sink_(port_, first_ + partition, records, bytes);
    });
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

// A port that writes a file: formatted bytes, in the order of emission. The first record of a csv file is its header.
// It is not counted, and a compressed file has it in a frame of its own, so that a reader of several parts can leave it
// out.
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
    if (header_) {
      oper_->final = true;  // another attempt would emit none, either
      oper_->failure = InvalidArgument("operator " + oper_->name() +
                                       " emitted no header, with which each part of an output of format csv begins; "
                                       "emit it before the first row, or in End() if there is no row");
      return oper_->failure;
    }
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
