// mrctl logs -f: prints logs of attempts while they run.
#include <unistd.h>

#include <algorithm>
#include <map>

#include "common/io/attempt_log.h"
#include "common/io/clock.h"
#include "jobs/mrctl/follow.h"
#include "jobs/mrctl/logs.h"
#include "jobs/mrctl/render.h"
#include "jobs/mrctl/terminal_text.h"
#include "jobs/mrctl/verbs.h"
#include "jobs/mrctl/wait.h"

namespace mr::ctl {
namespace {

constexpr Duration kWait = Seconds(10);       // of the master, for more of a log: the most that it takes
constexpr Duration kTurn = Millis(200);       // between two looks at news of the job
constexpr Duration kListPause = Millis(500);  // between two lists of its attempts
constexpr Duration kLookAgain = Seconds(1);   // at a log of a running attempt whose worker does not answer
constexpr size_t kMostAtOnce = 64;            // requests under way; a guess: more lines cannot be read
constexpr uint64_t kFollowTail = 20;          // lines of the past of each of several attempts, as without -f

bool IsLive(const AttemptStatus& a) { return a.state == "running" || a.state == "waiting"; }

// Follows the attempts that are added to it.
class LogFollower {
 public:
  LogFollower(Client& client, const LogPattern& pattern, const Command& command, const Settings& settings)
      : client_(client), pattern_(pattern), command_(command), settings_(settings) {}

  // named: lines begin with the attempt's name.
  void Add(const AttemptStatus& status, bool named) {
    const auto id = ParseAttemptId(status.id);
    if (!id || followed_.contains(*id)) return;
    const bool table = settings_.form == OutputForm::kTable;
    const bool prefix = table && (named || pattern_ != nullptr);
    Followed f(LogLines({prefix ? status.id + ": " : "", pattern_, table && isatty(1) == 1}));
    f.name = status.id;
    // With a pattern the whole log counts, not only its end.
    f.next = pattern_ != nullptr ? 0 : kLogEnd;
    f.tail = command_.tail ? command_.tail : named ? std::optional<uint64_t>(kFollowTail) : std::nullopt;
    followed_.emplace(*id, std::move(f));
  }
  bool Knows(AttemptId id) const { return followed_.contains(id); }
  bool done() const {
    return std::all_of(followed_.begin(), followed_.end(), [](const auto& f) { return f.second.ended; });
  }

  // Requests what is due. Errors: those of the connection.
  Status Request() {
    for (auto& [id, f] : followed_) {
      if (under_way_ == kMostAtOnce) return Status::Ok();
      if (f.ended || f.asked || Now() < f.again) continue;
      // The first answer, and the rest of an ended log, come at once.
      MR_RETURN_IF_ERROR(client_.RequestLog(id, f.next, f.next == kLogEnd || f.ends ? Duration{} : kWait));
      f.asked = true;
      ++under_way_;
    }
    return Status::Ok();
  }

  // Takes and prints the answers that come until then. Errors: those of the connection, interrupt, --timeout.
  Status Take(Instant until) {
    while (true) {
      MR_ASSIGN_OR_RETURN(std::optional<LogAnswer> answer, client_.NextLog(until));
      if (!answer) return Status::Ok();
      const auto it = followed_.find(answer->attempt);
      if (it == followed_.end() || !it->second.asked) continue;
      it->second.asked = false;
      --under_way_;
      if (!answer->log.ok()) return answer->log.status();
      Use(*answer->log, &it->second);
      MR_RETURN_IF_ERROR(Request());
    }
  }

  // The connection broke: no answer comes to what was requested.
  void Forget() {
    under_way_ = 0;
    for (auto& [id, f] : followed_) f.asked = false;
  }

 private:
  struct Followed {
    explicit Followed(LogLines l) : lines(std::move(l)) {}
    std::string name, note;
    LogLines lines;
    uint64_t next = 0;
    std::optional<uint64_t> tail;  // lines of the first answer
    bool asked = false, ends = false, ended = false;
    Instant again;  // not requested before
  };

  void Use(const AttemptLog& log, Followed* f) {
    if (log.note != f->note && !log.note.empty() && !settings_.quiet) {
      PrintErr(f->name + ": " + log.note + "\n");
    }
    f->note = log.note;
    if (f->next != kLogEnd && log.start > f->next && !log.text.empty() && !settings_.quiet) {
      PrintErr(f->name + ": " + std::to_string(log.start - f->next) + " bytes of its log are not kept\n");
    }
    const bool first = f->next == kLogEnd;
    std::string text = first && f->tail ? LastLines(log.text, *f->tail) : log.text;
    // Without text, an answer that is not the worker's has no place in the log.
    if (!log.text.empty() || log.note.empty()) f->next = log.start + log.text.size();
    std::string out = f->lines.Add(text);
    f->ends = log.ended;
    f->ended = log.ended && log.text.empty();
    // A silent attempt whose worker is gone is answered at once.
    if (log.text.empty() && !log.ended) f->again = Now() + (log.note.empty() ? Duration{} : kLookAgain);
    if (f->ended) out += f->lines.Finish();
    if (out.empty()) return;
    if (settings_.form == OutputForm::kTable) return Print(out);
    Print(RenderLogs({{f->name, log.worker, log.ended ? "ended" : "running", out, log.note}}, settings_.form));
  }

  Client& client_;
  const LogPattern pattern_;
  const Command& command_;
  const Settings& settings_;
  std::map<AttemptId, Followed> followed_;
  size_t under_way_ = 0;
};

}  // namespace

Status FollowLogs(Client& client, const LogSubject& subject, const LogPattern& pattern, const Command& command,
                  const Settings& settings) {
  LogFollower follower(client, pattern, command, settings);
  const bool one = subject.attempt.has_value();
  bool over = one, changed = true, first = true;  // over: no new attempts come
  if (one) {
    AttemptStatus status;
    status.id = subject.word;
    follower.Add(status, false);
  } else {
    MR_RETURN_IF_ERROR(client.Watch(subject.job));
  }
  Instant listed;
  const auto turn = [&]() -> Status {
    if (!one && changed && Now() - listed >= kListPause) {
      // Before the list: attempts that are launched in between are in the next one.
      MR_ASSIGN_OR_RETURN(const JobStatus job, client.Job(subject.job));
      auto attempts = AttemptsOf(client, subject);
      if (!attempts.ok() && (attempts.status().code() != Code::kNotFound || Ended(job.state))) return attempts.status();
      listed = Now();
      changed = false;
      const std::vector<AttemptStatus> known = attempts.ok() ? *std::move(attempts) : std::vector<AttemptStatus>();
      const bool won = std::any_of(known.begin(), known.end(), [](const AttemptStatus& a) { return a.won; });
      over = Ended(job.state) || (!subject.prefix.empty() && won);
      for (const AttemptStatus& a : known) {
        if (!first || over || IsLive(a)) follower.Add(a, true);
      }
      first = false;
    }
    MR_RETURN_IF_ERROR(follower.Request());
    MR_RETURN_IF_ERROR(follower.Take(Now() + kTurn));
    if (one) return Status::Ok();
    MR_ASSIGN_OR_RETURN(const auto news, client.NextStatus(Now()));
    changed = changed || news.has_value();
    return Status::Ok();
  };
  while (!over || !follower.done()) {
    Status status = turn();
    if (status.code() == Code::kUnavailable) {
      follower.Forget();
      status =
          TryAgain(client, status, settings, [&] { return one ? client.WaitConnected() : client.Watch(subject.job); });
      changed = true;
    }
    MR_RETURN_IF_ERROR(status);
  }
  return Status::Ok();
}

}  // namespace mr::ctl
