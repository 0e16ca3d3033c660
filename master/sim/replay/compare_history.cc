#include "master/sim/replay/compare_history.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>
#include <utility>

#include "common/base/count.h"
#include "master/sched/named_lists.h"
#include "master/sim/engine/first_offer.h"
#include "master/sim/replay/resample.h"

namespace mr::sim {

namespace {

constexpr double kLowShare = .05, kHighShare = .95;  // nine of ten outcomes lie between
constexpr uint32_t kMostDraws = 40, kLeastDraws = 10;
constexpr uint64_t kTasksInAll = 400'000;  // over all simulations: about 20 s (a guess)

// Returns the value with this share of the others below it, between two of them where needed. Requires: not empty.
double Quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

Band BandOf(const std::vector<double>& values) {
  return {Quantile(values, kLowShare), Quantile(values, .5), Quantile(values, kHighShare)};
}

// Bands of times are those of their logarithms. floor: the least distance to either side.
Band Widened(const Band& band, double factor, double floor) {
  return {band.middle - std::max(factor * (band.middle - band.low), floor), band.middle,
          band.middle + std::max(factor * (band.high - band.middle), floor)};
}
// Returns by which factor the band must be widened to contain the value.
double Needed(const Band& band, double value, double floor) {
  const double side = std::max(value < band.middle ? band.middle - band.low : band.high - band.middle, floor);
  return std::abs(value - band.middle) / side;
}
Band Exp(const Band& band) { return {std::exp(band.low), std::exp(band.middle), std::exp(band.high)}; }
double FloorOf(double seconds) { return std::log1p(kResolution / std::max(seconds, kResolution)); }

// Returns the factor with which nine of ten are inside; all, if there are fewer than ten.
double FactorOf(std::vector<double> needed) {
  std::sort(needed.begin(), needed.end());
  const size_t n = needed.size();
  const auto rank = static_cast<size_t>(std::ceil(.9 * static_cast<double>(n + 1)));
  return std::max(1.0, needed[std::min(rank, n) - 1]);
}

// The outcome of one simulation of all documents.
struct Outcome {
  std::vector<double> seconds;  // logarithms, per job
  double slot_seconds = 0, missed = 0;
  double mean() const {
    double sum = 0;
    for (const double s : seconds) sum += std::exp(s);
    return sum / static_cast<double>(seconds.size());
  }
};

// Returns the number of first attempts that were ended because another one won.
size_t StoppedOf(const history::Job& job) {
  size_t stopped = 0;
  for (const auto& stage : job.stages) {
    for (const auto& task : stage.tasks) {
      for (const history::Attempt& a : task.attempts) {
        stopped += a.state == sched::AttemptState::kKilled && a.cause == Cause::kFirst;
      }
    }
  }
  return stopped;
}

class Comparison {
 public:
  explicit Comparison(const std::vector<Question>& questions) {
    Compared::List recorded;
    recorded.question.text = "recorded";
    out_.lists.push_back(std::move(recorded));
    for (const Question& question : questions) {
      out_.lists.emplace_back();
      out_.lists.back().question = question;
    }
  }

  Result<Compared> Run(const std::vector<history::Document>& documents, std::optional<JobId> only) {
    MR_RETURN_IF_ERROR(Load(documents, only));
    std::vector<const HistoryModel*> models;
    for (const HistoryModel& model : models_) models.push_back(&model);
    const Resampler resampler(models);
    MR_ASSIGN_OR_RETURN(const Outcome again, Simulate([&](size_t m) { return models_[m].as_it_was; }));
    outcomes_.resize(out_.lists.size());
    out_.draws = DrawsFor();
    for (uint32_t draw = 0; draw < out_.draws; ++draw) {
      for (size_t l = 0; l < out_.lists.size(); ++l) {
        MR_ASSIGN_OR_RETURN(Outcome outcome, Simulate([&](size_t m) {
                              Experiment drawn = Changed(resampler.Draw(m, draw), out_.lists[l].question.change);
                              OfferFromAnyWorker(&drawn);
                              return drawn;
                            }));
        outcomes_[l].push_back(std::move(outcome));
      }
    }
    Judge(again);
    return std::move(out_);
  }

