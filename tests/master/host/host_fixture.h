// A host with two workers and jobs, on a loop of its own and under a clock of the test's: time passes in Run alone.
// Workers are calls of the test; what the host asks of their data servers waits in `looks` for the test's answer.
#pragma once

#include <capnp/message.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/io/clock.h"
#include "common/io/files.h"
#include "common/rpc/spec_wire.h"
#include "master/core/spec_check.h"
#include "master/host/host.h"
#include "tests/master/host/fake_worker.h"

namespace mr::test {

class HostFixture : public testing::Test {
 protected:
  using Looked = master::Looked;
  explicit HostFixture(const std::string& policies = master::HostOptions().policies) {
    options_.policies = policies;
    std::string pattern = testing::TempDir() + "/host_XXXXXX";
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    EXPECT_TRUE(MakeDirectories(root_ + "/master/journal").ok());
    EXPECT_TRUE(WriteFileDurably(root_ + "/input", std::string(10'000, 'x')).ok());
    options_.directory = root_ + "/master";
    options_.replication = 1;
    options_.clock = [this] { return now_; };
    host_ = std::make_unique<master::Host>(options_, *loop_, outlets_);
    const Status recovered = host_->Recover();
    EXPECT_TRUE(recovered.ok()) << recovered.ToString();
    loop_->Start();
    for (const char name : {'a', 'b'}) Register(name);
  }
  ~HostFixture() override {
    loop_->Stop();
    host_ = nullptr;
    (void)RemoveTree(root_);
  }

  // The next master of the same journal. No worker has registered with it.
  void Restart() {
    loop_->Stop();
    host_ = nullptr;
    loop_ = std::make_unique<Loop>([this] { host_->Flush(); });
    host_ = std::make_unique<master::Host>(options_, *loop_, outlets_);
    const Status recovered = host_->Recover();
    ASSERT_TRUE(recovered.ok()) << recovered.ToString();
    loop_->Start();
  }
  // On the loop's thread, as all that touches the host.
  void On(const std::function<void()>& fn) { loop_->Run(fn); }
  void Register(char name) {
    On([&] {
      master::RegisterIn in;
      in.extra.name = std::string(1, name);
      in.info.incarnation = Incarnation{static_cast<uint64_t>(name)};
      in.info.address = std::string("127.0.0.") + (name == 'a' ? "1" : "2") + ":1";
      in.info.slots.total = 2;
      in.info.memory_bytes = name == 'b' ? memory_of_b_ : 1 << 30;
      host_->sessions().Register(static_cast<uint64_t>(name), in, [](const master::RegisterOut&) {});
      host_->sessions().HeartbeatConnected(in.info.incarnation, true);
    });
  }
  master::WorkerView& Of(char name) { return *host_->core().workers().FindIncarnation(static_cast<uint64_t>(name)); }
  void Beat(char name, bool full = false, Duration silent = {}) {
    DiskRoom room{50ull << 30, 100ull << 30};
    if (full) room = {1ull << 30, 100ull << 30, true, false, std::string("/data/") + name};
    (void)host_->sessions().Beat(Of(name).id, Of(name).info.incarnation, silent, room);
  }
  // Does the work of the master's loop: a tick every 250 ms, and beats() for the workers' heartbeats.
  void Run(Duration time, const std::function<void()>& beats) {
    On([&] {
      for (Duration done; done < time; done = done + master::kTick) {
        now_ = now_ + master::kTick;
        beats();
        host_->sessions().HeartbeatConnected(Of('a').info.incarnation, true);
        host_->sessions().HeartbeatConnected(Of('a').info.incarnation, false);  // looks at leases
        host_->room().FailWithoutRoom();
      }
    });
  }
  // A job of three maps and one reduce, where a test does not change the numbers.
  Result<JobId> Submit(uint64_t memory_bytes = 0, const std::string& output = "") {
    capnp::MallocMessageBuilder message;
    auto builder = message.initRoot<rpc::JobSpec>();
    FillTwoStages(builder, root_ + "/input", root_ + "/out", reduces_);
    if (!output.empty()) builder.getOutput().setUri(output.c_str());
    if (memory_bytes != 0) builder.setMemoryBytes(memory_bytes);
    auto spec = master::CheckSpec(rpc::FromWire(builder.asReader()));
    if (!spec.ok()) return spec.status();
    Status status;
    JobId job;
    std::atomic<bool> answered{false};
    On([&] {
      host_->submissions().Submit(Everything(), rpc::CanonicalBytes(builder.asReader()), *spec, "",
                                  [&](Status said, JobId id) {
                                    status = std::move(said);
                                    job = id;
                                    answered = true;
                                  });
    });
    while (!answered) On([] {});
    if (!status.ok()) return status;
    return job;
  }
  // The maps of such a job have run on a, its reduce may run on either.
  void MapsOnA(const std::string& output = "") {
    On([this] { host_->sessions().Drain(Of('b').id, true, [](const Status&) {}); });
    auto job = Submit(0, output);
    ASSERT_TRUE(job.ok()) << job.status().ToString();
    job_ = *job;
    for (int i = 0; i < 2; ++i) {  // a has two slots
      On([this] {
        for (uint32_t task = 0; task < 3; ++task) {
          const auto map = host_->core().attempts().Find({{job_, 0, task}, 1});
          if (!map || !Live(map->state)) continue;
          mr::Report report = Finished({{job_, 0, task}, 1});
          std::get<report::Finished>(report.what).output.partitions = 1;
          Report('a', report);
        }
      });
    }
    On([this] {
      ASSERT_EQ(Counts(job_, 0).done, 3u);
      host_->sessions().Drain(Of('b').id, false, [](const Status&) {});
    });
  }
  mr::Report Finished(const AttemptId& attempt) {
    report::Finished finished;
    finished.output.manifest = {1, 100, {attempt.task.task, 1}};
    return {attempt, std::move(finished)};
  }
  void Report(char from, mr::Report report) {
    host_->reports().Report(static_cast<uint64_t>(from), Of(from).id, Of(from).info.incarnation,
                            {{++reports_, std::move(report)}}, [](const master::ReportOut&) {});
  }
  const master::JobView& Job(JobId id) { return *host_->core().jobs().Find(id); }
  master::StageCounts Counts(JobId id, uint32_t stage) { return host_->core().attempts().Counts(Job(id), stage); }
  std::string StateOf(JobId id) {
    std::string text;
    On([&] {
      text = std::string(Word(Ended(Job(id).state) ? Job(id).state : ShownState(Job(id)))) +
             (Job(id).error.empty() ? "" : ": " + Job(id).error);
    });
    return text;
  }
  // The same once the record that commits the job, if it is on its way to the disk, is there.
  std::string EndOf(JobId id) {
    while (StateOf(id) == "COMMITTING") {
    }
    return StateOf(id);
  }

  struct Outlets final : master::Outlets {
    void Apply(uint64_t session, master::Message batch) override {
      if (applied) applied(session, batch);
    }
    void ApplyThen(uint64_t session, master::Message batch, std::function<void()> taken) override {
      Apply(session, std::move(batch));
      if (keeps_taken) {
        untaken.push_back(std::move(taken));
      } else {
        taken();
      }
    }
    void CloseSession(uint64_t) override {}
    void PushStatus(uint64_t, master::Message) override {}
    void Probe(const Look&, std::function<void(Looked)> done) override { looks.push_back(std::move(done)); }
    void InPool(std::function<void()> work) override { work(); }
    std::vector<std::function<void(Looked)>> looks;                               // not answered yet
    std::function<void(uint64_t session, const master::Message& batch)> applied;  // may be empty
    bool keeps_taken = false;
    std::vector<std::function<void()>> untaken;  // of large batches; the test calls them
  };

  std::string root_;
  JobId job_;
  uint64_t reports_ = 0;
  // Ahead of the loop's own clock: of its timers only those fire that are set on that one, the ticks.
  Instant now_ = Now() + Seconds(1'000'000);
  uint64_t memory_of_b_ = 1 << 30;
  uint32_t reduces_ = 1;
  master::HostOptions options_;
  Outlets outlets_;
  std::unique_ptr<master::Host> host_;
  std::unique_ptr<Loop> loop_ = std::make_unique<Loop>([this] { host_->Flush(); });
};

}  // namespace mr::test
