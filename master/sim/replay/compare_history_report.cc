// Comparisons of lists on recorded jobs, for people and as JSON.
#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>

#include "common/base/text.h"
#include "master/sim/replay/compare_history.h"

namespace mr::sim {

namespace {

constexpr size_t kJobsShown = 20;                          // in the table; JSON has all
constexpr double kGoodWidening = 1.5, kRoughWidening = 4;  // guesses

__attribute__((format(printf, 2, 3))) void Append(std::string* out, const char* format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  *out += text;
}

std::string Range(const Band& band, int decimals) {
  char text[96];
  std::snprintf(text, sizeof text, "%.*f (%.*f .. %.*f)", decimals, band.middle, decimals, band.low, decimals,
                band.high);
  return text;
}

std::string ChangeText(const Forecast& forecast) {
  if (forecast.conclusion == Judgement::kTooShort) return Word(forecast.conclusion);
  char text[96];
  const auto percent = [](double share) { return std::lround(100 * share); };  // without "-0"
  std::snprintf(text, sizeof text, "%+ld %% (%+ld .. %+ld)  %s", percent(forecast.change.middle),
                percent(forecast.change.low), percent(forecast.change.high), Word(forecast.conclusion));
  return text;
}

std::string CountText(size_t n, const char* what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); }

std::string JsonText(const std::string& text) { return "\"" + JsonEscape(text) + "\""; }

std::string JsonBand(const Band& band) {
  char text[128];
  std::snprintf(text, sizeof text, "{\"low\":%.6f,\"middle\":%.6f,\"high\":%.6f}", band.low, band.middle, band.high);
  return text;
}

std::string JsonForecast(const Forecast& forecast, bool recorded) {
  std::string out = "\"seconds\":" + JsonBand(forecast.seconds);
  if (recorded) return out;
  return out + ",\"change\":" + JsonBand(forecast.change) + ",\"conclusion\":" + JsonText(Word(forecast.conclusion));
}

// Returns in a sentence whether the forecasts can be used, by how far the bands of recorded jobs had to be widened.
const char* UseText(double widened) {
  if (widened <= kGoodWidening) return "The model fits these runs: the forecasts can be used as printed.";
  if (widened <= kRoughWidening) return "The model fits these runs roughly: use only differences far beyond the bands.";
  return "The model does not fit these runs: do not use the times. Record longer runs, or compare single jobs.";
}

}  // namespace

const char* Word(Judgement conclusion) {
  switch (conclusion) {
    case Judgement::kTooShort: return "too short to tell";
    case Judgement::kCannotTell: return "cannot tell";
    case Judgement::kNoDifference: return "no difference above the error";
    case Judgement::kFaster: return "faster";
    case Judgement::kSlower: return "slower";
  }
  return "";
}

