#include "worker/shuffle/fetch_pool.h"

namespace mr::worker {

Table TableCache::Find(const ReplicaLocation& replica) {
  const auto entry = entries_.find(KeyOf(replica));
  if (entry == entries_.end()) return nullptr;
  uses_.splice(uses_.begin(), uses_, entry->second.use);
  return entry->second.table;
}

void TableCache::Add(const ReplicaLocation& replica, Table table) {
  const Key key = KeyOf(replica);
  if (entries_.contains(key)) return;
  bytes_ += Cost(table);
  uses_.push_front(key);
  entries_[key] = {std::move(table), uses_.begin()};
  while (bytes_ > capacity_ && !uses_.empty()) {
    const auto last = entries_.find(uses_.back());
    bytes_ -= Cost(last->second.table);
    entries_.erase(last);
    uses_.pop_back();
  }
}

FetchPool::State::State(rpc::KjThread& loop, std::shared_ptr<ShuffleStore> store, PostToPool post,
                        const Options& options)
    : context(std::make_shared<ChannelContext>()),
      handle(std::make_shared<LoopHandle>(&loop)),
      tables(options.table_cache_bytes) {
  context->loop = &loop;
  context->post = std::move(post);
  context->store = std::move(store);
  context->readers = std::make_shared<ReplicaReaders>();
  context->options = options;
  if (context->store != nullptr) local = NewLocalChannel(context);
}

FetchPool::State::~State() { handle->Close(); }

std::shared_ptr<FetchChannel> FetchPool::State::ChannelTo(const ReplicaLocation& replica) {
  if (local != nullptr && replica.incarnation == context->options.incarnation) return local;
  std::erase_if(channels, [](const auto& entry) { return entry.second->broken(); });
  auto& channel = channels[{replica.address, replica.incarnation}];
  if (channel == nullptr) channel = NewRemoteChannel(context, replica.address, replica.incarnation);
  std::shared_ptr<FetchChannel> found = channel;
  for (auto it = channels.begin(); it != channels.end() && channels.size() > context->options.idle_connections;) {
    it = it->second.use_count() == 1 ? channels.erase(it) : std::next(it);
  }
  return found;
}

FetchPool::FetchPool(rpc::KjThread& loop, std::shared_ptr<ShuffleStore> store, PostToPool post_to_pool,
                     const Options& options)
    : state_(std::make_shared<State>(loop, std::move(store), std::move(post_to_pool), options)) {}
FetchPool::~FetchPool() = default;

const LatencyHistogram& FetchPool::call_times() const { return *state_->context->call_times; }

void FetchPool::SetClusterId(uint64_t cluster_id) { state_->context->options.cluster_id = cluster_id; }

void FetchPool::CountReadersIn(std::shared_ptr<ReplicaReaders> readers) {
  state_->context->readers = std::move(readers);
}

std::unique_ptr<Fetcher> FetchPool::NewFetcher(FetchObserver* observer, const FetcherOptions& options) {
  return MakeFetcher(state_, observer, options);
}

}  // namespace mr::worker
