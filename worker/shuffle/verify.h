// Verifies outputs in this worker's store against their committed digests, when a reader has complained about one.
//
// Reads the table and every chunk, in order, with the checks of a reader (fetch_check.h): wire digest of each chunk,
// counts and content digest of each partition, digest of the table. Verifies one output at a time, in slices on the
// pool and at a bounded rate, so that readers of other outputs keep the disk. Ends at the first damage.
#pragma once

#include <kj/async.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "common/base/digest.h"
#include "common/rpc/kj_thread.h"
#include "schema/data.capnp.h"
#include "worker/shuffle/on_pool.h"
#include "worker/shuffle/store.h"

namespace mr::worker {

// The numbers of data.capnp's Finding.
enum class Finding : uint8_t { kUnknown = 0, kWhole = 1, kDamaged = 2, kOtherContent = 3, kGone = 4 };
const char* FindingName(Finding finding);

struct Verification {
  Finding finding = Finding::kUnknown;
  std::string why;  // empty for kWhole
};

// Thread: the KJ loop, also for the destructor.
class Verifier final : private kj::TaskSet::ErrorHandler {
 public:
  struct Options {
    // Stored bytes. Guess: a quarter of one disk's throughput; 2 GiB still take no more than 8 s.
    uint64_t bytes_per_second = 256ull << 20;
    uint64_t slice_bytes = 4ull << 20;  // of one task on the pool
    size_t queue = 256;                 // waiting ones; more are answered kUnknown at once
  };
  Verifier(rpc::KjThread& loop, std::shared_ptr<ShuffleStore> store, PostToPool post_to_pool, Incarnation incarnation,
           const Options& options);
  Verifier(rpc::KjThread& loop, std::shared_ptr<ShuffleStore> store, PostToPool post_to_pool, Incarnation incarnation)
      : Verifier(loop, std::move(store), std::move(post_to_pool), incarnation, Options()) {}
  ~Verifier() noexcept;

  // Verifies one output. content: the committed digest of its table. Cost: reads the whole output.
  kj::Promise<Verification> Check(const ReplicaKey& key, const Digest128& content, uint32_t partitions);

  // Answers the verify call of data.capnp.
  using Wire = rpc::DataServer;
  using Context = capnp::CallContext<Wire::VerifyParams, Wire::VerifyResults>;
  kj::Promise<void> Answer(Context context);

  struct Run;  // one verification in progress

 private:
  void taskFailed(kj::Exception&& exception) override;
  void Pump();
  void Slice();

  rpc::KjThread& loop_;
  const std::shared_ptr<ShuffleStore> store_;
  const PostToPool post_;
  const Incarnation incarnation_;
  const Options options_;
  struct Waiting {
    std::shared_ptr<Run> run;
    kj::Own<kj::PromiseFulfiller<Verification>> done;
  };
  std::deque<Waiting> queue_;  // the first one is in progress
  bool running_ = false;
  kj::TaskSet tasks_{*this};  // last: its promises use what is above
};

}  // namespace mr::worker
