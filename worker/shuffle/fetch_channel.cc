#include "worker/shuffle/fetch_channel.h"

#include <kj/async.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "common/io/clock.h"
#include "common/io/ledger.h"
#include "common/rpc/kj_status.h"
#include "common/rpc/wire.h"
#include "schema/data.capnp.h"
#include "worker/shuffle/serve.h"

namespace mr::worker {
namespace {

// A want (one wanted chunk), and the pieces of the chunk that have arrived.
struct Progress {
  ChunkWant want;
  StoredChunk chunk;          // without its bytes
  std::string bytes;          // so far
  uint64_t stored_bytes = 0;  // from the first piece
  uint32_t readers = 0;       // from the last piece
  bool begun = false;
};

// Takes wants from the queue whose expected bytes fit into one reply; the first one in any case. The server would read
// a chunk that does not fit, and drop it.
std::vector<Progress> TakeForOneCall(std::deque<Progress>* queue) {
  std::vector<Progress> call;
  uint64_t expected = 0;
  while (!queue->empty() && call.size() < kMaxRequestsPerCall) {
    Progress& next = queue->front();
    if (next.want.wanted()) {
      expected += next.begun ? next.stored_bytes - next.bytes.size() : next.want.expected_bytes;
      if (!call.empty() && expected > kMaxReplyBytes) break;
      call.push_back(std::move(next));
    }
    queue->pop_front();
  }
  return call;
}

class RemoteChannel final : public FetchChannel, public std::enable_shared_from_this<RemoteChannel> {
 public:
  RemoteChannel(std::shared_ptr<const ChannelContext> context, std::string address, Incarnation incarnation)
      : context_(std::move(context)), address_(std::move(address)), incarnation_(incarnation) {}
  ~RemoteChannel() noexcept override {}

  void Submit(ChunkWant want) override {
    queue_.push_back({.want = std::move(want), .chunk = {}, .bytes = {}});
    if (pumping_) return;
    pumping_ = true;  // once for all wants of this turn of the loop: they share calls
    Start(kj::evalLater([this] {
      pumping_ = false;
      if (broken_) return FailAll();
      if (state_ == State::kIdle) Connect();
      Pump();
    }));
  }

  bool broken() const override { return broken_; }

 private:
  enum class State { kIdle, kConnecting, kReady };

  // Runs until the channel ends, which cancels it.
  void Start(kj::Promise<void> promise) { tasks_.add(kj::mv(promise)); }

  void Connect() {
    state_ = State::kConnecting;
    rpc::Hello hello;
    hello.role = rpc::Role::kData;
    hello.cluster_id = context_->options.cluster_id;
    hello.incarnation = context_->options.incarnation;
    Start(rpc::RpcConnection::Connect(context_->loop->io(), address_, hello, context_->options.connect_timeout)
              .then([this](Result<kj::Own<rpc::RpcConnection>> connected) {
                if (!connected.ok()) return Break(connected.status());
                if ((*connected)->peer().incarnation != incarnation_) {
                  return Break(Unavailable("the worker at " + address_ + " has restarted since"));
                }
                connection_ = *std::move(connected);
                OpenSession();
              }));
  }

  void OpenSession() {
    Start(connection_->OnDisconnect().then(
        [this] { Break(Unavailable("the worker at " + address_ + " closed the connection")); }));
    session_ = connection_->Bootstrap<rpc::DataServer>().openFetchRequest().send().getSession();
    state_ = State::kReady;
    Pump();
  }

  void Pump() {
    while (state_ == State::kReady && !broken_ && !queue_.empty() && calls_ < context_->options.calls_in_flight) {
      auto call = TakeForOneCall(&queue_);
      if (call.empty()) return;
      Send(std::move(call));
    }
  }

  void Send(std::vector<Progress> call) {
    KJ_IF_MAYBE (session, session_) {
      auto request = session->fetchRequest(capnp::MessageSize{16 + 28 * static_cast<uint64_t>(call.size()), 0});
      request.setNumber(++last_number_);
      auto list = request.initRequests(static_cast<uint>(call.size()));
      for (uint i = 0; i < call.size(); ++i) Describe(call[i], list[i]);
      const uint64_t id = last_number_;
      under_way_[id] = std::move(call);
      ++calls_;
      auto& timer = context_->loop->timer();
      auto reply = timer.timeoutAfter(context_->options.call_timeout.ns * kj::NANOSECONDS, request.send());
      Start(reply.then(
          [this, id, sent = Now()](capnp::Response<rpc::FetchSession::FetchResults> response) {
            context_->call_times->Add(Now() - sent);
            OnReply(id, response.getChunks());
          },
          [this](kj::Exception&& e) {
            if (e.getType() == kj::Exception::Type::OVERLOADED) {
              // The timeout of this side, or an overloaded server.
              return Break(Unavailable("the worker at " + address_ +
                                       " did not answer a fetch in time: " + rpc::FromException(e).message()));
            }
            Break(Unavailable("fetching from " + address_ + ": " + rpc::FromException(e).message()));
          }));
    }
  }

