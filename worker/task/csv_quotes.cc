#include "worker/task/csv_quotes.h"

#include <bit>
#include <memory>
#include <new>

#include "common/abi/batch.h"
#include "common/abi/csv_scan.h"

namespace mr::task {
namespace {

struct Counter {
  const mr_host* host = nullptr;
  std::string file;  // of what was counted since the last record
  uint64_t begin = 0, taken = 0;
  bool any = false, odd = false;
  BatchBuilder counted;
};

std::string Key(uint64_t offset, std::string_view file) {
  std::string key(8, '\0');
  for (int i = 0; i < 8; ++i) key[static_cast<size_t>(i)] = static_cast<char>(offset >> (56 - 8 * i));
  return key.append(file);
}

bool OddQuotes(std::string_view text) {
  uint64_t seen = 0;
  size_t at = 0;
  for (; at + 64 <= text.size(); at += 64) seen ^= EqualMask64(text.data() + at, '"');
  bool odd = std::popcount(seen) % 2 != 0;
  for (; at < text.size(); ++at) odd ^= text[at] == '"';
  return odd;
}

void EndFile(Counter* self) {
  if (self->any) self->counted.Add(Key(self->begin, self->file), self->odd ? "1" : "0");
  self->any = self->odd = false;
}

void* Open(const mr_open_args*, const mr_host* host) {
  auto* counter = new (std::nothrow) Counter;
  if (counter != nullptr) counter->host = host;
  return counter;
}

int Batch(void* op, const mr_batch* in) {
  auto* self = static_cast<Counter*>(op);
  BatchView view;
  if (BatchView::Parse(in->data.data, in->data.size, &view) != nullptr) return -1;
  const std::string_view file(in->input_file.data, in->input_file.size);
  if (file != self->file) EndFile(self);
  if (!self->any) {
    self->begin = in->offset;
    self->file.assign(file);
  }
  self->any = true;
  for (uint32_t i = 0; i < view.size(); ++i) {
    self->odd ^= OddQuotes(view.value(i));
    self->taken += view.value(i).size();
  }
  __atomic_store_n(self->host->taken, self->taken, __ATOMIC_RELAXED);
  return 0;
}

int End(void* op) {
  auto* self = static_cast<Counter*>(op);
  EndFile(self);
  if (self->counted.empty()) return 0;
  std::string bytes;
  self->counted.Finish(0, &bytes);
  return self->host->emit(self->host->context, 0, {bytes.data(), bytes.size()});
}

void Close(void* op) { delete static_cast<Counter*>(op); }

}  // namespace

const mr_operator* CsvQuotesOperator() {
  static const mr_operator table = [] {
    mr_operator t{};
    t.struct_size = sizeof t;
    t.flags = kCsvQuotesFlags;
    t.name = kCsvQuotesOperator;
    t.open = &Open;
    t.batch = &Batch;
    t.end = &End;
    t.close = &Close;
    return t;
  }();
  return &table;
}

Status CsvQuotes::Add(std::string_view batch) {
  BatchView view;
  if (const char* wrong = BatchView::Parse(batch.data(), batch.size(), &view)) return Corrupted(wrong);
  for (uint32_t i = 0; i < view.size(); ++i) {
    const std::string_view key = view.key(i), value = view.value(i);
    if (key.size() < 8 || value.size() != 1) return Corrupted("the quotes of a csv file are not what was counted");
    uint64_t offset = 0;
    for (int b = 0; b < 8; ++b) offset = offset << 8 | static_cast<uint8_t>(key[static_cast<size_t>(b)]);
    odd_[std::string(key.substr(8))][offset] = value == "1";
  }
  return {};
}

Result<bool> CsvQuotes::At(const std::string& file, uint64_t offset) const {
  const auto found = odd_.find(file);
  bool odd = false;
  if (found != odd_.end()) {
    for (const auto& [begin, quotes] : found->second) {
      if (begin == offset) return odd;
      odd ^= quotes;
    }
  }
  return Internal("the quotes of " + file + " before byte " + std::to_string(offset) + " were not counted");
}

}  // namespace mr::task
