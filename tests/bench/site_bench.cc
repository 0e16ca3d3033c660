// ./dev bench site: what open pages cost the master. 500 pages, half of them of a running job with 2,000 tasks, the
// others of the cluster, a worker, the store, the scheduler and the history. Each does as a browser: it gets the page,
// opens an event stream, and fetches the document when it has changed. Prints the waits in the master's queue without
// and with the pages, measured while the same job runs. Fails unless 500 streams are open all the time. Everything
// shares the cores of one machine, also the 500 readers.
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "common/io/clock.h"
#include "common/io/descriptors.h"
#include "common/io/files.h"
#include "tests/bench/loop_waits.h"
#include "tests/bench/report.h"
#include "tests/support/cluster.h"
#include "tests/support/http_get.h"

namespace mr::bench {
namespace {

constexpr int kPages = 500;
constexpr int kTasks = 2000;
constexpr Duration kWindow = Seconds(20), kOpening = Seconds(30);
constexpr double kLimitSeconds = .005;  // of the wait in the queue, at the 99th percentile: the goal

struct Waits {
  double share_in_limit = 0;  // of waits that are at most kLimitSeconds
  double bound = 0;           // the least bound that 99 % of the waits keep, in milliseconds
  double count = 0;
};

Waits Between(const std::map<double, double>& before, const std::map<double, double>& after) {
  Waits out;
  out.count = after.rbegin()->second - before.rbegin()->second;
  for (auto it = after.rbegin(); it != after.rend(); ++it) {
    const double share = (it->second - before.at(it->first)) / std::max(out.count, 1.0);
    if (share >= .99) out.bound = it->first * 1000;
    if (it->first == kLimitSeconds) out.share_in_limit = share;
  }
  return out;
}

// Where a page is, and its document below api/v1/, also as the parameter of its event stream.
struct PageKind {
  const char *page, *document, *of;
};
constexpr PageKind kJob = {"/jobs/job_1_0001", "jobs/job_1_0001/report", "jobs/job_1_0001/report"};
constexpr PageKind kOthers[] = {
    {"/", "cluster", "cluster"},
    {"/workers/w1", "workers/w1", "workers/w1"},
    {"/store", "store", "store"},
    {"/scheduler", "scheduler", "scheduler"},
    {"/history", "jobs?state=succeeded,failed,killed", "jobs%3Fstate%3Dsucceeded,failed,killed"},
};

// Numbers of event streams, and of documents and pages that were read.
struct Counts {
  std::atomic<int> open{0}, refused{0}, closed{0};  // closed: by the master, before the bench ended
  std::atomic<uint64_t> bytes{0}, fetches{0};
};

// A page in a browser. Ends when `stop` is set.
class Page {
 public:
  Page(uint16_t port, const PageKind& kind, uint32_t seed, const std::atomic<bool>& stop, Counts* counts)
      : port_(port), kind_(kind), rng_(seed), stop_(stop), counts_(counts) {
    thread_ = std::thread([this] { Main(); });
  }
  ~Page() { thread_.join(); }

 private:
  void Main() {
    Fetch(kind_.page);
    const UniqueFd events = test::Connect(port_);
    const std::string of = kind_.of;
    if (!test::SendAll(events, "GET /api/v1/events?of=" + of + " HTTP/1.1\r\nHost: localhost\r\n" + bearer_ + "\r\n")) {
      ++counts_->refused;
      return;
    }
    std::string head;
    char buffer[4096];
    while (head.find("\r\n\r\n") == std::string::npos) {
      const ssize_t n = recv(events.get(), buffer, sizeof buffer, 0);
      if (n <= 0) break;
      head.append(buffer, static_cast<size_t>(n));
    }
    if (!head.starts_with("HTTP/1.1 200 ")) {
      ++counts_->refused;
      return;
    }
    ++counts_->open;
    if (head.find("changed") != std::string::npos) FetchSoon();
    const timeval soon{1, 0};  // to look at stop_
    setsockopt(events.get(), SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon);
    while (!stop_) {
      const ssize_t n = recv(events.get(), buffer, sizeof buffer, 0);
      if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        --counts_->open;
        ++counts_->closed;
        return;
      }
      if (n > 0 && std::string_view(buffer, static_cast<size_t>(n)).find("changed") != std::string_view::npos)
        FetchSoon();
    }
  }