  static void Describe(const Progress& p, rpc::ChunkRequest::Builder out) {
    auto replica = out.initReplica();
    rpc::ToWire(p.want.replica.task, replica.initTask());
    replica.setGeneration(p.want.generation);
    replica.setAttempt(p.want.replica.attempt);
    auto worker = replica.initWorker();
    worker.setId(p.want.worker.value);
    worker.setIncarnation(p.want.incarnation);
    out.setPartition(p.want.partition);
    out.setChunk(p.want.chunk);
    out.setOffset(p.bytes.size());
    out.setReader(p.want.reader);
    out.setLast(p.want.last);
    out.setGrant(kj::arrayPtr(reinterpret_cast<const kj::byte*>(p.want.grant.data()), p.want.grant.size()));
  }

  void OnReply(uint64_t id, capnp::List<rpc::Chunk>::Reader chunks) {
    const auto node = under_way_.extract(id);
    if (node.empty()) return;
    std::vector<Progress>& call = node.mapped();
    --calls_;
    if (chunks.size() == 0 || chunks.size() > call.size()) {
      for (Progress& p : call) queue_.push_back(std::move(p));
      return Break(Unavailable("the worker at " + address_ + " sent an invalid answer to a fetch"));
    }
    // Unanswered wants go back to the front, in order; then partly answered ones.
    for (size_t i = call.size(); i > chunks.size(); --i) queue_.push_front(std::move(call[i - 1]));
    struct Finished {
      ChunkWant want;
      Result<StoredChunk> chunk;
      uint32_t readers;
    };
    std::vector<Finished> finished;
    for (uint i = chunks.size(); i > 0; --i) {
      Progress& p = call[i - 1];
      const Status status = Accept(chunks[i - 1], &p);
      if (!status.ok()) {
        finished.push_back({std::move(p.want), status, 0});
      } else if (p.bytes.size() < p.stored_bytes) {
        queue_.push_front(std::move(p));
      } else {
        p.chunk.bytes = std::move(p.bytes);
        finished.push_back({std::move(p.want), std::move(p.chunk), p.readers});
      }
    }
    Pump();
    for (auto it = finished.rbegin(); it != finished.rend(); ++it) {
      if (it->want.wanted()) it->want.done(std::move(it->chunk), it->readers);
    }
  }

  static Status Accept(rpc::Chunk::Reader piece, Progress* p) {
    MR_RETURN_IF_ERROR(rpc::FromOutcome(piece.getOutcome()));
    p->readers = piece.getReaders();
    if (!p->begun) {
      p->begun = true;
      p->stored_bytes = piece.getStoredBytes();
      p->chunk.codec = piece.getCodec();
      p->chunk.raw_bytes = piece.getRawBytes();
      p->chunk.wire_digest = piece.getWireDigest();
      if (p->stored_bytes > kMaxRawChunk) return Corrupted("a chunk claims to be too large");
    } else if (p->stored_bytes != piece.getStoredBytes() || p->chunk.wire_digest != piece.getWireDigest()) {
      return Corrupted("a chunk changed between its pieces");
    }
    const auto data = piece.getData();
    if (data.size() > p->stored_bytes - p->bytes.size() || (data.size() == 0 && p->stored_bytes != 0)) {
      return Corrupted("a piece does not fit into its chunk");
    }
    if (p->bytes.empty()) p->bytes.reserve(p->stored_bytes);
    p->bytes.append(reinterpret_cast<const char*>(data.begin()), data.size());
    Ledger::Count(Ledger::message, data.size());
    Ledger::Count(Ledger::socket, data.size());
    return Status::Ok();
  }

  void Break(const Status& why) {
    if (broken_) return;
    broken_ = true;
    why_ = why;
    FailAll();
  }

  void FailAll() {
    std::vector<Progress> all;
    for (auto& [id, call] : std::exchange(under_way_, {})) {
      for (Progress& p : call) all.push_back(std::move(p));
    }
    for (Progress& p : std::exchange(queue_, {})) all.push_back(std::move(p));
    for (Progress& p : all) {
      if (p.want.wanted()) p.want.done(why_, 0);
    }
  }

