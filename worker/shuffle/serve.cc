#include "worker/shuffle/serve.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "common/io/clock.h"
#include "common/io/fault.h"
#include "common/io/ledger.h"
#include "common/rpc/kj_status.h"
#include "common/rpc/wire.h"

namespace mr::worker {
namespace {

// Most sessions on one worker. Each may hold a chunk of kMaxRawChunk (guess: far more than peers x readers in flight).
constexpr uint32_t kMaxSessions = 4096;

struct Wanted {
  ReplicaKey replica;
  Incarnation incarnation = 0;
  uint32_t partition = 0;
  uint32_t chunk = 0;
  uint64_t offset = 0;
  uint64_t reader = 0;
  bool last = false;
  Status allowed;  // by the grant
};

// The reply to one request: an error, or a piece of the chunk.
struct ReplyPiece {
  Status status;
  std::shared_ptr<const StoredChunk> chunk;
  uint64_t offset = 0;
  uint64_t length = 0;
};

// The pieces of a reply, and the store's drops before they were read.
struct Reply {
  std::vector<ReplyPiece> all;
  uint64_t drops = 0;
};

// Caches the last chunk that did not fit into one reply, because its other pieces are requested next. The replica may
// be gone by then: callers must check. It is a copy: a session may be idle for long, and must not keep the database of
// an ended job.
class PartlySent {
 public:
  std::shared_ptr<const StoredChunk> Find(const Wanted& w) {
    std::lock_guard lock(mutex_);
    const bool same = chunk_ != nullptr && w.replica == replica_ && w.partition == partition_ && w.chunk == number_;
    return same ? chunk_ : nullptr;
  }
  void Keep(const Wanted& w, const std::shared_ptr<const StoredChunk>& chunk) {
    std::lock_guard lock(mutex_);
    if (chunk == chunk_) return;
    const auto copy = std::make_shared<StoredChunk>(*chunk);
    copy->bytes = std::string(chunk->bytes);
    replica_ = w.replica;
    partition_ = w.partition;
    number_ = w.chunk;
    chunk_ = copy;
  }

 private:
  std::mutex mutex_;
  ReplicaKey replica_;
  uint32_t partition_ = 0, number_ = 0;
  std::shared_ptr<const StoredChunk> chunk_;
};

std::vector<Wanted> Parse(capnp::List<rpc::ChunkRequest>::Reader requests, const rpc::Guard& guard) {
  std::vector<Wanted> wanted;
  // Most calls are for one job: its grant is checked once.
  JobId checked;
  std::string grant;
  Status allowed;
  for (const auto r : requests) {
    if (wanted.size() == kMaxRequestsPerCall) break;
    const auto replica = r.getReplica();
    const auto given = r.getGrant();
    const std::string_view bytes(reinterpret_cast<const char*>(given.begin()), given.size());
    const JobId job = rpc::FromWire(replica.getTask()).job;
    if (job != checked || bytes != grant) {
      checked = job;
      grant = bytes;
      allowed = guard.CheckGrant(secure::ReadsOutputs(job), bytes);
    }
    wanted.push_back({{rpc::FromWire(replica.getTask()), replica.getAttempt()},
                      replica.getWorker().getIncarnation(),
                      r.getPartition(),
                      r.getChunk(),
                      r.getOffset(),
                      r.getReader(),
                      r.getLast(),
                      allowed});
  }
  return wanted;
}

}  // namespace

struct ShuffleServing::State {
  std::shared_ptr<ShuffleStore> store;
  PostToPool post;
  Incarnation incarnation = 0;
  uint32_t sessions = 0;  // on the loop
  Counters counters;      // on the loop
  std::shared_ptr<ReplicaReaders> readers = std::make_shared<ReplicaReaders>();

  Status CheckReplica(const ReplicaKey& replica, Incarnation asked) const {
    if (!replica.task.job.valid() || replica.attempt == 0) return InvalidArgument("not the name of a replica");
    if (asked != incarnation) {
      return NotFound("this worker has restarted since; the outputs of its earlier process are gone");
    }
    return Status::Ok();
  }

  // Reads a prefix of the requests, on the pool: always the first one, and further ones while they fit whole.
  Reply Read(const std::vector<Wanted>& wanted, PartlySent* partly_sent) const {
    Reply read{{}, store->drops()};
    std::vector<ReplyPiece>& pieces = read.all;
    uint64_t left = kMaxReplyBytes;
    for (const Wanted& w : wanted) {
      ReplyPiece piece = ReadOne(w, partly_sent);
      const uint64_t rest = piece.length;
      if (rest > left) {
        if (partly_sent != nullptr) partly_sent->Keep(w, piece.chunk);
        if (!pieces.empty()) break;
        piece.length = left;
      }
      left -= piece.length;
      pieces.push_back(std::move(piece));
      if (left == 0) break;
    }
    return read;
  }

