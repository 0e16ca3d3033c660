#include "common/model/job_spec.h"

#include <algorithm>

#include "common/base/digest.h"

namespace mr {
namespace {

constexpr size_t kMaxOperatorName = 200;  // bytes of a name that OperatorOf returns

}  // namespace

bool Known(EdgeKind kind) { return kind >= EdgeKind::kAllToAll && kind <= EdgeKind::kBroadcast; }
bool Known(Wish wish) { return wish <= Wish::kOff; }

bool StageSpec::reads_files() const {
  return std::any_of(inputs.begin(), inputs.end(), [](const InputSpec& input) { return !input.is_edge; });
}

bool StageSpec::splits() const {
  return std::any_of(inputs.begin(), inputs.end(), [](const InputSpec& input) { return input.splits; });
}

bool StageSpec::is_final() const {
  return std::any_of(ports.begin(), ports.end(), [](const PortSpec& port) { return port.files; });
}

std::string JobSpec::OperatorOf(const StageSpec& stage) const {
  const std::string op = stage.operator_name.substr(0, kMaxOperatorName);
  if (!library.empty() && !stage.builtin) return library + ":" + op;
  return "built-in:" + op + ":" + Hash128(stage.config).Hex();
}

}  // namespace mr
