#include "jobs/mrctl/trace.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "jobs/mrctl/json.h"

namespace mr::ctl {
namespace {

constexpr uint32_t kNewestHistory = 2;  // master/history/text.cc
constexpr int kJobPid = 0;              // workers use their numbers, from 1
constexpr int kDecisionsTid = 1, kJobTid = 2, kFirstStageTid = 3;
constexpr const char* kPhases[] = {"read", "shuffle", "merge", "reduce", "write"};

struct TracedAttempt {
  AttemptId id;
  TaskLetter letter = TaskLetter::kMap;
  uint32_t worker = 0;
  uint64_t input_bytes = 0, output_bytes = 0;  // of its task
  bool won = false;
  int64_t launched = 0, started = 0, inputs_done = 0, ended = 0;  // ns; 0: unknown, or not reached
  uint64_t phase = 0, taken = 0, total = 0;                       // of the last report
};

struct TracedStage {
  std::string name;
  TaskLetter letter = TaskLetter::kReduce;
};

struct TracedJob {
  std::string name;
  int64_t submitted = 0, ended = 0;
  std::vector<TracedStage> stages;
  std::vector<TracedAttempt> attempts;
};

std::vector<std::string_view> Split(std::string_view line, char at) {
  std::vector<std::string_view> words;
  while (true) {
    const size_t end = std::min(line.find(at), line.size());
    words.push_back(line.substr(0, end));
    if (end == line.size()) return words;
    line.remove_prefix(end + 1);
  }
}

template <class T>
bool Number(std::string_view word, T* value) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), *value);
  return error == std::errc() && end == word.data() + word.size();
}

// Parses the lines of one job. A task line belongs to the stage line above it, and an attempt line to the task line
// above it.
class HistoryReader {
 public:
  explicit HistoryReader(JobId id) : id_(id) {}

  Status Read(std::string_view history) {
    size_t number = 0;
    for (size_t at = 0; at < history.size();) {
      const size_t end = std::min(history.find('\n', at), history.size());
      const auto words = Split(history.substr(at, end - at), '\t');
      at = end + 1;
      if (++number == 1) {
        MR_RETURN_IF_ERROR(CheckVersion(words));
      } else if (!TakeLine(words)) {
        return Internal("line " + std::to_string(number) + " of the master's history of the job cannot be parsed");
      }
    }
    if (job_.submitted == 0) return Internal("the master's history does not contain the job");
    return Status::Ok();
  }
  TracedJob Take() { return std::move(job_); }

 private:
  using Words = std::vector<std::string_view>;

  static Status CheckVersion(const Words& words) {
    uint32_t version = 0;
    if (words.size() != 2 || words[0] != "paceline-history" || !Number(words[1], &version)) {
      return Internal("the master's answer is no history of the job");
    }
    if (version > kNewestHistory) {
      return Rejected("the master's history has version " + std::to_string(version) +
                      "; this mrctl reads versions up to " + std::to_string(kNewestHistory) +
                      ": use the mrctl of its release");
    }
    return Status::Ok();
  }

  bool TakeLine(const Words& w) {
    if (w[0] == "job") {
      ours_ = w.size() >= 8 && ParseJobId(w[1]) == id_;
      if (ours_) job_.name = w[2];
      return w.size() >= 8 && (!ours_ || (Number(w[6], &job_.submitted) && Number(w[7], &job_.ended)));
    }
    if (!ours_ || w[0] == "config" || w[0] == "list" || w[0] == "queue" || w[0] == "worker") return true;
    if (w[0] == "stage") return TakeStage(w);
    if (w[0] == "task") {
      if (w.size() < 4 || job_.stages.empty()) return false;
      task_in_ = next_task_++;
      return Number(w[1], &input_bytes_) && Number(w[2], &output_bytes_) && Number(w[3], &winner_);
    }
    return w[0] == "attempt" && TakeAttempt(w);
  }

  bool TakeStage(const Words& w) {
    if (w.size() < 6) return false;
    TracedStage stage{std::string(w[1]), TaskLetter::kReduce};
    // "0:..." is an input of files. A stage with one runs map tasks, and so does a stage that generates its records.
    if (w[5] == "-") stage.letter = TaskLetter::kMap;
    for (const std::string_view input : Split(w[5], ',')) {
      if (input.starts_with("0:")) stage.letter = TaskLetter::kMap;
    }
    job_.stages.push_back(std::move(stage));
    next_task_ = 0;
    return true;
  }

