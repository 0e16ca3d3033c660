// The job without a cluster, cut into splits and batches that are far too small, on purpose.
#include "paceline/testing.h"

#include <cstdio>
#include <string>

extern "C" const mr_library* mr_library_table();

int main() {
  mr::LocalJob job(mr_library_table(), {.split_bytes = 10, .reduces = 1, .batch_records = 1});
  job.Input("access.log", "b.org /x 5\na.org / 100\nnonsense\na.org /y 11\nb.org / many\n");
  const mr::LocalResult result = job.Run("visits");
  const std::string expected = "a.org\t2\t111\nb.org\t1\t5\n";
  const bool ok = result.ok && result.Output() == expected &&
                  result.counters.at({"read", "lines skipped"}) == 2;
  if (!ok) std::printf("%s\n%s", result.error.c_str(), result.Output().c_str());
  return ok ? 0 : 1;
}
