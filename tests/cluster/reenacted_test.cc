// Holes of other systems (Spark, Hadoop, Ray, Flink, Dask), re-enacted against a cluster with certificates and the real
// binaries. Each attack has to end in a refusal, and must leave no trace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "common/io/clock.h"
#include "common/rpc/credential.h"
#include "common/rpc/hello.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"
#include "tests/support/flipped_wire.h"
#include "tests/support/http_get.h"

namespace mr::test {
namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kMark = "<script>alert(1)</script>";

// One cluster for all tests. None of them changes it where the attack fails.
class ReenactedTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    files_ = new TempDirectory();
    ::setenv("XDG_STATE_HOME", Path("state").c_str(), 1);
    cluster_ = new Cluster({.workers = 1,
                            .master_flags = {"--bind", "0.0.0.0", "--advertise", "127.0.0.1"},
                            .flags_of = {{"--join", Path("w0.join")}}});
    ASSERT_EQ(RunMrctl({"cluster", "init", "--data", cluster_->master_data(), "--subject", "root"}).exit, 0);
    ASSERT_TRUE(cluster_->StartMaster().ok()) << cluster_->Logs();
    const RunResult join = RunMrctl({"token", "create", "--data", cluster_->master_data(), "--join", Path("w0.join"),
                                     "--address", cluster_->master_address()});
    ASSERT_EQ(join.exit, 0) << join.err;
    ASSERT_TRUE(cluster_->StartWorker(0).ok()) << cluster_->Logs();
    ASSERT_TRUE(cluster_->WaitForWorkers(1).ok()) << cluster_->Logs();
    std::ofstream(Path("in")) << "a b\nb c\n";
    const RunResult put = cluster_->Mrctl({"fs", "put", Path("in"), "/in"});
    ASSERT_EQ(put.exit, 0) << put.err;
  }
  static void TearDownTestSuite() {
    delete cluster_;
    delete files_;
    cluster_ = nullptr;
    files_ = nullptr;
  }
  // After each attack an honest user is served.
  void TearDown() override {
    const RunResult jobs = cluster_->Mrctl({"jobs"});
    EXPECT_EQ(jobs.exit, 0) << jobs.err << cluster_->Logs();
    const RunResult in = cluster_->Mrctl({"fs", "cat", "/in"});
    EXPECT_EQ(in.out, "a b\nb c\n") << in.err;
  }

  static std::string Path(const std::string& name) { return *files_ / name; }
  // Runs mrctl as a process that has no token, and would use any daemon.
  static RunResult Stranger(std::vector<std::string> args) {
    SpawnOptions options;
    options.env = {"XDG_STATE_HOME=" + Path("nobody"), "MR_SECRET_DIR=" + Path("nobody"), "MR_INSECURE=1"};
    return cluster_->Mrctl(std::move(args), Seconds(60), options);
  }
  // Runs mrctl with a token of these roles. env: further variables.
  static RunResult As(const std::string& name, const std::string& roles, std::vector<std::string> args,
                      const std::vector<std::string>& env = {}) {
    const std::string file = Path(name + ".token");
    if (!fs::exists(file)) {
      const RunResult made = RunMrctl({"token", "create", "--data", cluster_->master_data(), "--subject", name,
                                       "--roles", roles, "--life", "1h", "--out", file});
      EXPECT_EQ(made.exit, 0) << made.err;
    }
    SpawnOptions options;
    options.env = env;
    options.env.push_back("MR_TOKEN_FILE=" + file);
    return cluster_->Mrctl(std::move(args), Seconds(60), options);
  }
  static std::string JobsAndWorkers() {
    return cluster_->Mrctl({"-o", "json", "jobs"}).out + cluster_->Mrctl({"fs", "ls", "/"}).out;
  }
  static uint16_t HttpPorts(int i) { return i == 0 ? cluster_->master_http_port() : cluster_->worker_http_port(0); }
  // Returns the status of an answer; 0: closed without one.
  static int StatusOf(const std::string& answer) {
    return answer.starts_with("HTTP/1.1 ") ? std::stoi(answer.substr(9, 3)) : 0;
  }
  // Sends an HTTP request to both daemons. Expects that it is refused: an error of the client's, or no answer.
  static void ExpectRefused(const std::string& request) {
    for (const int i : {0, 1}) {
      const std::string answer = RawHttp(HttpPorts(i), request);
      const int status = StatusOf(answer);
      EXPECT_TRUE(status == 0 || (status >= 400 && status < 500) || status == 501) << request << "\n" << answer;
      EXPECT_THAT(answer, Not(HasSubstr("root:x:0"))) << request;
    }
  }

  static TempDirectory* files_;
  static Cluster* cluster_;
};
TempDirectory* ReenactedTest::files_ = nullptr;
Cluster* ReenactedTest::cluster_ = nullptr;

