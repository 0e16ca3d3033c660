// A cluster with certificates, from `mrctl cluster init` on, with the real binaries (common/adr/0017).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "common/io/clock.h"
#include "common/secure/certificate.h"
#include "common/secure/cluster_files.h"
#include "common/secure/names.h"
#include "common/secure/private_file.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"
#include "tests/support/http_get.h"
#include "tests/support/https_get.h"

namespace mr::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

SpawnOptions With(const std::string& token_file) {
  SpawnOptions options;
  options.env = {"MR_TOKEN_FILE=" + token_file};
  return options;
}

std::string TokenIn(const std::string& file) {
  const std::string text = *ReadFile(file);
  const size_t at = text.find("mrt1_");
  return text.substr(at, text.find('\n', at) - at);
}

// One cluster for all tests; in their order.
class CredentialsClusterTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    files_ = new TempDirectory();
    cluster_ = new Cluster(
        {.workers = 3,
         .master_flags = {"--bind", "0.0.0.0", "--http_bind", "0.0.0.0", "--advertise", "127.0.0.1",
                          "--owner_library_bytes", "1m"},
         .worker_flags = {"--http_bind", "0.0.0.0"},
         .flags_of = {{"--join", Path("w0.join")}, {"--join", Path("w1.join")}, {"--join", Path("w0.join")}}});
    init_ = RunMrctl({"cluster", "init", "--data", cluster_->master_data(), "--subject", "root"});
    ASSERT_EQ(init_.exit, 0) << init_.err;
    ASSERT_TRUE(cluster_->StartMaster().ok()) << cluster_->Logs();
    for (const int worker : {0, 1}) {
      const RunResult join = Token(
          {"create", "--join", Path("w" + std::to_string(worker) + ".join"), "--address", cluster_->master_address()});
      ASSERT_EQ(join.exit, 0) << join.err;
      const Status started = cluster_->StartWorker(worker);
      ASSERT_TRUE(started.ok()) << started.ToString() << cluster_->Logs();
    }
    const Status registered = cluster_->WaitForWorkers(2);
    ASSERT_TRUE(registered.ok()) << registered.ToString() << cluster_->Logs();
  }
  static void TearDownTestSuite() {
    delete cluster_;
    delete files_;
    cluster_ = nullptr;
    files_ = nullptr;
  }
  static std::string Path(const std::string& name) { return *files_ / name; }
  // Runs `mrctl token`.
  static RunResult Token(std::vector<std::string> args) {
    args.insert(args.begin(), "token");
    args.insert(args.begin() + 2, {"--data", cluster_->master_data()});
    return RunMrctl(args);
  }
  // Makes a token file for `name`. Returns its path.
  static std::string Person(const std::string& name, const std::string& roles, const std::string& life = "1h") {
    const std::string file = Path(name + ".token");
    const RunResult made = Token({"create", "--subject", name, "--roles", roles, "--life", life, "--out", file});
    EXPECT_EQ(made.exit, 0) << made.err;
    return file;
  }
  static bool Within(Duration limit, const std::function<bool()>& met) {
    for (const Instant end = Now() + limit; Now() < end; std::this_thread::sleep_for(std::chrono::milliseconds(20))) {
      if (met()) return true;
    }
    return met();
  }

  // Gets a page of a daemon over TLS. token_file: ""; without a token.
  static std::string Page(uint16_t port, const std::string& name, const std::string& path,
                          const std::string& token_file = "", const std::string& headers = "") {
    const std::string authority = *ReadFile(secure::CredentialsPath(cluster_->master_data()) + "/ca.pem");
    const std::string bearer = token_file.empty() ? "" : "Authorization: Bearer " + TokenIn(token_file) + "\r\n";
    return HttpsGet(port, authority, name, path, bearer + headers);
  }
  static std::string MasterPage(const std::string& path, const std::string& token_file = "",
                                const std::string& headers = "") {
    return Page(cluster_->master_http_port(), secure::MasterName(Id()), path, token_file, headers);
  }
  static uint64_t Id() {
    return secure::ReadCertificate(*ReadFile(secure::CredentialsPath(cluster_->master_data()) + "/ca.pem"))->cluster_id;
  }

  static TempDirectory* files_;
  static Cluster* cluster_;
  static RunResult init_;
};
TempDirectory* CredentialsClusterTest::files_ = nullptr;
Cluster* CredentialsClusterTest::cluster_ = nullptr;
RunResult CredentialsClusterTest::init_;

