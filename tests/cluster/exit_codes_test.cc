// Every published exit code of mrctl (jobs/mrctl/exit_code.h) with the real binary, a row for each way to it. 6, not
// authenticated or not allowed, is here for files that may not be read; tokens are not there yet.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "common/io/clock.h"
#include "common/rpc/hello.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"

namespace mr::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// A daemon of another release: answers one hello with its own, and closes.
class OtherRelease {
 public:
  explicit OtherRelease(uint32_t protocol) : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_.get(), 4), 0);
    EXPECT_EQ(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, protocol] {
      for (;;) {
        const UniqueFd peer(::accept(listener_.get(), nullptr, nullptr));
        if (!peer.valid()) return;
        char buffer[rpc::kHelloBytes];
        (void)::recv(peer.get(), buffer, sizeof buffer, MSG_WAITALL);
        const auto hello = rpc::EncodeHello(
            {.protocol = protocol, .role = rpc::Role::kMaster, .refused = static_cast<uint32_t>(Code::kUnavailable)});
        (void)::send(peer.get(), hello.data(), hello.size(), MSG_NOSIGNAL);
      }
    });
  }
  ~OtherRelease() {
    ::shutdown(listener_.get(), SHUT_RDWR);  // accept() returns
    thread_.join();
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  UniqueFd listener_;
  uint16_t port_ = 0;
  std::thread thread_;
};

class ExitCodesTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster_ = new Cluster({.workers = 2, .slots = 2});
    const Status started = cluster_->Start();
    ASSERT_TRUE(started.ok()) << started.ToString();
    WriteWords(Path("in"), 2000, 3);
    ASSERT_TRUE(MakeDirectories(Path("full/x")).ok());
  }
  static void TearDownTestSuite() {
    delete cluster_;
    cluster_ = nullptr;
  }
  static std::string Path(const std::string& name) { return cluster_->directory() + "/" + name; }
  static std::string Uri(const std::string& name) { return "file://" + Path(name); }
  // Runs mrctl on the cluster, unless `args` name another master.
  static RunResult Mrctl(const std::vector<std::string>& args) {
    const bool named = std::find(args.begin(), args.end(), "--master") != args.end();
    return named ? RunMrctl(args, Seconds(60)) : cluster_->Mrctl(args, Seconds(60));
  }
  // Submits a long job detached and returns its id.
  static std::string Sleeper() {
    static int number = 0;
    const RunResult run = Mrctl({"-q", "submit", "--detach", "sleep", "--ms", "60000", "--tasks", "1", "--output",
                                 Uri("sleeper" + std::to_string(++number))});
    EXPECT_EQ(run.exit, 0) << run.err;
    return run.out.substr(0, run.out.find('\n'));
  }
  // Starts a command in the background that follows its job. Returns when the job runs.
  static Process Followed(const std::string& name) {
    auto process =
        cluster_->MrctlInBackground({"submit", "sleep", "--ms", "60000", "--tasks", "1", "--output", Uri(name)}, name);
    EXPECT_TRUE(process.ok());
    for (const Instant end = Now() + Seconds(20); Now() < end;) {
      const auto said = ReadFile(Path(name + ".err"));
      if (said.ok() && said->find("RUNNING") != std::string::npos) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return *std::move(process);
  }
  static std::string JobIn(const std::string& text) {
    const size_t at = text.find("job_");
    return at == std::string::npos ? "" : text.substr(at, text.find_first_not_of("job_0123456789", at) - at);
  }

  static Cluster* cluster_;
};
Cluster* ExitCodesTest::cluster_ = nullptr;

