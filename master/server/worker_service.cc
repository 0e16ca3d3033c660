// MasterForWorker and Heartbeats: wire to plain structs, and back.
#include <fcntl.h>
#include <glog/logging.h>

#include <algorithm>

#include "common/base/text.h"
#include "common/io/files.h"
#include "common/rpc/kj_status.h"
#include "common/rpc/wire.h"
#include "master/server/shell.h"

namespace mr::master {
namespace {

constexpr size_t kMaxText = 16 << 10;    // of what a peer says to people
constexpr uint32_t kMaxRows = 64;        // inline partition table
constexpr uint32_t kMaxSizes = 1024;     // of partitions of others
constexpr size_t kMaxBadRecords = 16;    // in words, of one attempt
constexpr size_t kMaxHotKeys = 64;       // of one attempt
constexpr uint32_t kLibraryPiece = 1 << 20;

std::string Said(capnp::Text::Reader text) { return {text.begin(), std::min(text.size(), kMaxText)}; }

sched::Copy CopyFrom(rpc::Copy::Reader in) {
  return {{rpc::FromWire(in.getTask()), in.getGeneration()},
          in.getAttempt(),
          WorkerId{in.getWorker().getId()},
          in.getWorker().getIncarnation()};
}

RegisterIn RegisterFrom(rpc::WorkerInfo::Reader in) {
  RegisterIn out;
  out.extra = {Said(in.getName()), in.getHttpPort(), in.getCapacityBytes(), in.getUsedBytes(), in.getPid()};
  out.leaving = in.getLeaving();
  out.info.incarnation = in.getIncarnation();
  out.info.address = Said(in.getAddress());
  out.info.rack = Said(in.getRack());
  out.info.slots = {in.getSlots(), in.getMapSlots(), in.getReduceSlots()};
  out.info.memory_bytes = in.getMemoryBytes();
  for (auto label : in.getLabels()) out.info.labels.push_back(Said(label));
  for (auto copy : in.getInventory()) out.info.inventory.push_back(CopyFrom(copy));
  for (auto attempt : in.getRunning()) out.info.running.push_back(rpc::FromWire(attempt));
  for (auto block : in.getBlocks()) out.blocks.push_back(dfs::FromWire(block));
  return out;
}

FileOutput OutputFrom(rpc::FileOutput::Reader in) {
  FileOutput out{Said(in.getName()), Said(in.getStaged()), in.getBytes(), in.getRecords(),
                 rpc::FromWire(in.getContent()), {}};
  for (auto block : in.getBlocks()) {
    StagedBlock b{block.getId(), block.getGeneration(), block.getLength(), block.getDigest(), {}};
    for (uint32_t worker : block.getWorkers()) b.workers.push_back(worker);
    out.blocks.push_back(std::move(b));
  }
  return out;
}

void FinishedFrom(rpc::Finished::Reader in, ReportIn* out) {
  const auto manifest = in.getManifest();
  out->finished.manifest = {manifest.getRecords(), manifest.getBytes(), rpc::FromWire(manifest.getContent())};
  out->finished.ran = Micros(static_cast<int64_t>(std::min<uint64_t>(in.getRanUs(), INT64_MAX / 1000)));
  out->finished.waited = Micros(static_cast<int64_t>(std::min<uint64_t>(in.getWaitedUs(), INT64_MAX / 1000)));
  for (auto c : in.getConsumed()) {
    out->finished.consumed.push_back({c.getStage(), c.getTask(), c.getGeneration(), rpc::FromWire(c.getContent())});
  }
  FinishedExtra& extra = out->finished_extra;
  extra.partitions = manifest.getPartitions();
  for (auto row : manifest.getTable()) {
    if (extra.rows.size() == kMaxRows) break;
    extra.rows.push_back({row.getRecords(), row.getBytes(), rpc::FromWire(row.getContent()), row.getChunks()});
  }
  for (auto output : manifest.getOutputs()) extra.outputs.push_back(OutputFrom(output));
  for (auto c : in.getCounters()) {
    if (extra.counters.size() == 256) break;
    extra.counters.push_back({Said(c.getGroup()), Said(c.getName()), c.getValue()});
  }
  for (auto bad : in.getBadRecords()) {
    if (out->bad_records.size() == kMaxBadRecords) break;
    out->bad_records.push_back(Said(bad));
  }
  for (const uint32_t kib : in.getPartitionKib()) {
    if (out->partition_kib.size() == kMaxSizes) break;
    out->partition_kib.push_back(kib);
  }
  for (auto key : in.getHotKeys()) {
    if (out->hot_keys.size() == kMaxHotKeys) break;
    const auto prefix = key.getPrefix();
    out->hot_keys.push_back({key.getPort(), key.getPartition(), key.getHash(),
                             {reinterpret_cast<const char*>(prefix.begin()), std::min(prefix.size(), kHotKeyPrefix)},
                             key.getCut(), key.getRecords(), key.getBytes()});
  }
}

ReportIn ReportFrom(rpc::Report::Reader in) {
  ReportIn out;
  out.number = in.getNumber();
  out.attempt = rpc::FromWire(in.getAttempt());
  switch (in.which()) {
    case rpc::Report::STARTED: out.kind = ReportIn::Kind::kStarted; break;
    case rpc::Report::FINISHED:
      out.kind = ReportIn::Kind::kFinished;
      FinishedFrom(in.getFinished(), &out);
      break;
    case rpc::Report::FAILED: {
      const auto failed = in.getFailed();
      out.kind = ReportIn::Kind::kFailed;
      const uint8_t kind = failed.getKind();
      const bool known = kind >= 1 && kind <= static_cast<uint8_t>(sched::FailureKind::kUserFinal);
      out.failure = known ? static_cast<sched::FailureKind>(kind) : sched::FailureKind::kEnvironment;
      out.message = Said(failed.getMessage());
      out.failed_extra = {Said(failed.getRecord()), Said(failed.getStderrTail())};
      break;
    }
    case rpc::Report::REFUSED:
      out.kind = ReportIn::Kind::kRefused;
      out.message = Said(in.getRefused());
      break;
    case rpc::Report::KILLED: out.kind = ReportIn::Kind::kKilled; break;
    case rpc::Report::FETCH_FAILED:
      out.kind = ReportIn::Kind::kFetchFailed;
      out.fetch.from = CopyFrom(in.getFetchFailed().getCopy());
      out.message = Said(in.getFetchFailed().getWhy());
      break;
    case rpc::Report::FETCH_DONE: {
      const auto done = in.getFetchDone();
      out.kind = ReportIn::Kind::kFetchDone;
      out.fetch.from = CopyFrom(done.getCopy());
      out.fetch.bytes = done.getBytes();
      out.fetch.took = Micros(static_cast<int64_t>(std::min<uint64_t>(done.getTookUs(), INT64_MAX / 1000)));
      out.fetch.readers = done.getReaders();
      break;
    }
    case rpc::Report::COPY_MADE:
      out.kind = ReportIn::Kind::kCopyMade;
      out.fetch.from = CopyFrom(in.getCopyMade());
      break;
    case rpc::Report::COPY_NOT_MADE:
      out.kind = ReportIn::Kind::kCopyNotMade;
      out.fetch.from = CopyFrom(in.getCopyNotMade().getCopy());
      out.message = Said(in.getCopyNotMade().getWhy());
      out.own_fault = in.getCopyNotMade().getHere();
      break;
    default: break;
  }
  if (!out.attempt.valid()) out.kind = ReportIn::Kind::kUnknown;
  return out;
}

class WorkerService final : public rpc::MasterForWorker::Server {
 public:
  explicit WorkerService(Shell& shell) : shell_(shell), session_(shell.NextId()) {}

