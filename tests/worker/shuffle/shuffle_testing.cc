#include "tests/worker/shuffle/shuffle_testing.h"

namespace mr::worker {

TestOutput MakeOutput(uint64_t seed, uint32_t partitions, uint32_t batches, uint32_t records, uint32_t value_bytes) {
  Rng rng(seed);
  TestOutput output(partitions);
  for (uint32_t p = 0; p < partitions; ++p) {
    if (p % 3 == 2) continue;  // empty
    for (uint32_t b = 0; b < batches; ++b) {
      BatchBuilder builder;
      for (uint32_t r = 0; r < records; ++r) {
        std::string value = std::to_string(rng.Below(1000));
        while (value.size() < value_bytes) {
          const uint64_t word = rng.Next();
          value.append(reinterpret_cast<const char*>(&word), sizeof word);
        }
        builder.Add("word" + std::to_string(rng.Below(5000)), value);
      }
      builder.Finish(0, &output[p].emplace_back());
    }
  }
  return output;
}

std::vector<PartitionRow> StoreOutput(ShuffleStore& store, const ReplicaKey& key, const TestOutput& output) {
  auto writer = store.Begin(key, static_cast<uint32_t>(output.size()));
  MR_CHECK(writer.ok(), writer.status().ToString());
  for (uint32_t p = 0; p < output.size(); ++p) {
    for (const std::string& batch : output[p]) {
      const Status added = (*writer)->Add(p, RecordsOf(batch), batch);
      MR_CHECK(added.ok(), added.ToString());
    }
  }
  auto rows = (*writer)->Finish();
  MR_CHECK(rows.ok(), rows.status().ToString());
  return *rows;
}

}  // namespace mr::worker
