// Runs the job without a cluster. Splits and batches are far too small, on purpose.
#include "paceline/testing.h"

#include <cstdio>
#include <string>

extern "C" const mr_library* mr_library_table();

namespace {

constexpr char kLog[] =
    "www.b.org /x 5\na.org / 100\nnonsense\na.org /y 11\nwww.b.org / many\na.org / 12abc\nb.org / 7\n";

int failures = 0;

void Expect(bool holds, const char* what, const mr::LocalResult& result) {
  if (holds) return;
  ++failures;
  std::printf("not so: %s\n%s\n%s", what, result.Failure().c_str(), result.Output().c_str());
}

}  // namespace

int main() {
  mr::LocalJob job(mr_library_table(), {.split_bytes = 10, .reduces = 1, .batch_records = 1});
  const mr::LocalResult one = job.Input("access.log", kLog).Run("visits");
  Expect(one.ok && one.Output() == "a.org\t2\t111\nb.org\t1\t7\nwww.b.org\t1\t5\n", "costs are summed by host", one);
  Expect(one.ok && one.counters.at({"read", "lines skipped"}) == 3, "three lines are skipped", one);

  mr::LocalJob wide(mr_library_table(), {.split_bytes = 10, .reduces = 4});
  const mr::LocalResult four = wide.Input("access.log", kLog).Run("visits");
  bool together = false;
  for (const std::string& part : four.parts) together |= part.find("b.org\t1\t7\nwww.b.org\t1\t5\n") != part.npos;
  Expect(four.ok && together, "a domain is in one part", four);

  // The answer does not depend on how the engine cuts, combines, orders and repeats its work.
  const mr::Determinism same = mr::ExpectDeterministic(wide, "visits");
  if (!same.ok) ++failures;
  std::printf("%s", same.ok ? "" : (same.text + "\n").c_str());
  return failures == 0 ? 0 : 1;
}
