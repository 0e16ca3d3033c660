#include "master/host/view_reader.h"

#include <utility>

#include "common/io/clock.h"

namespace mr::master {
namespace {

// Length of a turn: a message for the master waits so long at most, and a step longer. A guess, well below what a
// launch takes.
constexpr Duration kViewTurn = Micros(300);

}  // namespace

void ViewReader::Read(const web::Topic& topic, std::function<void(web::Reading)> done) {
  loop_.Post([this, topic, done = std::move(done)]() mutable {
    auto work = std::make_shared<Work>();
    work->steps = StepsFor(topic, parts_);
    work->done = std::move(done);
    GoOn(work);
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
