// An operator that tries an attack for each line of its input, and writes the outcomes. For
// tests/cluster/rooms_test.cc.
#include "paceline/paceline.h"
#include "tests/cluster/lib/attacks.h"

namespace {

// Code of a library runs before the operator does: this, too, must be in a room.
const std::string kAtLoad = mr::test::TryAttack("socket_unix");

class Attack : public mr::LineMapper<std::string, std::string> {
 public:
  void Map(std::string_view line, Out& out) {
    const std::string text(line);
    out.Emit(text, text == "socket_unix at_load" ? kAtLoad : mr::test::TryAttack(text));
  }
};

void PlanAttack(const std::vector<std::string>& argv, mr::JobPlan& plan) {
  mr::Args("attack").Parse(argv);
  plan.Map("attack", "attack").ReadFiles().WriteFiles();
}

}  // namespace

PACELINE_LIBRARY(PACELINE_OPERATOR(Attack, "attack", MR_DETERMINISTIC)
                     PACELINE_JOB("attack", "tries attacks", PlanAttack))
