#include "worker/task/plan_check.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "common/abi/operator_calls.h"
#include "common/abi/type_tags.h"
#include "worker/task/library.h"
#include "worker/task/operator_calls.h"

namespace mr::task {
namespace {

using nlohmann::json;

// Time limit for static constructors and plan() functions that never end: SIGALRM ends the process.
constexpr unsigned kTimeLimitSeconds = 10;

// Exit codes. kArgumentsRefused: other arguments of the job may make a plan (MR_PLAN_REFUSED).
constexpr int kInvalid = 2;
constexpr int kArgumentsRefused = 3;

// Moves standard output to a descriptor of its own, and lets the library print to standard error. Its constructors and
// plan functions may print, and mrctl parses the answer.
class Answer {
 public:
  Answer() : out_(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)) { dup2(STDERR_FILENO, STDOUT_FILENO); }

  // Prints the answer and ends the process, not through destructors of the library.
  [[noreturn]] void Print(const json& answer) const {
    fflush(stdout);
    const std::string text = answer.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
    for (size_t at = 0; at < text.size();) {
      const ssize_t n = write(out_, text.data() + at, text.size() - at);
      if (n < 0 && errno != EINTR) _exit(1);
      if (n > 0) at += static_cast<size_t>(n);
    }
    _exit(0);
  }

 private:
  int out_;
};

int Refuse(const std::string& reason, int code = kInvalid) {
  fprintf(stderr, "%s\n", reason.c_str());
  fflush(stderr);
  return code;
}

void AppendTo(void* context, mr_bytes text) { static_cast<std::string*>(context)->append(text.data, text.size); }

std::optional<std::string> Base64(const std::string& text) {
  std::string out;
  uint32_t bits = 0;
  int have = 0;
  for (char c : text) {
    int v;
    if (c >= 'A' && c <= 'Z')
      v = c - 'A';
    else if (c >= 'a' && c <= 'z')
      v = c - 'a' + 26;
    else if (c >= '0' && c <= '9')
      v = c - '0' + 52;
    else if (c == '+')
      v = 62;
    else if (c == '/')
      v = 63;
    else if (c == '=')
      break;
    else
      return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(v);
    have += 6;
    if (have >= 8) {
      have -= 8;
      out.push_back(static_cast<char>(bits >> have & 0xff));
    }
  }
  return out;
}

Status Prepare(const mr_operator* table, const std::string& config, const std::string& stage) {
  if (table->prepare == nullptr) return {};
  Operator oper{table, nullptr, {}};
  std::string error;
  const Status status = CallOperator(oper, "prepare", [&] {
    return table->prepare({config.data(), config.size()}, {&error, &AppendTo});
  });
  if (status.ok()) return {};
  return InvalidArgument("stage " + stage + ": " + (error.empty() ? status.message() : error));
}

json TypeList(const std::vector<RecordType>& types) {
  json list = json::array();
  for (const RecordType& type : types) list.push_back({type.key, type.value});
  return list;
}

// Returns the types that an operator declares, or null if there are none.
json TypesJson(const mr_operator& op) {
  const OperatorTypes types = TypesOf(op);
  if (types.empty()) return nullptr;
  return {{"inputs", TypeList(types.inputs)},
          {"ports", TypeList(types.ports)},
          {"side", TypeList(types.side)},
          {"combine", TypeList(types.combine)}};
}

// Returns the names of the operator's optional functions and of its needs.
json CallsJson(const mr_operator& op) {
  const OperatorCalls calls = CallsOf(op);
  json names = json::array();
  if (calls.combine) names.push_back("combine");
  if (calls.partition) names.push_back("partition");
  if (calls.groups) names.push_back("groups");
  if (calls.part_groups) names.push_back("part_groups");
  if (calls.side) names.push_back("side");
  return names;
}

// Facts about the operators of a plan, by operator.
struct OperatorFacts {
  json flags = json::object(), types = json::object(), calls = json::object();
};

// Runs prepare() of each stage and collects facts about the operators.
Status Examine(const mr_library* library, const json& plan, OperatorFacts* facts) {
  if (plan.value("version", 0) != 1) return InvalidArgument("the plan has no \"version\": 1");
  if (!plan.contains("stages") || !plan["stages"].is_array() || plan["stages"].empty()) {
    return InvalidArgument("the plan has no stages");
  }
  std::map<std::string, const mr_operator*> tables;  // by stage
  for (const json& stage : plan["stages"]) {
    const std::string name = stage.at("name").get<std::string>();
    const std::string op = stage.at("operator").get<std::string>();
    Result<const mr_operator*> table = FindOperator(library, op);
    if (!table.ok()) return table.status().With("stage " + name);
    const auto config = Base64(stage.value("config", ""));
    if (!config) return InvalidArgument("stage " + name + ": its config is not base64");
    MR_RETURN_IF_ERROR(Prepare(*table, *config, name));
    facts->flags[op] = (*table)->flags;
    facts->calls[op] = CallsJson(**table);
    if (json declared = TypesJson(**table); !declared.is_null()) facts->types[op] = std::move(declared);
    tables[name] = *table;
    for (const json& input : stage.value("inputs", json::array())) {
      if (!input.contains("edge") || !input["edge"].value("grouped", false)) continue;
      const auto from = tables.find(input["edge"].value("from", ""));
      // If sorting and merging used different orders, a key's values would arrive in several groups.
      if (from == tables.end() || (from->second->compare == nullptr) == ((*table)->compare == nullptr)) continue;
      const bool reader = (*table)->compare != nullptr;
      return InvalidArgument("stage " + name + ": operator " + (reader ? op : std::string(from->second->name)) +
                             " has its own order of keys (Comparator), but " + (reader ? from->second->name : op) +
                             ", which " +
                             (reader ? "writes the records that it groups" : "groups the records that it writes") +
                             ", does not; give both the same Comparator");
    }
  }
  return {};
}

}  // namespace

