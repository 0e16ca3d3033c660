#include "common/url/reader.h"

#include <fnmatch.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <optional>
#include <thread>
#include <utility>

#include "common/base/digest.h"
#include "common/base/file_format.h"
#include "common/url/s3_listing.h"

namespace mr::url {
namespace {

constexpr size_t kMostObjects = 100'000;  // of one input
constexpr size_t kMostEmptyPages = 1000;  // of a listing: S3 may send some, where many objects were removed (guess)
constexpr size_t kMostErrorBytes = 4096;  // of an error's body that are looked at
constexpr Duration kLongestWait = Seconds(8);  // between two tries
constexpr Duration kWaitStep = Millis(100);    // between two looks whether a wait is cancelled

// Returns text of a server for a message.
std::string Shown(std::string_view text) {
  std::string shown;
  for (const char c : text.substr(0, 300)) shown += c >= 0x20 && c < 0x7f ? c : '?';
  return shown;
}

// Returns the target of a redirect without its query, which may be a signature.
std::string ShownTarget(std::string_view location) {
  const size_t query = location.find_first_of("?#");
  return location.empty() ? "nowhere" : Shown(location.substr(0, query)) + (query == location.npos ? "" : "?...");
}

// Returns the code in S3's error document: " (AccessDenied)", or "".
std::string S3Code(std::string_view body) {
  constexpr std::string_view kOpen = "<Code>";
  const size_t begin = body.find(kOpen), end = body.find("</Code>");
  if (begin == body.npos || end == body.npos || end < begin || end - begin > 100) return "";
  return " (" + Shown(body.substr(begin + kOpen.size(), end - begin - kOpen.size())) + ")";
}

// Returns the error for an answer that is not the file. head.status is not 200, 206 or 416.
Status StatusOf(const Url& url, const HttpHead& head, std::string_view body) {
  const std::string answered = url.Text() + ": the server answers " + std::to_string(head.status) + S3Code(body);
  const int status = head.status;
  if (status >= 300 && status < 400 && status != 304) {
    if (url.s3()) {
      return Rejected(
          answered +
          ": the bucket is at another server; next: name its region (--s3_region, AWS_REGION) or its server "
          "(--s3_endpoint, AWS_ENDPOINT_URL_S3)");
    }
    return Rejected(url.Text() + " redirects to " + ShownTarget(head.location) +
                    ", and redirects are not followed; next: name the target as the input, below --url_roots");
  }
  if (status == 401 || status == 403) {
    return {Code::kNotAllowed, answered + (url.s3() ? ": these keys may not read it (--s3_keys, AWS_ACCESS_KEY_ID)"
                                                    : ": it needs rights")};
  }
  if (status == 404 || status == 410) return NotFound(answered + ": there is no such file");
  if (status == 408 || status == 425 || status == 429 || status >= 500 || status < 100) return Unavailable(answered);
  return Rejected(answered);
}

// Returns the number that stands for the version of a file in plans; 0: the server gives nothing that does.
uint64_t VersionOf(std::string_view etag, std::string_view last_modified) {
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"') etag = etag.substr(1, etag.size() - 2);
  if (etag.empty() && last_modified.empty()) return 0;
  return std::max<uint64_t>(1, etag.empty() ? Hash64(last_modified, 1) : Hash64(etag));
}

std::string RangeText(uint64_t offset, uint64_t length) {
  return "bytes=" + std::to_string(offset) + "-" + std::to_string(offset + length - 1);
}

bool Hidden(std::string_view key, size_t from) {
  for (size_t begin = from; begin < key.size();) {
    if (key[begin] == '_' || key[begin] == '.') return true;
    const size_t slash = key.find('/', begin);
    begin = slash == key.npos ? key.size() : slash + 1;
  }
  return false;
}

// Returns whether the pattern names the key, or a directory above it.
bool Matches(const std::string& pattern, const std::string& key) {
  for (size_t end = key.size(); end != std::string::npos;
       end = end == 0 ? std::string::npos : key.rfind('/', end - 1)) {
    if (fnmatch(pattern.c_str(), key.substr(0, end).c_str(), FNM_PATHNAME) == 0) return true;
  }
  return false;
}

}  // namespace

// The state of one Read, over all its tries.
class Reader::PartRead {
 public:
  PartRead(const FilePart& part, const Url& url, const std::function<Status(std::string_view)>& sink)
      : part_(part), url_(url), sink_(sink) {}

  uint64_t at() const { return part_.offset + done_; }
  uint64_t left() const { return part_.length - done_; }
  const std::string& changed() const { return changed_; }

