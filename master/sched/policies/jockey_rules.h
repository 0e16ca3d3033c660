// What Jockey knows of a job and what it asks for: progress, the Amdahl predictor, utility, one step of the control
// loop. Pure functions, apart from the policy that uses them (jockey).
//
// Jockey (Ferguson, Bodik, Kandula, Boutin, Fonseca, EuroSys 2012), 4.1 to 4.3; papers.md 4. f_s: finished share of
// the tasks of stage s; T_s, Q_s: run and queueing time of all its tasks in an earlier run; l_s: its longest task;
// L_s: longest path behind it; a: slots; C(p, a): time left at progress p with a slots, a distribution.
//   Amdahl            S = max over s with f_s < 1 of (1 - f_s) l_s + L_s,  P = sum of (1 - f_s) T_s - S
//                     time left with a slots: S + P / a
//   totalworkWithQ    sum f_s (Q_s + T_s) / sum (Q_s + T_s)        totalwork: the same without Q
//   vertexfrac        finished tasks / tasks                       CP: 1 - S / S_0
//   minstage          min over stages that began and have not ended of b_s + f_s (e_s - b_s), where b_s and e_s are
//   its
//                     begin and end as shares of the earlier run's length; minstage-inf: of a run with a slot for
//                     each
//   asked for         the smallest a with the greatest E[U(elapsed + slack C(p, a))], then smoothed
// Departures: P is not below 0. Utilities that differ by a rounding are equal. What is left is corrected by what the
// running job shows (Today, Correct): C(p, a) of the paper knows the earlier runs alone, so that a day on which all
// tasks take longer is seen only as progress falls behind, and by then the dead zone and a part of the slack are
// gone.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace mr::sched {

enum class Indicator {
  kTotalWorkWithQueueing,
  kTotalWork,
  kVertexFraction,
  kCriticalPath,
  kMinStage,
  kMinStageInfinite
};

// Of one stage, from earlier runs; seconds. Stages are in topological order.
struct StageProfile {
  uint32_t tasks = 0;
  double run = 0, queue = 0;            // T_s, Q_s
  double ran = 0;                       // of T_s what its attempts said that they computed
  double longest = 0;                   // l_s
  double behind = 0;                    // L_s
  double begin = 0, end = 1;            // shares of the earlier run
  double begin_free = 0, end_free = 1;  // of a run with a slot for each task
  template <class V>
  static void Fields(V&& v) {
    using T = StageProfile;
    v(&T::tasks, &T::run, &T::queue, &T::ran, &T::longest, &T::behind, &T::begin, &T::end, &T::begin_free,
      &T::end_free);
  }
};

// L_s of each stage from the longest task of each and who reads it: readers[s] are the stages that read s.
void SetPathsBehind(std::vector<StageProfile>* stages, const std::vector<std::vector<uint32_t>>& readers);

// S and P of stages with these finished shares (one for each stage, in [0, 1]).
struct Amdahl {
  double serial = 0, parallel = 0;
  double Left(double slots) const { return serial + parallel / slots; }
};
Amdahl AmdahlOf(const std::vector<StageProfile>& stages, const std::vector<double>& finished);

// In [0, 1]; 1 once all is finished.
double ProgressOf(Indicator indicator, const std::vector<StageProfile>& stages, const std::vector<double>& finished);

// Piecewise linear through points (seconds since the submit, utility) of rising times, flat before the first, the
// last slope goes on.
class Utility {
 public:
  // REQUIRES at least one point.
  explicit Utility(std::vector<std::pair<double, double>> points) : points_(std::move(points)) {}
  // The paper's for a deadline: 1 up to it, -1 ten minutes behind it, then a thousand lost in 990 minutes; `unit`
  // seconds stand for a minute.
  static Utility OfDeadline(double deadline, double unit);
  double At(double seconds) const;
  Utility ShiftedLeft(double seconds) const;

 private:
  std::vector<std::pair<double, double>> points_;
};

// The smallest of these allocations, ascending, with the greatest expected utility. left[i]: equally likely times
// left with allocations[i]. REQUIRES as many of both, at least one, and no empty left[i].
uint32_t SmallestOfBest(const std::vector<uint32_t>& allocations, const std::vector<std::vector<double>>& left,
                        double elapsed, double slack, const Utility& utility);
// What a stage's committed tasks computed so far: so many of them, seconds together.
struct Computed {
  uint32_t tasks = 0;
  double seconds = 0;
};
// Times as long as in earlier runs that tasks take this time: what those that are done computed over what as many did
// then, of stages of which kShown are done (the first to end are the short ones), and as if a tenth of the job had
// been as it was. Both guesses. 1 where nothing is known. REQUIRES as many of both.
inline constexpr double kShown = .3, kAsItWas = .1;
double Today(const std::vector<StageProfile>& stages, const std::vector<Computed>& done);
// left as in SmallestOfBest: no less than the work that is left takes with so many slots, each time `today` times.
// A job that held more slots than it is guaranteed has come to its progress by another way than runs with that many
// slots, and may have more of its work left than these had then.
void Correct(const std::vector<StageProfile>& stages, const std::vector<double>& finished,
             const std::vector<uint32_t>& allocations, double today, std::vector<std::vector<double>>* left);
// A_t = A_{t-1} + h (raw - A_{t-1}).
inline double Smoothed(double before, double raw, double hysteresis) { return before + hysteresis * (raw - before); }

}  // namespace mr::sched
