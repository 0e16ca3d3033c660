// Records the calls that change something, for the audit log, when they are answered.
#pragma once

#include <capnp/capability.h>
#include <kj/async.h>

#include <memory>
#include <string>

#include "common/base/status.h"
#include "common/model/identity.h"
#include "common/rpc/access.h"
#include "common/rpc/call_pacer.h"
#include "common/rpc/call_times.h"
#include "common/secure/grant_door.h"

namespace mr::rpc {

struct CallRecord {
  Identity identity;
  std::string peer;       // its address
  std::string method;     // "MasterForClient.kill"
  std::string object;     // parameters, and the job that the answer names: "job=job_1_0001, why=stuck"
  Code code = Code::kOk;  // kCancelled: the daemon stopped before the answer, so the outcome is not known
  uint64_t sequence = 0;  // of the journal's record that the call made; 0: none
};

class CallLog {
 public:
  virtual ~CallLog() = default;
  // Thread: the KJ loop. Must not block.
  virtual void Called(CallRecord record) = 0;
};

// The peer of a connection. All objects that the connection reaches share it.
struct Guard {
  Identity identity;
  std::string peer;
  std::shared_ptr<CallLog> log;                     // null: calls are not recorded
  std::shared_ptr<const secure::GrantDoor> grants;  // of a worker's data server; null: nothing needs a grant
  std::shared_ptr<CallPacer> pacer;                 // null: calls never wait for a turn
  std::shared_ptr<CallTimes> times;                 // null: nothing measures calls

  // Returns whether the peer may do this here. Errors: those of GrantDoor::Check.
  Status CheckGrant(const secure::Right& right, std::string_view grant) const;
};
using GuardPtr = std::shared_ptr<const Guard>;

// Facts that a method adds to the record of its call.
struct CallNote {
  uint64_t sequence = 0;
};

using AnyCall = capnp::CallContext<capnp::AnyPointer, capnp::AnyPointer>;

// Returns the parameters that have a short form: texts, numbers, ids. Each text is cut at 256 bytes.
std::string ParametersOf(AnyCall& call, const MethodAccess& method);
// Records a call that was refused before it ran.
void RecordRefused(const Guard& guard, const std::string& interface, const MethodAccess& method, AnyCall& call,
                   Code code);
// Returns `answered`, which also records the call with its outcome. object: ParametersOf, before the method ran.
kj::Promise<void> Recorded(kj::Promise<void> answered, const GuardPtr& guard, const std::string& interface,
                           const MethodAccess& method, std::string object, AnyCall call,
                           std::shared_ptr<const CallNote> note);

}  // namespace mr::rpc
