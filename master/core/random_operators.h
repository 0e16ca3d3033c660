// Operators that gave other content for equal input, by JobSpec::OperatorOf: what a job shows, later jobs know.
// Bounded: the ones found longest ago are forgotten first.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/base/fields.h"
#include "common/base/ids.h"

namespace mr::master {

class RandomOperators {
 public:
  static constexpr size_t kMost = 10'000;  // a guess: 1 MB, and more operators than a cluster sees in months

  struct Found {
    std::string op;
    JobId job;  // that showed it first
    template <class V>
    static void Fields(V&& v) {
      v(&Found::op, &Found::job);
    }
  };

  void Add(const std::string& op, JobId job);
  // Null where nothing is known against it.
  const JobId* Find(const std::string& op) const;
  // The one found longest ago first; Add in this order gives the same again.
  std::vector<Found> All() const;

 private:
  std::map<std::string, JobId> jobs_;
  std::deque<std::string> order_;
};

}  // namespace mr::master
