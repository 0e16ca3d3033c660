// The export of an operator library, once in one .cc file. A whole library that counts words:
//
//   PACELINE_DEFINE_LIBRARY(library) {
//     const auto add = [](int64_t& total, int64_t n) { total += n; };
//     auto split = library.MapLines<std::string, int64_t>("words.split", [](std::string_view line, auto& out) {
//       mr::ForEachWord(line, [&](std::string_view word) { out.Emit(word, 1); });
//     }, mr::FoldBy(add));
//     auto total = library.HashReduce<std::string, int64_t>("words.total", add);
//     library.AddJob("words", "counts words", [=](mr::JobPlan& plan) {
//       auto words = plan.Map("split", split).ReadFiles();
//       plan.Reduce("total", total, words).WriteFiles();
//     });
//   }
//
// Operator adds an operator class (operator.h) and returns its handle. MapLines, Reduce, Join and the like make an
// operator of a lambda (lambda_operators.h). Plans connect handles (typed_plan.h). The form with names as strings:
//
//   PACELINE_LIBRARY(
//       PACELINE_OPERATOR(CountWords, "count", MR_DETERMINISTIC | MR_ASSOCIATIVE)
//       PACELINE_OPERATOR(SumWords, "sum", MR_DETERMINISTIC)
//       PACELINE_JOB("words", "counts words", PlanWords))
//
// PlanWords is a function void(const std::vector<std::string>& args, JobPlan& plan).
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/abi/operator_table.h"
#include "common/base/version.h"
#include "paceline/adapter.h"
#include "paceline/args.h"
#include "paceline/handle.h"
#include "paceline/lambda_operators.h"
#include "paceline/plan.h"
#include "paceline/run_plan.h"
#include "paceline/typed_plan.h"