TEST_F(ExitCodesTest, AreAsPublished) {
  struct Row {
    int exit;
    std::string code;  // of the JSON document's error; empty: it has none
    std::vector<std::string> args;
    std::string says;  // on stderr
  };
  const auto submit = [](std::vector<std::string> args) {
    args.insert(args.begin(), {"--no-progress", "submit"});
    return args;
  };
  const std::string in = Uri("in"), out = Uri("out");
  std::ofstream(Path("bad.toml")) << "inptu = \"/in\"\n";
  const std::string killed = Sleeper();
  ASSERT_EQ(Mrctl({"kill", killed}).exit, 0);
  const OtherRelease other(rpc::kProtocolVersion + 7);
  const std::string late_job = Sleeper();
  const std::vector<Row> rows = {
      {0, "", submit({"sort", "--input", in, "--output", Uri("sorted")}), ""},
      {0, "", {"jobs"}, ""},
      {1, "job_failed", submit({"stream", "--map", "exit 9", "--max-attempts", "1", "--input", in, "--output", out}),
       "failed after"},
      {2, "invalid_argument", {"jobs", "--bogus"}, "--bogus"},
      {2, "invalid_argument", {"nonsense"}, "nonsense"},
      {2, "invalid_argument", submit({"wordcuont", "--input", in, "--output", out}), "did you mean 'wordcount'"},
      {2, "invalid_argument", submit({"wordcount", "--input", in, "--output", out, "--format", "texd"}), "texd"},
      {2, "invalid_argument", submit({"grep", "-e", "(", "--input", in, "--output", out}), "missing )"},
      {2, "invalid_argument", submit({Path("bad.toml")}), "did you mean 'input'"},
      {2, "invalid_argument", submit({"--lib", Path("in"), "any", "--input", in, "--output", out}), "in"},
      {3, "rejected", submit({"wordcount", "--input", in, "--output", Uri("full")}), "--overwrite"},
      {4, "job_killed", {"wait", killed}, "was killed"},
      {5, "unavailable", {"--master", "127.0.0.1:1", "jobs"}, "no master"},
      {5, "unavailable", {"--master", other.address(), "jobs"}, "this program"},
      {5,
       "unavailable",
       {"--master", other.address(), "submit", "wordcount", "--input", "/in", "--output", "/out"},
       "this program"},
      {7, "not_found", {"job", "show", "job_99_0099"}, "job_99_0099"},
      {7, "not_found", {"fs", "cat", "/absent"}, "/absent"},
      {7, "not_found", submit({"wordcount", "--input", Uri("absent"), "--output", out}), "absent"},
      {124, "deadline", {"--timeout", "300ms", "wait", late_job}, "goes on"},
  };
  for (const Row& row : rows) {
    std::string line;
    for (const std::string& arg : row.args) line += arg + " ";
    RunResult run = Mrctl(row.args);
    EXPECT_EQ(run.exit, row.exit) << line << "\n" << run.err;
    EXPECT_THAT(run.err, HasSubstr(row.says)) << line;
    if (row.exit == 0) continue;
    std::vector<std::string> json = row.args;
    json.insert(json.begin(), {"-o", "json"});
    run = Mrctl(json);
    EXPECT_EQ(run.exit, row.exit) << "the same with -o json: " << line << run.out;
    EXPECT_THAT(run.out, StartsWith("{\"version\":1,"));
    EXPECT_THAT(run.out, HasSubstr("\"error\":{\"code\":\"" + row.code + "\"")) << line;
    EXPECT_EQ(std::count(run.out.begin(), run.out.end(), '\n'), 1) << line << run.out;
  }
  EXPECT_FALSE(PathExists(Path("out")));
  EXPECT_EQ(Mrctl({"kill", late_job}).exit, 0);
}

TEST_F(ExitCodesTest, EightIsAMissedDeadlineOfAJobThatSucceeded) {
  const RunResult run = Mrctl({"submit", "wordcount", "--input", Uri("in"), "--output", Uri("late"), "--deadline",
                               "1ms", "--best-effort", "--strict-deadline"});
  EXPECT_EQ(run.exit, 8) << run.err;
  EXPECT_THAT(run.err, HasSubstr("missed its deadline of 1ms"));
  EXPECT_THAT(ReadParts(Path("late")), testing::Not(testing::IsEmpty()));
}

TEST_F(ExitCodesTest, FourIsAlsoForWhoFollowsAJobThatAnotherKills) {
  Process process = Followed("watched");
  const std::string id = JobIn(*ReadFile(Path("watched.err")));
  ASSERT_EQ(Mrctl({"kill", id, "--reason", "for the test"}).exit, 0);
  EXPECT_EQ(process.Wait(Seconds(20)), 4);
  EXPECT_THAT(*ReadFile(Path("watched.err")), HasSubstr("for the test"));
}

TEST_F(ExitCodesTest, OneHundredAndThirtyIsCtrlCAndTheJobGoesOn) {
  Process process = Followed("interrupted");
  process.Signal(SIGINT);
  EXPECT_EQ(process.Wait(Seconds(20)), 130);
  const std::string err = *ReadFile(Path("interrupted.err"));
  EXPECT_THAT(err, HasSubstr("goes on"));
  EXPECT_EQ(Mrctl({"kill", JobIn(err)}).exit, 0);
}

