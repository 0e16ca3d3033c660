// Prints the scheduler's digest after each step of a random run, for a comparison between
// processes: sched_trace SEED EVENTS [POLICIES].
#include <cstdio>
#include <cstdlib>

#include "tests/master/sched/random_cluster.h"

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    std::fprintf(stderr, "usage: sched_trace SEED EVENTS [POLICIES]\n");
    return 2;
  }
  mr::sched::RandomCluster cluster(std::strtoull(argv[1], nullptr, 10), argc == 4 ? argv[3] : "fifo");
  const std::string error = cluster.Run(std::atoi(argv[2]), 1000);
  for (const uint64_t digest : cluster.digests()) {
    std::printf("%016llx\n", static_cast<unsigned long long>(digest));
  }
  if (error.empty()) return 0;
  std::fprintf(stderr, "%s\n", error.c_str());
  return 1;
}
