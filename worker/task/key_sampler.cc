#include "worker/task/key_sampler.h"

#include <algorithm>

#include "common/abi/batch.h"
#include "common/base/digest.h"

namespace mr::task {
namespace {

uint64_t Scaled(uint64_t part, uint64_t of, uint64_t all) {
  return static_cast<uint64_t>(static_cast<double>(part) / static_cast<double>(of) * static_cast<double>(all));
}

}  // namespace

KeySampler::KeySampler(uint32_t port, uint32_t partitions) : port_(port), on_(partitions > 1) {
  gap_ = rng_.Below(2 * kSampleBytes);
}

void KeySampler::Add(uint32_t partition, uint32_t records, std::string_view batch) {
  if (!on_ || records == 0) return;
  records_ += records;
  bytes_ += batch.size();
  const uint64_t size = std::max<uint64_t>(1, batch.size() / records);
  const uint64_t every = std::max<uint64_t>(1, kSampleBytes / size);  // records that one stands for
  uint64_t at = gap_ / size;
  if (at < records) {
    BatchView view;
    if (BatchView::Parse(batch.data(), batch.size(), &view, true) != nullptr || view.size() != records) return;
    for (; at < records; at += std::max<uint64_t>(1, rng_.Below(2 * kSampleBytes) / size)) {
      const std::string_view key = view.key(static_cast<uint32_t>(at));
      const uint64_t bytes = (key.size() + view.value(static_cast<uint32_t>(at)).size() + 8) * every;
      keys_.Add(Hash64(key), key, false, partition, every, bytes);
      ++samples_;
      sampled_records_ += every;
      sampled_bytes_ += bytes;
    }
  }
  gap_ = (at - records) * size;
}

std::vector<HotKey> KeySampler::Top() const {
  if (samples_ < kLeastSamples) return {};
  std::vector<HotKey> top = keys_.Top(kMostKeys);
  std::erase_if(top, [&](const HotKey& k) { return k.bytes * kLeastShare < sampled_bytes_; });
  for (HotKey& k : top) {
    k.port = port_;
    k.records = Scaled(k.records, sampled_records_, records_);
    k.bytes = Scaled(k.bytes, sampled_bytes_, bytes_);
  }
  return top;
}

}  // namespace mr::task
