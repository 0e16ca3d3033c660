// ExpectDeterministic: checks that a job's answer does not depend on how the engine cuts, combines, orders and repeats
// its work. It runs the job under many seeds, each task twice, and names the operator at fault.
//
//   mr::LocalJob job(mr_library_table());
//   job.Input("in", text);
//   const mr::Determinism same = mr::ExpectDeterministic(job, "words");
//   EXPECT_TRUE(same.ok) << same.text;      // or: if (!same.ok) puts(same.text.c_str())
//
// By default the answer is the sorted lines of all parts: the engine may place and order lines as it likes. Give
// `answer` to compare more, or less.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "paceline/testing/local_job.h"
#include "paceline/testing/shown_bytes.h"
#include "paceline/testing/variation.h"

namespace mr {

// Options of ExpectDeterministic.
struct DeterminismOptions {
  uint32_t seeds = 20;      // number of runs
  uint64_t first_seed = 1;  // the environment variable MR_TEST_SEED replaces it, and then only that seed runs
  std::function<std::string(const LocalResult&)> answer;  // the compared text; empty: SortedOutput
};

// Result of ExpectDeterministic.
struct Determinism {
  bool ok = false;    // no run differed
  uint64_t seed = 0;  // the seed that shows the difference; 0: the job fails without a variation
  std::string op;     // the operator at fault; empty: not known
  std::string stage;  // its stage
  std::string text;   // message: what, where, the first difference, how to repeat it
};

// Returns the lines of all parts, sorted by their bytes, after their header if they have one.
inline std::string SortedOutput(const LocalResult& result) {
  std::vector<std::string> lines;
  for (const std::string& part : result.parts) {
    for (size_t at = result.header.size(); at < part.size();) {
      const size_t end = std::min(part.find('\n', at), part.size());
      lines.push_back(part.substr(at, end - at));
      at = end + 1;
    }
  }
  std::sort(lines.begin(), lines.end());
  std::string all = result.header;
  for (const std::string& line : lines) all += line + "\n";
  return all;
}

namespace sdk {

// Returns "line 3 is 'a', and 'b' without", with bytes that are not printable as \xHH.
inline std::string FirstDifference(std::string_view with, std::string_view without) {
  for (size_t number = 1;; ++number) {
    const std::string_view line = with.substr(0, with.find('\n')), other = without.substr(0, without.find('\n'));
    if (line != other || with.empty() || without.empty()) {
      const size_t at = CommonPrefix(line, other);
      return "line " + std::to_string(number) + " is " + (with.empty() ? "missing" : QuotedBytes(line, '\'', at)) +
             ", and " + (without.empty() ? "missing" : QuotedBytes(other, '\'', at)) + " without";
    }
    with.remove_prefix(std::min(line.size() + 1, with.size()));
    without.remove_prefix(std::min(other.size() + 1, without.size()));
  }
}

class DeterminismCheck {
 public:
  DeterminismCheck(LocalJob* job, std::string name, std::vector<std::string> args, DeterminismOptions options)
      : job_(*job), name_(std::move(name)), args_(std::move(args)), options_(std::move(options)) {
    if (!options_.answer) options_.answer = SortedOutput;
    if (const char* seed = std::getenv("MR_TEST_SEED")) {
      options_.first_seed = std::strtoull(seed, nullptr, 10);
      options_.seeds = 1;
    }
  }

  ~DeterminismCheck() { job_.SetVariation(Variation()).RunTasksTwice(false); }
  DeterminismCheck(const DeterminismCheck&) = delete;

  Determinism Run() {
    const LocalResult plain = RunWith(Variation(), true);
    if (!plain.ok) return FailOf(0, plain);
    expected_ = options_.answer(plain);
    for (uint32_t i = 0; i < options_.seeds; ++i) {
      const uint64_t seed = options_.first_seed + i;
      const LocalResult result = RunWith(Variation(seed), true);
      if (Same(result)) continue;
      if (!result.failed_operator.empty()) return FailOf(seed, result);
      return Blame(seed, result, plain);
    }
    Determinism good;
    good.ok = true;
    return good;
  }

 private:
  static constexpr uint64_t kBlameSeeds = 30;

  LocalResult RunWith(const Variation& variation, bool twice) {
    job_.SetVariation(variation);
    job_.RunTasksTwice(twice);
    return job_.Run(name_, args_);
  }
  bool Same(const LocalResult& result) const { return result.ok && options_.answer(result) == expected_; }

