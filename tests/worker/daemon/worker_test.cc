// A worker's books and its attempts without a master, a child or a port: children and fetches do what the test says.
#include "worker/daemon/worker.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "common/abi/batch.h"
#include "common/io/files.h"
#include "worker/daemon/attempt_runner.h"
#include "worker/daemon/housekeeping.h"
#include "worker/daemon/url_inputs.h"

namespace mr::worker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr JobId kJob{1, 1};
constexpr Incarnation kIncarnation = 77;
constexpr auto kLimit = std::chrono::seconds(60);  // only failures take so long

class FakeTask : public RunningTask {
 public:
  void Feed(uint32_t, uint32_t, uint32_t partition, SharedBytes bytes, bool last,
            std::function<void()> taken) override {
    fed.push_back({partition, std::string(bytes), last});
    if (taken) taken();
  }
  void Kill() override { killed = true; }
  TaskProgress Progress() const override { return progress; }
  int pid() const override { return 1; }

  struct Fed {
    uint32_t partition;
    std::string bytes;
    bool last;
    bool operator==(const Fed&) const = default;
  };
  std::vector<Fed> fed;  // on the loop
  bool killed = false;
  TaskProgress progress;
};

class FakeHost final : public TaskHost {
 public:
  size_t EndLeftovers() override { return 0; }
  void EndJob(JobId) override {}
  void RenewLease(Instant) override {}
  const RoomReport& room() const override { return room_; }
  RoomReport room_;
  std::shared_ptr<RunningTask> Run(TaskSpec spec, std::shared_ptr<TaskObserver> observer) override {
    auto task = std::make_shared<FakeTask>();
    tasks[spec.attempt] = task;
    observers[spec.attempt] = std::move(observer);
    return task;
  }
  // On the loop.
  std::map<AttemptId, std::shared_ptr<FakeTask>> tasks;
  std::map<AttemptId, std::shared_ptr<TaskObserver>> observers;
};

class WorkerTest : public testing::Test {
 protected:
  WorkerTest() {
    char path[] = "/tmp/worker_test.XXXXXX";
    root_ = mkdtemp(path);
    for (const char* name : {"lib", "files", "scratch", "log"}) EXPECT_TRUE(MakeDirectories(Path(name)).ok());
    auto store = ShuffleStore::Open({.directory = Path("shuffle")});
    EXPECT_TRUE(store.ok()) << store.status().ToString();
    store_ = *std::move(store);
    loop_.Run([this] { Build(); });
  }
  ~WorkerTest() noexcept override {
    pool_.Stop();
    loop_.Run([this] {
      host_.observers.clear();
      worker_.reset();
    });
    loop_.Run([] {});  // what the worker's end has posted
    loop_.Run([this] {
      services_.reset();
      inputs_.reset();
      side_files_.reset();
      libraries_.reset();
      replicator_.reset();
      fetches_.reset();
    });
    store_.reset();
    (void)RemoveTree(root_);
  }
  std::string Path(const std::string& name) const { return root_ + "/" + name; }

  struct Fetching : Fetcher {
    Fetching(std::vector<SegmentRequest>* r, const FetchProgress* p) : requests(r), progress(p) {}
    void Request(SegmentRequest request) override { requests->push_back(std::move(request)); }
    FetchProgress Progress() const override { return *progress; }
    std::vector<SegmentRequest>* requests;
    const FetchProgress* progress;
  };

