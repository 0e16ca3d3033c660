// Short ways to call the pure pieces of a task from tests.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <string>
#include <vector>

#include "common/abi/batch.h"
#include "worker/task/inputs.h"
#include "worker/task/partition_buffer.h"
#include "worker/task/sort_buffer.h"
#include "worker/task/split_reader.h"

namespace mr::task {

struct Record {
  std::string key, value;
  auto operator<=>(const Record&) const = default;
};

inline std::string MakeBatch(const std::vector<Record>& records) {
  BatchBuilder b;
  for (const Record& r : records) b.Add(r.key, r.value);
  std::string bytes;
  b.Finish(0, &bytes);
  return bytes;
}

inline std::vector<Record> ParseBatch(const std::string& bytes) {
  std::vector<Record> all;
  BatchView view;
  EXPECT_EQ(BatchView::Parse(bytes.data(), bytes.size(), &view), nullptr);
  for (uint32_t i = 0; i < view.size(); ++i) all.push_back({std::string(view.key(i)), std::string(view.value(i))});
  return all;
}

// The records of one split of a file with these contents. The descriptor holds [fd_offset, fd_offset
// + fd_length), all where fd_length is 0; the rest comes by ReadMore.
inline std::vector<Record> ReadSplit(const std::string& text, const std::string& format, uint64_t offset,
                                     uint64_t length, bool raw = false, uint64_t fd_offset = 0, uint64_t fd_length = 0,
                                     Status* status = nullptr, uint64_t sample = 0, uint64_t file_bytes = 0,
                                     const std::string& name = "file") {
  if (fd_length == 0) fd_length = text.size();
  const UniqueFd fd(memfd_create("split", 0));
  EXPECT_TRUE(WriteAll(fd.get(), std::string_view(text).substr(fd_offset, fd_length)).ok());
  WireSplit split;
  split.name = name;
  split.format = format;
  split.offset = offset;
  split.length = length;
  split.file_bytes = file_bytes != 0 ? file_bytes : text.size();
  split.sample_bytes = sample;
  split.fd_offset = fd_offset;
  split.fd_length = fd_length;
  SplitReader reader(split, ParseInputFormat(format).value(), raw, fd.get(),
                     [&](uint64_t at, uint32_t n) -> Result<std::string> { return text.substr(at, n); });
  std::vector<Record> all;
  for (;;) {
    std::string_view batch;
    uint64_t at = 0;
    const Result<bool> got = reader.Next(&batch, &at);
    if (!got.ok()) {
      if (status != nullptr)
        *status = got.status();
      else
        ADD_FAILURE() << got.status().ToString();
      return all;
    }
    if (!*got) return all;
    for (Record& r : ParseBatch(std::string(batch))) all.push_back(std::move(r));
  }
}

// Sums numbers, by the C table.
inline mr_operator TestTable(uint32_t flags) {
  mr_operator table{};
  table.struct_size = sizeof table;
  table.name = "test";
  table.flags = flags;
  table.combine = [](void*, uint32_t, mr_bytes data, mr_emit_fn emit, void* context) {
    const std::vector<Record> in = ParseBatch(std::string(data.data, data.size));
    std::vector<Record> out;
    for (size_t i = 0; i < in.size();) {
      int64_t sum = 0;
      const std::string key = in[i].key;
      for (; i < in.size() && in[i].key == key; ++i) sum += atoll(in[i].value.c_str());
      out.push_back({key, std::to_string(sum)});
    }
    const std::string bytes = MakeBatch(out);
    return emit(context, {bytes.data(), bytes.size()});
  };
  return table;
}

struct Chunked {
  uint32_t partition;
  uint16_t flags;
  uint64_t bytes;
  std::vector<Record> records;
};

// All that a sort buffer gives out for these batches, as bytes.
inline std::string Sorted(const SortBuffer::Options& options, const std::vector<std::vector<Record>>& batches,
                          uint32_t* runs, std::vector<Chunked>* chunks = nullptr, uint32_t flags = MR_ASSOCIATIVE,
                          const mr_operator* table = nullptr) {
  const mr_operator usual = TestTable(flags);
  Operator oper{table != nullptr ? table : &usual, nullptr, {}};
  SortBuffer buffer(options, &oper);
  for (const auto& batch : batches) EXPECT_TRUE(buffer.Add(MakeBatch(batch)).ok());
  std::string all;
  const Status status = buffer.Finish([&](uint32_t partition, uint32_t records, std::string_view bytes) -> Status {
    const std::string copy(bytes);
    BatchView view;
    EXPECT_EQ(BatchView::Parse(copy.data(), copy.size(), &view), nullptr);
    EXPECT_EQ(view.size(), records);
    all += std::to_string(partition) + ":" + copy;
    if (chunks != nullptr) chunks->push_back({partition, view.flags(), copy.size(), ParseBatch(copy)});
    return {};
  });
  EXPECT_TRUE(status.ok()) << status.ToString();
  *runs = buffer.runs();
  return all;
}

}  // namespace mr::task
