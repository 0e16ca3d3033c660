#include "tests/tidy/source_tree.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace mr::tidy {

namespace {

namespace fs = std::filesystem;

std::vector<std::string> TrackedPaths() {
  std::vector<std::string> paths;
  FILE* pipe = popen("git -C '" MR_SOURCE_DIR "' ls-files 2>/dev/null", "r");
  if (pipe == nullptr) return paths;
  char line[4096];
  while (std::fgets(line, sizeof line, pipe) != nullptr) {
    std::string path = line;
    while (!path.empty() && path.back() == '\n') path.pop_back();
    paths.push_back(path);
  }
  if (pclose(pipe) != 0) paths.clear();
  return paths;
}

std::vector<std::string> WalkedPaths() {
  std::vector<std::string> paths;
  for (auto it = fs::recursive_directory_iterator(MR_SOURCE_DIR); it != fs::end(it); ++it) {
    const std::string name = it->path().filename().string();
    if (it->is_directory() && (name == ".git" || StartsWith(name, "build"))) {
      it.disable_recursion_pending();
    } else if (it->is_regular_file()) {
      paths.push_back(fs::relative(it->path(), MR_SOURCE_DIR).generic_string());
    }
  }
  return paths;
}

// A folder and what its files may include of the project; the longest matching folder decides.
struct FolderRule {
  const char* folder;
  std::vector<const char*> may_include;
};

const std::vector<FolderRule>& FolderRules() {
  static const std::vector<FolderRule> rules = {
      {"common/base/", {"common/base/"}},
      {"common/model/", {"common/base/", "common/model/"}},
      {"common/abi/", {"common/abi/", "common/base/"}},
      {"common/", {"common/"}},
      {"dfs/", {"common/", "dfs/"}},
      {"master/sched/", {"common/base/", "common/model/", "master/sched/"}},
      {"master/core/", {"common/base/", "common/model/", "common/abi/", "dfs/meta/", "master/core/", "master/sched/"}},
      {"master/sim/", {"common/", "master/sched/", "master/sim/"}},
      {"master/sim/mrsim_main.cc", {"common/", "master/core/", "master/sched/", "master/sim/"}},
      {"master/sim/swarm/core_", {"common/", "dfs/meta/", "master/core/", "master/sched/", "master/sim/"}},
      {"master/sim/replay/",
       {"common/", "master/core/", "master/history/", "master/journal/", "master/sched/", "master/host/read_journal.h",
        "master/sim/"}},
      {"master/history/", {"common/", "master/history/", "master/sched/"}},
      {"master/host/predictor", {"common/", "dfs/", "master/"}},
      {"master/",
       {"common/", "dfs/", "master/core/", "master/history/", "master/journal/", "master/sched/", "master/host/",
        "master/web/"}},
      {"worker/", {"common/", "dfs/", "worker/"}},
      {"jobs/", {"common/", "dfs/client/", "jobs/", "paceline/"}},
      {"tests/", {"common/", "dfs/", "master/", "worker/", "jobs/", "paceline/", "tests/"}},
  };
  return rules;
}

// A library header and where it may be used.
std::string CheckLibrary(const std::string& path, const std::string& name) {
  const bool test = StartsWith(path, "tests/");
  const bool pure = StartsWith(path, "master/sched/") || StartsWith(path, "master/core/") ||
                    StartsWith(path, "common/base/") || StartsWith(path, "common/model/");
  const bool child = StartsWith(path, "worker/task/") || StartsWith(path, "jobs/sdk/") ||
                     StartsWith(path, "jobs/builtin/") || StartsWith(path, "common/abi/");
  if (StartsWith(name, "gflags/") && !EndsWith(path, "_main.cc")) {
    return "gflags belongs in *_main.cc only";
  }
  if (StartsWith(name, "glog/") && (pure || child)) return "nothing logs here";
  const bool kj = StartsWith(name, "kj/") || StartsWith(name, "capnp/") || EndsWith(name, ".capnp.h");
  if (kj && (pure || child)) return "no KJ and no Cap'n Proto here";
  if (StartsWith(name, "curl/") && !StartsWith(path, "common/url/")) return "libcurl belongs in common/url";
  if (StartsWith(name, "rocksdb/") && (pure || child)) return "no RocksDB here";
  if (StartsWith(name, "asio") && (EndsWith(path, ".h") || pure)) {
    return "Asio costs 3 s per file: in a .cc behind a pimpl, never in a header";
  }
  const bool core = StartsWith(path, "master/sched/") || StartsWith(path, "master/core/");
  if (!core || test) return "";
  for (const char* banned :
       {"unordered_map", "unordered_set", "chrono", "thread", "mutex", "shared_mutex", "atomic", "random", "ctime",
        "time.h", "fstream", "iostream", "future", "condition_variable", "unistd.h", "filesystem"}) {
    if (name == banned) return "it is a function of its events; no <" + name + ">";
  }
  return "";
}

}  // namespace

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}
bool StartsWith(const std::string& text, const std::string& begin) { return text.compare(0, begin.size(), begin) == 0; }
bool IsCode(const SourceFile& file) { return EndsWith(file.path, ".h") || EndsWith(file.path, ".cc"); }

std::vector<std::string> SourceFile::lines() const {
  std::vector<std::string> all;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) all.push_back(line);
  return all;
}

std::vector<SourceFile> SourceTree() {
  std::vector<std::string> paths = TrackedPaths();
  if (paths.empty()) paths = WalkedPaths();
  std::sort(paths.begin(), paths.end());
  std::vector<SourceFile> files;
  for (const std::string& path : paths) {
    std::ifstream in(fs::path(MR_SOURCE_DIR) / path, std::ios::binary);
    if (!in) continue;  // deleted, and not yet committed
    std::stringstream text;
    text << in.rdbuf();
    files.push_back({path, text.str()});
  }
  return files;
}

std::vector<Include> IncludesOf(const std::string& text) {
  std::vector<Include> includes;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (!StartsWith(line, "#include")) continue;
    const size_t open = line.find_first_of("<\"");
    if (open == std::string::npos) continue;
    const bool system = line[open] == '<';
    const size_t close = line.find(system ? '>' : '"', open + 1);
    if (close != std::string::npos) includes.push_back({line.substr(open + 1, close - open - 1), system});
  }
  return includes;
}

std::string CheckIncludes(const std::string& path, const std::vector<Include>& includes) {
  const FolderRule* rule = nullptr;
  for (const FolderRule& r : FolderRules()) {
    if (!StartsWith(path, r.folder)) continue;
    if (rule == nullptr || std::string(r.folder).size() > std::string(rule->folder).size()) rule = &r;
  }
  const std::string of = path + ": #include of ";
  for (const Include& include : includes) {
    if (const std::string error = CheckLibrary(path, include.name); !error.empty()) {
      return of + include.name + ": " + error;
    }
    const size_t slash = include.name.find('/');
    const bool paceline = StartsWith(include.name, "paceline/");
    // What the schema compiler makes.
    if (StartsWith(include.name, "schema/") || (include.system && !paceline)) continue;
    if (slash == std::string::npos) return of + include.name + ": write the path from the root";
    if (rule == nullptr) continue;
    const bool allowed = std::any_of(rule->may_include.begin(), rule->may_include.end(),
                                     [&](const char* prefix) { return StartsWith(include.name, prefix); });
    if (!allowed) return of + include.name + ": " + rule->folder + " must not know it";
  }
  return "";
}

}  // namespace mr::tidy