  ReplyPiece ReadOne(const Wanted& w, PartlySent* partly_sent) const {
    ReplyPiece piece;
    piece.status = w.allowed.ok() ? CheckReplica(w.replica, w.incarnation) : w.allowed;
    if (!piece.status.ok()) return piece;
    if (partly_sent != nullptr) piece.chunk = partly_sent->Find(w);
    if (piece.chunk != nullptr && !store->Has(w.replica)) piece.chunk = nullptr;
    if (piece.chunk == nullptr) {
      auto got = store->Get(w.replica, w.partition, w.chunk);
      if (!got.ok()) {
        piece.status = got.status();
        return piece;
      }
      piece.chunk = std::make_shared<const StoredChunk>(*std::move(got));
    }
    const uint64_t size = piece.chunk->bytes.size();
    if (w.offset > size || (w.offset == size && size != 0)) {
      piece.status =
          InvalidArgument("offset " + std::to_string(w.offset) + " of a chunk of " + std::to_string(size) + " bytes");
      return piece;
    }
    piece.offset = w.offset;
    piece.length = size - w.offset;
    return piece;
  }

  // Replaces pieces of dropped replicas by an error. On the loop, like commands, so that no byte is sent after the
  // command that drops its replica.
  void DropDead(const std::vector<Wanted>& wanted, Reply* pieces) const {
    if (store->drops() == pieces->drops) return;
    for (size_t i = 0; i < pieces->all.size(); ++i) {
      ReplyPiece& piece = pieces->all[i];
      if (!piece.status.ok() || store->Has(wanted[i].replica)) continue;
      piece = {};
      piece.status = NotFound("the replica was dropped while it was being read");
    }
  }

  // Returns how many readers the replica of this piece has; 0 for a reader that is not counted.
  uint32_t CountReaders(const Wanted& w, const ReplyPiece& piece, uint64_t session, Instant now) {
    if (w.reader == 0 || session == 0) return 0;
    const uint32_t n = std::max(1u, readers->Count(w.replica, now));  // its last request may already be answered
    const bool whole = piece.status.ok() && piece.offset + piece.length == piece.chunk->bytes.size();
    if (!piece.status.ok() || (w.last && whole)) readers->Ends(w.replica, session, w.reader);
    return n;
  }

  // Answers a fetch, in a session or without one. Copies the bytes into the message: memory that a reply only refers to
  // would have to live until the reply is written, and a capability server is not notified of that. Otherwise a peer
  // that requests ahead without reading could cause a use after free.
  template <class Context>
  void Answer(Context& context, const std::vector<Wanted>& wanted, Reply read, uint64_t session) {
    FaultPoint("serve");
    DropDead(wanted, &read);
    const std::vector<ReplyPiece>& pieces = read.all;
    const Instant now = Now();
    uint64_t words = 16;
    for (const ReplyPiece& p : pieces) words += 24 + (p.length + p.status.message().size()) / 8;
    auto chunks = context.getResults(capnp::MessageSize{words, 0}).initChunks(static_cast<uint>(pieces.size()));
    for (uint i = 0; i < pieces.size(); ++i) {
      const ReplyPiece& piece = pieces[i];
      auto out = chunks[i];
      rpc::ToOutcome(piece.status, out.initOutcome());
      out.setReaders(CountReaders(wanted[i], piece, session, now));
      if (!piece.status.ok()) continue;
      const StoredChunk& chunk = *piece.chunk;
      out.setCodec(chunk.codec);
      out.setRawBytes(chunk.raw_bytes);
      out.setStoredBytes(static_cast<uint32_t>(chunk.bytes.size()));
      out.setWireDigest(chunk.wire_digest);
      out.setData(kj::arrayPtr(reinterpret_cast<const kj::byte*>(chunk.bytes.data()) + piece.offset, piece.length));
      counters.bytes += piece.length;
      Ledger::Count(Ledger::message, piece.length);
      Ledger::Count(Ledger::socket, piece.length);
    }
    ++counters.replies;
  }
};

namespace {

using State = ShuffleServing::State;

// session: 0 outside of a session.
template <class Context>
kj::Promise<void> ReadAndAnswer(const std::shared_ptr<State>& state, const rpc::Guard& guard, Context context,
                                const std::shared_ptr<PartlySent>& partly_sent, uint64_t session) {
  const auto wanted = std::make_shared<const std::vector<Wanted>>(Parse(context.getParams().getRequests(), guard));
  context.releaseParams();
  const Instant now = Now();
  for (const Wanted& w : *wanted) {
    if (w.reader != 0 && session != 0 && w.allowed.ok()) state->readers->Asks(w.replica, session, w.reader, now);
  }
  return OnPool(state->post, [state, wanted, partly_sent] { return state->Read(*wanted, partly_sent.get()); })
      .then([state, context, wanted, session](Reply pieces) mutable {
        state->Answer(context, *wanted, std::move(pieces), session);
      });
}

class Session final : public rpc::Guarded<rpc::FetchSession> {
 public:
  Session(rpc::GuardPtr guard, std::shared_ptr<State> state)
      : Guarded(std::move(guard)), state_(std::move(state)), id_(state_->readers->NewSession()) {
    ++state_->sessions;
  }
  ~Session() noexcept {
    --state_->sessions;
    state_->readers->SessionEnds(id_);
  }

