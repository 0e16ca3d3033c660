// Outputs on the local disk: the parts that are printed, and inputs that are there although the store has none.
#include "jobs/mrctl/local_parts.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "common/io/files.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/missing_input.h"

namespace mr::ctl {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class LocalPartsTest : public testing::Test {
 protected:
  LocalPartsTest() {
    std::string path = testing::TempDir() + "local_parts.XXXXXX";
    EXPECT_NE(mkdtemp(path.data()), nullptr);
    root_ = path;
  }
  ~LocalPartsTest() override { EXPECT_TRUE(RemoveTree(root_).ok()); }

  void Write(const std::string& name, const std::string& bytes) {
    ASSERT_TRUE(WriteFileDurably(root_ + "/" + name, bytes).ok());
  }
  Status Merge(const std::string& to, bool overwrite = false) {
    MR_ASSIGN_OR_RETURN(const auto parts, LocalPartsIn(root_));
    return WriteWholeFile(root_ + "/" + to, overwrite, [&parts](int fd) {
      for (const LocalPartFile& part : parts) MR_RETURN_IF_ERROR(CopyLocalPart(part, fd));
      return Status::Ok();
    });
  }

  std::string root_;
};

TEST_F(LocalPartsTest, PartsOfATableAreMergedWithOneHeader) {
  Write("_SUCCESS", R"({"version": 1, "header": "csv", "parts": []})");
  Write("part-r-00000", "city,n\nRome,1\n");
  Write("part-r-00001", "city,n\n");
  Write("part-r-00002", "city,n\nOslo,2\n");
  Write(".hidden", "no\n");
  ASSERT_TRUE(MakeDirectories(root_ + "/below").ok());
  ASSERT_TRUE(Merge("_merged").ok());
  EXPECT_EQ(*ReadFile(root_ + "/_merged"), "city,n\nRome,1\nOslo,2\n");
  EXPECT_EQ(Merge("_merged").code(), Code::kRejected) << "it exists";
  EXPECT_TRUE(Merge("_merged", true).ok());
}

TEST_F(LocalPartsTest, OnlyRegularFilesAreRead) {
  Write("part-r-00000", "a\n");
  ASSERT_EQ(mkfifo((root_ + "/part-r-00001").c_str(), 0600), 0);
  const auto parts = LocalPartsIn(root_);
  ASSERT_TRUE(parts.ok()) << parts.status().ToString();
  ASSERT_EQ(parts->size(), 1u) << "a FIFO would never end";
  EXPECT_EQ(parts->front().path, root_ + "/part-r-00000");
}

TEST_F(LocalPartsTest, AFullDiskFailsTheCopy) {
  Write("part-r-00000", "a\n");
  const auto full = OpenFile("/dev/full", O_WRONLY);
  ASSERT_TRUE(full.ok());
  EXPECT_EQ(CopyLocalPart({root_ + "/part-r-00000", 0}, full->get()).code(), Code::kOverloaded);
}

TEST_F(LocalPartsTest, AFailedWriteLeavesNothing) {
  const Status failed = WriteWholeFile(root_ + "/out", false, [](int) { return Internal("no"); });
  EXPECT_EQ(failed.code(), Code::kInternal);
  EXPECT_THAT(*ListDirectory(root_), testing::IsEmpty());
  EXPECT_EQ(LocalPartsIn(root_ + "/absent").status().code(), Code::kNotFound);
}

TEST_F(LocalPartsTest, AnInputThatOnlyThisMachineHasIsExplained) {
  Write("sales.csv", "a\n");
  const auto hint = [&](const std::string& text, const std::string& cwd) {
    return ToFailure(WithLocalFile(NotFound(text), cwd)).hint;
  };
  const std::string local = root_ + "/sales.csv";
  EXPECT_THAT(hint("input dfs:///sales.csv does not exist", root_),
              AllOf(HasSubstr("mrctl fs put " + local + " /sales.csv"), HasSubstr("file://" + local),
                    HasSubstr("submit --local")));
  EXPECT_THAT(hint("input dfs://" + local + " does not exist (did you mean 'sale.csv'?)", "/"),
              HasSubstr("mrctl fs put " + local));
  EXPECT_EQ(hint("input dfs:///absent.csv does not exist", root_), "");
  EXPECT_EQ(hint("there is no such job", root_), "");
}

TEST(WithLocalWayTest, OnlyCommandsThatWorkWithoutAMasterSaySo) {
  const Status none = WithHint(Unavailable("no master: connection refused"), "start one");
  EXPECT_THAT(ToFailure(WithLocalWay(none, "submit")).hint, AllOf(HasSubstr("start one"), HasSubstr("submit --local")));
  EXPECT_THAT(ToFailure(WithLocalWay(none, "fs")).hint, HasSubstr("file:///path"));
  EXPECT_THAT(ToFailure(WithLocalWay(none, "jobs")).hint, HasSubstr("jobs --local"));
  for (const char* verb : {"kill", "workers", "queue", "top", "wait"}) {
    EXPECT_EQ(ToFailure(WithLocalWay(none, verb)).hint, "start one") << verb;
  }
  const Status other = WithHint(Unavailable("the master speaks protocol 3"), "use its release");
  EXPECT_EQ(ToFailure(WithLocalWay(other, "submit")).hint, "use its release");
}

}  // namespace
}  // namespace mr::ctl
