#include "common/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "common/report/critical_path.h"
#include "common/report/documents.h"
#include "common/report/one_line.h"
#include "common/report/page.h"
#include "tests/common/report/run_builder.h"
#include "tests/support/json_schema.h"

namespace mr::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kSchema = std::string(MR_SOURCE_DIR) + "/jobs/mrctl/schema/report.json";

RunBuilder Job() {
  RunBuilder b;
  b.Workers(2, 2).Stage("map", {}).Stage("sum", {0}).Elapsed(1000);
  b.Add({.task = 0, .launched = 1, .started = 2, .ended = 300});
  b.Add({.task = 0,
         .worker = "w2",
         .launched = 200,
         .started = 210,
         .ended = 300,
         .cause = "clone",
         .state = "killed",
         .failure = "killed",
         .progress = .5,
         .number = 2});
  b.Add({.stage = 1, .launched = 310, .started = 320, .inputs = 400, .ended = 990});
  b.run().decisions = {{1000, "launched", "attempt_1_0001_0_m_000000_1", "w1", "it was first in its queue"},
                       {200'000, "launched", "attempt_1_0001_0_m_000000_2", "w2", "a clone"},
                       {1'000'000, "job committed", "", "", "all stages have ended"}};
  b.run().job.causes = {{"first", 2, 2, 0}, {"clone", 1, 0, 100'000}};
  b.run().job.counters = {{"g", "n", 3}};
  return b;
}

nlohmann::json Document(const JobRun& run) {
  const std::string text = ReportJson(Report(run));
  EXPECT_EQ(test::SchemaViolation(text, kSchema), "");
  return nlohmann::json::parse(text).at("report");
}

TEST(ReportTest, TheJobIsTheSameDocumentAsElsewhere) {
  RunBuilder b = Job();
  EXPECT_EQ(Document(b.run()).at("job"), nlohmann::json::parse(ToJson(b.run().job, b.run().spec).dump()));
}

TEST(ReportTest, DecisionsNameTheirAttempts) {
  RunBuilder b = Job();
  const nlohmann::json report = Document(b.run());
  ASSERT_EQ(report["decisions"].size(), 3u);
  EXPECT_EQ(report["attempts"][report["decisions"][1]["attempt"].get<size_t>()]["id"], "attempt_1_0001_0_m_000000_2");
  EXPECT_EQ(report["workers"][report["decisions"][1]["worker"].get<size_t>()]["id"], "w2");
  EXPECT_TRUE(report["decisions"][2]["attempt"].is_null());
}

TEST(ReportTest, StagesShowTheirPartOfThePlan) {
  RunBuilder b = Job();
  StageSpec& map = b.run().spec.stages[0];
  StageSpec& reduce = b.run().spec.stages[1];
  map.operator_name = "wordcount.map";
  map.inputs[0].files = {{"dfs:///a", "dfs:///b"}, "text"};
  map.ports.emplace_back().sorted = true;
  map.ports[0].combine = true;
  reduce.inputs[0].grouped = true;
  reduce.ports.emplace_back().files = true;
  reduce.ports[0].format = "kv";
  const nlohmann::json stages = Document(b.run())["stages"];
  EXPECT_EQ(stages[0]["operator"], "wordcount.map");
  EXPECT_EQ(stages[0]["reads"], nlohmann::json({"text of dfs:///a, ..."}));
  EXPECT_EQ(stages[0]["writes"], nlohmann::json({"port 0: sorted, combined"}));
  EXPECT_EQ(stages[1]["reads"], nlohmann::json({"all to all from " + map.name + ", grouped"}));
  EXPECT_EQ(stages[1]["writes"], nlohmann::json({"files (kv)"}));
}

TEST(ReportTest, ALongJobIsSampledAndWhatIsUnusualStays) {
  RunBuilder b;
  b.Workers(2, 2).Stage("map", {}).Elapsed(100'000);
  constexpr uint32_t kTasks = 30'000;
  for (uint32_t t = 0; t < kTasks; ++t) b.Add({.task = t, .launched = t + 1, .started = t + 1, .ended = t + 4});
  b.Add({.task = 0, .launched = 1, .ended = 2, .state = "failed", .failure = "user", .number = 2});
  const nlohmann::json report = Document(b.run());
  EXPECT_NEAR(static_cast<double>(report["attempts"].size()), kMostAttempts, 2);
  EXPECT_EQ(report["attempts_total"], kTasks + 1);
  size_t failed = 0, critical = 0, early = 0;
  for (const auto& a : report["attempts"]) {
    failed += a["state"] == "failed";
    critical += a["critical"].get<bool>();
    early += a["task"] < kTasks / 2;
  }
  EXPECT_EQ(failed, 1u);
  EXPECT_GE(critical, 1u);
  EXPECT_NEAR(static_cast<double>(early), kMostAttempts / 2.0, 100) << "even samples";
}

// More clones than a document has room for.
TEST(ReportTest, ASampleHasTheCriticalAndTheFailedAttempts) {
  RunBuilder b;
  b.Workers(2, 2).Stage("map", {}).Elapsed(100'000);
  for (uint32_t t = 0; t < 15'000; ++t) {
    b.Add({.task = t, .launched = t + 1, .started = t + 1, .ended = t + 4, .cause = "clone"});
    b.Add({.task = t, .worker = "w2", .launched = t + 1, .started = t + 1, .ended = t + 5, .number = 2});
  }
  b.Add({.task = 14'999, .launched = 20'000, .ended = 20'001, .state = "failed", .failure = "user", .number = 3});
  b.run().decisions.assign(30'000, {1, "launched", "attempt_1_0001_0_m_000001_1", "w1", "first"});
  b.run().decisions.push_back({100'000'000, "job committed", "", "", "all stages have ended"});
  const nlohmann::json report = Document(b.run());
  EXPECT_LE(report["attempts"].size(), kMostAttempts);
  size_t failed = 0, critical = 0, clones = 0, usual = 0;
  for (const auto& a : report["attempts"]) {
    failed += a["state"] == "failed";
    critical += a["critical"].get<bool>();
    clones += a["cause"] == "clone";
    usual += a["cause"] == "first";
  }
  EXPECT_EQ(failed, 1u);
  EXPECT_GE(critical, 1u);
  EXPECT_GT(clones, 1000u);
  EXPECT_GT(usual, 1000u);
  EXPECT_LE(report["decisions"].size(), kMostDecisions);
  EXPECT_EQ(report["decisions"].back()["what"], "job committed");
}

TEST(ReportTest, CommandsAreLeftOutWhereTheMasterIsGone) {
  RunBuilder b = Job();
  b.Add({.task = 1, .launched = 10, .started = 20, .ended = 100, .state = "failed", .failure = "user"});
  EXPECT_EQ(Document(b.run())["findings"][0]["command"], "mrctl logs attempt_1_0001_0_m_000001_1");
  b.run().gone = true;
  EXPECT_TRUE(Document(b.run())["findings"][0]["command"].is_null());
  EXPECT_EQ(Summary(Report(b.run())).size(), 4u);
}

TEST(ReportTest, TheSummaryHasFiveLines) {
  RunBuilder b = Job();
  const std::vector<std::string> lines = Summary(Report(b.run()));
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_THAT(lines[0], HasSubstr("job_1_0001 (words) SUCCEEDED after 1.0 s"));
  EXPECT_THAT(lines[1], HasSubstr("stage sum: computed 59 %"));
  EXPECT_THAT(lines[2], HasSubstr("1 clone (0 won)"));
  EXPECT_THAT(lines[3], HasSubstr("nothing stands out"));
  EXPECT_THAT(lines[4], HasSubstr("mrctl report job_1_0001"));
}

// Samples and headers are not what a user asked for.
TEST(ReportTest, InternalStagesAreOneNumberOfTheSummaryAndEachWithAllStages) {
  RunBuilder b;
  b.Workers(1, 1).Stage("header", {}).Stage("columns", {0}).Stage("rows", {}).Elapsed(1000);
  b.Add({.stage = 0, .launched = 0, .started = 0, .inputs = 0, .ended = 300});
  b.Add({.stage = 1, .launched = 300, .started = 300, .inputs = 300, .ended = 600});
  b.Add({.stage = 2, .launched = 600, .started = 600, .inputs = 600, .ended = 1000});
  const std::string line = Summary(Report(b.run()))[1];
  EXPECT_THAT(line, HasSubstr("preparation (stages that the job adds) 60 %"));
  EXPECT_THAT(line, HasSubstr("stage rows: computed 40 %"));
  EXPECT_THAT(line, Not(HasSubstr("stage header")));
  const std::string all = Summary(Report(b.run()), true)[1];
  EXPECT_THAT(all, HasSubstr("stage header: computed 30 %"));
  EXPECT_THAT(all, HasSubstr("stage columns: computed 30 %"));
  const nlohmann::json stages = Document(b.run())["stages"];
  EXPECT_EQ(stages[0]["internal"], true);
  EXPECT_EQ(stages[2]["internal"], false);
}

TEST(ReportTest, AKilledJobDidNotFailAndHasNoOutput) {
  RunBuilder b = Job();
  b.run().job.state = JobState::kKilled;
  b.run().job.error = "killed by mrctl kill (alice on lab-1)";
  const std::vector<std::string> lines = Summary(Report(b.run()));
  EXPECT_THAT(lines[0], HasSubstr("KILLED after 1.0 s: killed by mrctl kill (alice on lab-1). "));
  EXPECT_THAT(lines[3], HasSubstr("It has no output; submit it again"));
}

TEST(ReportTest, AJobThatAskedForClonesAndGotNoneSaysSo) {
  RunBuilder b = Job();
  b.run().job.causes = {{.cause = "first", .launched = 2}};
  EXPECT_THAT(Summary(Report(b.run()))[2], testing::EndsWith("clone or restart was launched."));
  b.run().spec.clones = Wish::kOn;
  EXPECT_THAT(Summary(Report(b.run()))[2],
              HasSubstr("launched; --clone on allows clones, and its policy launched none"));
  b.run().job.causes.push_back({.cause = "clone", .launched = 1});
  EXPECT_THAT(Summary(Report(b.run()))[2], testing::AllOf(HasSubstr("1 clone"), Not(HasSubstr("--clone on"))));
}

TEST(ReportTest, TheLinesOfATaskAreThoseOfItsAttempts) {
  RunBuilder b = Job();
  const std::vector<std::string> attempt = WhyOf(b.run(), "attempt_1_0001_0_m_000000_1", true);
  const std::vector<std::string> task = WhyOf(b.run(), "task_1_0001_0_m_000000", false);
  ASSERT_FALSE(attempt.empty());
  EXPECT_THAT(attempt[0], HasSubstr("launched attempt_1_0001_0_m_000000_1 on w1: it was first in its queue"));
  EXPECT_GT(task.size(), attempt.size()) << "it has two attempts";
  EXPECT_THAT(task, Not(testing::Contains(HasSubstr("_m_000001_"))));
  EXPECT_THAT(WhyOf(b.run(), "task_1_0001_0_m_000099", false), testing::IsEmpty());
}

TEST(ReportTest, InputsAndOptionsOfTheJobAreInTheDocument) {
  RunBuilder b = Job();
  StageSpec& stage = b.run().spec.stages[0];
  stage.inputs[0].files = {{"dfs:///books/a.txt", "dfs:///books/b.txt"}, "text"};
  stage.config = "pattern=4:time\\nb\nnames=4:city4:year\nignore_case=1\n";
  b.run().spec.labels = {{kArgumentsLabel, "--by city"}};
  b.run().spec.stages[1].config = std::string("\x01\x02=binary", 9);
  const nlohmann::json job = Document(b.run())["job"];
  ASSERT_EQ(job["inputs"].size(), 2u);
  EXPECT_EQ(job["inputs"][1]["uri"], "dfs:///books/b.txt");
  EXPECT_EQ(job["inputs"][1]["format"], "text");
  ASSERT_EQ(job["options"].size(), 4u) << job["options"];
  EXPECT_EQ(job["options"][0]["value"], "--by city");
  EXPECT_TRUE(job["options"][0]["stage"].is_null());
  EXPECT_EQ(job["options"][1]["name"], "pattern");
  EXPECT_EQ(job["options"][1]["value"], "4:time\nb") << "a text of the user is no list";
  EXPECT_EQ(job["options"][2]["value"], "city, year");
}

TEST(ReportTest, AFailureIsNamedFirst) {
  RunBuilder b = Job();
  b.run().job.state = JobState::kFailed;
  b.run().job.error = "operator sum failed: no such column\nmore";
  EXPECT_THAT(Summary(Report(b.run()))[0], HasSubstr("FAILED after 1.0 s: operator sum failed: no such column. "));
  b.run().job.error = "the map command exited with code 2; its stderr ends:\nawk: line 1:\nSyntax error: no quote\n";
  EXPECT_THAT(Summary(Report(b.run()))[0], HasSubstr("exited with code 2; its stderr ends: Syntax error: no quote. "));
  b.run().job.error =
      "the map command exited with code 75; its stderr ends:\nno license\nlimit 8 for a task: the failure is not the "
      "operator's, so --max-attempts does not count it";
  EXPECT_THAT(Summary(Report(b.run()))[0], HasSubstr("its stderr ends: no license. "));
  b.run().job.error = "operator sum failed: no number\nat record 2 of its input, 'x'\n4 attempts failed alike";
  EXPECT_THAT(Summary(Report(b.run()))[0], HasSubstr("failed: no number (at record 2 of its input, 'x'). "));
}

// The master adds lines after the message (master/core/failure_text.cc).
TEST(ReportTest, ACauseInStderrIsNamedInEachLine) {
  const std::string message =
      "the map command exited with code 1: m.py; its stderr ends:\n    int(w)\n    ^^^^^^\nValueError: 'x'";
  const std::string cause = "exited with code 1: m.py; its stderr ends: ValueError: 'x'";
  RunBuilder b = Job();
  b.run().job.state = JobState::kFailed;
  for (const char* added : {"", "\n7 attempts failed alike, of 2 tasks", "\nat file:///in, byte 90\nskew: 'the'",
                            "\n2 attempts failed alike, of 1 task\nstderr: more"}) {
    b.run().job.error = message + added;
    EXPECT_THAT(Summary(Report(b.run()))[0], HasSubstr(cause + ". ")) << added;
  }
  b.Add({.task = 0, .launched = 10, .started = 20, .ended = 30, .state = "failed", .failure = "user", .number = 2});
  b.run().attempts.back().message = message;
  EXPECT_THAT(Summary(Report(b.run()))[3], HasSubstr(cause + ". "));
  EXPECT_EQ(OneLine("it failed:\n3 attempts failed alike, of 1 task"), "it failed:") << "there is no cause";
}

TEST(ReportTest, ADeadlineIsInTheFirstLine) {
  RunBuilder b = Job();
  b.run().job.deadline.emplace().deadline_us = 2'000'000;
  EXPECT_THAT(Summary(Report(b.run()))[0], HasSubstr("SUCCEEDED after 1.0 s, within its deadline of 2.0 s. "));
  b.run().job.deadline->deadline_us = 400'000;
  EXPECT_THAT(Summary(Report(b.run()))[0], HasSubstr("SUCCEEDED after 1.0 s, 600 ms after its deadline of 400 ms. "));
}

// Texts of any bytes come from users.
TEST(ReportTest, HostileNamesStayData) {
  RunBuilder b = Job();
  const std::string hostile = "</script><img src=x onerror=alert(1)>\xff\x01<!--\u202e{{script}}";
  b.run().job.name = hostile;
  b.run().spec.stages[0].name = b.run().job.stages[0].name = hostile;
  b.run().decisions[0].reason = hostile;
  b.run().workers[0].name = hostile;
  const std::string page = ReportPage(hostile, ReportJson(Report(b.run())));
  EXPECT_THAT(page, Not(HasSubstr("<img src=x")));
  const size_t title = page.find("<title>");
  EXPECT_THAT(page.substr(title, page.find("</title>") - title), Not(HasSubstr("\u202e")));
  const size_t data = page.find("<script type=\"application/json\"");
  ASSERT_NE(data, std::string::npos);
  const size_t begin = page.find('>', data) + 1, end = page.find("</script>", begin);
  const nlohmann::json document = nlohmann::json::parse(page.substr(begin, end - begin));
  EXPECT_THAT(document["report"]["job"]["name"].get<std::string>(), HasSubstr("</script><img src=x"));
}

TEST(ReportTest, ThePageNeedsNoNetwork) {
  RunBuilder b = Job();
  const std::string page = ReportPage("words", ReportJson(Report(b.run())));
  for (const char* reference :
       {"src=\"", "@import", "url(http", "https://", "XMLHttpRequest", "WebSocket", "rel=\"stylesheet"})
    EXPECT_THAT(page, Not(HasSubstr(reference)));
  EXPECT_THAT(page, Not(HasSubstr("{{")));
}

TEST(ReportTest, ThePageHasATextAndAColourForEachKindOfSegment) {
  RunBuilder b = Job();
  const std::string page = ReportPage("words", ReportJson(Report(b.run())));
  for (int kind = 0; kind <= static_cast<int>(SegmentKind::kStop); ++kind) {
    const std::string word = Word(static_cast<SegmentKind>(kind));
    EXPECT_THAT(page, HasSubstr(" " + word + ": \""));
    EXPECT_THAT(page, HasSubstr(".kind-" + word));
  }
}

}  // namespace
}  // namespace mr::report
