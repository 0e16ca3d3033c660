#include "common/url/http_get.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>

#include "common/base/version.h"
#include "common/url/curl_api.h"

namespace mr::url {
namespace {

constexpr size_t kIdleHandles = 32;             // each keeps some connections (guess)
constexpr size_t kMostHeaderBytes = 64u << 10;  // of one answer (guess)

bool SpecialV4(uint32_t address) {
  const uint32_t first = address >> 24;
  return address >> 16 == 0xa9fe || first == 0 || first >= 224;  // 169.254/16, 0/8, multicast and above
}

// Returns whether this is no address of a server that a name should lead to: link-local ones, at which clouds offer
// credentials to their machines, unspecified and multicast ones.
bool SpecialAddress(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    return SpecialV4(ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr));
  }
  if (address.sa_family != AF_INET6) return true;
  const in6_addr& v6 = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  if (IN6_IS_ADDR_V4MAPPED(&v6)) {
    uint32_t v4 = 0;
    std::memcpy(&v4, v6.s6_addr + 12, sizeof v4);
    return SpecialV4(ntohl(v4));
  }
  // fd00:ec2::254 is where one cloud offers credentials over IPv6.
  static constexpr uint8_t kMetadata[16] = {0xfd, 0x00, 0x0e, 0xc2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54};
  return IN6_IS_ADDR_LINKLOCAL(&v6) || IN6_IS_ADDR_UNSPECIFIED(&v6) || IN6_IS_ADDR_MULTICAST(&v6) ||
         std::memcmp(&v6, kMetadata, sizeof kMetadata) == 0;
}

std::string AddressText(const sockaddr& address) {
  char text[INET6_ADDRSTRLEN] = "?";
  const void* const bytes = address.sa_family == AF_INET
                                ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in&>(address).sin_addr)
                                : static_cast<const void*>(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
  return ::inet_ntop(address.sa_family, bytes, text, sizeof text) == nullptr ? "?" : text;
}

bool SameName(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

std::optional<uint64_t> NumberIn(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

// One transfer: what libcurl's callbacks share.
class Transfer {
 public:
  Transfer(const HttpGet& call) : call_(call) {}

  static size_t OnHeader(char* data, size_t, size_t size, void* self) {
    return static_cast<Transfer*>(self)->Header({data, size}) ? size : 0;
  }
  static size_t OnBody(char* data, size_t, size_t size, void* self) {
    return static_cast<Transfer*>(self)->Body({data, size}) ? size : 0;
  }
  static int OnProgress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    const Transfer& transfer = *static_cast<Transfer*>(self);
    return transfer.call_.cancelled && transfer.call_.cancelled() ? 1 : 0;
  }
  static curl_socket_t OnSocket(void* self, curlsocktype, struct curl_sockaddr* address) {
    Transfer& transfer = *static_cast<Transfer*>(self);
    if (!transfer.call_.literal_host && SpecialAddress(address->addr)) {
      transfer.special_ = AddressText(address->addr);
      return CURL_SOCKET_BAD;
    }
    return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  }

  // Returns the outcome of a transfer that libcurl ended with `code`.
  Status End(CURLcode code, const std::string& why) {
    if (!failed_.ok()) return failed_;
    if (code == CURLE_OK && !begun_) BeginBody();  // an answer without a body
    if (!failed_.ok() || code == CURLE_OK || enough_) return failed_;
    if (code == CURLE_ABORTED_BY_CALLBACK) return {Code::kCancelled, "the read was cancelled"};
    if (!special_.empty()) {
      return {Code::kNotAllowed, "the host leads to " + special_ +
                                     ", an address that is used only where a URL has it in place of the host's name; "
                                     "next: name the address in the URL and in --url_roots, if it is meant"};
    }
    if (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE) {
      return Rejected(why +
                      "; next: give the file of the authority that signed the server's certificate "
                      "(--url_ca, SSL_CERT_FILE)");
    }
    return Unavailable(why);
  }

 private:
  bool Header(std::string_view line) {
    header_bytes_ += line.size();
    if (header_bytes_ > kMostHeaderBytes) return Fail(Unavailable("the head of the answer has more than 64 KiB"));
    while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
    if (line.starts_with("HTTP/")) {  // the first line of this answer, or of one after "100 Continue"
      head_ = {};
      const size_t space = line.find(' ');
      const auto status = space == line.npos ? std::nullopt : NumberIn(line.substr(space + 1, 3));
      head_.status = status ? static_cast<int>(*status) : 0;
      return true;
    }
    const size_t colon = line.find(':');
    if (colon == line.npos) return true;
    const std::string_view name = line.substr(0, colon);
    std::string_view value = line.substr(colon + 1);
    while (value.starts_with(' ') || value.starts_with('\t')) value.remove_prefix(1);
    while (value.ends_with(' ') || value.ends_with('\t')) value.remove_suffix(1);
    if (SameName(name, "Content-Length")) head_.length = NumberIn(value);
    if (SameName(name, "Content-Range")) head_.range = ParseContentRange(value);
    if (SameName(name, "ETag")) head_.etag = std::string(value);
    if (SameName(name, "Last-Modified")) head_.last_modified = std::string(value);
    if (SameName(name, "Location")) head_.location = std::string(value);
    return true;
  }

  bool BeginBody() {
    begun_ = true;
    return Fail(call_.on_head(head_));
  }

  bool Body(std::string_view bytes) {
    if (!begun_ && !BeginBody()) return false;
    const auto more = call_.on_bytes(bytes);
    if (!more.ok()) return Fail(more.status());
    enough_ = !*more;
    return *more;
  }

  bool Fail(const Status& status) {
    if (failed_.ok()) failed_ = status;
    return status.ok();
  }

  const HttpGet& call_;
  HttpHead head_;
  size_t header_bytes_ = 0;
  bool begun_ = false, enough_ = false;
  Status failed_;
  std::string special_;
};

}  // namespace

