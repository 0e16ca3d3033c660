#include "master/core/stored_output.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "common/base/check.h"
#include "common/base/fields.h"

namespace mr::master {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are cut to their low bytes");

uint8_t WidthOf(uint64_t most) { return static_cast<uint8_t>((std::bit_width(most) + 7) / 8); }

char* PutNumber(uint64_t value, uint8_t width, char* at) {
  std::memcpy(at, &value, width);
  return at + width;
}

uint64_t NumberAt(const char* at, uint8_t width) {
  uint64_t value = 0;
  std::memcpy(&value, at, width);
  return value;
}

}  // namespace

StoredOutput::StoredOutput(const FinishedExtra& extra) {
  std::string rest;
  FieldWriter writer(&rest);
  writer.Put(extra.counters);
  writer.Put(extra.outputs);
  writer.Put(extra.dfs_commit);
  writer.Put(extra.dfs_error);
  uint64_t bytes = 0, records = 0, chunks = 0;
  for (const PartitionRow& row : extra.rows) {
    bytes = std::max(bytes, row.bytes);
    records = std::max(records, row.records);
    chunks = std::max<uint64_t>(chunks, row.chunks);
  }
  const Head head{extra.partitions,
                  static_cast<uint32_t>(extra.rows.size()),
                  static_cast<uint32_t>(rest.size()),
                  WidthOf(bytes),
                  WidthOf(records),
                  WidthOf(chunks)};
  auto block = std::make_shared<char[]>(sizeof head + head.rows * head.row() + rest.size());
  char* at = block.get();
  std::memcpy(at, &head, sizeof head);
  at += sizeof head;
  for (const PartitionRow& row : extra.rows) {
    std::memcpy(at, &row.content, sizeof row.content);
    at = PutNumber(row.bytes, head.bytes_width, at + sizeof row.content);
    at = PutNumber(row.records, head.records_width, at);
    at = PutNumber(row.chunks, head.chunks_width, at);
  }
  std::copy(rest.begin(), rest.end(), at);
  block_ = std::move(block);
}

StoredOutput::Head StoredOutput::HeadOf() const {
  Head head;
  std::memcpy(&head, block_.get(), sizeof head);
  return head;
}

PartitionRow StoredOutput::Row(size_t row) const {
  const Head head = HeadOf();
  PartitionRow out;
  const char* at = RowAt(head, row);
  std::memcpy(&out.content, at, sizeof out.content);
  at += sizeof out.content;
  out.bytes = NumberAt(at, head.bytes_width);
  at += head.bytes_width;
  out.records = NumberAt(at, head.records_width);
  at += head.records_width;
  out.chunks = static_cast<uint32_t>(NumberAt(at, head.chunks_width));
  return out;
}

uint64_t StoredOutput::BytesOf(size_t row) const {
  const Head head = HeadOf();
  return NumberAt(RowAt(head, row) + sizeof(Digest128), head.bytes_width);
}

std::vector<PartitionRow> StoredOutput::Rows() const {
  std::vector<PartitionRow> all;
  all.reserve(rows());
  for (size_t row = 0; row < rows(); ++row) all.push_back(Row(row));
  return all;
}

std::vector<CounterValue> StoredOutput::Counters() const {
  std::vector<CounterValue> counters;
  FieldReader(RestOf(HeadOf())).Get(counters);
  return counters;
}

std::vector<FileOutput> StoredOutput::Files() const {
  std::vector<CounterValue> counters;  // they stand before
  std::vector<FileOutput> files;
  FieldReader reader(RestOf(HeadOf()));
  reader.Get(counters);
  reader.Get(files);
  return files;
}

FinishedExtra StoredOutput::Unpack() const {
  FinishedExtra extra;
  extra.partitions = partitions();
  extra.rows = Rows();
  FieldReader reader(RestOf(HeadOf()));
  reader.Get(extra.counters);
  reader.Get(extra.outputs);
  reader.Get(extra.dfs_commit);
  reader.Get(extra.dfs_error);
  MR_CHECK(reader.ok() && reader.AtEnd(), "a stored output that was not written here");
  return extra;
}

}  // namespace mr::master
