#include "jobs/mrctl/sdk_check.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "common/abi/operator_table.h"
#include "common/base/text.h"
#include "common/io/files.h"
#include "common/model/stage_check.h"
#include "jobs/mrctl/csv_stages.h"
#include "jobs/mrctl/job_spec.h"
#include "jobs/mrctl/operator_use.h"
#include "jobs/mrctl/render.h"
#include "jobs/mrctl/tools.h"
#include "jobs/mrctl/type_check.h"

namespace mr::ctl {
namespace {

constexpr size_t kMostNamed = 10;  // clashing symbols in the message

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Returns only the highest version of each family, which decides what a machine must have.
std::vector<ElfFile::Version> Highest(const std::vector<ElfFile::Version>& all) {
  std::map<std::pair<std::string, std::string>, std::string> highest;
  for (const auto& [file, version] : all) {
    std::string& best = highest[{file, version.substr(0, version.find_last_of('_'))}];
    if (best.empty() || VersionBelow(best, version)) best = version;
  }
  std::vector<ElfFile::Version> out;
  out.reserve(highest.size());
  for (auto& [key, version] : highest) out.push_back({key.first, std::move(version)});
  return out;
}

std::string Listed(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMostNamed); ++i) text += (i == 0 ? "" : ", ") + names[i];
  return names.size() > kMostNamed ? text + " and " + std::to_string(names.size() - kMostNamed) + " more" : text;
}

// Returns whether each machine that runs mrtask has this library: a part of glibc or of the compiler's runtime.
bool IsSystemLibrary(const std::string& name) {
  static constexpr std::string_view kSystem[] = {"libc.so.",       "libm.so.",  "libstdc++.so.", "libgcc_s.so.",
                                                 "libpthread.so.", "libdl.so.", "librt.so.",     "libutil.so.",
                                                 "libresolv.so.",  "ld-linux-"};
  return std::any_of(std::begin(kSystem), std::end(kSystem), [&](auto prefix) { return name.starts_with(prefix); });
}

// Returns "address" for libasan.so.8, and "" for a library that may be loaded into any process.
std::string SanitizerOf(const std::string& name) {
  if (name.starts_with("libasan.")) return "address";
  if (name.starts_with("libtsan.")) return "thread";
  return name.starts_with("liblsan.") ? "leak" : "";
}

// Compares the shared libraries that this one needs with those of mrtask. `loaded`: names of the latter.
void CheckNeeded(const ElfFile& library, const std::set<std::string>& loaded, LibraryReport* report) {
  std::vector<std::string> own;
  for (const std::string& name : library.needed) {
    if (loaded.contains(name) || IsSystemLibrary(name)) continue;
    if (const std::string sanitizer = SanitizerOf(name); !sanitizer.empty()) {
      report->problems.push_back(
          "is built with -fsanitize=" + sanitizer + " (it needs " + name +
          "), and mrtask is not, so it cannot be loaded: build it without, and use the sanitizer "
          "in tests with mr::LocalJob");
    } else {
      own.push_back(name);
    }
  }
  if (own.empty()) return;
  report->warnings.push_back("warning: " + report->path + " needs " + Listed(own) +
                             ". A submit sends this one file to the workers: link " +
                             (own.size() == 1 ? "that library" : "those libraries") + " statically, or install " +
                             (own.size() == 1 ? "it" : "them") + " on each worker");
}

// Compares the library with mrtask and the libraries that mrtask has loaded before it.
Status CompareWithHost(const ElfFile& library, LibraryReport* report) {
  MR_ASSIGN_OR_RETURN(const std::string listed, StartHostLibraries().Finish());
  std::set<std::string> told, loaded;
  for (size_t at = 0; at < listed.size();) {
    const size_t end = std::min(listed.find('\n', at), listed.size());
    const std::string path = listed.substr(at, end - at);
    at = end + 1;
    const auto bytes = ReadFile(path);
    if (!bytes.ok()) continue;  // the kernel's vdso has no file
    const auto host = ParseElf(*bytes);
    if (!host.ok()) return Internal("cannot read " + path + ": it " + host.status().message());
    const std::string name = host->soname.empty() ? BaseName(path) : host->soname;
    loaded.insert(name);
    for (std::string& missing : MissingVersions(library, name, *host)) report->problems.push_back(std::move(missing));
    auto clashing = ClashingSymbols(library, *host);
    std::erase_if(clashing, [&](const std::string& symbol) { return !told.insert(symbol).second; });
    if (clashing.empty()) continue;
    const std::string whose = name == "mrtask" ? name : name + " in the process of mrtask";
    report->problems.push_back("exports " + Listed(clashing) + ", which " + whose +
                               " exports, too, and the loader prefers those: hide them (-fvisibility=hidden, or "
                               "-Wl,--exclude-libs,ALL for archives), or rename them");
  }
  CheckNeeded(library, loaded, report);
  return {};
}