  bool TakeAttempt(const Words& w) {
    if (w.size() < 13 || job_.stages.empty() || next_task_ == 0) return false;
    TracedAttempt a;
    a.id.task = {id_, static_cast<uint32_t>(job_.stages.size() - 1), task_in_};
    a.letter = job_.stages.back().letter;
    a.input_bytes = input_bytes_;
    a.output_bytes = output_bytes_;
    const bool good = Number(w[1], &a.id.number) && Number(w[4], &a.worker) && Number(w[5], &a.launched) &&
                      Number(w[6], &a.started) && Number(w[7], &a.inputs_done) && Number(w[8], &a.ended) &&
                      Number(w[10], &a.taken) && Number(w[11], &a.total) && Number(w[12], &a.phase);
    a.won = good && a.id.number == winner_;
    if (a.launched != 0) job_.attempts.push_back(a);
    return good;
  }

  const JobId id_;
  TracedJob job_;
  bool ours_ = false;
  uint32_t next_task_ = 0, task_in_ = 0, winner_ = 0;
  uint64_t input_bytes_ = 0, output_bytes_ = 0;
};

// Writes the events of one job, with times in microseconds from its submission.
class TraceWriter {
 public:
  TraceWriter(const TracedJob& job, const std::vector<AttemptStatus>& attempts,
              const std::vector<DecisionStatus>& decisions)
      : job_(job), decisions_(decisions) {
    for (const AttemptStatus& a : attempts) said_[a.id] = &a;
  }

  Json Write(JobId id, const std::vector<WorkerStatus>& workers) {
    NameProcess(kJobPid, Name(id) + " " + job_.name, -1);
    NameThread(kJobPid, kDecisionsTid, "decisions");
    NameThread(kJobPid, kJobTid, "job");
    Slice(kJobPid, kJobTid, Name(id), "job", job_.submitted, job_.ended, Json::object());
    WriteStages();
    WriteAttempts(workers);
    WriteDecisions();
    return std::move(events_);
  }

 private:
  double Us(int64_t at) const { return static_cast<double>(std::max<int64_t>(at - job_.submitted, 0)) / 1e3; }

  void Meta(const char* what, int pid, int tid, Json args) {
    events_.push_back(
        Object({{"name", what}, {"ph", "M"}, {"pid", pid}, {"tid", tid}, {"ts", 0.0}, {"args", std::move(args)}}));
  }
  void NameProcess(int pid, const std::string& name, int order) {
    Meta("process_name", pid, 0, Object({{"name", name}}));
    Meta("process_sort_index", pid, 0, Object({{"sort_index", order}}));
  }
  void NameThread(int pid, int tid, const std::string& name) {
    Meta("thread_name", pid, tid, Object({{"name", name}}));
  }

  void Slice(int pid, int tid, const std::string& name, const std::string& category, int64_t from, int64_t to,
             Json args) {
    events_.push_back(Object({{"name", name},
                              {"cat", category},
                              {"ph", "X"},
                              {"pid", pid},
                              {"tid", tid},
                              {"ts", Us(from)},
                              {"dur", std::max(0.0, Us(to) - Us(from))},
                              {"args", std::move(args)}}));
  }
  void Decision(const std::string& name, double us, Json args) {
    events_.push_back(Object({{"name", name},
                              {"cat", "decision"},
                              {"ph", "i"},
                              {"s", "t"},
                              {"pid", kJobPid},
                              {"tid", kDecisionsTid},
                              {"ts", us},
                              {"args", std::move(args)}}));
  }

  int64_t EndOf(const TracedAttempt& a) const { return std::max(a.ended == 0 ? job_.ended : a.ended, a.launched); }

  void WriteStages() {
    for (size_t s = 0; s < job_.stages.size(); ++s) {
      int64_t from = 0, to = 0;
      for (const TracedAttempt& a : job_.attempts) {
        if (a.id.task.stage != s) continue;
        from = from == 0 ? a.launched : std::min(from, a.launched);
        to = std::max(to, EndOf(a));
      }
      const int tid = kFirstStageTid + static_cast<int>(s);
      NameThread(kJobPid, tid, "stage " + job_.stages[s].name);
      if (from != 0) Slice(kJobPid, tid, job_.stages[s].name, "stage", from, to, Json::object());
    }
  }

