// MasterForWorker and Heartbeats: each call becomes a closure on the master's thread.
#include <capnp/serialize.h>
#include <fcntl.h>
#include <glog/logging.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/base/text.h"
#include "common/io/files.h"
#include "common/rpc/control_wire.h"
#include "common/rpc/kj_status.h"
#include "common/secure/names.h"
#include "master/host/shell.h"
#include "master/host/worker_wire.h"

namespace mr::master {
namespace {

// In pieces: the record of an attempt that read a million outputs takes half of it.
constexpr uint64_t kMaxReportBytes = 48u << 20;
constexpr uint32_t kLibraryPiece = 1 << 20;

class WorkerService final : public rpc::Guarded<rpc::MasterForWorker> {
 public:
  WorkerService(Shell& shell, const rpc::PeerInfo& peer)
      : Guarded(shell.GuardOf(peer)),
        shell_(shell),
        session_(shell.NextId()),
        identity_(peer.identity),
        connection_(peer.hold) {}

  ~WorkerService() noexcept(false) {
    shell_.sessions().erase(session_);
    shell_.PostToMaster(
        [&master = shell_.worker_parts(), session = session_] { master.sessions.SessionEnded(session); });
  }

 protected:
  kj::Promise<void> register_(RegisterContext context) override {
    const auto params = context.getParams();
    KJ_REQUIRE(params.getInfo().getPages() == pages_, "pages of this registration are missing; register again");
    auto in = RegisterFrom(params.getInfo(), std::exchange(listed_, {}));
    pages_ = 0;
    CheckListed(in);
    // A stolen certificate of one worker must not take the blocks and outputs of another one over.
    if (identity_.proof == Proof::kCertificate && identity_.subject != secure::WorkerSubject(in.extra.name)) {
      LOG(WARNING) << identity_.subject << " tried to register as the worker " << PrintableBytes(in.extra.name);
      rpc::ToOutcome(Status(Code::kNotAllowed, "the certificate is of " + identity_.subject +
                                                   ", not of the worker that registers: each worker keeps a --data "
                                                   "directory of its own"),
                     context.getResults().initResult().initOutcome());
      return kj::READY_NOW;
    }
    const auto inventory = std::make_shared<std::vector<Replica>>(in.info.inventory);
    if (inventory->size() > kMaxKeptReplicas) {
      LOG(WARNING) << in.extra.name << " holds " << inventory->size() << " outputs; those behind the first "
                   << kMaxKeptReplicas << " are dropped, and made again where they are needed";
      in.info.inventory.resize(kMaxKeptReplicas);
    }
    const std::string name = in.extra.name, address = in.info.address;
    shell_.sessions().erase(session_);
    shell_.sessions().emplace(session_, params.getWorker());
    auto answer = rpc::MakeAnswer<RegisterOut>(shell_.kj());
    shell_.PostToMaster([&master = shell_.worker_parts(), session = session_, in = std::move(in),
                         fulfill = std::move(answer.fulfill)] { master.sessions.Register(session, in, fulfill); });
    return answer.promise.then([this, context, inventory, name, address](const RegisterOut& out) mutable {
      auto result = context.getResults().initResult();
      rpc::ToOutcome(out.status, result.initOutcome());
      worker_ = out.worker;
      if (out.status.ok()) shell_.subjects()[out.worker] = identity_.subject;
      // A registered worker may be silent here for as long as it beats.
      if (out.status.ok()) registered_ = connection_.lock();
      result.setWorkerId(out.worker.value);
      result.setMasterEpoch(out.epoch);
      ToWire(out.durable, result.initDurable());
      result.setClusterId(shell_.options().cluster_id);
      result.setHeartbeatMs(static_cast<uint32_t>(kBeat.millis()));
      result.setLeaseMs(static_cast<uint32_t>(kLease.millis()));
      result.setReattachMs(static_cast<uint32_t>(kReattachWindow.millis()));
      result.setStartOver(out.start_over);
      result.setEffectsLeaseMs(static_cast<uint32_t>(shell_.worker_parts().options.effects_lease.millis()));
      if (const auto& granter = shell_.options().granter; granter != nullptr && out.status.ok()) {
        const Secret<std::string> key = granter->Registered(out.worker, name, address);
        result.setGrantKey(kj::arrayPtr(reinterpret_cast<const kj::byte*>(key.Reveal().data()), key.Reveal().size()));
      }
      const std::vector<uint8_t> drop = DropBits(*inventory, out.drop);
      result.setDrop(kj::arrayPtr(drop.data(), drop.size()));
      // From the loop, so that no command can overtake this answer on the wire.
      if (out.status.ok()) {
        shell_.PostToMaster(
            [&master = shell_.worker_parts(), session = session_] { master.sessions.RegisterAnswered(session); });
      }
    });
  }

