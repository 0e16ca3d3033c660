#include "worker/daemon/attempt_runner.h"

#include <glog/logging.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "common/io/attempt_log.h"
#include "common/io/clock.h"
#include "common/io/fault.h"
#include "common/io/free_space.h"
#include "common/rpc/kj_status.h"
#include "worker/daemon/named_sinks.h"
#include "worker/daemon/progress.h"

namespace mr::worker {
namespace {

// Shortest time between two throughput reports per source worker, for attempts without binds. The reports are only
// statistics. One message per read would cost the master more than the read costs the workers (guess).
constexpr Duration kTallyFor = Seconds(1);

// Adds to an ENOSPC message that inodes, and not bytes, ran out, if that is so.
std::string WithInodes(const std::string& message, const std::string& directory) {
  if (message.find(std::strerror(ENOSPC)) == std::string::npos) return message;
  const auto space = SpaceOf(directory);
  if (!space.ok() || !space->no_inodes()) return message;
  return message + "; the file system of " + directory + " has no free inodes";
}

std::vector<Read> ReadsOf(const StageInfo& stage, const LaunchCommand& launch) {
  std::vector<Read> reads;
  for (const Slice& slice : launch.slices) {
    for (uint32_t task = slice.task_begin; task < slice.task_end; ++task) {
      reads.push_back(
          {slice.input, stage.spec.inputs[slice.input].stage, task, slice.partition_begin, slice.partition_end});
    }
  }
  return reads;
}

}  // namespace

// Passes the child's output to the sink, in order. Only the strand touches the sink, except in FinishEmpty.
class AttemptRunner::Lane : public std::enable_shared_from_this<Lane> {
 public:
  Lane(std::shared_ptr<Strand> strand, std::unique_ptr<OutputSink> sink, TaskLetter letter)
      : strand_(std::move(strand)), sink_(std::move(sink)), letter_(letter) {}

  void Prepare() {
    strand_->Post([self = shared_from_this()] {
      if (!self->dropped_) self->sink_->Prepare();
    });
  }
  void Add(const OutputChunk& chunk, std::function<void(Status)> done) {
    added_ = true;
    strand_->Post([self = shared_from_this(), chunk, done = std::move(done)] {
      if (self->dropped_) return done(Status(Code::kCancelled, "the output was dropped"));
      FaultPoint(self->letter_ == TaskLetter::kMap ? "map" : "reduce");
      done(self->sink_->Add(chunk));  // the bytes live as long as `done`
    });
  }
  void Finish(std::function<void(Result<TaskOutput>)> done) {
    strand_->Post([self = shared_from_this(), done = std::move(done)] { done(self->sink_->Finish()); });
  }
  // Finishes at once, without the pool, if the child had no output. Returns nothing where that is not possible.
  // Requires: the thread that calls Add, and no other call meanwhile.
  std::optional<Result<TaskOutput>> FinishEmpty() {
    if (added_ || !sink_->FinishesAtOnce()) return std::nullopt;
    return sink_->Finish();
  }
  void Drop() {
    // Queued calls do nothing. The master learns of the end soon, and a chunk that came after that would make the
    // staging directory again.
    dropped_ = true;
    strand_->Post([self = shared_from_this()] { self->sink_->Drop(); });
  }

 private:
  const std::shared_ptr<Strand> strand_;
  const std::unique_ptr<OutputSink> sink_;
  const TaskLetter letter_;
  std::atomic<bool> dropped_ = false;
  bool added_ = false;  // of the thread that calls Add
};

class AttemptRunner::Link : public TaskObserver {
 public:
  // store_at_once: the output is complete when the child has ended, because no read can fail any more. It is stored
  // directly, without a turn on the loop first.
  Link(std::weak_ptr<AttemptRunner> runner, rpc::KjThread& loop, std::shared_ptr<Lane> lane, bool store_at_once)
      : runner_(std::move(runner)), loop_(loop), lane_(std::move(lane)), store_at_once_(store_at_once) {}

