// The one place where calls of peers are checked, for all interfaces that daemons serve. A service derives from
// Guarded<Interface> instead of Interface::Server; tests/tidy finds one that does not.
//
// A method runs only if the peer's identity has one of the roles that the schema lists for it. Objects that belong to
// somebody are checked where they are looked up (MasterCore::Prepare...), by the Caller that this class hands out.
#pragma once

#include <memory>
#include <utility>

#include "common/io/clock.h"
#include "common/model/caller.h"
#include "common/rpc/access.h"
#include "common/rpc/call_log.h"
#include "common/rpc/kj_status.h"

namespace mr::rpc {

// Thread: the KJ loop.
// Cost of a call: an index into a table, a test of bits, and two readings of the clock (CallTimes); for methods with
// `changes` also the text of its parameters.
// Calls of a subject that has used more than its share wait for a turn (CallPacer), in their order.
template <class Interface>
class Guarded : public Interface::Server {
 public:
  explicit Guarded(GuardPtr guard) : guard_(std::move(guard)), table_(AccessTable::Of<Interface>()) {}

  capnp::Capability::Server::DispatchCallResult dispatchCall(uint64_t interface, uint16_t method,
                                                             AnyCall context) final {
    const MethodAccess* access = table_.Find(interface, method);
    // The peer knows a later release: answered as not implemented.
    if (access == nullptr) return Interface::Server::dispatchCall(interface, method, context);
    if (Status refused = CheckRoles(guard_->identity, *access); !refused.ok()) [[unlikely]] {
      RecordRefused(*guard_, table_.interface(), *access, context, refused.code());
      return {kj::Promise<void>(ToException(refused)), false};
    }
    if (guard_->times == nullptr) return RunInTurn(interface, method, *access, context);
    auto run = RunInTurn(interface, method, *access, context);
    run.promise = run.promise.attach(kj::defer([guard = guard_, name = &table_.interface(), access, began = Now()] {
      guard->times->Add(*name, *access, Now() - began);
    }));
    return run;
  }

 protected:
  const GuardPtr& guard() const { return guard_; }
  // The three below describe the call that is being dispatched: use them before the method's first wait.
  Caller caller() const { return {guard_->identity, others_}; }
  // Takes the number of the journal's record; null where the call is not recorded.
  const std::shared_ptr<CallNote>& note() const { return note_; }
  // Counts what the present call cost the daemon beyond the ordinary (CallPacer).
  void Charge(Duration cost) {
    if (guard_->pacer != nullptr) guard_->pacer->Charge(guard_->identity.subject, cost);
  }

 private:
  capnp::Capability::Server::DispatchCallResult RunInTurn(uint64_t interface, uint16_t method,
                                                          const MethodAccess& access, AnyCall context) {
    if (guard_->pacer != nullptr) {
      const Duration wait = guard_->pacer->Take(guard_->identity.subject, Now());
      if (wait.ns > 0) [[unlikely]] {
        return {guard_->pacer->Wait(guard_->identity.subject, wait)
                    .then([this, self = this->thisCap(), interface, method, &access, context]() mutable {
                      return Run(interface, method, access, context).promise;
                    }),
                false};
      }
    }
    return Run(interface, method, access, context);
  }
  capnp::Capability::Server::DispatchCallResult Run(uint64_t interface, uint16_t method, const MethodAccess& access,
                                                    AnyCall context) {
    others_ = access.others;
    if (!access.changes || guard_->log == nullptr) [[likely]] {
      note_ = nullptr;
      return Interface::Server::dispatchCall(interface, method, context);
    }
    const auto note = std::make_shared<CallNote>();
    note_ = note;
    std::string object = ParametersOf(context, access);
    auto answered = kj::evalNow([&] { return Interface::Server::dispatchCall(interface, method, context).promise; });
    return {Recorded(kj::mv(answered), guard_, table_.interface(), access, std::move(object), context, note), false};
  }

  const GuardPtr guard_;
  const AccessTable& table_;
  Roles others_ = 0;
  std::shared_ptr<CallNote> note_;
};

}  // namespace mr::rpc
