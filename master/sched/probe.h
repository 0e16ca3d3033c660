// Measures the calls of policies. The host implements it, since the scheduler has no clock.
#pragma once

#include <string_view>

namespace mr::sched {

class PolicyProbe {
 public:
  virtual ~PolicyProbe() = default;
  // A call of this policy begins. Calls nest: a policy may ask whether a later one refuses a launch.
  virtual void Begin(std::string_view policy) = 0;
  // The call that began last ends.
  virtual void End() = 0;
};

// One call of a policy, from its construction to its end. A null probe measures nothing.
class ProbedCall {
 public:
  ProbedCall(PolicyProbe* probe, std::string_view policy) : probe_(probe) {
    if (probe_ != nullptr) probe_->Begin(policy);
  }
  ~ProbedCall() {
    if (probe_ != nullptr) probe_->End();
  }
  ProbedCall(const ProbedCall&) = delete;
  ProbedCall& operator=(const ProbedCall&) = delete;

 private:
  PolicyProbe* const probe_;
};

}  // namespace mr::sched