  void FetchSoon() {
    std::this_thread::sleep_for(std::chrono::milliseconds(rng_() % 300));
    Fetch(std::string("/api/v1/") + kind_.document);
  }

  void Fetch(const std::string& path) {
    const std::string request =
        "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n" + bearer_ + "\r\n";
    counts_->bytes += test::RawHttp(port_, request).size();
    ++counts_->fetches;
  }

  const uint16_t port_;
  const std::string bearer_ = test::BearerOf(port_);
  const PageKind kind_;
  std::minstd_rand rng_;
  const std::atomic<bool>& stop_;
  Counts* const counts_;
  std::thread thread_;
};

// Prints the streams. Returns whether all are open.
bool AllOpen(const char* when, const Counts& counts) {
  std::printf("%s: %d streams open, %d refused, %d closed\n", when, counts.open.load(), counts.refused.load(),
              counts.closed.load());
  return counts.open >= kPages;
}

int Main() {
  test::Cluster cluster({.workers = 2, .slots = 4, .master_flags = {"--scheduler=default"}});
  OrDie(cluster.Start(), "cluster");
  OrDie(cluster.WaitForWorkers(2), "workers");
  RaiseDescriptorLimit();
  const uint16_t port = cluster.master_http_port();
  std::string input;
  for (int i = 0; i < kTasks; ++i) input += std::string(4095, 'x') + "\n";
  const std::string file = cluster.directory() + "/input.txt";
  OrDie(WriteFileDurably(file, input), "input");
  // Eight slots: 2,000 tasks of .4 s take 100 s, longer than the bench.
  const auto run = cluster.Mrctl({"submit", "stream", "--map", "sleep .4; cat >/dev/null", "--reduces", "0", "--input",
                                  "file://" + file, "--output", "file://" + cluster.directory() + "/out", "--conf",
                                  "max_split_bytes=4k", "--detach"});
  if (run.exit != 0) Die("submit: " + run.err);

  const auto quiet_before = WaitsOf(port);
  std::this_thread::sleep_for(std::chrono::nanoseconds(kWindow.ns));
  const Waits quiet = Between(quiet_before, WaitsOf(port));

  std::atomic<bool> stop{false};
  Counts counts;
  std::vector<std::unique_ptr<Page>> pages;
  for (int i = 0; i < kPages; ++i) {
    const PageKind& kind = i % 2 == 0 ? kJob : kOthers[static_cast<size_t>(i / 2) % std::size(kOthers)];
    pages.push_back(std::make_unique<Page>(port, kind, static_cast<uint32_t>(i + 1), stop, &counts));
  }
  const Instant limit = Now() + kOpening;
  // Pages open in threads of their own; a bench may poll for them.
  while (counts.open + counts.refused + counts.closed < kPages && Now() < limit)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  // The first documents are made.
  std::this_thread::sleep_for(std::chrono::seconds(3));
  bool all_open = AllOpen("before the measurement", counts);
  const auto busy_before = WaitsOf(port);
  const uint64_t fetched = counts.fetches, read = counts.bytes;
  std::this_thread::sleep_for(std::chrono::nanoseconds(kWindow.ns));
  const Waits busy = Between(busy_before, WaitsOf(port));
  all_open = AllOpen("after it", counts) && all_open;
  const double seconds = kWindow.seconds();
  const double rate = static_cast<double>(counts.fetches - fetched) / seconds;
  const double megabytes = static_cast<double>(counts.bytes - read) / seconds / 1e6;
  stop = true;
  pages.clear();
  if (!all_open) {
    Die("fewer than " + std::to_string(kPages) +
        " pages were open, so the measurement is of fewer; the master serves one per 16 open files (ulimit -Hn)");
  }

  Report report;
  std::printf("%.0f and %.0f waits in %.0f s; %.0f documents and %.1f MB per second to %d pages\n", quiet.count,
              busy.count, seconds, rate, megabytes, kPages);
  report.Row("no page: 99 % of waits are at most", quiet.bound, "ms", kLimitSeconds * 1000, true);
  report.Row("500 pages: 99 % of waits are at most", busy.bound, "ms", kLimitSeconds * 1000, true);
  report.Row("500 pages: waits of at most 5 ms", busy.share_in_limit * 100, "%", 99, false);
  report.Row("500 pages: documents per second and page", rate / kPages, "1/s", .2, false);
  return report.all_met() ? 0 : 1;
}

}  // namespace
}  // namespace mr::bench

int main() { return mr::bench::Main(); }