// ---- The audit's first finding: whoever reaches a port owns the cluster --------------------------

TEST_F(ReenactedTest, AStrangerRunsNoCommandAndReadsAndDeletesNothing) {
  const std::string victim = Path("victim");
  fs::create_directory(victim);
  std::ofstream(victim + "/kept") << "kept\n";
  std::ofstream(Path("lib.so")) << "no library, and never looked at";
  const std::string out = "file://" + Path("stolen");
  const std::vector<std::vector<std::string>> attacks = {
      // a shell as the worker's uid
      {"submit", "stream", "--map", "touch " + Path("owned"), "--input", "/in", "--output", out},
      // any file of the workers' machines
      {"submit", "grep", "-e", ".", "--input", "file:///etc/passwd", "--output", out},
      {"submit", "wordcount", "--input", "file://" + cluster_->master_data() + "/credentials/ca.key", "--output", out},
      // the master replaces a directory by an empty output
      {"submit", "wordcount", "--input", "/in", "--output", "file://" + victim, "--overwrite"},
      {"fs", "rm", "-r", "/in"},
      {"fs", "put", "--overwrite", Path("in"), "/in"},
      {"fs", "cat", "/in"},
      {"fs", "mv", "/in", "/elsewhere"},
      {"kill", "job_1_0001"},
      {"worker", "exclude", "w1"},
      {"worker", "drain", "w1"},
      {"logs", "job_1_0001"},
      {"history"},
      {"queue", "set", "default", "--weight", "9"},
      {"store", "safemode"}};
  for (const auto& attack : attacks) {
    const RunResult run = Stranger(attack);
    EXPECT_EQ(run.exit, 6) << ::testing::PrintToString(attack) << run.out << run.err;
  }
  EXPECT_FALSE(fs::exists(Path("owned")));
  EXPECT_FALSE(fs::exists(Path("stolen")));
  EXPECT_TRUE(fs::exists(victim + "/kept"));
  EXPECT_THAT(cluster_->Mrctl({"jobs"}).out, Not(HasSubstr("job_1_0001"))) << "no job came to be";
}

// ---- Spark ---------------------------------------------------------------------------------------

// CVE-2018-11770: the REST server ran what it was sent, and did not know of the secret.
// Ray's CVE-2023-48022 and Flink's upload of a jar are the same door.
TEST_F(ReenactedTest, NoHttpRouteSubmitsUploadsOrChangesAnything) {
  const std::string before = JobsAndWorkers();
  const std::string submit = R"({"action":"CreateSubmissionRequest","appResource":"file:///tmp/x.jar",)"
                             R"("mainClass":"X","entrypoint":"touch )" +
                             Path("owned") + "\"}";
  for (const char* path : {"/v1/submissions/create", "/api/jobs/", "/api/v1/jobs", "/jars/upload", "/jars/x/run", "/",
                           "/api/v1/jobs/1/kill", "/ws/v1/cluster/apps", "/webhdfs/v1/in?op=DELETE&user.name=root"}) {
    for (const char* method : {"POST", "PUT", "DELETE", "PATCH"}) {
      ExpectRefused(std::string(method) + " " + path +
                    " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json" +
                    "\r\nContent-Length: " + std::to_string(submit.size()) + "\r\n\r\n" + submit);
    }
    // A change by a link: no GET may do it, either.
    for (const int i : {0, 1}) (void)HttpGet(HttpPorts(i), path);
  }
  EXPECT_EQ(JobsAndWorkers(), before);
  EXPECT_FALSE(fs::exists(Path("owned")));
}

