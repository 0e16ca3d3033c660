// Finds the file of a workload, its format, and the files beside it.
#include "master/sim/traces/workload.h"

#include <algorithm>

#include "common/base/text.h"
#include "common/io/files.h"
#include "master/sim/traces/rows.h"

namespace mr::sim {

namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 30;  // unpacked; no trace of a day is larger
constexpr std::pair<const char*, TraceFormat> kFormats[] = {
    {"swim", TraceFormat::kSwim},       {"rumen", TraceFormat::kRumen}, {"google", TraceFormat::kGoogle},
    {"alibaba", TraceFormat::kAlibaba}, {"tpch", TraceFormat::kTpch},   {"wfinstances", TraceFormat::kWfInstances},
    {"coflow", TraceFormat::kCoflow},   {"bdb", TraceFormat::kBdb}};

bool StartsWith(const std::string& text, const char* with) { return text.rfind(with, 0) == 0; }

// Returns `path` or its packed form, whichever exists; "" if none does.
std::string Existing(const std::string& path) {
  if (PathExists(path)) return path;
  return PathExists(path + ".gz") ? path + ".gz" : "";
}

// Looks for the workload at its path, in `data`, and in the folders of `data`. Errors: kNotFound lists the places.
Result<std::string> FindTrace(const std::string& workload, const std::string& data) {
  std::string found = Existing(workload);
  if (!found.empty()) return found;
  std::string tried = workload;
  if (!workload.empty() && workload[0] != '/' && !data.empty()) {
    found = Existing(data + "/" + workload);
    const auto folders = ListDirectory(data);
    for (size_t i = 0; found.empty() && folders.ok() && i < folders->size(); ++i) {
      found = Existing(data + "/" + (*folders)[i] + "/" + workload);
    }
    tried += ", " + data + "/" + workload + " and in the folders of " + data;
  }
  if (!found.empty()) return found;
  return NotFound("there is no workload at " + tried +
                  (data.empty() ? "; --data DIR or MR_DATA says where traces are" : "") +
                  "; `generate:facebook` needs no file");
}

Result<TraceText> ReadTrace(const std::string& path) {
  MR_ASSIGN_OR_RETURN(std::string text, ReadFile(path));
  if (text.size() > 2 && text[0] == '\x1f' && text[1] == '\x8b') {
    MR_ASSIGN_OR_RETURN(text, Gunzip(text, path, kMostBytes));
  }
  return TraceText{path, std::move(text)};
}

// Returns the part of `path` before `mark`, if its last component has `mark`; else "".
std::string Before(const std::string& path, const std::string& mark) {
  const size_t at = path.rfind(mark);
  return at == std::string::npos || path.find('/', at) != std::string::npos ? "" : path.substr(0, at);
}

// Returns the path of `name` in the folder of `path`, which is the working directory if `path` has no folder.
std::string Beside(const std::string& path, const char* name) { return path.substr(0, path.rfind('/') + 1) + name; }

// Reads another table of the same record. Errors: kNotFound names both.
Result<TraceText> Sibling(const std::string& of, const std::string& path) {
  const std::string found = Existing(path);
  if (found.empty()) return NotFound(of + " needs " + path + " (or its .gz) beside it, which is not there");
  return ReadTrace(found);
}

Result<Trace> ReadRumen(const TraceText& file, bool observe) {
  std::string stem = Before(file.name, "_jobs.tsv");
  if (stem.empty()) stem = Before(file.name, "_attempts.tsv");
  if (stem.empty()) {
    return InvalidArgument(file.name + ": a Rumen record is NAME_jobs.tsv and NAME_attempts.tsv; name one of them");
  }
  MR_ASSIGN_OR_RETURN(const TraceText jobs, Sibling(file.name, stem + "_jobs.tsv"));
  MR_ASSIGN_OR_RETURN(const TraceText attempts, Sibling(file.name, stem + "_attempts.tsv"));
  if (Existing(stem + "_topology.tsv").empty()) return ParseRumen(jobs, attempts, nullptr, observe);
  MR_ASSIGN_OR_RETURN(const TraceText topology, Sibling(file.name, stem + "_topology.tsv"));
  return ParseRumen(jobs, attempts, &topology, observe);
}

Result<Trace> ReadTpch(const TraceText& file, uint32_t executors, bool observe) {
  MR_ASSIGN_OR_RETURN(const TraceText edges, Sibling(file.name, Beside(file.name, "tpch_edges.tsv")));
  return ParseTpch(file, edges, executors, observe);
}

Result<Trace> ReadBdb(const TraceText& file) {
  MR_ASSIGN_OR_RETURN(const TraceText stages, Sibling(file.name, Beside(file.name, "bdb_stages.tsv")));
  return ParseBdb(file, stages);
}

Result<Trace> ReadWfInstances(const TraceText& file, bool observe) {
  const std::string runs = Existing(Beside(file.name, "wf_runs.tsv"));
  if (runs.empty()) return ParseWfInstances(file, nullptr, observe);
  MR_ASSIGN_OR_RETURN(const TraceText text, ReadTrace(runs));
  return ParseWfInstances(file, &text, observe);
}

// Returns the first line that is not empty and, without `comments`, does not begin with '#'.
std::string FirstLine(const std::string& text, bool comments) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    at = end + 1;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!line.empty() && (comments || line[0] != '#')) return line;
  }
  return "";
}