  void OnOutput(const OutputChunk& chunk, std::function<void(Status)> done) override {
    lane_->Add(chunk, std::move(done));
  }

  void ReadMore(uint32_t split, uint64_t offset, uint32_t length,
                std::function<void(Result<std::string>)> reply) override {
    loop_.Post([runner = runner_, split, offset, length, reply = std::move(reply)] {
      auto self = runner.lock();
      if (self == nullptr || split >= self->launch_.splits.size()) {
        reply(Internal("there is no such split"));
        return;
      }
      self->tasks_.add(self->services_.inputs
                           .ReadMore(self->launch_.splits[split],
                                     split < self->local_.size() ? self->local_[split] : nullptr, offset, length)
                           .then([reply](Result<std::string> bytes) { reply(std::move(bytes)); },
                                 [reply](kj::Exception&& e) { reply(rpc::FromException(e)); }));
    });
  }

  void OnEnd(TaskResult result) override {
    if (!store_at_once_ || result.end != TaskEnd::kDone) return Tell(runner_, loop_, std::move(result), {});
    // The runner drops the output only after it has received the end, so nothing else is posted to the strand.
    if (auto output = lane_->FinishEmpty()) return Tell(runner_, loop_, std::move(result), std::move(output));
    auto shared = std::make_shared<TaskResult>(std::move(result));
    lane_->Finish([runner = runner_, &loop = loop_, shared](Result<TaskOutput> output) {
      Tell(runner, loop, std::move(*shared), std::move(output));
    });
  }

 private:
  static void Tell(const std::weak_ptr<AttemptRunner>& runner, rpc::KjThread& loop, TaskResult result,
                   std::optional<Result<TaskOutput>> stored) {
    loop.Post([runner, result = std::move(result), stored = std::move(stored)]() mutable {
      if (auto self = runner.lock()) self->ChildEnded(std::move(result), std::move(stored));
    });
  }

  const std::weak_ptr<AttemptRunner> runner_;
  rpc::KjThread& loop_;
  const std::shared_ptr<Lane> lane_;
  const bool store_at_once_;
};

// Feeds one slice. An upstream task occurs once in it, so the fetcher's answers identify the read.
class AttemptRunner::Feeder : public FetchObserver {
 public:
  Feeder(AttemptRunner& runner, uint32_t slice) : runner_(&runner), slice_(slice) {
    fetcher_ = runner.services_.make_fetcher(*this);
  }

  void Request(SegmentRequest request) { fetcher_->Request(std::move(request)); }
  FetchProgress Progress() const { return fetcher_->Progress(); }
  // Stops all calls to the runner. The fetcher itself is destroyed later, because it may be the caller.
  void Silence() { runner_ = nullptr; }

  void OnBatch(Batch batch, std::function<void()> taken) override {
    if (runner_ == nullptr) return taken();
    const uint32_t read = ReadOf(batch.upstream_task);
    runner_->OnBatch(read, std::move(batch), std::move(taken));
  }
  void OnSegmentDone(const ReplicaLocation& from, const FetchMeasure& measure) override {
    if (runner_ != nullptr) runner_->OnReadDone(ReadOf(from.output.task.task), measure);
  }
  void OnSegmentFailed(const ReplicaLocation& from, const Status& why, bool partly_delivered) override {
    if (runner_ != nullptr) runner_->OnReadFailed(ReadOf(from.output.task.task), why, partly_delivered);
  }

 private:
  uint32_t ReadOf(uint32_t upstream_task) const {
    return runner_->first_read_[slice_] + upstream_task - runner_->launch_.slices[slice_].task_begin;
  }