  kj::Promise<void> fetch(FetchContext context) override {
    const uint64_t number = context.getParams().getNumber();
    if (number != last_ + 1) {
      return rpc::ToException(
          InvalidArgument("fetch call " + std::to_string(number) + " after " + std::to_string(last_)));
    }
    last_ = number;
    return ReadAndAnswer(state_, *guard(), context, partly_sent_, id_);
  }

 private:
  std::shared_ptr<State> state_;
  const uint64_t id_;
  std::shared_ptr<PartlySent> partly_sent_ = std::make_shared<PartlySent>();
  uint64_t last_ = 0;
};

}  // namespace

ShuffleServing::ShuffleServing(std::shared_ptr<ShuffleStore> store, PostToPool post_to_pool, Incarnation incarnation)
    : state_(std::make_shared<State>()) {
  state_->store = std::move(store);
  state_->post = std::move(post_to_pool);
  state_->incarnation = incarnation;
}
ShuffleServing::~ShuffleServing() = default;

ShuffleServing::Counters ShuffleServing::counters() const { return state_->counters; }

std::shared_ptr<ReplicaReaders> ShuffleServing::readers() const { return state_->readers; }

kj::Promise<void> ShuffleServing::Fetch(FetchContext context, const rpc::GuardPtr& guard) {
  return ReadAndAnswer(state_, *guard, context, nullptr, 0);
}

kj::Promise<void> ShuffleServing::Table(TableContext context, const rpc::GuardPtr& guard) {
  const auto replica = context.getParams().getReplica();
  const auto grant = context.getParams().getGrant();
  const Status allowed = guard->CheckGrant(secure::ReadsOutputs(rpc::FromWire(replica.getTask()).job),
                                           {reinterpret_cast<const char*>(grant.begin()), grant.size()});
  if (!allowed.ok()) {
    rpc::ToOutcome(allowed, context.getResults().initOutcome());
    return kj::READY_NOW;
  }
  const ReplicaKey key{rpc::FromWire(replica.getTask()), replica.getAttempt()};
  const Incarnation asked = replica.getWorker().getIncarnation();
  context.releaseParams();
  return OnPool(state_->post,
                [state = state_, key, asked]() -> Result<std::vector<PartitionRow>> {
                  MR_RETURN_IF_ERROR(state->CheckReplica(key, asked));
                  MR_ASSIGN_OR_RETURN(auto rows, state->store->Table(key));
                  if (rows.size() > kMaxTableRows) {
                    return Rejected("a table of " + std::to_string(rows.size()) +
                                    " rows is too large for one message; fetch it as a chunk");
                  }
                  return rows;
                })
      .then([context](Result<std::vector<PartitionRow>> rows) mutable {
        auto results = context.getResults();
        rpc::ToOutcome(rows.status(), results.initOutcome());
        if (!rows.ok()) return;
        auto out = results.initRows(static_cast<uint>(rows->size()));
        for (uint i = 0; i < rows->size(); ++i) {
          const PartitionRow& row = (*rows)[i];
          out[i].setRecords(row.records);
          out[i].setBytes(row.bytes);
          rpc::ToWire(row.content, out[i].initContent());
          out[i].setChunks(row.chunks);
        }
      });
}

kj::Promise<void> ShuffleServing::OpenFetch(OpenFetchContext context, rpc::GuardPtr guard) {
  if (state_->sessions >= kMaxSessions) {
    return rpc::ToException({Code::kOverloaded, "too many fetch sessions are open"});
  }
  context.getResults().setSession(kj::heap<Session>(std::move(guard), state_));
  return kj::READY_NOW;
}

kj::Promise<void> ShuffleServing::Probe(ProbeContext context) {
  const auto replica = context.getParams().getReplica();
  const ReplicaKey key{rpc::FromWire(replica.getTask()), replica.getAttempt()};
  const bool ours = state_->CheckReplica(key, replica.getWorker().getIncarnation()).ok();
  context.releaseParams();
  return OnPool(state_->post, [state = state_, key, ours] { return ours && state->store->Has(key); })
      .then([context](bool present) mutable { context.getResults().setPresent(present); });
}

}  // namespace mr::worker
