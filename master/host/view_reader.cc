#include "master/host/view_reader.h"

#include <utility>
#include <variant>

#include "common/base/text.h"
#include "common/io/clock.h"

namespace mr::master {
namespace {

// Length of a turn: a message for the master waits so long at most, and a step longer. A guess, well below what a
// launch takes.
constexpr Duration kViewTurn = Micros(300);

std::string LogNote(const std::string& part, const std::string& attempt) {
  return "[The last " + part + ". The command \"mrctl logs " + attempt +
         "\" reads the whole log while its worker has it.]";
}

}  // namespace

void ViewReader::Read(const web::Topic& topic, std::function<void(web::Reading)> done) {
  loop_.Post([this, topic, done = std::move(done)]() mutable {
    if (topic.kind == web::TopicKind::kLog) return ReadLog(topic, std::move(done));
    auto work = std::make_shared<Work>();
    work->steps = StepsFor(topic, parts_);
    work->done = std::move(done);
    GoOn(work);
  });
}

void ViewReader::ReadLog(const web::Topic& topic, std::function<void(web::Reading)> done) {
  const MasterCore& core = parts_.core();
  const JobView* job = core.jobs().Find(topic.job);
  if (job == nullptr || !Shows(topic, *job)) return done({core.jobs().Unknown(topic.job), false, {}});
  const auto id = ParseAttemptId(topic.text);
  const auto attempt = id ? core.attempts().Find(*id) : std::nullopt;
  if (!attempt || core.jobs().NameOf(*id) != topic.text) {
    return done({NotFound("there is no attempt " + topic.text), false, {}});
  }
  parts_.logs.Read(*id, [name = topic.text, tail = attempt->note->stderr_tail.str(),
                         done = std::move(done)](const Result<LogPiece>& kept) {
    web::LogView view;
    if (kept.ok()) {
      if (kept->start > 0)
        view.note = LogNote(HumanBytes(kept->text.size()) + " of " + HumanBytes(kept->start + kept->text.size()), name);
      view.text = kept->text;
    } else if (kept.status().code() == Code::kNotFound && !tail.empty()) {
      view.note = LogNote(HumanBytes(tail.size()) + " that its report had", name);
      view.text = tail;
    } else if (kept.status().code() == Code::kNotFound) {
      return done(
          {NotFound("the master keeps no log of " + name + "; mrctl logs " + name + " reads it from its worker"),
           false,
           {}});
    } else {
      return done({kept.status(), false, {}});
    }
    done({std::make_shared<web::View>(std::move(view)), false, {}});
  });
}

void ViewReader::GoOn(const std::shared_ptr<Work>& work) {
  const Instant begin = Now();
  while (true) {
    const Result<bool> ended = work->steps->Next();
    const Instant now = Now();
    if (!ended.ok() || *ended) {
      if (!ended.ok()) return work->done({ended.status(), false, work->busy + (now - begin)});
      auto view = std::make_shared<web::View>(work->steps->Take());
      if (auto* cluster = std::get_if<web::ClusterView>(view.get())) cluster->address = address_;
      return work->done({std::move(view), work->steps->final(), work->busy + (Now() - begin)});
    }
    if (now - begin < kViewTurn) continue;
    work->busy = work->busy + (now - begin);
    // By a timer, behind the closures that wait; the loop's waits are those of others.
    loop_.At(now, [this, work] { GoOn(work); });
    return;
  }
}

}  // namespace mr::master
