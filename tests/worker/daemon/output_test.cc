// Sinks of files: what they leave of a job's staging directory.
#include "worker/daemon/output.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "common/io/files.h"
#include "tests/support/temp_directory.h"

namespace mr::worker {
namespace {

class FileSinkTest : public testing::Test {
 protected:
  std::string staging() const { return directory_ / ".out.job_1_0001.staging"; }
  std::unique_ptr<OutputSink> SinkOf(uint32_t attempt) const {
    StageInfo stage;
    stage.spec.inputs.resize(1);
    stage.spec.ports.resize(1);
    stage.staging_uri = "file://" + staging();
    return MakeFileSink(stage, 0, {{{1, 1}, 0, 0}, attempt}, FileRoots::Any());
  }
  static OutputChunk Chunk() {
    OutputChunk chunk;
    chunk.records = 1;
    chunk.bytes = "a line\n";
    return chunk;
  }

  test::TempDirectory directory_;
};

// The staging of a stopped job stayed beside the output for good: the master had removed it before a chunk came that
// made it again.
TEST_F(FileSinkTest, OneThatWritesAfterTheJobsEndLeavesNothing) {
  const auto sink = SinkOf(1);
  ASSERT_TRUE(RemoveTree(staging()).ok());  // the master's part
  EXPECT_TRUE(sink->Add(Chunk()).ok());
  EXPECT_TRUE(PathExists(staging()));
  sink->Drop();
  EXPECT_FALSE(PathExists(staging()));
  sink->Drop();
  EXPECT_FALSE(PathExists(staging()));
}

TEST_F(FileSinkTest, TheOutputOfAnotherAttemptStays) {
  const auto dropped = SinkOf(1), kept = SinkOf(2);
  EXPECT_TRUE(dropped->Add(Chunk()).ok());
  EXPECT_TRUE(kept->Add(Chunk()).ok());
  dropped->Drop();
  const auto output = kept->Finish();
  ASSERT_TRUE(output.ok()) << output.status().ToString();
  EXPECT_EQ(ReadFile(output->files[0].staged).value(), "a line\n");
}

TEST_F(FileSinkTest, OneOpensWhileOthersAreDropped) {
  std::atomic<bool> stop{false};
  std::thread others([&] {
    for (uint32_t i = 2; !stop; ++i) {
      const auto sink = SinkOf(i);
      EXPECT_TRUE(sink->Add(Chunk()).ok());
      sink->Drop();
    }
  });
  for (int i = 0; i < 200; ++i) {
    const auto sink = SinkOf(1);
    EXPECT_TRUE(sink->Add(Chunk()).ok());
    sink->Drop();
  }
  stop = true;
  others.join();
  EXPECT_FALSE(PathExists(staging()));
}

}  // namespace
}  // namespace mr::worker