 private:
  Status Load(const std::vector<history::Document>& documents, std::optional<JobId> only) {
    Status last = Rejected("there is no recorded job");
    size_t left_out = 0;
    for (const history::Document& document : documents) {
      auto model = ModelOf(document, only);
      if (!model.ok()) {
        ++left_out;
        last = model.status();
        continue;
      }
      MR_RETURN_IF_ERROR(CheckRecordedLists(model->as_it_was));
      AddList(model->as_it_was.policies);
      for (const Experiment::ListChange& list : model->as_it_was.list_changes) AddList(list.policies);
      for (size_t j = 0; j < model->jobs.size(); ++j) {
        tasks_ += model->jobs[j]->tasks();
        if (only && model->jobs[j]->id != *only) continue;
        judged_.emplace_back(models_.size(), j);
        AddJob(document, *model->jobs[j]);
      }
      out_.slot_seconds += SpentOf(model->jobs).all();
      for (Compared::List& list : out_.lists) {
        const ClusterSpec cluster = Changed(model->as_it_was, list.question.change).cluster;
        list.workers = std::max(list.workers, static_cast<uint32_t>(cluster.workers.size()));
        list.slots = std::max(list.slots, cluster.slots());
      }
      models_.push_back(*std::move(model));
    }
    if (models_.empty()) return last;
    size_t own = 0, stopped = 0;
    for (const HistoryModel& model : models_) {
      for (const JobModel& job : model.as_it_was.jobs) own += !job.policies.empty();
    }
    for (const HistoryModel& model : models_) {
      for (const history::Job* job : model.jobs) stopped += StoppedOf(*job);
    }
    if (stopped > 0) {
      out_.notes.push_back(
          CountOf(stopped, "attempt was stopped: how long it", "attempts were stopped: how long they") +
          " would have taken is an estimate from the progress");
    }
    if (own > 0)
      out_.notes.push_back(CountOf(own, "job ran under a list of its own", "jobs ran under lists of their own") +
                           ", which each list replaces");
    if (left_out > 0)
      out_.notes.push_back(
          CountOf(left_out, "run did not succeed and is left out", "runs did not succeed and are left out"));
    uint32_t without_record = 0;
    for (const HistoryModel& model : models_) without_record += model.without_record;
    if (without_record > 0) out_.notes.push_back(WithoutRecordNote(without_record));
    out_.clusters = static_cast<uint32_t>(models_.size());
    for (const HistoryModel& model : models_) {
      for (const std::string& note : model.notes) {
        if (std::find(out_.notes.begin(), out_.notes.end(), note) == out_.notes.end()) out_.notes.push_back(note);
      }
    }
    return Status::Ok();
  }

  void AddList(const std::string& list) {
    auto& lists = out_.recorded_lists;
    if (std::find(lists.begin(), lists.end(), list) == lists.end()) lists.push_back(list);
  }

  void AddJob(const history::Document& document, const history::Job& job) {
    const Duration took = job.ended - job.submitted;
    out_.jobs.push_back(
        {document.run.empty() ? Name(job.id) : document.run, job.name, std::max(took.seconds(), 1e-6), false});
    out_.mean_seconds += took.seconds();  // divided later
    out_.deadlines += job.deadline.ns > 0;
    out_.missed += job.deadline.ns > 0 && took > job.deadline;
  }

  uint32_t DrawsFor() const {
    const uint64_t each = std::max<uint64_t>(1, tasks_ * out_.lists.size());
    return static_cast<uint32_t>(std::clamp<uint64_t>(kTasksInAll / each, kLeastDraws, kMostDraws));
  }

  template <class Make>
  Result<Outcome> Simulate(Make make) const {
    Outcome outcome;
    for (size_t m = 0; m < models_.size(); ++m) {
      Simulation run(make(m));
      if (const std::string wrong = run.Run(nullptr); !wrong.empty()) {
        return Rejected("the jobs do not come to an end in the simulation: " + wrong);
      }
      for (const auto& [model, index] : judged_) {
        if (model != m) continue;
        const JobResult& job = run.jobs()[index];
        outcome.seconds.push_back(std::log(std::max(job.ended - job.submitted, 1e-6)));
        outcome.missed += job.late();
      }
      outcome.slot_seconds += run.totals().useful + run.totals().wasted;
    }
    return outcome;
  }

  template <class F>
  std::vector<double> Each(size_t list, F value) const {
    std::vector<double> values;
    for (size_t d = 0; d < outcomes_[list].size(); ++d) values.push_back(value(outcomes_[list][d], outcomes_[0][d]));
    return values;
  }
  Band JobBand(size_t list, size_t job) const {
    return BandOf(Each(list, [job](const Outcome& o, const Outcome&) { return o.seconds[job]; }));
  }

