// The documents that pages and programs read, each made from a view of the master and kept until it is too old. One
// reading serves all that ask for it. Documents that somebody watches are made again while they may change.
//
// The load on the master is bounded: one reading at a time, in short turns (source.h), and between two readings a pause
// in proportion to the time that they took: nine times the time of the master's thread after a reading for watchers, as
// much as that time after one for somebody who asks. So more pages make documents older, not the master slower.
#pragma once

#include <kj/async.h>

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "common/base/status.h"
#include "common/base/time.h"
#include "common/exec/pool.h"
#include "common/rpc/kj_thread.h"
#include "master/web/source.h"
#include "master/web/topic.h"

namespace mr::web {

struct Document {
  Status status;           // of the reading; an error has no text
  std::string text, gzip;  // gzip: the same, compressed
  std::string etag;        // of the text; changes with it
  bool final = false;      // it will not change any more
  uint64_t number = 0;     // of this document among all that were made, from 1
  size_t bytes() const { return text.size() + gzip.size(); }
};
using DocumentPtr = std::shared_ptr<const Document>;

// Returns the text in gzip's format. Cost: some 10 ms per MB.
std::string Gzip(std::string_view text);

// Thread: the KJ loop's.
class Documents {
 public:
  struct Limits {
    Duration period = Seconds(1);  // between two readings of a document that is watched
    size_t bytes = 64 << 20;       // of documents that nobody waits for; the least recently used go first
    size_t idle = 256;             // their number
    size_t most = 4096;            // documents that somebody waits for; more are refused
    int64_t pause = 9;             // after a reading for watchers: so many times the time of the master's thread
  };

  // kj: the loop. pool: renders documents. All must outlive this object; the pool is stopped before it.
  Documents(rpc::KjThread& kj, Pool& pool, Source& source, Limits limits);
  ~Documents();
  Documents(const Documents&) = delete;
  Documents& operator=(const Documents&) = delete;

  // Returns the document. Its reading ended at most `age` and the time that it took before this call, unless it is
  // final. The status of the document is kUnavailable if too many others are waited for.
  kj::Promise<DocumentPtr> Get(const Topic& topic, Duration age);
  // Waits until the document is another one than `number`, and returns it. Drop the promise to end the watch.
  kj::Promise<DocumentPtr> Changed(const Topic& topic, uint64_t number);
  // Returns the number of promises of Changed that wait. For tests.
  size_t watches();

 private:
  struct Waiter {
    uint64_t number = 0;  // it waits for another document
    bool watches = false;
    kj::Own<kj::PromiseFulfiller<DocumentPtr>> fulfill;
  };
  struct Entry {
    DocumentPtr document;                                                                    // null: none yet
    kj::TimePoint begun = kj::origin<kj::TimePoint>(), ended = kj::origin<kj::TimePoint>();  // of its reading
    std::list<Waiter> waiters;
    uint64_t asked_since = 0;  // a later ask has a higher number; 0: only watchers wait, or nobody
    uint64_t used = 0;         // a later use has a higher number
  };
  using Entries = std::map<Topic, Entry>;
  struct Made {
    std::shared_ptr<Document> document;
    Duration busy, rendered;
  };

  kj::Promise<DocumentPtr> Wait(const Topic& topic, uint64_t number, bool watches);
  // Begins the next reading if none is under way and the pause has passed.
  void ReadNext();
  // Forgets waiters whose promises were dropped, and the documents that are then one too many.
  void Tidy();
  // Returns the document that was asked for first.
  Entries::iterator NextAsked();
  // Returns the watched document whose reading is due next, with the time until then.
  Entries::iterator NextWatched(kj::Duration* wait);
  void Begin(Entries::iterator at, bool watched);
  void Take(const Topic& topic, bool watched, Made made);
  void WakeIn(kj::Duration wait);

  rpc::KjThread& kj_;
  Pool& pool_;
  Source& source_;
  const Limits limits_;
  Entries entries_;
  bool reading_ = false;
  kj::TimePoint not_before_ = kj::origin<kj::TimePoint>();  // the pause ends
  uint64_t timer_ = 0;                                      // the newest; older ones do nothing
  uint32_t asked_in_row_ = 0;                               // readings for askers since the last one for watchers
  uint64_t made_ = 0, uses_ = 0, asks_ = 0;
  std::shared_ptr<Documents*> self_;  // null behind the pointer once this object is gone; of the loop
};

}  // namespace mr::web
