#include "master/sim/studies/reproduce.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>

#include "common/base/text.h"
#include "common/io/files.h"

namespace mr::sim {

namespace {

__attribute__((format(printf, 1, 2))) std::string Say(const char* format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return text;
}

double MedianOver(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

double MeanOver(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

const char* NameOf(Verdict v) {
  switch (v) {
    case Verdict::kShown: return "shown";
    case Verdict::kMet: return "met";
    case Verdict::kMissed: return "NOT MET";
  }
  return "";
}

std::string Number(double x) { return std::isfinite(x) ? Say(std::fabs(x) < 100 ? "%.3g" : "%.0f", x) : "-"; }

std::string BandOf(const Line& line) {
  const bool low = std::isfinite(line.low), high = std::isfinite(line.high);
  if (low && high) return Number(line.low) + " .. " + Number(line.high);
  if (low) return ">= " + Number(line.low);
  return high ? "<= " + Number(line.high) : "-";
}

std::string JsonNumber(double x) { return std::isfinite(x) ? Say("%.6g", x) : "null"; }

std::string Quoted(const std::string& s) { return "\"" + JsonEscape(s) + "\""; }

constexpr std::string_view kFileEnd = ".toml";

// Splits "late:fig10" and "dir/mine.toml:fig10" behind the study.
size_t EndOfStudy(const std::string& text) {
  const size_t file = text.rfind(kFileEnd);
  const bool is_file =
      file != std::string::npos && (file + kFileEnd.size() == text.size() || text[file + kFileEnd.size()] == ':');
  return is_file ? file + kFileEnd.size() : std::min(text.find(':'), text.size());
}

Result<Study> FindStudy(const std::string& name) {
  if (name.ends_with(kFileEnd)) {
    const auto text = ReadFile(name);
    if (!text.ok()) return text.status().With("cannot read the study '" + name + "'");
    return ParseStudy(*text, name);
  }
  std::vector<std::string_view> names;
  std::string all;
  for (const BuiltInStudy& study : BuiltInStudies()) {
    if (name == study.name) return ParseStudy(std::string(study.text), name + std::string(kFileEnd));
    names.push_back(study.name);
    all += (all.empty() ? "" : ", ") + std::string(study.name);
  }
  return InvalidArgument("there is no study '" + name + "'" + DidYouMean(name, names) + "; known studies: " + all);
}

Result<FigureResult> RunFigure(const Study& study, const Figure& figure, const ReproduceOptions& options) {
  FigureResult result{figure.id, figure.what, "", "", {}};
  std::vector<std::vector<double>> values(figure.lines.size());
  for (uint32_t n = 1; n <= options.seeds; ++n) {
    if (options.progress) {
      options.progress(Say("%s:%s, seed %u of %u", study.name.c_str(), figure.id.c_str(), n, options.seeds));
    }
    auto numbers = figure.run({n, options.data, &result.used, &result.skipped, nullptr});
    if (!result.skipped.empty()) return result;
    if (!numbers.ok()) return numbers.status().With(study.name + ":" + figure.id + ", seed " + std::to_string(n));
    if (numbers->size() != values.size()) {
      return Internal(study.name + ":" + figure.id + " has not a number for each line");
    }
    for (size_t i = 0; i < values.size(); ++i) values[i].push_back((*numbers)[i]);
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const double ours = figure.lines[i].mean ? MeanOver(values[i]) : MedianOver(values[i]);
    result.lines.push_back({figure.lines[i], ours, Judge(figure.lines[i], ours)});
  }
  return result;
}

}  // namespace

Verdict Judge(const Line& line, double ours) {
  if (!std::isfinite(line.low) && !std::isfinite(line.high)) return Verdict::kShown;
  return ours >= line.low && ours <= line.high ? Verdict::kMet : Verdict::kMissed;
}

size_t Reproduction::missed() const {
  size_t n = 0;
  for (const FigureResult& f : figures) {
    n += static_cast<size_t>(std::count_if(f.lines.begin(), f.lines.end(),
                                           [](const LineResult& l) { return l.verdict == Verdict::kMissed; }));
  }
  return n;
}

Result<Reproduction> Reproduce(const ReproduceOptions& options) {
  const size_t end = EndOfStudy(options.figure);
  MR_ASSIGN_OR_RETURN(const Study study, FindStudy(options.figure.substr(0, end)));
  const bool whole = end == options.figure.size();
  const std::string wanted = whole ? "" : options.figure.substr(end + 1);
  Reproduction r{study.name, study.title, options.seeds, study.parameters, {}};
  std::vector<std::string_view> names;
  std::string all;
  for (const Figure& figure : study.figures) {
    names.push_back(figure.id);
    all += (all.empty() ? "" : ", ") + figure.id;
    if (!whole && figure.id != wanted) continue;
    MR_ASSIGN_OR_RETURN(FigureResult result, RunFigure(study, figure, options));
    r.figures.push_back(std::move(result));
  }
  if (!r.figures.empty()) return r;
  return InvalidArgument("there is no figure '" + wanted + "' in " + study.name + DidYouMean(wanted, names) +
                         "; its figures: " + all);
}

std::string Table(const Reproduction& r) {
  std::string out = r.title + "\nmedians (* means) of " + std::to_string(r.seeds) + " seeds\n\nPARAMETERS\n";
  size_t width = 0;
  for (const Parameter& p : r.parameters) width = std::max(width, p.name.size());
  for (const Parameter& p : r.parameters) {
    out += Say("  %-*s  %s  (%s)\n", static_cast<int>(width), p.name.c_str(), p.value.c_str(), p.source.c_str());
  }
  for (const FigureResult& f : r.figures) {
    out += "\n" + f.id + "  " + f.what + "\n";
    if (!f.skipped.empty()) {
      out += "  not run: " + f.skipped + "\n";
      continue;
    }
    if (!f.used.empty()) out += "  ran on " + f.used + "\n";
    out += Say("  %-44s %8s %8s  %-16s %s\n", "", "PAPER", "OURS", "BAND", "");
    for (const LineResult& l : f.lines) {
      out += Say("  %-44s %8s %8s  %-16s %s\n", (l.line.what + (l.line.mean ? " *" : "")).c_str(),
                 Number(l.line.paper).c_str(), Number(l.ours).c_str(), BandOf(l.line).c_str(),
                 l.verdict == Verdict::kShown ? "" : NameOf(l.verdict));
      const bool explain = l.verdict == Verdict::kMissed;
      if (explain && !l.line.because.empty()) out += "      " + l.line.because + "\n";
    }
  }
  return out + Say("\n%zu lines not met\n", r.missed());
}

std::string Json(const Reproduction& r) {
  std::string out = "{\"version\":1,\"study\":" + Quoted(r.study) + ",\"title\":" + Quoted(r.title) +
                    ",\"seeds\":" + std::to_string(r.seeds) + ",\"parameters\":[";
  for (size_t i = 0; i < r.parameters.size(); ++i) {
    const Parameter& p = r.parameters[i];
    out += (i > 0 ? ",{" : "{");
    out += "\"id\":" + Quoted(p.name) + ",\"value\":" + Quoted(p.value) + ",\"source\":" + Quoted(p.source) + "}";
  }
  out += "],\"figures\":[";
  for (size_t i = 0; i < r.figures.size(); ++i) {
    const FigureResult& f = r.figures[i];
    out += (i > 0 ? ",{" : "{");
    out += "\"id\":" + Quoted(f.id) + ",\"what\":" + Quoted(f.what) + ",\"ran_on\":" + Quoted(f.used) +
           ",\"not_run\":" + Quoted(f.skipped) + ",\"lines\":[";
    for (size_t n = 0; n < f.lines.size(); ++n) {
      const LineResult& l = f.lines[n];
      const bool explain = l.verdict == Verdict::kMissed;
      out += (n > 0 ? ",{" : "{");
      out += "\"what\":" + Quoted(l.line.what) + ",\"paper\":" + JsonNumber(l.line.paper) +
             ",\"ours\":" + JsonNumber(l.ours) + ",\"low\":" + JsonNumber(l.line.low) +
             ",\"high\":" + JsonNumber(l.line.high) + ",\"over\":" + Quoted(l.line.mean ? "mean" : "median") +
             ",\"verdict\":" + Quoted(l.verdict == Verdict::kMissed ? "missed" : NameOf(l.verdict)) +
             ",\"reason\":" + Quoted(explain ? l.line.because : "") + "}";
    }
    out += "]}";
  }
  return out + Say("],\"missed\":%zu}\n", r.missed());
}

}  // namespace mr::sim
