// The checks of mrctl before a submit: sizes, headers of tables, outputs that another run writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/io/files.h"
#include "jobs/mrctl/input_check.h"
#include "jobs/mrctl/input_sizes.h"
#include "jobs/mrctl/output_claim.h"
#include "jobs/mrctl/plan.h"

namespace mr::ctl {
namespace {

using testing::HasSubstr;

class InputsTest : public testing::Test {
 protected:
  InputsTest() {
    char path[] = "/tmp/inputs_test.XXXXXX";
    root_ = mkdtemp(path);
    options_.bare_is_local = true;
    options_.cwd = root_;
  }
  ~InputsTest() noexcept override { (void)RemoveTree(root_); }

  void Write(const std::string& name, const std::string& bytes) {
    ASSERT_TRUE(WriteFileDurably(root_ + "/" + name, bytes).ok());
  }
  // Checks a plan that needs a column `wanted` in this file.
  Status Check(const std::string& file, bool header = true) {
    PlanTable table;
    table.uris = {file};
    table.columns = {header ? "wanted" : "2"};
    table.header = header;
    table.format = "csv";
    Plan plan;
    plan.tables = {table};
    return CheckInputs(&plan, options_, nullptr, &notes_);
  }
  // Checks a plan of a job on lines.
  Status CheckLines(const std::string& uri, const std::string& format = "text") {
    PlanInput input;
    input.files = true;
    input.uris = {uri};
    input.format = format;
    Plan plan;
    plan.stages.resize(2);
    for (PlanStage& stage : plan.stages) stage.inputs = {input};
    return CheckInputs(&plan, options_, nullptr, &notes_);
  }