TEST(NotAllowedTest, SixIsForAFileThatMayNotBeReadOrReached) {
  TempDirectory base;
  for (const char* name : {"closed", "tmp", "unlisted"}) std::filesystem::create_directory(base / name);
  std::ofstream(base / "closed/in") << "a\n";
  std::ofstream(base / "unreadable") << "a\n";
  using std::filesystem::perms;
  std::filesystem::permissions(base.path(),
                               perms::owner_all | perms::group_exec | perms::others_exec | perms::others_read);
  std::filesystem::permissions(base / "tmp", perms::all);
  for (const char* name : {"closed", "unlisted", "unreadable"}) std::filesystem::permissions(base / name, perms::none);
  // Root may read everything, so then as nobody (65534, as Debian has it).
  std::vector<std::string> as;
  if (geteuid() == 0) as = {"/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"};
  std::vector<std::string> check = as;
  check.insert(check.end(), {"/usr/bin/test", "-x", BinaryDirectory() + "/mrtask"});
  if (RunProgram(check, Seconds(60)).exit != 0) GTEST_SKIP() << "others may not run what is in " << BinaryDirectory();
  SpawnOptions options;
  options.env = {"TMPDIR=" + (base / "tmp")};
  for (const auto& [input, says] : std::vector<std::pair<std::string, std::string>>{
           {"closed/in", "closed/in cannot be read"},
           {"closed/*", "cannot list"},
           {"unreadable", "unreadable cannot be read: Permission denied: let the user of the master (uid "},
           {"unlisted", "unlisted cannot be read: Permission denied"}}) {
    std::vector<std::string> argv = as;
    argv.insert(argv.end(), {BinaryDirectory() + "/mrctl", "--no-progress", "submit", "--local", "wordcount", "--input",
                             base / input, "--output", base / "tmp/out"});
    const RunResult run = RunProgram(argv, Seconds(60), options);
    EXPECT_EQ(run.exit, 6) << input << ": " << run.err;
    EXPECT_THAT(run.err, HasSubstr(says)) << input;
  }
  for (const char* name : {"closed", "unlisted"}) std::filesystem::permissions(base / name, perms::owner_all);
}

TEST_F(ExitCodesTest, SeventyIsAnInstallationThatIsNotWhole) {
  // Other internal errors are our bugs, and cannot be asked for; render_test has their code.
  TempDirectory alone;
  std::filesystem::create_directory(alone / "bin");
  std::filesystem::copy_file(BinaryDirectory() + "/mrctl", alone / "bin/mrctl");
  const RunResult run = RunProgram({alone / "bin/mrctl", "--master", cluster_->master_address(), "submit", "wordcount",
                                    "--input", Uri("in"), "--output", Uri("none")});
  EXPECT_EQ(run.exit, 70) << run.err;
  EXPECT_THAT(run.err, HasSubstr("cannot start " + (alone / "bin/mrtask")));
  EXPECT_THAT(run.err, HasSubstr("must be in one directory"));
}

TEST_F(ExitCodesTest, ForAnotherProtocolBothVersionsAndTheWayOutAreNamed) {
  const OtherRelease other(77);
  const RunResult run = RunMrctl({"--master", other.address(), "workers"});
  EXPECT_EQ(run.exit, 5);
  EXPECT_THAT(run.err, HasSubstr("the master at " + other.address() + ": the peer speaks protocol 77, this program " +
                                 std::to_string(rpc::kProtocolVersion)));
  EXPECT_THAT(run.err, HasSubstr("use the mrctl of that master's release"));
  EXPECT_THAT(run.err, testing::Not(HasSubstr("start one"))) << "there is one";
  const RunResult doctor = RunMrctl({"--master", other.address(), "doctor"});
  EXPECT_EQ(doctor.exit, 5);
  EXPECT_THAT(doctor.out, HasSubstr("protocol 77"));
}

TEST_F(ExitCodesTest, AMasterTurnsAnotherProtocolAwayAndSaysSoInItsLog) {
  const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(cluster_->master_port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval limit{10, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ASSERT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const auto hello = rpc::EncodeHello({.protocol = 76});
  ASSERT_EQ(::send(fd.get(), hello.data(), hello.size(), MSG_NOSIGNAL), static_cast<ssize_t>(hello.size()));
  std::array<uint8_t, rpc::kHelloBytes> reply;
  ASSERT_EQ(::recv(fd.get(), reply.data(), reply.size(), MSG_WAITALL), static_cast<ssize_t>(reply.size()));
  const auto decoded = rpc::DecodeHello(reply);
  ASSERT_TRUE(decoded.ok()) << decoded.status().ToString();
  EXPECT_EQ(decoded->protocol, rpc::kProtocolVersion);
  EXPECT_EQ(decoded->refused, static_cast<uint32_t>(Code::kUnavailable));
  char more;
  EXPECT_EQ(::recv(fd.get(), &more, 1, 0), 0) << "and closes";
  EXPECT_THAT(cluster_->Logs(1000), HasSubstr("was turned away: the peer speaks protocol 76, this program "));
  EXPECT_EQ(Mrctl({"jobs"}).exit, 0) << "it goes on";
}

}  // namespace
}  // namespace mr::test
