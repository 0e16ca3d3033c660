// Turns "fifo,late(cap=0.2)" into policies, and runs them in that order on one draft.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "master/sched/policy.h"

namespace mr::sched {

// The parameters in a policy's parentheses. A policy's factory takes what it knows; what nobody
// took is an error that names it.
class PolicyParams {
 public:
  explicit PolicyParams(std::map<std::string, std::string> values) : values_(std::move(values)) {}
  // The number under `name`, or `otherwise` where there is none. kInvalidArgument outside
  // [low, high] or where it is no number.
  Result<double> Number(const std::string& name, double otherwise, double low, double high);
  // The same for "60s", "250ms", "0s"; and for "on" or "off".
  Result<Duration> Time(const std::string& name, Duration otherwise);
  Result<bool> Flag(const std::string& name, bool otherwise);
  // One of `words`, the first where none is given; as its index. kInvalidArgument for another.
  Result<size_t> Choice(const std::string& name, const std::vector<std::string_view>& words);
  // kInvalidArgument where a parameter was given that nobody asked for.
  Status AllTaken() const;

 private:
  std::optional<std::string> Take(const std::string& name);

  std::map<std::string, std::string> values_;
  std::vector<std::string> known_;
};

class Pipeline {
 public:
  // An empty pipeline does nothing.
  Pipeline() = default;
  // A list without a policy that places work (fifo, fair) begins with fifo.
  static Result<Pipeline> Parse(std::string_view list);
  // kInvalidArgument where the list, good by itself, is no job's to choose: a policy of cluster scope.
  static Status CheckJobScope(std::string_view list);

  // What these policies ask of the state's indexes.
  Sharing sharing() const;

  // Runs every policy on the draft; with `only`, the one of this name.
  void Refine(const Trigger& trigger, const View& view, Plan* plan,
              std::string_view only = {}) const;

  // Of any policy.
  bool Seeks(const View& view, SlotKind kind) const;
  bool WantsStatistics() const;

 private:
  std::vector<std::unique_ptr<Policy>> policies_;
};

}  // namespace mr::sched
