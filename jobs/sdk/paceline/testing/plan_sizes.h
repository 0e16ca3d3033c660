// Input sizes that a test gives to a job's plan, and the call of that plan.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/abi/operator_table.h"
#include "paceline/error.h"

namespace mr::sdk {

class PlanSizes {
 public:
  void SetBytes(const std::string& uri, uint64_t bytes) { bytes_[uri] = bytes; }
  void SetMemory(uint64_t bytes) { memory_bytes_ = bytes; }

  // Returns the plan document. Errors: JobError with the job's refusal.
  std::string Plan(const mr_job& job, const std::vector<std::string>& args) const {
    std::vector<mr_bytes> argv;
    for (const auto& arg : args) argv.push_back(Bytes(arg));
    std::string text, error;
    const auto write = [](void* to, mr_bytes part) { static_cast<std::string*>(to)->append(View(part)); };
    mr_plan_args given{};
    given.struct_size = sizeof given;
    given.argc = static_cast<uint32_t>(argv.size());
    given.argv = argv.data();
    given.context = const_cast<PlanSizes*>(this);
    given.input_bytes = &PlanSizes::InputBytes;
    given.memory_bytes = memory_bytes_;
    const bool sized = MR_HAS(&job, plan_sized) && job.plan_sized != nullptr;
    const int failed = sized ? job.plan_sized(&given, {&text, write}, {&error, write})
                             : job.plan(given.argc, given.argv, {&text, write}, {&error, write});
    if (failed != 0) throw JobError(error);
    return text;
  }

 private:
  static int InputBytes(void* context, uint32_t count, const mr_bytes* uris, uint64_t* sum) {
    const auto& known = static_cast<const PlanSizes*>(context)->bytes_;
    *sum = 0;
    for (uint32_t i = 0; i < count; ++i) {
      const auto at = known.find(std::string(View(uris[i])));
      if (at == known.end()) return 0;
      *sum += at->second;
    }
    return 1;
  }

  std::map<std::string, uint64_t> bytes_;  // by URI
  uint64_t memory_bytes_ = 0;
};

}  // namespace mr::sdk
