#include "master/core/record_size.h"

#include <utility>
#include <variant>
#include <vector>

#include "common/base/count.h"
#include "common/base/fields.h"
#include "common/base/text.h"

namespace mr::master {
namespace {

std::string FitPlan(sched::StagePlanned* plan, uint64_t most) {
  const uint64_t bytes = EncodeFields(*plan).size();
  if (bytes <= most) return "";
  *plan = {plan->job, plan->stage, 0, {}, TooLong("the plan of its stage", bytes, most) + "; run it with fewer tasks"};
  return plan->error;
}

std::string FitTakenOver(sched::JobTakenOver* taken, uint64_t most) {
  auto outputs = std::move(taken->outputs);  // by stage and task
  taken->outputs.clear();
  uint64_t bytes = EncodeFields(*taken).size();
  if (bytes > most) {
    std::string error = TooLong("its plan", bytes, most);
    taken->plans = {{taken->submitted.job, 0, 0, {}, error}};
    return error;
  }
  size_t first = outputs.size();
  for (; first > 0; --first) {
    const uint64_t one = EncodeFields(outputs[first - 1]).size();
    if (bytes + one > most) break;
    bytes += one;
  }
  const auto begin = outputs.begin() + static_cast<ptrdiff_t>(first);
  taken->outputs.assign(std::make_move_iterator(begin), std::make_move_iterator(outputs.end()));
  if (first == 0) return "";
  const size_t all = outputs.size();
  return std::to_string(first) + " of its " + CountOf(all, "committed output") + (first == 1 ? " has" : " have") +
         " no room in the journal's record of a takeover, and " + (first == 1 ? "is" : "are") + " made again";
}

}  // namespace

std::string TooLong(const std::string& what, uint64_t bytes, uint64_t most) {
  return what + " takes " + HumanBytes(bytes) + " of the journal, and " + HumanBytes(most) + " is the most";
}

std::string FitRecord(sched::Event* event, uint64_t most) {
  if (auto* plan = std::get_if<sched::StagePlanned>(event)) return FitPlan(plan, most);
  if (auto* taken = std::get_if<sched::JobTakenOver>(event)) return FitTakenOver(taken, most);
  return "";
}

}  // namespace mr::master
