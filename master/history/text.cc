// The document as text. A line's first word is its kind. A task's line belongs to the stage above it, an
// attempt's to the task above it.
#include <algorithm>
#include <charconv>
#include <cstdio>

#include "master/history/history.h"

namespace mr::history {
namespace {

constexpr std::string_view kMagic = "paceline-history\t";
constexpr uint32_t kHistoryVersion = 3;  // 1: without lists; 2: without deadlines
// The most tasks of a job in a document that is read (a guess: no job has more).
constexpr size_t kMostTasks = 10'000'000;

// Makes a name safe for a line: tabs and line ends become spaces. An empty name is "-".
std::string Plain(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  return text.empty() ? "-" : text;
}

std::string Line(std::initializer_list<std::string> words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : "\t") + word;
  return line + "\n";
}

template <class T>
std::string N(T value) {
  return std::to_string(value);
}
std::string N(Instant at) { return std::to_string(at.ns); }
template <class E>
std::string Number(E value) {
  return std::to_string(static_cast<int>(value));
}

// Returns "a,b,c", or "-" for an empty list.
template <class List, class F>
std::string Joined(const List& list, F word) {
  std::string text;
  for (const auto& item : list) text += (text.empty() ? "" : ",") + word(item);
  return text.empty() ? "-" : text;
}

std::string Exact(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

std::string JobLine(const Job& job) {
  std::string out = Line({"job", Name(job.id), Plain(job.name), Plain(job.queue), N(job.priority), Number(job.state),
                          N(job.submitted), N(job.ended)});
  out.pop_back();
  for (const std::string& policy : job.policies) out += "\t" + Plain(policy);
  out += "\n";
  return job.deadline.ns > 0 ? out + Line({"deadline", N(job.deadline.ns)}) : out;
}

std::string StageLine(const sched::StageSpec& spec) {
  const std::string inputs = Joined(spec.inputs, [](const sched::StageInput& in) {
    return N(int{in.is_edge}) + ":" + Number(in.edge) + ":" + N(in.upstream);
  });
  return Line(
      {"stage", Plain(spec.name), Number(spec.slot_kind), N(int{spec.side_effects}), N(int{spec.is_final}), inputs});
}

std::string TaskLines(const Task& t) {
  const std::string slices = Joined(t.slices, [](const Slice& l) {
    return N(l.input) + ":" + N(l.partition_begin) + ":" + N(l.partition_end) + ":" + N(l.task_begin) + ":" +
           N(l.task_end);
  });
  std::string out = Line({"task", N(t.input_bytes), N(t.output_bytes), N(t.winner),
                          Joined(t.preferred, [](WorkerId w) { return N(w.value); }), slices});
  for (const Attempt& a : t.attempts) {
    out += Line({"attempt", N(a.number), Number(a.cause), Number(a.state), N(a.worker.value), N(a.launched),
                 N(a.started), N(a.inputs_done), N(a.ended), N(a.reported), N(a.taken), N(a.total), Number(a.phase)});
  }
  return out;
}

class Words {
 public:
  explicit Words(std::string_view line, char separator = '\t') : rest_(line), separator_(separator) {}
  std::string_view Next() {
    const size_t end = std::min(rest_.find(separator_), rest_.size());
    const std::string_view word = rest_.substr(0, end);
    missing_ = missing_ || done_;
    done_ = end == rest_.size();
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return word;
  }
  std::string Text() {
    const std::string_view word = Next();
    return word == "-" ? "" : std::string(word);
  }
  template <class T>
  void Get(T* value) {
    const std::string_view word = Next();
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), *value);
    missing_ = missing_ || error != std::errc() || end != word.data() + word.size();
  }
  void Get(Instant* at) { Get(&at->ns); }
  void Get(bool* flag) {
    int n = 0;
    Get(&n);
    missing_ = missing_ || n < 0 || n > 1;
    *flag = n == 1;
  }
  // Reads an enumerator from `first` to `last`.
  template <class E>
  void GetEnum(E* value, E first, E last) {
    int n = -1;
    Get(&n);
    missing_ = missing_ || n < static_cast<int>(first) || n > static_cast<int>(last);
    if (!missing_) *value = static_cast<E>(n);
  }
  // Calls `take` for each word of "a,b,c", with a Words of its parts (separated by ':').
  template <class F>
  void List(F take) {
    const std::string_view list = Next();
    if (list == "-") return;
    Words items(list, ',');
    do {
      Words parts(items.Next(), ':');
      take(parts);
      missing_ = missing_ || !parts.good();
    } while (!items.done_);
  }
  bool more() const { return !done_ && !missing_; }
  bool good() const { return done_ && !missing_; }  // all words were there and there is no more

