#include "master/web/documents.h"

#include <xxhash.h>
#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/io/clock.h"
#include "master/web/render.h"

namespace mr::web {
namespace {

// After a reading for somebody who asks: as long as the master's thread took.
constexpr int64_t kAskedPause = 1;
// After a reading for watchers: also so many times the time of rendering, which keeps a core busy.
constexpr int64_t kRenderPause = 2;
constexpr uint32_t kAskedInRow = 4;  // then one for watchers, if one is due; a guess
constexpr int kGzipLevel = 1;        // three times as fast as the default, and a tenth larger (measured on reports)

std::string TagOf(std::string_view text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  char tag[40];
  std::snprintf(tag, sizeof tag, "\"%016llx%016llx\"", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return tag;
}

}  // namespace

std::string Gzip(std::string_view text) {
  z_stream stream{};
  // 16: with gzip's header and trailer.
  MR_CHECK(deflateInit2(&stream, kGzipLevel, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  MR_CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

Documents::Documents(rpc::KjThread& kj, Pool& pool, Source& source, Limits limits)
    : kj_(kj), pool_(pool), source_(source), limits_(limits), self_(std::make_shared<Documents*>(this)) {}

Documents::~Documents() { *self_ = nullptr; }

kj::Promise<DocumentPtr> Documents::Get(const Topic& topic, Duration age) {
  if (const auto it = entries_.find(topic); it != entries_.end() && it->second.document != nullptr) {
    Entry& entry = it->second;
    entry.used = ++uses_;
    // A document that took long to make is not made again for each request.
    const kj::Duration kept = age.ns * kj::NANOSECONDS + (entry.ended - entry.begun);
    if (entry.document->final || kj_.timer().now() - entry.ended <= kept) return entry.document;
  }
  return Wait(topic, 0, false);
}

kj::Promise<DocumentPtr> Documents::Changed(const Topic& topic, uint64_t number) {
  if (const auto it = entries_.find(topic); it != entries_.end() && it->second.document != nullptr) {
    it->second.used = ++uses_;
    if (it->second.document->number != number) return it->second.document;
    if (it->second.document->final) return kj::NEVER_DONE;
  }
  return Wait(topic, number, true);
}

kj::Promise<DocumentPtr> Documents::Wait(const Topic& topic, uint64_t number, bool watches) {
  if (entries_.size() >= limits_.most + limits_.idle) Tidy();
  if (entries_.size() >= limits_.most + limits_.idle && !entries_.contains(topic)) {
    auto refused = std::make_shared<Document>();
    refused->status = Unavailable("too many documents are asked for; try again later");
    return DocumentPtr(std::move(refused));
  }
  Entry& entry = entries_[topic];
  entry.used = ++uses_;
  if (!watches && entry.asked_since == 0) entry.asked_since = ++asks_;
  auto paf = kj::newPromiseAndFulfiller<DocumentPtr>();
  entry.waiters.push_back({number, watches, kj::mv(paf.fulfiller)});
  ReadNext();
  return kj::mv(paf.promise);
}

size_t Documents::watches() {
  size_t count = 0;
  for (auto& [topic, entry] : entries_) {
    for (Waiter& w : entry.waiters) count += w.watches && w.fulfill->isWaiting();
  }
  return count;
}

void Documents::Tidy() {
  std::vector<std::pair<uint64_t, Entries::iterator>> idle;  // by use
  size_t bytes = 0;
  for (auto it = entries_.begin(); it != entries_.end();) {
    Entry& entry = it->second;
    std::erase_if(entry.waiters, [](Waiter& w) { return !w.fulfill->isWaiting(); });
    const bool asked =
        std::any_of(entry.waiters.begin(), entry.waiters.end(), [](const Waiter& w) { return !w.watches; });
    if (!asked) entry.asked_since = 0;
    if (entry.waiters.empty() && entry.document == nullptr) {
      it = entries_.erase(it);
      continue;
    }
    if (entry.waiters.empty()) {
      idle.emplace_back(entry.used, it);
      bytes += entry.document->bytes();
    }
    ++it;
  }
  std::sort(idle.begin(), idle.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  size_t count = idle.size();
  for (const auto& [used, it] : idle) {
    if (count <= limits_.idle && bytes <= limits_.bytes) return;
    --count;
    bytes -= it->second.document->bytes();
    entries_.erase(it);
  }
}

Documents::Entries::iterator Documents::NextAsked() {
  auto next = entries_.end();
  for (auto it = entries_.begin(); it != entries_.end(); ++it) {
    const uint64_t since = it->second.asked_since;
    if (since != 0 && (next == entries_.end() || since < next->second.asked_since)) next = it;
  }
  return next;
}

Documents::Entries::iterator Documents::NextWatched(kj::Duration* wait) {
  auto next = entries_.end();
  for (auto it = entries_.begin(); it != entries_.end(); ++it) {
    const Entry& entry = it->second;
    if (entry.waiters.empty() || (entry.document != nullptr && entry.document->final)) continue;
    if (next == entries_.end() || entry.begun < next->second.begun) next = it;
  }
  if (next == entries_.end()) return next;
  const kj::TimePoint now = kj_.timer().now();
  const kj::TimePoint due = next->second.begun + limits_.period.ns * kj::NANOSECONDS;
  *wait = next->second.document != nullptr && due > now ? due - now : 0 * kj::SECONDS;
  return next;
}

void Documents::ReadNext() {
  if (reading_) return;
  const kj::TimePoint now = kj_.timer().now();
  if (now < not_before_) return WakeIn(not_before_ - now);
  Tidy();
  const auto asked = NextAsked();
  kj::Duration wait = 0 * kj::SECONDS;
  const auto watched = NextWatched(&wait);
  const bool due = watched != entries_.end() && wait == 0 * kj::SECONDS;
  if (asked != entries_.end() && !(due && asked_in_row_ >= kAskedInRow)) return Begin(asked, false);
  if (due) return Begin(watched, true);
  if (watched != entries_.end()) WakeIn(wait);
}

void Documents::WakeIn(kj::Duration wait) {
  kj_.Spawn(kj_.timer().afterDelay(wait).then([self = self_, timer = ++timer_] {
    if (*self != nullptr && (*self)->timer_ == timer) (*self)->ReadNext();
  }));
}

void Documents::Begin(Entries::iterator at, bool watched) {
  const Topic& topic = at->first;
  Entry& entry = at->second;
  reading_ = true;
  asked_in_row_ = watched ? 0 : asked_in_row_ + 1;
  entry.asked_since = 0;
  entry.begun = kj_.timer().now();
  const uint64_t number = ++made_;
  const std::string before = entry.document == nullptr ? std::string() : entry.document->etag;
  source_.Read(topic, [&kj = kj_, &pool = pool_, self = self_, topic, watched, number, before](Reading reading) {
    pool.Post([&kj, self, topic, watched, number, before, reading = std::move(reading)] {
      const Instant begin = Now();
      Made made{std::make_shared<Document>(), reading.busy, {}};
      made.document->number = number;
      made.document->final = reading.final;
      made.document->status = reading.view.status();
      if (reading.view.ok()) {
        made.document->text = Render(topic, std::move(**reading.view));
        made.document->etag = TagOf(made.document->text);
        if (made.document->etag != before) made.document->gzip = Gzip(made.document->text);
      }
      made.rendered = Now() - begin;
      kj.Post([self, topic, watched, made = std::move(made)]() mutable {
        if (*self != nullptr) (*self)->Take(topic, watched, std::move(made));
      });
    });
  });
}

void Documents::Take(const Topic& topic, bool watched, Made made) {
  reading_ = false;
  Entry& entry = entries_[topic];  // Tidy, which may forget it, does not run during a reading
  entry.ended = kj_.timer().now();
  // A document with the same text stays, unless it has become final.
  const bool same = entry.document != nullptr && entry.document->status.ok() && made.document->status.ok() &&
                    entry.document->etag == made.document->etag && entry.document->final == made.document->final;
  if (!same) {
    if (made.document->status.ok() && made.document->gzip.empty()) made.document->gzip = entry.document->gzip;
    entry.document = std::move(made.document);
  }
  // A request that came during the reading gets its document, too.
  entry.asked_since = 0;
  std::list<Waiter> kept;
  for (Waiter& w : entry.waiters) {
    if (w.watches && w.number == entry.document->number) {
      kept.push_back(std::move(w));
    } else {
      w.fulfill->fulfill(DocumentPtr(entry.document));
    }
  }
  entry.waiters = std::move(kept);
  if (!entry.document->status.ok()) entries_.erase(topic);
  const Duration pause = watched
                             ? std::max(made.busy * limits_.pause, made.rendered * kRenderPause * (limits_.pause > 0))
                             : made.busy * kAskedPause;
  not_before_ = kj_.timer().now() + pause.ns * kj::NANOSECONDS;
  ReadNext();
}

}  // namespace mr::web