// Reads the file as far as that is possible without loading it. Returns false if it is no shared library for this
// machine.
Result<bool> CheckFile(const std::string& path, LibraryReport* report) {
  report->path = path;
  auto bytes = ReadFile(path);
  if (!bytes.ok()) return bytes.status().With("operator library");
  report->bytes = bytes->size();
  auto elf = ParseElf(*bytes);
  if (!elf.ok()) {
    report->problems.push_back(elf.status().message());
    return false;
  }
  if (elf->program) {
    report->problems.push_back("is a program; link it with -shared (paceline_add_library does)");
    return false;
  }
  report->needs = Highest(elf->needs_versions);
  MR_RETURN_IF_ERROR(CompareWithHost(*elf, report));
  const auto has_table =
      std::find_if(elf->exports.begin(), elf->exports.end(), [](const auto& s) { return s.name == MR_LIBRARY_SYMBOL; });
  if (has_table == elf->exports.end()) {
    report->problems.push_back("does not export " MR_LIBRARY_SYMBOL
                               "(): it is no operator library, or its PACELINE_LIBRARY is missing or hidden");
  }
  return true;
}

// Returns the message of `mrtask check` as the end of a sentence that begins with the library's name.
std::string AsProblem(const std::string& message, const std::string& file) {
  for (const std::string& begin : {"cannot load operator library " + file + ": ", file + ": "}) {
    if (message.starts_with(begin)) return "cannot be loaded: " + message.substr(begin.size());
  }
  constexpr std::string_view kLibrary = "the operator library ";
  return message.starts_with(kLibrary) ? message.substr(kLibrary.size()) : message;
}

// Plans each job without arguments, compares the types of its stages, and checks the plan as a submit does.
Status CheckJobs(const std::string& path, LibraryReport* report) {
  std::vector<ToolRun> runs;  // all at once: each loads the library in its own process
  for (const auto& job : report->info.jobs) runs.push_back(StartPlan(path, job.name, {}));
  for (size_t i = 0; i < runs.size(); ++i) {
    const std::string& name = report->info.jobs[i].name;
    const auto json = runs[i].Finish();
    if (!json.ok() && json.status().code() != Code::kInvalidArgument) return json.status();
    if (!json.ok() && runs[i].arguments_refused()) {
      report->unchecked.push_back(name);
      continue;
    }
    if (!json.ok()) {
      std::string why = json.status().message();
      const std::string known = "job " + name + ": its plan function failed: ";  // worker/task/plan_check.cc
      if (why.starts_with(known)) why.erase(0, known.size());
      report->problems.push_back("has a job '" + name + "' whose plan fails without arguments: " + why);
      continue;
    }
    const auto plan = ParsePlan(*json);
    if (!plan.ok()) {
      report->problems.push_back("has no valid plan for job '" + name + "': " + plan.status().message());
      continue;
    }
    for (const std::string& fault : TypeFaults(*plan)) {
      report->problems.push_back("has a job '" + name + "' with stages that disagree about types: " + fault);
    }
    for (const std::string& fault : UseFaults(*plan)) {
      report->problems.push_back("has a job '" + name + "' whose plan does not fit its operators: " + fault);
    }
    for (const std::string& text : UnusedFunctions(*plan)) report->warnings.push_back("job '" + name + "': " + text);
    for (const std::string& fault : PlanFaults(*plan, name)) {
      report->problems.push_back("has a job '" + name + "' whose plan a submit refuses: " + fault);
    }
  }
  return {};
}

}  // namespace