  struct IgnoreErrors : kj::TaskSet::ErrorHandler {
    void taskFailed(kj::Exception&& e) override { std::fprintf(stderr, "fetch: %s\n", e.getDescription().cStr()); }
  };

  const std::shared_ptr<const ChannelContext> context_;
  const std::string address_;
  const Incarnation incarnation_;
  State state_ = State::kIdle;
  bool broken_ = false;
  Status why_;
  bool pumping_ = false;
  std::deque<Progress> queue_;
  std::map<uint64_t, std::vector<Progress>> under_way_;  // by call number
  uint32_t calls_ = 0;
  uint64_t last_number_ = 0;
  kj::Own<rpc::RpcConnection> connection_;
  kj::Maybe<rpc::FetchSession::Client> session_;
  IgnoreErrors errors_;
  kj::TaskSet tasks_{errors_};  // last: its promises use what is above
};

// Reads from the store, on the pool, as many wants at a time as one call carries.
class LocalChannel final : public FetchChannel, public std::enable_shared_from_this<LocalChannel> {
 public:
  explicit LocalChannel(std::shared_ptr<const ChannelContext> context) : context_(std::move(context)) {}
  ~LocalChannel() noexcept override {}

  void Submit(ChunkWant want) override {
    if (want.reader != 0) context_->readers->Asks(want.replica, kHere, want.reader, Now());
    queue_.push_back({.want = std::move(want), .chunk = {}, .bytes = {}});
    if (pumping_) return;
    pumping_ = true;
    tasks_.add(kj::evalLater([this] {
      pumping_ = false;
      Pump();
    }));
  }

  bool broken() const override { return false; }

 private:
  void Pump() {
    while (!queue_.empty() && reads_ < context_->options.calls_in_flight) {
      auto call = TakeForOneCall(&queue_);
      if (call.empty()) return;
      ++reads_;
      const uint64_t drops = context_->store->drops();
      std::vector<std::tuple<ReplicaKey, uint32_t, uint32_t>> keys;
      keys.reserve(call.size());
      for (const Progress& p : call) keys.emplace_back(p.want.replica, p.want.partition, p.want.chunk);
      tasks_.add(OnPool(context_->post, [keys, store = context_->store] {
                   std::vector<Result<StoredChunk>> chunks;
                   chunks.reserve(keys.size());
                   for (const auto& [replica, partition, chunk] : keys) {
                     chunks.push_back(store->Get(replica, partition, chunk));
                   }
                   return chunks;
                 }).then([this, call = std::move(call), drops](std::vector<Result<StoredChunk>> chunks) mutable {
        --reads_;
        Pump();
        for (size_t i = 0; i < call.size(); ++i) {
          const ChunkWant& want = call[i].want;
          if (chunks[i].ok() && context_->store->drops() != drops && !context_->store->Has(want.replica)) {
            chunks[i] = NotFound("the replica was dropped while it was being read");
          }
          const uint32_t readers = CountReaders(want, chunks[i].ok());
          if (want.wanted()) want.done(std::move(chunks[i]), readers);
        }
      }));
    }
  }

  uint32_t CountReaders(const ChunkWant& want, bool ok) {
    if (want.reader == 0) return 0;
    const uint32_t n = std::max(1u, context_->readers->Count(want.replica, Now()));
    if (!ok || want.last) context_->readers->Ends(want.replica, kHere, want.reader);
    return n;
  }

  static constexpr uint64_t kHere = 0;  // no session has this number
  struct IgnoreErrors : kj::TaskSet::ErrorHandler {
    void taskFailed(kj::Exception&&) override {}  // the pool has stopped, and so has the worker
  };

  const std::shared_ptr<const ChannelContext> context_;
  bool pumping_ = false;
  uint32_t reads_ = 0;
  std::deque<Progress> queue_;
  IgnoreErrors errors_;
  kj::TaskSet tasks_{errors_};
};

}  // namespace

std::shared_ptr<FetchChannel> NewRemoteChannel(std::shared_ptr<const ChannelContext> context,
                                               const std::string& address, Incarnation incarnation) {
  rpc::KjThread* loop = context->loop;
  return MakeLoopOwned<RemoteChannel>(*loop, std::move(context), address, incarnation);
}

std::shared_ptr<FetchChannel> NewLocalChannel(std::shared_ptr<const ChannelContext> context) {
  rpc::KjThread* loop = context->loop;
  return MakeLoopOwned<LocalChannel>(*loop, std::move(context));
}

}  // namespace mr::worker
