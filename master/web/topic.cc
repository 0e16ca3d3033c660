#include "master/web/topic.h"

#include <algorithm>
#include <cctype>
#include <optional>

namespace mr::web {
namespace {

constexpr TopicDoc kDocs[] = {
    {"cluster", "The cluster: slots over time, jobs, queues, racks, store"},
    {"workers", "All workers"},
    {"workers/ID", "A worker, its attempts, and why the scheduler avoids it"},
    {"store", "The block store: blocks, space by worker, the root directory"},
    {"scheduler", "The list of policies, the figures that they steer by, attempts by cause"},
    {"queues", "The queues"},
    {"jobs?before=ID&state=failed,killed&name=TEXT", "Jobs, newest first, 100 per page"},
    {"jobs/ID", "A job"},
    {"jobs/ID/report", "The report of a job"},
    {"jobs/ID/tasks", "The tasks of a job"},
    {"jobs/ID/attempts", "The attempts of a job"},
    {"jobs/ID/counters", "The counters of a job"},
    {"attempts/ID/log", "The end of a failed attempt's log that the master keeps, as plain text"},
    {"search?q=TEXT", "Jobs and workers by id or name, at most 20"},
    {"events?of=PATH", "Server-sent events: when the document of this path changes"},
};

struct Named {
  std::string_view name;
  TopicKind kind;
};
constexpr Named kWhole[] = {{"cluster", TopicKind::kCluster}, {"workers", TopicKind::kWorkers},
                            {"store", TopicKind::kStore},     {"scheduler", TopicKind::kScheduler},
                            {"queues", TopicKind::kQueues},   {"jobs", TopicKind::kJobs},
                            {"search", TopicKind::kSearch}};
constexpr Named kOfJob[] = {{"", TopicKind::kJob},
                            {"/report", TopicKind::kReport},
                            {"/tasks", TopicKind::kTasks},
                            {"/attempts", TopicKind::kAttempts},
                            {"/counters", TopicKind::kCounters}};

constexpr JobState kJobStates[] = {JobState::kPending, JobState::kRunning, JobState::kCommitting, JobState::kSucceeded,
                                   JobState::kFailed,  JobState::kKilling, JobState::kKilled};

constexpr std::string_view kLogName = "/log";

constexpr size_t kMostText = 200;  // bytes of a search; a guess

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Result<std::string> PercentDecoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+') {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      const int high = i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? HexDigit(text[i + 2]) : -1;
      if (high < 0 || low < 0) return InvalidArgument("a % in a URL must be followed by two hexadecimal digits");
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return out;
}

std::string PercentEncoded(std::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '_' || c == '-' || c == '.') {
      out += c;
    } else {
      out += {'%', kDigits[byte / 16], kDigits[byte % 16]};
    }
  }
  return out;
}

Status TakeStates(const std::string& value, std::set<JobState>* out) {
  for (size_t from = 0; from <= value.size();) {
    const size_t to = std::min(value.find(',', from), value.size());
    const std::string word = InLowerCase(value.substr(from, to - from));
    from = to + 1;
    std::optional<JobState> found;
    for (const JobState state : kJobStates) {
      if (word == InLowerCase(Word(state))) found = state;
    }
    if (!found) return InvalidArgument("'" + word + "' is no state of a job");
    out->insert(*found);
  }
  return Status::Ok();
}

Status TakeParameter(const std::string& name, const std::string& value, Topic* topic) {
  if (topic->kind == TopicKind::kSearch && name == "q") {
    if (value.size() > kMostText) return InvalidArgument("a search has at most 200 bytes");
    topic->text = InLowerCase(value);
    return Status::Ok();
  }
  if (topic->kind == TopicKind::kJobs && name == "name") {
    if (value.size() > kMostText) return InvalidArgument("a name has at most 200 bytes");
    topic->text = InLowerCase(value);
    return Status::Ok();
  }
  if (topic->kind == TopicKind::kJobs && name == "state") return TakeStates(value, &topic->states);
  if (topic->kind == TopicKind::kJobs && name == "before") {
    const auto job = ParseJobId(value);
    if (!job) return InvalidArgument("'" + value + "' is no id of a job");
    topic->job = *job;
    return Status::Ok();
  }
  return InvalidArgument("there is no parameter '" + name + "' here");
}

