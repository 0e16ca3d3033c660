// The part of Client that is about single workers.
#include "jobs/mrctl/client_impl.h"

namespace mr::ctl {

Status Client::Drain(WorkerId id, bool on) {
  return impl_->Order([id, on](Master& master) {
    auto request = master.drainRequest();
    request.setWorker(id.value);
    request.setOn(on);
    return request;
  });
}

Result<DrainStatus> Client::DrainStatus(WorkerId id) {
  using Kept = mr::DrainStatus;
  return impl_->Ask<Kept>(
      [id](Master& master) {
        auto request = master.drainStatusRequest();
        request.setWorker(id.value);
        return request;
      },
      [](auto r) -> Result<Kept> { return FromWire(r.getStatus()); });
}

Status Client::Exclude(WorkerId id, bool on) {
  return impl_->Order([id, on](Master& master) {
    auto request = master.excludeRequest();
    request.setWorker(id.value);
    request.setOn(on);
    return request;
  });
}

Status Client::Forget(WorkerId id, bool force) {
  return impl_->Order([id, force](Master& master) {
    auto request = master.forgetRequest();
    request.setWorker(id.value);
    request.setForce(force);
    return request;
  });
}

Result<std::vector<ReachedPeer>> Client::Reach(WorkerId id) {
  return impl_->Ask<std::vector<ReachedPeer>>(
      [id](Master& master) {
        auto request = master.reachRequest();
        request.setWorker(id.value);
        return request;
      },
      [](auto r) -> Result<std::vector<ReachedPeer>> {
        std::vector<ReachedPeer> peers;
        for (const auto pair : r.getPairs()) {
          peers.push_back({WorkerId{pair.getWorker()}, pair.getAddress().cStr(), rpc::FromOutcome(pair.getOutcome())});
        }
        return peers;
      });
}

}  // namespace mr::ctl
