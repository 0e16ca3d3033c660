// A cluster with certificates, as `mrctl cluster init` makes it, for benchmarks.
#pragma once

#include <string>
#include <vector>

#include "tests/bench/report.h"
#include "tests/support/cluster.h"

namespace mr::bench {

class Secured {
 public:
  // Further flags come behind those that a cluster with certificates needs here: jobs may use all local files.
  explicit Secured(int workers, const std::vector<std::string>& master_flags = {})
      : workers_(workers), cluster_(OptionsOf(workers, master_flags, root_)) {
    Must(test::RunMrctl({"cluster", "init", "--data", cluster_.master_data(), "--subject", "root", "--out", token()}));
    OrDie(cluster_.StartMaster(), "start the master");
    for (int w = 0; w < workers; ++w) {
      Must(Token({"create", "--join", JoinFile(root_, w), "--address", cluster_.master_address()}));
      OrDie(cluster_.StartWorker(w), "start a worker");
    }
    for (int tries = 0; LiveWorkers() < workers_; ++tries) {
      if (tries == 400) Die("not all workers registered");
    }
  }

  // The file with the token of an administrator.
  std::string token() const { return root_ / "token"; }
  // Makes a token for a person. Returns its file.
  std::string Person(const std::string& name, const std::string& roles) {
    const std::string file = root_ / (name + ".token");
    Must(Token({"create", "--subject", name, "--roles", roles, "--out", file}));
    return file;
  }
  // Runs mrctl with the administrator's token.
  test::RunResult Mrctl(const std::vector<std::string>& args) const {
    test::SpawnOptions options;
    options.env = {"MR_TOKEN_FILE=" + token()};
    return cluster_.Mrctl(args, Seconds(600), options);
  }
  void Run(const std::vector<std::string>& args) const { Must(Mrctl(args)); }
  const test::Cluster& cluster() const { return cluster_; }
  const test::TempDirectory& root() const { return root_; }

 private:
  static void Must(const test::RunResult& run) {
    if (run.exit != 0) Die(run.err);
  }
  static std::string JoinFile(const test::TempDirectory& root, int worker) {
    return root / ("join" + std::to_string(worker));
  }
  static test::ClusterOptions OptionsOf(int workers, const std::vector<std::string>& flags,
                                        const test::TempDirectory& root) {
    test::ClusterOptions options;
    options.workers = workers;
    options.master_flags = {"--file_roots", "any"};
    options.master_flags.insert(options.master_flags.end(), flags.begin(), flags.end());
    options.worker_flags = {"--file_roots", "any"};
    for (int w = 0; w < workers; ++w) options.flags_of.push_back({"--join", JoinFile(root, w)});
    return options;
  }
  test::RunResult Token(std::vector<std::string> args) const {
    args.insert(args.begin(), "token");
    args.insert(args.begin() + 2, {"--data", cluster_.master_data()});
    return test::RunMrctl(args);
  }
  int LiveWorkers() const {
    const std::string out = Mrctl({"-o", "ndjson", "workers"}).out;
    int live = 0;
    for (size_t at = 0; (at = out.find("\"state\":\"live\"", at)) != std::string::npos; ++at) ++live;
    return live;
  }

  const int workers_;
  test::TempDirectory root_;
  test::Cluster cluster_;
};

}  // namespace mr::bench
