#include "master/host/admission_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "common/base/count.h"
#include "common/base/text.h"
#include "master/sched/policies/jockey/jockey.h"

namespace mr::master {
namespace {

constexpr size_t kNamedQueues = 5;  // as many as people read

std::string SlotsText(uint32_t n) { return CountOf(n, "slot"); }

// Returns who is guaranteed slots of the cluster, in parentheses; "" if nobody is.
std::string TakenBy(const sched::Admission& a) {
  std::string text;
  const auto add = [&](uint32_t slots, const std::string& to) {
    text += (text.empty() ? " (" : ", ") + std::to_string(slots) + " to " + to;
  };
  for (size_t i = 0; i < a.min_shares.size() && i < kNamedQueues; ++i) {
    add(a.min_shares[i].second, "queue '" + a.min_shares[i].first + "' by its min share");
  }
  if (a.min_shares.size() > kNamedQueues) {
    uint32_t rest = 0;
    for (size_t i = kNamedQueues; i < a.min_shares.size(); ++i) rest += a.min_shares[i].second;
    add(rest, CountOf(a.min_shares.size() - kNamedQueues, "more queue by its", "more queues by theirs"));
  }
  if (a.promised > 0) add(a.promised, "jobs with deadlines");
  return text.empty() ? "" : text + ")";
}

// Returns the slots that nobody is guaranteed. Its queue may hold fewer.
uint32_t NotGuaranteed(const sched::Admission& a) {
  uint64_t taken = a.promised;
  for (const auto& [queue, slots] : a.min_shares) taken += slots;
  return a.cluster - static_cast<uint32_t>(std::min<uint64_t>(a.cluster, taken));
}

std::string LeftText(const sched::Admission& a) {
  const uint32_t left = NotGuaranteed(a);
  if (left == a.cluster)
    return "the cluster's " + SlotsText(left) + (left == 1 ? " is" : " are") + " guaranteed to nobody else";
  const std::string of = "of the cluster's " + std::to_string(a.cluster);
  if (left == 0) return of + " all are guaranteed to others" + TakenBy(a);
  return of + " only " + std::to_string(left) + (left > 1 ? " are" : " is") + " not guaranteed to others" + TakenBy(a);
}

std::string MaxShareText(const sched::Admission& a) {
  return "its queue '" + a.queue + "' may hold " + std::to_string(a.most) + " (its max share)";
}

// Returns why the job is not admitted. chain: the words for the chain of tasks on the critical path.
std::string WhyNot(const sched::Admission& a, const std::string& chain) {
  switch (a.answer) {
    case sched::Admission::Answer::kAdmitted: break;
    case sched::Admission::Answer::kBelowCriticalPath:
      return chain + " of tasks alone takes about " + HumanDuration(FromSeconds(a.critical_path));
    case sched::Admission::Answer::kTooFewSlots:
      return a.cluster == 0 ? "the cluster has no slots now"
                            : "all " + SlotsText(a.cluster) + " of the cluster are too few for it";
    case sched::Admission::Answer::kTaken: return "it needs " + SlotsText(a.slots) + ", and " + LeftText(a);
    case sched::Admission::Answer::kBeyondMaxShare:
      return "it needs " + SlotsText(a.slots) + ", and " + MaxShareText(a) +
             (NotGuaranteed(a) < a.slots ? "; besides, " + LeftText(a) : "");
  }
  return "";
}

// Returns a change of the queues after which the deadline could be promised; "" if there is none.
std::string QueueAdvice(const sched::Admission& a) {
  if (a.answer == sched::Admission::Answer::kBeyondMaxShare)
    return "raise the max share (mrctl queue set " + a.queue + " --max-share " + std::to_string(a.slots) + ")";
  if (a.answer != sched::Admission::Answer::kTaken || a.min_shares.empty()) return "";
  return "lower a min share (mrctl queue set " + a.min_shares.front().first + " --min-share N)";
}

std::string OrEarliest(const sched::Admission& a) {
  const Duration earliest = Earliest(a);
  const std::string advice = QueueAdvice(a);
  if (earliest.ns <= 0) return "; no deadline can be promised now" + (advice.empty() ? "" : ": " + advice);
  return "; the earliest deadline that can be promised is " + HumanDuration(earliest) +
         (advice.empty() ? "" : ", or " + advice);
}

// Returns whether the deadline cannot be met at all, or cannot be promised.
std::string CannotBe(const sched::Admission& a) {
  return a.answer == sched::Admission::Answer::kBelowCriticalPath ? "cannot be met: " : "cannot be promised: ";
}

// Returns the rule by which a deadline is promised, as a sentence.
std::string MarginText() {
  char text[160];
  std::snprintf(text, sizeof text,
                ". A promise keeps a safety margin: %.2g times the time in which 19 of 20 runs end, and %.0f %% of the "
                "deadline (slack and dead zone of Jockey, EuroSys 2012)",
                sched::kJockeySlack, 100 * sched::kAdmissionDeadZone);
  return text;
}

}  // namespace

Duration Earliest(const sched::Admission& a) {
  if (!std::isfinite(a.earliest)) return {};
  // One percent more, rounded up to the precision of HumanDuration.
  const double more = a.earliest * 1.01, step = more < 60 ? .1 : more < 3600 ? 1 : 60;
  return Millis(static_cast<int64_t>(std::ceil(more / step) * step * 1000));
}

std::string RefusalText(const sched::Admission& a, Duration deadline) {
  if (a.answer == sched::Admission::Answer::kAdmitted) return "";
  return "the deadline of " + HumanDuration(deadline) + " " + CannotBe(a) + WhyNot(a, "its longest chain") +
         OrEarliest(a) + " (--best-effort submits it all the same)" + MarginText();
}

std::string LateText(const sched::Admission& a, const sched::Job& job) {
  if (a.answer == sched::Admission::Answer::kAdmitted) return "";
  return "the deadline of " + HumanDuration(job.deadline) + " after its submission " + CannotBe(a) +
         WhyNot(a, "what is left of its longest chain") + OrEarliest(a) +
         (job.prediction.runs == 0 ? " (by a bound from its input: no earlier run is known)" : "") + MarginText();
}

std::string AccountText(const sched::Admission& a) {
  if (a.answer != sched::Admission::Answer::kAdmitted)
    return CannotBe(a) + WhyNot(a, "its longest chain") + OrEarliest(a) + MarginText();
  return "can be promised: it needs " + SlotsText(a.slots) + ", and " + LeftText(a) +
         (a.most < a.cluster ? "; " + MaxShareText(a) : "") +
         (a.available < a.slots ? "; it has to wait until other jobs have ended by their deadlines" : "") +
         OrEarliest(a) + MarginText();
}

}  // namespace mr::master
