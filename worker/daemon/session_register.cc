// Registers in pages, and reports changes of blocks during the registration and afterwards.
#include <glog/logging.h>
#include <kj/debug.h>
#include <unistd.h>

#include <algorithm>

#include "common/rpc/kj_status.h"
#include "common/rpc/self_check.h"
#include "common/rpc/wire.h"
#include "worker/daemon/session_impl.h"
#include "worker/daemon/wire.h"

namespace mr::worker {
namespace {

constexpr Duration kRegisterTimeout = Seconds(15);  // for each call of a registration
// Most bytes of one page of a registration, and of one call with changes of blocks: far below the 1 MiB of a control
// message. Sizes of entries follow from control.capnp.
constexpr size_t kPageBytes = 256 << 10;
// Limits of Worker.reach, as control.capnp has them.
constexpr uint32_t kMostReached = 32;
constexpr Duration kReachTimeout = Seconds(3);
constexpr size_t kReplicaBytes = 64, kRunningBytes = 40, kBlockBytes = 32;

// The interface that the master calls. Each registration makes a new one; calls of an earlier one are ignored.
class CommandServer final : public rpc::Worker::Server {
 public:
  using Sink = std::function<void(CommandBatch)>;
  CommandServer(rpc::KjThread& loop, Sink sink, ReadLogFn read_log)
      : loop_(loop), sink_(std::move(sink)), read_log_(std::move(read_log)) {}

  kj::Promise<void> apply(ApplyContext context) override {
    sink_(ReadBatch(context.getParams().getBatch()));
    return kj::READY_NOW;
  }

  kj::Promise<void> log(LogContext context) override {
    context.allowCancellation();  // a reader that is gone waits for nothing
    const auto params = context.getParams();
    return read_log_(rpc::FromWire(params.getAttempt()), params.getFrom(), Millis(params.getWaitMs()))
        .then([context](Result<LogPiece> piece) mutable {
          auto out = context.getResults();
          rpc::ToOutcome(piece.ok() ? Status::Ok() : piece.status(), out.initOutcome());
          if (!piece.ok()) return;
          out.setText(AsText(piece->text));
          out.setStart(piece->start);
          out.setEnded(piece->ended);
        });
  }

  kj::Promise<void> reach(ReachContext context) override {
    context.allowCancellation();
    const auto addresses = context.getParams().getAddresses();
    KJ_REQUIRE(addresses.size() <= kMostReached, "too many addresses at a time");
    auto outcomes = std::make_shared<std::vector<Status>>(addresses.size());
    auto probes = kj::heapArrayBuilder<kj::Promise<void>>(addresses.size());
    for (uint32_t i = 0; i < addresses.size(); ++i) {
      probes.add(rpc::ProbePort(loop_.io(), addresses[i].cStr(), kReachTimeout).then([outcomes, i](Status status) {
        (*outcomes)[i] = std::move(status);
      }));
    }
    return kj::joinPromises(probes.finish()).then([context, outcomes]() mutable {
      auto out = context.getResults().initOutcomes(static_cast<uint32_t>(outcomes->size()));
      for (uint32_t i = 0; i < out.size(); ++i) rpc::ToOutcome((*outcomes)[i], out[i]);
    });
  }

