// No secret of a cluster is where it should not be: logs, the journal, data directories, command lines, environments,
// answers, bundles, cores. With the real binaries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <thread>

#include "common/io/clock.h"
#include "common/secure/certificate.h"
#include "common/secure/cluster_files.h"
#include "common/secure/grant.h"
#include "common/secure/names.h"
#include "tests/cluster/canaries.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"
#include "tests/support/http_get.h"
#include "tests/support/https_get.h"

namespace mr::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

namespace fs = std::filesystem;

std::vector<pid_t> Processes() {
  std::vector<pid_t> all;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; })) {
      all.push_back(std::stoi(name));
    }
  }
  return all;
}

std::string OfProcess(pid_t pid, const std::string& file) {
  auto text = ReadFile("/proc/" + std::to_string(pid) + "/" + file);
  return text.ok() ? *text : "";  // it has ended
}

// Keeps the command lines and environments of all processes of this machine, but those of the test itself.
class ProcessWatch {
 public:
  ProcessWatch()
      : thread_([this] {
          while (!stop_) {
            for (const pid_t pid : Processes()) {
              if (pid == getpid()) continue;
              for (const char* file : {"cmdline", "environ"}) seen_.insert(OfProcess(pid, file));
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
          }
        }) {}
  ~ProcessWatch() { (void)End(); }
  // Returns all texts.
  const std::set<std::string>& End() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    return seen_;
  }

 private:
  std::atomic<bool> stop_ = false;
  std::set<std::string> seen_;
  std::thread thread_;
};

std::string TokenIn(const std::string& file) {
  const std::string text = ReadFile(file).value();
  const size_t at = text.find("mrt1_");
  return text.substr(at, text.find('\n', at) - at);
}

std::string Between(const std::string& text, const std::string& from, const std::string& ends) {
  const size_t at = text.find(from);
  if (at == text.npos) return "";
  const size_t begin = at + from.size();
  return text.substr(begin, text.find_first_of(ends, begin) - begin);
}

class CanaryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("XDG_STATE_HOME", Path("state").c_str(), 1);
    setenv("MR_SECRET_DIR", Path("secrets").c_str(), 1);
  }
  std::string Path(const std::string& name) const { return files_ / name; }
  // Runs mrctl as the holder of NAME.token. What it prints is searched at the end.
  RunResult As(const std::string& name, const std::vector<std::string>& args) {
    SpawnOptions options;
    if (!name.empty()) options.env = {"MR_TOKEN_FILE=" + Path(name + ".token")};
    return Printed(cluster_->Mrctl(args, Seconds(60), options));
  }
  // Runs mrctl on the files of the master.
  RunResult Local(std::vector<std::string> args) {
    args.insert(args.begin() + 2, {"--data", cluster_->master_data()});
    return Printed(RunMrctl(args));
  }
  RunResult Printed(RunResult run) {
    printed_ += run.out + run.err;
    return run;
  }
  void Person(const std::string& name, const std::string& roles) {
    const std::string file = Path(name + ".token");
    ASSERT_EQ(Local({"token", "create", "--subject", name, "--roles", roles, "--out", file}).exit, 0);
    canaries_.AddToken("token of " + name, TokenIn(file), file);
  }
  // Adds all private keys that the daemons have.
  void AddKeys() {
    const std::string own = secure::CredentialsPath(cluster_->master_data());
    for (const char* name : {"ca.key", "master.key", "token.key"}) {
      canaries_.AddPrivateKey(name, ReadFile(own + "/" + name).value(), own + "/" + name);
    }
    const std::string grants = ReadFile(own + "/grant.key").value();
    canaries_.Add("grant.key", grants, own + "/grant.key");
    for (int i = 0; i < cluster_->workers(); ++i) {
      const std::string key = secure::CredentialsPath(cluster_->worker_data(i)) + "/worker.key";
      canaries_.AddPrivateKey("worker.key", ReadFile(key).value(), key);
      std::string name = ReadFile(cluster_->worker_data(i) + "/worker_id").value();
      while (name.ends_with('\n')) name.pop_back();
      canaries_.Add("a worker's key of grants", secure::GrantKey::FromBytes(grants)->ForWorker(name).Bytes().Reveal());
    }
  }
  std::string Page(const std::string& path, const std::string& token, const std::string& headers = "",
                   int worker = -1) {
    const std::string authority = ReadFile(secure::CredentialsPath(cluster_->master_data()) + "/ca.pem").value();
    const uint64_t id = secure::ReadCertificate(authority)->cluster_id;
    const std::string bearer = token.empty() ? "" : "Authorization: Bearer " + TokenIn(Path(token + ".token")) + "\r\n";
    return HttpsGet(worker < 0 ? cluster_->master_http_port() : cluster_->worker_http_port(worker), authority,
                    worker < 0 ? secure::MasterName(id) : secure::AnyWorkerName(id), path, bearer + headers);
  }
  // Searches what was printed and all files of the cluster, of people and of this user.
  void SearchAll(const std::set<std::string>& processes) {
    EXPECT_THAT(canaries_.In(printed_), IsEmpty()) << "printed by mrctl or shown on a page";
    EXPECT_EQ(printed_.find("PRIVATE KEY"), std::string::npos);
    for (const std::string& text : processes) EXPECT_THAT(canaries_.In(text), IsEmpty()) << text.substr(0, 200);
    size_t files = 0;
    EXPECT_THAT(canaries_.Below(cluster_->directory(), &files), IsEmpty());
    EXPECT_GT(files, 20u);
    // Other users of the machine cannot enter.
    std::vector<std::string> data = {cluster_->master_data()};
    for (int i = 0; i < cluster_->workers(); ++i) data.push_back(cluster_->worker_data(i));
    for (const std::string& directory : data) {
      EXPECT_EQ(fs::status(directory).permissions(), fs::perms::owner_all) << directory;
    }
    EXPECT_THAT(canaries_.Below(files_.path(), &files), IsEmpty());
  }
  static bool Saw(const std::set<std::string>& texts, const std::string& word) {
    return std::any_of(texts.begin(), texts.end(), [&](const auto& t) { return t.find(word) != t.npos; });
  }

  TempDirectory files_;
  std::unique_ptr<Cluster> cluster_;
  Canaries canaries_;
  std::string printed_;
};

TEST_F(CanaryTest, TheSearchFindsEachFormOfWhatIsPlanted) {
  const std::string secret = "0123\xff\xfe secret of thirty-two byte";
  canaries_.Add("planted", secret, "/home/of/it");
  const std::string hex = [&] {
    std::string text;
    char two[3];
    for (const unsigned char c : secret) text += (snprintf(two, sizeof two, "%02x", c), two);
    return text;
  }();
  for (const std::string& form : {secret, hex, Base64(secret, false), Base64(secret, true),
                                  Base64("a" + secret + "b", false), Base64("ab" + secret + "cde", true)}) {
    EXPECT_EQ(canaries_.In("before" + form + "after").size(), 1u) << form;
    EXPECT_THAT(canaries_.In(form, "/home/of/it"), IsEmpty());
  }
  EXPECT_THAT(canaries_.In(secret.substr(1)), IsEmpty());
  ASSERT_TRUE(MakeDirectories(Path("deep/in")).ok());
  std::ofstream(Path("deep/in/planted")) << "x" << hex;
  size_t files = 0;
  EXPECT_EQ(canaries_.Below(files_.path(), &files).size(), 1u);
  EXPECT_EQ(files, 1u);

  ProcessWatch watch;
  SpawnOptions options;
  options.env = {"PLANTED=" + hex};
  auto shell = Process::Spawn({"/bin/sh", "-c", "echo ready; exec sleep 60"}, options);
  ASSERT_TRUE(shell.ok());
  const auto planted = [&] { return OfProcess(shell->pid(), "environ").find(hex) != std::string::npos; };
  for (const Instant end = Now() + Seconds(10); Now() < end && !planted();) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  std::set<std::string> found;
  for (const std::string& text : watch.End()) found.merge(canaries_.In(text));
  EXPECT_EQ(found.size(), 1u);
}