int LibrariesMain() {
  char self[4096];
  const ssize_t n = readlink("/proc/self/exe", self, sizeof self);
  if (n <= 0) return Refuse("cannot read /proc/self/exe");
  printf("%.*s\n", static_cast<int>(n), self);
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void*) {
        if (info->dlpi_name[0] == '/') printf("%s\n", info->dlpi_name);
        return 0;
      },
      nullptr);
  return 0;
}

int CheckMain(const std::string& path) {
  alarm(kTimeLimitSeconds);
  const Answer answer;
  const Result<const mr_library*> library = LoadLibrary(path);
  if (!library.ok()) return Refuse(library.status().message());
  json out = {{"jobs", json::array()}, {"operators", json::array()}};
  out["abi"] = (*library)->abi;
  out["built_with"] = (*library)->built_with != nullptr ? (*library)->built_with : "";
  for (uint32_t i = 0; i < (*library)->job_count; ++i) {
    const mr_job* job = (*library)->jobs[i];
    out["jobs"].push_back({{"name", job->name}, {"help", job->help != nullptr ? job->help : ""}});
  }
  for (uint32_t i = 0; i < (*library)->operator_count; ++i) {
    const mr_operator* op = (*library)->operators[i];
    json entry = {{"name", op->name}, {"flags", op->flags}};
    if (json types = TypesJson(*op); !types.is_null()) entry["types"] = std::move(types);
    out["operators"].push_back(std::move(entry));
  }
  answer.Print(out);
}

namespace {

// The sizes that a job's plan may ask for.
struct Sizes {
  uint64_t memory_bytes = 0;
  std::map<std::string, uint64_t> bytes;  // by URI
  std::vector<std::string> wanted;        // requested by the plan but not known, each once

  static int InputBytes(void* context, uint32_t count, const mr_bytes* uris, uint64_t* sum) {
    auto* self = static_cast<Sizes*>(context);
    *sum = 0;
    bool known = true;
    for (uint32_t i = 0; i < count; ++i) {
      const std::string uri(uris[i].data, uris[i].size);
      if (const auto at = self->bytes.find(uri); at != self->bytes.end()) {
        *sum += at->second;
        continue;
      }
      known = false;
      auto& wanted = self->wanted;
      if (std::find(wanted.begin(), wanted.end(), uri) == wanted.end()) wanted.push_back(uri);
    }
    return known ? 1 : 0;
  }
};

bool ParseNumber(const std::string& word, uint64_t* out) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), *out);
  return error == std::errc() && end == word.data() + word.size();
}

