#include "tests/master/host/fake_worker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <utility>

#include <capnp/serialize.h>

#include "common/base/digest.h"
#include "common/io/files.h"
#include "common/rpc/kj_status.h"
#include "common/rpc/wire.h"

namespace mr::test {

namespace {
constexpr size_t kPageEntries = 4000;
constexpr size_t kLongReport = 256 << 10;
constexpr size_t kReportsOfACall = 500;
}  // namespace

bool TestIo::Until(const std::function<bool()>& done, double seconds) {
  auto& timer = io.provider->getTimer();
  const auto end = timer.now() + static_cast<int64_t>(seconds * 1000) * kj::MILLISECONDS;
  while (!done()) {
    if (timer.now() > end) return false;
    timer.afterDelay(2 * kj::MILLISECONDS).wait(io.waitScope);
  }
  return true;
}

struct FakeWorker::Link : kj::TaskSet::ErrorHandler {
  kj::Own<rpc::RpcConnection> control, heartbeat;
  kj::Own<rpc::MasterForWorker::Client> master;
  kj::Own<rpc::Heartbeats::Client> beats;
  kj::TaskSet tasks{*this};
  void taskFailed(kj::Exception&&) override {}  // the master went away: the test knows
};

class FakeWorker::Commands final : public rpc::Worker::Server {
 public:
  explicit Commands(FakeWorker& worker) : worker_(worker) {}

 protected:
  kj::Promise<void> apply(ApplyContext context) override {
    KJ_REQUIRE(!worker_.refuses_calls, "this call fails, as the test wants it");
    worker_.OnBatch(context.getParams().getBatch());
    return kj::READY_NOW;
  }

