// The block store's calls on a host that runs them at once.
#include "dfs/meta/service.h"

#include <gtest/gtest.h>
#include <kj/async-io.h>

#include <set>

#include "tests/dfs/namespace_testing.h"
#include "tests/support/anybody.h"

namespace mr::dfs {
namespace {

class ServiceTest : public NamespaceTest, public FsHost {
 protected:
  kj::Promise<Changed> Mutate(PrepareFn prepare, std::function<void(const Namespace&)>) override {
    return Changed(Do(prepare(ns_, At())));
  }
  kj::Promise<void> Query(std::function<void(const Namespace&)> fn) override {
    ++queries_;
    fn(ns_);
    return kj::READY_NOW;
  }
  size_t queries_ = 0;
};

TEST_F(ServiceTest, AHealthAnswerOfManyFilesTakesManyTurnsOfTheOwnersThread) {
  Join(1);
  for (int i = 0; i < 9000; ++i) ASSERT_TRUE(Do(ns_.PrepareMkdir(At(), "/d" + std::to_string(i))).ok());
  Put("/f");
  auto io = kj::setupAsyncIo();
  const auto response = MakeFileSystem(*this, mr::test::Anybody()).healthRequest().send().wait(io.waitScope);
  EXPECT_EQ(response.getHealth().getFiles(), 1u);
  EXPECT_EQ(queries_, 3u);
}

TEST_F(ServiceTest, AListIsWholeOverItsPages) {
  const std::string stem(200, 'd');
  for (int i = 0; i < 5000; ++i) ASSERT_TRUE(Do(ns_.PrepareMkdir(At(), "/top/" + stem + std::to_string(i))).ok());
  auto io = kj::setupAsyncIo();
  auto files = MakeFileSystem(*this, mr::test::Anybody());
  std::set<std::string> names;
  std::string last;
  size_t pages = 0;
  for (bool more = true; more; ++pages) {
    auto request = files.listRequest();
    request.setPath("/top");
    request.setAfter(last.c_str());
    const auto response = request.send().wait(io.waitScope);
    ASSERT_GT(response.getEntries().size(), 0u);
    for (const auto entry : response.getEntries()) {
      last = entry.getPath().cStr();
      EXPECT_TRUE(names.insert(last).second) << last << " comes twice";
    }
    more = response.getMore();
  }
  EXPECT_GT(pages, 1u);
  EXPECT_EQ(names.size(), 5000u);
}

}  // namespace
}  // namespace mr::dfs