 private:
  rpc::KjThread& loop_;
  const Sink sink_;
  const ReadLogFn read_log_;
};

}  // namespace

// Lists outputs, attempts and blocks once, and sends the lists in pages. Attempts that end meanwhile are reported after
// the registration, and so are changes of blocks.
void Session::Impl::Register() {
  block_news.clear();
  listed = Listed{worker.Inventory(), worker.Running(), {}};
  if (options.blocks) listed->blocks = options.blocks();
  // The first delta of each stage after this registration is complete.
  directory.ExpectComplete();
  ahead.clear();
  next_batch = 1;
  SendPages();
}

void Session::Impl::SendPages() {
  Listed& l = *listed;
  size_t room = kPageBytes;
  // Takes as many entries as fit, from *next on.
  const auto take = [&room](size_t size, size_t* next, size_t each) {
    const size_t begin = *next;
    *next += std::min(size - begin, room / each);
    room -= (*next - begin) * each;
    return std::make_pair(begin, *next);
  };
  const auto outputs = take(l.inventory.size(), &l.next_replica, kReplicaBytes);
  const auto running = take(l.running.size(), &l.next_running, kRunningBytes);
  const auto blocks = take(l.blocks.size(), &l.next_block, kBlockBytes);
  if (room == kPageBytes) return EndRegistration();
  auto request = link->master.registerPageRequest();
  request.setNumber(l.pages++);
  auto page = request.initPage();
  auto inventory = page.initInventory(static_cast<uint32_t>(outputs.second - outputs.first));
  for (uint32_t i = 0; i < inventory.size(); ++i) ToWire(l.inventory[outputs.first + i], inventory[i]);
  auto attempts = page.initRunning(static_cast<uint32_t>(running.second - running.first));
  for (uint32_t i = 0; i < attempts.size(); ++i) rpc::ToWire(l.running[running.first + i], attempts[i]);
  auto replicas = page.initBlocks(static_cast<uint32_t>(blocks.second - blocks.first));
  for (uint32_t i = 0; i < replicas.size(); ++i) ToWire(l.blocks[blocks.first + i], replicas[i]);
  link->calls.add(loop.timer()
                      .timeoutAfter(kRegisterTimeout.ns * kj::NANOSECONDS, request.send())
                      .then(
                          [this, mine = round](auto&&) {
                            if (mine == round) SendPages();
                          },
                          [this, mine = round](kj::Exception&& e) {
                            if (mine != round) return;
                            Break("part of the registration failed: " + rpc::FromException(e).message());
                          }));
}

void Session::Impl::EndRegistration() {
  const uint64_t mine = round;
  auto request = link->master.registerRequest();
  auto info = request.initInfo();
  info.setName(options.name);
  info.setIncarnation(options.incarnation);
  info.setAddress(options.address);
  info.setRack(options.rack);
  info.setSlots(options.slots.total);
  info.setMapSlots(options.slots.map);
  info.setReduceSlots(options.slots.reduce);
  if (options.memory_bytes) info.setMemoryBytes(options.memory_bytes());
  auto labels = info.initLabels(static_cast<uint32_t>(options.labels.size()));
  for (uint32_t i = 0; i < options.labels.size(); ++i) labels.set(i, AsText(options.labels[i]));
  info.setPages(listed->pages);
  info.setReportsGivenUp(static_cast<uint32_t>(std::min<uint64_t>(given_up, UINT32_MAX)));
  if (options.capacity_and_used) {
    const auto [capacity, used] = options.capacity_and_used();
    info.setCapacityBytes(capacity);
    info.setUsedBytes(used);
  }
  info.setHttpPort(options.http_port);
  info.setMasterEpochSeen(master_epoch);
  if (options.seen != nullptr) ToWire(options.seen->Of(options.cluster_id), info.initDurableSeen());
  info.setLeaving(worker.leaving());
  info.setTier(static_cast<int8_t>(options.tier));
  info.setPid(static_cast<uint32_t>(::getpid()));
  request.setWorker(kj::heap<CommandServer>(
      loop,
      [this, mine](CommandBatch batch) {
        if (mine == round) Receive(std::move(batch));
      },
      options.read_log));
  registration_sent = Now();
  link->calls.add(loop.timer()
                      .timeoutAfter(kRegisterTimeout.ns * kj::NANOSECONDS, request.send())
                      .then(
                          [this, mine](capnp::Response<rpc::MasterForWorker::RegisterResults> response) {
                            if (mine == round) OnRegistered(response.getResult());
                          },
                          [this, mine](kj::Exception&& e) {
                            if (mine == round) Break(rpc::FromException(e).message());
                          }));
}

void Session::Impl::OnRegistered(rpc::Registration::Reader answer) {
  const Status outcome = rpc::FromOutcome(answer.getOutcome());
  if (!outcome.ok()) return Break("the master refused the registration: " + outcome.message());
  // The registration contained the epoch that this worker has seen. A master continues above it if its journal lacks
  // it.
  LOG_IF(WARNING, answer.getMasterEpoch() < master_epoch)
      << "the master has epoch " << answer.getMasterEpoch() << ", but the previous one had epoch " << master_epoch;
  self = {{answer.getWorkerId()}, options.incarnation};
  if (!self.id.valid()) return Break("the master gave no worker id");
  master_epoch = answer.getMasterEpoch();
  options.cluster_id = answer.getClusterId();
  if (options.seen != nullptr) options.seen->Note(options.cluster_id, FromWire(answer.getDurable()));
  registered = true;
  registered_at = Now();
  pause = kFirstPause;
  lease = Millis(answer.getLeaseMs());
  std::vector<Replica> drop;
  const auto bits = answer.getDrop();
  for (size_t i = 0; i < listed->inventory.size() && i / 8 < bits.size(); ++i) {
    if (bits[i / 8] >> (i % 8) & 1) drop.push_back(listed->inventory[i]);
  }
  listed.reset();
  LOG(INFO) << "registered with " << options.master << " as " << Name(self.id) << ", master epoch " << master_epoch;
  worker.Registered(self, drop);
  if (answer.getStartOver()) {
    LOG(WARNING) << "the master had declared this worker lost: its attempts are ended and its outputs dropped";
    worker.StartOver();
  }
  if (const auto bytes = answer.getGrantKey(); bytes.size() != 0 && options.on_grant_key) {
    auto key = secure::GrantKey::FromBytes({reinterpret_cast<const char*>(bytes.begin()), bytes.size()});
    if (!key.ok()) return Break("the master's key for grants: " + key.status().message());
    options.on_grant_key(*std::move(key));
  }
  if (options.on_registered) {
    options.on_registered(self, options.cluster_id,
                          {Millis(std::max<uint32_t>(answer.getHeartbeatMs(), 10)), Millis(answer.getReattachMs()),
                           Millis(answer.getEffectsLeaseMs()), registration_sent});
  }
  Receive({});
  ScheduleBlockNews();
  SendAllAgain();
  ScheduleProgress();
}

void Session::Impl::AddBlockNews(const BlockRef& block, BlockWord word) {
  // Before the blocks are listed, the list will contain the change. Between the list and the answer, the change must
  // wait.
  if (!registered && !listed.has_value()) return;
  BlockNews& news = block_news[block.id.value];
  news.block = block;
  if (word == BlockWord::kAside) {
    news.aside = true;
  } else {
    news.received = word == BlockWord::kReceived;
    news.damaged = !news.received;
  }
  ScheduleBlockNews();
}

void Session::Impl::ScheduleBlockNews() {
  if (block_news_scheduled || !registered || block_news.empty()) return;
  block_news_scheduled = true;
  loop.Post([this] {
    block_news_scheduled = false;
    if (registered) SendBlockNews();
  });
}

void Session::Impl::SendBlockNews() {
  // Passed by value (kj::cp): KJ would keep a reference to a named function, and the call ends after this one has
  // returned.
  const auto failed = [this, mine = round](kj::Exception&& e) {
    // The next registration lists all blocks.
    if (mine == round) Break("changes of blocks were not answered: " + rpc::FromException(e).message());
  };
  std::vector<BlockRef> received;
  std::vector<DamagedBlock> suspect;
  while (!block_news.empty()) {
    received.clear();
    suspect.clear();
    while (!block_news.empty() && (received.size() + suspect.size()) * kBlockBytes < kPageBytes) {
      const auto news = block_news.begin();
      if (news->second.received) received.push_back(news->second.block);
      if (news->second.damaged) suspect.push_back({news->second.block, false});
      if (news->second.aside) suspect.push_back({news->second.block, true});
      block_news.erase(news);
    }
    if (!received.empty()) {
      auto request = link->master.blockReceivedRequest();
      ToWire(self, request.initWorker());
      auto list = request.initBlocks(static_cast<uint32_t>(received.size()));
      for (uint32_t i = 0; i < received.size(); ++i) ToWire(received[i], list[i]);
      link->calls.add(request.send().ignoreResult().catch_(kj::cp(failed)));
    }
    if (!suspect.empty()) {
      auto request = link->master.blockSuspectRequest();
      ToWire(self, request.initWorker());
      auto list = request.initBlocks(static_cast<uint32_t>(suspect.size()));
      for (uint32_t i = 0; i < suspect.size(); ++i) {
        ToWire(suspect[i].block, list[i]);
        list[i].setAside(suspect[i].aside);
      }
      link->calls.add(request.send().ignoreResult().catch_(kj::cp(failed)));
    }
  }
}

}  // namespace mr::worker
