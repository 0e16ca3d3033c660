// Rules of jockey: progress, the Amdahl predictor, utility, one step of the control loop. Pure functions.
//
// Jockey (Ferguson, Bodik, Kandula, Boutin, Fonseca, EuroSys 2012), 4.1 to 4.3. f_s: finished share of the tasks of
// stage s; T_s, Q_s: run and queueing time of all its tasks in an earlier run; l_s: its longest task; L_s: longest path
// behind it; a: slots; C(p, a): time left at progress p with a slots, a distribution.
//   Amdahl            S = max over s with f_s < 1 of (1 - f_s) l_s + L_s,  P = sum of (1 - f_s) T_s - S
//                     time left with a slots: S + P / a
//   totalworkWithQ    sum f_s (Q_s + T_s) / sum (Q_s + T_s)        totalwork: the same without Q
//   vertexfrac        finished tasks / tasks                       CP: 1 - S / S_0
//   minstage          min over stages that began and have not ended of b_s + f_s (e_s - b_s);  b_s, e_s: begin
//                     and end as shares of the earlier run's length; minstage-inf: of a run with a slot for each task
//   asked for         the smallest a with the greatest E[U(elapsed + slack C(p, a))], then smoothed
// Departures: P is not below 0. Utilities that differ by rounding are equal. The time left is corrected by what the
// running job shows (Today, Correct). The paper's C(p, a) knows only earlier runs. If all tasks take longer today, it
// notices only when progress falls behind. By then the dead zone and a part of the slack are used up.
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

// Profile of one stage from earlier runs, in seconds. Stages are in topological order.
struct StageProfile {
  uint32_t tasks = 0;
  double run = 0, queue = 0;            // T_s, Q_s
  double ran = 0;                       // part of T_s that its attempts reported as computing
  double longest = 0;                   // l_s
  double behind = 0;                    // L_s
  double begin = 0, end = 1;            // shares of the earlier run
  double begin_free = 0, end_free = 1;  // the same, of a run with a slot for each task
  template <class V>
  static void Fields(V&& v) {
    using T = StageProfile;
    v(&T::tasks, &T::run, &T::queue, &T::ran, &T::longest, &T::behind, &T::begin, &T::end, &T::begin_free,
      &T::end_free);
  }
};

// Sets L_s of each stage from the longest task of each. readers[s]: the stages that read s.
void SetPathsBehind(std::vector<StageProfile>* stages, const std::vector<std::vector<uint32_t>>& readers);

// S and P of stages with these finished shares (one for each stage, in [0, 1]).
struct Amdahl {
  double serial = 0, parallel = 0;
  double Left(double slots) const { return serial + parallel / slots; }
};
Amdahl AmdahlOf(const std::vector<StageProfile>& stages, const std::vector<double>& finished);

// Returns the progress in [0, 1]; 1 once all is finished.
double ProgressOf(Indicator indicator, const std::vector<StageProfile>& stages, const std::vector<double>& finished);

// Piecewise linear function through points (seconds since the submission, utility) of rising times. It is flat before
// the first point, and the last slope goes on.
class Utility {
 public:
  // Requires: at least one point.
  explicit Utility(std::vector<std::pair<double, double>> points) : points_(std::move(points)) {}
  // Returns the paper's utility for a deadline d: linear through (d, 1), (d + 10, -1) and (d + 1000, -1000) in minutes,
  // and 1 before d. unit: seconds that stand for a minute.
  static Utility OfDeadline(double deadline, double unit);
  double At(double seconds) const;
  Utility ShiftedLeft(double seconds) const;

 private:
  std::vector<std::pair<double, double>> points_;
};

// Returns the smallest of these allocations, ascending, with the greatest expected utility. left[i]: equally likely
// times left with allocations[i], in seconds. Requires: as many of both, at least one, and no empty left[i].
uint32_t SmallestOfBest(const std::vector<uint32_t>& allocations, const std::vector<std::vector<double>>& left,
                        double elapsed, double slack, const Utility& utility);
// Computing of a stage's committed tasks so far: their number, and their seconds together.
struct Computed {
  uint32_t tasks = 0;
  double seconds = 0;
};
// Guesses. kShown: share of a stage's tasks that must be done before it counts, as short tasks end first. kAsItWas:
// share of the job that counts as unchanged.
inline constexpr double kShown = .3, kAsItWas = .1;
// Returns the factor by which tasks take longer than in earlier runs: what the tasks that are done computed, over what
// as many did then. Returns 1 if nothing is known. Requires: as many of both.
double Today(const std::vector<StageProfile>& stages, const std::vector<Computed>& done);
// Corrects `left` (as in SmallestOfBest): each time becomes at least (work left / slots) * today. A job that held more
// slots than its guarantee may have more work left than earlier runs with that guarantee at the same progress.
void Correct(const std::vector<StageProfile>& stages, const std::vector<double>& finished,
             const std::vector<uint32_t>& allocations, double today, std::vector<std::vector<double>>* left);
// Returns A_t = A_{t-1} + h (raw - A_{t-1}).
inline double Smoothed(double before, double raw, double hysteresis) { return before + hysteresis * (raw - before); }

}  // namespace mr::sched