// Returns whether the first row has SWIM's numbers: submit, gap, and three of bytes. SWIM has no header to look for,
// and tables of other programs have as many columns.
bool IsSwim(const std::string& text) {
  const TraceText first{"", FirstLine(text, false)};
  Rows row(first, '\t');
  double seconds = 0;
  uint64_t bytes = 0;
  return row.Next() && row.GetSeconds(1, &seconds) && row.GetSeconds(2, &seconds) && row.Get(3, &bytes) &&
         row.Get(4, &bytes) && row.Get(5, &bytes);
}

// Returns kInvalidArgument. For a table it shows how the first line begins: often with the names of columns.
Status UnknownFormat(const TraceText& file) {
  constexpr size_t kShown = 60;
  std::string line = FirstLine(file.text, true), shown;
  if (line.find('\t') != std::string::npos) {
    const bool cut = line.size() > kShown;
    line.resize(std::min(line.size(), kShown));
    for (char& c : line) c = c == '\t' ? ' ' : c < ' ' || c > '~' ? '?' : c;
    shown = ", a table that begins with '" + line + (cut ? "...'" : "'");
  }
  return InvalidArgument(file.name + ": of no format that is known" + shown +
                         "; --format says which it is: swim, rumen, google, alibaba, tpch, wfinstances, coflow or bdb");
}

}  // namespace

TraceFormat FormatNamed(const std::string& word) {
  for (const auto& [name, format] : kFormats) {
    if (word == name) return format;
  }
  return TraceFormat::kUnknown;
}

TraceFormat RecogniseTrace(const std::string& text) {
  const std::string line = FirstLine(text, true);
  if (StartsWith(line, "#job_id\t")) return TraceFormat::kRumen;
  if (StartsWith(line, "#query\tstage\texecutors")) return TraceFormat::kTpch;
  if (StartsWith(line, "#run\ttask_id")) return TraceFormat::kWfInstances;
  if (StartsWith(line, "#run\tstage_id\ttid")) return TraceFormat::kBdb;
  const auto count = [&](char c) { return std::count(line.begin(), line.end(), c); };
  if (IsSwim(text)) return TraceFormat::kSwim;
  if (count(',') == 6) return TraceFormat::kAlibaba;
  if (count('\t') > 0 || count(',') > 0 || line.empty() || line[0] < '0' || line[0] > '9') return TraceFormat::kUnknown;
  return count(' ') == 1 ? TraceFormat::kCoflow : count(' ') >= 3 ? TraceFormat::kGoogle : TraceFormat::kUnknown;
}

Result<Trace> LoadTrace(const WorkloadSpec& spec) {
  const size_t colon = std::min(spec.format.find(':'), spec.format.size());
  TraceFormat format = FormatNamed(spec.format.substr(0, colon));
  uint32_t executors = kTpchExecutors;
  if (!spec.format.empty()) {
    const bool sized = colon < spec.format.size();
    if (format == TraceFormat::kUnknown ||
        (sized &&
         (format != TraceFormat::kTpch || !Rows::Parse(std::string_view(spec.format).substr(colon + 1), &executors)))) {
      std::vector<std::string_view> names;
      for (const auto& [name, f] : kFormats) names.emplace_back(name);
      return InvalidArgument("--format '" + spec.format +
                             "': there are swim, rumen, google, alibaba, tpch (tpch:20: on 20 executors), "
                             "wfinstances, coflow and bdb" +
                             DidYouMean(spec.format, names));
    }
  }
  if (StartsWith(spec.workload, "generate")) {
    MR_ASSIGN_OR_RETURN(std::vector<JobModel> jobs, Generate(spec.workload, spec.seed));
    return Trace{std::move(jobs), {}};
  }
  MR_ASSIGN_OR_RETURN(const std::string path, FindTrace(spec.workload, spec.data));
  MR_ASSIGN_OR_RETURN(const TraceText file, ReadTrace(path));
  if (format == TraceFormat::kUnknown) format = RecogniseTrace(file.text);
  switch (format) {
    case TraceFormat::kSwim: return ParseSwim(file, spec.swim_scale);
    case TraceFormat::kRumen: return ReadRumen(file, spec.observe);
    case TraceFormat::kGoogle: return ParseGoogle(file, spec.observe);
    case TraceFormat::kAlibaba: return ParseAlibaba(file);
    case TraceFormat::kTpch: return ReadTpch(file, executors, spec.observe);
    case TraceFormat::kWfInstances: return ReadWfInstances(file, spec.observe);
    case TraceFormat::kCoflow: return ParseCoflow(file);
    case TraceFormat::kBdb: return ReadBdb(file);
    case TraceFormat::kUnknown: break;
  }
  return UnknownFormat(file);
}

Result<std::vector<JobModel>> LoadWorkload(const std::string& workload, const std::string& data, uint64_t seed) {
  MR_ASSIGN_OR_RETURN(Trace trace, LoadTrace({workload, data, "", seed}));
  return std::move(trace.jobs);
}

}  // namespace mr::sim
