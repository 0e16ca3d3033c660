// A cluster with something of everything in it, for tests of all verbs of mrctl, and what mrctl's own help says there
// is. What stands in examples of the help is here:
//   libvisits.so, an operator library, and books.txt in the working directory; /data/books.txt, the same as the latter;
//   /data/old.txt; /data/trash, a directory with a file;
//   what local runs leave is in `state` there; job_1_0001, a wordcount of /data/books.txt to /data/counts that
//   succeeded; job_1_0002, which runs; w1 and w2.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/cluster.h"

namespace mr::test {

inline constexpr char kDoneJob[] = "job_1_0001", kRunningJob[] = "job_1_0002";

class Prepared {
 public:
  // The error holds the end of the logs.
  Status Start();
  Cluster& cluster() { return cluster_; }
  std::string work() const { return cluster_.directory() + "/work"; }  // the working directory
  // `mrctl args...` there.
  RunResult Mrctl(const std::vector<std::string>& args) const;
  // A line of a shell there; mrctl is on its path and knows the master.
  RunResult Shell(const std::string& line) const;

 private:
  Cluster cluster_{{.workers = 2, .slots = 4}};
};

// A suite of tests with one such cluster, started before the first and gone after the last.
class PreparedTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    prepared_ = new Prepared;
    const Status started = prepared_->Start();
    ASSERT_TRUE(started.ok()) << started.ToString();
  }
  static void TearDownTestSuite() {
    delete prepared_;
    prepared_ = nullptr;
  }
  static RunResult Mrctl(const std::vector<std::string>& args) { return prepared_->Mrctl(args); }
  static RunResult Sh(const std::string& line) { return prepared_->Shell(line); }

  static inline Prepared* prepared_ = nullptr;
};

// "jobs", "job show", "fs ls": all of them, as `mrctl help` and the helps below it list them.
std::vector<std::string> LeafVerbs();
// `mrctl VERB --help`.
std::string HelpOf(const std::string& verb);

}  // namespace mr::test
