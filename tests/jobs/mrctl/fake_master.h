// A master for tests of mrctl's side: speaks client.capnp on a loopback port, remembers what it is asked, and answers
// lists in pages. Calls from the test's thread.
#pragma once

#include <capnp/capability.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/rpc/kj_thread.h"
#include "common/rpc/server.h"
#include "schema/client.capnp.h"

namespace mr::ctl {

class FakeMaster {
 public:
  FakeMaster();
  ~FakeMaster() noexcept;  // KJ members would make it throwing

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  // So many of the next submits are heard, and the connection breaks before their answers.
  void BreakSubmits(int times);
  // The outcome that each submit gets.
  void SetSubmitOutcome(const Status& status);

  // The state of all workers.
  void SetWorkerState(const std::string& state);
  // Kills of this job are refused.
  void RefuseKill(JobId job);
  // The jobs that it was asked to kill, in that order.
  std::vector<JobId> Kills();

  // Submission ids, in the order in which they were heard.
  std::vector<std::string> Submissions();
  // Pieces of uploads: their offsets and sizes.
  std::vector<std::pair<uint64_t, uint64_t>> Uploads();
  struct Queue {
    std::string name;
    double weight = 0;
    int64_t min_share = 0, max_share = 0;
  };
  std::vector<Queue> Queues();

  // Lists have so many entries, and pages of kPage.
  static constexpr uint32_t kEntries = 5, kPage = 2;
  static constexpr JobId kJob{1, 7};

 private:
  class ForClient;

  std::mutex mutex_;  // the test's thread and the loop share what follows
  int breaks_ = 0;
  Status submit_outcome_;
  std::vector<std::string> submissions_;
  std::vector<std::pair<uint64_t, uint64_t>> uploads_;
  std::vector<Queue> queues_;
  std::string worker_state_;
  JobId refused_kill_;
  std::vector<JobId> kills_;

  uint16_t port_ = 0;
  kj::Own<rpc::RpcServer> server_;  // on the loop
  rpc::KjThread loop_{"fake_master"};
};

}  // namespace mr::ctl