  AttemptRunner* runner_;
  const uint32_t slice_;
  std::unique_ptr<Fetcher> fetcher_;
};

std::shared_ptr<AttemptRunner> AttemptRunner::Make(Services& services, std::shared_ptr<const StageInfo> stage,
                                                   LaunchCommand launch) {
  return std::shared_ptr<AttemptRunner>(new AttemptRunner(services, std::move(stage), std::move(launch)));
}

AttemptRunner::AttemptRunner(Services& services, std::shared_ptr<const StageInfo> stage, LaunchCommand launch)
    : services_(services),
      stage_(std::move(stage)),
      launch_(std::move(launch)),
      machine_(ReadsOf(*stage_, launch_), services.self.id,
               uint64_t{launch_.attempt.task.task} << 32 | launch_.attempt.number, launch_.by_bind),
      traces_(machine_.reads()),
      feeders_(launch_.slices.size()),
      tasks_(*this) {
  for (uint32_t s = 0; s < launch_.slices.size(); ++s) {
    first_read_.push_back(static_cast<uint32_t>(slice_of_read_.size()));
    const uint32_t n = launch_.slices[s].task_end - launch_.slices[s].task_begin;
    slice_of_read_.insert(slice_of_read_.end(), n, s);
  }
}

AttemptRunner::~AttemptRunner() {
  for (const auto& [stage, id] : subscriptions_) services_.directory.Unsubscribe(stage, id);
}

void AttemptRunner::taskFailed(kj::Exception&& exception) {
  LOG(ERROR) << AttemptName(*stage_, id()) << ": " << exception.getDescription().cStr();
}

void AttemptRunner::Start() {
  std::unique_ptr<OutputSink> sink;
  if (!stage_->writes_files()) {
    sink = MakeShuffleSink(services_.store, *stage_, id());
  } else {
    const bool dfs = stage_->staging_uri.starts_with("dfs:") && services_.make_dfs_sink;
    std::vector<std::unique_ptr<OutputSink>> sinks;
    for (uint32_t port = 0; port < stage_->spec.ports.size(); ++port) {
      sinks.push_back(dfs ? services_.make_dfs_sink(*stage_, port, id())
                          : MakeFileSink(*stage_, port, id(), services_.file_roots));
    }
    sink = sinks.size() == 1 ? std::move(sinks[0]) : MakeNamedSinks(std::move(sinks));
  }
  lane_ = std::make_shared<Lane>(services_.pool.NewStrand(), std::move(sink), stage_->letter());
  for (const auto& a : machine_.Start()) {
    std::visit([this](const auto& what) { Do(what); }, a);
  }
  Subscribe();
}

void AttemptRunner::Subscribe() {
  std::set<uint32_t> stages;
  for (const Slice& slice : launch_.slices) stages.insert(stage_->spec.inputs[slice.input].stage);
  for (const uint32_t upstream : stages) {
    const StageId stage{id().task.job, upstream};
    const uint64_t subscription = services_.directory.Subscribe(stage, [this](const ReplicaPtr& replica, bool added) {
      if (added) {
        Handle(event::ReplicaAdded{replica});
      } else {
        Handle(event::ReplicaRemoved{replica});
      }
    });
    subscriptions_.emplace_back(stage, subscription);
  }
}

void AttemptRunner::Handle(AttemptEvent event) {
  events_.push_back(std::move(event));
  if (handling_) return;                 // called from an action: the loop in the outer call handles it
  const auto self = shared_from_this();  // Forget may drop the last other reference
  handling_ = true;
  for (size_t i = 0; i < events_.size(); ++i) {
    const AttemptEvent next = std::move(events_[i]);
    for (const auto& a : machine_.Step(next)) {
      std::visit([this](const auto& what) { Do(what); }, a);
    }
  }
  events_.clear();
  handling_ = false;
}

void AttemptRunner::Do(const action::Prepare&) {
  tasks_.add(GetNeeds()
                 .then([this](Result<Needs> needs) -> kj::Promise<void> {
                   if (!needs.ok()) {
                     Handle(PrepareError(needs.status()));
                     return kj::READY_NOW;
                   }
                   return services_.inputs.Open(stage_, launch_.splits)
                       .then([this, needs = *needs](Result<OpenedInputs> opened) {
                         if (!opened.ok()) return Handle(PrepareError(opened.status()));
                         changes_ = std::move(opened->changes);
                         if (!changes_.changed.empty()) {
                           return Handle(event::PrepareFailed{changes_.changed, FailureKind::kUserFinal});
                         }
                         local_ = std::move(opened->local);
                         auto spec = MakeSpec(needs.library, needs.files, std::move(opened->splits));
                         if (!spec.ok()) return Handle(event::PrepareFailed{spec.status().message()});
                         spec_.emplace(*std::move(spec));
                         Handle(event::Prepared{});
                       });
                 })
                 .catch_([this](kj::Exception&& e) { Handle(event::PrepareFailed{rpc::FromException(e).message()}); }));
}

bool AttemptRunner::NoteDiskError(const std::string& message) const {
  DiskWatch* disk = services_.disk;
  if (disk == nullptr) return false;
  if (disk->NoteError(message)) return true;
  // Each further attempt would fail there, too.
  if (disk->Doubt(message)) services_.pool.Post([disk] { disk->Look(); });
  return false;
}

event::PrepareFailed AttemptRunner::PrepareError(const Status& status) const {
  const bool full = NoteDiskError(status.message());
  return {status.message(), FailureKind::kEnvironment, full};
}

kj::Promise<Result<AttemptRunner::Needs>> AttemptRunner::GetNeeds() {
  return services_.libraries.Path(stage_->library)
      .then([this](Result<std::string> library) -> kj::Promise<Result<Needs>> {
        if (!library.ok()) return Result<Needs>(library.status());
        if (stage_->files.empty()) return Result<Needs>(Needs{*library, ""});
        return services_.side_files.Directory(id().task.job, stage_->files)
            .then([library = *library](Result<std::string> files) -> Result<Needs> {
              if (!files.ok()) return files.status();
              return Needs{library, *files};
            });
      });
}

Result<TaskSpec> AttemptRunner::MakeSpec(std::string library, std::string files, std::vector<SplitInput> splits) {
  if (const RoomReport& room = services_.host.room(); room.tier < stage_->min_tier) {
    return Unavailable("the job wants rooms of tier " + std::to_string(stage_->min_tier) +
                       " (--conf min_tier), and this worker has tier " + std::to_string(room.tier) + ": " + room.why);
  }
  TaskSpec spec;
  spec.attempt = id();
  spec.letter = stage_->letter();
  spec.stage_name = stage_->spec.name;
  spec.job_name = stage_->job_name;
  spec.owner = stage_->owner;
  spec.submitted_unix_ms = stage_->submitted_unix_ms;
  spec.tasks = stage_->tasks;
  spec.library_path = std::move(library);
  spec.files_directory = std::move(files);
  spec.max_bad_records = stage_->max_bad_records;
  spec.timeout = stage_->task_timeout;
  spec.operator_name = stage_->spec.operator_name;
  spec.operator_flags = stage_->spec.flags;
  spec.config = stage_->spec.config;
  spec.splits = std::move(splits);
  spec.inputs = static_cast<uint32_t>(stage_->spec.inputs.size());
  for (uint32_t i = 0; i < stage_->spec.inputs.size(); ++i) {
    const InputSpec& input = stage_->spec.inputs[i];
    if (!input.is_edge) continue;
    EdgeInput edge{
        i,          input.grouped,     input.kind == EdgeKind::kBroadcast, input.quotes, 0, input.format, input.written,
        input.file, input.sample_bytes};
    for (const Slice& slice : launch_.slices) {
      if (slice.input != i) continue;
      edge.segments += uint64_t{slice.task_end - slice.task_begin} * (slice.partition_end - slice.partition_begin);
    }
    spec.edges.push_back(edge);
  }
  for (uint32_t i = 0; i < stage_->spec.ports.size(); ++i) {
    const PortSpec& port = stage_->spec.ports[i];
    spec.ports.push_back({port.files, port.format, port.name, stage_->port_partitions[i], port.sorted, port.combine,
                          port.custom_partition});
  }
  for (const KeyValue& pair : stage_->env) spec.env.emplace_back(pair.key, pair.value);
  if (stage_->sort_buffer_bytes != 0) spec.sort_buffer_bytes = stage_->sort_buffer_bytes;
  spec.memory_bytes = stage_->memory_bytes;
  spec.partition_seed = stage_->partition_seed;
  spec.network = stage_->allow_network;
  spec.scratch_directory = services_.scratch_directory + "/" + Name(id().task.job);
  spec.log_path = services_.log_directory + "/" + AttemptName(*stage_, id());
  return spec;
}

void AttemptRunner::Do(const action::StartChild&) {
  // Not for files: storing these may wait for an fsync, and a kill must not wait for that.
  const bool store_at_once = machine_.reads() == 0 && !stage_->writes_files();
  auto link = std::make_shared<Link>(weak_from_this(), services_.loop, lane_, store_at_once);
  task_ = services_.host.Run(std::move(*spec_), std::move(link));
  // The sync of its files' entries passes while it waits. Otherwise one at its end, with that of the bytes, is sooner:
  // a second sync waits for the file system's journal to write the first (measured: 0.5 to 10 ms each).
  if (stage_->writes_files() && machine_.waiting()) lane_->Prepare();
  spec_.reset();
}

void AttemptRunner::Do(const action::Fetch& a) {
  const uint32_t s = slice_of_read_[a.read];
  if (feeders_[s] == nullptr) feeders_[s] = std::make_shared<Feeder>(*this, s);
  const Read& read = machine_.read(a.read);
  SegmentRequest request;
  request.input = read.input;
  // Skips leading partitions that have reached the child. Later ones are dropped when they arrive again.
  request.partition_begin = read.partition_begin;
  request.partition_end = read.partition_end;
  const auto& whole = traces_[a.read].whole;
  while (request.partition_begin + 1 < request.partition_end && whole.contains(request.partition_begin)) {
    ++request.partition_begin;
  }
  request.from = *a.from;
  request.counted = launch_.by_bind;
  feeders_[s]->Request(std::move(request));
}

void AttemptRunner::Do(const action::RetryLater& a) {
  tasks_.add(services_.loop.timer().afterDelay(a.delay.ns * kj::NANOSECONDS).then([this, read = a.read] {
    Handle(event::RetryDue{read});
  }));
}

void AttemptRunner::Do(const action::StopFetching&) {
  for (auto& feeder : feeders_) {
    if (feeder == nullptr) continue;
    feeder->Silence();
    services_.loop.Post([dead = std::move(feeder)]() mutable { dead.reset(); });
  }
}

void AttemptRunner::Do(const action::KillChild&) { task_->Kill(); }

void AttemptRunner::Do(const action::StoreOutput&) {
  if (stored_.has_value()) return Stored(*std::move(stored_));
  lane_->Finish([weak = weak_from_this(), &loop = services_.loop](Result<TaskOutput> output) {
    loop.Post([weak, output = std::move(output)]() mutable {
      if (auto self = weak.lock()) self->Stored(std::move(output));
    });
  });
}

void AttemptRunner::Stored(Result<TaskOutput> output) {
  if (!output.ok()) return Handle(event::OutputFailed{output.status().message()});
  output_ = *std::move(output);
  Handle(event::OutputStored{});
}

void AttemptRunner::Do(const action::KeepOutput&) {
  if (!stage_->writes_files()) services_.on_kept(Output());
}

Replica AttemptRunner::Output() const {
  return {{id().task, launch_.generation}, id().number, services_.self.id, services_.self.incarnation};
}

std::optional<Replica> AttemptRunner::UnansweredOutput() const {
  if (stage_->writes_files() || !machine_.output_unanswered()) return {};
  return Output();
}

void AttemptRunner::Do(const action::DropOutput&) { lane_->Drop(); }

void AttemptRunner::Tell(decltype(Report::what) what, bool final) {
  std::function<void(Verdict)> answered;
  if (final) {
    answered = [weak = weak_from_this()](Verdict verdict) {
      if (auto self = weak.lock()) self->Handle(event::Answered{verdict});
    };
  }
  services_.report({id(), std::move(what)}, std::move(answered));
}

void AttemptRunner::Do(const action::ReportStarted&) { Tell(report::Started{}, false); }

void AttemptRunner::Do(const action::ReportFetchDone& a) {
  const FetchMeasure& measure = traces_[a.read].measure;
  if (launch_.by_bind) {
    // One report per read, even of no bytes: the master may drop a replica when all its readers have reported.
    return Tell(report::FetchDone{NameOf(*a.from), measure.bytes, measure.took, measure.readers}, false);
  }
  Tally& tally = tallies_[{a.from->worker, a.from->incarnation}];
  tally.replica = NameOf(*a.from);
  tally.bytes += measure.bytes;
  tally.took = tally.took + measure.took;
  TellTallies(machine_.inputs_done());
}

void AttemptRunner::TellTallies(bool all) {
  const Instant now = Now();
  for (auto& [holder, tally] : tallies_) {
    if (tally.bytes == 0) continue;  // no information about the throughput of its source
    if (!all && now - tally.reported < kTallyFor) continue;
    Tell(report::FetchDone{tally.replica, tally.bytes, tally.took, 0}, false);
    tally = {tally.replica, 0, {}, now};
  }
}

void AttemptRunner::Do(const action::ReportFetchFailed& a) {
  Tell(report::FetchFailed{NameOf(*a.from), a.why, a.unreachable}, false);
}

void AttemptRunner::Do(const action::ReportFinished& a) {
  report::Finished finished;
  finished.output = output_;
  finished.consumed = a.consumed;
  finished.ran = result_.ran;
  finished.waited = result_.waited;
  finished.counters = std::move(result_.counters);
  finished.bad_records = std::move(result_.bad_records);
  finished.hot_keys = std::move(result_.hot_keys);
  finished.grown = changes_.grown;
  FaultPoint("commit");
  Tell(std::move(finished), true);
}

void AttemptRunner::Do(const action::ReportFailed& a) {
  if (a.kind == FailureKind::kEnvironment) NoteDiskError(a.message);
  const std::string message = WithInodes(a.message, services_.scratch_directory);
  LOG(INFO) << AttemptName(*stage_, id()) << " failed: " << message;
  services_.pool.Post(
      [directory = services_.log_directory, name = AttemptName(*stage_, id())] { MarkLogFailed(directory, name); });
  Tell(report::Failed{a.kind, message, result_.record, result_.stderr_tail, std::move(result_.log), result_.log_bytes},
       true);
}

void AttemptRunner::Do(const action::ReportRefused& a) {
  const std::string why = "its disk is full: " + WithInodes(a.why, services_.scratch_directory);
  LOG(WARNING) << AttemptName(*stage_, id()) << " was not started: " << why;
  Tell(report::Refused{why}, true);
}

void AttemptRunner::Do(const action::ReportKilled&) { Tell(report::Killed{}, true); }

void AttemptRunner::Do(const action::Forget&) { services_.on_ended(id()); }

void AttemptRunner::ChildEnded(TaskResult result, std::optional<Result<TaskOutput>> stored) {
  result_ = std::move(result);
  stored_ = std::move(stored);
  const bool reads_local = std::any_of(local_.begin(), local_.end(), [](const auto& l) { return l != nullptr; });
  if (!reads_local || result_.end == TaskEnd::kKilled) return EndOfChild();
  tasks_.add(services_.inputs.Check(std::move(local_), stage_->strict_inputs).then([this](const InputChanges& changes) {
    changes_.Add(changes);
    EndOfChild();
  }));
}

void AttemptRunner::EndOfChild() {
  local_.clear();
  event::ChildEnded e;
  e.failed = result_.end != TaskEnd::kDone;
  e.kind = result_.end == TaskEnd::kUserError   ? FailureKind::kUser
           : result_.end == TaskEnd::kUserFinal ? FailureKind::kUserFinal
           : result_.end == TaskEnd::kLeaseOver ? FailureKind::kLost
                                                : FailureKind::kEnvironment;
  e.message = result_.message;
  // A changed input fails the attempt, whatever the result of the child.
  if (!changes_.changed.empty() && result_.end != TaskEnd::kKilled) {
    e = {true, FailureKind::kUserFinal, changes_.changed};
  }
  Handle(std::move(e));
}

bool AttemptRunner::PassesAgain(ReadTrace* trace, Open* open, std::string_view batch, bool last) {
  if (!open->resumed) return false;
  open->again.Add(batch);
  const bool all = open->again.batches == open->given.batches;
  if (last || (all && open->again.content.Finish() != open->given.content.Finish())) trace->broken = true;
  if (all) open->resumed = false;  // further batches are new
  return true;
}

void AttemptRunner::OnBatch(uint32_t read, FetchObserver::Batch batch, std::function<void()> taken) {
  FaultPoint("fetch");
  const uint32_t partition = batch.partition;
  ReadTrace& trace = traces_[read];
  if (trace.broken || trace.whole.contains(partition)) return taken();
  const auto begun = trace.open.find(partition);
  if (begun != trace.open.end() && PassesAgain(&trace, &begun->second, batch.bytes, batch.last)) {
    taken();
    // The machine ends the attempt; the rest of this read is dropped.
    if (trace.broken) {
      OnReadFailed(read, Corrupted("a replica of an input differs from the one that was read before"), true);
    }
    return;
  }
  if (batch.last) {
    trace.whole.insert(partition);
    trace.open.erase(partition);
  } else if (!batch.whole) {  // a whole one never resumes at another replica
    trace.open[partition].given.Add(batch.bytes);
  }
  // Remains set where memory runs out in between.
  trace.partly = true;
  const Read& what = machine_.read(read);
  task_->Feed(what.input, what.task, partition, std::move(batch.bytes), batch.last, std::move(taken));
  trace.partly = batch.whole && !batch.last;
}

void AttemptRunner::OnReadDone(uint32_t read, const FetchMeasure& measure) {
  traces_[read].measure = measure;
  Handle(event::ReadDone{read});
}

void AttemptRunner::OnReadFailed(uint32_t read, const Status& why, bool) {
  ReadTrace& trace = traces_[read];
  trace.broken |= trace.partly;
  for (auto& [partition, open] : trace.open) {
    open.again = {};
    open.resumed = true;
  }
  const Delivered delivered = trace.broken                                ? Delivered::kPartOfPartition
                              : trace.whole.empty() && trace.open.empty() ? Delivered::kNothing
                                                                          : Delivered::kWholePartitions;
  Handle(event::ReadFailed{read, delivered, why.ToString(), why.code() == Code::kUnavailable});
}

std::optional<ProgressFrame> AttemptRunner::Frame() const {
  if (task_ == nullptr || machine_.state() != AttemptState::kRunning) return std::nullopt;
  ProgressFrame frame{id(), task_->Progress(), machine_.inputs_done()};
  std::vector<SliceProgress> slices;
  for (size_t s = 0; s < feeders_.size(); ++s) {
    const uint32_t reads = launch_.slices[s].task_end - launch_.slices[s].task_begin;
    slices.push_back({feeders_[s] != nullptr ? feeders_[s]->Progress() : FetchProgress{}, reads});
  }
  CountFetched(slices, &frame.progress);
  return frame;
}

}  // namespace mr::worker