std::vector<std::string> PlanFaults(const Plan& plan, const std::string& job) {
  int inputs = 0;
  for (const PlanStage& stage : plan.stages) {
    for (const PlanInput& input : stage.inputs) {
      if (input.files && input.uris.empty()) inputs = std::max(inputs, std::max(input.input, 0) + 1);
    }
  }
  SpecOptions options;
  options.name = job;
  options.inputs.assign(static_cast<size_t>(inputs), "dfs:///input");
  options.output_uri = "dfs:///output";
  const auto spec = BuildJobSpec(WithCsvStages(plan, ""), options);
  if (!spec.ok()) return {spec.status().message()};
  StageFaults found = CheckStages(spec->stages);
  if (!found.scheme.ok()) found.faults.push_back(found.scheme.message());
  return std::move(found.faults);
}

Status CheckLibraryFile(const std::string& path, std::vector<std::string>* warnings) {
  LibraryReport report;
  MR_RETURN_IF_ERROR(CheckFile(path, &report).status());
  warnings->insert(warnings->end(), report.warnings.begin(), report.warnings.end());
  if (report.problems.empty()) return Status::Ok();
  std::string text = "operator library " + path;
  for (const std::string& problem : report.problems) text += (report.problems.size() == 1 ? " " : "\n  ") + problem;
  return InvalidArgument(text);
}

Result<LibraryReport> CheckLibrary(const std::string& path) {
  LibraryReport report;
  MR_ASSIGN_OR_RETURN(const bool is_library, CheckFile(path, &report));
  if (!is_library) return report;
  const std::string file = path[0] == '/' ? path : "./" + path;
  auto json = StartCheck(file).Finish();
  if (!json.ok()) {
    // The problems found above explain the failure better than the loader does.
    if (!report.problems.empty()) return report;
    if (json.status().code() != Code::kInvalidArgument) return json.status();
    report.problems.push_back(AsProblem(json.status().message(), file));
    return report;
  }
  auto info = ParseLibraryInfo(*json);
  if (!info.ok()) {
    report.problems.push_back(info.status().message());
    return report;
  }
  report.info = *std::move(info);
  if (report.info.operators.empty()) report.problems.push_back("has no operators in its table");
  MR_RETURN_IF_ERROR(CheckJobs(file, &report));
  return report;
}

std::string FlagWords(uint32_t flags) {
  constexpr std::pair<uint32_t, const char*> kWords[] = {{MR_DETERMINISTIC, "deterministic"},
                                                         {MR_UNORDERED, "unordered"},
                                                         {MR_SIDE_EFFECTS, "side_effects"},
                                                         {MR_REUSABLE, "reusable"},
                                                         {MR_ASSOCIATIVE, "associative"},
                                                         {MR_RAW_BLOCKS, "raw_blocks"},
                                                         {MR_IDENTITY, "identity"}};
  std::string text;
  for (const auto& [flag, word] : kWords) {
    if (flags & flag) text += (text.empty() ? "" : " ") + std::string(word);
  }
  return text;
}

std::string RenderLibrary(const LibraryReport& report, OutputForm form) {
  if (form != OutputForm::kTable) return JsonLibrary(report, form);
  std::string text = "library     " + report.path + ", " + HumanBytes(report.bytes) + "\n";
  std::string needs;
  for (const auto& [file, version] : report.needs) needs += (needs.empty() ? "" : ", ") + version;
  if (!needs.empty()) text += "needs       " + needs + "\n";
  if (!report.info.built_with.empty()) {
    text += "built with  " + report.info.built_with + "\nabi         " + std::to_string(report.info.abi) + "\n";
  }
  if (!report.info.operators.empty()) {
    Table operators({"OPERATOR", "TAKES", "GIVES", "FLAGS"});
    for (const auto& op : report.info.operators) {
      operators.Add({op.name, TypeListText(op.types.inputs), TypeListText(op.types.ports), FlagWords(op.flags)});
    }
    text += "\n" + operators.Text();
  }
  if (!report.info.jobs.empty()) {
    Table jobs({"JOB", "WHAT IT DOES"});
    for (const auto& job : report.info.jobs) jobs.Add({job.name, job.help.substr(0, job.help.find('\n'))});
    text += "\n" + jobs.Text();
  }
  if (!report.unchecked.empty()) {
    text += "\nplans not checked, since they need arguments: " + Listed(report.unchecked) + " (`mrctl explain --lib " +
            report.path + " JOB ARGS` does)\n";
  }
  return text;
}

}  // namespace mr::ctl
