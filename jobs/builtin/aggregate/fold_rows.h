// The first stage of job aggregate: folds the rows of a task by group, and emits the states of the groups and the
// values of the streams (group_key.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/builtin/aggregate/bucket.h"
#include "jobs/builtin/aggregate/fold_state.h"
#include "jobs/builtin/aggregate/measure.h"
#include "jobs/builtin/group_table.h"
#include "jobs/builtin/table.h"

namespace mr::builtin {

// The wanted columns of its rows: those of --by, those of --bucket, the aggregated ones. Its config has `groups`,
// `measures`, `buckets` (widths, after the columns of --by) and `time_format`.
class FoldRows : public RowMapper<std::string, std::string>, public Partitioner<std::string> {
 public:
  void Open();
  void Map(const Block& block, Out& out);
  void End(Out& out) { Flush(out); }
  uint32_t Partition(std::string_view key, uint32_t partitions);

 private:
  uint32_t ColumnOf(int aggregated) const { return column(groups_ + static_cast<size_t>(aggregated)); }
  std::string_view GroupOf(const CsvRow& row);
  void AppendGroup(std::string_view group, std::string* key) const;
  void ParseNumbers(const CsvRow& row);
  void ParseBuckets(const CsvRow& row);
  void AddToStream(uint32_t group, const Measure& measure, std::string_view value);
  void Flush(Out& out);

  // Memory for groups before they are emitted (guess: a third of the memory of a task's sort).
  const size_t most_bytes_ = TableBytes(24u << 20);
  size_t groups_ = 0;  // columns of a group
  std::vector<Measure> measures_;
  std::vector<ValueStream> streams_;
  std::vector<bool> feeds_;  // by measure: the first of its stream, which adds the values for all of them
  std::vector<Bucketing> buckets_;
  std::vector<std::string_view> bucket_fields_;  // of the current row
  std::vector<int> number_columns_;              // aggregated columns that must be numbers
  std::vector<Decimal> numbers_;                 // of the current row, by aggregated column

  GroupTable table_, values_;      // groups; values of streams
  std::vector<FoldState> states_;  // measures of group 0, of group 1, ...
  std::vector<uint64_t> times_;    // multiplicity of each value
  size_t heap_ = 0;                // bytes that the states have on the heap
  bool grown_ = false;             // the current row took memory
  std::string key_, value_key_, value_;
};

}  // namespace mr::builtin
