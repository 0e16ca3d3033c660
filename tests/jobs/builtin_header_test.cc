// The headers of tables: each part begins with the names of the columns, which another job can choose.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/jobs/builtin_run.h"

namespace mr::builtin {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::StartsWith;

constexpr char kVisits[] = "user,time,page\nann,10,/a\nbob,20,/b\nann,30,/c\n";
constexpr char kUsers[] = "id,page,user\n1,home,ann\n2,shop,bob\n";

// Each shape writes this header into every part.
void ExpectHeader(const std::string& job, const std::vector<std::string>& args, const std::string& header) {
  for (const LocalOptions& shape : Shapes()) {
    const LocalResult result =
        LocalJob(Builtins(), shape).Input("visits", kVisits).File("l", kVisits).File("r", kUsers).Run(job, args);
    ASSERT_TRUE(result.ok) << result.error;
    EXPECT_EQ(result.header, header) << job;
    EXPECT_THAT(result.parts, Each(StartsWith(header))) << job;
  }
}

TEST(HeaderTest, NamesTheColumnsInEachPart) {
  ExpectHeader("aggregate", {"--by", "user,page", "--agg", "count, sum(time),distinct(page)"},
               "user,page,count,sum(time),distinct(page)\n");
  ExpectHeader("aggregate", {}, "count\n");
  ExpectHeader("topk", {"--by", "time"}, "user,time,page\n");
  ExpectHeader("sessionize", {"--user", "user", "--time", "time"}, "user,session,first_time,last_time,events\n");
  for (const char* bytes : {"0", "1m"}) {
    const auto join = [&](std::vector<std::string> args, const std::string& header) {
      args.insert(args.end(), {"--left", "l", "--right", "r", "--on", "user", "--broadcast-bytes", bytes});
      ExpectHeader("join", args, header);
    };
    join({}, "user,time,page,id,right_page\n");
    join({"--type", "semi"}, "user,time,page\n");
    join({"--type", "anti"}, "user,time,page\n");
    join({"--type", "full"}, "user,time,page,id,right_page\n");
  }
}

TEST(HeaderTest, EitherSideOfAJoinMayBeSentToAllTasks) {
  for (const size_t small : {0, 1}) {
    LocalJob job(Builtins(), Shapes()[1]);
    job.File("l", kVisits).File("r", kUsers).InputBytes("l", small == 0 ? 10 : 1000).InputBytes("r", small ? 10 : 1000);
    const LocalResult result =
        job.Run("join", {"--left", "l", "--right", "r", "--left-on", "user", "--right-on", "user"});
    ASSERT_TRUE(result.ok) << result.error;
    ASSERT_EQ(result.stages.back().op, "join.lookup");
    EXPECT_EQ(result.header, "user,time,page,id,right_page\n");
  }
}

TEST(HeaderTest, ANameThatIsTakenGetsAPrefixUntilItIsFree) {
  LocalJob job(Builtins(), Shapes()[1]);
  job.File("l", "k,a,right_a\n1,2,3\n").File("r", "k,a\n1,4\n");
  EXPECT_EQ(job.Run("join", {"--left", "l", "--right", "r", "--on", "k"}).Output(),
            "k,a,right_a,right_right_a\n1,2,3,4\n");
}

TEST(HeaderTest, IsQuotedLikeTheRowsAndHasTheirSeparator) {
  EXPECT_EQ(LocalJob(Builtins()).Input("t", "\"a,\"\"b\",c\n1,2\n").Run("topk", {"--by", "c"}).Output(),
            "\"a,\"\"b\",c\n1,2\n");
  EXPECT_EQ(LocalJob(Builtins()).Input("t", "a;b\n1;2\n").Run("aggregate", {"--by", "b", "--separator", ";"}).Output(),
            "b;count\n2;1\n");
}

TEST(HeaderTest, APartWithoutRowsHasOne) {
  const LocalResult result = LocalJob(Builtins(), Shapes()[2]).Input("t", "a,b\n1,2\n").Run("aggregate", {"--by", "a"});
  ASSERT_TRUE(result.ok) << result.error;
  ASSERT_EQ(result.parts.size(), 5u);
  EXPECT_EQ(std::count(result.parts.begin(), result.parts.end(), "a,count\n"), 4);
  EXPECT_EQ(LocalJob(Builtins()).Input("t", "a,b\n").Run("topk", {"--by", "a"}).Output(), "a,b\n");
}

TEST(HeaderTest, IsLeftOutIfWantedAndWhereColumnsHaveNoNames) {
  const LocalResult without =
      LocalJob(Builtins(), Shapes()[1]).Input("t", "a,b\n1,2\n").Run("aggregate", {"--by", "a", "--no-output-header"});
  EXPECT_EQ(without.header, "");
  EXPECT_EQ(without.Output(), "1,1\n");
  const LocalResult numbers =
      LocalJob(Builtins(), Shapes()[1]).Input("t", "1,2\n").Run("aggregate", {"--by", "1", "--no-header"});
  EXPECT_EQ(numbers.header, "");
  EXPECT_EQ(numbers.Output(), "1,1\n");
}

// The output of one table job is the input of the next, by the names of its columns.
TEST(HeaderTest, AnotherTableJobReadsThePartsByName) {
  const LocalResult sums = LocalJob(Builtins(), Shapes()[1])
                               .Input("visits", kVisits)
                               .Run("aggregate", {"--by", "user", "--agg", "sum(time)"});
  ASSERT_GT(sums.parts.size(), 1u);
  LocalJob next(Builtins());
  for (size_t i = 0; i < sums.parts.size(); ++i) next.Input("part-" + std::to_string(i), sums.parts[i]);
  EXPECT_EQ(next.Run("topk", {"--by", "sum(time)", "-n", "1"}).Output(), "user,sum(time)\nann,40\n");
  EXPECT_EQ(next.Run("aggregate", {"--agg", "sum(sum(time))"}).Output(), "sum(sum(time))\n60\n");
}

TEST(HeaderTest, EveryTableJobListsItsColumnsInItsHelp) {
  const mr_library& library = *Builtins();
  for (const std::string job : {"aggregate", "topk", "join", "sessionize"}) {
    bool found = false;
    for (uint32_t i = 0; i < library.job_count; ++i) {
      if (library.jobs[i]->name != job) continue;
      found = true;
      EXPECT_THAT(library.jobs[i]->help, HasSubstr("\ncolumns of the output: ")) << job;
      EXPECT_THAT(library.jobs[i]->help, HasSubstr("--no-output-header")) << job;
    }
    EXPECT_TRUE(found) << job;
  }
}

// An operator that promises a header and emits none fails in tests, too.
class Silent : public LineMapper<Text, Text> {
 public:
  void Map(std::string_view line, Out& out) {
    if (line != "skip") out.Line(line);
  }
};
void PlanSilent(const std::vector<std::string>&, JobPlan& plan) {
  plan.Map("a", "silent").ReadFiles().WriteFiles("csv");
}

TEST(HeaderTest, AnOperatorThatEmitsNoneOrAnotherOneIsNamed) {
  Library library;
  library.Add<Silent>("silent", MR_DETERMINISTIC).AddJob<PlanSilent>("silent", "");
  const auto error = [&](const std::string& second) {
    return LocalJob(library.table(), {}).Input("t", "a\n1\n").Input("u", second).Run("silent").error;
  };
  EXPECT_THAT(error("skip\n"), HasSubstr("operator 'silent' emitted no header"));
  EXPECT_THAT(error("b\n"), HasSubstr("with the header b\nand another one with a\n"));
  EXPECT_EQ(error("a\n2\n"), "");
}

}  // namespace
}  // namespace mr::builtin