  // again: the recorded runs, simulated as they were.
  void Judge(const Outcome& again) {
    const size_t jobs = out_.jobs.size();
    out_.mean_seconds /= static_cast<double>(jobs);
    std::vector<double> needed, errors;
    // Jobs below the model's resolution count only where there are no others.
    const bool all_short = out_.too_short() == jobs;
    const auto counts = [&](size_t j) { return all_short || !out_.jobs[j].too_short(); };
    std::vector<size_t> counted;
    for (size_t j = 0; j < jobs; ++j) {
      if (counts(j)) counted.push_back(j);
    }
    const auto count = static_cast<double>(counted.size());
    double counted_seconds = 0;  // their mean
    for (const size_t j : counted) counted_seconds += out_.jobs[j].measured / count;
    for (size_t j = 0; j < jobs; ++j) {
      Compared::Job& job = out_.jobs[j];
      const double factor = Needed(JobBand(0, j), std::log(job.measured), FloorOf(job.measured));
      job.inside = factor <= 1;
      errors.push_back(std::log(job.measured) - again.seconds[j]);
      if (!counts(j)) continue;
      needed.push_back(factor);
      out_.error += errors.back() / count;
    }
    out_.widened = FactorOf(std::move(needed));
    const auto mean_of = [](const Outcome& o, const Outcome&) { return std::log(o.mean()); };
    const auto slots_of = [](const Outcome& o, const Outcome&) { return std::log(std::max(o.slot_seconds, 1e-6)); };
    const double floor = FloorOf(out_.mean_seconds);
    const double mean_factor = std::max(1.0, Needed(BandOf(Each(0, mean_of)), std::log(out_.mean_seconds), floor));
    const double slot_factor =
        std::max(1.0, Needed(BandOf(Each(0, slots_of)), std::log(std::max(out_.slot_seconds, 1e-6)), floor));
    for (size_t l = 0; l < out_.lists.size(); ++l) {
      Compared::List& list = out_.lists[l];
      for (size_t j = 0; j < jobs; ++j) {
        const double measured = out_.jobs[j].measured;
        Forecast forecast;
        forecast.seconds = Exp(Widened(JobBand(l, j), out_.widened, FloorOf(measured)));
        const auto change = [j](const Outcome& o, const Outcome& base) { return o.seconds[j] - base.seconds[j]; };
        SetChange(Each(l, change), errors[j], measured, l == 0, &forecast);
        list.jobs.push_back(forecast);
      }
      list.all.seconds = Exp(Widened(BandOf(Each(l, mean_of)), mean_factor, floor));
      const auto change = [&counted, count](const Outcome& o, const Outcome& base) {
        double sum = 0;
        for (const size_t j : counted) sum += o.seconds[j] - base.seconds[j];
        return sum / count;
      };
      SetChange(Each(l, change), out_.error, counted_seconds, l == 0, &list.all);
      list.slot_seconds = Exp(Widened(BandOf(Each(l, slots_of)), slot_factor, 0));
      list.missed = BandOf(Each(l, [](const Outcome& o, const Outcome&) { return o.missed; }));
    }
  }

  // logs: the differences of logarithms, per draw. error: of the model, as a logarithm. recorded: of the recorded list,
  // which has no difference.
  static void SetChange(const std::vector<double>& logs, double error, double seconds, bool recorded,
                        Forecast* forecast) {
    if (recorded) return;
    const Band band = BandOf(logs);
    const double below = std::hypot(band.middle - band.low, error), above = std::hypot(band.high - band.middle, error);
    const double floor = FloorOf(seconds);
    const Band wide = Exp({band.middle - std::max(below, floor), band.middle, band.middle + std::max(above, floor)});
    forecast->change = {wide.low - 1, wide.middle - 1, wide.high - 1};
    if (seconds < kShortestJob) {
      forecast->conclusion = Judgement::kTooShort;
    } else if (std::max(wide.high - wide.middle, wide.middle - wide.low) > kWidestBand * std::max(1.0, wide.middle)) {
      forecast->conclusion = Judgement::kCannotTell;
    } else if (wide.low <= 1 && wide.high >= 1) {
      forecast->conclusion = Judgement::kNoDifference;
    } else {
      forecast->conclusion = wide.middle < 1 ? Judgement::kFaster : Judgement::kSlower;
    }
  }

  Compared out_;
  std::vector<HistoryModel> models_;
  std::vector<std::pair<size_t, size_t>> judged_;  // model and index of its job, as out_.jobs
  std::vector<std::vector<Outcome>> outcomes_;     // per list and draw
  uint64_t tasks_ = 0;
};

template <class T>
bool ParseCount(const std::string& word, T most, T* value) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), *value);
  return error == std::errc() && end == word.data() + word.size() && *value > 0 && *value <= most;
}

}  // namespace

Result<Question> ParseQuestion(const std::string& text) {
  Question question;
  question.text = text;
  std::istringstream words(text);
  std::string list;
  for (std::string word; words >> word;) {
    const bool workers = word == "--workers";
    if (!workers && word != "--slots") {
      if (!list.empty() || word.starts_with("--")) {
        return InvalidArgument("--compare '" + text + "': '" + word + "' is not LIST, --workers N or --slots N");
      }
      list = word;
      continue;
    }
    std::string number;
    words >> number;
    if (!ParseCount(number, workers ? 100'000u : 10'000u,
                    workers ? &question.change.workers : &question.change.slots)) {
      return InvalidArgument("--compare '" + text + "': " + word + " needs a number above 0");
    }
  }
  if (list.empty())
    return InvalidArgument("--compare '" + text + "' names no list; 'recorded' stands for the recorded one");
  if (list == "recorded") return question;
  question.change.scheduler = sched::PoliciesOf(list);
  MR_RETURN_IF_ERROR(sched::Scheduler::CheckPolicies(question.change.scheduler));
  return question;
}

size_t Compared::inside() const {
  return static_cast<size_t>(std::count_if(jobs.begin(), jobs.end(), [](const Job& job) { return job.inside; }));
}

size_t Compared::too_short() const {
  return static_cast<size_t>(std::count_if(jobs.begin(), jobs.end(), [](const Job& job) { return job.too_short(); }));
}

Result<Compared> CompareHistory(const std::vector<history::Document>& documents, std::optional<JobId> only,
                                const std::vector<Question>& questions) {
  return Comparison(questions).Run(documents, only);
}

}  // namespace mr::sim