 private:
  std::string_view rest_;
  char separator_;
  bool done_ = false, missing_ = false;
};

// Parses one line into the document. Returns false where it is not valid.
bool TakeLine(std::string_view line, Document* document) {
  Words w(line);
  const std::string_view what = w.Next();
  Job* job = document->jobs.empty() ? nullptr : &document->jobs.back();
  Stage* stage = job == nullptr || job->stages.empty() ? nullptr : &job->stages.back();
  Task* task = stage == nullptr || stage->tasks.empty() ? nullptr : &stage->tasks.back();
  if (what == "config") {
    document->policies = w.Text();
    w.Get(&document->seed);
    w.Get(&document->left_out);
    return w.good();
  }
  if (what == "list") {
    sched::ListInForce list;
    w.Get(&list.from);
    list.policies = w.Text();
    const bool later = document->lists.empty() || document->lists.back().from <= list.from;
    document->lists.push_back(std::move(list));
    return w.good() && later;
  }
  if (what == "queue") {
    sched::QueueSet q;
    q.queue = w.Text();
    w.Get(&q.weight);
    w.Get(&q.min_share);
    w.Get(&q.max_share);
    document->queues.push_back(std::move(q));
    return w.good() && document->queues.back().weight > 0;
  }
  if (what == "worker") {
    Worker worker;
    w.Get(&worker.id.value);
    worker.rack = w.Text();
    w.Get(&worker.slots.total);
    w.Get(&worker.slots.map);
    w.Get(&worker.slots.reduce);
    w.Get(&worker.from);
    w.Get(&worker.until);
    document->workers.push_back(std::move(worker));
    return w.good() && document->workers.back().id.valid();
  }
  if (what == "job") {
    Job j;
    const auto id = ParseJobId(w.Next());
    if (!id) return false;
    j.id = *id;
    j.name = w.Text();
    j.queue = w.Text();
    w.Get(&j.priority);
    w.GetEnum(&j.state, sched::JobState::kRunning, sched::JobState::kKilled);
    w.Get(&j.submitted);
    w.Get(&j.ended);
    while (w.more()) j.policies.push_back(w.Text());
    document->jobs.push_back(std::move(j));
    return w.good();
  }
  if (what == "deadline") {
    if (job == nullptr) return false;
    w.Get(&job->deadline.ns);
    return w.good() && job->deadline.ns > 0;
  }
  if (what == "run") {
    document->run = w.Text();
    return w.good();
  }
  if (what == "stage") {
    if (job == nullptr) return false;
    Stage s;
    s.spec.name = w.Text();
    w.GetEnum(&s.spec.slot_kind, sched::SlotKind::kMap, sched::SlotKind::kReduce);
    w.Get(&s.spec.side_effects);
    w.Get(&s.spec.is_final);
    w.List([&](Words& parts) {
      sched::StageInput in;
      parts.Get(&in.is_edge);
      parts.GetEnum(&in.edge, sched::EdgeKind::kAllToAll, sched::EdgeKind::kBroadcast);
      parts.Get(&in.upstream);
      s.spec.inputs.push_back(in);
    });
    for (const sched::StageInput& in : s.spec.inputs) {
      if (in.is_edge && in.upstream >= job->stages.size()) return false;
    }
    job->stages.push_back(std::move(s));
    return w.good();
  }
  if (what == "task") {
    if (stage == nullptr || stage->tasks.size() >= kMostTasks) return false;
    Task t;
    w.Get(&t.input_bytes);
    w.Get(&t.output_bytes);
    w.Get(&t.winner);
    w.List([&](Words& parts) {
      t.preferred.emplace_back();
      parts.Get(&t.preferred.back().value);
    });
    bool inside = true;
    w.List([&](Words& parts) {
      Slice s;
      for (uint32_t* n : {&s.input, &s.partition_begin, &s.partition_end, &s.task_begin, &s.task_end}) parts.Get(n);
      inside = inside && s.input < stage->spec.inputs.size() && stage->spec.inputs[s.input].is_edge &&
               s.task_begin <= s.task_end &&
               s.task_end <= job->stages[stage->spec.inputs[s.input].upstream].tasks.size();
      t.slices.push_back(s);
    });
    stage->tasks.push_back(std::move(t));
    return w.good() && inside;
  }
  if (what == "attempt") {
    if (task == nullptr) return false;
    Attempt a;
    w.Get(&a.number);
    w.GetEnum(&a.cause, Cause::kFirst, Cause::kOpportunistic);
    w.GetEnum(&a.state, sched::AttemptState::kLaunched, sched::AttemptState::kKilled);
    w.Get(&a.worker.value);
    for (Instant* at : {&a.launched, &a.started, &a.inputs_done, &a.ended, &a.reported}) w.Get(at);
    w.Get(&a.taken);
    w.Get(&a.total);
    w.Get(&a.phase);
    task->attempts.push_back(a);
    return w.good();
  }
  return false;
}

}  // namespace