// CVE-2018-17190: the master could be made to run code of users.
TEST_F(ReenactedTest, TheMasterHasNoChildrenAndLoadsNoLibraryOfUsers) {
  const auto submitted = cluster_->MrctlInBackground({"submit", "stream", "--map", "sleep 2; cat", "--reduce", "cat",
                                                      "--input", "/in", "--output", "/slept", "--clone", "off"},
                                                     "slept");
  ASSERT_TRUE(submitted.ok());
  bool ran = false;
  for (const Instant end = Now() + Seconds(30); Now() < end && !ran;) {
    ran = cluster_->Mrctl({"jobs"}).out.find("RUNNING") != std::string::npos;
    for (const auto& thread : fs::directory_iterator("/proc/" + std::to_string(cluster_->master_pid()) + "/task")) {
      std::ifstream children(thread.path() / "children");
      EXPECT_EQ(std::string(std::istreambuf_iterator<char>(children), {}), "");
    }
  }
  EXPECT_TRUE(ran);
  std::ifstream maps("/proc/" + std::to_string(cluster_->master_pid()) + "/maps");
  const std::string mapped(std::istreambuf_iterator<char>(maps), {});
  EXPECT_THAT(mapped, HasSubstr("mrmaster"));
  EXPECT_THAT(mapped, Not(HasSubstr(cluster_->directory() + "/"))) << "no library of the cluster's directory";
  EXPECT_THAT(mapped, Not(HasSubstr("paceline_jobs")));
  EXPECT_EQ(const_cast<Process&>(*submitted).Wait(Seconds(60)), 0) << cluster_->Logs();
}

