// Answers `mrctl whatif` with the run of an ended job.
#include "master/history/history.h"

#include "common/rpc/wire.h"
#include "master/host/lists.h"
#include "master/sched/state/state.h"

namespace mr::master {
namespace {

constexpr size_t kPageBytes = 512 << 10;  // of a message of at most 1 MiB
constexpr size_t kMostBeside = 1000;      // jobs; as many as the scheduler keeps of ended ones

}  // namespace

Status Lists::FillHistory(const Caller& caller, JobId id, uint32_t from,
                          rpc::MasterForClient::HistoryResults::Builder out) {
  MR_RETURN_IF_ERROR(core_.jobs().Find(id, caller).status());
  const sched::State& state = core_.scheduler().state();
  const sched::Job* job = state.FindJob(id);
  if (job == nullptr) {
    return NotFound(Name(id) + " ended long ago, or under another release: when its attempts ran is not kept");
  }
  if (job->running()) return Rejected(Name(id) + " has not ended yet; mrctl wait " + Name(id));
  const history::Page page = history::WritePage(*job, from, kPageBytes);
  out.setText(page.text.c_str());
  out.setNext(page.next);
  if (from != 0) return Status::Ok();
  history::Document frame = history::FrameOf(state);
  std::vector<JobId> beside;
  for (const auto& [other, o] : state.jobs()) {
    if (other == id || !core_.jobs().Find(other, caller).ok()) continue;
    if (o.submitted_at > job->ended_at || (!o.running() && o.ended_at < job->submitted_at)) continue;
    if (!o.running() && beside.size() < kMostBeside)
      beside.push_back(other);
    else
      ++frame.left_out;
  }
  out.setHead(history::WriteHead(frame).c_str());
  auto list = out.initBeside(static_cast<unsigned>(beside.size()));
  for (unsigned i = 0; i < beside.size(); ++i) rpc::ToWire(beside[i], list[i]);
  return Status::Ok();
}

}  // namespace mr::master
