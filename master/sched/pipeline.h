// Turns "fifo,late(cap=0.2)" into policies, in that order. Who is asked when: policy_lists.h.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "master/sched/policy.h"
#include "master/sched/scheduler.h"

namespace mr::sched {

// The parameters in a policy's parentheses. A policy's factory takes what it knows; what nobody
// took is an error that names it.
class PolicyParams {
 public:
  explicit PolicyParams(std::map<std::string, std::string> values) : values_(std::move(values)) {}
  // The number under `name`, or `otherwise` where there is none. kInvalidArgument outside
  // [low, high] or where it is no number.
  Result<double> Number(const std::string& name, double otherwise, double low, double high);
  // The same for "60s", "250ms", "0s"; and for "on" or "off".
  Result<Duration> Time(const std::string& name, Duration otherwise);
  // A time, or one of these words, the first where none is given.
  Result<Duration> TimeOr(const std::string& name, const std::vector<std::pair<std::string_view, Duration>>& words);
  Result<bool> Flag(const std::string& name, bool otherwise);
  // One of `words`, the first where none is given; as its index. kInvalidArgument for another.
  Result<size_t> Choice(const std::string& name, const std::vector<std::string_view>& words);
  // kInvalidArgument where a parameter was given that nobody asked for.
  Status AllTaken() const;

 private:
  std::optional<std::string> Take(const std::string& name);

  std::map<std::string, std::string> values_;
  std::vector<std::string> known_;
};

class Pipeline {
 public:
  struct Member {
    std::unique_ptr<Policy> policy;
    bool cluster = false;  // it serves all jobs; the others those without a list of their own
  };

  // An empty pipeline does nothing.
  Pipeline() = default;
  // The cluster's list. One without a policy that places work (fifo, fair) begins with fifo.
  static Result<Pipeline> Parse(std::string_view list);
  // Its policies one by one, each as it is written, `mantri` as its parts. Checks nothing.
  static std::vector<std::string> Items(std::string_view list);
  // A job's own. "none" alone stands for no policy at all. kInvalidArgument also for a list, good by
  // itself, that is no job's to choose: with a policy of cluster scope.
  static Result<Pipeline> ParseOfJob(std::string_view list);
  // What a job's own list (empty: it has none) comes to under these wishes, against the cluster's list.
  // kInvalidArgument: on, and no such policy in the list; a list that the above refuse.
  static Result<std::vector<std::string>> ForJob(const std::string& cluster, const std::vector<std::string>& own,
                                                 Wish speculation, Wish clones);

  const std::vector<Member>& members() const { return members_; }
  // What these policies ask of the state's indexes.
  Sharing sharing() const;
  StatisticsWanted WantsStatistics() const;  // any of those that serve only some jobs

 private:
  std::vector<Member> members_;
};

}  // namespace mr::sched
