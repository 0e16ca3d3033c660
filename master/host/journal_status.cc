// The answer to MasterForClient.journal: what operators ask about the journal, its disk, and lost records.
#include "common/io/free_space.h"
#include "common/rpc/client_wire.h"
#include "common/rpc/kj_status.h"
#include "master/host/shell.h"

namespace mr::master {

kj::Promise<void> AnswerJournal(Shell& shell, JournalContext context) {
  auto done = rpc::MakeAnswer<Status>(shell.kj());
  shell.PostToMaster([&master = shell.client_parts(), accept = context.getParams().getAcceptLoss(),
                      fulfill = std::move(done.fulfill)] {
    if (accept)
      master.safe_mode.Accept(fulfill);
    else
      fulfill(Status::Ok());
  });
  auto room = rpc::MakeAnswer<Space>(shell.kj());
  shell.pool().Post([path = shell.options().directory + "/journal", fulfill = std::move(room.fulfill)] {
    const auto space = SpaceOf(path);
    fulfill(space.ok() ? *space : Space{});
  });
  return done.promise.then([&shell, context, room = kj::mv(room.promise)](Status status) mutable {
    rpc::ToOutcome(status, context.getResults().initOutcome());
    return room
        .then([&shell](Space disk) {
          return shell.Ask([&master = shell.client_parts(), disk] {
            JournalStatus status = master.safe_mode.JournalNow();
            status.disk_bytes = disk.total_bytes;
            status.free_bytes = disk.free_bytes;
            return status;
          });
        })
        .then(
            [context](const JournalStatus& status) mutable { rpc::ToWire(status, context.getResults().initStatus()); });
  });
}

}  // namespace mr::master