TEST_F(CanaryTest, NoSecretOfAClusterWithCertificatesIsAnywhereElse) {
  cluster_ = std::make_unique<Cluster>(ClusterOptions{
      .workers = 2,
      .master_flags = {"--bind", "0.0.0.0", "--http_bind", "0.0.0.0", "--advertise", "127.0.0.1", "--v", "9"},
      .worker_flags = {"--http_bind", "0.0.0.0", "--v", "9"},
      .flags_of = {{"--join", Path("w0.join")}, {"--join", Path("w1.join")}}});
  ProcessWatch watch;
  ASSERT_EQ(Local({"cluster", "init", "--subject", "root", "--out", Path("root.token")}).exit, 0);
  canaries_.AddToken("token of root", TokenIn(Path("root.token")), Path("root.token"));
  const std::string first_join = cluster_->master_data() + "/join";
  canaries_.AddToken("the first join token", TokenIn(first_join), first_join);
  ASSERT_TRUE(cluster_->StartMaster().ok()) << cluster_->Logs();
  for (const int worker : {0, 1}) {
    const std::string file = Path("w" + std::to_string(worker) + ".join");
    ASSERT_EQ(Local({"token", "create", "--join", file, "--address", cluster_->master_address()}).exit, 0);
    canaries_.AddToken("a join token", TokenIn(file), file);
    ASSERT_TRUE(cluster_->StartWorker(worker).ok()) << cluster_->Logs();
  }
  ASSERT_NO_FATAL_FAILURE(Person("sam", "submitter"));
  ASSERT_NO_FATAL_FAILURE(Person("vera", "viewer"));
  AddKeys();

  // Jobs inside of the process, with a command, and one that fails; files written and read with grants.
  WriteBible(Path("bible"), 300'000);
  ASSERT_EQ(As("sam", {"fs", "put", "--replication", "2", Path("bible"), "/user/sam/in"}).exit, 0) << printed_;
  const auto submit = [&](std::vector<std::string> args) {
    args.insert(args.begin(), {"--no-progress", "submit"});
    args.insert(args.end(), {"--input", "/user/sam/in"});
    return As("sam", args);
  };
  const RunResult counted = submit({"wordcount", "--reduces", "2", "--output", "/user/sam/counts"});
  ASSERT_EQ(counted.exit, 0) << counted.err << cluster_->Logs();
  const RunResult streamed =
      submit({"stream", "--map", "sh -c 'sleep 0.77; env; cat >/dev/null; tr \"\\0\" \"\\n\" </proc/self/environ'",
              "--env", "CANARY_MARK=1", "--reduces", "0", "--output", "/user/sam/streamed"});
  ASSERT_EQ(streamed.exit, 0) << streamed.err << cluster_->Logs();
  EXPECT_EQ(submit({"stream", "--map", "env >&2; exit 3", "--reduces", "0", "--max-attempts", "1", "--output",
                    "/user/sam/failed"})
                .exit,
            1);
  EXPECT_EQ(As("sam", {"fs", "cat", "/user/sam/streamed"}).exit, 0);
  ASSERT_EQ(As("sam", {"fs", "get", "/user/sam/counts", Path("counts")}).exit, 0) << printed_;

  // A session of a browser.
  const RunResult link = cluster_->Mrctl({"page"}, Seconds(20), {.env = {"MR_TOKEN_FILE=" + Path("vera.token")}});
  ASSERT_EQ(link.exit, 0) << link.err;
  const std::string login = "/login" + Between(link.out, "/login", "\n ");
  canaries_.Add("the code of the page's link", login.substr(login.find_last_of("/=?#") + 1));
  const std::string session = Page(login, "");
  ASSERT_THAT(session, StartsWith("HTTP/1.1 200 OK\r\n"));
  const std::string cookie = Between(session, "Set-Cookie: ", ";");
  canaries_.Add("the cookie of a session", cookie.substr(cookie.find('=') + 1));
  ASSERT_THAT(Page("/", "", "Cookie: " + cookie + "\r\n"), StartsWith("HTTP/1.1 200 OK\r\n"));

  const auto job = [&](const std::string& text) { return "job_" + Between(text, "\"job_", "\""); };
  const std::string failed = job(As("vera", {"-o", "json", "jobs", "--state", "failed"}).out);
  std::vector<std::string> paths = {"/", "/workers/w1", "/history", "/scheduler", "/store", "/api/v1", "/metrics"};
  for (const char* name :
       {"cluster", "workers", "workers/w1", "store", "scheduler", "queues", "jobs", "search?q=sam"}) {
    paths.push_back(std::string("/api/v1/") + name);
  }
  for (const char* part : {"", "/report", "/tasks", "/attempts", "/counters"}) {
    paths.push_back("/api/v1/jobs/" + failed + part);
  }
  paths.push_back("/jobs/" + failed);
  for (const std::string& path : paths) {
    const std::string page = Page(path, "vera");
    EXPECT_THAT(page, StartsWith("HTTP/1.1 200 OK\r\n")) << path;
    printed_ += page + Page(path, "") + Page(path, "", "Cookie: " + cookie + "\r\n");
  }
  printed_ += Page("/metrics", "vera", "", 0) + Page("/metrics", "", "", 0);
  for (const std::vector<std::string>& verb : std::vector<std::vector<std::string>>{{"jobs"},
                                                                                    {"workers", "-o", "json"},
                                                                                    {"worker", "show", "w1"},
                                                                                    {"job", "show", failed},
                                                                                    {"job", "attempts", failed},
                                                                                    {"why", failed},
                                                                                    {"fs", "ls", "/"},
                                                                                    {"version"},
                                                                                    {"doctor"}}) {
    (void)As("vera", verb);
  }
  (void)As("sam", {"logs", failed});

  // New keys. The old ones stay secret: certificates of before are in use for a while.
  ASSERT_EQ(Local({"cluster", "rotate"}).exit, 0) << printed_;
  AddKeys();
  ASSERT_EQ(Local({"cluster", "rotate", "--finish", "--force"}).exit, 0) << printed_;
  ASSERT_NO_FATAL_FAILURE(Person("ada", "admin,submitter"));
  ASSERT_TRUE([&] {
    for (const Instant end = Now() + Seconds(30); Now() < end;
         std::this_thread::sleep_for(std::chrono::milliseconds(50))) {
      if (As("ada", {"fs", "cat", "/user/sam/counts"}).exit == 0) return true;
    }
    return false;
  }()) << cluster_->Logs();
  (void)Local({"token", "list"});
  (void)Local({"token", "revoke", "sam"});
  (void)As("ada", {"doctor", "--bundle", Path("bundle.tgz")});
  ASSERT_TRUE(PathExists(Path("bundle.tgz")));
  const std::string bundle = Shell("tar -xOf '" + Path("bundle.tgz") + "'");
  EXPECT_THAT(bundle, HasSubstr(failed));
  EXPECT_THAT(canaries_.In(bundle), IsEmpty()) << "in the bundle";
  EXPECT_EQ(bundle.find("PRIVATE KEY"), std::string::npos);

  const auto& processes = watch.End();
  for (const char* word : {"mrmaster", "mrworker", "mrtask", "mrctl", "CANARY_MARK=1", "0.77"}) {
    EXPECT_TRUE(Saw(processes, word)) << "the watch did not see " << word;
  }
  for (const int worker : {0, 1}) EXPECT_TRUE(cluster_->StopWorker(worker).ok());
  EXPECT_TRUE(cluster_->StopMaster().ok());
  EXPECT_GT(canaries_.size(), 40u);
  SearchAll(processes);

  // The search above is worth something: one file more, and it fails.
  size_t files = 0;
  std::ofstream(cluster_->worker_data(0) + "/shuffle.planted") << Base64("x" + TokenIn(Path("sam.token")), false);
  EXPECT_EQ(canaries_.Below(cluster_->directory(), &files).size(), 1u);
}

TEST_F(CanaryTest, NoSecretOfAClusterWithoutCertificatesIsAnywhereElse) {
  cluster_ = std::make_unique<Cluster>(
      ClusterOptions{.workers = 1, .master_flags = {"--v", "9"}, .worker_flags = {"--v", "9"}});
  ProcessWatch watch;
  ASSERT_TRUE(cluster_->Start().ok()) << cluster_->Logs();
  size_t secrets = 0;
  for (const auto& entry : fs::recursive_directory_iterator(Path("secrets"))) {
    if (!entry.is_regular_file()) continue;
    std::ifstream words(entry.path());
    for (std::string word; words >> word;) {
      if (word.size() < 32) continue;
      canaries_.Add(entry.path().filename().string(), word, entry.path().string());
      ++secrets;
    }
  }
  EXPECT_GE(secrets, 4u) << "of a master and a worker, for calls and for pages";
  std::ofstream(Path("in")) << "a b\nb c\n";
  ASSERT_EQ(As("", {"fs", "put", Path("in"), "/in"}).exit, 0) << printed_;
  ASSERT_EQ(As("", {"submit", "stream", "--map", "sleep 0.78; env; cat >/dev/null", "--reduces", "0", "--input", "/in",
                    "--output", "-"})
                .exit,
            0)
      << printed_ << cluster_->Logs();
  const RunResult link = cluster_->Mrctl({"page"});
  ASSERT_EQ(link.exit, 0) << link.err;
  const std::string login = "/login" + Between(link.out, "/login", "\n ");
  canaries_.Add("the code of the page's link", login.substr(login.find_last_of("/=?#") + 1));
  const std::string session = RawHttp(cluster_->master_http_port(),
                                      "GET " + login + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  ASSERT_THAT(session, StartsWith("HTTP/1.1 200 OK\r\n"));
  const std::string cookie = Between(session, "Set-Cookie: ", ";");
  canaries_.Add("the cookie of a session", cookie.substr(cookie.find('=') + 1));
  for (const char* path : {"/", "/store", "/api/v1/cluster", "/metrics"}) {
    const std::string page =
        RawHttp(cluster_->master_http_port(),
                std::string("GET ") + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nCookie: " + cookie +
                    "\r\n\r\n");
    EXPECT_THAT(page, StartsWith("HTTP/1.1 200 OK\r\n")) << path;
    printed_ += page;
  }
  (void)As("", {"doctor", "--bundle", Path("bundle.tgz")});
  EXPECT_THAT(canaries_.In(Shell("tar -xOf '" + Path("bundle.tgz") + "'")), IsEmpty()) << "in the bundle";
  const auto& processes = watch.End();
  for (const char* word : {"mrmaster", "mrworker", "mrtask", "mrctl", "0.78"}) {
    EXPECT_TRUE(Saw(processes, word)) << "the watch did not see " << word;
  }
  EXPECT_TRUE(cluster_->StopWorker(0).ok());
  EXPECT_TRUE(cluster_->StopMaster().ok());
  SearchAll(processes);
}

// Waits for the end of a child of this process, and leaves it to be reaped. Returns si_code.
int HowItEnds(pid_t pid) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) == 0 ? info.si_code : -1;
}

