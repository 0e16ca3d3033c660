#include "jobs/mrctl/check_pairs.h"

#include <map>
#include <string>

#include "common/base/count.h"

namespace mr::ctl {
namespace {

// Guesses: a cluster of this size is checked completely, and nobody waits longer for an answer.
constexpr size_t kAskedWorkers = 16;
constexpr Duration kPairsTime = Seconds(20);

}  // namespace

Check CheckPairs(const ReachFn& reach, const std::vector<WorkerStatus>& workers, const std::function<Instant()>& now) {
  const auto check = [](Verdict verdict, const std::string& text, const std::string& next = "") {
    return Check{"network", verdict, text, next};
  };
  std::vector<const WorkerStatus*> here;
  for (const WorkerStatus& w : workers) {
    if (w.state == "live" || w.state == "draining" || w.state == "unfit" || w.state == "full") here.push_back(&w);
  }
  const size_t step = (here.size() + kAskedWorkers - 1) / kAskedWorkers;
  std::map<std::string, std::vector<std::string>> failed;  // address -> workers that do not reach it
  std::string why, unasked;
  size_t pairs = 0, asked = 0, broken = 0, sample = 0, silent = 0;
  bool to_master = false;
  const Instant end = now() + kPairsTime;
  for (size_t i = 0; i < here.size(); i += step) {
    ++sample;
    if (now() >= end) continue;
    const auto peers = reach(*ParseWorkerId(here[i]->id));
    if (!peers.ok()) {
      if (peers.status().code() == Code::kNotAllowed) return NotShown("network");
      // The worker is of an older release or lost.
      ++silent;
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
  if (here.empty()) return check(Verdict::kOk, "no worker to ask");
  const size_t late = sample - asked - silent;
  std::string left;
  if (silent > 0) left = std::to_string(silent) + " of " + CountOf(sample, "worker") + " gave no answer: " + unasked;
  if (late > 0) {
    left += (left.empty() ? "" : "; ") + std::to_string(late) + " of " + CountOf(sample, "worker") +
            (late == 1 ? " was" : " were") + " not asked within " + std::to_string(kPairsTime.ns / Seconds(1).ns) +
            " s";
  }
  if (asked == 0) return check(Verdict::kWarn, "not checked: " + left);
  const std::string of =
      CountOf(pairs, "connection") + " from " + (asked < here.size() ? std::to_string(asked) + " of " : "") +
      CountOf(asked < here.size() ? here.size() : asked, "worker") + " to the master and to other workers";
  const std::string work = pairs == 1 ? " works" : " work";
  if (broken == 0 && left.empty()) return check(Verdict::kOk, of + work);
  if (broken == 0) {
    return check(Verdict::kWarn, of + work + ", but others were not checked: " + left,
                 silent > 0 ? "mrctl why W for workers without an answer; those of an older release cannot check"
                            : "look for addresses that do not answer (mrctl workers), then run it again");
  }
  std::vector<std::string> texts;
  texts.reserve(failed.size());
  for (const auto& [address, from] : failed) texts.push_back(UpTo(from) + " cannot reach " + address);
  return check(Verdict::kFail,
               std::to_string(broken) + " of " + of + (broken == 1 ? " fails: " : " fail: ") + UpTo(texts) + " (" +
                   why + ")" + (left.empty() ? "" : "; " + left),
               std::string(to_master ? "workers connect again to the master at that address after a restart; "
                                     : "workers read blocks and shuffle outputs there, and jobs fail without; ") +
                   "check --bind, --advertise and --port of the daemon at the address, and firewalls in between");
}

}  // namespace mr::ctl
