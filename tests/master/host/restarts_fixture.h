// A master that a test starts and stops over one data directory, beside a small file to read.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "common/io/files.h"
#include "common/rpc/kj_status.h"
#include "common/rpc/wire.h"
#include "master/host/master.h"
#include "tests/master/host/fake_worker.h"

namespace mr::test {

class RestartsFixture : public testing::Test {
 protected:
  RestartsFixture() {
    char path[] = "/tmp/restarts_test.XXXXXX";
    root_ = mkdtemp(path);
    EXPECT_TRUE(WriteFileDurably(root_ + "/input", std::string(10'000, 'x')).ok());
    options_.directory = root_ + "/master";
    options_.learns = false;
    options_.audits = false;  // tests count, hold and fail the syncs of the journal
  }
  ~RestartsFixture() noexcept override {
    Stop();
    (void)RemoveTree(root_);
  }
  Status Start() {
    Stop();
    MR_ASSIGN_OR_RETURN(master_, master::Master::Start(options_));
    client_ = std::make_unique<FakeClient>(io_, master_->port());
    return Status::Ok();
  }
  void Stop() {
    client_ = nullptr;
    master_ = nullptr;
  }
  Status MakeDirectory(const std::string& path) {
    auto request = client_->master().filesRequest().send().getFiles().mkdirRequest();
    request.setPath(path.c_str());
    return rpc::FromOutcome(request.send().wait(io_.io.waitScope).getOutcome());
  }
  Status Remove(const std::string& path) {
    auto request = client_->master().filesRequest().send().getFiles().removeRequest();
    request.setPath(path.c_str());
    request.setRecursive(true);
    return rpc::FromOutcome(request.send().wait(io_.io.waitScope).getOutcome());
  }

  std::string root_;
  master::Master::Options options_;
  TestIo io_;
  std::unique_ptr<master::Master> master_;
  std::unique_ptr<FakeClient> client_;
};

}  // namespace mr::test
