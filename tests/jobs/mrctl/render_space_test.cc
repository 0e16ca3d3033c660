#include <gtest/gtest.h>

#include "jobs/mrctl/render.h"

namespace mr::ctl {
namespace {

TEST(RenderSpaceTest, WorkersThatShareADiskCountItsFreeSpaceOnce) {
  std::vector<WorkerStatus> workers(4);
  for (size_t i = 0; i < workers.size(); ++i) {
    workers[i].id = "w" + std::to_string(i + 1);
    workers[i].state = "live";
    workers[i].disk = i < 2 ? 5 : i;  // the first two are on one disk
    workers[i].used_bytes = 10 * (i + 1);
    workers[i].capacity_bytes = 100 + workers[i].used_bytes;
  }
  workers[1].capacity_bytes -= 1;  // it looked a little later
  workers[3].state = "lost";
  const StoreSpace space = SpaceOfStore(workers);
  EXPECT_EQ(space.used_bytes, 60u);
  EXPECT_EQ(space.capacity_bytes, 60u + 99 + 100);
  EXPECT_EQ(space.shared, std::vector<std::string>{"w1, w2"});
  for (WorkerStatus& w : workers) w.disk = 0;
  EXPECT_EQ(SpaceOfStore(workers).capacity_bytes, 60u + 299) << "unknown disks count as different ones";
  EXPECT_TRUE(SpaceOfStore(workers).shared.empty());
}

}  // namespace
}  // namespace mr::ctl
