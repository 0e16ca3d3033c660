#include "jobs/mrctl/config.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>

#include "common/base/text.h"
#include "common/io/files.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/job_file.h"
#include "jobs/mrctl/local_runs.h"
#include "jobs/mrctl/status_fd.h"

namespace mr::ctl {
namespace {

struct Key {
  std::string_view name;  // in a file
  const char* env;        // null: no variable
};
constexpr Key kKeys[] = {
    {"master", "MR_MASTER"},       {"queue", "MR_QUEUE"},           {"output", "MR_OUTPUT"},
    {"timeout", "MR_TIMEOUT"},     {"no_color", "MR_NO_COLOR"},     {"no_progress", "MR_NO_PROGRESS"},
    {"keep_runs", "MR_KEEP_RUNS"}, {"token_file", "MR_TOKEN_FILE"},
};
constexpr char kContextEnv[] = "MR_CONTEXT";
constexpr std::string_view kContexts = "contexts.";

struct Setting {
  std::string value;
  std::string origin;  // for messages
};
using Values = std::map<std::string, Setting, std::less<>>;
using Contexts = std::map<std::string, Values, std::less<>>;

// One source of settings.
struct Layer {
  Values values;
  std::optional<Setting> context;
};

bool Known(std::string_view name) {
  return std::any_of(std::begin(kKeys), std::end(kKeys), [&](const Key& key) { return key.name == name; });
}

Status UnknownKey(const std::string& path, const std::string& whole, std::string_view last, bool in_context) {
  std::vector<std::string_view> names;
  for (const Key& key : kKeys) names.push_back(key.name);
  if (!in_context) names.insert(names.end(), {"context", "contexts"});
  std::string all;
  for (const std::string_view name : names) all += (all.empty() ? "" : ", ") + std::string(name);
  return WithHint(InvalidArgument(path + ": unknown key '" + whole + "'" + DidYouMean(last, names)),
                  (in_context ? "keys of a context are " : "keys are ") + all);
}

// Adds an entry "contexts.NAME.KEY". Files of higher precedence are added before.
Status AddToContext(const std::string& path, const KeyTable::Entry& entry, Contexts* contexts) {
  const size_t dot = entry.key.rfind('.');
  const std::string name = entry.key.substr(kContexts.size(), dot - kContexts.size());
  const std::string key = entry.key.substr(dot + 1);
  if (!Known(key)) return UnknownKey(path, entry.key, key, true);
  if (!entry.fault.empty()) return InvalidArgument(path + ": " + entry.key + " " + entry.fault);
  (*contexts)[name].try_emplace(key, Setting{entry.values[0], path + ", context " + name});
  return Status::Ok();
}

Result<Layer> ReadLayer(const std::string& path, const ConfigSources& sources, Contexts* contexts,
                        std::vector<std::string>* files) {
  Layer layer;
  MR_ASSIGN_OR_RETURN(const std::optional<std::string> text, sources.file(path));
  if (!text.has_value()) return layer;
  files->push_back(path);
  MR_ASSIGN_OR_RETURN(const KeyTable table, ParseToml(*text, path));
  for (const KeyTable::Entry& entry : table.entries) {
    const bool in_context = entry.key.starts_with(kContexts) && entry.key.rfind('.') > kContexts.size();
    if (in_context) {
      MR_RETURN_IF_ERROR(AddToContext(path, entry, contexts));
      continue;
    }
    if (entry.key == "contexts") {
      return WithHint(InvalidArgument(path + ": contexts must be tables"),
                      "for example [contexts.lab] and below it master = \"lab:7070\"");
    }
    if (entry.key != "context" && !Known(entry.key)) return UnknownKey(path, entry.key, entry.key, false);
    if (entry.list) return InvalidArgument(path + ": " + entry.key + " takes one value");
    if (!entry.fault.empty()) return InvalidArgument(path + ": " + entry.key + " " + entry.fault);
    if (entry.key == "context")
      layer.context = Setting{entry.values[0], path};
    else
      layer.values.try_emplace(entry.key, Setting{entry.values[0], path});
  }
  return layer;
}

// Merges the settings of all layers, the strongest first. The first named context applies.
Result<Values> Merge(std::vector<Layer> layers, const Contexts& contexts, Settings* settings) {
  Values merged;
  for (Layer& layer : layers) {
    for (auto& [key, setting] : layer.values) merged.try_emplace(key, std::move(setting));
    if (!layer.context.has_value() || !settings->context.empty()) continue;
    const auto& [name, origin] = *layer.context;
    const auto found = contexts.find(name);
    if (found == contexts.end()) {
      std::vector<std::string_view> names;
      for (const auto& [known, values] : contexts) names.push_back(known);
      return WithHint(
          InvalidArgument(origin + ": no file has a context '" + name + "'" + DidYouMean(name, names)),
          "a context is a table [contexts." + name + "] of mr.toml or config.toml, with master = \"HOST:PORT\"");
    }
    settings->context = name;
    settings->context_origin = origin;
    for (const auto& [key, setting] : found->second) merged.try_emplace(key, setting);
  }
  return merged;
}

// Returns the setting, or null.
const Setting* Find(const Values& values, std::string_view key) {
  const auto at = values.find(key);
  return at == values.end() ? nullptr : &at->second;
}

bool IsTrue(const Values& values, std::string_view key) {
  const Setting* setting = Find(values, key);
  return setting != nullptr && setting->value != "false" && setting->value != "0";
}

// Adds a setting unless there is one.
void Add(std::string_view key, const std::string& value, const char* origin, Values* values) {
  values->try_emplace(std::string(key), Setting{value, origin});
}

// Returns how many local runs are kept: a number; 0 for none.
Result<uint64_t> KeepRuns(const Setting& setting) {
  constexpr uint64_t kMost = 1'000'000;  // a guard against typing errors
  uint64_t runs = 0;
  const char* end = setting.value.data() + setting.value.size();
  const auto [at, error] = std::from_chars(setting.value.data(), end, runs);
  if (error != std::errc() || at != end || runs > kMost) {
    return WithHint(InvalidArgument(setting.origin + ": keep_runs is '" + setting.value + "', and must be a number"),
                    "0 keeps none of the runs of `submit --local`");
  }
  return runs;
}

// Returns the directory of recorded runs (XDG Base Directory Specification: a relative path is not valid), or "".
std::string RunsDirectory(const ConfigSources& sources) {
  const auto state = sources.env("XDG_STATE_HOME");
  const bool valid = state.has_value() && state->starts_with('/');
  const auto home = sources.env("HOME");
  if (!valid && !home.has_value()) return "";
  return (valid ? *state : *home + "/.local/state") + "/paceline/runs";
}

}  // namespace

ConfigSources RealSources() {
  return {
      [](const char* name) -> std::optional<std::string> {
        const char* value = std::getenv(name);
        if (value == nullptr || *value == '\0') return std::nullopt;
        return std::string(value);
      },
      [](const std::string& path) -> Result<std::optional<std::string>> {
        if (!PathExists(path)) return std::optional<std::string>();
        MR_ASSIGN_OR_RETURN(std::string text, ReadFile(path));
        return std::optional<std::string>(std::move(text));
      },
  };
}

namespace {

// Lists each key, in the order of kKeys, with its value or default.
void Show(const Values& values, Settings* settings) {
  for (const Key& key : kKeys) {
    const auto at = values.find(key.name);
    ShownSetting shown{std::string(key.name), "", "default"};
    if (at != values.end()) {
      shown.value = at->second.value;
      shown.origin = at->second.origin;
    } else if (key.name == "master") {
      shown.value = kDefaultMaster;
    } else if (key.name == "output") {
      shown.value = "table";
    } else if (key.name == "keep_runs") {
      shown.value = std::to_string(kKeptRuns);
    } else if (key.name.starts_with("no_")) {
      shown.value = "false";
    }
    settings->shown.push_back(std::move(shown));
  }
}

}  // namespace

Result<Settings> ResolveSettings(const GlobalOptions& flags, const ConfigSources& sources) {
  Settings settings;
  Layer flag, env;
  if (!flags.master.empty()) Add("master", flags.master, "--master", &flag.values);
  if (!flags.form.empty()) Add("output", flags.form, "-o", &flag.values);
  if (!flags.timeout.empty()) Add("timeout", flags.timeout, "--timeout", &flag.values);
  if (flags.no_color) Add("no_color", "true", "--no-color", &flag.values);
  if (flags.no_progress) Add("no_progress", "true", "--no-progress", &flag.values);
  for (const Key& key : kKeys) {
    if (auto value = sources.env(key.env)) Add(key.name, *value, key.env, &env.values);
  }
  if (auto value = sources.env(kContextEnv)) env.context = Setting{*value, kContextEnv};
  // Weaker than a flag, stronger than any file: https://no-color.org, and terminals without colours.
  if (sources.env("NO_COLOR").has_value()) Add("no_color", "true", "NO_COLOR", &env.values);
  if (sources.env("TERM") == "dumb") Add("no_color", "true", "TERM=dumb", &env.values);

  std::vector<std::string> paths = {"mr.toml"};
  const auto home = sources.env("XDG_CONFIG_HOME");
  const auto user = sources.env("HOME");
  if (home.has_value() || user.has_value())
    paths.push_back((home.has_value() ? *home : *user + "/.config") + "/mr/config.toml");
  paths.push_back("/etc/mr/config.toml");
  std::vector<Layer> layers = {std::move(flag), std::move(env)};
  Contexts contexts;
  for (const std::string& path : paths) {
    MR_ASSIGN_OR_RETURN(Layer layer, ReadLayer(path, sources, &contexts, &settings.files));
    layers.push_back(std::move(layer));
  }
  MR_ASSIGN_OR_RETURN(const Values values, Merge(std::move(layers), contexts, &settings));

  settings.quiet = flags.quiet;
  if (flags.status_fd >= 0) MR_RETURN_IF_ERROR(PrepareStatusFd(flags.status_fd));
  settings.status_fd = flags.status_fd;
  settings.verbose = flags.verbose;
  settings.color = !IsTrue(values, "no_color");
  settings.progress = !IsTrue(values, "no_progress") && !flags.quiet;
  if (const Setting* master = Find(values, "master")) settings.master = master->value;
  if (const Setting* queue = Find(values, "queue")) settings.queue = queue->value;
  if (const Setting* output = Find(values, "output")) {
    auto form = ParseOutputForm(output->value);
    if (!form.ok()) return form.status().With(output->origin);
    settings.form = *form;
  }
  if (const Setting* timeout = Find(values, "timeout")) {
    auto limit = ParseDuration(timeout->value);
    if (!limit.ok()) return limit.status().With(timeout->origin);
    settings.timeout = *limit;
  }
  if (const Setting* token = Find(values, "token_file")) settings.token_file = token->value;
  settings.keep_runs = kKeptRuns;
  if (const Setting* runs = Find(values, "keep_runs")) {
    MR_ASSIGN_OR_RETURN(settings.keep_runs, KeepRuns(*runs));
  }
  settings.runs_directory = RunsDirectory(sources);
  Show(values, &settings);
  return settings;
}

Result<OutputForm> ParseOutputForm(const std::string& word) {
  if (word.empty() || word == "table") return OutputForm::kTable;
  if (word == "json") return OutputForm::kJson;
  if (word == "ndjson") return OutputForm::kNdjson;
  constexpr std::string_view kWords[] = {"table", "json", "ndjson"};
  return InvalidArgument("the output format is table, json or ndjson, not '" + word + "'" + DidYouMean(word, kWords));
}

}  // namespace mr::ctl
