// Lists and reads the files behind http://, https:// and s3:// URLs, for the planner of the master and for workers.
// Read-only.
//
// A job reads one version of its inputs. The planner records the length and a number that stands for the ETag (or,
// where the server gives none, for Last-Modified). Each read compares both with the server's answer.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/base/time.h"
#include "common/exec/pool.h"
#include "common/io/input_files.h"
#include "common/url/http_get.h"
#include "common/url/sigv4.h"
#include "common/url/url_roots.h"

namespace mr::url {

// Values of the flags of master and worker. Empty ones are taken from the environment, if it has them.
struct Settings {
  std::string roots;        // --url_roots, UrlRoots::Parse
  std::string ca;           // --url_ca: PEM file; SSL_CERT_FILE
  std::string s3_endpoint;  // --s3_endpoint: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL; default: that of the region at AWS
  std::string s3_region;    // --s3_region: AWS_REGION, AWS_DEFAULT_REGION; default: us-east-1
  std::string s3_keys;      // --s3_keys: file for ParseS3Keys; AWS_ACCESS_KEY_ID, ...; default: requests are not signed
};

struct ReaderOptions {
  UrlRoots roots;
  HttpOptions http;
  Url s3_endpoint;
  std::string s3_region;
  Status https_error;  // if not OK, of each https:// request: a setting of the environment cannot be used
  Status s3_error;     // likewise, of each s3:// request
  std::function<Result<S3Keys>()> s3_keys;  // called for each request, so that keys can be replaced
  int tries = 5;                            // of a read
  int list_tries = 3;                       // of a request that lists: somebody waits for it
  Duration first_wait = Millis(500);        // before the second one; doubled for each further one
  std::function<uint64_t()> wall_clock;     // seconds since 1970; empty: the system's
};

// The part of a file that is to be read, as planned.
struct FilePart {
  std::string uri;
  uint64_t offset = 0, length = 0;
  uint64_t file_bytes = 0;
  uint64_t version = 0;  // InputFile::id; 0: not known
  bool whole = false;    // the server may send the file from its start: nobody else reads it
};

struct ReadEnd {
  Status status;        // kUnavailable after all tries; kCancelled; kNotAllowed; kRejected
  std::string changed;  // for people: the file is not as planned; then no try helps, and status is OK
};

inline constexpr unsigned kListThreads = 4;  // guess: they only wait

// Thread: any.
class Reader {
 public:
  explicit Reader(ReaderOptions options);
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // Returns the files behind a URL, sorted. http: one file. s3: an object, all objects below a prefix, or those that
  // match a pattern; no names that begin with '_' or '.'. Blocks. Errors: kInvalidArgument; kNotAllowed; kNotFound;
  // kRejected: an answer that cannot be used, or none after all tries.
  Result<std::vector<InputFile>> Expand(const std::string& uri) const;

  // Passes the bytes of the part to `sink`, in order. An error of the sink ends the read. Blocks. A read that breaks
  // off continues where it was. cancelled: may be empty.
  ReadEnd Read(const FilePart& part, const std::function<Status(std::string_view)>& sink,
               const std::function<bool()>& cancelled) const;

  // Runs a closure that may call Expand on one of kListThreads threads, which begin at the first call. Other threads
  // that a process has may be needed while a server does not answer. The closure must not release the last owner of
  // this reader.
  void Post(std::function<void()> fn) const;
  // Ends lists and reads. Closures that have not begun are dropped, and no others run when it returns. Must not be
  // called from a closure.
  void Stop() const;

 private:
  struct Prepared;
  class PartRead;
  Result<Url> Allowed(const std::string& uri) const;
  // Makes the GET of a URL. range: value of the header Range, or "". query: of S3, not encoded.
  Result<HttpGet> Prepare(const Url& url, const std::string& range, const SignedRequest::Pairs& query) const;
  // Runs a request until it ends with another error than kUnavailable, at most `tries` times.
  Status Try(int tries, const std::function<Status()>& once, const std::function<bool()>& cancelled) const;
  Result<InputFile> Probe(const Url& url) const;
  Result<InputFile> ProbeOnce(const Url& url) const;
  Result<std::vector<InputFile>> ExpandS3(const Url& url) const;
  Result<std::string> ListOnce(const Url& bucket, const SignedRequest::Pairs& query) const;

  const ReaderOptions options_;
  const HttpClient client_;
  mutable std::atomic<bool> stopped_ = false;
  mutable std::mutex mutex_;             // guards what is below
  mutable std::unique_ptr<Pool> lists_;  // null before the first Post
};

// Returns a reader, or null where no URL may be read. Errors: kInvalidArgument and kNotAllowed, with the flag. Settings
// of the environment are refused when a request needs them, since most jobs read no URLs.
Result<std::shared_ptr<const Reader>> MakeReader(Settings settings);

// Returns the error of a daemon without a reader.
Status NoReader(const std::string& uri);

}  // namespace mr::url