  kj::Promise<void> registerPage(RegisterPageContext context) override {
    const auto params = context.getParams();
    if (params.getNumber() == 0) {
      listed_ = {};
      pages_ = 0;
    }
    KJ_REQUIRE(params.getNumber() == pages_, "this page of the registration is not the next one; register again");
    ++pages_;
    const auto page = params.getPage();
    AddPage(&listed_, page.getInventory(), page.getRunning(), page.getBlocks());
    CheckListed(listed_);
    return kj::READY_NOW;
  }

  kj::Promise<void> report(ReportContext context) override {
    const auto params = context.getParams();
    CheckRef(params.getWorker());
    std::vector<NumberedReport> reports;
    for (auto report : params.getReports()) {
      reports.push_back(report.isPieces() ? FromPieces(report) : ReportFrom(report));
    }
    auto answer = rpc::MakeAnswer<ReportOut>(shell_.kj());
    shell_.PostToMaster([&master = shell_.worker_parts(), session = session_, id = WorkerId{params.getWorker().getId()},
                         incarnation = params.getWorker().getIncarnation(), reports = std::move(reports),
                         fulfill = std::move(answer.fulfill)]() mutable {
      master.reports.Report(session, id, incarnation, std::move(reports), std::move(fulfill));
    });
    return answer.promise.then([context](ReportOut out) mutable {
      capnp::MessageSize size{out.verdicts.size() * 2 + 16, 0};
      if (out.batch) size.wordCount += out.batch->getRoot<rpc::CommandBatch>().asReader().totalSize().wordCount;
      auto results = context.getResults(size);
      auto verdicts = results.initVerdicts(static_cast<unsigned>(out.verdicts.size()));
      for (unsigned i = 0; i < out.verdicts.size(); ++i) verdicts.set(i, rpc::ToWire(out.verdicts[i]));
      if (out.batch) results.setBatch(out.batch->getRoot<rpc::CommandBatch>().asReader());
    });
  }

  kj::Promise<void> reportPiece(ReportPieceContext context) override {
    const auto params = context.getParams();
    CheckRef(params.getWorker());
    const auto bytes = params.getBytes();
    if (params.getOffset() == 0) pieces_ = {params.getNumber(), params.getTotalBytes(), 0, {}};
    KJ_REQUIRE(params.getTotalBytes() <= kMaxReportBytes, "a report is too long", params.getTotalBytes());
    KJ_REQUIRE(params.getNumber() == pieces_.number && params.getTotalBytes() == pieces_.total &&
                   params.getOffset() == pieces_.got && bytes.size() > 0 && bytes.size() <= pieces_.total - pieces_.got,
               "this piece of a report is not the next one");
    pieces_.got += bytes.size();
    // Grows with what has come, whatever was announced.
    pieces_.words.resize((pieces_.got + sizeof(capnp::word) - 1) / sizeof(capnp::word));
    std::memcpy(reinterpret_cast<char*>(pieces_.words.data()) + params.getOffset(), bytes.begin(), bytes.size());
    return kj::READY_NOW;
  }

