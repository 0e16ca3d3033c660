// The answer to MasterForClient.journal: what operators ask about the journal, its disk, and lost records.
#include "common/io/free_space.h"
#include "common/rpc/client_wire.h"
#include "common/rpc/kj_status.h"
#include "master/host/shell.h"

namespace mr::master {

namespace {

// Fills in the state of the journal.
template <class Context>
kj::Promise<void> FillStatus(Shell& shell, Context context) {
  auto room = rpc::MakeAnswer<Space>(shell.kj());
  shell.pool().Post([path = shell.options().directory + "/journal", fulfill = std::move(room.fulfill)] {
    const auto space = SpaceOf(path);
    fulfill(space.ok() ? *space : Space{});
  });
  return room.promise
      .then([&shell](Space disk) {
        return shell.Ask([&master = shell.client_parts(), disk] {
          JournalStatus status = master.safe_mode.JournalNow();
          status.disk_bytes = disk.total_bytes;
          status.free_bytes = disk.free_bytes;
          return status;
        });
      })
      .then([context](const JournalStatus& status) mutable { rpc::ToWire(status, context.getResults().initStatus()); });
}

}  // namespace

kj::Promise<void> AnswerJournal(Shell& shell, JournalContext context) {
  if (context.getParams().getAcceptLoss()) {
    // A method has one set of roles, and this needs others than a look.
    rpc::ToOutcome(
        InvalidArgument("a loss of records is accepted by the call acceptLoss; use an mrctl of this release"),
        context.getResults().initOutcome());
    return kj::READY_NOW;
  }
  return FillStatus(shell, context);
}

kj::Promise<void> AnswerAcceptLoss(Shell& shell, AcceptLossContext context, std::shared_ptr<rpc::CallNote> note) {
  auto done = rpc::MakeAnswer<Changed>(shell.kj());
  shell.PostToMaster(
      [&master = shell.client_parts(), fulfill = std::move(done.fulfill)] { master.safe_mode.Accept(fulfill); });
  return done.promise.then([&shell, context, note](const Changed& accepted) mutable {
    if (note != nullptr) note->sequence = accepted.sequence;
    rpc::ToOutcome(accepted.status, context.getResults().initOutcome());
    return FillStatus(shell, context);
  });
}

}  // namespace mr::master
