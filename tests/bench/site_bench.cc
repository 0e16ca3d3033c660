// ./dev bench site: what open pages cost the master. 500 pages, half of them of a running job with 2,000 tasks, half of
// the cluster, each as a browser has it: an event stream, and a fetch of the document when it has changed. Prints the
// waits in the master's queue without and with the pages, measured while the same job runs. Everything shares the cores
// of one machine, also the 500 readers.
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "common/io/clock.h"
#include "common/io/files.h"
#include "tests/bench/report.h"
#include "tests/support/cluster.h"
#include "tests/support/http_get.h"

namespace mr::bench {
namespace {

constexpr int kPages = 500;
constexpr int kTasks = 2000;
constexpr Duration kWindow = Seconds(20);
constexpr double kLimitSeconds = .005;  // of the wait in the queue, at the 99th percentile: the goal

// A histogram of /metrics: counts by upper bound; infinity: all.
std::map<double, double> WaitsOf(uint16_t port) {
  const std::string text = test::HttpGet(port, "/metrics");
  const std::string name = "mr_loop_wait_seconds_bucket{le=\"";
  std::map<double, double> counts;
  for (size_t at = 0; (at = text.find(name, at)) != std::string::npos; ++at) {
    const size_t value = text.find("\"} ", at);
    counts[std::strtod(text.c_str() + at + name.size(), nullptr)] = std::strtod(text.c_str() + value + 3, nullptr);
  }
  if (counts.empty()) Die("the master has no mr_loop_wait_seconds");
  return counts;
}

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

// A page in a browser. Ends when `stop` is set.
class Page {
 public:
  Page(uint16_t port, std::string path, uint32_t seed, const std::atomic<bool>& stop, std::atomic<uint64_t>* bytes,
       std::atomic<uint64_t>* fetches)
      : port_(port), path_(std::move(path)), rng_(seed), stop_(stop), bytes_(bytes), fetches_(fetches) {
    thread_ = std::thread([this] { Main(); });
  }
  ~Page() { thread_.join(); }

 private:
  void Main() {
    const UniqueFd events = test::Connect(port_);
    const std::string request = "GET /api/v1/events?of=" + path_ + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
    if (!WriteAll(events.get(), request).ok()) return;
    const timeval soon{1, 0};  // to look at stop_
    setsockopt(events.get(), SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon);
    char buffer[4096];
    while (!stop_) {
      const ssize_t n = recv(events.get(), buffer, sizeof buffer, 0);
      if (n == 0) return;
      if (n > 0 && std::string_view(buffer, static_cast<size_t>(n)).find("changed") != std::string_view::npos) Fetch();
    }
  }

  void Fetch() {
    std::this_thread::sleep_for(std::chrono::milliseconds(rng_() % 300));
    const std::string request =
        "GET /api/v1/" + path_ + " HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n";
    bytes_->fetch_add(test::RawHttp(port_, request).size());
    fetches_->fetch_add(1);
  }

  const uint16_t port_;
  const std::string path_;
  std::minstd_rand rng_;
  const std::atomic<bool>& stop_;
  std::atomic<uint64_t>*const bytes_, *const fetches_;
  std::thread thread_;
};

int Main() {
  test::Cluster cluster({.workers = 2, .slots = 4, .master_flags = {"--scheduler=default"}});
  OrDie(cluster.Start(), "cluster");
  OrDie(cluster.WaitForWorkers(2), "workers");
  const uint16_t port = cluster.master_http_port();
  std::string input;
  for (int i = 0; i < kTasks; ++i) input += std::string(4095, 'x') + "\n";
  const std::string file = cluster.directory() + "/input.txt";
  OrDie(WriteFileDurably(file, input), "input");
  // Eight slots: 2,000 tasks of .2 s take 50 s.
  const auto run = cluster.Mrctl({"submit", "stream", "--map", "sleep .2; cat >/dev/null", "--reduces", "0", "--input",
                                  "file://" + file, "--output", "file://" + cluster.directory() + "/out", "--conf",
                                  "max_split_bytes=4k", "--detach"});
  if (run.exit != 0) Die("submit: " + run.err);
  const std::string job = "jobs/job_1_0001/report";

  const auto quiet_before = WaitsOf(port);
  std::this_thread::sleep_for(std::chrono::nanoseconds(kWindow.ns));
  const Waits quiet = Between(quiet_before, WaitsOf(port));

  std::atomic<bool> stop{false};
  std::atomic<uint64_t> bytes{0}, fetches{0};
  std::vector<std::unique_ptr<Page>> pages;
  for (int i = 0; i < kPages; ++i) {
    pages.push_back(std::make_unique<Page>(port, i % 2 == 0 ? job : "cluster", static_cast<uint32_t>(i + 1), stop,
                                           &bytes, &fetches));
  }
  // The first documents are made, and the connections are open.
  std::this_thread::sleep_for(std::chrono::seconds(3));
  const auto busy_before = WaitsOf(port);
  const uint64_t fetched = fetches, read = bytes;
  std::this_thread::sleep_for(std::chrono::nanoseconds(kWindow.ns));
  const Waits busy = Between(busy_before, WaitsOf(port));
  const double seconds = kWindow.seconds();
  const double rate = static_cast<double>(fetches - fetched) / seconds;
  const double megabytes = static_cast<double>(bytes - read) / seconds / 1e6;
  stop = true;
  pages.clear();

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
