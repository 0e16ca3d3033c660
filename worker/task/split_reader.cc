#include "worker/task/split_reader.h"

#include <string.h>

#include <algorithm>

#include "common/io/crc32c.h"
#include "common/io/ledger.h"
#include "worker/task/output.h"

namespace mr::task {
namespace {
// Guess: what is read stays in the second-level cache until the operator has taken it.
constexpr uint64_t kReadBytes = 256u << 10;
}  // namespace

SplitReader::SplitReader(const WireSplit& split, FileFormat format, bool raw_blocks, int fd, ReadMoreFn more)
    : file_(split, fd, std::move(more)),
      format_(format),
      raw_blocks_(raw_blocks),
      piece_(split.sample_bytes == 0 ? kReadBytes : std::clamp<uint64_t>(split.sample_bytes, 4096, kReadBytes)) {}

SplitReader::SplitReader(const WireSplit& split, FileFormat format, bool raw_blocks, std::unique_ptr<ByteStream> stream)
    : SplitReader(split, format, raw_blocks, -1, nullptr) {
  stream_ = std::move(stream);
}

Status SplitReader::Start() {
  started_ = true;
  const bool any_bytes = format_.kind == FileFormat::Kind::kFixed || format_.kind == FileFormat::Kind::kRecord;
  const bool given = stream_ != nullptr;
  if (!given) {
    MR_ASSIGN_OR_RETURN(stream_, OpenStream(file_, any_bytes, format_));
  }
  at_ = stream_->begin();
  ended_ = (!given && split().length == 0) || stream_->begin() == limit();
  if (ended_) return {};
  csv_scanned_ = csv_end_ = stream_->begin();
  if (format_.kind == FileFormat::Kind::kCsv) return stream_->begin() == 0 ? SkipByteOrderMark() : SkipFirstCsvRecord();
  if (format_.kind == FileFormat::Kind::kRaw || (!any_bytes && stream_->begin() == 0)) return {};
  if (!any_bytes) return SkipFirstLine();
  if (format_.kind == FileFormat::Kind::kRecord) ended_ = stream_->begin() > 0;
  if (format_.kind != FileFormat::Kind::kFixed) return {};
  // Skips to the first record that starts here.
  const uint64_t n = format_.record_bytes, behind = stream_->begin() % n;
  if (behind == 0) return {};
  MR_ASSIGN_OR_RETURN(const bool got, Need(n - behind));
  ended_ = !got;
  if (got) Skip(n - behind);
  return {};
}

Result<bool> SplitReader::Fill() {
  buffer_.Compact();
  return stream_->Next(piece_, &buffer_);
}

Result<bool> SplitReader::Need(uint64_t bytes) {
  while (buffer_.size() < bytes) {
    MR_ASSIGN_OR_RETURN(const bool filled, Fill());
    if (!filled) return false;
  }
  return true;
}

void SplitReader::Skip(size_t bytes) {
  buffer_.Consume(bytes);
  at_ += bytes;
}

void SplitReader::Consume(size_t bytes) {
  Skip(bytes);
  delivered_ += bytes;
}

std::string_view SplitReader::Built() {
  built_.clear();
  builder_.Finish(0, &built_);
  Ledger::Count(Ledger::task_batch, 2 * built_.size());
  return built_;
}

Status SplitReader::SkipFirstLine() {
  for (;;) {
    const size_t found = unread().find('\n');
    Skip(found == std::string_view::npos ? buffer_.size() : found + 1);
    // If the first newline is at or after the limit, the line and all that follows belong to another split.
    if (found != std::string_view::npos) {
      ended_ = at() > limit();
      return {};
    }
    // Nothing that begins after the limit belongs to this split.
    ended_ = at() >= limit();
    if (ended_) return {};
    MR_ASSIGN_OR_RETURN(const bool filled, Fill());
    ended_ = !filled;
    if (ended_) return {};
  }
}

Result<bool> SplitReader::NextLines(std::string_view* batch, uint64_t* offset) {
  if (split().sample_bytes != 0 && delivered_ >= split().sample_bytes) ended_ = true;
  size_t scanned = 0;  // unconsumed bytes known to hold no newline
  while (!ended_) {
    const std::string_view rest = unread();
    const uint64_t at = this->at();
    size_t take = 0;
    if (at + rest.size() > limit()) {
      // The last owned line ends at the first newline at or after the limit.
      const size_t from = std::max<uint64_t>(scanned, limit() > at ? limit() - at : 0);
      const size_t nl = rest.find('\n', from);
      if (nl != rest.npos) {
        take = nl + 1;
        ended_ = true;
      }
    }
    if (take == 0 && !rest.empty() && at + rest.size() <= limit()) {
      if (const void* nl = memrchr(rest.data() + scanned, '\n', rest.size() - scanned)) {
        take = static_cast<const char*>(nl) - rest.data() + 1;
      }
    }
    if (take == 0) {
      // Whole lines may stand before a long last one. The check is for the last one.
      const size_t nl = rest.rfind('\n');
      const size_t line = nl == rest.npos ? 0 : nl + 1;
      if (rest.size() - line > kMaxLineBytes) return LineTooLong(at + line);
      scanned = rest.size();
      MR_ASSIGN_OR_RETURN(const bool filled, Fill());
      if (filled) continue;
      ended_ = true;
      take = buffer_.size();
      if (take == 0) return false;
    }
    *offset = this->at();
    // A block of lines is one record, which needs no copy.
    if (raw_blocks_ && format_.lines() && take <= kMaxLineBytes) *batch = buffer_.BatchInPlace(1, take);
    if (batch->empty()) {
      MR_RETURN_IF_ERROR(AddLines(*offset, unread().substr(0, take)));
      *batch = Built();
    }
    last_offset_ = *offset;
    Consume(take);
    return true;
  }
  return false;
}

void SplitReader::ScanCsv() {
  const uint64_t at = csv_scanned_;
  const std::string_view fresh = unread().substr(at - this->at());
  csv_scanned_ += fresh.size();
  ForEachCsvEnd(fresh, format_.csv, &scan_, [&](size_t end, bool) {
    csv_end_ = at + end;
    if (csv_end_ <= limit()) return true;
    csv_scanned_ = csv_end_;
    return false;
  });
}

Status SplitReader::SkipByteOrderMark() {
  MR_RETURN_IF_ERROR(Need(kByteOrderMark.size()).status());
  csv_scanned_ += buffer_.size() - WithoutByteOrderMark(unread()).size();
  return {};
}

Status SplitReader::SkipFirstCsvRecord() {
  const uint64_t begin = stream_->begin();
  // Without quotes each line is a record, and the first line end after `begin` is the same from any state.
  scan_.state = CsvState::kUnquoted;
  if (format_.csv.quotes) {
    if (quotes_ == nullptr) {
      return InvalidArgument(split().name +
                             ": a part of a csv file, and the job was submitted without the stage that "
                             "reads the quotes before it; submit it again");
    }
    MR_ASSIGN_OR_RETURN(scan_.state, quotes_->At(format_.csv, split().name, begin));
  }
  // The record that holds this split's first byte, or begins with it, belongs to the split before.
  for (;;) {
    const uint64_t at = csv_scanned_;
    const std::string_view fresh = unread().substr(at - this->at());
    uint64_t found = 0;
    ForEachCsvEnd(fresh, format_.csv, &scan_, [&](size_t end, bool) {
      if (at + end > begin) found = at + end;
      return found == 0;
    });
    csv_scanned_ = found != 0 ? found : at + fresh.size();
    ended_ = csv_scanned_ > limit();
    if (found != 0) {
      Skip(found - this->at());
      csv_end_ = found;
      return {};
    }
    if (csv_scanned_ - begin > kMaxLineBytes) {
      return InvalidArgument("CSV_RECORD_TOO_LONG: " + Where(begin) +
                             ": the record that holds this byte, and began before it, is above 16 MiB; " +
                             "is this a csv file, and is each quote closed?");
    }
    // Nothing that begins after the limit belongs to this split.
    if (ended_) return {};
    Skip(buffer_.size());
    MR_ASSIGN_OR_RETURN(const bool filled, Fill());
    ended_ = !filled;
    if (ended_) return {};
  }
}

Result<bool> SplitReader::NextCsv(std::string_view* batch, uint64_t* offset) {
  if (split().sample_bytes != 0 && delivered_ >= split().sample_bytes) ended_ = true;
  while (!ended_) {
    ScanCsv();
    uint64_t take = csv_end_ - at();
    if (take == 0) {
      if (unread().size() > kMaxLineBytes) return CsvRecordTooLong(at());
      MR_ASSIGN_OR_RETURN(const bool filled, Fill());
      if (filled) continue;
      // The file's last record needs no line end; one that ends within quotes is bad.
      ended_ = true;
      take = unread().size();
      if (take == 0) return false;
    }
    // A record end after the limit is that of the last record.
    ended_ |= csv_end_ > limit();
    *offset = at();
    if (raw_blocks_ && format_.lines() && take <= kMaxLineBytes) *batch = buffer_.BatchInPlace(1, take);
    if (batch->empty()) {
      MR_RETURN_IF_ERROR(AddLines(*offset, unread().substr(0, take)));
      if (!builder_.empty()) *batch = Built();
    }
    last_offset_ = *offset;
    Consume(take);
    if (batch->empty()) continue;  // all of them were bad
    return true;
  }
  return false;
}

Status SplitReader::CsvRecordTooLong(uint64_t offset) const {
  return InvalidArgument(
      "CSV_RECORD_TOO_LONG: " + Where(offset) +
      ": the record that begins here is above 16 MiB; is this a csv file, and is each quote closed?");
}

Result<bool> SplitReader::NextRaw(std::string_view* batch, uint64_t* offset) {
  if (ended_) return false;
  MR_ASSIGN_OR_RETURN(const bool any, Need(1));
  const uint64_t left = limit() - at(), size = std::min<uint64_t>(unread().size(), left);
  if (!any || size == 0) return false;
  *offset = last_offset_ = at();
  *batch = buffer_.BatchInPlace(1, size);
  if (batch->empty()) {
    builder_.Add({}, unread().substr(0, size));
    *batch = Built();
  }
  Consume(size);
  return true;
}

Status SplitReader::LineTooLong(uint64_t offset) const {
  return InvalidArgument("LINE_TOO_LONG: " + Where(offset) +
                         ": a line above 16 MiB; is this a text file? For records of a fixed size: --format fixed:N");
}

Status SplitReader::AddBlocks(uint64_t offset, std::string_view block) {
  const bool csv = format_.kind == FileFormat::Kind::kCsv;
  while (!block.empty()) {
    size_t take = block.size();
    if (take > kMaxLineBytes && csv) {
      const size_t mark = offset == 0 ? block.size() - WithoutByteOrderMark(block).size() : 0;
      CsvScan scan;
      take = 0;
      ForEachCsvEnd(block.substr(mark), format_.csv, &scan, [&](size_t end, bool) {
        if (mark + end <= kMaxLineBytes) take = mark + end;
        return mark + end <= kMaxLineBytes;
      });
    } else if (take > kMaxLineBytes) {
      take = block.rfind('\n', kMaxLineBytes - 1) + 1;
    }
    if (take == 0) return csv ? CsvRecordTooLong(offset) : LineTooLong(offset);
    builder_.Add({}, block.substr(0, take));
    block.remove_prefix(take);
    offset += take;
  }
  return {};
}

Status SplitReader::AddCsv(uint64_t offset, std::string_view block) {
  Status status;
  const std::string_view text = offset == 0 ? WithoutByteOrderMark(block) : block;
  ForEachCsvRecord(text, format_.csv, [&](const CsvRecord& record) {
    if (!status.ok()) return;
    const uint64_t at = offset + static_cast<uint64_t>(record.text.data() - block.data());
    if (record.text.size() > kMaxLineBytes) {
      status = CsvRecordTooLong(at);
    } else if (!record.bad) {
      builder_.Add({}, record.text);
    } else if (split().sample_bytes != 0) {
      // A sample skips it. The task that reads the whole file counts it.
    } else {
      status = bad_csv_ ? bad_csv_(record, at) : InvalidArgument("CSV_BAD_RECORD: " + Where(at));
    }
  });
  return status;
}

Status SplitReader::AddLines(uint64_t offset, std::string_view block) {
  last_offset_ = offset;
  if (raw_blocks_ && format_.lines()) return AddBlocks(offset, block);
  if (format_.kind == FileFormat::Kind::kCsv) return AddCsv(offset, block);
  const size_t size = block.size();
  while (!block.empty()) {
    const size_t nl = block.find('\n');
    const std::string_view line = block.substr(0, nl);
    if (line.size() > kMaxLineBytes) return LineTooLong(offset + size - block.size());
    block.remove_prefix(nl == block.npos ? block.size() : nl + 1);
    const size_t tab = format_.kind == FileFormat::Kind::kKv ? line.find('\t') : line.npos;
    if (format_.kind != FileFormat::Kind::kKv) {
      builder_.Add({}, line);
    } else if (tab == line.npos) {
      builder_.Add(line, {});
    } else {
      builder_.Add(line.substr(0, tab), line.substr(tab + 1));
    }
  }
  return {};
}

std::string SplitReader::Where(uint64_t offset) const {
  return file_.Where(offset) + (compressed() ? " (uncompressed)" : "");
}

std::string SplitReader::PlaceOf(const BatchView& batch, uint64_t record) const {
  const RecordOffset place = OffsetOf(batch, record);
  const std::string where = Where(place.offset);
  return place.in_frame ? where + ", record " + std::to_string(record) + " of the frame" : where;
}

SplitReader::RecordOffset SplitReader::OffsetOf(const BatchView& batch, uint64_t record, const char* at) const {
  uint64_t offset = last_offset_;
  const bool lines = (format_.lines() && !raw_blocks_) || format_.kind == FileFormat::Kind::kKv;
  if (format_.kind == FileFormat::Kind::kRecord) return {offset, true};
  if (!lines) {
    for (uint32_t before = 0; before < record && before < batch.size(); ++before) offset += batch.value(before).size();
    if (at != nullptr && record < batch.size()) offset += static_cast<uint64_t>(at - batch.value(record).data());
    return {offset};
  }
  // The bytes of the batch stay in the buffer until the next one is requested.
  const size_t made_of_bytes = this->at() - offset;
  const std::string_view made_of(unread().data() - made_of_bytes, made_of_bytes);
  if (format_.kind == FileFormat::Kind::kCsv) {
    uint64_t number = 0;
    const std::string_view text = offset == 0 ? WithoutByteOrderMark(made_of) : made_of;
    ForEachCsvRecord(text, format_.csv, [&](const CsvRecord& r) {
      if (r.bad) return;
      if (number++ == record) offset = last_offset_ + static_cast<uint64_t>(r.text.data() - made_of.data());
    });
    return {offset};
  }
  size_t begin = 0;
  for (uint64_t number = 0; number < record && begin < made_of.size(); ++number) {
    begin = std::min(made_of.find('\n', begin), made_of.size() - 1) + 1;
  }
  return {offset + begin};
}

Result<bool> SplitReader::NextFixed(std::string_view* batch, uint64_t* offset) {
  const uint64_t n = format_.record_bytes;
  if (ended_ || at() >= limit() || (split().sample_bytes != 0 && delivered_ >= split().sample_bytes)) return false;
  MR_ASSIGN_OR_RETURN(const bool one, Need(n));
  if (!one) {
    if (unread().empty()) return false;
    return InvalidArgument(split().name + ": its length " + std::to_string(at() + unread().size()) +
                           " is no multiple of " + std::to_string(n) + ", as format fixed:" + std::to_string(n) +
                           " asks");
  }
  const uint64_t owned = limit() == ByteStream::kUnknown ? unread().size() / n : (limit() - at() + n - 1) / n;
  const uint64_t records = std::min<uint64_t>(owned, unread().size() / n);
  *batch = buffer_.BatchInPlace(static_cast<uint32_t>(records), n);
  if (batch->empty()) {
    for (uint64_t i = 0; i < records; ++i) builder_.Add({}, unread().substr(i * n, n));
    *batch = Built();
  }
  *offset = last_offset_ = at();
  Consume(records * n);
  return true;
}

Result<bool> SplitReader::NextFrame(std::string_view* batch, uint64_t* offset) {
  if (ended_ || (split().sample_bytes != 0 && delivered_ >= split().sample_bytes)) return false;
  const auto damaged = [&](const std::string& what) {
    return InvalidArgument(Where(at()) + ": not a record container, or a damaged one: " + what);
  };
  RecordFrame frame;
  MR_ASSIGN_OR_RETURN(const bool header, Need(sizeof frame));
  if (!header && unread().empty()) return false;
  if (!header) return damaged("it ends within a frame");
  memcpy(&frame, unread().data(), sizeof frame);
  if (frame.magic != kRecordFrameMagic) return damaged("wrong magic number");
  if (frame.size > 2 * kMaxRecordBytes) return damaged("a frame above 32 MiB");
  const uint64_t padded = (uint64_t{frame.size} + 3) / 4 * 4;
  MR_ASSIGN_OR_RETURN(const bool body, Need(sizeof frame + padded));
  if (!body) return damaged("it ends within a frame");
  built_.assign(unread().substr(sizeof frame, frame.size));  // a batch must be aligned
  if (Crc32c(built_) != frame.crc) return damaged("checksum differs");
  BatchView view;
  if (const char* wrong = BatchView::Parse(built_.data(), built_.size(), &view)) return damaged(wrong);
  *batch = built_;
  *offset = last_offset_ = at();
  Consume(sizeof frame + padded);
  return true;
}

Result<bool> SplitReader::Next(std::string_view* batch, uint64_t* offset) {
  if (!started_) MR_RETURN_IF_ERROR(Start());
  *batch = {};
  if (format_.kind == FileFormat::Kind::kFixed) return NextFixed(batch, offset);
  if (format_.kind == FileFormat::Kind::kRecord) return NextFrame(batch, offset);
  if (format_.kind == FileFormat::Kind::kCsv) return NextCsv(batch, offset);
  if (format_.kind == FileFormat::Kind::kRaw) return NextRaw(batch, offset);
  return NextLines(batch, offset);
}

}  // namespace mr::task