  void Build() {
    FetchPool::Options fetch;
    fetch.incarnation = kIncarnation;
    fetches_ = std::make_unique<FetchPool>(loop_, store_, pool_.poster(), fetch);
    replicator_ = std::make_unique<Replicator>(loop_, *fetches_, store_);
    libraries_ = std::make_unique<LibraryCache>(
        loop_, pool_.poster(), "builtin", Path("lib"),
        [](std::string, uint64_t) { return kj::Promise<Result<LibraryCache::Piece>>(kj::NEVER_DONE); });
    side_files_ = std::make_unique<SideFiles>(pool_.poster(), *libraries_, Path("files"));
    const auto dfs = [] { return kj::Promise<dfs::DfsClient*>(static_cast<dfs::DfsClient*>(nullptr)); };
    inputs_ = std::make_unique<InputOpener>(pool_.poster(), dfs, Path("scratch"), roots_, urls_);
    services_.reset(new Services{loop_,
                                 pool_,
                                 host_,
                                 *store_,
                                 *libraries_,
                                 *side_files_,
                                 directory_,
                                 *inputs_,
                                 roots_,
                                 [this](FetchObserver& o) {
                                   feeder_ = &o;
                                   return std::make_unique<Fetching>(&requests_, &fetched_);
                                 },
                                 nullptr,
                                 [this](Report report, std::function<void(Verdict)>) {
                                   const std::lock_guard lock(mutex_);
                                   reports_.push_back(std::move(report));
                                   changed_.notify_all();
                                   return reports_.size();
                                 },
                                 [](uint64_t) {},
                                 *replicator_,
                                 {{5}, kIncarnation},
                                 Path("scratch"),
                                 Path("log"),
                                 nullptr,
                                 nullptr});
    MakeWorker({2, 0, 0});
  }
  void MakeWorker(const SlotLimits& slots) {
    Worker::Options options;
    options.slots = slots;
    worker_ = std::make_unique<Worker>(*services_, options);
  }
  void Apply(Command command) {
    loop_.Run([&] { worker_->Apply(std::move(command)); });
  }

  // Stage 0 runs map tasks, stage 1 reduce tasks over partition 0 and 1 of its output.
  static StageInfo MapStage() {
    StageInfo stage;
    stage.id = {kJob, 0};
    stage.spec.name = "map";
    stage.tasks = 4;
    stage.spec.inputs.resize(1);
    stage.spec.inputs[0].files.format = "text";
    stage.spec.ports.resize(1);
    stage.port_partitions = {2};
    return stage;
  }
  static StageInfo ReduceStage() {
    StageInfo stage = MapStage();
    stage.id = {kJob, 1};
    stage.spec.name = "reduce";
    stage.spec.inputs[0] = {};
    stage.spec.inputs[0].is_edge = stage.spec.inputs[0].grouped = true;
    return stage;
  }
  static AttemptId Map(uint32_t task) { return {{kJob, 0, task}, 1}; }
  static AttemptId Reduce(uint32_t task) { return {{kJob, 1, task}, 1}; }
  static LaunchCommand LaunchOf(AttemptId attempt, uint32_t upstream_tasks = 0) {
    LaunchCommand launch;
    launch.attempt = attempt;
    launch.generation = 1;
    if (upstream_tasks > 0) launch.slices.push_back({0, 0, 2, 0, upstream_tasks});
    return launch;
  }
  static ReplicaPtr Replica(uint32_t task, uint32_t worker) {
    ReplicaLocation replica;
    replica.output = {{kJob, 0, task}, 1};
    replica.attempt = worker;
    replica.worker = {worker};
    replica.incarnation = 100 + worker;
    replica.content = {1, task};
    return std::make_shared<const ReplicaLocation>(replica);
  }
  void Tell(uint64_t version, std::vector<ReplicaPtr> added) {
    DirectoryDelta delta;
    delta.stage = {kJob, 0};
    delta.version = version;
    delta.added = std::move(added);
    Apply(delta);
  }

  template <class What>
  static const What* As(const Report& report) {
    return std::get_if<What>(&report.what);
  }
  // The first report of this kind of the attempt; what it was launched for must come to it.
  template <class What>
  What WaitFor(AttemptId attempt) {
    std::unique_lock lock(mutex_);
    const What* found = nullptr;
    const bool came = changed_.wait_for(lock, kLimit, [&] {
      for (const Report& report : reports_) {
        if (report.attempt == attempt && (found = As<What>(report)) != nullptr) return true;
      }
      return false;
    });
    EXPECT_TRUE(came) << "no such report";
    return came ? *found : What{};
  }
  template <class What>
  std::vector<What> All() {
    const std::lock_guard lock(mutex_);
    std::vector<What> all;
    for (const Report& report : reports_) {
      if (const What* what = As<What>(report)) all.push_back(*what);
    }
    return all;
  }
  void End(AttemptId attempt, TaskEnd end) { EndWith(attempt, end, "so it ended"); }
  void EndWith(AttemptId attempt, TaskEnd end, const std::string& message) {
    loop_.Run([&] {
      TaskResult result;
      result.end = end;
      result.message = message;
      host_.observers.at(attempt)->OnEnd(std::move(result));
    });
  }

