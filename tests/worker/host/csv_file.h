// A csv file in splits, read as the two stages of a plan do.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/worker/host/core_harness.h"
#include "worker/task/csv_quotes.h"

namespace mr::task {

struct CsvFile {
  std::string bytes, name = "file";
  CsvQuotes quotes = {};
  Status status = {};
  std::vector<std::pair<uint64_t, uint64_t>> bad = {};  // offset and lines of each record that was left out

  std::vector<Record> Read(uint64_t from, uint64_t to, const std::string& format, bool raw, uint64_t* begin = nullptr) {
    const UniqueFd fd(memfd_create("split", 0));
    EXPECT_TRUE(WriteAll(fd.get(), bytes).ok());
    WireSplit split{0, name, format, from, to - from, bytes.size(), 0, 0, bytes.size()};
    SplitReader reader(split, ParseInputFormat(format).value(), raw, fd.get(),
                       [](uint64_t, uint32_t) -> Result<std::string> { return Internal("all is in the descriptor"); });
    reader.SetQuotes(&quotes);
    reader.SetBadCsv([this](const CsvRecord& record, uint64_t offset) -> Status {
      bad.push_back({offset, CsvLines(record.with_end)});
      return {};
    });
    std::vector<Record> all;
    for (;;) {
      std::string_view batch;
      uint64_t at = 0;
      const Result<bool> got = reader.Next(&batch, &at);
      if (!got.ok()) status = got.status();
      if (!got.ok() || !*got) return all;
      if (all.empty() && begin != nullptr) *begin = at;
      for (Record& r : ParseBatch(std::string(batch))) all.push_back(std::move(r));
    }
  }

  // The stage before: what each split makes of each state.
  void ReadQuotes(const std::set<uint64_t>& cuts, const CsvDialect& dialect = {}) {
    static std::string emitted;
    mr_host host{};
    uint64_t taken = 0;
    host.taken = &taken;
    host.emit = [](void*, uint32_t, mr_bytes batch) {
      emitted.assign(batch.data, batch.size);
      return 0;
    };
    mr_open_args args{};
    const std::string config = CsvFormatName(dialect);
    args.config = {config.data(), config.size()};
    const mr_operator& op = *CsvQuotesOperator();
    for (auto it = cuts.begin(); std::next(it) != cuts.end(); ++it) {
      emitted.clear();
      void* counter = op.open(&args, &host);
      uint64_t begin = 0;
      std::vector<Record> pieces = Read(*it, *std::next(it), "raw", false, &begin);
      for (const Record& piece : pieces) {
        const std::string batch_bytes = MakeBatch({piece});
        mr_batch batch{};
        batch.offset = begin;
        batch.input_file = {name.data(), name.size()};
        batch.data = {batch_bytes.data(), batch_bytes.size()};
        EXPECT_EQ(op.batch(counter, &batch), 0);
        begin += piece.value.size();
      }
      EXPECT_EQ(op.end(counter), 0);
      op.close(counter);
      if (emitted.empty()) continue;
      EXPECT_TRUE(quotes.Add(emitted).ok());
    }
  }
};

}  // namespace mr::task
