// ./dev bench secure: the cost of certificates, tokens, grants and the best rooms of tasks. Two clusters of one master
// and three workers are up at once: one with --insecure and rooms of tier 0 without rules about files (--own_rights),
// one with all defaults of `mrctl cluster init`. They do the same work in turn; medians of the ratios of pairs, with
// their 95 % intervals. Exits with 1 if a target is missed: a ratio is above its limit if its whole interval is.
// Arguments: pairs of short jobs, default 40; pairs of long ones, default 7.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "common/io/clock.h"
#include "common/rpc/credentials.h"
#include "common/rpc/tls_credentials.h"
#include "jobs/mrctl/client.h"
#include "tests/bench/empty_job.h"
#include "tests/bench/report.h"
#include "tests/bench/secured.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"

namespace mr::bench {
namespace {

constexpr int kWorkers = 3;

class Side {
 public:
  explicit Side(bool secure) {
    if (secure) {
      secured_ = std::make_unique<Secured>(kWorkers);
      rpc::SetProcessCredentials(std::make_shared<rpc::TokenCredentials>(
          rpc::TokenCredentials::Places{secured_->token(), ""}, rpc::ProcessCredentials()));
    } else {
      plain_ = std::make_unique<test::Cluster>(test::ClusterOptions{
          .workers = kWorkers, .master_flags = {"--insecure"}, .worker_flags = {"--insecure", "--own_rights"}});
      OrDie(plain_->Start(), "start");
    }
    client_ = std::make_unique<ctl::Client>(secure ? secured_->cluster().master_address() : plain_->master_address());
    OrDie(client_->WaitConnected(), "connect");
    test::WriteBible(root_ / "bible");
    Run({"fs", "put", root_ / "bible", "/bible"});
  }

  // All return seconds.
  double Empty(const std::vector<std::string>& args) {
    const JobId id = OrDie(client_->Submit(EmptyJob(args, NextOut()), ""), "submit");
    OrDie(client_->Watch(id), "watch");
    while (true) {
      const auto status = OrDie(client_->NextStatus(Now() + Seconds(300)), "watch");
      if (!status) Die("the job did not end within five minutes");
      if (!Ended(status->state)) continue;
      if (status->state != JobState::kSucceeded) Die("the job failed: " + status->error);
      return static_cast<double>(status->elapsed_us) * 1e-6;
    }
  }
  double Small() {
    return Timed({"submit", "wordcount", "--input", "/bible", "--output", "/o" + std::to_string(++out_)});
  }
  void MakeRecords(const std::string& rows) {
    Run({"submit", "terasort", "generate", "--rows", rows, "--output", "/records"});
  }
  double Sort() {
    const std::string out = "/sorted" + std::to_string(++out_);
    const double seconds = Timed({"submit", "terasort", "sort", "--input", "/records", "--output", out});
    Run({"fs", "rm", "-r", out});
    return seconds;
  }

 private:
  std::string NextOut() { return root_ / ("out" + std::to_string(++out_)); }
  void Run(const std::vector<std::string>& args) {
    if (secured_ != nullptr) return secured_->Run(args);
    const auto run = plain_->Mrctl(args, Seconds(600));
    if (run.exit != 0) Die(run.err);
  }
  double Timed(const std::vector<std::string>& args) {
    const Instant begin = Now();
    Run(args);
    return (Now() - begin).seconds();
  }

  test::TempDirectory root_;
  std::unique_ptr<test::Cluster> plain_;  // one of the two
  std::unique_ptr<Secured> secured_;
  std::unique_ptr<ctl::Client> client_;
  int out_ = 0;
};

// The median, and the interval of order statistics that holds the true one in 95 % of all cases.
struct Ratio {
  double median, low, high;
};
Ratio RatioOf(std::vector<double> ratios) {
  std::sort(ratios.begin(), ratios.end());
  const size_t n = ratios.size();
  size_t k = 0;
  double below = 0, term = std::pow(.5, static_cast<double>(n));
  while (k < n && below + term <= .025) {
    below += term;
    term *= static_cast<double>(n - k) / static_cast<double>(k + 1);
    ++k;
  }
  if (k == 0) return {ratios[n / 2], ratios.front(), ratios.back()};
  return {ratios[n / 2], ratios[k - 1], ratios[n - k]};
}

template <class F>
bool Compare(const char* what, int pairs, double limit, Side& plain, Side& secure, F run) {
  std::vector<double> ratios, times;
  for (int i = -1; i < pairs; ++i) {  // the first pair warms up
    double p, s;
    if (i % 2 == 0) {
      p = run(plain);
      s = run(secure);
    } else {
      s = run(secure);
      p = run(plain);
    }
    if (i < 0) continue;
    ratios.push_back(s / p);
    times.push_back(p);
  }
  const Ratio r = RatioOf(ratios);
  const bool missed = r.low > limit;
  std::printf("%-44s %3d pairs  plain %9.1f ms  ratio %.3f  [%.3f, %.3f]  <= %.2f  %s\n", what, pairs,
              Median(times) * 1e3, r.median, r.low, r.high, limit,
              missed           ? "MISSED"
              : r.high > limit ? "undecided"
                               : "met");
  std::fflush(stdout);
  return !missed;
}

int Main(int many, int few) {
  ::setenv("MR_INSECURE", "1", 1);  // for the plain side
  Side plain(false);
  Side secure(true);
  bool met = Compare("empty job of 10 + 10 tasks", many, 1.1, plain, secure, [](Side& s) {
    return s.Empty({"--maps", "10", "--reduces", "10"});
  });
  met &= Compare("Bible wordcount, start of mrctl to its exit", many, 1.1, plain, secure,
                 [](Side& s) { return s.Small(); });
  met &= Compare("10,000 empty tasks, a process per attempt", few, 1.25, plain, secure, [](Side& s) {
    return s.Empty({"--maps", "10000", "--reduces", "1", "--isolate"});
  });
  plain.MakeRecords("2560000");
  secure.MakeRecords("2560000");
  met &= Compare("sort of 256 MB over three workers", few, 1.3, plain, secure, [](Side& s) { return s.Sort(); });
  return met ? 0 : 1;
}

}  // namespace
}  // namespace mr::bench

int main(int argc, char** argv) {
  const auto number = [&](int i, int otherwise) { return argc > i ? std::max(1, std::atoi(argv[i])) : otherwise; };
  return mr::bench::Main(number(1, 40), number(2, 7));
}