  rpc::KjThread loop_{"worker_test"};
  Pool pool_{2};
  std::string root_;
  FakeHost host_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Report> reports_;
  std::shared_ptr<ShuffleStore> store_;
  // On the loop:
  FetchObserver* feeder_ = nullptr;  // of the last slice that fetches
  std::vector<SegmentRequest> requests_;
  FetchProgress fetched_;  // of each fetcher
  Directory directory_;
  std::unique_ptr<FetchPool> fetches_;
  std::unique_ptr<Replicator> replicator_;
  std::unique_ptr<LibraryCache> libraries_;
  std::unique_ptr<SideFiles> side_files_;
  const FileRoots roots_ = FileRoots::Any();
  UrlInputs urls_{nullptr, 0, ""};
  std::unique_ptr<InputOpener> inputs_;
  std::unique_ptr<Services> services_;
  std::unique_ptr<Worker> worker_;
};

TEST_F(WorkerTest, FilesInUseAreLibrariesAndSideFilesOfJobsThatHaveNotEnded) {
  StageInfo stage = MapStage();
  stage.library = std::string(64, 'a');
  stage.files = {{"names.txt", std::string(64, 'b')}};
  Apply(stage);
  loop_.Run([&] {
    EXPECT_THAT(worker_->FilesInUse(), ElementsAre(std::string(64, 'a'), std::string(64, 'b')));
    worker_->Apply(command::EndJob{kJob});
    EXPECT_TRUE(worker_->FilesInUse().empty());
  });
}

TEST_F(WorkerTest, WhatAnotherLifeKeptIsNotDropped) {
  loop_.Run([&] {
    services_->on_kept({{{kJob, 0, 1}, 1}, 1, {5}, kIncarnation});
    const mr::Replica other{{{kJob, 0, 1}, 1}, 1, {5}, kIncarnation - 1}, own{{{kJob, 0, 1}, 1}, 1, {5}, kIncarnation};
    worker_->Apply(command::DropReplica{other});
    EXPECT_EQ(worker_->kept(), 1u);
    worker_->Registered({{5}, kIncarnation}, {other});
    EXPECT_EQ(worker_->kept(), 1u);
    worker_->Apply(command::DropReplica{own});
    EXPECT_EQ(worker_->kept(), 0u);
  });
}

// Maps do not count against the slots of reduces, nor the other way round.
TEST_F(WorkerTest, EachKindHasItsOwnSlotsWithinTheWhole) {
  loop_.Run([&] { MakeWorker({4, 1, 2}); });
  Apply(MapStage());
  Apply(ReduceStage());
  for (const LaunchCommand& launch : {LaunchOf(Map(0)), LaunchOf(Reduce(0), 1), LaunchOf(Reduce(1), 1)}) Apply(launch);
  EXPECT_TRUE(All<report::Refused>().empty());
  loop_.Run([&] { EXPECT_EQ(worker_->busy(), 3u); });
  Apply(LaunchOf(Map(1)));
  EXPECT_EQ(WaitFor<report::Refused>(Map(1)).why, "no free slot") << "one map at a time, though a slot is free";
  Apply(LaunchOf(Reduce(2), 1));
  EXPECT_EQ(WaitFor<report::Refused>(Reduce(2)).why, "no free slot");
}

TEST_F(WorkerTest, AnEndOfTheLeaseIsNotTheUsersFaultAndOtherEndsAreWhatTheyAre) {
  Apply(MapStage());
  const std::pair<TaskEnd, FailureKind> kinds[] = {{TaskEnd::kUserError, FailureKind::kUser},
                                                   {TaskEnd::kUserFinal, FailureKind::kUserFinal},
                                                   {TaskEnd::kEnvironment, FailureKind::kEnvironment},
                                                   {TaskEnd::kLeaseOver, FailureKind::kLost}};
  uint32_t task = 0;
  for (const auto& [end, kind] : kinds) {
    const AttemptId attempt = Map(task++);
    Apply(LaunchOf(attempt));
    WaitFor<report::Started>(attempt);
    End(attempt, end);
    const report::Failed failed = WaitFor<report::Failed>(attempt);
    EXPECT_EQ(failed.kind, kind) << static_cast<int>(end);
    EXPECT_EQ(failed.message, "so it ended");
  }
}