namespace mr {

namespace sdk {
template <class F>
inline constexpr bool kTakesArgs = std::is_invocable_v<F&, const std::vector<std::string>&, JobPlan&>;

// A plan function that may capture handles: void(const std::vector<std::string>& args, JobPlan& plan), or without args.
template <class F>
concept PlanLambda = kTakesArgs<F> || std::is_invocable_v<F&, JobPlan&>;

// The plan function of one job of a living Library, by its type: the C table has no place for captured handles.
template <class F>
struct StoredPlan {
  static inline std::string job;
  static inline std::optional<F> plan;
  static void Run(const std::vector<std::string>& args, JobPlan& made) {
    if constexpr (kTakesArgs<F>) {
      (*plan)(args, made);
    } else {
      Args(job).Parse(args);
      (*plan)(made);
    }
  }
};
}  // namespace sdk

// Operators and jobs of one library, for the C table.
class Library {
 public:
  Library() = default;
  // The plan functions of its jobs end with it. Another Library may then add jobs with the same functions.
  ~Library() {
    for (void (*forget)() : forget_) forget();
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  // Adds an operator class and returns its handle, for typed plans. flags: mr_operator_flags; MR_ASSOCIATIVE belongs to
  // an operator with a Combiner, MR_RAW_BLOCKS is added for a BlockMapper.
  template <class Op>
  OperatorHandle<Op> Operator(const std::string& name, uint32_t flags = MR_DETERMINISTIC | MR_REUSABLE) {
    Add<Op>(names_.emplace_back(name).c_str(), flags);
    return OperatorHandle<Op>(name);
  }

  // Add an operator that is made of a lambda, and return its handle. The template arguments are the record types that
  // it takes, and then those that it emits; mr::Text, the default, is text for a file. `extras` add combiners,
  // partitioners and flags (lambda_operators.h). Flags: MR_DETERMINISTIC | MR_REUSABLE.

  // Maps lines: f(line, out).
  template <class K = Text, class V = Text, class F, class... Extras>
  auto MapLines(const std::string& name, F, Extras...) {
    return Lambda<sdk::LambdaLineMapper<F, K, V, Extras...>, F, Extras...>(name);
  }
  // Maps records: f(key, value, out).
  template <class KIn, class VIn, class K = Text, class V = Text, class F, class... Extras>
  auto MapRecords(const std::string& name, F, Extras...) {
    return Lambda<sdk::LambdaMapper<F, KIn, VIn, K, V, Extras...>, F, Extras...>(name);
  }
  // Maps lines with a side input of (SK, SV), held in memory: f(line, table, out), table a const SideTable<SK, SV>&.
  template <class SK, class SV, class K = Text, class V = Text, class F, class... Extras>
  auto MapLinesWith(const std::string& name, F, Extras...) {
    return Lambda<sdk::LambdaLineLookup<F, SK, SV, K, V, Extras...>, F, Extras...>(name);
  }
  // Maps records with a side input of (SK, SV), held in memory: f(key, value, table, out).
  template <class SK, class SV, class KIn, class VIn, class K = Text, class V = Text, class F, class... Extras>
  auto MapRecordsWith(const std::string& name, F, Extras...) {
    return Lambda<sdk::LambdaLookup<F, SK, SV, KIn, VIn, K, V, Extras...>, F, Extras...>(name);
  }
  // Reduces groups: f(key, values, out), values a Values<VIn>&.
  template <class KIn, class VIn, class K = Text, class V = Text, class F, class... Extras>
  auto Reduce(const std::string& name, F, Extras...) {
    return Lambda<sdk::LambdaReducer<F, KIn, VIn, K, V, Extras...>, F, Extras...>(name);
  }
  // Reduces groups by a hash table: fold(total, value), and emit(key, total, out) once per key (HashReducer).
  template <class KIn, class VIn, class K = Text, class V = Text, class FoldF, class EmitF = EmitTotal>
  auto HashReduce(const std::string& name, FoldF, EmitF = {}) {
    sdk::CheckLambda<FoldF>();
    return Lambda<sdk::LambdaHashReducer<FoldF, EmitF, KIn, VIn, K, V>, EmitF>(name);
  }
  // Joins two grouped inputs: f(key, left, right, out), left a const std::vector<L>&, right a Values<R>& (Joiner).
  template <class KIn, class L, class R, class K = Text, class V = Text, class F, class... Extras>
  auto Join(const std::string& name, F, Extras...) {
    return Lambda<sdk::LambdaJoiner<F, KIn, L, R, K, V, Extras...>, F, Extras...>(name);
  }

  // Adds an operator for plans that name it. flags as in Operator. Requires: a name that outlives the library (a
  // literal).
  template <class Op>
  Library& Add(const char* name, uint32_t flags) {
    operators_.push_back(sdk::Adapter<Op>::Table(name, flags));
    return *this;
  }
  // Adds a job. help: one line, then flags, shown by mrctl. Requires: texts that outlive the library (literals).
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
  // Adds a job whose plan function may capture handles: plan(args, plan), or plan(plan) for a job without options.
  // Errors: JobError if one lambda expression makes two jobs.
  template <sdk::PlanLambda F>
  Library& AddJob(const std::string& name, const std::string& help, F plan) {
    using Stored = sdk::StoredPlan<F>;
    if (Stored::plan.has_value())
      throw JobError("jobs '" + Stored::job + "' and '" + name + "' have the same plan function; write it twice");
    Stored::job = name;
    Stored::plan.emplace(std::move(plan));
    forget_.push_back([] { Stored::plan.reset(); });
    return AddJob<&Stored::Run>(names_.emplace_back(name).c_str(), names_.emplace_back(help).c_str());
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
  template <class Op, class F, class... Extras>
  OperatorHandle<Op> Lambda(const std::string& name) {
    sdk::CheckLambda<F>();
    return Operator<Op>(name, sdk::FlagsWith<Extras...>());
  }

  std::vector<void (*)()> forget_;  // reset the plan functions
  std::deque<std::string> names_;   // a deque: the table has their addresses
  std::deque<mr_operator> operators_;
  std::deque<mr_job> jobs_;
  std::vector<const mr_operator*> operator_pointers_;
  std::vector<const mr_job*> job_pointers_;
  mr_library table_{};
};

namespace sdk {
// Makes the table of a library that is never destroyed.
inline const mr_library* MakeLibrary(void (*fill)(Library&)) {
  auto* library = new Library;
  fill(*library);
  return library->table();
}
}  // namespace sdk

}  // namespace mr

// Defines the library's export. A function body follows, which fills the ::mr::Library& `library`. It runs once, when
// the library is loaded.
#define PACELINE_DEFINE_LIBRARY(library)                                                   \
  static void PacelineFillLibrary(::mr::Library& library);                                 \
  extern "C" __attribute__((visibility("default"))) const mr_library* mr_library_table() { \
    static const mr_library* const table = ::mr::sdk::MakeLibrary(&PacelineFillLibrary);   \
    return table;                                                                          \
  }                                                                                        \
  static void PacelineFillLibrary(::mr::Library& library)

// Adds an operator class, in PACELINE_LIBRARY.
#define PACELINE_OPERATOR(Class, name, flags) library.Add<Class>(name, flags);
// Adds a job, in PACELINE_LIBRARY.
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