  ~WorkerService() noexcept(false) {
    shell_.sessions().erase(session_);
    shell_.PostToMaster([brain = &shell_.brain(), session = session_] { brain->SessionEnded(session); });
  }

 protected:
  kj::Promise<void> register_(RegisterContext context) override {
    const auto params = context.getParams();
    auto in = RegisterFrom(params.getInfo());
    shell_.sessions().erase(session_);
    shell_.sessions().emplace(session_, params.getWorker());
    auto answer = MakeAnswer<RegisterOut>(shell_.kj());
    shell_.PostToMaster([brain = &shell_.brain(), session = session_, in = std::move(in),
                         fulfill = std::move(answer.fulfill)] { brain->Register(session, in, fulfill); });
    return answer.promise.then([this, context](RegisterOut out) mutable {
      auto result = context.getResults().initResult();
      rpc::ToOutcome(out.status, result.initOutcome());
      worker_ = out.worker;
      result.setWorkerId(out.worker.value);
      result.setMasterEpoch(shell_.brain().epoch());
      result.setClusterId(shell_.options().cluster_id);
      result.setHeartbeatMs(static_cast<uint32_t>(kBeat.millis()));
      result.setLeaseMs(static_cast<uint32_t>(kLease.millis()));
      result.setReattachMs(static_cast<uint32_t>(kReattachWindow.millis()));
      result.setStartOver(out.start_over);
      auto drop = result.initDropCopies(static_cast<unsigned>(out.drop.size()));
      for (unsigned i = 0; i < out.drop.size(); ++i) {
        rpc::ToWire(out.drop[i].output.task, drop[i].initTask());
        drop[i].setGeneration(out.drop[i].output.generation);
        drop[i].setAttempt(out.drop[i].attempt);
        drop[i].initWorker().setId(out.drop[i].worker.value);
        drop[i].getWorker().setIncarnation(out.drop[i].incarnation);
      }
      // From the loop, so that no command can overtake this answer on the wire.
      if (out.status.ok()) {
        shell_.PostToMaster([brain = &shell_.brain(), session = session_] { brain->RegisterAnswered(session); });
      }
    });
  }