TEST_F(WorkerTest, AfterAWriteWithoutSpaceNothingIsLaunchedUntilTheDiskHasRoom) {
  DiskWatch disk(root_, 0);
  disk.Look();
  loop_.Run([&] { services_->disk = &disk; });
  Apply(MapStage());
  for (const uint32_t task : {0, 1}) {
    Apply(LaunchOf(Map(task)));
    WaitFor<report::Started>(Map(task));
  }
  EndWith(Map(0), TaskEnd::kEnvironment, "cannot write a spill run in /other/scratch: write: No space left on device");
  WaitFor<report::Failed>(Map(0));
  EXPECT_FALSE(disk.seen().full) << "another disk";
  EndWith(Map(1), TaskEnd::kEnvironment,
          "cannot write a spill run in " + Path("scratch") + ": write: No space left on device");
  WaitFor<report::Failed>(Map(1));
  Apply(LaunchOf(Map(2)));
  EXPECT_EQ(WaitFor<report::Refused>(Map(2)).why, "the disk with " + root_ + " is full");
  disk.Look();
  Apply(LaunchOf(Map(3)));
  WaitFor<report::Started>(Map(3));
  loop_.Run([&] { services_->disk = nullptr; });
}

TEST_F(WorkerTest, AnAttemptThatFailsInADirectoryHasItCheckedAndNothingIsLaunchedWhileItCannotBeUsed) {
  DiskWatch disk(root_, 0, {{Path("scratch"), true}});
  disk.Look();
  loop_.Run([&] { services_->disk = &disk; });
  Apply(MapStage());
  Apply(LaunchOf(Map(0)));
  WaitFor<report::Started>(Map(0));
  ASSERT_TRUE(RemoveTree(Path("scratch")).ok());
  ASSERT_TRUE(WriteFileDurably(Path("scratch"), "no directory").ok());
  EndWith(Map(0), TaskEnd::kEnvironment, "cannot make a temporary file in " + Path("scratch") + ": Not a directory");
  WaitFor<report::Failed>(Map(0));
  pool_.Finish();
  Apply(LaunchOf(Map(1)));
  EXPECT_THAT(WaitFor<report::Refused>(Map(1)).why, testing::HasSubstr("unfit: cannot write in " + Path("scratch")));
  loop_.Run([&] { services_->disk = nullptr; });
}

// An input that changed while it was read explains whatever came of it.
TEST_F(WorkerTest, AnInputThatChangedWhileItWasReadFailsTheJobHoweverItsChildEnded) {
  Apply(MapStage());
  uint32_t task = 0;
  for (const TaskEnd end : {TaskEnd::kDone, TaskEnd::kUserError, TaskEnd::kEnvironment}) {
    const std::string path = Path("input" + std::to_string(task));
    ASSERT_TRUE(WriteFileDurably(path, "ten bytes\n").ok());
    const AttemptId attempt = Map(task++);
    LaunchCommand launch = LaunchOf(attempt);
    SplitToRead split;
    split.uri = "file://" + path;
    split.length = split.file_bytes = 10;
    launch.splits.push_back(split);
    Apply(launch);
    WaitFor<report::Started>(attempt);
    ASSERT_EQ(truncate(path.c_str(), 3), 0);
    End(attempt, end);
    const report::Failed failed = WaitFor<report::Failed>(attempt);
    EXPECT_EQ(failed.kind, FailureKind::kUserFinal) << static_cast<int>(end);
    EXPECT_THAT(failed.message, HasSubstr("has changed since the job was planned"));
  }
}

class ReaderTest : public WorkerTest {
 protected:
  // Reduce 0 runs and requests the output of task 0 from worker 2. Worker 3 has it, too.
  void Start(uint32_t upstream_tasks = 1) {
    Apply(MapStage());
    Apply(ReduceStage());
    Tell(1, {Replica(0, 2)});
    Apply(LaunchOf(Reduce(0), upstream_tasks));
    WaitFor<report::Started>(Reduce(0));
    loop_.Run([] {});
    loop_.Run([&] { ASSERT_EQ(requests_.size(), 1u); });
    Tell(2, {Replica(0, 3)});
  }
  void Batch(uint32_t partition, const std::string& bytes, bool last) {
    loop_.Run([&] { feeder_->OnBatch({0, 0, partition, bytes, last, false}, [] {}); });
  }
  // Fails the read from the replica that was requested last.
  void Break() {
    loop_.Run(
        [&] { feeder_->OnSegmentFailed(*Replica(0, requests_.back().from.worker.value), Unavailable("gone"), true); });
  }
  void Done(uint32_t task, const FetchMeasure& measure) {
    loop_.Run([&] { feeder_->OnSegmentDone(*Replica(task, 2), measure); });
  }
  std::vector<FakeTask::Fed> Fed() {
    return loop_.Run([&] { return host_.tasks.at(Reduce(0))->fed; });
  }
  // The child has three batches, and another replica agrees only on the first.
  void IsLostBehind(const std::string& second, bool last) {
    Start();
    for (const char* bytes : {"a", "b", "c"}) Batch(0, bytes, false);
    Break();
    Batch(0, "a", false);
    Batch(0, second, last);
    if (!last) Batch(0, "c", false);
    EXPECT_TRUE(ChildIsKilled());
    EXPECT_EQ(Fed(), (std::vector<FakeTask::Fed>{{0, "a", false}, {0, "b", false}, {0, "c", false}}));
    End(Reduce(0), TaskEnd::kKilled);
    EXPECT_EQ(WaitFor<report::Failed>(Reduce(0)).kind, FailureKind::kLost);
  }
  bool ChildIsKilled() {
    return loop_.Run([&] { return host_.tasks.at(Reduce(0))->killed; });
  }
};

