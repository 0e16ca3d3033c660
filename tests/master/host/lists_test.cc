// Lists that clients read in pages.
#include "master/host/lists.h"

#include <gtest/gtest.h>

#include "common/rpc/wire.h"
#include "tests/master/host/host_fixture.h"

namespace mr::master {
namespace {

class ListsTest : public test::HostFixture {
 protected:
  // Map `task` of the job has run on a, and counted these names with their index.
  void Count(JobId job, uint32_t task, const std::string& prefix, uint32_t names) {
    On([&] {
      mr::Report report = Finished({{job, 0, task}, 1});
      auto& finished = std::get<report::Finished>(report.what);
      finished.output.partitions = 1;
      for (uint32_t i = 0; i < names; ++i) {
        finished.counters.push_back({"group", prefix + std::to_string(100'000 + i) + std::string(400, '.'), i});
      }
      Report('a', report);
    });
  }
  struct Page {
    std::vector<std::string> names;
    uint64_t next = 0;
  };
  Page Read(JobId job, uint64_t from) {
    capnp::MallocMessageBuilder message;
    auto out = message.initRoot<rpc::MasterForClient::CountersResults>();
    Page page;
    On([&] { EXPECT_TRUE(host_->lists().FillCounters(Everything(), job, from, out).ok()); });
    for (auto counter : out.getCounters()) page.names.push_back(counter.getName().cStr());
    page.next = out.getNext();
    return page;
  }
};

TEST_F(ListsTest, PagesOfCountersAreOfOneMoment) {
  On([this] { host_->sessions().Drain(Of('b').id, true, [](const Status&) {}); });
  const auto job = Submit();
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  Count(*job, 0, "m", 3'000);
  Page page = Read(*job, 0);
  ASSERT_GT(page.next, 0u) << "more than one page";
  // Names that come before those of the first page.
  Count(*job, 1, "a", 2'000);
  std::vector<std::string> names = page.names;
  while (page.next != 0) {
    ASSERT_EQ(page.next, names.size());
    page = Read(*job, page.next);
    names.insert(names.end(), page.names.begin(), page.names.end());
  }
  ASSERT_EQ(names.size(), 3'000u);
  for (uint32_t i = 0; i < names.size(); ++i) ASSERT_EQ(names[i].substr(0, 7), "m" + std::to_string(100'000 + i));
  EXPECT_EQ(Read(*job, 0).names.front().front(), 'a') << "the next reader gets the new ones";
  EXPECT_EQ(Read(*job, 5'000).names.size(), 0u);
  EXPECT_EQ(Read(*job, 4'999).names.size(), 1u);
}

}  // namespace
}  // namespace mr::master