  std::string root_;
  SpecOptions options_;
  std::vector<std::string> notes_;
};

TEST_F(InputsTest, AHeaderInEachPartIsNoRowAndALineWithANote) {
  ASSERT_TRUE(MakeDirectories(root_ + "/out").ok());
  Write("out/_SUCCESS", "{\"header\": \"csv\"}");
  Write("out/part-r-00000", "a,wanted\n1,2\n");
  Write("out/errors-r-00000", "a,wanted\n1,2\n");
  for (const std::string uri : {"out", "out/part-*", "out/part-r-00000"}) {
    EXPECT_TRUE(Check(uri).ok()) << uri;
    const Status numbers = Check(uri, false);
    EXPECT_EQ(numbers.code(), Code::kInvalidArgument);
    EXPECT_THAT(numbers.message(), HasSubstr("begins with a header"));
    EXPECT_THAT(numbers.message(), HasSubstr("omit --no-header")) << uri;
    EXPECT_TRUE(notes_.empty());
    EXPECT_TRUE(CheckLines(uri).ok());
    ASSERT_EQ(notes_.size(), 1u) << "one for all stages";
    EXPECT_THAT(notes_[0], HasSubstr("reads as a line like the others")) << uri;
    notes_.clear();
  }
  EXPECT_TRUE(CheckLines("out", "csv").ok() && CheckLines("out/errors-*").ok());
  EXPECT_TRUE(Check("out/errors-r-00000", false).ok());
  Write("out/_SUCCESS", "{}");
  EXPECT_TRUE(Check("out", false).ok() && CheckLines("out").ok());
  EXPECT_TRUE(notes_.empty());
}

TEST_F(InputsTest, AColumnThatATableHasNotIsToldBeforeTheJobRuns) {
  Write("good", "a,wanted\n1,2\n");
  EXPECT_TRUE(Check("good").ok());
  Write("bad", "a,b\n1,2\n");
  EXPECT_THAT(Check("bad").message(), HasSubstr("has no column 'wanted'"));
  Write("rows", "\n1,2\n");
  EXPECT_TRUE(Check("rows", false).ok()) << "a blank line is no first row";
  Write("row", "\n1\n");
  EXPECT_FALSE(Check("row", false).ok());
}

// Its beginning says nothing of the columns behind it.
TEST_F(InputsTest, ExpressionsAreCheckedBeforeTheJobRunsAndTheirTypesAreNoted) {
  Write("t.csv", "wanted,amount\nx,12\ny,n/a\n");
  const auto check = [&](const PlanExpressions& expressions, Plan* plan) {
    plan->tables = {{.uris = {"t.csv"}, .format = "csv", .header = true, .columns = {"wanted"}}};
    plan->expressions = expressions;
    return CheckInputs(plan, options_, nullptr, &notes_);
  };
  Plan missing, mistake, dropped, good;
  EXPECT_THAT(check({.where = "amont = 1", .decimal = "."}, &missing).message(),
              HasSubstr("no column 'amont' (did you mean 'amount'?); its header names: wanted, amount"));
  EXPECT_THAT(check({.where = "amount > 1", .decimal = "."}, &mistake).message(), HasSubstr("because it has 'n/a'"));
  EXPECT_THAT(check({.select = "amount", .decimal = "."}, &dropped).message(),
              HasSubstr("has no column 'wanted'; --select has: amount"));
  EXPECT_TRUE(check({.where = "amount > 1", .nulls = {"n/a"}, .decimal = "."}, &good).ok());
  EXPECT_THAT(good.notes, testing::ElementsAre("columns of the expressions: amount int (found)"));
  EXPECT_TRUE(notes_.empty());
}

TEST_F(InputsTest, AnExpressionOverATableWithAnotherSeparatorNamesTheOption) {
  Write("t.csv", "city;amount\nOslo;12\n");
  Plan plan;
  plan.tables = {{.uris = {"t.csv"}, .format = "csv", .header = true, .columns = {}}};
  plan.expressions = PlanExpressions{.where = "amount > 1", .decimal = "."};
  EXPECT_THAT(
      CheckInputs(&plan, options_, nullptr, &notes_).message(),
      HasSubstr("no column 'amount'; its header names: city;amount; that is one column: is it --separator ';'?"));
  Write("u.csv", "\"unit\nprice\",b\n1,2\n");
  plan.tables[0].uris = {"u.csv"};
  EXPECT_THAT(CheckInputs(&plan, options_, nullptr, &notes_).message(),
              HasSubstr("no column 'amount'; its header names: unit\\nprice, b"));
  plan.expressions->where = "b = 2 AND \"unit\nprice\" = 1";
  EXPECT_TRUE(CheckInputs(&plan, options_, nullptr, &notes_).ok());
  EXPECT_THAT(plan.notes, testing::ElementsAre(HasSubstr("unit\\nprice int (found)")));
}

TEST_F(InputsTest, ExpressionsOfAJoinSeeBothTables) {
  Write("l.csv", "id,n\n1,2\n");
  Write("r.csv", "id,n\n1,3\n");
  Plan plan;
  plan.tables = {{"left", {"l.csv"}, "csv", true, {"id"}}, {"right", {"r.csv"}, "csv", true, {"id"}}};
  plan.expressions = PlanExpressions{"n < right_n", "", "", {}, ".", 2, {"", "id"}};
  EXPECT_EQ(CheckInputs(&plan, options_, nullptr, &notes_).message(), "");
  plan.expressions->where = "m = 1";
  EXPECT_THAT(CheckInputs(&plan, options_, nullptr, &notes_).message(),
              HasSubstr("no column 'm'; its header names: id, n, right_n"));
}

TEST_F(InputsTest, OfAHeaderThatIsLongerThanWhatIsLookedAtNothingIsSaid) {
  std::string header = "c0";
  for (int i = 1; header.size() < 100'000; ++i) header += ",c" + std::to_string(i);
  Write("long", header + ",wanted\n");
  EXPECT_TRUE(Check("long").ok()) << Check("long").message();
  Write("without", header + "\n");
  EXPECT_TRUE(Check("without").ok()) << "the tasks will see";
  Write("lines", "a,b\n" + std::string(100'000, 'x'));
  EXPECT_FALSE(Check("lines").ok()) << "a whole header is one, however long the file is";
}

TEST_F(InputsTest, CompressedBytesCountFourTimesAndOthersOnce) {
  EXPECT_EQ(BytesOfRecords({1000, 0}), 1000u);
  EXPECT_EQ(BytesOfRecords({1000, 1000}), 4000u);
  EXPECT_EQ(BytesOfRecords({1000, 400}), 600u + 4 * 400u);
}

TEST_F(InputsTest, SizesAreToldByTheWordsThatAskedForThem) {
  Write("plain", std::string(100, 'x'));
  const auto known = MeasureInputs({"plain", "./plain", "missing"}, options_, nullptr);
  ASSERT_TRUE(known.ok()) << known.status().ToString();
  EXPECT_EQ(*known, (std::map<std::string, uint64_t>{{"plain", 100}, {"./plain", 100}}));
}

TEST_F(InputsTest, AnOutputIsClaimedOnceByWhateverPath) {
  ASSERT_TRUE(MakeDirectories(root_ + "/real").ok());
  ASSERT_EQ(symlink("real", (root_ + "/link").c_str()), 0);
  const auto held = [&](const std::string& path) {
    const auto claim = OutputClaim::Take(root_ + "/" + path);
    return !claim.ok() && claim.status().code() == Code::kRejected;
  };
  {
    const auto claim = OutputClaim::Take(root_ + "/real/out");
    ASSERT_TRUE(claim.ok()) << claim.status().ToString();
    for (const char* path : {"real/out", "link/out", "real/../real/out", "real/./out"}) EXPECT_TRUE(held(path)) << path;
    EXPECT_FALSE(held("real/other"));
  }
  EXPECT_FALSE(held("real/out")) << "it was given back";
}

}  // namespace
}  // namespace mr::ctl