// Whether the text is the attempt's one name: there are others, with more zeros, that parse.
bool IsNameOf(const AttemptId& attempt, std::string_view text) {
  return Name(attempt, TaskLetter::kMap) == text || Name(attempt, TaskLetter::kReduce) == text;
}

std::optional<Topic> FindTopic(std::string_view path) {
  Topic topic;
  for (const Named& named : kWhole) {
    if (path != named.name) continue;
    topic.kind = named.kind;
    return topic;
  }
  if (path.starts_with("workers/")) {
    const auto worker = ParseWorkerId(path.substr(8));
    if (!worker || Name(*worker) != path.substr(8)) return std::nullopt;
    topic.kind = TopicKind::kWorker;
    topic.worker = *worker;
    return topic;
  }
  if (path.starts_with("attempts/") && path.ends_with(kLogName)) {
    const std::string_view name = path.substr(9, path.size() - 9 - kLogName.size());
    const auto attempt = ParseAttemptId(name);
    if (!attempt || !IsNameOf(*attempt, name)) return std::nullopt;
    topic.kind = TopicKind::kLog;
    topic.job = attempt->task.job;
    topic.text = name;
    return topic;
  }
  if (!path.starts_with("jobs/")) return std::nullopt;
  path.remove_prefix(5);
  const size_t slash = std::min(path.find('/'), path.size());
  const auto job = ParseJobId(path.substr(0, slash));
  // Each document has one name.
  if (!job || Name(*job) != path.substr(0, slash)) return std::nullopt;
  topic.job = *job;
  for (const Named& named : kOfJob) {
    if (path.substr(slash) != named.name) continue;
    topic.kind = named.kind;
    return topic;
  }
  return std::nullopt;
}

}  // namespace

std::string InLowerCase(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

std::span<const TopicDoc> TopicDocs() { return kDocs; }

Result<std::vector<std::pair<std::string, std::string>>> ParseQuery(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> out;
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(part.size() + 1, query.size()));
    if (part.empty()) continue;
    const size_t equals = std::min(part.find('='), part.size());
    MR_ASSIGN_OR_RETURN(std::string name, PercentDecoded(part.substr(0, equals)));
    MR_ASSIGN_OR_RETURN(std::string value, PercentDecoded(part.substr(std::min(equals + 1, part.size()))));
    out.emplace_back(std::move(name), std::move(value));
  }
  return out;
}

Result<Topic> ParseTopic(std::string_view path, std::string_view query) {
  std::optional<Topic> topic = FindTopic(path);
  if (!topic) return NotFound("there is no document of this name; api/v1 lists them");
  MR_ASSIGN_OR_RETURN(const auto parameters, ParseQuery(query));
  for (const auto& [name, value] : parameters) MR_RETURN_IF_ERROR(TakeParameter(name, value, &*topic));
  if (topic->kind == TopicKind::kSearch && topic->text.empty()) return InvalidArgument("search needs ?q=TEXT");
  return *std::move(topic);
}

std::string PathOf(const Topic& topic) {
  std::string query;
  const auto add = [&query](const char* name, const std::string& value) {
    query += (query.empty() ? "?" : "&") + std::string(name) + "=" + PercentEncoded(value);
  };
  for (const Named& named : kWhole) {
    if (topic.kind != named.kind) continue;
    if (topic.kind == TopicKind::kSearch) add("q", topic.text);
    if (topic.kind == TopicKind::kJobs) {
      std::string states;
      for (const JobState state : topic.states) states += (states.empty() ? "" : ",") + InLowerCase(Word(state));
      if (topic.job.valid()) add("before", Name(topic.job));
      if (!states.empty()) add("state", states);
      if (!topic.text.empty()) add("name", topic.text);
    }
    return std::string(named.name) + query;
  }
  if (topic.kind == TopicKind::kWorker) return "workers/" + Name(topic.worker);
  if (topic.kind == TopicKind::kLog) return "attempts/" + topic.text + std::string(kLogName);
  for (const Named& named : kOfJob) {
    if (topic.kind == named.kind) return "jobs/" + Name(topic.job) + std::string(named.name);
  }
  return "";
}

}  // namespace mr::web