  kj::Promise<void> progress(ProgressContext context) override {
    const auto params = context.getParams();
    CheckRef(params.getWorker());
    sched::AttemptProgress event{WorkerId{params.getWorker().getId()}, params.getWorker().getIncarnation(), {}};
    for (auto frame : params.getFrames()) event.reports.push_back(rpc::FromWire(frame));
    shell_.PostToMaster(
        [&master = shell_.worker_parts(), event = std::move(event)] { master.reports.Progress(event); });
    return kj::READY_NOW;
  }

  kj::Promise<void> blockReceived(BlockReceivedContext context) override {
    const auto ref = context.getParams().getWorker();
    CheckRef(ref);
    std::vector<BlockRef> blocks;
    for (auto block : context.getParams().getBlocks()) blocks.push_back(rpc::FromWire(block));
    shell_.PostToMaster([&master = shell_.worker_parts(), id = WorkerId{ref.getId()},
                         incarnation = ref.getIncarnation(),
                         blocks = std::move(blocks)] { master.block_store.BlocksReceived(id, incarnation, blocks); });
    return kj::READY_NOW;
  }

  kj::Promise<void> blockSuspect(BlockSuspectContext context) override {
    const auto ref = context.getParams().getWorker();
    CheckRef(ref);
    std::vector<DamagedBlock> blocks;
    for (auto block : context.getParams().getBlocks()) blocks.push_back({rpc::FromWire(block), block.getAside()});
    shell_.PostToMaster([&master = shell_.worker_parts(), id = WorkerId{ref.getId()},
                         incarnation = ref.getIncarnation(),
                         blocks = std::move(blocks)] { master.block_store.BlocksSuspect(id, incarnation, blocks); });
    return kj::READY_NOW;
  }

  kj::Promise<void> blockNotCopied(BlockNotCopiedContext context) override {
    const auto params = context.getParams();
    const auto ref = params.getWorker();
    CheckRef(ref);
    shell_.PostToMaster([&master = shell_.worker_parts(), id = WorkerId{ref.getId()},
                         incarnation = ref.getIncarnation(), block = rpc::FromWire(params.getBlock()),
                         source_failed = params.getSourceFailed(), why = ReportText(params.getWhy())] {
      master.block_store.BlockNotCopied(id, incarnation, block, source_failed, why);
    });
    return kj::READY_NOW;
  }

  kj::Promise<void> diskFailed(DiskFailedContext context) override {
    const auto ref = context.getParams().getWorker();
    CheckRef(ref);
    shell_.PostToMaster(
        [&master = shell_.worker_parts(), id = WorkerId{ref.getId()}, incarnation = ref.getIncarnation(),
         why = ReportText(context.getParams().getWhy())] { master.block_store.DiskFailed(id, incarnation, why); });
    return kj::READY_NOW;
  }

  kj::Promise<void> leaving(LeavingContext context) override {
    const auto worker = context.getParams().getWorker();
    CheckRef(worker);
    shell_.PostToMaster([&master = shell_.worker_parts(), id = WorkerId{worker.getId()},
                         incarnation = worker.getIncarnation()] { master.sessions.Leaving(id, incarnation); });
    return kj::READY_NOW;
  }

  kj::Promise<void> keepLog(KeepLogContext context) override {
    const auto params = context.getParams();
    CheckRef(params.getWorker());
    const auto log = params.getLog();
    return shell_
        .Ask([&master = shell_.worker_parts(), id = WorkerId{params.getWorker().getId()},
              attempt = rpc::FromWire(params.getAttempt()),
              end = LogEnd{std::string(reinterpret_cast<const char*>(log.begin()), log.size()), params.getLogBytes(),
                           params.getFailed()}] { return master.logs.Keep(attempt, id, end); })
        .then([context](bool known) mutable { context.getResults().setKnown(known); });
  }

