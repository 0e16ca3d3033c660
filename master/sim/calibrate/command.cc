#include "master/sim/calibrate/command.h"

#include <map>

#include "common/base/text.h"
#include "common/io/files.h"
#include "master/sim/calibrate/report.h"
#include "master/sim/traces/workload.h"

namespace mr::sim {

namespace {

struct Group {
  std::string name;
  std::vector<std::string> files;  // calibrated together
};
struct Source {
  const char* name;
  std::vector<Group> groups;
};

const std::vector<Source>& Sources() {
  static const std::vector<Source> sources = {
      {"hadoop-rumen",
       {{"hadoop-rumen/mumak19", {"mumak19_attempts.tsv"}}, {"hadoop-rumen/folder59", {"folder59_attempts.tsv"}}}},
      {"wfinstances", {{"wfinstances", {"wf_tasks.tsv"}}}},
      {"google2011-sub", {{"google2011-sub", {"GOOG_subtrace.first6000jobs.tr"}}}},
      {"tpch-spark-decima",
       {{"tpch-spark-decima",
         {"tpch_2g_tasks.tsv", "tpch_5g_tasks.tsv", "tpch_10g_tasks.tsv", "tpch_20g_tasks.tsv", "tpch_50g_tasks.tsv",
          "tpch_100g_tasks.tsv"}}}},
  };
  return sources;
}

// Adds a fit for each family of the group's attempts.
Status Add(const Group& group, const std::string& data, std::vector<Fit>* fits) {
  std::map<std::string, std::vector<ObservedStage>> families;
  for (const std::string& file : group.files) {
    auto loaded = LoadTrace({.workload = file, .data = data, .observe = true});
    if (!loaded.ok()) return loaded.status().With("cannot calibrate with " + group.name);
    Trace trace = std::move(*loaded);
    for (ObservedStage& stage : trace.observed) {
      // Files may use the same names for different jobs.
      if (group.files.size() > 1) stage.job = file + " " + stage.job;
      families[stage.family].push_back(std::move(stage));
    }
  }
  if (families.empty()) {
    return InvalidArgument(group.name +
                           ": its format has no attempts to calibrate with; those of rumen, wfinstances, google and "
                           "tpch have");
  }
  for (const auto& [family, stages] : families) {
    fits->push_back(FitOf(family.empty() ? group.name : group.name + "/" + family, stages));
  }
  return Status::Ok();
}

}  // namespace

Result<std::vector<Fit>> Calibrate(const std::vector<std::string>& names, const std::string& data) {
  std::vector<Fit> fits;
  std::vector<std::string_view> known;
  for (const Source& source : Sources()) {
    known.emplace_back(source.name);
    if (!names.empty()) continue;
    for (const Group& group : source.groups) MR_RETURN_IF_ERROR(Add(group, data, &fits));
  }
  for (const std::string& name : names) {
    bool found = false;
    for (const Source& source : Sources()) {
      if (name != source.name) continue;
      found = true;
      for (const Group& group : source.groups) MR_RETURN_IF_ERROR(Add(group, data, &fits));
    }
    if (found) continue;
    const Status added = Add({name, {name}}, data, &fits);
    if (added.code() == Code::kNotFound) {
      std::string list;
      for (const std::string_view k : known) list += (list.empty() ? "" : ", ") + std::string(k);
      return NotFound("source '" + name + "' is neither a trace file nor one of " + list + DidYouMean(name, known) +
                      "; " + added.message());
    }
    MR_RETURN_IF_ERROR(added);
  }
  return fits;
}

Status RunCalibrate(const CalibrateCommand& command) {
  MR_ASSIGN_OR_RETURN(const std::vector<Fit> fits, Calibrate(command.sources, command.data));
  if (command.form == "table") return WriteAll(1, FitTable(fits));
  std::string line = "mrsim calibrate";
  for (const std::string& source : command.sources) line += " " + source;
  return WriteAll(1, FitToml(fits, line + " -o toml"));
}

}  // namespace mr::sim
