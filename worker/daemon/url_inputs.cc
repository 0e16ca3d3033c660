#include "worker/daemon/url_inputs.h"

#include <algorithm>
#include <utility>

#include "common/io/files.h"

namespace mr::worker {
namespace {

// Fetched after the end of a split, since its last record usually ends there (the child asks for so many: guess).
constexpr uint64_t kAfterSplit = 64u << 10;

url::FilePart PartOf(const SplitToRead& split, uint64_t offset, uint64_t length) {
  url::FilePart part{split.uri, offset, length, split.file_bytes, split.version.id, false};
  part.whole = split.offset == 0 && split.length == split.file_bytes;
  return part;
}

}  // namespace

UrlInputs::UrlInputs(std::shared_ptr<const url::Reader> reader, unsigned threads, std::string temp_directory)
    : reader_(std::move(reader)), temp_directory_(std::move(temp_directory)) {
  if (reader_ == nullptr) return;
  opens_ = std::make_unique<Pool>(threads);
  reads_ = std::make_unique<Pool>(threads);
}

UrlInputs::~UrlInputs() { Stop(); }

// Runs fn(cancelled) on the pool. It is cancelled when the promise is dropped.
template <class F>
auto UrlInputs::Run(const std::unique_ptr<Pool>& pool, const std::string& uri, F fn)
    -> kj::Promise<std::invoke_result_t<F, const std::function<bool()>&>> {
  using T = std::invoke_result_t<F, const std::function<bool()>&>;
  if (reader_ == nullptr) return T(url::NoReader(uri));
  auto dropped = std::make_shared<std::atomic<bool>>(false);
  const std::function<bool()> cancelled = [dropped, stopped = stopped_] { return dropped->load() || stopped->load(); };
  return OnPool(pool->poster(), [fn = std::move(fn), cancelled]() mutable { return fn(cancelled); })
      .attach(kj::defer([dropped] { dropped->store(true); }));
}

kj::Promise<Result<UrlInputs::Opened>> UrlInputs::Open(SplitInput input, const SplitToRead& split,
                                                       std::shared_ptr<std::atomic<bool>> failed) {
  // A sample needs the beginning of its split. If its last record is longer, the child asks for the rest.
  const uint64_t wanted =
      input.sample_bytes == 0 ? split.length + kAfterSplit : std::min(split.length, 2 * input.sample_bytes);
  const url::FilePart part = PartOf(split, split.offset, std::min(wanted, split.file_bytes - split.offset));
  auto shared = std::make_shared<SplitInput>(std::move(input));
  return Run(opens_, split.uri,
             [reader = reader_, directory = temp_directory_, shared, part,
              failed = std::move(failed)](const std::function<bool()>& cancelled) -> Result<Opened> {
               if (failed->load()) return Status(Code::kCancelled, "another input of the attempt failed");
               MR_ASSIGN_OR_RETURN(UniqueFd fd, OpenUnnamed(directory));
               uint64_t at = 0;
               const auto store = [&fd, &at](std::string_view bytes) -> Status {
                 MR_RETURN_IF_ERROR(WriteAll(fd.get(), bytes));
                 at += bytes.size();
                 return Status::Ok();
               };
               const url::ReadEnd end = reader->Read(part, store, [&] { return cancelled() || failed->load(); });
               if (!end.status.ok() || !end.changed.empty()) failed->store(true);
               if (!end.status.ok()) return end.status;
               SplitInput input = std::move(*shared);
               input.fd = std::move(fd);
               input.fd_offset = part.offset;
               input.fd_length = end.changed.empty() ? at : 0;
               return Opened{std::move(input), end.changed};
             });
}

kj::Promise<Result<std::string>> UrlInputs::Read(const SplitToRead& split, uint64_t offset, uint64_t end) {
  const url::FilePart part = PartOf(split, offset, end - offset);
  return Run(reads_, split.uri,
             [reader = reader_, part](const std::function<bool()>& cancelled) -> Result<std::string> {
               std::string bytes;
               bytes.reserve(part.length);
               const auto store = [&bytes](std::string_view more) -> Status {
                 bytes += more;
                 return Status::Ok();
               };
               const url::ReadEnd read = reader->Read(part, store, cancelled);
               if (!read.status.ok()) return read.status;
               if (!read.changed.empty()) return Rejected(read.changed);
               return bytes;
             });
}

}  // namespace mr::worker
