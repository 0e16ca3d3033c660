// Entry to a running cluster, with its real binaries (common/adr/0016).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "common/io/clock.h"
#include "common/io/secret_file.h"
#include "common/rpc/connection.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"
#include "tests/support/files_below.h"
#include "tests/support/http_get.h"

namespace mr::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string SecretPathOf(uint16_t port) {
  return SecretDirectory().value() + "/" + SecretFileName("127.0.0.1:" + std::to_string(port));
}

std::string HexOf(const SecretBytes& bytes) {
  std::string text;
  for (const uint8_t b : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", b);
    text += digits;
  }
  return text;
}

class EntryClusterTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster_ = new Cluster({.workers = 1});
    ASSERT_TRUE(cluster_->Start().ok()) << cluster_->Logs();
    std::ofstream(Path("in")) << "a b\nb c\n";
  }
  static void TearDownTestSuite() {
    delete cluster_;
    cluster_ = nullptr;
  }
  static std::string Path(const std::string& name) { return cluster_->directory() + "/" + name; }
  // Runs mrctl as a process that looks for secrets elsewhere, and would use any daemon.
  static RunResult Stranger(std::vector<std::string> args) {
    SpawnOptions options;
    options.env = {"MR_SECRET_DIR=" + Path("elsewhere"), "MR_INSECURE=1"};
    return cluster_->Mrctl(std::move(args), Seconds(60), options);
  }

  static Cluster* cluster_;
};
Cluster* EntryClusterTest::cluster_ = nullptr;

TEST_F(EntryClusterTest, AProcessWithoutTheSecretIsRefusedByEveryVerbWithExit6) {
  const std::string in = "file://" + Path("in"), out = "file://" + Path("never");
  const std::vector<std::vector<std::string>> verbs = {{"jobs"},
                                                       {"workers"},
                                                       {"fs", "ls", "/"},
                                                       {"fs", "put", Path("in"), "/in"},
                                                       {"kill", "job_1_0001"},
                                                       {"worker", "drain", "w1"},
                                                       {"store", "safemode"},
                                                       {"doctor"},
                                                       {"submit", "wordcount", "--input", in, "--output", out}};
  for (const auto& verb : verbs) {
    const RunResult run = Stranger(verb);
    EXPECT_EQ(run.exit, 6) << verb[0] << "\n" << run.out << run.err;
    EXPECT_THAT(run.out + run.err, HasSubstr("lets in only its own user")) << verb[0];
    EXPECT_THAT(run.out + run.err, HasSubstr(Path("elsewhere"))) << "where the secret is expected";
  }
  EXPECT_FALSE(PathExists(Path("never")));
  // One that insists on a proof does not even send a credential.
  SpawnOptions elsewhere;
  elsewhere.env = {"MR_SECRET_DIR=" + Path("elsewhere")};
  const RunResult careful = cluster_->Mrctl({"jobs"}, Seconds(60), elsewhere);
  EXPECT_EQ(careful.exit, 6);
  EXPECT_THAT(careful.err, HasSubstr("cannot prove"));
  EXPECT_THAT(careful.err, HasSubstr(Path("elsewhere")));
  const RunResult json = Stranger({"-o", "json", "jobs"});
  EXPECT_EQ(json.exit, 6);
  EXPECT_THAT(json.out, HasSubstr("\"code\":\"not_allowed\""));
  EXPECT_THAT(cluster_->Logs(1000), HasSubstr("may not connect"));
  EXPECT_EQ(cluster_->Mrctl({"jobs"}).exit, 0);
}

TEST_F(EntryClusterTest, AWorkersDataPortAsksForItsOwnSecret) {
  auto io = kj::setupAsyncIo();
  const std::string address = "127.0.0.1:" + std::to_string(cluster_->worker_port(0));
  const auto connect = [&](const std::string& directory) {
    return rpc::RpcConnection::Connect(io, address, {.role = rpc::Role::kData}, Seconds(5),
                                       std::make_shared<rpc::FileCredentials>(directory))
        .wait(io.waitScope)
        .status();
  };
  EXPECT_EQ(connect(Path("elsewhere")).code(), Code::kNotAllowed);
  EXPECT_TRUE(connect("").ok());
  EXPECT_NE(*ReadFile(SecretPathOf(cluster_->worker_port(0))), *ReadFile(SecretPathOf(cluster_->master_port())));
}