std::string WriteHead(const Document& d) {
  std::string out = std::string(kMagic) + N(kHistoryVersion) + "\n";
  if (!d.run.empty()) out += WriteRun(d.run);
  out += Line({"config", Plain(d.policies), N(d.seed), N(d.left_out)});
  for (const auto& list : d.lists) out += Line({"list", N(list.from), Plain(list.policies)});
  for (const auto& q : d.queues)
    out += Line({"queue", Plain(q.queue), Exact(q.weight), N(q.min_share), N(q.max_share)});
  for (const Worker& w : d.workers) {
    out += Line({"worker", N(w.id.value), Plain(w.rack), N(w.slots.total), N(w.slots.map), N(w.slots.reduce), N(w.from),
                 N(w.until)});
  }
  return out;
}

std::string WriteRun(const std::string& run) { return Line({"run", Plain(run)}); }

std::string WriteJob(const Job& job) {
  std::string out = JobLine(job);
  for (const Stage& s : job.stages) {
    out += StageLine(s.spec);
    for (const Task& t : s.tasks) out += TaskLines(t);
  }
  return out;
}

// A stage's line goes with its first task, so that a page never begins between the two.
Page WritePage(const sched::Job& job, uint32_t from, size_t bytes) {
  Page page;
  if (from == 0) page.text = JobLine(JobWithoutStages(job));
  uint32_t at = 0;
  for (size_t s = 0; s < job.stages.size(); ++s) {
    if (at >= from) page.text += StageLine(job.graph.stages[s]);
    for (size_t t = 0; t < job.stages[s].tasks.size(); ++t, ++at) {
      if (at < from) continue;
      if (t > 0 && page.text.size() >= bytes) {
        page.next = at;
        return page;
      }
      page.text += TaskLines(TaskOf(job.stages[s].tasks[t]));
    }
  }
  return page;
}

std::string Write(const Document& document) {
  std::string out = WriteHead(document);
  for (const Job& job : document.jobs) out += WriteJob(job);
  return out;
}

bool IsHistory(std::string_view text) { return text.starts_with(kMagic); }

Result<Document> Read(std::string_view text, const std::string& name) {
  if (!IsHistory(text)) return InvalidArgument(name + " is no history: it does not begin with 'paceline-history'");
  Document document;
  size_t number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (++number == 1) {
      uint32_t version = 0;
      Words w(line);
      (void)w.Next();
      w.Get(&version);
      if (!w.good()) return InvalidArgument(name + ":1: no version");
      if (version < 1 || version > kHistoryVersion) {
        return Rejected(name + " is a history of version " + N(version) + ", this release reads up to " +
                        N(kHistoryVersion));
      }
      continue;
    }
    if (!TakeLine(line, &document)) {
      return InvalidArgument(name + ":" + N(number) + ": not a line of a history: " + std::string(line.substr(0, 80)));
    }
  }
  return document;
}

Result<std::vector<Document>> ReadAll(std::string_view text, const std::string& name) {
  std::vector<Document> documents;
  do {
    const size_t next = text.find(std::string("\n") + std::string(kMagic));
    const size_t end = next == std::string_view::npos ? text.size() : next + 1;
    MR_ASSIGN_OR_RETURN(Document document, Read(text.substr(0, end), name));
    documents.push_back(std::move(document));
    text.remove_prefix(end);
  } while (!text.empty());
  return documents;
}

}  // namespace mr::history
