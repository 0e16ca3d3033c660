// Jobs that read http://, https:// and s3:// inputs, from tests/cluster/url_server.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include "common/io/clock.h"
#include "common/io/files.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"
#include "tests/support/temp_directory.h"

namespace mr::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr char kSecret[] = "canary/secret+key";  // of url_server.py

// The server as a child process.
class UrlServer {
 public:
  UrlServer(const std::string& directory, const TempDirectory& work, const std::vector<std::string>& tls = {}) {
    SpawnOptions options;
    options.stdout_path = work / ("port" + std::to_string(tls.size()));
    std::vector<std::string> argv = {"/usr/bin/python3", MR_SOURCE_DIR "/tests/cluster/url_server.py", directory};
    argv.insert(argv.end(), tls.begin(), tls.end());
    auto process = Process::Spawn(argv, options);
    MR_CHECK(process.ok(), process.status().message());
    process_ = *std::move(process);
    const Instant limit = Now() + Seconds(20);
    while (!port_.ends_with('\n')) {
      MR_CHECK(process_.running() && Now() < limit, "the server does not start");
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      port_ = ReadFile(options.stdout_path).value();
    }
    port_.pop_back();
  }
  std::string At(const std::string& host_and_path) const {
    const size_t slash = std::min(host_and_path.find('/'), host_and_path.size());
    return host_and_path.substr(0, slash) + ":" + port_ + host_and_path.substr(slash);
  }
  std::string Http(const std::string& path) const { return "http://" + At("127.0.0.1" + path); }

 private:
  Process process_;
  std::string port_;
};

class UrlsTest : public testing::Test {
 protected:
  UrlsTest() {
    EXPECT_TRUE(MakeDirectories(files_).ok());
    WriteBible(files_ + "/bible.txt");
    EXPECT_TRUE(WriteFileDurably(files_ + "/table.csv", "city,count\nParis,3\nRome,12\nOslo,20\n").ok());
    Shell("cd " + files_ + " && mkdir -p in/sub && head -n 9000 bible.txt >in/one.txt && " +
          "sed -n 9001,18000p bible.txt | gzip >in/sub/two.txt.gz && tail -n +18001 bible.txt | " +
          "zstd -q >'in/three + more.txt.zst' && echo no >in/_hidden");
  }

  TempDirectory work_;
  const std::string files_ = work_ / "files";
};

TEST_F(UrlsTest, JobsOfAClusterReadRangesAndObjects) {
  const UrlServer server(files_, work_);
  const std::string keys = work_ / "keys";
  ASSERT_TRUE(WriteFileDurably(
                  keys, "aws_access_key_id = TESTKEYID\naws_secret_access_key = " + std::string(kSecret) + "\n", 0600)
                  .ok());
  const std::vector<std::string> flags = {"--url_roots",
                                          server.Http("/data") + "," + server.Http("/plain") + "," +
                                              server.Http("/flaky") + "," + server.Http("/changing") + "," +
                                              server.Http("/moved") + ",s3://bucket/in",
                                          "--s3_endpoint",
                                          server.Http(""),
                                          "--s3_region",
                                          "eu-test-1",
                                          "--s3_keys",
                                          keys};
  Cluster cluster({.workers = 2, .master_flags = flags, .worker_flags = flags});
  ASSERT_TRUE(cluster.Start().ok());
  const std::string expected = ExpectedWordCount(files_ + "/bible.txt");
  const auto count = [&](const std::string& input, const std::string& name) {
    const std::string out = work_ / name;
    const auto run = cluster.Mrctl({"submit", "wordcount", "--input", input, "--output", "file://" + out});
    EXPECT_EQ(run.exit, 0) << run.err << cluster.Logs();
    return run.exit == 0 ? SortedLines(ReadParts(out)) : "";
  };
  EXPECT_EQ(count(server.Http("/data/bible.txt"), "ranges"), expected);
  EXPECT_EQ(count(server.Http("/plain/bible.txt"), "whole"), expected);
  EXPECT_EQ(count(server.Http("/flaky/bible.txt"), "flaky"), expected);
  EXPECT_EQ(count("s3://bucket/in/", "objects"), expected);

  const auto fails = [&](const std::string& input) {
    return cluster.Mrctl({"submit", "wordcount", "--input", input, "--output", "file://" + (work_ / "none")});
  };
  const auto outside = fails(server.Http("/other/bible.txt"));
  EXPECT_EQ(outside.exit, 6);
  EXPECT_THAT(outside.err, HasSubstr("--url_roots of the master and of the workers"));
  EXPECT_EQ(fails(server.Http("/data/../other/bible.txt")).exit, 2);
  EXPECT_EQ(fails("s3://bucket/in/../bible.txt").exit, 2);
  EXPECT_EQ(fails(server.Http("/data/none")).exit, 7);
  const auto moved = fails(server.Http("/moved/bible.txt"));
  EXPECT_EQ(moved.exit, 3);
  EXPECT_THAT(moved.err, HasSubstr("redirects to /data/bible.txt"));
  const auto changed = fails(server.Http("/changing/bible.txt"));
  EXPECT_EQ(changed.exit, 1);
  EXPECT_THAT(changed.err, AllOf(HasSubstr("/changing/bible.txt has changed since the job was planned"),
                                 HasSubstr("A job reads one version of its inputs")));
  EXPECT_EQ(RunProgram({"/usr/bin/grep", "-rlF", kSecret, cluster.directory()}).out, "") << "in a log, journal or file";
}

TEST_F(UrlsTest, LocalRunsReadWhatTheirUserNames) {
  const std::string certificate = work_ / "certificate.pem", key = work_ / "key.pem";
  Shell("openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost " +
        ("-keyout " + key + " -out " + certificate) + " 2>&1");
  const UrlServer server(files_, work_, {certificate, key});
  const std::vector<std::string> select = {"submit",
                                           "--local",
                                           "select",
                                           "--where",
                                           "count > 5",
                                           "--input",
                                           "https://" + server.At("localhost/data/table.csv")};
  SpawnOptions options;
  options.env = {"SSL_CERT_FILE=" + certificate};
  const auto run = RunMrctl(select, Seconds(60), options);
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_EQ(run.out, "city,count\nRome,12\nOslo,20\n");
  const auto untrusted = RunMrctl(select);
  EXPECT_EQ(untrusted.exit, 3);
  EXPECT_THAT(untrusted.err, HasSubstr("--url_ca"));
}

}  // namespace
}  // namespace mr::test