// Parses the options before LIBRARY. Returns the index of LIBRARY, or nothing if they are invalid.
std::optional<size_t> TakeSizes(const std::vector<std::string>& argv, Sizes* sizes) {
  size_t i = 0;
  for (; i < argv.size(); ++i) {
    uint64_t n = 0;
    if (argv[i] == "--memory" && i + 1 < argv.size() && ParseNumber(argv[i + 1], &n)) {
      sizes->memory_bytes = n;
      ++i;
    } else if (argv[i] == "--bytes" && i + 2 < argv.size() && ParseNumber(argv[i + 1], &n)) {
      sizes->bytes[argv[i + 2]] = n;
      i += 2;
    } else {
      break;
    }
  }
  if (i + 2 > argv.size() || argv[i].starts_with("--")) return std::nullopt;
  return i;
}

int CallPlan(const mr_job* job, const std::vector<mr_bytes>& list, Sizes* sizes, mr_sink text, mr_sink error) {
  const auto argc = static_cast<uint32_t>(list.size());
  if (!MR_HAS(job, plan_sized) || job->plan_sized == nullptr) return job->plan(argc, list.data(), text, error);
  const mr_plan_args args{sizeof args, argc, list.data(), sizes, &Sizes::InputBytes, sizes->memory_bytes};
  return job->plan_sized(&args, text, error);
}

// Gets the document that a job's plan() writes. Returns 0, or the exit code of mrtask with the reason in `error`.
int AskJob(const mr_library* library, const std::string& name, const std::vector<std::string>& args, Sizes* sizes,
           std::string* text, std::string* error) {
  const Result<const mr_job*> job = FindJob(library, name);
  if (!job.ok()) {
    *error = job.status().message();
    return kInvalid;
  }
  std::vector<mr_bytes> list;
  list.reserve(args.size());
  for (const std::string& a : args) list.push_back({a.data(), a.size()});
  int code = 0;
  try {
    code = CallPlan(*job, list, sizes, {text, &AppendTo}, {error, &AppendTo});
  } catch (const std::exception& e) {
    *error = "job " + name + ": its plan() threw: " + e.what();
    return kInvalid;
  } catch (...) {
    *error = "job " + name + ": its plan() threw something that is not a std::exception";
    return kInvalid;
  }
  if (code != 0 && code != MR_PLAN_REFUSED && !error->empty() && !error->starts_with("job " + name)) {
    *error = "job " + name + ": its plan function failed: " + *error;
  }
  if (code != 0 && error->empty()) *error = "job " + name + ": its plan() failed without a reason";
  return code == MR_PLAN_OK ? 0 : code == MR_PLAN_REFUSED ? kArgumentsRefused : kInvalid;
}

}  // namespace

int PlanMain(const std::vector<std::string>& argv) {
  alarm(kTimeLimitSeconds);
  const Answer answer;
  Sizes sizes;
  const auto at = TakeSizes(argv, &sizes);
  if (!at) return Refuse("plan takes [--memory BYTES] [--bytes N URI]... LIBRARY JOB [ARGS...]");
  const std::string &path = argv[*at], &name = argv[*at + 1];
  const std::vector<std::string> args(argv.begin() + static_cast<ptrdiff_t>(*at) + 2, argv.end());
  const Result<const mr_library*> library = LoadLibrary(path);
  if (!library.ok()) return Refuse(library.status().message());
  std::string text, error;
  const bool given = name == "--document" && args.size() == 1;
  if (given) {
    text = args[0];
  } else if (const int failed = AskJob(*library, name, args, &sizes, &text, &error); failed != 0) {
    return Refuse(error, failed);
  }
  const std::string who = given ? "" : "job " + name + ": ";
  OperatorFacts facts;
  try {
    const json plan = json::parse(text);
    if (const Status s = Examine(*library, plan, &facts); !s.ok()) return Refuse(who + s.message());
    json out = {{"plan", plan}, {"operators", facts.flags}, {"calls", facts.calls}};
    if (!facts.types.empty()) out["types"] = facts.types;
    if (!sizes.wanted.empty()) out["wants_bytes"] = sizes.wanted;
    answer.Print(out);
  } catch (const json::exception& e) {
    return Refuse(given ? std::string("no valid plan document: ") + e.what()
                        : who + "its plan() wrote no valid plan document: " + e.what());
  }
}

}  // namespace mr::task
