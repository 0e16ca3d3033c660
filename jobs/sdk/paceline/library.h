// The export of an operator library. In one .cc file:
//
//   PACELINE_LIBRARY(
//       PACELINE_OPERATOR(CountWords, "count", MR_DETERMINISTIC | MR_ASSOCIATIVE)
//       PACELINE_OPERATOR(SumWords, "sum", MR_DETERMINISTIC)
//       PACELINE_JOB("words", "counts words", PlanWords))
//
// PlanWords is a function void(const std::vector<std::string>& args, JobPlan& plan). Larger libraries fill the Library
// in a function: PACELINE_LIBRARY(AddOperators(library);).
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "common/abi/operator_table.h"
#include "common/base/version.h"
#include "paceline/adapter.h"
#include "paceline/plan.h"

namespace mr {

// Turns the arguments of a job into its plan. Errors: any exception; its text is shown to the user. A JobError other
// than PlanError refuses the arguments: it is no fault of the plan if they are missing.
using PlanFunction = void (*)(const std::vector<std::string>& args, JobPlan& plan);

namespace sdk {
inline PlanFacts FactsOf(const mr_plan_args* args) {
  PlanFacts facts;
  if (MR_HAS(args, memory_bytes)) facts.memory_bytes = args->memory_bytes;
  facts.input_bytes = [args](const std::vector<std::string>& uris) -> std::optional<uint64_t> {
    std::vector<mr_bytes> list;
    list.reserve(uris.size());
    for (const std::string& uri : uris) list.push_back(Bytes(uri));
    uint64_t bytes = 0;
    if (args->input_bytes(args->context, static_cast<uint32_t>(list.size()), list.data(), &bytes) == 0)
      return std::nullopt;
    return bytes;
  };
  return facts;
}

template <PlanFunction kPlan>
int RunSizedPlan(const mr_plan_args* sized, mr_sink plan, mr_sink error) noexcept {
  bool refused = false;
  const int failed = Guard(
      [&] {
        std::vector<std::string> args;
        for (uint32_t i = 0; i < sized->argc; ++i) args.emplace_back(View(sized->argv[i]));
        JobPlan made(FactsOf(sized));
        try {
          kPlan(args, made);
        } catch (const PlanError&) {
          throw;
        } catch (const JobError&) {
          refused = true;
          throw;
        }
        plan.write(plan.context, Bytes(made.Json()));
      },
      [&](const std::string& why) { error.write(error.context, Bytes(why)); });
  return failed == 0 ? MR_PLAN_OK : refused ? MR_PLAN_REFUSED : MR_PLAN_FAILED;
}

// Runs the plan for a host that knows no input sizes.
template <PlanFunction kPlan>
int RunPlan(uint32_t argc, const mr_bytes* argv, mr_sink plan, mr_sink error) noexcept {
  mr_plan_args args{};
  args.struct_size = sizeof args;
  args.argc = argc;
  args.argv = argv;
  args.input_bytes = [](void*, uint32_t, const mr_bytes*, uint64_t*) { return 0; };
  return RunSizedPlan<kPlan>(&args, plan, error);
}
}  // namespace sdk

// Operators and jobs of one library, for the C table. Requires: names that outlive it (literals).
class Library {
 public:
  Library() = default;
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  // Adds an operator. flags: mr_operator_flags; MR_RAW_BLOCKS is added for a BlockMapper.
  template <class Op>
  Library& Add(const char* name, uint32_t flags) {
    operators_.push_back(sdk::Adapter<Op>::Table(name, flags));
    return *this;
  }
  // Adds a job. help: one line, then flags, shown by mrctl.
  template <PlanFunction kPlan>
  Library& AddJob(const char* name, const char* help) {
    mr_job job{};
    job.struct_size = sizeof job;
    job.name = name;
    job.help = help;
    job.plan = &sdk::RunPlan<kPlan>;
    job.plan_sized = &sdk::RunSizedPlan<kPlan>;
    jobs_.push_back(job);
    return *this;
  }

  // Returns the table. Valid as long as the Library, and until the next Add.
  const mr_library* table() {
    operator_pointers_.clear();
    job_pointers_.clear();
    for (const auto& o : operators_) operator_pointers_.push_back(&o);
    for (const auto& j : jobs_) job_pointers_.push_back(&j);
    table_.magic = MR_ABI_MAGIC;
    table_.abi = MR_ABI_VERSION;
    table_.struct_size = sizeof table_;
    table_.operator_count = static_cast<uint32_t>(operator_pointers_.size());
    table_.operators = operator_pointers_.data();
    table_.job_count = static_cast<uint32_t>(job_pointers_.size());
    table_.jobs = job_pointers_.data();
    table_.built_with = "paceline " PACELINE_VERSION ", compiler " __VERSION__;
    return &table_;
  }

 private:
  std::deque<mr_operator> operators_;
  std::deque<mr_job> jobs_;
  std::vector<const mr_operator*> operator_pointers_;
  std::vector<const mr_job*> job_pointers_;
  mr_library table_{};
};

}  // namespace mr

#define PACELINE_OPERATOR(Class, name, flags) library.Add<Class>(name, flags);
#define PACELINE_JOB(name, help, plan_function) library.AddJob<plan_function>(name, help);

// Defines the library's export. `fill` is a statement that uses a local `mr::Library& library`. The library is made
// once and never destroyed.
#define PACELINE_LIBRARY(fill)                                                             \
  extern "C" __attribute__((visibility("default"))) const mr_library* mr_library_table() { \
    static const mr_library* const table = [] {                                            \
      auto& library = *new ::mr::Library;                                                  \
      fill return library.table();                                                         \
    }();                                                                                   \
    return table;                                                                          \
  }
