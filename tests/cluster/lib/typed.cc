// A job whose mapper emits int64_t and whose reducer takes int32_t. As library `typed_old` (MR_WITHOUT_TYPES) its table
// ends where tables did before they had types.
#include <cstddef>

#include "paceline/paceline.h"

namespace {

class Lengths : public mr::LineMapper<std::string, int64_t> {
 public:
  void Map(std::string_view line, Out& out) { out.Emit(line, static_cast<int64_t>(line.size())); }
};

class Sum : public mr::Reducer<std::string, int32_t, mr::Text, mr::Text> {
 public:
  void Reduce(std::string_view line, mr::Values<int32_t>& lengths, Out& out) {
    int32_t n = 0;
    for (int32_t length : lengths) n += length;
    out.Emit(line, n);
  }
};

void Plan(const std::vector<std::string>& args, mr::JobPlan& plan) {
  mr::Args("typed").Parse(args);
  auto& map = plan.Map("map", "typed.map").ReadFiles().Shuffle();
  plan.Reduce("reduce", "typed.reduce").Group(map).WriteFiles();
}

// Its plan is known with arguments only.
void PlanWithArguments(const std::vector<std::string>& args, mr::JobPlan& plan) {
  if (args.empty()) throw mr::JobError("it takes one argument");
  Plan({}, plan);
}

const mr_library* Table() {
  auto& library = *new mr::Library;
  library.Add<Lengths>("typed.map", MR_DETERMINISTIC).Add<Sum>("typed.reduce", MR_DETERMINISTIC);
  library.AddJob<Plan>("typed", "sums lengths").AddJob<PlanWithArguments>("asks", "the same");
  const mr_library* table = library.table();
#ifdef MR_WITHOUT_TYPES
  for (uint32_t i = 0; i < table->operator_count; ++i) {
    const_cast<mr_operator*>(table->operators[i])->struct_size = offsetof(mr_operator, input_types);
  }
#endif
  return table;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const mr_library* mr_library_table() {
  static const mr_library* const table = Table();
  return table;
}
