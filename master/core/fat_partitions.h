// Chooses the skewed partitions of a stage's inputs that several tasks share ("fat" in code, flags and file names).
// Each of these tasks reads a range of upstream tasks of one input, and the whole partition of the others. Only for
// inputs with readers that allow it (jobs/PLAN.md, `splits`). A pure function of measured sizes. Spark 3 does the same
// for skewed joins; the factor (5) is Spark's, the threshold is a quarter of Spark's 256 MiB.
#pragma once

#include <cstdint>
#include <vector>

namespace mr::master {

// A partition is fat above both: so many bytes, and so many times the median of the stage's partitions.
inline constexpr uint64_t kFatBytes = 64ull << 20;  // a guess; mrmaster --fat_partition_bytes
inline constexpr uint64_t kFatFactor = 5;           // likewise

// One all-to-all input of the stage.
struct SizedInput {
  uint32_t input = 0;                        // its number in the stage
  bool splits = false;                       // it may be read by ranges of upstream tasks
  std::vector<std::vector<uint64_t>> bytes;  // by upstream task, by partition
};

// A task to be: all inputs' partition, of `input` only from upstream tasks [task_begin, task_end).
struct Piece {
  uint32_t partition = 0;
  uint64_t bytes = 0;  // of all inputs together
  bool cut = false;    // false: whole, and the rest means nothing
  uint32_t input = 0, task_begin = 0, task_end = 0;
  bool operator==(const Piece&) const = default;
};

// By partition, then by range; as many as partitions where none is fat. Pieces are so large that reading the other
// inputs anew for each does at most double what is read of the partition. At most `most` in all.
std::vector<Piece> CutFatPartitions(const std::vector<SizedInput>& inputs, uint32_t partitions, uint64_t fat_bytes,
                                    uint32_t most);

}  // namespace mr::master