  Status OnHead(const HttpHead& head) {
    head_ = head;
    skip_ = 0;
    body_.clear();
    if (head.status == 404 || head.status == 410) return Changed("it is gone");
    if (head.status == 416) return Changed("it became shorter");
    if (head.status != 200 && head.status != 206) return Status::Ok();  // its body has the reason
    const uint64_t version = VersionOf(head.etag, head.last_modified);
    if (part_.version != 0 && version != part_.version) {
      if (version == 0) return Changed("the server gives neither an ETag nor a date any more");
      const std::string now = head.etag.empty() ? "Last-Modified: " + head.last_modified : "ETag: " + head.etag;
      return Changed("it has another version (" + Shown(now) + ")");
    }
    std::optional<uint64_t> total = head.length;
    if (head.status == 206) {
      if (!head.range) return Unavailable(url_.Text() + ": the server does not say which bytes it sends");
      if (head.range->first != at())
        return Unavailable(url_.Text() + ": the server sends other bytes than it was asked for");
      total = head.range->total;
    } else {
      // The whole file. A reader of a part would cost as much as all readers together.
      if (!part_.whole)
        return Unavailable(url_.Text() + ": the server sent ranges when the job was planned, and now the whole file");
      skip_ = at();
    }
    if (total && *total != part_.file_bytes) {
      return Changed("it has " + std::to_string(*total) + " bytes, planned " + std::to_string(part_.file_bytes));
    }
    return Status::Ok();
  }

  Result<bool> OnBytes(std::string_view bytes) {
    if (head_.status != 200 && head_.status != 206) {
      body_.append(bytes.substr(0, kMostErrorBytes - body_.size()));
      return body_.size() < kMostErrorBytes;
    }
    const auto skipped = std::min<uint64_t>(skip_, bytes.size());
    skip_ -= skipped;
    bytes.remove_prefix(skipped);
    // An answer that ends by itself leaves its connection usable, so only more than was asked for is cut off.
    const bool all = bytes.size() <= left();
    bytes = bytes.substr(0, left());
    MR_RETURN_IF_ERROR(sink_(bytes));
    done_ += bytes.size();
    return all;
  }

  // Returns what an answer that has ended means.
  Status End() const {
    if (head_.status != 200 && head_.status != 206) return StatusOf(url_, head_, body_);
    if (left() > 0)
      return Unavailable(url_.Text() + ": the server ended its answer " + std::to_string(left()) + " bytes early");
    return Status::Ok();
  }

 private:
  Status Changed(const std::string& how) {
    changed_ = "input " + part_.uri + " has changed since the job was planned: " + how +
               ". A job reads one version of its inputs: submit it again when no process writes to them";
    return Rejected(changed_);
  }

  const FilePart& part_;
  const Url& url_;
  const std::function<Status(std::string_view)>& sink_;
  HttpHead head_;
  uint64_t done_ = 0;
  uint64_t skip_ = 0;  // bytes of this answer before those that are wanted
  std::string body_;   // of an error
  std::string changed_;
};

Reader::Reader(ReaderOptions options) : options_(std::move(options)), client_(options_.http) {}

Reader::~Reader() { Stop(); }

void Reader::Post(std::function<void()> fn) const {
  std::lock_guard lock(mutex_);
  if (stopped_.load()) return;
  if (lists_ == nullptr) lists_ = std::make_unique<Pool>(kListThreads);
  lists_->Post(std::move(fn));
}

void Reader::Stop() const {
  stopped_.store(true);
  Pool* lists = nullptr;
  {
    std::lock_guard lock(mutex_);
    lists = lists_.get();
  }
  if (lists != nullptr) lists->Stop();
}

Result<Url> Reader::Allowed(const std::string& uri) const {
  MR_ASSIGN_OR_RETURN(Url url, ParseUrl(uri));
  MR_RETURN_IF_ERROR(options_.roots.Check(url));
  return url;
}

Result<HttpGet> Reader::Prepare(const Url& url, const std::string& range, const SignedRequest::Pairs& query) const {
  HttpGet get;
  get.cancelled = [this] { return stopped_.load(); };
  if (url.s3()) MR_RETURN_IF_ERROR(options_.s3_error);
  if ((url.s3() ? options_.s3_endpoint : url).scheme == "https") MR_RETURN_IF_ERROR(options_.https_error);
  if (!url.s3()) {
    get.url = url.Text();
    get.literal_host = url.literal() && !options_.roots.any();  // "any" names no address
    if (!range.empty()) get.headers.push_back("Range: " + range);
    return get;
  }
  const Url& endpoint = options_.s3_endpoint;
  SignedRequest request;
  request.path = (endpoint.path == "/" ? "" : endpoint.path) + "/" + url.host + url.path;
  request.query = query;
  request.headers.emplace_back("host", endpoint.HostAndPort());
  if (!range.empty()) request.headers.emplace_back("range", range);
  request.unix_seconds = options_.wall_clock ? options_.wall_clock() : static_cast<uint64_t>(std::time(nullptr));
  request.region = options_.s3_region;
  S3Keys keys;
  if (options_.s3_keys) {
    MR_ASSIGN_OR_RETURN(keys, options_.s3_keys());
  }
  get.url = endpoint.scheme + "://" + endpoint.HostAndPort() + PercentEncode(request.path, /*keep_slash=*/true);
  if (!query.empty()) get.url += "?" + CanonicalQuery(query);
  get.literal_host = endpoint.literal();
  get.headers = S3Headers(std::move(request), keys);
  return get;
}

Status Reader::Try(int tries, const std::function<Status()>& once, const std::function<bool()>& cancelled) const {
  Duration wait = options_.first_wait;
  for (int tried = 1;; ++tried) {
    Status status = once();
    if (status.code() != Code::kUnavailable) return status;
    if (tried >= tries) return status.With(std::to_string(tried) + " tries");
    for (Duration left = wait; left.ns > 0; left = left - kWaitStep) {
      if (cancelled && cancelled()) return {Code::kCancelled, "the read was cancelled"};
      std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(left, kWaitStep).ns));
    }
    wait = std::min(wait + wait, kLongestWait);
  }
}

