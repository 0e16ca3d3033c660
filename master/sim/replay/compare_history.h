// Compares lists of policies on recorded jobs: what each would have meant for job times, slot time and deadlines, with
// bands for the error of the model.
//
// Method. From each recorded run, other runs are drawn (resample.h), and each list is simulated on the same draws. The
// 5th to 95th percentile of the draws is the band of an outcome. The recorded list is simulated, too: bands of all
// lists are then widened by the factor with which nine of ten recorded jobs lie inside their own (all of them, if there
// are fewer than ten). The band of a change is that of the differences in the same draw, widened by the error of the
// model where it simulates the recorded run itself. Jobs below kShortestJob count in none of these, unless all
// jobs are as short.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "master/sim/replay/history_model.h"
#include "master/sim/replay/whatif.h"

namespace mr::sim {

struct Question {
  std::string text;  // as it was asked
  Change change;
};
// Parses "LIST [--workers N] [--slots N]". LIST is the name of a list or policies; "recorded" stands for the recorded
// list. Errors: kInvalidArgument.
Result<Question> ParseQuestion(const std::string& text);

struct Band {
  double low = 0, middle = 0, high = 0;
};

enum class Judgement : uint8_t {
  kTooShort,      // the job is shorter than what the model resolves
  kCannotTell,    // the band is wider than kWidestBand
  kNoDifference,  // the change is inside the error
  kFaster,
  kSlower,
};
const char* Word(Judgement conclusion);

// Widest band of a change that means anything, to either side: a share of the longer one of the two times.
inline constexpr double kWidestBand = .25;

struct Forecast {
  Band seconds;  // of a job, or the mean of all jobs
  Band change;   // of job times against the recorded list, as a share: -.1 is a tenth faster
  Judgement conclusion = Judgement::kNoDifference;
};

struct Compared {
  struct Job {
    std::string id, name;  // job_1_0001 or local_0017
    double measured = 0;   // seconds
    bool inside = false;   // its own band, before it was widened, has `measured`
    bool too_short() const { return measured < kShortestJob; }
  };
  struct List {
    Question question;
    uint32_t workers = 0, slots = 0;  // of the largest cluster, if there are several
    Forecast all;                     // change: geometric mean over the jobs that are not too short
    Band slot_seconds, missed;        // missed: number of missed deadlines
    std::vector<Forecast> jobs;       // as Compared::jobs
  };
  std::vector<Job> jobs;
  std::vector<std::string> recorded_lists;    // each once
  uint32_t deadlines = 0, missed = 0;         // of recorded jobs
  double mean_seconds = 0, slot_seconds = 0;  // as measured
  uint32_t clusters = 0, draws = 0;
  double widened = 1, error = 0;  // error: of the model on the recorded runs themselves, a geometric mean
  size_t inside() const;
  size_t too_short() const;  // number of jobs that no change of job times has
  std::vector<List> lists;   // the recorded list first, then one for each question
  std::vector<std::string> notes;
};

// documents: runs on clusters of their own. only: the comparison has this job alone, and jobs beside it run with it;
// else all. Simulates each about 40 times for each list, fewer times if they are large. Errors: kInvalidArgument: a
// list; kRejected: nothing can be simulated, or a simulation does not end.
Result<Compared> CompareHistory(const std::vector<history::Document>& documents, std::optional<JobId> only,
                                const std::vector<Question>& questions);

// all_jobs: a line for each job, also where there are more than twenty.
std::string Table(const Compared& compared, bool all_jobs = false);
// Returns one JSON document and a newline.
std::string Json(const Compared& compared);

}  // namespace mr::sim
