// -o json of every verb is one document that its schema in jobs/mrctl/schema describes, also where the verb fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/cluster/prepared.h"
#include "tests/support/json_schema.h"

namespace mr::test {
namespace {

using ::testing::HasSubstr;

struct Case {
  std::string verb;  // "job show"
  std::vector<std::string> args;
  std::string schema;
  int exit = 0;
};

// In this order: later ones see what earlier ones did.
std::vector<Case> Cases() {
  const std::string done = kDoneJob, runs = kRunningJob;
  return {
      {"jobs", {}, "jobs"},
      {"job show", {done}, "job"},
      {"job show", {runs}, "job"},
      {"job stages", {done}, "stages"},
      {"job tasks", {done}, "tasks"},
      {"job attempts", {done}, "attempts"},
      {"job counters", {done}, "counters"},
      {"job set", {runs, "--priority", "5"}, "done"},
      {"logs", {done}, "logs"},
      {"why", {done, "w1"}, "why"},
      {"report", {done}, "report"},
      {"report", {runs}, "report"},
      {"report", {"job_9_0001"}, "error", 7},
      {"trace", {done}, "trace"},
      {"trace", {runs}, "trace"},
      {"trace", {"job_9_0001"}, "error", 7},
      {"history", {}, "jobs"},
      {"history", {"--local"}, "jobs"},
      {"jobs", {"--local"}, "jobs"},
      {"job show", {"local_0001"}, "error", 7},
      {"profile show", {"wordcount"}, "profiles"},
      {"profile show", {"nobody"}, "error", 7},
      {"whatif", {done, "--workers", "10"}, "whatif"},
      {"whatif", {done, "--compare", "cautious", "recorded --workers 10"}, "comparison"},
      {"whatif", {"--compare", "plain"}, "comparison"},
      {"whatif", {"--compare", "nosuch"}, "error", 2},
      {"whatif", {"--local", "--compare", "plain"}, "error", 7},
      {"schedulers", {}, "schedulers"},
      {"workers", {}, "workers"},
      {"worker show", {"w1", "w2"}, "worker"},
      {"worker show", {"w9"}, "error", 7},
      {"worker drain", {"w2"}, "done"},
      {"worker undrain", {"w2"}, "done"},
      {"worker exclude", {"w2"}, "done"},
      {"worker show", {"w2"}, "worker"},
      {"worker include", {"w2"}, "done"},
      {"worker exclude", {"w9"}, "error", 7},
      {"worker forget", {"w9"}, "error", 7},
      {"queues", {}, "queues"},
      {"queue set", {"night", "--weight", "2"}, "done"},
      {"store safemode", {}, "safemode"},
      {"store safemode", {"off"}, "done"},
      {"top", {}, "top"},
      {"doctor", {}, "checks"},
      {"doctor", {"--bundle", "bug.tar.zst"}, "checks"},
      {"doctor", {"--bundle", "bug.tar.zst"}, "error", 3},
      {"fs ls", {"/data"}, "files"},
      {"fs stat", {"/data/books.txt"}, "files"},
      {"fs stat", {"/absent"}, "error", 7},
      {"fs du", {"/data"}, "files"},
      {"fs df", {}, "df"},
      {"fs checksum", {"/data/books.txt"}, "checksums"},
      {"fs put", {"books.txt", "/data/b"}, "done"},
      {"fs put", {"books.txt", "/data/b"}, "error", 3},
      {"fs get", {"/data/b", "b"}, "done"},
      {"fs get", {"/data/b", "-"}, "contents"},
      {"fs getmerge", {"/data/counts", "merged"}, "done"},
      {"fs cat", {"/data/b"}, "contents"},
      {"fs text", {"/data/b*"}, "contents"},
      {"fs setrep", {"2", "/data/b"}, "done"},
      {"fs setrep", {"two", "/data/b"}, "error", 2},
      {"fs chown", {"anna", "/data/b"}, "done"},
      {"fs chmod", {"read=all", "/data/b"}, "done"},
      {"fs chmod", {"0644", "/data/b"}, "error", 2},
      {"fs head", {"/data/b"}, "contents"},
      {"fs tail", {"-n", "2", "/data/b"}, "contents"},
      {"fs mkdir", {"/data/d"}, "done"},
      {"fs cp", {"/data/b", "/data/c"}, "done"},
      {"fs mv", {"/data/c", "/data/d"}, "done"},
      {"fs rm", {"-r", "/data/d"}, "done"},
      {"sdk new", {"wordstats"}, "project"},
      {"sdk new", {"wordstats"}, "error", 3},
      {"sdk check", {"libvisits.so"}, "library"},
      {"sdk check", {"books.txt"}, "library", 2},
      {"sdk check", {"absent.so"}, "error", 7},
      {"task replay", {"attempt_1_0001_0_m_000000_1"}, "replay"},
      {"task replay", {"attempt_1_0001_1_r_000000_1"}, "replay"},
      {"cluster init", {"--data", "new"}, "credentials"},
      {"cluster init", {"--data", "new"}, "error", 3},
      {"token create", {"--data", "new", "--subject", "anna", "--roles", "viewer"}, "token"},
      {"token create", {"--data", "new", "--join", "w1.join", "--worker", "w1"}, "token"},
      {"token create", {"--data", "new", "--subject", "anna", "--roles", "king"}, "error", 2},
      {"token list", {"--data", "new"}, "tokens"},
      {"token list", {"--data", "absent"}, "error", 7},
      {"token revoke", {"--data", "new", "anna", "worker:w1"}, "done"},
      {"token list", {"--data", "new"}, "tokens"},
      {"page", {}, "page"},
      {"cluster rotate", {"--data", "new"}, "done"},
      {"cluster rotate", {"--data", "new"}, "error", 3},
      {"cluster rotate", {"--data", "new", "--finish"}, "error", 3},
      {"cluster rotate", {"--data", "new", "--finish", "--force"}, "done"},
      {"cluster rotate", {"--data", "new", "--force"}, "error", 2},
      {"config view", {}, "config"},
      {"completion", {"bash"}, "completion"},
      {"completion", {"fish"}, "completion"},
      {"completion", {"tcsh"}, "error", 2},
      {"version", {}, "release"},
      {"explain", {"wordcount", "--input", "/data/b", "--output", "/data/e"}, "plan"},
      {"explain",
       {"join", "--left", "/data/b", "--right", "/data/b", "--on", "1", "--no-header", "--output", "/data/e"},
       "plan"},
      {"submit", {"wordcount", "--input", "/data/b", "--output", "/data/e"}, "job"},
      {"submit", {"wordcount", "--input", "/data/b", "--output", "/data/e"}, "error", 3},
      {"submit",
       {"stream", "--map", "exit 3", "--input", "/data/b", "--output", "/data/f", "--max-attempts", "1"},
       "job",
       1},
      {"submit",
       {"--local", "stream", "--map", "echo reporter:counter:g,n,1 >&2; cat", "--input", "books.txt", "--output",
        "local"},
       "job"},
      {"history", {"--local"}, "jobs"},
      {"job show", {"local_0001"}, "job"},
      {"job counters", {"local_0001"}, "counters"},
      {"why", {"local_0001", done}, "why"},
      {"report", {"local_0001"}, "report"},
      {"trace", {"local_0001"}, "trace"},
      {"whatif", {"local_0001", "--workers", "4"}, "whatif"},
      {"whatif", {"--local", "--since", "1h", "--compare", "plain", "recorded --slots 1"}, "comparison"},
      {"kill", {"local_0001"}, "error", 2},
      {"submit", {"--detach", "sleep", "--ms", "1", "--tasks", "1", "--output", "/data/g"}, "job"},
      {"submit", {"nonsense", "--output", "/data/h"}, "error", 2},
      {"wait", {done}, "job"},
      {"wait", {done, done}, "jobs"},
      {"wait", {"--timeout", "300ms", runs}, "error", 124},
      {"attach", {done}, "job"},
      {"kill", {runs}, "done"},
      {"wait", {done, runs}, "jobs", 4},
      {"wait", {runs}, "job", 4},
  };
}

std::string Schema(const std::string& name) {
  return std::string(MR_SOURCE_DIR) + "/jobs/mrctl/schema/" + name + ".json";
}

class JsonTest : public PreparedTest {};

TEST_F(JsonTest, EachVerbPrintsOneDocumentOfItsSchema) {
  std::set<std::string> tried;
  for (const Case& c : Cases()) {
    std::vector<std::string> args = {"-o", "json"};
    const size_t space = c.verb.find(' ');
    args.push_back(c.verb.substr(0, space));
    if (space != std::string::npos) args.push_back(c.verb.substr(space + 1));
    args.insert(args.end(), c.args.begin(), c.args.end());
    const RunResult run = prepared_->Mrctl(args);
    const std::string what = c.verb + " " + testing::PrintToString(c.args);
    EXPECT_EQ(run.exit, c.exit) << what << "\n" << run.out << run.err;
    EXPECT_EQ(SchemaViolation(run.out, Schema(c.schema)), "") << what << "\n" << run.out.substr(0, 2000);
    EXPECT_EQ(std::count(run.out.begin(), run.out.end(), '\n'), 1) << what;
    EXPECT_EQ(run.exit == 0, run.out.find("\"error\":{\"code\"") == std::string::npos) << what;
    tried.insert(c.verb);
  }
  for (const std::string& verb : LeafVerbs()) EXPECT_TRUE(tried.contains(verb)) << verb << " -o json is not tried here";
}

TEST_F(JsonTest, ErrorsAreDocumentsToo) {
  for (const auto& [args, exit] :
       std::vector<std::pair<std::vector<std::string>, int>>{{{"nonsense"}, 2},
                                                             {{"jobs", "--nonsense"}, 2},
                                                             {{"job", "show"}, 2},
                                                             {{"job", "show", "job_x"}, 2},
                                                             {{"job", "show", "x"}, 7},
                                                             {{"job", "show", "job_9_0009"}, 7},
                                                             {{"--timeout", "soon", "jobs"}, 2}}) {
    std::vector<std::string> all = {"-o", "json"};
    all.insert(all.end(), args.begin(), args.end());
    const RunResult run = prepared_->Mrctl(all);
    EXPECT_EQ(run.exit, exit) << run.out;
    EXPECT_EQ(SchemaViolation(run.out, Schema("error")), "") << testing::PrintToString(args);
  }
  const RunResult none = RunMrctl({"--master", "127.0.0.1:1", "-o", "json", "jobs"});
  EXPECT_EQ(none.exit, 5);
  EXPECT_EQ(SchemaViolation(none.out, Schema("error")), "");
  SpawnOptions asked;
  asked.env = {"MR_OUTPUT=json"};
  EXPECT_EQ(SchemaViolation(RunMrctl({"nonsense"}, Seconds(10), asked).out, Schema("error")), "");
}

TEST_F(JsonTest, EachLineOfNdjsonIsAnElement) {
  const RunResult run = prepared_->Mrctl({"-o", "ndjson", "workers"});
  EXPECT_EQ(std::count(run.out.begin(), run.out.end(), '\n'), 2) << run.out;
  const std::string first = run.out.substr(0, run.out.find('\n'));
  EXPECT_EQ(SchemaViolation("{\"version\":1,\"workers\":[" + first + "]}", Schema("workers")), "");
}

TEST(SchemaTest, FindsWhatDoesNotHold) {
  const std::string file = Schema("error");
  EXPECT_EQ(SchemaViolation(R"({"version":1,"error":{"code":"a","message":"b","hint":""}})", file), "");
  EXPECT_THAT(SchemaViolation(R"({"version":2,"error":{"code":"a","message":"b","hint":""}})", file),
              HasSubstr("$.version is 2"));
  EXPECT_THAT(SchemaViolation(R"({"version":1,"error":{"code":"a","message":"b"}})", file),
              HasSubstr("$.error lacks 'hint'"));
  EXPECT_THAT(SchemaViolation(R"({"version":1,"error":{"code":1,"message":"b","hint":""}})", file),
              HasSubstr("$.error.code is 1"));
  EXPECT_THAT(SchemaViolation(R"({"version":1,"error":{"code":"a","message":"b","hint":"","x":0}})", file),
              HasSubstr("has 'x'"));
  EXPECT_THAT(SchemaViolation("no", file), HasSubstr("no JSON document"));
  EXPECT_THAT(SchemaViolation("{}", Schema("absent")), HasSubstr("no schema at"));
  const std::string jobs = R"({"version":1,"jobs":[{"id":"job_1_0001"}]})";
  EXPECT_THAT(SchemaViolation(jobs, Schema("jobs")), HasSubstr("$.jobs[0] lacks ")) << "by way of job.json";
}

}  // namespace
}  // namespace mr::test
