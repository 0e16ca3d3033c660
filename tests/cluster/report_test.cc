// `mrctl report` and `submit --report`, with the real binary.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "common/io/files.h"
#include "tests/cluster/prepared.h"

namespace mr::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::json;

class ReportVerbTest : public PreparedTest {
 protected:
  static Json Document(const std::string& job) {
    const RunResult run = Mrctl({"-o", "json", "report", job});
    EXPECT_EQ(run.exit, 0) << run.err;
    return run.exit == 0 ? Json::parse(run.out)["report"] : Json();
  }
  static std::string FileText(const std::string& name) {
    const auto text = ReadFile(prepared_->work() + "/" + name);
    EXPECT_TRUE(text.ok()) << text.status().ToString();
    return text.ok() ? *text : "";
  }
};

TEST_F(ReportVerbTest, ItsNumbersAreThoseOfTheOtherCommands) {
  const Json report = Document(kDoneJob);
  const Json shown = Json::parse(Mrctl({"-o", "json", "job", "show", kDoneJob}).out)["job"];
  Json job = report["job"];
  EXPECT_EQ(job["counters"], Json::parse(Mrctl({"-o", "json", "job", "counters", kDoneJob}).out)["counters"]);
  job.erase("counters");
  EXPECT_EQ(job, shown);
  const Json attempts = Json::parse(Mrctl({"-o", "json", "job", "attempts", kDoneJob}).out)["attempts"];
  const Json tasks = Json::parse(Mrctl({"-o", "json", "job", "tasks", kDoneJob}).out)["tasks"];
  ASSERT_EQ(report["attempts"].size(), attempts.size());
  for (const Json& a : report["attempts"]) {
    const auto listed =
        std::find_if(attempts.begin(), attempts.end(), [&a](const Json& o) { return o["id"] == a["id"]; });
    ASSERT_NE(listed, attempts.end()) << a["id"];
    for (const char* key : {"state", "cause", "reason", "message", "launched_us", "started_us", "ended_us", "won"})
      EXPECT_EQ(a[key], (*listed)[key]) << a["id"] << " " << key;
    EXPECT_EQ(report["workers"][a["worker"].get<size_t>()]["id"], (*listed)["worker"]);
  }
  uint64_t read = 0, written = 0;
  for (const Json& task : tasks) {
    if (task["stage"] == 0) written += task["output_bytes"].get<uint64_t>();
    if (task["stage"] == 1) read += task["input_bytes"].get<uint64_t>();
  }
  EXPECT_EQ(read, written) << "reduces read what the maps wrote";
  EXPECT_EQ(report["stages"][0]["output_bytes"], written);
}

TEST_F(ReportVerbTest, TheTimesOfAnAttemptAreInOrder) {
  for (const Json& a : Document(kDoneJob)["attempts"]) {
    const uint64_t launched = a["launched_us"], ended = a["ended_us"];
    // Short attempts end before they are seen to start.
    const uint64_t started = a["started_us"].is_null() ? launched : a["started_us"].get<uint64_t>();
    EXPECT_GT(launched, 0u);
    EXPECT_LE(launched, started);
    EXPECT_LE(started, ended);
    EXPECT_LE(ended - launched, 120'000'000u);
  }
}

TEST_F(ReportVerbTest, AJobThatRunsHasAReport) {
  const Json report = Document(kRunningJob);
  EXPECT_EQ(report["live"], true);
  EXPECT_THAT(report["summary"][0].get<std::string>(), HasSubstr("is RUNNING"));
}

TEST_F(ReportVerbTest, ThePageIsOneFile) {
  const RunResult run = Mrctl({"report", kDoneJob});
  ASSERT_EQ(run.exit, 0) << run.err;
  EXPECT_THAT(run.out, StartsWith("<!doctype html>"));
  EXPECT_THAT(run.out, HasSubstr("\"id\":\"job_1_0001\""));
  EXPECT_EQ(run.err, "");
}

TEST_F(ReportVerbTest, AJobThatIsNotThereHasNone) {
  EXPECT_EQ(Mrctl({"report", "job_9_0001"}).exit, 7);
  EXPECT_EQ(Mrctl({"report", "words"}).exit, 7);
  EXPECT_EQ(Mrctl({"report", "job_words"}).exit, 2);
}

TEST_F(ReportVerbTest, SubmitWritesTheReportOfItsJob) {
  RunResult run = Mrctl({"submit", "--report", "run.html", "sleep", "--ms", "1", "--output", "/data/reported"});
  ASSERT_EQ(run.exit, 0) << run.err;
  EXPECT_THAT(FileText("run.html"), HasSubstr("SUCCEEDED"));
  run = Mrctl({"submit", "--local", "--report", "local.html", "--output", prepared_->work() + "/counts", "--input",
               "books.txt", "wordcount"});
  ASSERT_EQ(run.exit, 0) << run.err;
  EXPECT_THAT(FileText("local.html"), HasSubstr("SUCCEEDED"));
}

TEST_F(ReportVerbTest, AReportThatCannotBeWrittenIsRefusedBeforeTheJobRuns) {
  const std::string output = "/data/never";
  for (const std::string file : {"absent/run.html", "."}) {
    const RunResult run = Mrctl({"submit", "--report", file, "sleep", "--ms", "1", "--output", output});
    EXPECT_EQ(run.exit, 2) << run.err;
  }
  const RunResult run = Mrctl({"submit", "--report", "r.html", "--detach", "sleep", "--ms", "1", "--output", output});
  EXPECT_EQ(run.exit, 2) << run.err;
  EXPECT_THAT(run.err, HasSubstr("mrctl report JOB > FILE"));
  EXPECT_EQ(Mrctl({"fs", "ls", output}).exit, 7);
}

}  // namespace
}  // namespace mr::test