// Its operator takes nothing before all inputs are there.
TEST_F(ReaderTest, WhatHasArrivedIsItsProgress) {
  Start(2);
  fetched_ = {300, 1000, 1};
  const std::vector<ProgressFrame> frames = loop_.Run([&] {
    host_.tasks.at(Reduce(0))->progress.phase = 1;
    return worker_->DueProgress(Now());
  });
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].progress.taken_bytes, 300u);
  EXPECT_EQ(frames[0].progress.total_bytes, 2000u) << "the other output is taken to be as large";
}

TEST_F(ReaderTest, GoesOnInAPartitionFromAnotherReplicaBehindWhatItHas) {
  Start();
  Batch(0, "a", false);
  Batch(0, "b", false);
  Batch(1, "x", true);
  Break();
  loop_.Run([&] {
    ASSERT_EQ(requests_.size(), 2u);
    EXPECT_EQ(requests_[1].from.worker.value, 3u);
  });
  Batch(1, "x", true);
  Batch(0, "a", false);
  Batch(0, "b", false);
  Batch(0, "c", true);
  EXPECT_EQ(Fed(), (std::vector<FakeTask::Fed>{{0, "a", false}, {0, "b", false}, {1, "x", true}, {0, "c", true}}));
  EXPECT_FALSE(ChildIsKilled());
}

// Its child has what cannot be taken back: neither other bytes nor fewer may follow.
TEST_F(ReaderTest, IsLostWhereAnotherReplicaGoesOnOtherwise) { IsLostBehind("other", false); }
TEST_F(ReaderTest, IsLostWhereAnotherReplicaHasFewerBatches) { IsLostBehind("b", true); }

// The reader reports its throughput per holder from time to time and at the end, each byte once.
TEST_F(ReaderTest, AllThatItReadIsTold) {
  Start(3);
  Tell(3, {Replica(1, 2), Replica(2, 2)});
  for (uint32_t task = 0; task < 3; ++task) Done(task, {100, Millis(10), 0});
  uint64_t bytes = 0;
  Duration took;
  for (const report::FetchDone& done : All<report::FetchDone>()) {
    bytes += done.bytes;
    took = took + done.took;
  }
  EXPECT_EQ(bytes, 300u);
  EXPECT_EQ(took, Millis(30));
}

TEST_F(WorkerTest, SizesOfManyPartitionsAreRoundedUpAndOfFewTheyAreExact) {
  for (const uint32_t partitions : {2u, 100u}) {
    StageInfo stage = MapStage();
    stage.port_partitions = {partitions};
    const auto sink = MakeShuffleSink(*store_, stage, Map(partitions));
    BatchBuilder builder;
    builder.Add("key", "value");
    std::string batch;
    builder.Finish(kSorted, &batch);
    ASSERT_TRUE(sink->Add({0, 1, 1, batch}).ok());
    const auto output = sink->Finish();
    ASSERT_TRUE(output.ok()) << output.status().ToString();
    EXPECT_EQ(output->partitions, partitions);
    EXPECT_EQ(output->manifest.records, 1u);
    if (partitions == 2) {
      ASSERT_EQ(output->rows.size(), 2u);
      EXPECT_EQ(output->rows[1].records, 1u);
      EXPECT_TRUE(output->partition_kib.empty());
    } else {
      ASSERT_EQ(output->partition_kib.size(), partitions);
      EXPECT_EQ(output->partition_kib[0], 0u);
      EXPECT_EQ(output->partition_kib[1], 1u) << "a partition that is there is not one of nothing";
    }
  }
}