// CVE-2020-9480: a crafted call ran although the secret was wrong. Dask's scheduler unpickles what a peer sends.
TEST_F(ReenactedTest, CallsWithoutAProofAreClosedAndNeverDecoded) {
  const auto metric = [](uint16_t port, const std::string& name) {
    const std::string text = HttpGet(port, "/metrics");
    const size_t at = text.find("\n" + name + " ");
    return at == std::string::npos ? std::string() : text.substr(at + 1, text.find('\n', at + 1) - at - 1);
  };
  const auto text = [](const rpc::Hello& hello) {
    const auto bytes = rpc::EncodeHello(hello);
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  // One segment: a bootstrap, as Cap'n Proto sends it first.
  const std::string call(
      "\0\0\0\0\5\0\0\0\0\0\0\0\1\0\1\0\x08\0\0\0\0\0\0\0\0\0\0\0\1\0\1\0"
      "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
      48);
  const std::string nothing = rpc::EncodeCredential({}).Reveal();
  const std::string token =
      rpc::EncodeCredential({rpc::CredentialKind::kToken, Secret<std::string>("mrt1_AAAA")}).Reveal();
  const std::string pickle = "\x80\x04\x95\x1a\0\0\0\0\0\0\0\x8c\x05posix\x94\x8c\x06system\x94\x93\x94";
  const std::string streams[2] = {metric(HttpPorts(0), "mr_message_streams_total"),
                                  metric(HttpPorts(1), "mr_message_streams_total")};
  for (const uint16_t port : {cluster_->master_port(), cluster_->worker_port(0)}) {
    for (const rpc::Role role : {rpc::Role::kClient, rpc::Role::kWorker, rpc::Role::kHeartbeat, rpc::Role::kData,
                                 rpc::Role::kJoin, rpc::Role::kProbe}) {
      for (const uint32_t flags : {0u, uint32_t{rpc::kHelloTls}, rpc::kHelloTls | rpc::kHelloNode}) {
        for (const std::string& behind : {call, nothing + call, token + call, std::string()}) {
          const std::string reply = RawHttp(port, text({.role = role, .flags = flags}) + behind);
          EXPECT_LE(reply.size(), rpc::kHelloBytes + 7 + 256) << "a reply to the hello, and at most an alert of TLS";
        }
      }
    }
    EXPECT_EQ(RawHttp(port, call), "");
    EXPECT_EQ(RawHttp(port, pickle), "");
  }
  for (const int i : {0, 1}) {
    // Both are empty where the page needs an identity.
    EXPECT_EQ(metric(HttpPorts(i), "mr_message_streams_total"), streams[i]);
  }
}

// CVE-2025-55039: streams without a check of integrity, in which a flipped bit is not noticed.
TEST_F(ReenactedTest, AFlippedBitOfAConnectionIsNeverTaken) {
  // A long path, so that all bytes that are flipped come before the answer is whole.
  std::string path;
  for (const char c : std::string("abcdefghi")) path += "/" + std::string(200, c);
  ASSERT_EQ(cluster_->Mrctl({"fs", "mkdir", "-p", path + "/end"}).exit, 0);
  const RunResult right = cluster_->Mrctl({"fs", "ls", path});
  ASSERT_EQ(right.exit, 0) << right.err;
  ASSERT_GE(right.out.size(), path.size());
  std::atomic<int> refused = 0;
  const auto flip = [&](FlippedWire::Direction direction) {
    // Within the hello, the handshake, the verdict and the messages.
    for (const uint64_t at : {0u, 13u, 36u, 70u, 90u, 200u, 400u, 800u, 1000u, 1300u, 1500u, 1700u}) {
      FlippedWire wire(cluster_->master_port(), direction, at);
      const RunResult run = RunMrctl({"--master", wire.address(), "--timeout", "2s", "fs", "ls", path}, Seconds(30));
      if (!wire.flipped()) continue;
      ++refused;
      EXPECT_NE(run.exit, 0) << "byte " << at << "\n" << run.out;
      EXPECT_EQ(run.out, "") << "byte " << at;
    }
  };
  // Both at a time: where a length is flipped, an end waits for bytes that never come.
  std::thread to_server([&] { flip(FlippedWire::kToServer); });
  flip(FlippedWire::kToClient);
  to_server.join();
  EXPECT_EQ(refused, 24) << "all of these bytes exist";
}

// CVE-2017-7678, CVE-2018-8024: names of jobs that are scripts in the page.
TEST_F(ReenactedTest, NamesOfJobsAreTextInEveryPage) {
  const RunResult run = cluster_->Mrctl({"submit", "--name", std::string(kMark) + "\"'><img src=x onerror=alert(1)>",
                                         "wordcount", "--input", "/in", "--output", "/marked"});
  ASSERT_THAT(run.exit, AnyOf(0, 2)) << run.err;
  if (run.exit == 2) return;  // refused as a name
  const RunResult report = cluster_->Mrctl({"report", "last"});
  ASSERT_EQ(report.exit, 0) << report.err;
  EXPECT_THAT(report.out, HasSubstr("alert(1)"));
  EXPECT_THAT(report.out, Not(HasSubstr(kMark)));
  EXPECT_THAT(report.out, Not(HasSubstr("<img src=x")));
  for (const char* path : {"/", "/jobs", "/api/v1/jobs", "/api/v1/cluster"}) {
    const std::string answer = HttpGet(cluster_->master_http_port(), path);
    if (answer.find("application/json") == std::string::npos) {
      EXPECT_THAT(answer, Not(HasSubstr(kMark))) << path;
    }
    if (StatusOf(answer) == 200) {
      EXPECT_THAT(answer, HasSubstr("nosniff")) << path;
    }
  }
}

// CVE-2022-33891: the name of the user was part of a shell's command line.
TEST_F(ReenactedTest, NamesAreNeverWordsOfAShell) {
  const std::string command = "$(touch " + Path("owned") + ")`touch " + Path("owned") + "`;touch " + Path("owned");
  for (const std::string& subject :
       {command, std::string("../../root"), std::string("worker:w0"), std::string("a b")}) {
    const RunResult made = RunMrctl({"token", "create", "--data", cluster_->master_data(), "--subject", subject,
                                     "--roles", "viewer", "--out", Path("bad.token")});
    EXPECT_EQ(made.exit, 2) << subject << made.err;
    EXPECT_FALSE(fs::exists(Path("bad.token")));
  }
  const std::vector<std::string> names = {"USER=" + command, "LOGNAME=" + command, "HADOOP_USER_NAME=" + command};
  SpawnOptions options;
  options.env = names;
  const RunResult run = cluster_->Mrctl({"submit", "--name", command, "--label", "k=" + command, "--env",
                                         "VALUE=" + command, "wordcount", "--input", "/in", "--output", "/named"},
                                        Seconds(60), options);
  EXPECT_THAT(run.exit, AnyOf(0, 2, 3)) << run.err;
  EXPECT_FALSE(fs::exists(Path("owned")));
}

// ---- Hadoop --------------------------------------------------------------------------------------

// "Simple" authentication: the client sends the name that the server believes.
TEST_F(ReenactedTest, TheNameThatAClientSendsIsNotBelieved) {
  const std::vector<std::string> root = {"USER=root", "LOGNAME=root", "MR_USER=root", "HADOOP_USER_NAME=root"};
  const RunResult owned =
      cluster_->Mrctl({"submit", "--submission-id", "of-root", "wordcount", "--input", "/in", "--output", "/owned"});
  ASSERT_EQ(owned.exit, 0) << owned.err;
  const std::string job = [&] {
    const std::string text = owned.out + owned.err;
    const size_t at = text.find("job_");
    return at == std::string::npos ? std::string() : text.substr(at, text.find_first_not_of("job_0123456789", at) - at);
  }();
  ASSERT_NE(job, "") << owned.out << owned.err;
  EXPECT_EQ(As("vera", "viewer", {"submit", "wordcount", "--input", "/in", "--output", "/by-vera"}, root).exit, 6);
  EXPECT_EQ(As("bob", "submitter", {"kill", job}, root).exit, 7) << "as one that does not exist";
  EXPECT_EQ(As("bob", "submitter", {"logs", job}, root).exit, 7);
  EXPECT_EQ(As("bob", "submitter", {"kill", "job_1_9999"}, root).exit, 7);
  EXPECT_EQ(As("bob", "submitter", {"worker", "drain", "w1"}, root).exit, 6);
}

// CVE-2017-3166: files of a job were readable by all in the shared cache.
TEST_F(ReenactedTest, NobodyElseReadsWhatDaemonsKeep) {
  std::ofstream(Path("side.txt")) << "side\n";
  const RunResult run = cluster_->Mrctl({"submit", "--files", Path("side.txt"), "stream", "--map",
                                         "cat \"$MR_FILES_DIR/side.txt\"", "--input", "/in", "--output", "/sided"});
  ASSERT_EQ(run.exit, 0) << run.err << cluster_->Logs();
  // A path is closed to others where it or a directory above it, within the daemon's own, is.
  for (const std::string& data : {cluster_->worker_data(0), cluster_->master_data()}) {
    for (auto entry = fs::recursive_directory_iterator(data); entry != fs::recursive_directory_iterator(); ++entry) {
      struct stat facts {};
      if (::lstat(entry->path().c_str(), &facts) != 0) continue;  // gone meanwhile
      if (S_ISDIR(facts.st_mode) && (facts.st_mode & S_IXOTH) == 0) {
        entry.disable_recursion_pending();
        continue;
      }
      if (S_ISLNK(facts.st_mode)) continue;
      EXPECT_EQ(facts.st_mode & S_IWOTH, 0u) << entry->path();
      const std::string name = entry->path().filename().string();
      const bool secret = name.ends_with(".key") || name == "tokens" || name.ends_with(".token");
      if (secret) {
        EXPECT_EQ(facts.st_mode & (S_IROTH | S_IRGRP), 0u) << entry->path();
      }
    }
  }
}

// ---- Ray, Flink ----------------------------------------------------------------------------------

// CVE-2025-62593: DNS rebinding, with a guard that looked at the browser's name.
TEST_F(ReenactedTest, AnotherHostOrOriginIsRefusedForEveryProgram) {
  for (const char* agent : {"Mozilla/5.0", "curl/8", ""}) {
    for (const char* host : {"evil.example", "evil.example:8080", "127.0.0.1.evil.example", ""}) {
      ExpectRefused(std::string("GET /api/v1/jobs HTTP/1.1\r\nHost: ") + host + "\r\nUser-Agent: " + agent +
                    "\r\n\r\n");
    }
    ExpectRefused(std::string("GET /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\n") +
                  "User-Agent: " + agent + "\r\n\r\n");
  }
}

// CVE-2020-17519: the endpoint of logs read any file. CVE-2020-17518: an upload wrote any file, by its name.
TEST_F(ReenactedTest, NoPathOfAUrlIsAPathOfTheMachine) {
  for (const char* path : {"/jobmanager/logs/..%252f..%252f..%252f..%252fetc%252fpasswd", "/../../../../etc/passwd",
                           "//etc/passwd", "/..%2f..%2f..%2fetc%2fpasswd", "/api/v1/logs?file=/etc/passwd",
                           "/api/v1/jobs/..%2f..%2fetc%2fpasswd", "/api/v1/attempts/../../etc/passwd/log",
                           "/static/..\\..\\etc\\passwd", "/%00/etc/passwd", "/page/../master.log"}) {
    ExpectRefused(std::string("GET ") + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }
  const std::string upload = "--b\r\nContent-Disposition: form-data; name=\"jarfile\"; filename=\"../../../.." +
                             Path("owned") + "\"\r\n\r\nx\r\n--b--\r\n";
  ExpectRefused(
      "POST /jars/upload HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=b\r\n"
      "Content-Length: " +
      std::to_string(upload.size()) + "\r\n\r\n" + upload);
  EXPECT_FALSE(fs::exists(Path("owned")));
}

}  // namespace
}  // namespace mr::test
