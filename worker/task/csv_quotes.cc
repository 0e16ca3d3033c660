#include "worker/task/csv_quotes.h"

#include <memory>
#include <new>

#include "common/abi/batch.h"

namespace mr::task {
namespace {

struct Counter {
  const mr_host* host = nullptr;
  CsvDialect dialect;
  std::string file;  // of the bytes since the last record
  uint64_t begin = 0, taken = 0;
  bool any = false;
  CsvStateMap states;
  BatchBuilder found;
};

std::string Key(uint64_t offset, std::string_view file) {
  std::string key(8, '\0');
  for (int i = 0; i < 8; ++i) key[static_cast<size_t>(i)] = static_cast<char>(offset >> (56 - 8 * i));
  return key.append(file);
}

// A stage may read one file with two dialects.
std::string NameOf(const CsvDialect& dialect, std::string_view file) {
  return CsvFormatName(dialect).append(" ").append(file);
}

void EndFile(Counter* self) {
  if (self->any) {
    std::string exits;
    for (int entry = 0; entry < kCsvStates; ++entry) {
      exits.push_back(static_cast<char>('0' + static_cast<int>(self->states[static_cast<CsvState>(entry)])));
    }
    self->found.Add(Key(self->begin, NameOf(self->dialect, self->file)), exits);
  }
  self->any = false;
  self->states = {};
}

void* Open(const mr_open_args* args, const mr_host* host) {
  const std::string_view format(args->config.data, args->config.size);
  const auto dialect = format.empty() ? CsvDialect() : ParseCsvFormat(format);
  if (!dialect) {
    constexpr std::string_view kWhy = "the stage's config is not a csv format";
    host->fail(host->context, {kWhy.data(), kWhy.size()});
    return nullptr;
  }
  auto* counter = new (std::nothrow) Counter;
  if (counter == nullptr) return nullptr;
  counter->host = host;
  counter->dialect = *dialect;
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
    std::string_view bytes = view.value(i);
    self->taken += bytes.size();
    if (i == 0 && in->offset == 0) bytes = WithoutByteOrderMark(bytes);
    self->states.Add(bytes, self->dialect);
  }
  __atomic_store_n(self->host->taken, self->taken, __ATOMIC_RELAXED);
  return 0;
}

int End(void* op) {
  auto* self = static_cast<Counter*>(op);
  EndFile(self);
  if (self->found.empty()) return 0;
  std::string bytes;
  self->found.Finish(0, &bytes);
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
    if (key.size() < 8 || value.size() != kCsvStates) return Corrupted("a batch of csv quote states is damaged");
    uint64_t offset = 0;
    for (int b = 0; b < 8; ++b) offset = offset << 8 | static_cast<uint8_t>(key[static_cast<size_t>(b)]);
    CsvStateMap map;
    for (int entry = 0; entry < kCsvStates; ++entry) {
      const int exit = value[static_cast<size_t>(entry)] - '0';
      if (exit < 0 || exit >= kCsvStates) return Corrupted("a batch of csv quote states is damaged");
      map.Set(static_cast<CsvState>(entry), static_cast<CsvState>(exit));
    }
    maps_[std::string(key.substr(8))][offset] = map;
  }
  return {};
}

Result<CsvState> CsvQuotes::At(const CsvDialect& dialect, const std::string& file, uint64_t offset) const {
  const auto found = maps_.find(NameOf(dialect, file));
  CsvState state = CsvState::kRecordStart;
  if (found != maps_.end()) {
    for (const auto& [begin, map] : found->second) {
      if (begin == offset) return state;
      state = map[state];
    }
  }
  return Internal("the parts of " + file + " before byte " + std::to_string(offset) +
                  " were not read for their quotes");
}

}  // namespace mr::task
