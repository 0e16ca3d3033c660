// Splits of files behind URLs: an attempt with many of them, and a server that fails.
#include "worker/daemon/url_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <kj/async-io.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/model/stage_info.h"
#include "tests/common/url/server.h"
#include "worker/daemon/inputs.h"

namespace mr::worker {
namespace {

using testing::HasSubstr;

class UrlInputsTest : public testing::Test {
 protected:
  ~UrlInputsTest() noexcept override {}  // destructors of KJ may throw
  static std::shared_ptr<const url::Reader> ReaderOf(const url::TestServer& server) {
    url::ReaderOptions options;
    options.roots = url::UrlRoots::Parse(server.Url("/")).value();
    options.first_wait = Millis(1);
    options.tries = 3;
    return std::make_shared<const url::Reader>(std::move(options));
  }
  // Opens `splits` splits of 100 bytes in one attempt.
  Result<OpenedInputs> Open(UrlInputs& urls, const url::TestServer& server, uint64_t splits) {
    InputOpener opener([](const std::function<void()>& fn) { fn(); },
                       []() -> kj::Promise<dfs::DfsClient*> { return static_cast<dfs::DfsClient*>(nullptr); },
                       testing::TempDir(), FileRoots(), urls);
    const auto stage = std::make_shared<StageInfo>();
    stage->spec.inputs.resize(1);
    stage->spec.inputs[0].files.format = "text";
    std::vector<SplitToRead> list(splits);
    for (uint64_t i = 0; i < splits; ++i) {
      list[i].uri = server.Url("/a");
      list[i].offset = 100 * i;
      list[i].length = 100;
      list[i].file_bytes = 100 * splits;
    }
    return opener.Open(stage, list).wait(io_.waitScope);
  }

  kj::AsyncIoContext io_ = kj::setupAsyncIo();
};

TEST_F(UrlInputsTest, OpensAllSplitsOfAnAttempt) {
  const std::string text(2000, 'x');
  url::TestServer server([&](const url::TestRequest& request) { return url::RangeAnswer(request, text, "\"v1\""); });
  UrlInputs urls(ReaderOf(server), 2, testing::TempDir());
  const auto opened = Open(urls, server, 20);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_EQ(opened->splits.size(), 20u);
  EXPECT_EQ(opened->splits[19].fd_offset, 1900u);
  EXPECT_EQ(opened->splits[19].fd_length, 100u);
}

TEST_F(UrlInputsTest, TheFirstFailureEndsTheOtherSplitsOfItsAttempt) {
  url::TestServer server([](const url::TestRequest&) { return url::TestAnswer{503, {}, "busy"}; });
  UrlInputs urls(ReaderOf(server), 2, testing::TempDir());
  const auto opened = Open(urls, server, 20);
  EXPECT_EQ(opened.status().code(), Code::kUnavailable) << "not that a split was cancelled";
  EXPECT_THAT(opened.status().message(), HasSubstr("503"));
  EXPECT_LE(server.requests().size(), 6u) << "three tries on each thread";
  // Another attempt is not cancelled.
  EXPECT_EQ(Open(urls, server, 1).status().code(), Code::kUnavailable);
}

}  // namespace
}  // namespace mr::worker
