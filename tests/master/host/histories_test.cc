// Random histories of a live master, with fakes at its edges: requests of clients and operators, registrations and
// reports of workers, and restarts from the files that a crash leaves. Its state is the one that its records give: to a
// recovery from any prefix, to a snapshot and the records behind it, and to mrsim replay.
#include <capnp/message.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/rng.h"
#include "common/io/clock.h"
#include "common/io/files.h"
#include "common/rpc/spec_wire.h"
#include "master/host/host.h"
#include "master/host/read_journal.h"
#include "master/sim/replay/replay.h"
#include "tests/master/host/fake_worker.h"

namespace mr::master {
namespace {

namespace fs = std::filesystem;

// Plans and publications are made at once; everything else is dropped.
class Edges final : public Outlets {
 public:
  void Apply(uint64_t, Message) override {}
  void CloseSession(uint64_t) override {}
  void PushStatus(uint64_t, Message) override {}
  void Probe(const Look&, std::function<void(Looked)> done) override { done({Looked::At::kGone, ""}); }
  void InPool(std::function<void()> work) override { work(); }
};

class HistoriesTest : public testing::TestWithParam<int> {
 protected:
  HistoriesTest() : rng_(Rng::Stream(static_cast<uint64_t>(GetParam()), "histories")) {
    std::string pattern = testing::TempDir() + "/histories_XXXXXX";
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    EXPECT_TRUE(WriteFileDurably(root_ + "/input", std::string(10'000, 'x')).ok());
    directory_ = root_ + "/master0";
    EXPECT_TRUE(MakeDirectories(directory_ + "/journal").ok());
    Start();
  }
  ~HistoriesTest() override {
    Stop();
    (void)RemoveTree(root_);
  }

  void Start() {
    loop_ = std::make_unique<Loop>([this] { host_->Flush(); });
    HostOptions options;
    options.directory = directory_;
    options.policies = GetParam() % 2 == 0 ? "fifo" : sched::kDefaultPolicies;
    options.replication = 1;
    options.clock = [this] { return now_; };
    host_ = std::make_unique<Host>(options, *loop_, edges_);
    const Status recovered = host_->Recover();
    ASSERT_TRUE(recovered.ok()) << recovered.ToString();
    loop_->Start();
  }
  void Stop() {
    if (loop_ != nullptr) loop_->Stop();
    host_ = nullptr;
    loop_ = nullptr;
  }
  void On(const std::function<void()>& fn) { loop_->Run(fn); }
  uint64_t Any(uint64_t below) { return rng_.Below(below); }

  // The process is killed: the next one finds the files as they are at this moment.
  void Crash() {
    const std::string copy = root_ + "/master" + std::to_string(++crashes_);
    // The witness first: it must not know more than the journal.
    ASSERT_TRUE(MakeDirectories(copy).ok());
    const std::string witness = "/journal_witness";
    if (fs::exists(directory_ + witness)) fs::copy(directory_ + witness, copy + witness);
    fs::copy(directory_, copy, fs::copy_options::recursive | fs::copy_options::skip_existing);
    Stop();
    directory_ = copy;
    Start();
  }

  void Register(char name, bool again) {
    RegisterIn in;
    in.extra.name = std::string(1, name);
    uint64_t& life = lives_[name];
    if (life == 0 || !again) life += 100 + static_cast<uint64_t>(name);
    in.info.incarnation = life;
    in.info.address = std::string("127.0.0.1:") + std::to_string(static_cast<int>(name));
    in.info.slots.total = 2;
    if (const WorkerView* known = Of(name); known != nullptr && again) {
      for (const auto& [id, job] : host_->core().jobs().jobs()) {
        for (const AttemptView& view : host_->core().attempts().Of(id)) {
          if (Live(view.state) && view.worker == known->id && Any(4) != 0) in.info.running.push_back(view.id);
        }
      }
    }
    host_->sessions().Register(++sessions_, in, [](const RegisterOut&) {});
    host_->sessions().HeartbeatConnected(in.info.incarnation, true);
  }
  WorkerView* Of(char name) {
    const WorkerId id = host_->core().workers().Named(std::string(1, name));
    return id.valid() ? host_->core().workers().Find(id) : nullptr;
  }

  void Submit() {
    capnp::MallocMessageBuilder message;
    auto builder = message.initRoot<rpc::JobSpec>();
    test::FillTwoStages(builder, root_ + "/input", root_ + "/out" + std::to_string(++jobs_), 1 + Any(3));
    if (Any(2) == 0) builder.getOutput().setUri("dfs:///out" + std::to_string(jobs_));
    const std::string bytes = rpc::CanonicalBytes(builder.asReader());
    auto spec = SpecOf(bytes);
    ASSERT_TRUE(spec.ok()) << spec.status().ToString();
    host_->submissions().Submit(Everything(), bytes, *spec, Any(2) == 0 ? "" : "id" + std::to_string(jobs_),
                                [](const Status&, JobId) {});
  }

  // One report of some attempt that runs, or that ran: such a report is stale.
  void Report() {
    std::vector<AttemptView> all;
    for (const auto& [id, job] : host_->core().jobs().jobs()) {
      for (const AttemptView& view : host_->core().attempts().Of(id)) {
        if (Live(view.state) || Any(8) == 0) all.push_back(view);
      }
    }
    if (all.empty()) return;
    const AttemptView view = all[Any(all.size())];
    const WorkerView* worker = host_->core().workers().Find(view.worker);
    mr::Report report{view.id, report::Started{}};
    const uint64_t what = Any(10);
    if (what == 0) report.what = report::Failed{FailureKind::kUser, "no luck", "line 1", "oh"};
    if (what == 1) report.what = report::Refused{"no slot"};
    if (what == 2) report.what = report::Killed{};
    if (what > 3) {
      report::Finished finished;
      const JobView& job = *host_->core().jobs().Find(view.id.task.job);
      finished.output.manifest = {1, 100, {view.id.task.task, view.id.task.stage + 1}};
      finished.output.partitions = 1;
      finished.output.rows = {{1, 100, {1, 1}, 1}};
      finished.counters = {{"mr", "records", 1}};
      if (job.spec.stages[view.id.task.stage].is_final()) {
        finished.output.files = {{"part-r-" + std::to_string(view.id.task.task), "", 0, 0, {}, {}}};
      }
      report.what = std::move(finished);
    }
    host_->reports().Report(worker->session, worker->id, view.incarnation, {{++reports_, std::move(report)}},
                            [](const ReportOut&) {});
  }

  void Act() {
    const char name = static_cast<char>('a' + Any(3));
    const uint64_t what = Any(100);
    if (what < 45) return Report();
    if (what < 57) return Register(name, what < 53);
    if (what < 69) return Submit();
    const WorkerView* worker = Of(name);
    if (what < 73 && worker != nullptr) return host_->sessions().SessionEnded(worker->session);
    if (what < 76 && worker != nullptr) return host_->sessions().Drain(worker->id, Any(2) == 0, [](const Status&) {});
    if (what < 78 && worker != nullptr) return host_->sessions().Exclude(worker->id, Any(3) == 0, [](const Status&) {});
    if (what < 82)
      return host_->requests().SetQueue({"night", 1.0 + static_cast<double>(Any(3)), {}, {}}, [](const Status&) {});
    if (what < 85 && !host_->core().jobs().jobs().empty()) {
      return host_->requests().KillJob(host_->core().jobs().jobs().rbegin()->first, Everything(), "asked",
                                       [](const Status&) {});
    }
    if (what < 90) {
      const std::string path = "/d" + std::to_string(Any(4));
      const bool make = Any(2) == 0;
      return host_->block_store().FsMutate(
          [path, make](const dfs::Namespace& ns, const dfs::Stamp& stamp) {
            return make ? ns.PrepareMkdir(stamp, path) : ns.PrepareRemove(path, true);
          },
          nullptr, [](const Status&) {});
    }
    now_ = now_ + Millis(static_cast<int64_t>(Any(8000)));
    for (const char each : {'a', 'b', 'c'}) {
      const WorkerView* w = Of(each);
      if (w != nullptr && Any(3) != 0) (void)host_->sessions().Beat(w->id, w->info.incarnation, {}, {});
    }
  }

  // Waits until ends of jobs are on disk: only then they count.
  uint64_t LiveDigest() {
    uint64_t digest = 0;
    for (bool ends = true; ends;) {
      On([&] {
        ends = !host_->core().open().ends.empty();
        host_->Flush();
        if (!ends) digest = host_->core().Digest();
      });
    }
    return digest;
  }

  std::string root_, directory_;
  Rng rng_;
  Instant now_ = Now() + Seconds(1'000'000);
  Edges edges_;
  std::unique_ptr<Host> host_;
  std::unique_ptr<Loop> loop_;
  std::map<char, uint64_t> lives_;
  uint64_t sessions_ = 0, jobs_ = 0, reports_ = 0, crashes_ = 0;
};

// A record of the history: the end of its bytes in the file, and the digest of a core behind it.
struct Point {
  uint64_t end = 0;
  uint64_t digest = 0;
};

std::vector<Point> PointsOf(const std::string& directory) {
  std::vector<Point> points;
  MasterCore core({.directory = directory}, SpecOf);
  const auto read = journal::ReadDirectory(directory + "/journal", 0, UINT64_MAX,
                                           [&](const journal::Record& record, uint64_t offset) {
                                             if (!points.empty()) points.back().end = offset;
                                             const Status status = ApplyRead(&core, record, offset);
                                             points.push_back({0, core.Digest()});
                                             return status;
                                           });
  EXPECT_TRUE(read.ok()) << read.status().ToString();
  if (read.ok()) points.back().end = read->last.end.offset;
  return points;
}

TEST_P(HistoriesTest, LiveRecoveredSnapshotAndReplayAgree) {
  // Jobs are planned on another thread: how many records an action leads to depends on when it is done.
  uint64_t events = 0;
  for (int i = 0; i < 150 || (events <= 100 && i < 5000); ++i) {
    if (Any(40) == 0) {
      ASSERT_NO_FATAL_FAILURE(Crash());
    }
    On([&] {
      Act();
      events = host_->core().events();
    });
  }
  const uint64_t live = LiveDigest();
  Stop();
  const std::vector<Point> points = PointsOf(directory_);
  ASSERT_GT(points.size(), 100u) << "the history is not what this test needs";
  EXPECT_EQ(points.back().digest, live) << "a recovery of the whole journal";

  const auto replayed = sim::ReplayJournal(directory_);
  ASSERT_TRUE(replayed.ok()) << replayed.status().ToString();
  EXPECT_EQ(replayed->verdict, sim::Verdict::kEqual) << sim::Table(*replayed);

  for (int i = 0; i < 12; ++i) {
    const uint64_t records = 1 + Any(points.size());
    SCOPED_TRACE("behind record " + std::to_string(records));
    const std::string cut = root_ + "/cut";
    (void)RemoveTree(cut);
    ASSERT_TRUE(MakeDirectories(cut + "/journal").ok());
    fs::copy(directory_ + "/journal/journal", cut + "/journal/journal");
    fs::resize_file(cut + "/journal/journal", points[records - 1].end);
    MasterCore recovered({.directory = cut}, SpecOf);
    const auto read = ReadJournal(&recovered);
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    EXPECT_EQ(recovered.Digest(), points[records - 1].digest);

    // A snapshot of it, and the records behind.
    MasterCore restored({.directory = cut}, SpecOf);
    recovered.Save([&](RecordKind kind, const std::string& part) {
      const Status status = restored.Restore(kind, part, 0);
      EXPECT_TRUE(status.ok()) << status.ToString();
    });
    EXPECT_EQ(restored.Digest(), points[records - 1].digest) << "of a snapshot";
    uint64_t at = 0;
    const auto tail = journal::ReadDirectory(
        directory_ + "/journal", 0, UINT64_MAX, [&](const journal::Record& record, uint64_t offset) {
          return ++at <= records ? Status::Ok() : ApplyRead(&restored, record, offset);
        });
    ASSERT_TRUE(tail.ok()) << tail.status().ToString();
    EXPECT_EQ(restored.Digest(), live) << "of a snapshot and the records behind it";
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, HistoriesTest, testing::Range(1, 13));

}  // namespace
}  // namespace mr::master