  // A slot is a track. An attempt takes the first slot that is free at its launch.
  void WriteAttempts(const std::vector<WorkerStatus>& workers) {
    std::vector<TracedAttempt> order = job_.attempts;
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.launched < b.launched; });
    std::map<uint32_t, std::vector<int64_t>> slots;  // by worker: when each slot is free again
    for (const TracedAttempt& a : order) {
      auto& free = slots[a.worker];
      const int pid = static_cast<int>(a.worker);
      if (free.empty()) NameProcess(pid, ProcessName(a.worker, workers), pid);
      size_t slot = 0;
      while (slot < free.size() && free[slot] > a.launched) ++slot;
      const int tid = static_cast<int>(slot) + 1;
      if (slot == free.size()) {
        free.push_back(0);
        NameThread(pid, tid, "slot " + std::to_string(tid));
      }
      free[slot] = EndOf(a);
      WriteAttempt(a, pid, tid);
    }
  }

  static std::string ProcessName(uint32_t worker, const std::vector<WorkerStatus>& workers) {
    std::string id = Name(WorkerId{worker});
    for (const WorkerStatus& w : workers) {
      if (w.id == id) return id + " " + w.name;
    }
    return id;
  }

  void WriteAttempt(const TracedAttempt& a, int pid, int tid) {
    const std::string name = Name(a.id, a.letter);
    const auto at = said_.find(name);
    const AttemptStatus* said = at == said_.end() ? nullptr : at->second;
    const std::string state = said != nullptr ? said->state : a.won ? "committed" : "ended";
    const std::string cause = said != nullptr ? said->cause : "";
    Json args = Object({{"stage", job_.stages[a.id.task.stage].name},
                        {"state", state},
                        {"cause", cause},
                        {"winner", a.won},
                        {"input_bytes", a.input_bytes},
                        {"output_bytes", a.won ? a.output_bytes : 0}});
    if (a.total > 0 && a.phase < std::size(kPhases)) {
      args["last_report"] = Object({{"phase", kPhases[a.phase]}, {"taken_bytes", a.taken}, {"total_bytes", a.total}});
    }
    if (said != nullptr && !said->message.empty()) args["message"] = said->message;
    const int64_t end = EndOf(a);
    Slice(pid, tid, name, "attempt", a.launched, end, std::move(args));
    // The phases that it reached: launch to child process, to having all inputs, to the end.
    const int64_t started = a.started == 0 ? end : std::clamp(a.started, a.launched, end);
    Slice(pid, tid, "launch", "phase", a.launched, started, Json::object());
    if (a.started != 0) {
      const bool reads = a.letter == TaskLetter::kReduce;
      const int64_t inputs = !reads ? started : a.inputs_done == 0 ? end : std::clamp(a.inputs_done, started, end);
      if (reads) Slice(pid, tid, "shuffle", "phase", started, inputs, Json::object());
      if (inputs < end) Slice(pid, tid, reads ? "reduce" : "map", "phase", inputs, end, Json::object());
    }
    if (decisions_.empty()) Decide(a, name, said, cause, state, end);
  }

  void WriteDecisions() {
    for (const DecisionStatus& d : decisions_) {
      Json args = Object({{"reason", d.reason}});
      if (!d.attempt.empty()) args["attempt"] = d.attempt;
      if (!d.worker.empty()) args["worker"] = d.worker;
      Decision(d.what, static_cast<double>(d.at_us), std::move(args));
    }
  }

  // Writes the decisions about an attempt that can be derived from it, if the scheduler's own are not known.
  void Decide(const TracedAttempt& a, const std::string& name, const AttemptStatus* said, const std::string& cause,
              const std::string& state, int64_t end) {
    Json launch = Object({{"attempt", name}, {"worker", Name(WorkerId{a.worker})}});
    if (said != nullptr) launch["reason"] = said->reason;
    Decision("launch" + (cause.empty() ? "" : " " + cause), Us(a.launched), std::move(launch));
    if (said == nullptr || state == "running" || state == "waiting") return;
    const char* word = state == "committed" ? "commit" : state == "failed" ? "fail" : "kill";
    Decision(word, Us(end),
             Object({{"attempt", name}, {"worker", Name(WorkerId{a.worker})}, {"reason", said->message}}));
  }

  const TracedJob& job_;
  const std::vector<DecisionStatus>& decisions_;
  std::map<std::string, const AttemptStatus*> said_;
  Json events_ = Json::array();
};

}  // namespace

Result<std::string> TraceJson(JobId job, std::string_view history, const std::vector<AttemptStatus>& attempts,
                              const std::vector<DecisionStatus>& decisions, const std::vector<WorkerStatus>& workers) {
  HistoryReader reader(job);
  MR_RETURN_IF_ERROR(reader.Read(history));
  const TracedJob traced = reader.Take();
  Json events = TraceWriter(traced, attempts, decisions).Write(job, workers);
  return DumpJson(Object({{"version", 1}, {"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}}));
}

}  // namespace mr::ctl