TEST_F(EntryClusterTest, ASecretThatOthersCouldReadIsRefusedWithExit6) {
  const std::string path = SecretPathOf(cluster_->master_port());
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  const RunResult run = cluster_->Mrctl({"jobs"});
  EXPECT_EQ(run.exit, 6);
  EXPECT_THAT(run.err, HasSubstr("mode 0640"));
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  EXPECT_EQ(cluster_->Mrctl({"jobs"}).exit, 0);
}

// The canary: what was written down, and what a task and its neighbours can see of processes.
TEST_F(EntryClusterTest, NoSecretIsInLogsJournalArgumentsOrEnvironments) {
  const RunResult run =
      cluster_->Mrctl({"submit", "stream", "--map",
                       "env; for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline; tr '\\0' ' ' < $p/environ; done "
                       "2>/dev/null; cat >/dev/null; true",
                       "--input", "file://" + Path("in"), "--output", "file://" + Path("seen")});
  ASSERT_EQ(run.exit, 0) << run.err << cluster_->Logs();
  const std::string seen = ReadParts(Path("seen"));
  EXPECT_THAT(seen, HasSubstr("mrmaster")) << "the task did look";
  std::string written = cluster_->Logs(100'000);
  size_t files = 0;
  for (const std::string& path : FilesBelow(cluster_->directory())) {
    const auto text = ReadFile(path);
    if (!text.ok()) continue;  // it has gone since: the daemons run
    written += *text;
    ++files;
  }
  EXPECT_GE(files, 20u) << "the journal, logs, tables and blocks";
  for (const uint16_t port : {cluster_->master_port(), cluster_->worker_port(0)}) {
    const auto secret = ReadSecretFile(SecretPathOf(port));
    ASSERT_TRUE(secret.ok()) << secret.status().ToString();
    for (const auto* half : {&secret->client, &secret->daemon}) {
      const SecretBytes& bytes = half->Reveal();
      const std::string raw(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      EXPECT_EQ((seen + written + run.out + run.err).find(HexOf(bytes)), std::string::npos) << port;
      EXPECT_EQ((seen + written).find(raw), std::string::npos) << port;
    }
  }
}

TEST(EntryTest, SecretsEndWithTheirDaemonsAndAreNewAtEachStart) {
  Cluster cluster({.workers = 1});
  ASSERT_TRUE(cluster.Start().ok()) << cluster.Logs();
  const std::string master = SecretPathOf(cluster.master_port()), worker = SecretPathOf(cluster.worker_port(0));
  const std::string first = *ReadFile(master);
  cluster.KillMaster();
  EXPECT_TRUE(PathExists(master)) << "kill -9 leaves it";
  ASSERT_TRUE(cluster.StartMaster().ok()) << cluster.Logs();
  EXPECT_NE(*ReadFile(master), first) << "a program that took the port meanwhile may have seen the old one";
  ASSERT_TRUE(cluster.WaitForWorkers(1).ok()) << "the worker reads the new one by itself\n" << cluster.Logs();
  ASSERT_TRUE(cluster.StopWorker(0).ok());
  EXPECT_FALSE(PathExists(worker));
  ASSERT_TRUE(cluster.StopMaster().ok());
  EXPECT_FALSE(PathExists(master));
}

TEST(EntryTest, ALocalRunPutsItsSecretInNoFile) {
  TempDirectory directory;
  std::ofstream(directory / "in") << "a\n";
  SpawnOptions options;
  options.env = {"MR_SECRET_DIR=" + directory.path() + "/secrets"};
  const RunResult run = RunMrctl(
      {"submit", "--local", "sort", "--input", directory / "in", "--output", directory / "out"}, Seconds(60), options);
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_FALSE(PathExists(directory / "secrets"));
}

TEST(EntryTest, AUnixSocketServesMrctlAndWorkersOfItsUserWithoutASecret) {
  TempDirectory run;
  const std::string socket = run / "socket/master", address = "unix:" + socket;
  Cluster cluster({.workers = 1, .master_flags = {"--unix_socket", socket}, .worker_flags = {"--master", address}});
  ASSERT_TRUE(cluster.Start().ok()) << cluster.Logs();
  ASSERT_TRUE(cluster.WaitForWorkers(1).ok()) << cluster.Logs();
  SpawnOptions stranger;
  stranger.env = {"MR_SECRET_DIR=" + (run / "elsewhere")};
  const RunResult jobs = RunMrctl({"--master", address, "jobs"}, Seconds(20), stranger);
  EXPECT_EQ(jobs.exit, 0) << jobs.err;
  EXPECT_EQ(RunMrctl({"--master", "unix:" + std::string(120, 'a'), "jobs"}).exit, 2);
  // A second master must not take the socket of one that answers.
  const RunResult second = RunProgram({BinaryDirectory() + "/mrmaster", "--data", run / "second", "--port", "0",
                                       "--http_port", "0", "--unix_socket", socket},
                                      Seconds(20));
  EXPECT_EQ(second.exit, 3) << second.err;
  EXPECT_THAT(second.err, HasSubstr("another program listens"));
  if (::geteuid() != 0) GTEST_SKIP() << "only root can run a program as another user";
  const auto nobody = [&] {
    return RunProgram({"/usr/bin/setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
                       BinaryDirectory() + "/mrctl", "--master", address, "jobs"},
                      Seconds(20));
  };
  const RunResult outside = nobody();
  if (outside.exit == 127 || outside.exit == 126) GTEST_SKIP() << "nobody cannot run this build: " << outside.err;
  EXPECT_EQ(outside.exit, 6) << outside.err;
  // Where the file system lets in anybody, the uid of the peer decides.
  ASSERT_EQ(::chmod(run.path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod((run / "socket").c_str(), 0755), 0);
  ASSERT_EQ(::chmod(socket.c_str(), 0666), 0);
  const RunResult refused = nobody();
  EXPECT_EQ(refused.exit, 6) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("lets in only its own user"));
  EXPECT_THAT(cluster.Logs(1000), HasSubstr("may not connect"));
  ASSERT_TRUE(cluster.StopMaster().ok());
  EXPECT_FALSE(PathExists(socket));
}

TEST(BindTest, ADaemonThatOthersCouldReachDoesNotStartAndSaysWhatToDo) {
  TempDirectory directory;
  const std::string bin = BinaryDirectory();
  const std::vector<std::vector<std::string>> daemons = {
      {bin + "/mrmaster", "--data", directory / "m", "--port", "0", "--http_port", "0"},
      {bin + "/mrworker", "--master", "127.0.0.1:9", "--data", directory / "w", "--port", "0", "--http_port", "0"}};
  for (const auto& daemon : daemons) {
    for (const char* flag : {"--bind", "--http_bind"}) {
      for (const char* host : {"0.0.0.0", "::", "192.0.2.1"}) {
        std::vector<std::string> argv = daemon;
        argv.insert(argv.end(), {flag, host});
        const RunResult run = RunProgram(argv, Seconds(10));
        EXPECT_EQ(run.exit, 2) << argv[0] << " " << flag << " " << host << "\n" << run.err;
        EXPECT_THAT(run.err, HasSubstr("listen on 127.0.0.1"));
        EXPECT_THAT(run.err, HasSubstr("--insecure"));
      }
    }
  }
  EXPECT_FALSE(PathExists(directory / "m")) << "nothing was begun";
}

TEST(InsecureTest, IsSaidInTheLogByMrctlByDoctorAndOnThePage) {
  Cluster cluster({.workers = 1, .master_flags = {"--insecure", "--bind", "0.0.0.0"}, .worker_flags = {"--insecure"}});
  ASSERT_TRUE(cluster.Start().ok()) << cluster.Logs();
  ASSERT_TRUE(cluster.WaitForWorkers(1).ok()) << cluster.Logs();
  EXPECT_THAT(*ReadFile(cluster.directory() + "/master.log"), HasSubstr("started with --insecure"));
  EXPECT_THAT(*ReadFile(cluster.directory() + "/worker-0.log"), HasSubstr("started with --insecure"));
  SpawnOptions stranger;
  stranger.env = {"MR_SECRET_DIR=" + cluster.directory() + "/elsewhere"};
  const RunResult jobs = cluster.Mrctl({"jobs"}, Seconds(20), stranger);
  EXPECT_EQ(jobs.exit, 0);
  EXPECT_THAT(jobs.err, HasSubstr("was started with --insecure"));
  EXPECT_EQ(std::count(jobs.err.begin(), jobs.err.end(), '\n'), 1) << jobs.err;
  EXPECT_THAT(cluster.Mrctl({"-q", "jobs"}).err, Not(HasSubstr("--insecure")));
  EXPECT_THAT(cluster.Mrctl({"doctor"}).out, HasSubstr("--insecure"));
  const std::string page = HttpGet(cluster.master_http_port(), "/api/v1/cluster");
  EXPECT_THAT(page, HasSubstr("\"insecure\":true"));
}

}  // namespace
}  // namespace mr::test