  // Varies one stage and one thing at a time. The first that makes the difference alone is at fault.
  Determinism Blame(uint64_t seed, const LocalResult& whole, const LocalResult& plain) {
    struct Kind {
      Vary vary;
      const char* what;
    };
    constexpr Kind kKinds[] = {
        {Vary::kBatches, "where its blocks or batches end"},
        {Vary::kShares, "how tasks shared a partition that it reads in parts (ReadInParts)"},
        {Vary::kCombiner, "how often its combiner ran on what it emitted, and on which parts of a group"},
        {Vary::kOrder, "the order of its output, which carries no meaning according to its flag MR_UNORDERED"}};
    // A variation that shows in the whole job may have no effect alone; another seed may then show it.
    for (uint64_t tried = seed; tried < seed + kBlameSeeds; ++tried) {
      for (size_t s = 0; s < plain.stages.size(); ++s) {
        for (const Kind& kind : kKinds) {
          const LocalResult one =
              RunWith(Variation(tried, static_cast<uint32_t>(kind.vary), static_cast<int>(s)), false);
          if (Same(one)) continue;
          std::string what = std::string("the job's answer depends on ") + kind.what;
          if (kind.vary != Vary::kBatches && kind.vary != Vary::kShares && !plain.stages[s].readers.empty()) {
            what += " (its own fault, or that of " + plain.stages[s].readers + ", which reads it)";
          }
          return Fail(tried, plain.stages[s].op, plain.stages[s].name, what + ": " + Difference(one));
        }
      }
    }
    for (uint64_t tried = seed; tried < seed + kBlameSeeds; ++tried) {
      const LocalResult cut = RunWith(Variation(tried, static_cast<uint32_t>(Vary::kSplits)), false);
      if (!Same(cut)) return BlameSplits(tried, cut, plain);
    }
    std::string undeclared;
    for (const LocalStage& s : plain.stages) {
      if ((s.flags & MR_DETERMINISTIC) == 0) undeclared += (undeclared.empty() ? "" : ", ") + s.op;
    }
    return Fail(seed, "", "",
                "the job's answer differs, though no one stage makes it alone" +
                    (undeclared.empty() ? "" : " (not said to be MR_DETERMINISTIC: " + undeclared + ")") + ": " +
                    Difference(whole));
  }

  Determinism BlameSplits(uint64_t seed, const LocalResult& cut, const LocalResult& plain) const {
    std::string ops, op, stage;
    for (const LocalStage& s : plain.stages) {
      if (!s.reads_files) continue;
      if (op.empty()) {
        op = s.op;
        stage = s.name;
      }
      ops += (ops.empty() ? "" : ", ") + s.op;
    }
    return Fail(
        seed, op, stage,
        "the job's answer depends on where files are cut into splits, or on the number of tasks (files are read by " +
            ops + "): " + Difference(cut));
  }

  std::string Difference(const LocalResult& result) const {
    return result.ok ? FirstDifference(options_.answer(result), expected_) : "it fails: " + result.Failure();
  }

  Determinism FailOf(uint64_t seed, const LocalResult& result) const {
    const std::string& record = result.failed_record;
    return Fail(seed, result.failed_operator, result.failed_stage,
                (record.empty() ? "" : "failed at " + record + ": ") + result.error);
  }

  Determinism Fail(uint64_t seed, const std::string& op, const std::string& stage, const std::string& what) const {
    Determinism bad;
    bad.seed = seed;
    bad.op = op;
    bad.stage = stage;
    bad.text = "job '" + name_ + "'" + (seed == 0 ? "" : ", seed " + std::to_string(seed)) +
               (op.empty() ? "" : ": operator '" + op + "' of stage '" + stage + "'") + ": " + what +
               (seed == 0 ? "" : "\nrun it again with MR_TEST_SEED=" + std::to_string(seed));
    return bad;
  }

  LocalJob& job_;
  const std::string name_;
  const std::vector<std::string> args_;
  DeterminismOptions options_;
  std::string expected_;
};

}  // namespace sdk

// Runs the check. Leaves the job without a variation.
inline Determinism ExpectDeterministic(LocalJob& job, const std::string& name,
                                       const std::vector<std::string>& args = {}, DeterminismOptions options = {}) {
  return sdk::DeterminismCheck(&job, name, args, std::move(options)).Run();
}

}  // namespace mr