ReadEnd Reader::Read(const FilePart& part, const std::function<Status(std::string_view)>& sink,
                     const std::function<bool()>& cancelled) const {
  const auto url = Allowed(part.uri);
  if (!url.ok()) return {url.status(), ""};
  if (part.length == 0) return {};
  PartRead read(part, *url, sink);
  const Status status = Try(
      options_.tries,
      [&]() -> Status {
        if (read.left() == 0) return Status::Ok();
        MR_ASSIGN_OR_RETURN(HttpGet get, Prepare(*url, RangeText(read.at(), read.left()), {}));
        get.cancelled = [this, &cancelled] { return stopped_.load() || (cancelled && cancelled()); };
        get.on_head = [&read](const HttpHead& head) { return read.OnHead(head); };
        get.on_bytes = [&read](std::string_view bytes) { return read.OnBytes(bytes); };
        const Status end = client_.Get(get);
        return end.ok() ? read.End() : end;
      },
      cancelled);
  if (!read.changed().empty()) return {{}, read.changed()};
  return {status.ok() ? status : status.With("reading " + part.uri), ""};
}

Result<InputFile> Reader::ProbeOnce(const Url& url) const {
  // With one request: the length, the version, whether ranges work, and the first bytes.
  MR_ASSIGN_OR_RETURN(HttpGet get, Prepare(url, RangeText(0, kContainerHeadBytes), {}));
  HttpHead head;
  std::string body;
  size_t wanted = kContainerHeadBytes;
  get.on_head = [&](const HttpHead& h) {
    head = h;
    if (h.status != 200 && h.status != 206) wanted = kMostErrorBytes;
    return Status::Ok();
  };
  get.on_bytes = [&](std::string_view bytes) -> Result<bool> {
    const bool all = bytes.size() <= wanted - body.size();
    body.append(bytes.substr(0, wanted - body.size()));
    return all;
  };
  MR_RETURN_IF_ERROR(client_.Get(get).With(url.Text()));
  InputFile file;
  file.uri = url.Text();
  file.id = VersionOf(head.etag, head.last_modified);
  const std::string no_length = url.Text() + ": the server does not say how long the file is, so no job can read it";
  // Only an empty file has no byte 0. Servers need not send its length with a 416.
  if (head.status == 416 && (!head.range || head.range->total == 0u)) return file;
  if (head.status == 206) {
    if (!head.range || !head.range->total) return Rejected(no_length);
    file.bytes = *head.range->total;
  } else if (head.status == 200) {
    if (!head.length) return Rejected(no_length);
    file.bytes = *head.length;
    file.whole = true;
  } else {
    return StatusOf(url, head, body);
  }
  file.head = std::move(body);
  return file;
}

Result<InputFile> Reader::Probe(const Url& url) const {
  InputFile file;
  MR_RETURN_IF_ERROR(Try(
      options_.list_tries,
      [&]() -> Status {
        MR_ASSIGN_OR_RETURN(file, ProbeOnce(url));
        return Status::Ok();
      },
      [this] { return stopped_.load(); }));
  return file;
}

