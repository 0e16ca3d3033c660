// A master in a directory of its own beside a small file to read.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "common/io/files.h"
#include "master/host/master.h"
#include "tests/master/host/fake_worker.h"

namespace mr::test {

class MasterFixture : public testing::Test {
 protected:
  MasterFixture() {
    char path[] = "/tmp/master_test.XXXXXX";
    root_ = mkdtemp(path);
    EXPECT_TRUE(WriteFileDurably(root_ + "/input", std::string(10'000, 'x')).ok());
    master::Master::Options options;
    options.directory = root_ + "/master";
    auto started = master::Master::Start(options);
    EXPECT_TRUE(started.ok()) << started.status().ToString();
    master_ = *std::move(started);
  }
  ~MasterFixture() noexcept override {
    master_ = nullptr;
    (void)RemoveTree(root_);
  }

  std::string root_;
  TestIo io_;
  std::unique_ptr<master::Master> master_;
};

}  // namespace mr::test
