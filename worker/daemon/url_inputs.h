// Opens splits of http://, https:// and s3:// files: fetches their bytes into files without a name, which the child
// reads. The child has no network.
#pragma once

#include <kj/async.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "common/base/status.h"
#include "common/exec/pool.h"
#include "common/model/split.h"
#include "common/url/reader.h"
#include "worker/host/task_host.h"
#include "worker/shuffle/on_pool.h"

namespace mr::worker {

// Fetches run on threads of their own: a slow server must not delay disks. Those of splits that are opened and those
// that running children wait for have `threads` each.
// Thread: the loop.
class UrlInputs {
 public:
  // reader: null, if no URL may be read here; then there are no threads. temp_directory: exists when a split is opened.
  UrlInputs(std::shared_ptr<const url::Reader> reader, unsigned threads, std::string temp_directory);
  ~UrlInputs();
  UrlInputs(const UrlInputs&) = delete;
  UrlInputs& operator=(const UrlInputs&) = delete;

  // The descriptor has the split and a little more; of a sample, the beginning. Its length is 0 if `changed` is not
  // empty.
  struct Opened {
    SplitInput input;
    std::string changed;  // for people: the file is not as planned; the attempt must fail for good
  };
  // failed: shared by the splits of one attempt; set when one of them fails or has changed. Then the others end with
  // kCancelled, since each could wait for the server as long as the first.
  kj::Promise<Result<Opened>> Open(SplitInput input, const SplitToRead& split,
                                   std::shared_ptr<std::atomic<bool>> failed);
  // Reads bytes [offset, end) of the split's file. Errors: as url::Reader::Read; kRejected, if the file has changed.
  kj::Promise<Result<std::string>> Read(const SplitToRead& split, uint64_t offset, uint64_t end);
  // Ends all fetches. Thread: any.
  void Stop() { stopped_->store(true); }

 private:
  template <class F>
  auto Run(const std::unique_ptr<Pool>& pool, const std::string& uri, F fn)
      -> kj::Promise<std::invoke_result_t<F, const std::function<bool()>&>>;

  const std::shared_ptr<const url::Reader> reader_;
  const std::string temp_directory_;
  const std::shared_ptr<std::atomic<bool>> stopped_ = std::make_shared<std::atomic<bool>>(false);
  std::unique_ptr<Pool> opens_, reads_;  // null without a reader
};

}  // namespace mr::worker