Result<std::string> Reader::ListOnce(const Url& bucket, const SignedRequest::Pairs& query) const {
  MR_ASSIGN_OR_RETURN(HttpGet get, Prepare(bucket, "", query));
  HttpHead head;
  std::string body;
  get.on_head = [&](const HttpHead& h) {
    head = h;
    return Status::Ok();
  };
  get.on_bytes = [&](std::string_view bytes) -> Result<bool> {
    if (body.size() + bytes.size() > kMostListingBytes)
      return Rejected(bucket.Text() + ": its listing has over 16 MiB");
    body += bytes;
    return true;
  };
  MR_RETURN_IF_ERROR(client_.Get(get).With("listing " + bucket.Text()));
  if (head.status != 200) return StatusOf(bucket, head, body);
  return body;
}

Result<std::vector<InputFile>> Reader::ExpandS3(const Url& url) const {
  const std::string key = url.key();
  const size_t wild = key.find_first_of("*?[");
  std::string prefix = key.substr(0, wild);
  if (wild == std::string::npos && !key.empty() && !key.ends_with('/')) {
    auto file = Probe(url);
    if (file.ok()) return std::vector<InputFile>{*std::move(file)};
    if (file.status().code() != Code::kNotFound) return file.status();
    prefix += '/';  // perhaps all objects below it are meant
  }
  Url bucket = url;
  bucket.path = "/";
  const size_t directory = prefix.rfind('/') == std::string::npos ? 0 : prefix.rfind('/') + 1;
  Url below = url;
  below.path = "/" + prefix.substr(0, directory);
  MR_RETURN_IF_ERROR(options_.roots.Check(below));
  std::vector<InputFile> files;
  size_t seen = 0, empty_pages = 0;
  std::string token;
  do {
    SignedRequest::Pairs query = {{"list-type", "2"}, {"encoding-type", "url"}, {"prefix", prefix}};
    if (!token.empty()) query.emplace_back("continuation-token", token);
    S3Listing listing;
    MR_RETURN_IF_ERROR(Try(
        options_.list_tries,
        [&]() -> Status {
          MR_ASSIGN_OR_RETURN(const std::string xml, ListOnce(bucket, query));
          auto parsed = ParseS3Listing(xml);
          if (!parsed.ok()) return Rejected(bucket.Text() + ": " + parsed.status().message());
          listing = *std::move(parsed);
          return Status::Ok();
        },
        [this] { return stopped_.load(); }));
    seen += listing.objects.size();
    for (const S3Object& object : listing.objects) {
      if (object.key.ends_with('/') || !object.key.starts_with(prefix) || Hidden(object.key, directory)) continue;
      if (wild != std::string::npos && !Matches(key, object.key)) continue;
      InputFile file;
      file.uri = "s3://" + url.host + "/" + object.key;
      MR_RETURN_IF_ERROR(Allowed(file.uri).status());
      file.bytes = object.bytes;
      file.id = VersionOf(object.etag, "");
      files.push_back(std::move(file));
    }
    if (seen > kMostObjects) {
      return Rejected(url.Text() + " names more than 100,000 objects; next: give prefixes with fewer");
    }
    if (listing.objects.empty()) ++empty_pages;
    if (!listing.next.empty() && (listing.next == token || empty_pages > kMostEmptyPages)) {
      return Rejected(bucket.Text() + ": the server's listing does not come to an end");
    }
    token = listing.next;
  } while (!token.empty());
  if (files.empty()) {
    return NotFound("no object is below " + url.Text() + " (names that begin with '_' or '.' are skipped)");
  }
  std::sort(files.begin(), files.end(), [](const InputFile& a, const InputFile& b) { return a.uri < b.uri; });
  return files;
}

Result<std::vector<InputFile>> Reader::Expand(const std::string& uri) const {
  MR_ASSIGN_OR_RETURN(const Url url, Allowed(uri));
  auto files = [&]() -> Result<std::vector<InputFile>> {
    if (url.s3()) return ExpandS3(url);
    MR_ASSIGN_OR_RETURN(InputFile file, Probe(url));
    return std::vector<InputFile>{std::move(file)};
  }();
  if (files.ok()) return files;
  const Status status = files.status().With("input");
  // A client would take it for a connection that broke.
  return status.code() == Code::kUnavailable ? Rejected(status.message() + "; next: submit again when it answers")
                                             : status;
}

}  // namespace mr::url