// Handles of libcurl that no call uses. Each has the connections of its last calls.
struct HttpClient::Handles {
  ~Handles() {
    for (CURL* const handle : idle) curl->easy_cleanup(handle);
  }
  CURL* Take(const CurlApi& api) {
    std::lock_guard lock(mutex);
    if (curl == nullptr) curl = &api;
    if (idle.empty()) return api.easy_init();
    CURL* const handle = idle.back();
    idle.pop_back();
    return handle;
  }
  void Return(const CurlApi& api, CURL* handle) {
    api.easy_reset(handle);
    std::lock_guard lock(mutex);
    if (idle.size() < kIdleHandles) return idle.push_back(handle);
    api.easy_cleanup(handle);
  }

  std::mutex mutex;  // guards what is below
  std::vector<CURL*> idle;
  const CurlApi* curl = nullptr;
};

HttpClient::HttpClient(HttpOptions options) : options_(std::move(options)), handles_(std::make_unique<Handles>()) {}
HttpClient::~HttpClient() = default;

Status HttpClient::Get(const HttpGet& call) const {
  MR_ASSIGN_OR_RETURN(const CurlApi* const curl, LoadCurl());
  CURL* const handle = handles_->Take(*curl);
  if (handle == nullptr) return Unavailable("no memory for a transfer");
  Transfer transfer(call);
  curl_slist* headers = curl->slist_append(nullptr, "Accept-Encoding: identity");
  for (const std::string& line : call.headers) headers = curl->slist_append(headers, line.c_str());
  char error[CURL_ERROR_SIZE] = "";
  const auto set = [&](CURLoption option, auto value) { (void)curl->easy_setopt(handle, option, value); };
  set(CURLOPT_URL, call.url.c_str());
  set(CURLOPT_PATH_AS_IS, 1L);
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_PROXY, "");  // none, whatever the environment says
  set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  set(CURLOPT_HTTPHEADER, headers);
  set(CURLOPT_USERAGENT, (std::string("paceline/") + kVersion).c_str());
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_ERRORBUFFER, &error[0]);
  set(CURLOPT_BUFFERSIZE, 256L << 10);
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options_.connect.ns / 1'000'000));
  set(CURLOPT_LOW_SPEED_LIMIT, static_cast<long>(options_.stalled_bytes));
  set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(std::max<int64_t>(1, options_.stalled.ns / 1'000'000'000)));
  if (!options_.ca_file.empty()) set(CURLOPT_CAINFO, options_.ca_file.c_str());
  set(CURLOPT_HEADERFUNCTION, &Transfer::OnHeader);
  set(CURLOPT_HEADERDATA, &transfer);
  set(CURLOPT_WRITEFUNCTION, &Transfer::OnBody);
  set(CURLOPT_WRITEDATA, &transfer);
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, &Transfer::OnProgress);
  set(CURLOPT_XFERINFODATA, &transfer);
  set(CURLOPT_OPENSOCKETFUNCTION, &Transfer::OnSocket);
  set(CURLOPT_OPENSOCKETDATA, &transfer);
  const CURLcode code = curl->easy_perform(handle);
  Status end = transfer.End(code, error[0] != '\0' ? error : curl->easy_strerror(code));
  handles_->Return(*curl, handle);
  curl->slist_free_all(headers);
  return end;
}

std::optional<HttpHead::Range> ParseContentRange(std::string_view value) {
  constexpr std::string_view kUnit = "bytes ";
  if (!value.starts_with(kUnit)) return std::nullopt;
  value.remove_prefix(kUnit.size());
  const size_t slash = value.find('/');
  if (slash == value.npos) return std::nullopt;
  HttpHead::Range range;
  if (value.substr(slash + 1) != "*") {
    range.total = NumberIn(value.substr(slash + 1));
    if (!range.total) return std::nullopt;
  }
  const std::string_view bytes = value.substr(0, slash);
  if (bytes == "*") return range.total ? std::optional(range) : std::nullopt;
  const size_t dash = bytes.find('-');
  if (dash == bytes.npos) return std::nullopt;
  const auto first = NumberIn(bytes.substr(0, dash)), last = NumberIn(bytes.substr(dash + 1));
  if (!first || !last || *last < *first || *last == UINT64_MAX) return std::nullopt;
  if (range.total && *last >= *range.total) return std::nullopt;
  range.first = *first;
  range.end = *last + 1;
  return range;
}

}  // namespace mr::url