  kj::Promise<void> report(ReportContext context) override {
    const auto params = context.getParams();
    CheckRef(params.getWorker());
    std::vector<ReportIn> reports;
    for (auto report : params.getReports()) reports.push_back(ReportFrom(report));
    auto answer = MakeAnswer<ReportOut>(shell_.kj());
    shell_.PostToMaster([brain = &shell_.brain(), session = session_, id = WorkerId{params.getWorker().getId()},
                         incarnation = params.getWorker().getIncarnation(), reports = std::move(reports),
                         fulfill = std::move(answer.fulfill)]() mutable {
      brain->Report(session, id, incarnation, std::move(reports), std::move(fulfill));
    });
    return answer.promise.then([context](ReportOut out) mutable {
      capnp::MessageSize size{out.verdicts.size() * 2 + 16, 0};
      if (out.batch) size.wordCount += out.batch->getRoot<rpc::CommandBatch>().asReader().totalSize().wordCount;
      auto results = context.getResults(size);
      auto replies = results.initReplies(static_cast<unsigned>(out.verdicts.size()));
      for (unsigned i = 0; i < out.verdicts.size(); ++i) ToWire(out.verdicts[i], replies[i]);
      if (out.batch) results.setBatch(out.batch->getRoot<rpc::CommandBatch>().asReader());
    });
  }

  kj::Promise<void> progress(ProgressContext context) override {
    const auto params = context.getParams();
    CheckRef(params.getWorker());
    sched::AttemptProgress event{WorkerId{params.getWorker().getId()}, params.getWorker().getIncarnation(), {}};
    for (auto frame : params.getFrames()) {
      event.reports.push_back({rpc::FromWire(frame.getAttempt()), frame.getPhase(), frame.getTakenBytes(),
                               frame.getTotalBytes(), frame.getRecords(), frame.getInputsDone()});
    }
    shell_.PostToMaster([brain = &shell_.brain(), event = std::move(event)] { brain->Progress(event); });
    return kj::READY_NOW;
  }

  kj::Promise<void> blockReceived(BlockReceivedContext context) override {
    Blocks(context.getParams().getWorker(), context.getParams().getBlocks(), true);
    return kj::READY_NOW;
  }
  kj::Promise<void> blockSuspect(BlockSuspectContext context) override {
    Blocks(context.getParams().getWorker(), context.getParams().getBlocks(), false);
    return kj::READY_NOW;
  }

  kj::Promise<void> leaving(LeavingContext context) override {
    const auto worker = context.getParams().getWorker();
    CheckRef(worker);
    shell_.PostToMaster([brain = &shell_.brain(), id = WorkerId{worker.getId()},
        incarnation = worker.getIncarnation()] {
      brain->Leaving(id, incarnation);
    });
    return kj::READY_NOW;
  }

