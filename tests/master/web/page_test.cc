#include "master/web/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mr::web {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(SitePageTest, TextsCannotLeaveTheirElements) {
  const std::string bad = "</script><!--<script>alert(1)</script>";
  PageInfo info{"job", bad, "../", "api/v1/jobs/x", bad, "1"};
  const std::string page = PageText(info, "{\"name\":\"" + bad + "\"}");
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("<!--")));
  EXPECT_THAT(page, HasSubstr("\\u003c/script>"));
  EXPECT_THAT(page, HasSubstr("\"root\":\"../\""));
  EXPECT_THAT(page, Not(HasSubstr("{{")));
}

TEST(SitePageTest, ThePolicyAllowsNoOtherScript) {
  const std::string policy = PagePolicy();
  EXPECT_THAT(policy, HasSubstr("default-src 'none'; script-src 'sha256-"));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
  EXPECT_THAT(policy, HasSubstr("frame-ancestors 'none'"));
}

}  // namespace
}  // namespace mr::web