std::string Table(const Compared& c, bool all_jobs) {
  std::string out;
  const size_t width = [&c] {
    size_t most = sizeof "recorded, measured";
    for (const Compared::List& list : c.lists)
      most = std::max(most, std::min<size_t>(list.question.text.size(), 60) + 2);
    return most;
  }();
  const auto row = [&](const std::string& list, const std::string& workers, const std::string& slots,
                       const std::string& seconds, const std::string& slot_time, const std::string& missed,
                       const std::string& change) {
    std::string cut = list.substr(0, 60);
    cut.resize(width, ' ');
    out += cut;
    Append(&out, "%7s %6s  %-28s %-30s %-15s ", workers.c_str(), slots.c_str(), seconds.c_str(), slot_time.c_str(),
           missed.c_str());
    out += change;
    out.erase(out.find_last_not_of(' ') + 1);
    out += "\n";
  };
  const std::string of = c.deadlines == 0 ? "-" : std::to_string(c.missed) + " of " + std::to_string(c.deadlines);
  row("LIST", "WORKERS", "SLOTS", "MEAN JOB TIME s", "SLOT TIME s", "MISSED", "CHANGE OF JOB TIMES");
  char seconds[32], slots[32];
  std::snprintf(seconds, sizeof seconds, "%.3f", c.mean_seconds);
  std::snprintf(slots, sizeof slots, "%.2f", c.slot_seconds);
  row("recorded, measured", "", "", seconds, slots, of, "");
  for (size_t l = 0; l < c.lists.size(); ++l) {
    const Compared::List& list = c.lists[l];
    row(l == 0 ? "recorded, simulated" : list.question.text, std::to_string(list.workers), std::to_string(list.slots),
        Range(list.all.seconds, 3), Range(list.slot_seconds, 2), c.deadlines == 0 ? "-" : Range(list.missed, 0),
        l == 0 ? "" : ChangeText(list.all));
  }
  if (c.jobs.size() > 1 && (all_jobs || c.jobs.size() <= kJobsShown)) {
    Append(&out, "\n%-14s %-16s %11s  %-28s %-28s %s\n", "JOB", "NAME", "MEASURED s", "LIST", "JOB TIME s", "CHANGE");
    for (size_t j = 0; j < c.jobs.size(); ++j) {
      for (size_t l = 0; l < c.lists.size(); ++l) {
        const Forecast& forecast = c.lists[l].jobs[j];
        if (l == 0)
          Append(&out, "%-14s %-16.16s %11.3f  ", c.jobs[j].id.c_str(), c.jobs[j].name.c_str(), c.jobs[j].measured);
        else
          Append(&out, "%45s", "");
        Append(&out, "%-28.28s %-28s %s\n", c.lists[l].question.text.c_str(), Range(forecast.seconds, 3).c_str(),
               l == 0 ? "" : ChangeText(forecast).c_str());
      }
    }
  }
  if (!all_jobs && c.jobs.size() > kJobsShown)
    out +=
        "\n" + CountText(c.jobs.size(), "job") + ": -v (mrsim: --all-jobs) prints a line for each, -o json has all.\n";
  out += "\n" + CountText(c.jobs.size(), "recorded job") + " on " + CountText(c.clusters, "cluster") + ", simulated " +
         std::to_string(c.draws) +
         " times for each list, each time with other luck. A band has nine of ten outcomes.\n";
  Append(&out,
         "Model's error: simulated as they were, job times are off by %+.1f %% (geometric mean). %zu of %zu measured\n"
         "times were inside their bands of the recorded list; all bands of jobs were then widened %.2f times.\n%s\n",
         100 * std::expm1(-c.error), c.inside(), c.jobs.size(), c.widened, UseText(c.widened));
  if (c.too_short() > 0) {
    Append(&out, "%s too short to tell (below %.1f s); the change of job times %s.\n",
           (CountText(c.too_short(), "job") + (c.too_short() == 1 ? " is" : " are")).c_str(), kShortestJob,
           c.too_short() == c.jobs.size() ? "is not known" : "is that of the others");
  }
  for (const std::string& list : c.recorded_lists) out += "recorded list: " + list + "\n";
  for (const std::string& note : c.notes) out += "note: " + note + "\n";
  return out;
}

std::string Json(const Compared& c) {
  std::string out = "{\"version\":1,\"recorded\":{";
  out += "\"schedulers\":[";
  for (size_t n = 0; n < c.recorded_lists.size(); ++n) out += (n == 0 ? "" : ",") + JsonText(c.recorded_lists[n]);
  Append(&out,
         "],\"jobs\":%zu,\"clusters\":%u,\"mean_job_s\":%.6f,\"slot_s\":%.6f,\"deadlines\":%u,\"missed_deadlines\":%u,"
         "\"too_short\":%zu},\"draws\":%u,\"model_error\":%.6f,\"inside\":%zu,\"widened\":%.6f,\"lists\":[",
         c.jobs.size(), c.clusters, c.mean_seconds, c.slot_seconds, c.deadlines, c.missed, c.too_short(), c.draws,
         std::expm1(-c.error), c.inside(), c.widened);
  for (size_t l = 0; l < c.lists.size(); ++l) {
    const Compared::List& list = c.lists[l];
    out += (l == 0 ? "" : ",") + std::string("{\"id\":") + JsonText(list.question.text) + ",\"scheduler\":" +
           (list.question.change.scheduler.empty() ? "null" : JsonText(list.question.change.scheduler));
    Append(&out, ",\"workers\":%u,\"slots\":%u,", list.workers, list.slots);
    out += JsonForecast(list.all, l == 0) + ",\"slot_s\":" + JsonBand(list.slot_seconds) +
           ",\"missed_deadlines\":" + JsonBand(list.missed) + "}";
  }
  out += "],\"jobs\":[";
  for (size_t j = 0; j < c.jobs.size(); ++j) {
    const Compared::Job& job = c.jobs[j];
    out += (j == 0 ? "" : ",") + std::string("{\"id\":") + JsonText(job.id) + ",\"name\":" + JsonText(job.name);
    Append(&out, ",\"measured_s\":%.6f,\"inside\":%s,\"lists\":[", job.measured, job.inside ? "true" : "false");
    for (size_t l = 0; l < c.lists.size(); ++l) {
      out += (l == 0 ? "" : ",") + std::string("{\"id\":") + JsonText(c.lists[l].question.text) + "," +
             JsonForecast(c.lists[l].jobs[j], l == 0) + "}";
    }
    out += "]}";
  }
  out += "],\"notes\":[";
  for (size_t n = 0; n < c.notes.size(); ++n) out += (n == 0 ? "" : ",") + JsonText(c.notes[n]);
  return out + "]}\n";
}

}  // namespace mr::sim