  kj::Promise<void> library(LibraryContext context) override {
    const auto params = context.getParams();
    const std::string sha256 = Said(params.getSha256());
    KJ_REQUIRE(sha256.size() == 64 && sha256.find_first_not_of("0123456789abcdef") == std::string::npos,
               "not the name of a library");
    struct Piece {
      Status status;
      std::string bytes;
      uint64_t total = 0;
    };
    auto answer = MakeAnswer<Piece>(shell_.kj());
    shell_.pool().Post([path = shell_.options().directory + "/lib/" + sha256 + ".so", offset = params.getOffset(),
                        length = std::min(params.getLength(), kLibraryPiece), fulfill = std::move(answer.fulfill)] {
      Piece piece;
      auto fd = OpenFile(path, O_RDONLY);
      if (!fd.ok()) {
        piece.status = fd.status();
        return fulfill(std::move(piece));
      }
      piece.bytes.resize(length);
      auto size = FileSize(path);
      auto read = PreadUpTo(fd->get(), piece.bytes.data(), length, offset);
      if (!size.ok() || !read.ok()) {
        piece.status = size.ok() ? read.status() : size.status();
      } else {
        piece.total = *size;
        piece.bytes.resize(*read);
      }
      fulfill(std::move(piece));
    });
    return answer.promise.then([context](Piece piece) mutable {
      if (!piece.status.ok()) kj::throwFatalException(rpc::ToException(piece.status));
      auto results = context.getResults();
      results.setTotalBytes(piece.total);
      results.setData(kj::arrayPtr(reinterpret_cast<const kj::byte*>(piece.bytes.data()), piece.bytes.size()));
    });
  }

 private:
  void Blocks(rpc::WorkerRef::Reader ref, capnp::List<rpc::BlockReport>::Reader list, bool good) {
    CheckRef(ref);
    std::vector<dfs::BlockRef> blocks;
    for (auto block : list) blocks.push_back(dfs::FromWire(block));
    shell_.PostToMaster([brain = &shell_.brain(), id = WorkerId{ref.getId()}, incarnation = ref.getIncarnation(),
                         blocks = std::move(blocks), good] { brain->BlocksReported(id, incarnation, blocks, good); });
  }

  // A session speaks for the worker that registered on it and for nobody else.
  void CheckRef(rpc::WorkerRef::Reader ref) {
    if (shell_.sessions().find(session_) == shell_.sessions().end()) {
      kj::throwFatalException(rpc::ToException(Unavailable("this session was closed by the master; register again")));
    }
    KJ_REQUIRE(worker_.valid() && ref.getId() == worker_.value, "this session belongs to another worker");
  }

  Shell& shell_;
  const uint64_t session_;
  WorkerId worker_;
};

class HeartbeatService final : public rpc::Heartbeats::Server {
 public:
  HeartbeatService(Shell& shell, Incarnation incarnation) : shell_(shell), incarnation_(incarnation) {}
  ~HeartbeatService() noexcept(false) { if (counted_) Tell(false); }

 protected:
  kj::Promise<void> beat(BeatContext context) override {
    const auto worker = context.getParams().getWorker();
    // Counted with its first beat, when the worker has registered and is known by its incarnation.
    return shell_.Ask([id = WorkerId{worker.getId()}, incarnation = worker.getIncarnation()](Brain& brain) {
      return brain.Beat(id, incarnation);
    }).then([this, context, incarnation = worker.getIncarnation()](bool known) mutable {
      if (known && !counted_ && incarnation == incarnation_) {
        counted_ = true;
        Tell(true);
      }
      context.getResults().setKnown(known);
    });
  }

 private:
  void Tell(bool connected) {
    shell_.PostToMaster([brain = &shell_.brain(), incarnation = incarnation_, connected] {
      brain->HeartbeatConnected(incarnation, connected);
    });
  }

  Shell& shell_;
  const Incarnation incarnation_;
  bool counted_ = false;
};

}  // namespace

rpc::MasterForWorker::Client MakeWorkerService(Shell& shell) { return kj::heap<WorkerService>(shell); }
rpc::Heartbeats::Client MakeHeartbeatService(Shell& shell, Incarnation incarnation) {
  return kj::heap<HeartbeatService>(shell, incarnation);
}

}  // namespace mr::master
