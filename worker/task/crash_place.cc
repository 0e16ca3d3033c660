#include "worker/task/crash_place.h"

#include <algorithm>
#include <string_view>

#include "common/base/text.h"

namespace mr::task {
namespace {

std::string_view NotedText(const char* text, const std::atomic<uint32_t>& bytes, uint32_t most) {
  return {text, std::min(bytes.load(std::memory_order_acquire), most)};
}

std::string ShownBytes(std::string_view bytes) {
  return "'" + PrintableBytes(bytes) + (bytes.size() == CrashNote::kMostShown ? "...'" : "'");
}

}  // namespace

uint64_t RecordsBegun(const ProgressPage& page) {
  const uint64_t in_batch = page.batch_records.load(std::memory_order_relaxed);
  const uint64_t last = page.records.load(std::memory_order_relaxed);
  const uint32_t record = __atomic_load_n(&page.record, __ATOMIC_RELAXED);
  return record < in_batch && in_batch <= last ? last - in_batch + record + 1 : last;
}

std::string CrashPlace(const ProgressPage& page, const std::string& exact) {
  return NotedPlace(page, page.crash, exact);
}

std::string NotedPlace(const ProgressPage& page, const CrashNote& note, const std::string& exact) {
  const uint64_t in_batch = page.batch_records.load(std::memory_order_relaxed);
  const uint64_t last = page.records.load(std::memory_order_relaxed);
  const uint32_t about = note.about.load(std::memory_order_relaxed);
  const std::string_view key = NotedText(note.key, note.key_bytes, CrashNote::kMostShown);
  if (about == CrashNote::kGroup && !key.empty()) return "key " + ShownBytes(key);
  if (in_batch == 0 || in_batch > last) return "";
  const uint64_t first = last - in_batch + 1;
  const uint32_t record = __atomic_load_n(&page.record, __ATOMIC_RELAXED);
  std::string text;
  if (about == CrashNote::kLine) {
    text = "a line of its input";
  } else if (record < in_batch) {
    text = "record " + std::to_string(first + record) + " of its input";
  } else if (in_batch == 1) {
    text = "record " + std::to_string(first) + " of its input";
  } else {
    text = "one of the records " + std::to_string(first) + " to " + std::to_string(last) + " of its input";
  }
  const std::string_view value = NotedText(note.value, note.value_bytes, CrashNote::kMostShown);
  const std::string_view place = NotedText(note.place, note.place_bytes, CrashNote::kMostPlace);
  if (!key.empty()) text += ", key " + ShownBytes(key);
  if (!value.empty()) text += (key.empty() ? ", " : ", value ") + ShownBytes(value);
  if (!exact.empty()) return text + ", in " + exact;
  if (place.empty()) return text;
  const bool known = note.exact.load(std::memory_order_relaxed) != 0;
  text += (known ? ", in " : ", in the batch that begins at ") + PrintableBytes(place);
  return text;
}

}  // namespace mr::task
