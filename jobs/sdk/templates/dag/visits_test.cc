// Runs the job without a cluster. Splits and batches are far too small, on purpose.
#include "paceline/testing.h"

#include <cstdio>
#include <string>

extern "C" const mr_library* mr_library_table();

namespace {

constexpr char kOwners[] = "a.org ann\nb.org bob\nidle.org eve\n";
constexpr char kLog[] = "b.org /x 5\na.org / 100\nnobody.net / 1\na.org /y 11\n";

int failures = 0;

void Expect(bool holds, const char* what, const mr::LocalResult& result) {
  if (holds) return;
  ++failures;
  std::printf("not so: %s\n%s\n%s", what, result.Failure().c_str(), result.Output().c_str());
}

}  // namespace

int main() {
  mr::LocalJob job(mr_library_table(), {.split_bytes = 10, .reduces = 3, .batch_records = 1});
  job.Input("owners", kOwners, 0).Input("access.log", kLog, 1);
  const mr::LocalResult summed = job.Run("visits");
  Expect(summed.ok && mr::SortedOutput(summed) == "ann\t2\t111\nbob\t1\t5\nunknown\t1\t1\n",
         "costs are summed by owner", summed);
  Expect(summed.ok && summed.counters.at({"read", "requests without an owner"}) == 1, "one owner is not known", summed);

  mr::LocalJob bad(mr_library_table());
  const mr::LocalResult refused =
      bad.Input("owners", kOwners, 0).Input("access.log", "a.org / many\n", 1).Run("visits");
  Expect(!refused.ok && refused.error.find("'many' is not a number") != std::string::npos, "a bad line fails the job",
         refused);

  // The answer does not depend on how the engine cuts, combines, orders and repeats its work.
  const mr::Determinism same = mr::ExpectDeterministic(job, "visits");
  if (!same.ok) ++failures;
  std::printf("%s", same.ok ? "" : (same.text + "\n").c_str());
  return failures == 0 ? 0 : 1;
}
