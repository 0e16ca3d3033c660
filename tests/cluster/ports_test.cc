// Whoever knocks: random bytes, other programs and other releases are turned away, and the daemons
// go on.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "common/base/rng.h"
#include "common/rpc/hello.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"
#include "tests/support/raw_port.h"

namespace mr::test {
namespace {

TEST(PortsTest, RandomBytesOnEveryPortHurtNobody) {
  Cluster cluster({.workers = 1, .slots = 1});
  ASSERT_TRUE(cluster.Start().ok());
  Rng rng(4);
  const uint16_t ports[] = {cluster.master_port(), cluster.master_http_port(), cluster.worker_port(0),
                            cluster.worker_http_port(0)};
  for (int round = 0; round < 40; ++round) {
    std::string bytes(rng.Below(3000), '\0');
    for (char& c : bytes) c = static_cast<char>(rng.Next());
    for (const uint16_t port : ports) {
      std::string sent = bytes;
      if (round % 3 != 0) {                                     // behind a hello that is right
        if (round % 3 == 1) sent.insert(0, OwnersFrame(port));  // and the secret: it is taken for messages
        sent.insert(0, BytesOf({.role = static_cast<rpc::Role>(1 + rng.Below(4))}));
      }
      EXPECT_TRUE(SendUntilClosed(port, sent)) << "port " << port << " round " << round;
    }
  }
  WriteBible(cluster.directory() + "/in", 50'000);
  const RunResult run = cluster.Mrctl({"submit", "wordcount", "--input", "file://" + cluster.directory() + "/in",
                                       "--output", "file://" + cluster.directory() + "/out"});
  EXPECT_EQ(run.exit, 0) << run.err << cluster.Logs();
}

TEST(PortsTest, AClientOfAnotherProtocolIsToldWhichOneIsSpokenHere) {
  Cluster cluster({.workers = 1, .slots = 1});
  ASSERT_TRUE(cluster.Start().ok());
  const auto hello = rpc::EncodeHello({.protocol = rpc::kProtocolVersion + 1});
  for (const uint16_t port : {cluster.master_port(), cluster.worker_port(0)}) {
    std::string reply;
    EXPECT_TRUE(SendUntilClosed(port, std::string(reinterpret_cast<const char*>(hello.data()), hello.size()), &reply));
    ASSERT_EQ(reply.size(), rpc::kHelloBytes);
    std::array<uint8_t, rpc::kHelloBytes> bytes;
    std::copy(reply.begin(), reply.end(), bytes.begin());
    const auto decoded = rpc::DecodeHello(bytes);
    ASSERT_TRUE(decoded.ok()) << decoded.status().ToString();
    EXPECT_EQ(decoded->refused, static_cast<uint32_t>(Code::kUnavailable));
  }
}

TEST(PortsTest, AWorkerRefusesAnMrtaskOfAnotherBuildAtOnce) {
  TempDirectory bin;
  std::filesystem::copy_file(BinaryDirectory() + "/mrworker", bin / "mrworker");
  std::ofstream(bin / "mrtask") << "#!/bin/sh\nprintf 'PMTH\\143\\0\\0\\0' >&3\n";
  std::filesystem::permissions(bin / "mrtask", std::filesystem::perms::owner_all);
  const std::vector<std::string> argv = {bin / "mrworker", "--master", "127.0.0.1:9", "--data", bin / "data",
                                         "--port",         "0",        "--http_port", "0"};
  const RunResult run = RunProgram(argv, Seconds(10));
  EXPECT_EQ(run.exit, 5) << run.err;
  EXPECT_NE(run.err.find((bin / "mrtask") + " speaks protocol 99"), std::string::npos) << run.err;
  std::filesystem::remove(bin / "mrtask");
  const RunResult none = RunProgram(argv, Seconds(10));
  EXPECT_EQ(none.exit, 70) << none.err;
  EXPECT_NE(none.err.find(bin / "mrtask"), std::string::npos) << none.err;
}

}  // namespace
}  // namespace mr::test
