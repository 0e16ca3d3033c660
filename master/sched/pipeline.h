// Parses a list such as "one,another(parameter=0.2)" into policies, in that order. policy_lists.h decides which
// policies see which trigger.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/digest.h"
#include "common/base/status.h"
#include "master/sched/policy.h"
#include "master/sched/scheduler.h"

namespace mr::sched {

// Parameters in a policy's parentheses. The policy's factory takes those that it knows. Each parameter that remains
// is an error (AllTaken).
class PolicyParams {
 public:
  explicit PolicyParams(std::map<std::string, std::string> values) : values_(std::move(values)) {}
  // Returns the number under `name`, or `otherwise` if there is none. Errors: kInvalidArgument for a value that is no
  // number or lies outside [low, high].
  Result<double> Number(const std::string& name, double otherwise, double low, double high);
  // The same for a duration ("60s", "250ms", "0s"). Flag reads "on" or "off".
  Result<Duration> Time(const std::string& name, Duration otherwise);
  // Returns a duration, given as such or as one of these words. Default: the first word.
  Result<Duration> TimeOr(const std::string& name, const std::vector<std::pair<std::string_view, Duration>>& words);
  Result<bool> Flag(const std::string& name, bool otherwise);
  // Returns the index of one of `words`. Default: the first. Errors: kInvalidArgument for another word.
  Result<size_t> Choice(const std::string& name, const std::vector<std::string_view>& words);
  // Returns kInvalidArgument if a parameter was given that no factory took.
  Status AllTaken() const;

 private:
  std::optional<std::string> Take(const std::string& name);

  std::map<std::string, std::string> values_;
  std::vector<std::string> known_;
};

enum Trait : uint32_t;  // policies/list.h

class Pipeline {
 public:
  struct Member {
    Member(std::unique_ptr<Policy> p, bool serves_all)
        : policy(std::move(p)),
          cluster(serves_all),
          answers_offers(policy->AnswersOffers()),
          name_hash(Hash64(policy->name())) {}
    std::unique_ptr<Policy> policy;
    bool cluster = false;        // it serves all jobs; others serve only jobs without a list of their own
    bool answers_offers = true;  // Policy::AnswersOffers
    uint64_t name_hash = 0;      // of its name
  };

  // An empty pipeline does nothing.
  Pipeline() = default;
  // Parses the cluster's list. Without a policy that places work, the result begins with kPlainPolicies. Every policy
  // takes the parameter `enabled`, on or off. A policy that is off is left out everywhere except in Items.
  static Result<Pipeline> Parse(std::string_view list);
  // Returns the policies of the list as they are written, a group as its members. Checks nothing.
  static std::vector<std::string> Items(std::string_view list);
  // Parses a job's own list. "none" alone means no policy at all. Errors: kInvalidArgument also for a policy of
  // cluster scope, which no job may choose.
  static Result<Pipeline> ParseOfJob(std::string_view list);
  // Applies the user's wishes (`--speculation`, `--clone`) to a job's own list, or to the cluster's if `own` is empty.
  // Returns the job's list; empty: the cluster's list serves it. Errors: kInvalidArgument for `on` without such a
  // policy in the list, or for a list that the functions above refuse.
  static Result<std::vector<std::string>> ForJob(const std::string& cluster, const std::vector<std::string>& own,
                                                 Wish speculation, Wish clones);

  // Returns the positions in Items(list) of policies that need another policy which the list lacks (Policy::CheckList).
  static std::vector<size_t> Lacking(std::string_view list);
  // Returns true if the list has an enabled policy with this trait. The list may be invalid.
  static bool AnyIs(std::string_view list, Trait trait);

  const std::vector<Member>& members() const { return members_; }
  bool Has(std::string_view policy) const;
  // Returns what these policies need, all together.
  Needs needs() const;

 private:
  std::vector<Member> members_;
};

}  // namespace mr::sched