TEST_F(CanaryTest, NoDaemonAndNoTaskLeavesACore) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "daemons with the address sanitizer stay dumpable (common/io/private_memory.h)";
#endif
  const rlimit unlimited{RLIM_INFINITY, RLIM_INFINITY};
  if (setrlimit(RLIMIT_CORE, &unlimited) != 0) GTEST_SKIP() << "this process may not raise its limit of cores";
  ASSERT_TRUE(MakeDirectories(Path("here")).ok());
  if (const pid_t pid = fork(); pid == 0) {
    signal(SIGABRT, SIG_DFL);
    if (chdir(Path("here").c_str()) == 0) abort();
    _exit(0);
  } else {
    const int ends = HowItEnds(pid);
    waitpid(pid, nullptr, 0);
    if (ends != CLD_DUMPED)
      GTEST_SKIP() << "this machine writes no cores: " << ReadFile("/proc/sys/kernel/core_pattern").value();
  }

  cluster_ = std::make_unique<Cluster>(ClusterOptions{.workers = 1});
  ASSERT_TRUE(cluster_->Start().ok()) << cluster_->Logs();
  std::ofstream(Path("in")) << "line\n";
  ASSERT_EQ(As("", {"fs", "put", Path("in"), "/in"}).exit, 0) << printed_;
  const auto submit = [&](const std::string& command) {
    return As("", {"--no-progress", "submit", "stream", "--map", command, "--reduces", "0", "--max-attempts", "1",
                   "--input", "/in", "--output", "-"});
  };
  // A command of a task. 128 is the bit of wait(2) for a core.
  const RunResult command = submit(
      "perl -e 'if (my $p = fork) { waitpid($p, 0); print $? & 127, q( ), $? & 128, qq(\\n); } else { kill SEGV => $$; "
      "sleep 9; }'; cat >/dev/null");
  EXPECT_EQ(command.exit, 0) << command.err;
  EXPECT_EQ(command.out, "11 0\n");

  // The task's own process.
  auto job = cluster_->MrctlInBackground({"submit", "stream", "--map", "sleep 600.78", "--reduces", "0",
                                          "--max-attempts", "1", "--input", "/in", "--output", "-"},
                                         "killed");
  ASSERT_TRUE(job.ok());
  const auto tasks = [&] {
    std::set<pid_t> found;
    for (const pid_t pid : Processes()) {
      if (OfProcess(pid, "cmdline") != std::string("sleep\000600.78\0", 13)) continue;
      found.insert(pid);
    }
    return found;
  };
  for (const Instant end = Now() + Seconds(30); Now() < end && tasks().empty();) std::this_thread::yield();
  size_t limited = 0;
  pid_t host = 0;
  for (const pid_t pid : Processes()) {
    const std::string status = OfProcess(pid, "status");
    if (status.find("PPid:\t" + std::to_string(cluster_->worker_pid(0)) + "\n") == status.npos) continue;
    const std::string line = Between(OfProcess(pid, "limits"), "Max core file size", "b");
    if (line.find_first_not_of(" 0") == line.npos) ++limited;
  }
  EXPECT_GE(limited, 1u);
  for (const pid_t pid : tasks()) {
    EXPECT_EQ(Between(OfProcess(pid, "limits"), "Max core file size", "b").find_first_not_of(" 0"), std::string::npos);
    // The worker has further children, which are ready for other tasks.
    for (pid_t at = pid; at > 1 && host == 0;) {
      const pid_t parent = std::atoi(Between(OfProcess(at, "status"), "PPid:\t", "\n").c_str());
      if (parent == cluster_->worker_pid(0)) host = at;
      at = parent;
    }
  }
  ASSERT_GT(host, 0);
  ASSERT_EQ(kill(host, SIGSEGV), 0);
  EXPECT_EQ(job->Wait(Seconds(30)), 1);

  for (const bool master : {false, true}) {
    const pid_t pid = master ? cluster_->master_pid() : cluster_->worker_pid(0);
    ASSERT_EQ(kill(pid, SIGABRT), 0);
    EXPECT_EQ(HowItEnds(pid), CLD_KILLED) << (master ? "master" : "worker");
    master ? cluster_->KillMaster() : cluster_->KillWorker(0);
  }
  std::vector<std::string> cores;
  const auto note = [&](const fs::path& path) {
    if (path.filename().string().starts_with("core")) cores.push_back(path.string());
  };
  for (const auto& entry : fs::recursive_directory_iterator(cluster_->directory())) note(entry.path());
  for (const auto& entry : fs::directory_iterator(".")) note(entry.path());
  EXPECT_THAT(cores, IsEmpty());
}

}  // namespace
}  // namespace mr::test
