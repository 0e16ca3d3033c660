// Converts kj::Exception to Status and back. Only this file knows both.
#pragma once

#include <kj/async.h>
#include <kj/exception.h>
#include <kj/time.h>

#include "common/base/status.h"
#include "common/base/time.h"
#include "schema/common.capnp.h"

namespace mr::rpc {

// Converts DISCONNECTED to kUnavailable (outcome unknown), OVERLOADED to kOverloaded, UNIMPLEMENTED to
// kUnavailable, and all else to kInternal, also an out-of-range type, which a hostile peer can send.
// A refused call (kNotAllowed) keeps its code.
Status FromException(const kj::Exception& exception);
kj::Exception ToException(const Status& status);

// Converts an Outcome field of a reply.
Status FromOutcome(Outcome::Reader outcome);
void ToOutcome(const Status& status, Outcome::Builder out);

inline kj::Duration ToKj(Duration d) { return d.ns * kj::NANOSECONDS; }

}  // namespace mr::rpc
