// The last stage of job aggregate: merges the states of each group and writes its row.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/builtin/aggregate/fold_state.h"
#include "jobs/builtin/aggregate/measure.h"
#include "jobs/builtin/aggregate/quantile.h"
#include "jobs/builtin/table.h"

namespace mr::builtin {

class WriteGroups : public HashReducer<std::string, std::string, Text, Text> {
 public:
  void Open();
  void Fold(std::string& total, std::string_view value);
  void Reduce(std::string_view key, const std::string& total, Out& out);
  void End(Out& out);

 private:
  void Begin(std::string_view group, Out& out);
  void AddStreamValue(size_t stream, std::string_view value, std::string_view total);
  std::string FieldOf(size_t measure);
  void Finish(Out& out);

  size_t groups_ = 0;
  CsvDialect dialect_;
  TableOutput output_;
  std::vector<std::string> names_;
  std::vector<Measure> measures_;
  std::vector<ValueStream> streams_;
  bool open_ = false;
  std::string group_;
  std::vector<std::string> fields_;  // of the row that is written
  std::vector<FoldState> states_, folded_;
  std::vector<uint64_t> different_;  // values of each stream of texts
  std::vector<Quantile> quantiles_;  // by measure; unused for other folds
};

}  // namespace mr::builtin