  kj::Promise<void> library(LibraryContext context) override {
    const auto params = context.getParams();
    const std::string sha256 = ReportText(params.getSha256());
    KJ_REQUIRE(sha256.size() == 64 && sha256.find_first_not_of("0123456789abcdef") == std::string::npos,
               "not the name of a library");
    struct Piece {
      Status status;
      std::string bytes;
      uint64_t total = 0;
    };
    auto answer = rpc::MakeAnswer<Piece>(shell_.kj());
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
  // A report that came in pieces before.
  struct Pieces {
    uint64_t number = 0, total = 0, got = 0;
    std::vector<uint64_t> words;
  };

  NumberedReport FromPieces(rpc::Report::Reader stub) {
    const Pieces pieces = std::exchange(pieces_, {});
    KJ_REQUIRE(pieces.number == stub.getNumber() && pieces.total == stub.getPieces() && pieces.got == pieces.total &&
                   pieces.total > 0 && pieces.total % sizeof(capnp::word) == 0,
               "pieces of a report are missing");
    capnp::ReaderOptions options;
    options.traversalLimitInWords = pieces.words.size() * 2 + 1024;
    options.nestingLimit = 32;
    capnp::FlatArrayMessageReader message(
        kj::arrayPtr(reinterpret_cast<const capnp::word*>(pieces.words.data()), pieces.words.size()), options);
    const auto report = message.getRoot<rpc::Report>();
    KJ_REQUIRE(report.getNumber() == pieces.number && !report.isPieces(), "pieces of another report");
    return ReportFrom(report);
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
  const Identity identity_;
  const std::weak_ptr<void> connection_;
  std::shared_ptr<void> registered_;  // keeps the connection from being closed as idle
  WorkerId worker_;
  // The lists in the pages of an unfinished registration, and the number of pages.
  RegisterIn listed_;
  uint32_t pages_ = 0;
  Pieces pieces_;
};

class HeartbeatService final : public rpc::Guarded<rpc::Heartbeats> {
 public:
  HeartbeatService(Shell& shell, const rpc::PeerInfo& peer, Incarnation incarnation)
      : Guarded(shell.GuardOf(peer)), shell_(shell), incarnation_(incarnation) {}
  ~HeartbeatService() noexcept(false) {
    if (counted_) Tell(false);
  }

 protected:
  kj::Promise<void> beat(BeatContext context) override {
    const auto worker = context.getParams().getWorker();
    const auto subject = shell_.subjects().find(WorkerId{worker.getId()});
    // Others learn ids and incarnations from places of outputs. Whoever has not registered since this master's start is
    // answered in the same way, and registers.
    if (subject == shell_.subjects().end() || subject->second != guard()->identity.subject) {
      context.getResults().setKnown(false);
      return kj::READY_NOW;
    }
    // Counted with its first beat, when the worker has registered and is known by its incarnation.
    return shell_
        .Ask([&master = shell_.worker_parts(), id = WorkerId{worker.getId()}, incarnation = worker.getIncarnation(),
              silent = Millis(context.getParams().getLoopSilentMs()),
              room = rpc::FromWire(context.getParams().getRoom())]() {
          return std::make_pair(master.sessions.Beat(id, incarnation, silent, room), master.safe_mode.DurableNow());
        })
        .then([this, context, incarnation = worker.getIncarnation()](std::pair<bool, Durable> answer) mutable {
          const bool known = answer.first;
          if (known) ToWire(answer.second, context.getResults().initDurable());
          if (known && !counted_ && incarnation == incarnation_) {
            counted_ = true;
            Tell(true);
          }
          context.getResults().setKnown(known);
        });
  }

 private:
  void Tell(bool connected) {
    shell_.PostToMaster([&master = shell_.worker_parts(), incarnation = incarnation_, connected] {
      master.sessions.HeartbeatConnected(incarnation, connected);
    });
  }

  Shell& shell_;
  const Incarnation incarnation_;
  bool counted_ = false;
};

}  // namespace

rpc::MasterForWorker::Client MakeWorkerService(Shell& shell, const rpc::PeerInfo& peer) {
  return kj::heap<WorkerService>(shell, peer);
}
rpc::Heartbeats::Client MakeHeartbeatService(Shell& shell, const rpc::PeerInfo& peer, Incarnation incarnation) {
  return kj::heap<HeartbeatService>(shell, peer, incarnation);
}

}  // namespace mr::master
