#include "master/sched/policies/dolly/delay_model.h"

#include <algorithm>
#include <limits>

namespace mr::sched {

namespace {

constexpr double kNeverEnds = std::numeric_limits<double>::infinity();
constexpr double kAsGood = 1e-9;  // relative to the least mean: sums of equal terms differ by rounding

// Simulates the reads of one upstream output, from one change of rates to the next. Reused: BestOmega asks for
// thousands, and allocation would be most of their cost.
class Reads {
 public:
  Reads(size_t most, const Contention& contention) {
    for (uint32_t m = 1; m <= most; ++m) shares_.push_back(contention.Share(m));
  }

  // Returns the ends by reader, valid until the next call.
  const std::vector<double>& Ends(const std::vector<double>& offsets, size_t readers, double read_seconds,
                                  double omega) {
    ends_.assign(readers, kNeverEnds);
    if (omega == kNeverEnds) {
      for (size_t k = 0; k < std::min(readers, offsets.size()); ++k) ends_[k] = offsets[k] + read_seconds;
      return ends_;
    }
    now_ = 0;
    finished_ = begun_ = 0;
    loads_.assign(offsets.size(), 0);
    left_.assign(readers, read_seconds);
    replica_.assign(readers, 0);
    double next = 0;
    while (next != kNeverEnds) {
      MoveTo(next);
      while (finished_ < offsets.size() && offsets[finished_] <= now_) ++finished_;
      TakeIdle();
      if (now_ >= omega) JoinBusy();
      next = NextChange(offsets, omega);
    }
    return ends_;
  }

 private:
  bool Reading(size_t k) const { return ends_[k] == kNeverEnds; }  // requires that reader k has begun
  double EndOf(size_t k) const { return now_ + left_[k] / shares_[loads_[replica_[k]] - 1]; }

  void Begin(size_t replica) {
    ++loads_[replica];
    replica_[begun_++] = replica;
  }

  void TakeIdle() {
    for (size_t replica = 0; replica < finished_ && begun_ < ends_.size(); ++replica) {
      if (loads_[replica] == 0) Begin(replica);
    }
  }

  void JoinBusy() {
    const auto begin = loads_.begin(), end = begin + static_cast<std::ptrdiff_t>(finished_);
    while (begin != end && begun_ < ends_.size()) Begin(static_cast<size_t>(std::min_element(begin, end) - begin));
  }

  // Returns when a read ends or, while a reader waits, a replica is finished or omega is over.
  double NextChange(const std::vector<double>& offsets, double omega) const {
    double next = kNeverEnds;
    for (size_t k = 0; k < begun_; ++k) {
      if (Reading(k)) next = std::min(next, EndOf(k));
    }
    if (begun_ == ends_.size() || now_ >= omega) return next;
    return std::min(next, finished_ < offsets.size() ? std::min(omega, offsets[finished_]) : omega);
  }

  // Advances to `next`. The read that ends then ends exactly, as EndOf is the same sum; so the number of moves is
  // bounded.
  void MoveTo(double next) {
    for (size_t k = 0; k < begun_; ++k) {
      if (!Reading(k)) continue;
      left_[k] = EndOf(k) <= next ? 0 : left_[k] - (next - now_) * shares_[loads_[replica_[k]] - 1];
    }
    now_ = next;
    for (size_t k = 0; k < begun_; ++k) {
      if (!Reading(k) || left_[k] > 0) continue;
      ends_[k] = now_;
      --loads_[replica_[k]];
    }
  }

  std::vector<double> shares_;  // by number of readers, less one
  double now_ = 0;
  size_t finished_ = 0, begun_ = 0;  // finished replicas; readers that have one, or had
  std::vector<size_t> loads_;        // readers, by replica
  std::vector<double> left_, ends_;  // by reader; left: seconds of reading alone
  std::vector<size_t> replica_;      // by reader that has begun
};

// read: scratch space, by clone.
double SecondsOf(const DelaySample& sample, double omega, Fetching fetching, Reads* reads, std::vector<double>* read) {
  const size_t clones = sample.compute.size();
  read->assign(clones, 0);
  for (size_t u = 0; u < sample.offsets.size(); ++u) {
    const std::vector<double>& ends = reads->Ends(sample.offsets[u], clones, sample.read_seconds, omega);
    const size_t first = sample.first.empty() ? 0 : sample.first[u];
    for (size_t k = 0; k < clones; ++k) {
      double& clone = (*read)[(first + k) % clones];
      clone = fetching == Fetching::kParallel ? std::max(clone, ends[k]) : clone + ends[k];
    }
  }
  double seconds = kNeverEnds;
  for (size_t i = 0; i < clones; ++i) seconds = std::min(seconds, (*read)[i] + sample.compute[i]);
  return seconds;
}

}  // namespace

double Contention::Share(uint32_t readers) const {
  if (readers <= alpha.size()) return alpha[readers - 1];
  if (alpha.empty()) return 1.0 / readers;
  const size_t known = alpha.size();
  const double together = std::min(1.0, static_cast<double>(known) * alpha.back());
  // With one reader measured, nothing is known of sharing; B is there for all.
  const double ratio = known < 2 ? 0 : alpha[known - 1] / alpha[known - 2];
  double share = alpha.back();
  for (size_t m = known; m < readers; ++m) share *= ratio;
  return std::max(share, together / readers);
}

Contention Contention::Power(double alpha, uint32_t most) {
  const Contention measured{{1, alpha}};
  Contention all;
  all.alpha.clear();
  for (uint32_t m = 1; m <= most; ++m) all.alpha.push_back(measured.Share(m));
  return all;
}

std::vector<double> ReadEnds(const std::vector<double>& offsets, size_t readers, double read_seconds, double omega,
                             const Contention& contention) {
  return Reads(readers, contention).Ends(offsets, readers, read_seconds, omega);
}

double TaskSeconds(const DelaySample& sample, double omega, const Contention& contention, Fetching fetching) {
  Reads reads(sample.compute.size(), contention);
  std::vector<double> read;
  return SecondsOf(sample, omega, fetching, &reads, &read);
}

double BestOmega(const std::vector<DelaySample>& samples, const Contention& contention, Fetching fetching,
                 double longest) {
  size_t most = 0;
  for (const DelaySample& s : samples) most = std::max(most, s.compute.size());
  Reads reads(most, contention);
  std::vector<double> read;
  double best = 0, least = kNeverEnds;
  for (int i = 0; i < kOmegaPoints; ++i) {
    const double omega = longest * i / (kOmegaPoints - 1);
    double sum = 0;
    for (const DelaySample& s : samples) {
      const double seconds = SecondsOf(s, omega, fetching, &reads, &read);
      // The same samples count at each omega: whether a read or a computation ends does not depend on it.
      if (seconds != kNeverEnds) sum += seconds;
    }
    if (sum >= least * (1 - kAsGood)) continue;
    least = sum;
    best = omega;
  }
  return best;
}

}  // namespace mr::sched
