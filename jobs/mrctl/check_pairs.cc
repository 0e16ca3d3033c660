#include "jobs/mrctl/check_pairs.h"

#include <map>
#include <string>

#include "common/io/clock.h"

namespace mr::ctl {
namespace {

// Guesses: a cluster of this size is checked completely, and nobody waits longer for an answer.
constexpr size_t kAsked = 16;
constexpr Duration kPairsTime = Seconds(20);

}  // namespace

Check CheckPairs(Client& client, const std::vector<WorkerStatus>& workers) {
  const auto check = [](Verdict verdict, const std::string& text, const std::string& next = "") {
    return Check{"network", verdict, text, next};
  };
  std::vector<const WorkerStatus*> here;
  for (const WorkerStatus& w : workers) {
    if (w.state == "live" || w.state == "draining" || w.state == "full") here.push_back(&w);
  }
  const size_t step = (here.size() + kAsked - 1) / kAsked;
  std::map<std::string, std::vector<std::string>> failed;  // address -> workers that do not reach it
  std::string why, unasked;
  size_t pairs = 0, asked = 0, broken = 0;
  bool to_master = false;
  const Instant end = Now() + kPairsTime;
  for (size_t i = 0; i < here.size() && Now() < end; i += step) {
    const auto peers = client.Reach(*ParseWorkerId(here[i]->id));
    if (!peers.ok()) {
      // The worker is of an older release or lost, or the caller lacks the role.
      if (unasked.empty()) unasked = here[i]->id + ": " + peers.status().message();
      continue;
    }
    ++asked;
    for (const ReachedPeer& peer : *peers) {
      ++pairs;
      if (peer.status.ok()) continue;
      ++broken;
      const std::string name = peer.worker.valid() ? Name(peer.worker) : "the master";
      to_master = to_master || !peer.worker.valid();
      failed[name + " at " + peer.address].push_back(here[i]->id);
      if (why.empty()) why = peer.status.message();
    }
  }
  if (asked == 0) {
    return check(unasked.empty() ? Verdict::kOk : Verdict::kWarn,
                 unasked.empty() ? "no worker to ask" : "not checked, since no worker could be asked: " + unasked);
  }
  const std::string of = std::to_string(pairs) + " connections from " + std::to_string(asked) +
                         (asked == 1 ? " worker" : " workers") + " to the master and to other workers";
  if (broken == 0) return check(Verdict::kOk, of + " work");
  std::vector<std::string> texts;
  for (const auto& [address, from] : failed) texts.push_back(UpTo(from) + " cannot reach " + address);
  return check(Verdict::kFail, std::to_string(broken) + " of " + of + " fail: " + UpTo(texts) + " (" + why + ")",
               std::string(to_master ? "workers connect again to the master at that address after a restart; "
                                     : "workers read blocks and shuffle outputs there, and jobs fail without; ") +
                   "check --bind, --advertise and --port of the daemon at the address, and firewalls in between");
}

}  // namespace mr::ctl
