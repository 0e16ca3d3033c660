// The functions of run_plan.h.
#pragma once

#include "paceline/compiled.h"
#include "paceline/error.h"
#include "paceline/run_plan.h"

namespace mr::sdk {

PACELINE_INLINE PlanFacts FactsOf(const mr_plan_args* args) {
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

PACELINE_INLINE int RunPlanFunction(PlanFunction function, const mr_plan_args* sized, mr_sink plan,
                                    mr_sink error) noexcept {
  bool refused = false;
  const int failed = Guard(
      [&] {
        std::vector<std::string> args;
        for (uint32_t i = 0; i < sized->argc; ++i) args.emplace_back(View(sized->argv[i]));
        JobPlan made(FactsOf(sized));
        try {
          function(args, made);
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

PACELINE_INLINE int RunPlanFunction(PlanFunction function, uint32_t argc, const mr_bytes* argv, mr_sink plan,
                                    mr_sink error) noexcept {
  mr_plan_args args{};
  args.struct_size = sizeof args;
  args.argc = argc;
  args.argv = argv;
  args.input_bytes = [](void*, uint32_t, const mr_bytes*, uint64_t*) { return 0; };
  return RunPlanFunction(function, &args, plan, error);
}

}  // namespace mr::sdk