// By age all of them would go.
TEST_F(WorkerTest, LogsOfAttemptsThatRunStay) {
  Apply(MapStage());
  Apply(ReduceStage());
  Apply(LaunchOf(Map(0)));
  Apply(LaunchOf(Reduce(0), 1));
  const std::string kept[] = {Name(Map(0), TaskLetter::kMap), Name(Reduce(0), TaskLetter::kReduce)};
  const std::string gone[] = {Name(Map(1), TaskLetter::kMap), Name(Reduce(1), TaskLetter::kReduce)};
  const timespec old[2] = {{1'000'000, 0}, {1'000'000, 0}};
  for (const auto& names : {kept, gone}) {
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(WriteFileDurably(Path("log/" + names[i]), "x").ok());
      ASSERT_EQ(utimensat(AT_FDCWD, Path("log/" + names[i]).c_str(), old, 0), 0);
    }
  }
  LogOwners owners(Path("log_owners"));
  std::unique_ptr<Housekeeping> housekeeping;
  loop_.Run([&] {
    Housekeeping::Options options;
    options.lib = Path("lib");
    options.log = Path("log");
    housekeeping = std::make_unique<Housekeeping>(
        loop_,
        [this](std::function<void()> work) {
          work();
          const std::lock_guard lock(mutex_);
          changed_.notify_all();
        },
        *worker_, *libraries_, owners, options);
  });
  {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kLimit, [&] { return !PathExists(Path("log/" + gone[0])); }));
  }
  EXPECT_FALSE(PathExists(Path("log/" + gone[1])));
  for (const std::string& name : kept) EXPECT_TRUE(PathExists(Path("log/" + name))) << name;
  loop_.Run([&] { housekeeping.reset(); });
}

TEST_F(WorkerTest, LogsOfAnOwnerBeyondTheLimitGoOldestFirstAndNoneOfAnotherOwner) {
  const JobId annas = {1, 70}, bobs = {1, 71};
  const auto log = [&](JobId job, uint32_t task, int64_t age_s) {
    const std::string name = Name(AttemptId{{job, 0, task}, 1}, TaskLetter::kMap);
    EXPECT_TRUE(WriteFileDurably(Path("log/" + name), std::string(100, 'x')).ok());
    const timespec then = {::time(nullptr) - age_s, 0}, times[2] = {then, then};
    EXPECT_EQ(utimensat(AT_FDCWD, Path("log/" + name).c_str(), times, 0), 0);
    return Path("log/" + name);
  };
  const std::string bob = log(bobs, 0, 9000), old = log(annas, 0, 3000), newer = log(annas, 1, 2000);
  LogOwners owners(Path("log_owners"));
  std::unique_ptr<Housekeeping> housekeeping;
  loop_.Run([&] {
    owners.Note(annas, "anna");
    owners.Note(bobs, "bob");
    owners.Note({1, 72}, "carol");
    Housekeeping::Options options;
    options.lib = Path("lib");
    options.log = Path("log");
    options.owner_log_bytes = 150;
    housekeeping = std::make_unique<Housekeeping>(
        loop_,
        [this](std::function<void()> work) {
          work();
          const std::lock_guard lock(mutex_);
          changed_.notify_all();
        },
        *worker_, *libraries_, owners, options);
  });
  {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kLimit, [&] { return !PathExists(old); }));
  }
  EXPECT_TRUE(PathExists(newer));
  EXPECT_TRUE(PathExists(bob)) << "the oldest of all";
  loop_.Run([&] { housekeeping.reset(); });
}

TEST_F(WorkerTest, TheOwnerOfAJobIsKnownWithItsFirstStage) {
  std::map<JobId, std::string> owners;
  Worker::Options options;
  options.job_known = [&](JobId job, const std::string& owner) { owners[job] = owner; };
  worker_ = std::make_unique<Worker>(*services_, options);
  StageInfo stage = MapStage();
  stage.owner = "anna";
  Apply(stage);
  EXPECT_EQ(owners, (std::map<JobId, std::string>{{kJob, "anna"}}));
  loop_.Run([&] { EXPECT_EQ(worker_->Jobs(), std::set<JobId>{kJob}); });
}

}  // namespace
}  // namespace mr::worker