 private:
  FakeWorker& worker_;
};

FakeWorker::FakeWorker(TestIo& io, std::string name, uint32_t slots)
    : io_(io), name_(std::move(name)), slots_(slots), incarnation_(Hash64(name_) | 1) {}
FakeWorker::~FakeWorker() { Disconnect(); }

void FakeWorker::Disconnect() { link_ = nullptr; }
rpc::MasterForWorker::Client& FakeWorker::master() { return *link_->master; }

Status FakeWorker::Register(uint16_t port) {
  link_ = std::make_unique<Link>();
  next_batch_ = 1;
  ahead_.clear();
  const std::string address = "127.0.0.1:" + std::to_string(port);
  rpc::Hello hello;
  hello.incarnation = incarnation_;
  hello.role = rpc::Role::kWorker;
  MR_ASSIGN_OR_RETURN(link_->control, io_.Wait(rpc::RpcConnection::Connect(io_.io, address, hello)));
  hello.role = rpc::Role::kHeartbeat;
  MR_ASSIGN_OR_RETURN(link_->heartbeat, io_.Wait(rpc::RpcConnection::Connect(io_.io, address, hello)));
  link_->master = kj::heap(link_->control->Bootstrap<rpc::MasterForWorker>());
  link_->beats = kj::heap(link_->heartbeat->Bootstrap<rpc::Heartbeats>());
  auto request = link_->master->registerRequest();
  request.setWorker(kj::heap<Commands>(*this));
  auto info = request.initInfo();
  info.setName(name_.c_str());
  info.setIncarnation(incarnation_);
  info.setAddress(data_address.c_str());
  info.setSlots(slots_);
  info.setReduceSlots(reduce_slots);
  info.setReportsGivenUp(reports_given_up);
  info.setLeaving(leaving);
  info.setPid(4711);
  info.initDurableSeen().setEpoch(seen.epoch);
  info.getDurableSeen().setLife(seen.life);
  info.getDurableSeen().setSequence(seen.sequence);
  std::vector<Held> inventory = others;
  for (const AttemptId& attempt : replicas_) inventory.push_back({attempt, generations_[attempt]});
  const std::vector<AttemptId> running(held.begin(), held.end());
  MR_ASSIGN_OR_RETURN(const uint32_t pages, SendPages(inventory, running));
  info.setPages(pages);
  auto response = io_.Wait(kj::Promise<capnp::Response<rpc::MasterForWorker::RegisterResults>>(request.send()));
  MR_RETURN_IF_ERROR(rpc::FromOutcome(response.getResult().getOutcome()));
  id = response.getResult().getWorkerId();
  master_epoch = response.getResult().getMasterEpoch();
  Take(response.getResult().getDurable());
  dropped = 0;
  for (const kj::byte bits : response.getResult().getDrop()) dropped += static_cast<size_t>(std::popcount(bits));
  link_->tasks.add(BeatLoop());
  return Status::Ok();
}

// Sends the parts of a registration that do not fit into one message, like a worker.
Result<uint32_t> FakeWorker::SendPages(const std::vector<Held>& inventory, const std::vector<AttemptId>& running) {
  const size_t most = std::max({inventory.size(), running.size(), blocks.size()});
  uint32_t pages = 0;
  for (size_t at = 0; at < most; at += kPageEntries) {
    const auto part = [at](const auto& list) {
      return list.size() <= at ? 0 : std::min(kPageEntries, list.size() - at);
    };
    auto request = link_->master->registerPageRequest();
    request.setNumber(pages++);
    auto page = request.initPage();
    auto outputs = page.initInventory(static_cast<unsigned>(part(inventory)));
    for (unsigned i = 0; i < outputs.size(); ++i) {
      const Held& held = inventory[at + i];
      rpc::ToWire(held.attempt.task, outputs[i].initTask());
      outputs[i].setGeneration(held.generation);
      outputs[i].setAttempt(held.attempt.number);
      outputs[i].initWorker().setId(id);
      outputs[i].getWorker().setIncarnation(incarnation_);
    }
    auto attempts = page.initRunning(static_cast<unsigned>(part(running)));
    for (unsigned i = 0; i < attempts.size(); ++i) rpc::ToWire(running[at + i], attempts[i]);
    auto block_list = page.initBlocks(static_cast<unsigned>(part(blocks)));
    for (unsigned i = 0; i < block_list.size(); ++i) {
      block_list[i].setId(blocks[at + i]);
      block_list[i].setGeneration(1);
      block_list[i].setLength(100);
    }
    if (pages_before_break != 0 && pages > pages_before_break) {
      Disconnect();
      return Unavailable("the test breaks the connection here");
    }
    io_.Wait(kj::Promise<capnp::Response<rpc::MasterForWorker::RegisterPageResults>>(request.send()));
  }
  return pages;
}

kj::Promise<void> FakeWorker::BeatLoop() {
  auto request = link_->beats->beatRequest();
  request.initWorker().setId(id);
  request.getWorker().setIncarnation(incarnation_);
  request.setLoopSilentMs(loop_silent_ms);
  return request.send().then([this](capnp::Response<rpc::Heartbeats::BeatResults> response) {
    known = response.getKnown();
    Take(response.getDurable());
    return io_.io.provider->getTimer().afterDelay(200 * kj::MILLISECONDS).then([this] { return BeatLoop(); });
  });
}

void FakeWorker::Take(rpc::Durable::Reader said) { durable = {said.getEpoch(), said.getLife(), said.getSequence()}; }

void FakeWorker::OnCommand(rpc::Command::Reader command) {
  switch (command.which()) {
    case rpc::Command::STAGE: {
      const auto stage = command.getStage();
      StageSeen& seen = stages[stage.getStage()];
      seen = {stage.getTasks(), 0, stage.getStagingUri().cStr()};
      for (uint32_t p : stage.getPortPartitions()) seen.partitions += p;
      break;
    }
    case rpc::Command::DIRECTORY:
      removed_replicas += command.getDirectory().getRemoved().size();
      for (auto entry : command.getDirectory().getAdded()) {
        directory[command.getDirectory().getStage()][entry.getTask()] = {
            entry.getGeneration(), rpc::FromWire(entry.getManifest().getContent())};
      }
      for (const AttemptId& attempt : std::exchange(waiting_, {})) Run(attempt);
      break;
    case rpc::Command::LAUNCH: {
      const AttemptId attempt = rpc::FromWire(command.getLaunch().getAttempt());
      EXPECT_TRUE(stages.contains(attempt.task.stage)) << "a launch before its stage";
      launched.push_back(attempt);
      generations_[attempt] = command.getLaunch().getGeneration();
      Run(attempt);
      break;
    }
    case rpc::Command::KILL:
    case rpc::Command::TAKE_BACK: {
      const AttemptId attempt = rpc::FromWire(command.isKill() ? command.getKill() : command.getTakeBack());
      killed.push_back(attempt);
      held.erase(attempt);
      waiting_.erase(attempt);
      auto request = link_->master->reportRequest();
      NewReport(attempt, request).setKilled();
      Send(kj::mv(request));
      break;
    }
    case rpc::Command::REPLICATE_OUTPUT: {
      const auto source = command.getReplicateOutput().getSource();
      const AttemptId attempt{{rpc::FromWire(command.getReplicateOutput().getJob()),
                               command.getReplicateOutput().getStage(), source.getTask()},
                              source.getAttempt()};
      asked_to_replicate.push_back(attempt);
      if (replicates) {
        replicas_.insert(attempt);
        generations_[attempt] = source.getGeneration();
        if (reports_replicas) ReportReplica(true, attempt, source.getGeneration(), {}, 0);
      } else if (!why_no_replica.empty()) {
        ReportReplica(false, attempt, source.getGeneration(), {source.getWorker().getId()},
                      source.getWorker().getIncarnation(), why_no_replica);
      }
      break;
    }
    case rpc::Command::DELETE_BLOCK: ++deleted_blocks; break;
    case rpc::Command::DROP: ++drop_commands; break;
    case rpc::Command::END_JOB: ended_jobs.push_back(rpc::FromWire(command.getEndJob())); break;
    case rpc::Command::DRAIN: drained = command.getDrain(); break;
    default: break;
  }
}

void FakeWorker::Fail(const AttemptId& attempt, Fate fate) {
  auto request = link_->master->reportRequest();
  auto report = NewReport(attempt, request);
  if (fate == Fate::kRefused) {
    report.setRefused("no such luck");
  } else {
    auto failed = report.initFailed();
    failed.setKind(fate == Fate::kUserFailure    ? rpc::FailureKind::USER
                   : fate == Fate::kFinalFailure ? rpc::FailureKind::USER_FINAL
                                                 : rpc::FailureKind::ENVIRONMENT);
    failed.setMessage(fate == Fate::kEnvironmentFailure ? "no space left on device" : "bad record\nand more");
  }
  Send(kj::mv(request));
}

void FakeWorker::ReportReplica(bool made, const AttemptId& of, uint32_t generation, WorkerId at, uint64_t incarnation,
                               const std::string& why) {
  auto request = link_->master->reportRequest();
  auto report = NewReport(of, request);
  const auto fill = [&](rpc::Replica::Builder replica) {
    rpc::ToWire(of.task, replica.initTask());
    replica.setGeneration(generation);
    replica.setAttempt(of.number);
    replica.initWorker().setId(at.value);
    replica.getWorker().setIncarnation(incarnation);
  };
  if (made) {
    fill(report.initReplicaMade());
  } else {
    auto failed = report.initReplicaNotMade();
    fill(failed.initReplica());
    failed.setWhy(why.c_str());
    failed.setHere(own_fault);
  }
  Send(kj::mv(request));
}

void FakeWorker::Complain(const AttemptId& reader, const AttemptId& of, uint32_t generation, WorkerId at,
                          uint64_t incarnation, bool unreachable) {
  auto request = link_->master->reportRequest();
  auto failed = NewReport(reader, request).initFetchFailed();
  auto replica = failed.initReplica();
  rpc::ToWire(of.task, replica.initTask());
  replica.setGeneration(generation);
  replica.setAttempt(of.number);
  replica.initWorker().setId(at.value);
  replica.getWorker().setIncarnation(incarnation);
  failed.setWhy("corrupted: a chunk's bytes differ from its digest");
  failed.setUnreachable(unreachable);
  Send(kj::mv(request));
}

void FakeWorker::StartHeld() {
  for (const AttemptId& attempt : held) {
    auto request = link_->master->reportRequest();
    NewReport(attempt, request).setStarted();
    Send(kj::mv(request));
  }
}

void FakeWorker::FinishHeld() {
  const auto now = std::move(held);
  held.clear();
  for (const AttemptId& attempt : now) Finish(attempt);
}

void FakeWorker::Run(const AttemptId& attempt) {
  // A stage that reads others may be launched before they are complete.
  const auto incomplete = [this](uint32_t stage) { return directory[stage].size() < inputs; };
  if (attempt.task.stage > upstream.back() && std::any_of(upstream.begin(), upstream.end(), incomplete)) {
    waiting_.insert(attempt);
  } else if (fate(attempt) != Fate::kDone) {
    Fail(attempt, fate(attempt));
  } else if (hold(attempt)) {
    held.insert(attempt);
  } else {
    Finish(attempt);
  }
}

// Content depends on the task alone, as that of a deterministic operator does.
void FakeWorker::Finish(const AttemptId& attempt) {
  auto request = link_->master->reportRequest();
  auto report = NewReport(attempt, request);
  auto finished = report.initFinished();
  auto manifest = finished.initManifest();
  const StageSeen& stage = stages[attempt.task.stage];
  const std::string text = "task " + std::to_string(attempt.task.task) + "\n";
  const Digest128 content = Hash128(text);
  manifest.setRecords(1);
  manifest.setBytes(text.size());
  rpc::ToWire(content, manifest.initContent());
  manifest.setPartitions(stage.partitions);
  if (stage.staging.empty()) {
    auto rows = manifest.initTable(stage.partitions);
    for (unsigned p = 0; p < rows.size(); ++p) {
      rpc::ToWire(content, rows[p].initContent());
      if (p < partition_bytes.size()) rows[p].setBytes(partition_bytes[p]);
    }
    replicas_.insert(attempt);
  } else {
    char name[32];
    std::snprintf(name, sizeof name, "part-r-%05u", attempt.task.task);
    const std::string directory = stage.staging.substr(7) + "/" + Name(attempt, TaskLetter::kReduce);
    if (stage.staging.starts_with("file://")) {  // it has no block store
      EXPECT_TRUE(MakeDirectories(directory).ok());
      EXPECT_TRUE(WriteFileDurably(directory + "/" + name, text).ok());
    }
    auto output = manifest.initOutputs(1)[0];
    output.setName(name);
    output.setStaged((directory + "/" + name).c_str());
    output.setBytes(text.size());
    output.setRecords(1);
    rpc::ToWire(content, output.initContent());
  }
  if (attempt.task.stage > upstream.back()) {
    size_t outputs = 0;
    for (const uint32_t stage : upstream) outputs += directory[stage].size();
    auto consumed = finished.initConsumed(static_cast<unsigned>(outputs));
    unsigned at = 0;
    for (const uint32_t stage : upstream) {
      for (const auto& [task, replica] : directory[stage]) {
        consumed[at].setStage(stage);
        consumed[at].setTask(task);
        consumed[at].setGeneration(replica.generation);
        rpc::ToWire(replica.content, consumed[at++].initContent());
      }
    }
  }
  auto counters = finished.initCounters(1);
  counters[0].setGroup("test");
  counters[0].setName("finished");
  counters[0].setValue(1);
  edit(attempt, finished);
  Send(kj::mv(request));
}

rpc::Report::Builder FakeWorker::NewReport(const AttemptId& attempt, ReportRequest& request) {
  request.initWorker().setId(id);
  request.getWorker().setIncarnation(incarnation_);
  auto report = request.initReports(1)[0];
  report.setNumber(++reports_);
  reported_[reports_] = attempt;
  rpc::ToWire(attempt, report.initAttempt());
  return report;
}

kj::Promise<void> FakeWorker::SendAsItIs(ReportRequest request) {
  return request.send().then([this](capnp::Response<rpc::MasterForWorker::ReportResults> response) {
    if (response.getBatch().getSequence() != 0) OnBatch(response.getBatch());
  });
}

// A long report goes in pieces before, as a worker sends it.
void FakeWorker::Send(ReportRequest request) {
  const auto report = request.getReports()[0].asReader();
  if (report.totalSize().wordCount * sizeof(capnp::word) > kLongReport) {
    capnp::MallocMessageBuilder message;
    message.setRoot(report);
    const auto words = capnp::messageToFlatArray(message);
    const auto bytes = words.asBytes();
    for (size_t at = 0; at < bytes.size(); at += kLongReport) {
      auto piece = link_->master->reportPieceRequest();
      piece.setWorker(request.getWorker());
      piece.setNumber(report.getNumber());
      piece.setTotalBytes(bytes.size());
      piece.setOffset(at);
      piece.setBytes(bytes.slice(at, std::min(bytes.size(), at + kLongReport)));
      link_->tasks.add(piece.send().ignoreResult());
    }
    auto stub = link_->master->reportRequest();
    stub.setWorker(request.getWorker());
    auto out = stub.initReports(1)[0];
    out.setNumber(report.getNumber());
    out.setAttempt(report.getAttempt());
    out.setPieces(bytes.size());
    return Send(kj::mv(stub));
  }
  if (gathering_) {
    gathered_.push_back(kj::mv(request));
    return;
  }
  const uint64_t number = request.getReports()[0].getNumber();
  link_->tasks.add(request.send().then([this, number](capnp::Response<rpc::MasterForWorker::ReportResults> response) {
    OnVerdict(number, response.getVerdicts()[0]);
    if (response.getBatch().getSequence() != 0) OnBatch(response.getBatch());
  }));
}

void FakeWorker::SendGathered() {
  gathering_ = false;
  const auto all = std::exchange(gathered_, {});
  for (size_t at = 0; at < all.size(); at += kReportsOfACall) {
    const unsigned n = static_cast<unsigned>(std::min(kReportsOfACall, all.size() - at));
    auto request = link_->master->reportRequest();
    request.initWorker().setId(id);
    request.getWorker().setIncarnation(incarnation_);
    auto reports = request.initReports(n);
    std::vector<uint64_t> numbers;
    for (unsigned i = 0; i < n; ++i) {
      const auto report = all[at + i].asReader().getReports()[0];
      numbers.push_back(report.getNumber());
      reports.setWithCaveats(i, report);
    }
    link_->tasks.add(
        request.send().then([this, numbers](capnp::Response<rpc::MasterForWorker::ReportResults> response) {
          for (unsigned i = 0; i < numbers.size(); ++i) OnVerdict(numbers[i], response.getVerdicts()[i]);
          if (response.getBatch().getSequence() != 0) OnBatch(response.getBatch());
        }));
  }
}

void FakeWorker::OnVerdict(uint64_t report, rpc::Verdict verdict) {
  later += verdict == rpc::Verdict::LATER ? 1 : 0;
  if (verdict == rpc::Verdict::LATER || verdict == rpc::Verdict::NOTED) return;
  verdicts[reported_[report]] = verdict == rpc::Verdict::WINNER  ? "winner"
                                : verdict == rpc::Verdict::STALE ? "stale"
                                                                 : "other";
}

// Kept in order as a worker does: batches come as calls and as answers.
void FakeWorker::OnBatch(rpc::CommandBatch::Reader batch) {
  auto& kept = ahead_[batch.getSequence()];
  kept = kj::heap<capnp::MallocMessageBuilder>();
  kept->setRoot(batch);
  while (!ahead_.empty() && ahead_.begin()->first == next_batch_) {
    auto message = kj::mv(ahead_.begin()->second);
    ahead_.erase(ahead_.begin());
    ++next_batch_;
    const auto next = message->getRoot<rpc::CommandBatch>().asReader();
    for (auto answer : next.getAnswers()) OnVerdict(answer.getReport(), answer.getVerdict());
    gathering_ = gathers;
    for (auto command : next.getCommands()) OnCommand(command);
    SendGathered();
  }
}

FakeClient::FakeClient(TestIo& io, uint16_t port) : io_(io) {
  connection_ = io.Wait(rpc::RpcConnection::Connect(io.io, "127.0.0.1:" + std::to_string(port), {})).value();
  master_ = kj::heap(connection_->Bootstrap<rpc::MasterForClient>());
}

Result<JobId> FakeClient::Submit(const std::function<void(rpc::JobSpec::Builder)>& fill,
                                 const std::string& submission) {
  auto request = master_->submitRequest();
  fill(request.initSpec());
  request.setSubmissionId(submission.c_str());
  auto response = request.send().wait(io_.io.waitScope);
  MR_RETURN_IF_ERROR(rpc::FromOutcome(response.getOutcome()));
  return rpc::FromWire(response.getJob());
}

FakeClient::Seen FakeClient::Job(JobId id) {
  auto request = master_->jobRequest();
  rpc::ToWire(id, request.initJob());
  auto response = request.send().wait(io_.io.waitScope);
  Seen seen;
  const auto status = response.getStatus();
  seen.state = status.getState();
  seen.error = status.getError().cStr();
  seen.last_failure = status.getLastFailure().cStr();
  seen.parts = status.getOutputParts();
  for (auto stage : status.getStages()) seen.done.push_back(stage.getDone());
  if (status.hasDeadline()) {
    seen.deadline_ms = status.getDeadline().getDeadlineUs() / 1000;
    seen.guaranteed = status.getDeadline().getGuaranteed();
    seen.predicted = status.getDeadline().getPredicted();
  }
  return seen;
}

Status FakeClient::Drain(uint32_t worker, bool on) {
  auto request = master_->drainRequest();
  request.setWorker(worker);
  request.setOn(on);
  return rpc::FromOutcome(request.send().wait(io_.io.waitScope).getOutcome());
}

Status FakeClient::Exclude(uint32_t worker, bool on) {
  auto request = master_->excludeRequest();
  request.setWorker(worker);
  request.setOn(on);
  return rpc::FromOutcome(request.send().wait(io_.io.waitScope).getOutcome());
}

std::vector<std::string> FakeClient::Decisions(JobId id) {
  auto request = master_->decisionsRequest();
  rpc::ToWire(id, request.initJob());
  auto response = request.send().wait(io_.io.waitScope);
  std::vector<std::string> lines;
  for (auto d : response.getDecisions()) {
    lines.push_back(std::string(d.getWhat().cStr()) + " " + d.getAttempt().cStr() + " w" +
                    std::to_string(d.getWorker()));
  }
  return lines;
}

Result<std::string> FakeClient::SetDeadline(JobId id, uint64_t deadline_ms) {
  auto request = master_->setJobRequest();
  rpc::ToWire(id, request.initJob());
  request.setSetDeadline(true);
  request.setDeadlineMs(deadline_ms);
  auto response = request.send().wait(io_.io.waitScope);
  MR_RETURN_IF_ERROR(rpc::FromOutcome(response.getOutcome()));
  return std::string(response.getWarning().cStr());
}

Status FakeClient::SetQueue(const std::string& queue, double weight, int64_t min_share, int64_t max_share) {
  auto request = master_->setQueueRequest();
  request.setQueue(queue.c_str());
  request.setWeight(weight);
  request.setMinShare(min_share);
  request.setMaxShare(max_share);
  return rpc::FromOutcome(request.send().wait(io_.io.waitScope).getOutcome());
}

std::vector<std::string> FakeClient::Queues() {
  auto response = master_->queuesRequest().send().wait(io_.io.waitScope);
  std::vector<std::string> lines;
  for (auto q : response.getQueues()) {
    char line[200];
    std::snprintf(line, sizeof line, "%s %g %u %u", q.getName().cStr(), q.getWeight(), q.getMinShare(),
                  q.getMaxShare());
    lines.emplace_back(line);
  }
  return lines;
}

std::pair<std::string, uint32_t> FakeClient::Worker(uint32_t id) {
  auto response = master_->workersRequest().send().wait(io_.io.waitScope);
  for (auto worker : response.getWorkers()) {
    if (worker.getId() == id) return {worker.getState().cStr(), worker.getPid()};
  }
  return {};
}

std::map<uint32_t, uint32_t> FakeClient::TasksByReplicas(JobId id) {
  auto request = master().tasksRequest();
  rpc::ToWire(id, request.initJob());
  auto response = request.send().wait(io_.io.waitScope);
  std::map<uint32_t, uint32_t> by_replicas;
  for (auto task : response.getTasks()) ++by_replicas[task.getReplicas().size()];
  return by_replicas;
}

std::vector<std::string> FakeClient::Why(const std::string& subject) {
  auto request = master_->whyRequest();
  request.setSubject(subject.c_str());
  auto response = request.send().wait(io_.io.waitScope);
  std::vector<std::string> lines;
  for (auto line : response.getLines()) lines.emplace_back(line.cStr());
  return lines;
}

bool FakeClient::UntilState(JobId id, rpc::JobState state, double seconds) {
  return io_.Until([&] { return Job(id).state == state; }, seconds);
}

void FillTwoStages(rpc::JobSpec::Builder spec, const std::string& input, const std::string& output, uint32_t reduces) {
  spec.setName("two stages");
  auto stages = spec.initStages(2);
  stages[0].setName("count");
  stages[0].setOperator("test.map");
  auto files = stages[0].initInputs(1)[0].initFiles();
  files.initUris(1).set(0, ("file://" + input).c_str());
  files.setFormat("text");
  files.setMaxSplitBytes(4096);
  stages[0].initPorts(1)[0].initShuffle().setSorted(true);
  stages[1].setName("sum");
  stages[1].setOperator("test.reduce");
  stages[1].setTasks(reduces);
  auto edge = stages[1].initInputs(1)[0].initEdge();
  edge.setKind(rpc::EdgeKind::ALL_TO_ALL);
  edge.setStage(0);
  edge.setGrouped(true);
  stages[1].initPorts(1)[0].initFiles().setFormat("text");
  spec.initOutput().setUri(("file://" + output).c_str());
}

}  // namespace mr::test