TEST_F(CredentialsClusterTest, TwoCommandsAreWhatInitPrints) {
  EXPECT_THAT(init_.out, HasSubstr("mrmaster --data " + cluster_->master_data() + " --bind 0.0.0.0"));
  EXPECT_THAT(init_.out, HasSubstr("mrworker --data WORKER_DATA --join " + cluster_->master_data() + "/join"));
  EXPECT_THAT(init_.out + init_.err, Not(HasSubstr("mrt1_"))) << "a token is never printed";
  EXPECT_THAT(init_.err, HasSubstr("/paceline/tokens/"));
  const RunResult again = RunMrctl({"cluster", "init", "--data", cluster_->master_data()});
  EXPECT_EQ(again.exit, 3);
  EXPECT_THAT(again.err, HasSubstr("nothing was changed"));
}

TEST_F(CredentialsClusterTest, JobsAndFilesOverTlsWithTheTokenThatInitMade) {
  WriteBible(Path("bible"), 200'000);
  const RunResult put = cluster_->Mrctl({"fs", "put", Path("bible"), "/bible"});
  ASSERT_EQ(put.exit, 0) << put.err << cluster_->Logs();
  const RunResult job = cluster_->Mrctl({"submit", "wordcount", "--input", "/bible", "--output", "/counts"});
  ASSERT_EQ(job.exit, 0) << job.err << cluster_->Logs();
  const RunResult counts = cluster_->Mrctl({"fs", "cat", "/counts"});
  ASSERT_EQ(counts.exit, 0) << counts.err;
  EXPECT_EQ(SortedLines(counts.out), ExpectedWordCount(Path("bible")));
}

TEST_F(CredentialsClusterTest, PeopleHaveTheirOwnFilesAndJobsReachThemAlone) {
  const std::string doras = Person("dora", "submitter"), emils = Person("emil", "submitter");
  const auto as = [&](const std::string& who, const std::vector<std::string>& args) {
    return cluster_->Mrctl(args, Seconds(60), With(who == "dora" ? doras : emils));
  };
  WriteBible(Path("words"), 20'000);
  EXPECT_EQ(as("dora", {"fs", "put", Path("words"), "/words"}).exit, 6);
  const RunResult put = as("dora", {"fs", "put", Path("words"), "/user/dora/words"});
  ASSERT_EQ(put.exit, 0) << put.err;
  EXPECT_EQ(as("emil", {"fs", "cat", "/user/dora/words"}).exit, 7);
  EXPECT_EQ(as("emil", {"fs", "rm", "/user/dora/words"}).exit, 7);
  EXPECT_EQ(as("emil", {"fs", "ls", "/"}).out.find("dora"), std::string::npos);
  const auto count = [&](const std::string& who, const std::string& output) {
    return as(who, {"submit", "wordcount", "--input", "/user/dora/words", "--output", output});
  };
  EXPECT_EQ(count("emil", "/user/emil/counts").exit, 7);
  EXPECT_EQ(count("dora", "/user/emil/counts").exit, 6);
  const RunResult counted = count("dora", "/user/dora/counts");
  ASSERT_EQ(counted.exit, 0) << counted.err << cluster_->Logs();
  const RunResult printed = count("dora", "-");
  EXPECT_EQ(printed.exit, 0) << printed.err;
  EXPECT_EQ(SortedLines(printed.out), ExpectedWordCount(Path("words")));
  EXPECT_EQ(as("emil", {"fs", "cat", "/user/dora/counts"}).exit, 7);
  EXPECT_EQ(as("emil", {"fs", "chmod", "read=all", "/user/dora/counts"}).exit, 7);
  ASSERT_EQ(as("dora", {"fs", "chmod", "read=all", "/user/dora/counts"}).exit, 0);
  EXPECT_EQ(SortedLines(as("emil", {"fs", "cat", "/user/dora/counts"}).out), ExpectedWordCount(Path("words")));
  EXPECT_EQ(as("emil", {"fs", "rm", "-r", "/user/dora/counts"}).exit, 6) << "seen, and not his";
  const RunResult chown = as("dora", {"fs", "chown", "emil", "/user/dora/counts"});
  EXPECT_EQ(chown.exit, 6);
  EXPECT_THAT(chown.err, HasSubstr("not allowed to change the owner of files: it needs one of the roles admin"));
  ASSERT_EQ(cluster_->Mrctl({"fs", "chown", "emil", "/user/dora/counts"}).exit, 0);
  EXPECT_THAT(as("emil", {"fs", "stat", "/user/dora/counts"}).out, HasSubstr("emil   all"));
}

TEST_F(CredentialsClusterTest, WithoutATokenOfThisClusterAVerbExitsWith6AndSaysWhatToDo) {
  SpawnOptions none;
  none.env = {"XDG_STATE_HOME=" + Path("nobody")};
  const RunResult stranger = cluster_->Mrctl({"jobs"}, Seconds(20), none);
  EXPECT_EQ(stranger.exit, 6) << stranger.err;
  EXPECT_THAT(stranger.err, HasSubstr("mrctl token create"));
  EXPECT_THAT(stranger.err, HasSubstr("MR_TOKEN_FILE"));

  const std::string elsewhere = Path("elsewhere.token");
  ASSERT_EQ(RunMrctl({"cluster", "init", "--data", Path("other"), "--out", elsewhere}).exit, 0);
  const RunResult wrong = cluster_->Mrctl({"jobs"}, Seconds(20), With(elsewhere));
  EXPECT_EQ(wrong.exit, 6) << wrong.err;
  EXPECT_THAT(wrong.err, HasSubstr("check the address of the master"));

  const std::string brief = Person("brief", "viewer", "1s");
  EXPECT_TRUE(Within(Seconds(10), [&] { return cluster_->Mrctl({"jobs"}, Seconds(20), With(brief)).exit == 6; }));
  EXPECT_THAT(cluster_->Mrctl({"jobs"}, Seconds(20), With(brief)).err, HasSubstr("has expired"));

  const RunResult absent = cluster_->Mrctl({"jobs"}, Seconds(20), With(Path("absent")));
  EXPECT_EQ(absent.exit, 6) << absent.err;
  EXPECT_THAT(absent.err, HasSubstr(Path("absent")));
  const std::string wide = Person("wide", "viewer");
  std::filesystem::permissions(wide, std::filesystem::perms(0644));
  const RunResult open = cluster_->Mrctl({"jobs"}, Seconds(20), With(wide));
  EXPECT_EQ(open.exit, 6) << open.err;
  EXPECT_THAT(open.err, HasSubstr("chmod 600"));
}

TEST_F(CredentialsClusterTest, ARevokedTokenIsOfNoUseWithinASecond) {
  const std::string anna = Person("anna", "viewer,submitter");
  ASSERT_EQ(cluster_->Mrctl({"jobs"}, Seconds(20), With(anna)).exit, 0);
  ASSERT_EQ(Token({"revoke", "anna"}).exit, 0);
  // A command takes a while itself on a busy machine, so the last one may begin after the second.
  std::this_thread::sleep_for(std::chrono::seconds(1));
  const RunResult refused = cluster_->Mrctl({"jobs"}, Seconds(20), With(anna));
  EXPECT_EQ(refused.exit, 6);
  EXPECT_THAT(refused.err, HasSubstr("revoked"));
  EXPECT_THAT(Token({"list"}).out, HasSubstr("anna"));
}

TEST_F(CredentialsClusterTest, HttpPortsSpeakTlsOnly) {
  for (const uint16_t port : {cluster_->master_http_port(), cluster_->worker_http_port(0)}) {
    EXPECT_EQ(RawHttp(port, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").find("HTTP/1.1 200"),
              std::string::npos);
  }
  EXPECT_THAT(MasterPage("/healthz"), HasSubstr("\r\n\r\nok\n"));
  EXPECT_THAT(Page(cluster_->master_http_port(), "localhost", "/healthz"), HasSubstr("\r\n\r\nok\n"))
      << "a browser on the master's machine";
  EXPECT_THAT(Page(cluster_->worker_http_port(0), secure::AnyWorkerName(Id()), "/healthz"), HasSubstr("ok\n"));
  EXPECT_THAT(Page(cluster_->worker_http_port(0), secure::MasterName(Id()), "/healthz"), StartsWith("error: "))
      << "a worker does not pass for the master";
}

TEST_F(CredentialsClusterTest, MetricsNeedATokenOfAViewer) {
  const std::string viewer = Person("prometheus", "viewer"), submitter = Person("sue", "submitter");
  const uint16_t worker = cluster_->worker_http_port(0);
  const std::string worker_name = secure::AnyWorkerName(Id());
  EXPECT_THAT(MasterPage("/metrics", viewer), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(MasterPage("/metrics", submitter), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(MasterPage("/metrics"), StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(Page(worker, worker_name, "/metrics", viewer), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(Page(worker, worker_name, "/metrics", submitter), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(Page(worker, worker_name, "/metrics"), StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(Page(worker, worker_name, "/metrics", Path("w0.join")), StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(MasterPage("/", Path("w0.join")), StartsWith("HTTP/1.1 401 ")) << "a join token reads nothing";
}

TEST_F(CredentialsClusterTest, AJobIsOnThePagesOfItsOwnerAndOfThoseWhoSeeAll) {
  const std::string mary = Person("mary", "submitter"), ben = Person("ben", "submitter");
  const std::string viewer = Person("victor", "viewer"), admin = Person("ada", "admin");
  std::ofstream(Path("small")) << "a b\n";
  ASSERT_EQ(cluster_->Mrctl({"fs", "put", Path("small"), "/small"}).exit, 0);
  ASSERT_EQ(cluster_->Mrctl({"fs", "chmod", "read=all", "/small"}).exit, 0);
  const RunResult run = cluster_->Mrctl({"-o", "json", "submit", "wordcount", "--name", "secretjob", "--input",
                                         "/small", "--output", "/user/mary/secretjob"},
                                        Seconds(60), With(mary));
  ASSERT_EQ(run.exit, 0) << run.err;
  const size_t at = run.out.find("job_");
  const std::string job = run.out.substr(at, run.out.find('"', at) - at);
  for (const std::string& path : {"/jobs/" + job, "/api/v1/jobs/" + job, "/api/v1/jobs/" + job + "/report",
                                  "/api/v1/jobs/" + job + "/tasks", "/api/v1/jobs/" + job + "/attempts"}) {
    EXPECT_THAT(MasterPage(path, ben), StartsWith("HTTP/1.1 404 ")) << path;
    EXPECT_THAT(MasterPage(path, ben), Not(HasSubstr("secretjob"))) << path;
    for (const std::string& reader : {mary, viewer, admin}) {
      EXPECT_THAT(MasterPage(path, reader), StartsWith("HTTP/1.1 200 ")) << path << " by " << reader;
    }
  }
  for (const std::string path : {"/", "/history", "/api/v1/cluster", "/api/v1/jobs", "/api/v1/search?q=secretjob"}) {
    EXPECT_THAT(MasterPage(path, mary), HasSubstr(job)) << path;
    EXPECT_THAT(MasterPage(path, viewer), HasSubstr(job)) << path;
    const std::string other = MasterPage(path, ben);
    EXPECT_THAT(other, StartsWith("HTTP/1.1 200 ")) << path;
    EXPECT_THAT(other, Not(HasSubstr(job))) << path;
    EXPECT_THAT(other, Not(HasSubstr("secretjob"))) << path;
  }
}

TEST_F(CredentialsClusterTest, ASessionEndsWithinASecondOfItsToken) {
  const std::string carl = Person("carl", "viewer");
  const RunResult made = cluster_->Mrctl({"page"}, Seconds(20), With(carl));
  ASSERT_EQ(made.exit, 0) << made.err;
  const std::string path = made.out.substr(made.out.find("/login"), made.out.find('\n') - made.out.find("/login"));
  EXPECT_THAT(made.out, StartsWith("https://localhost:"));
  const std::string reply = MasterPage(path);
  ASSERT_THAT(reply, StartsWith("HTTP/1.1 200 OK\r\n")) << path;
  EXPECT_THAT(reply, HasSubstr("Set-Cookie: __Host-paceline_"));
  EXPECT_THAT(reply, HasSubstr("; HttpOnly; SameSite=Strict; Secure\r\n"));
  const size_t at = reply.find("__Host-");
  const std::string cookie = "Cookie: " + reply.substr(at, reply.find(';', at) - at) + "\r\n";
  EXPECT_THAT(MasterPage("/", "", cookie), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(MasterPage(path), StartsWith("HTTP/1.1 401 ")) << "the link was used";
  ASSERT_EQ(Token({"revoke", "carl"}).exit, 0);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  EXPECT_THAT(MasterPage("/", "", cookie), StartsWith("HTTP/1.1 401 "));
}

TEST_F(CredentialsClusterTest, AJobWithTheNetworkNeedsARoleThatMay) {
  const auto submit = [&](const std::string& who, const std::string& output) {
    return cluster_->Mrctl(
        {"-o", "json", "submit", "stream", "--map", "cat", "--input", "/small", "--output", output, "--allow-network"},
        Seconds(60), With(who));
  };
  std::ofstream(Path("small")) << "a b\n";
  ASSERT_EQ(cluster_->Mrctl({"fs", "put", "-f", Path("small"), "/small"}).exit, 0);
  ASSERT_EQ(cluster_->Mrctl({"fs", "chmod", "read=all", "/small"}).exit, 0);
  const RunResult refused = submit(Person("ned", "submitter,operator"), "/user/ned/out");
  EXPECT_EQ(refused.exit, 6) << refused.out << refused.err;
  EXPECT_THAT(refused.out, HasSubstr("\"not_allowed\""));
  EXPECT_THAT(refused.out, HasSubstr("--network_role"));
  const RunResult allowed = submit(Person("nora", "submitter,admin"), "/user/nora/out");
  EXPECT_EQ(allowed.exit, 0) << allowed.out << allowed.err;
}

TEST_F(CredentialsClusterTest, SideFilesOfOneUserHaveALimitAndThoseOfAdministratorsHaveNone) {
  std::ofstream(Path("small")) << "a b\n";
  ASSERT_EQ(cluster_->Mrctl({"fs", "put", "-f", Path("small"), "/small"}).exit, 0);
  ASSERT_EQ(cluster_->Mrctl({"fs", "chmod", "read=all", "/small"}).exit, 0);
  const auto submit = [&](const std::string& who, size_t bytes) {
    std::ofstream(Path("side")) << std::string(bytes, 'x');
    return cluster_->Mrctl(
        {"submit", "stream", "--map", "cat", "--input", "/small", "--output", "-", "--files", Path("side")},
        Seconds(60), With(who));
  };
  const std::string fred = Person("fred", "submitter");
  EXPECT_EQ(submit(fred, 700'000).exit, 0);
  const RunResult refused = submit(fred, 700'001);
  EXPECT_EQ(refused.exit, 3) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("--owner_library_bytes"));
  EXPECT_EQ(submit(fred, 700'000).exit, 0) << "it is there";
  EXPECT_EQ(submit(Person("gina", "submitter"), 700'002).exit, 0);
  EXPECT_EQ(submit(Person("gus", "submitter,admin"), 2'000'000).exit, 0);
}

TEST_F(CredentialsClusterTest, AViewerReadsTheReportOfAJobWithoutItsPlan) {
  const std::string rita = Person("rita", "submitter"), viewer = Person("vera", "viewer");
  std::ofstream(Path("words of rita")) << "a b a\n";
  ASSERT_EQ(cluster_->Mrctl({"fs", "put", Path("words of rita"), "/user/rita/words"}, Seconds(60), With(rita)).exit, 0);
  const RunResult run = cluster_->Mrctl({"-o", "json", "submit", "wordcount", "--input", "/user/rita/words", "--output",
                                         "/user/rita/counts", "--env", "PASSWORD=of_rita"},
                                        Seconds(60), With(rita));
  ASSERT_EQ(run.exit, 0) << run.err;
  const size_t at = run.out.find("job_");
  const std::string job = run.out.substr(at, run.out.find('"', at) - at);
  const RunResult why = cluster_->Mrctl({"why", job}, Seconds(60), With(viewer));
  EXPECT_EQ(why.exit, 0) << why.err;
  EXPECT_THAT(why.out, HasSubstr("SUCCEEDED"));
  const RunResult page = cluster_->Mrctl({"report", job}, Seconds(60), With(viewer));
  EXPECT_EQ(page.exit, 0) << page.err;
  EXPECT_THAT(page.out, HasSubstr("<html"));
  const RunResult report = cluster_->Mrctl({"-o", "json", "report", job}, Seconds(60), With(viewer));
  EXPECT_EQ(report.exit, 0) << report.err;
  EXPECT_THAT(report.out, HasSubstr("\"reduce\""));
  EXPECT_THAT(report.out, HasSubstr("outputs of earlier stages"));
  for (const char* hidden : {"PASSWORD", "/user/rita/words"}) EXPECT_THAT(report.out, Not(HasSubstr(hidden)));
  const RunResult own = cluster_->Mrctl({"-o", "json", "report", job}, Seconds(60), With(rita));
  EXPECT_THAT(own.out, HasSubstr("/user/rita/words")) << own.err;
}

TEST_F(CredentialsClusterTest, TheDoctorSaysWhichChecksTheRolesOfATokenDoNotAllow) {
  const RunResult run = cluster_->Mrctl({"doctor"}, Seconds(60), With(Person("dan", "submitter")));
  EXPECT_THAT(run.out, HasSubstr("not checked: it needs the role viewer, operator or admin")) << run.err;
  EXPECT_THAT(run.out, Not(HasSubstr("gave no answer"))) << "the workers were not asked";
  EXPECT_THAT(run.out, Not(HasSubstr("use the mrctl of the master's release")));
  EXPECT_THAT(run.out, Not(HasSubstr("is not allowed")));
  const RunResult all = cluster_->Mrctl({"doctor"}, Seconds(60), With(Person("dora2", "viewer")));
  EXPECT_THAT(all.out, Not(HasSubstr("not checked")));
}

TEST_F(CredentialsClusterTest, ABundleHasTheMetricsOfDaemonsThatSpeakTls) {
  const std::string viewer = Person("bea", "viewer");
  const RunResult run = cluster_->Mrctl({"doctor", "--bundle", Path("bug.tar")}, Seconds(60), With(viewer));
  const std::string bundle = ReadFile(Path("bug.tar")).value();
  for (const char* daemon : {"metrics/master.txt", "metrics/w1.txt", "metrics/w2.txt"}) {
    EXPECT_THAT(bundle, Not(HasSubstr("not in it: " + std::string(daemon)))) << run.err;
    EXPECT_THAT(bundle, HasSubstr(daemon));
  }
  EXPECT_THAT(bundle, HasSubstr("\nmr_ready 1\n"));
  EXPECT_THAT(bundle, Not(HasSubstr(TokenIn(viewer))));
}

TEST_F(CredentialsClusterTest, JoinFilesHaveTheAddressThatInitWasGiven) {
  const auto address_in = [&](const std::string& data, const std::string& name, std::vector<std::string> more) {
    std::vector<std::string> args = {"token", "create", "--data", data, "--join", Path(name)};
    args.insert(args.end(), more.begin(), more.end());
    const RunResult made = RunMrctl(args);
    EXPECT_EQ(made.exit, 0) << made.err;
    return ReadFile(Path(name)).value();
  };
  const auto init = [&](const std::string& data, std::vector<std::string> more) {
    std::vector<std::string> args = {"cluster", "init", "--data", data, "--out", data + ".token"};
    args.insert(args.end(), more.begin(), more.end());
    EXPECT_EQ(RunMrctl(args).exit, 0);
  };
  init(Path("lab"), {"--address", "lab-1:7099"});
  EXPECT_THAT(address_in(Path("lab"), "lab-a", {}), HasSubstr("lab-1:7099"));
  EXPECT_THAT(address_in(Path("lab"), "lab-b", {"--address", "lab-2:1"}), HasSubstr("lab-2:1"));
  EXPECT_THAT(address_in(Path("lab"), "lab-c", {}), HasSubstr("lab-1:7099")) << "another one is for one file";
  init(Path("here"), {});
  EXPECT_THAT(address_in(Path("here"), "here-a", {}), HasSubstr(":7070"));
}

TEST_F(CredentialsClusterTest, AJoinFileAddsOneWorker) {
  const Status second = cluster_->StartWorker(2);  // with the file of worker 0
  EXPECT_FALSE(second.ok());
  EXPECT_THAT(second.message(), HasSubstr("used before"));
  EXPECT_FALSE(PathExists(cluster_->worker_data(2) + "/credentials/worker.pem"));
}

TEST_F(CredentialsClusterTest, AWorkerStartsAgainWithItsCertificate) {
  ASSERT_TRUE(cluster_->StopWorker(1).ok());
  ASSERT_TRUE(std::filesystem::remove(Path("w1.join")));
  const Status started = cluster_->StartWorker(1);
  ASSERT_TRUE(started.ok()) << started.ToString();
  EXPECT_TRUE(cluster_->WaitForWorkers(2).ok()) << cluster_->Logs();
}

// Its certificate is replaced by one of the same key that has lived for 21 of its 30 days.
TEST_F(CredentialsClusterTest, AWorkerRenewsItsCertificateByItself) {
  const std::string own = cluster_->worker_data(0) + "/credentials";
  std::string name = *ReadFile(cluster_->worker_data(0) + "/worker_id");
  name.pop_back();
  const auto key = *secure::PrivateKey::FromPem(*secure::ReadPrivateFile(own + "/worker.key"), secure::KeyKind::kNode);
  const secure::UnixTime now{static_cast<int64_t>(WallClockMs() / 1000)};
  const std::string old = secure::SignWorker(secure::CredentialsPath(cluster_->master_data()), name,
                                             *secure::MakeRequest(key), now - secure::kDay * 21)
                              ->certificate_pem;
  ASSERT_TRUE(WriteFileDurably(own + "/worker.pem", old).ok());
  std::this_thread::sleep_for(std::chrono::seconds(1));  // it looks every 300 ms
  Person("news", "viewer");                              // the list changes, so that its waiting call returns at once
  EXPECT_TRUE(Within(Seconds(60), [&] { return *ReadFile(own + "/worker.pem") != old; })) << cluster_->Logs();
  EXPECT_EQ(secure::ReadCertificate(*ReadFile(own + "/worker.pem"))->DaysLeft(now), 30);
  EXPECT_EQ(cluster_->Mrctl({"fs", "ls", "/"}).exit, 0);
}

TEST_F(CredentialsClusterTest, ADeniedWorkerIsLost) {
  std::string name = *ReadFile(cluster_->worker_data(1) + "/worker_id");
  name.pop_back();
  const RunResult typo = Token({"revoke", "worker:" + name + "x"});
  EXPECT_EQ(typo.exit, 7) << typo.out << typo.err;
  EXPECT_THAT(typo.err, HasSubstr("nothing was revoked"));
  EXPECT_THAT(typo.err, HasSubstr("did you mean 'worker:" + name + "'"));
  EXPECT_THAT(Token({"list"}).out, Not(HasSubstr("worker:" + name + "x")));
  EXPECT_THAT(typo.err, HasSubstr("mrctl worker show"));
  EXPECT_THAT(cluster_->Mrctl({"worker", "show", "w1", "w2"}).out, HasSubstr("name        " + name + "\n"))
      << "the hint leads to the name";
  ASSERT_EQ(Token({"create", "--join", Path("early.join"), "--worker", name}).exit, 0);
  ASSERT_EQ(Token({"revoke", "worker:" + name}).exit, 0);
  EXPECT_TRUE(Within(Seconds(60), [&] { return cluster_->Mrctl({"workers"}).out.find("lost") != std::string::npos; }))
      << cluster_->Mrctl({"workers"}).out;
  EXPECT_THAT(cluster_->Logs(200), HasSubstr("was revoked"));
  EXPECT_EQ(Token({"revoke", "worker:" + name}).exit, 0) << "a name stays deniable while the worker is away";
  const RunResult denied = Token({"revoke", "worker:" + name + "x"});
  EXPECT_EQ(denied.exit, 7) << denied.out;
  EXPECT_THAT(denied.err, Not(HasSubstr("did you mean"))) << "a denied name is suggested for no other";
}

TEST_F(CredentialsClusterTest, ADeniedWorkerJoinsAgainUnderANewNameOnly) {
  const std::string data = cluster_->worker_data(1);
  std::string name = *ReadFile(data + "/worker_id");
  name.pop_back();
  const RunResult again = Token({"create", "--join", Path("again.join"), "--worker", name});
  EXPECT_EQ(again.exit, 3) << again.out << again.err;
  EXPECT_THAT(again.err, HasSubstr("remove worker_id and credentials"));
  // A join file from before the denial is of no use either.
  const auto join_with = [&](const std::string& file) {
    std::filesystem::remove(Path("w1.join"));
    std::filesystem::copy_file(Path(file), Path("w1.join"));
    std::filesystem::remove_all(data + "/credentials");
    return cluster_->StartWorker(1);
  };
  cluster_->KillWorker(1);
  EXPECT_FALSE(join_with("early.join").ok());
  ASSERT_EQ(Token({"create", "--join", Path("fresh.join"), "--address", cluster_->master_address()}).exit, 0);
  EXPECT_FALSE(join_with("fresh.join").ok()) << "under its old name";
  EXPECT_THAT(cluster_->Logs(200), HasSubstr("its name is not given again"));
  std::filesystem::remove(data + "/worker_id");
  const Status joined = join_with("fresh.join");
  EXPECT_TRUE(joined.ok()) << joined.ToString() << cluster_->Logs();
  EXPECT_NE(*ReadFile(data + "/worker_id"), name + "\n");
  EXPECT_TRUE(cluster_->WaitForWorkers(2).ok()) << cluster_->Mrctl({"workers"}).out;
}

TEST_F(CredentialsClusterTest, NoTokenOrKeyIsInALogOrOutput) {
  std::string written = cluster_->Logs(100'000) + init_.out + init_.err;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(cluster_->directory())) {
    const std::string path = entry.path().string();
    if (!entry.is_regular_file() || path.find("/credentials/") != std::string::npos) continue;
    if (path == cluster_->master_data() + "/join") continue;
    written += ReadFile(path).value();
  }
  EXPECT_THAT(written, Not(HasSubstr("PRIVATE KEY")));
  for (const std::string& file : {Path("anna.token"), Path("w0.join"), cluster_->master_data() + "/join"}) {
    EXPECT_EQ(written.find(TokenIn(file)), std::string::npos) << file;
  }
}

}  // namespace
}  // namespace mr::test
