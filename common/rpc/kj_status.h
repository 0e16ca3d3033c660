// kj::Exception to Status and back: the only place that knows both.
#pragma once

#include <kj/async.h>
#include <kj/exception.h>
#include <kj/time.h>

#include "common/base/status.h"
#include "common/base/time.h"
#include "schema/common.capnp.h"

namespace mr::rpc {

// DISCONNECTED: kUnavailable (outcome unknown), OVERLOADED: kOverloaded, all else: kInternal. An
// out-of-range type, which a hostile peer can send, counts as kInternal.
Status FromException(const kj::Exception& exception);
kj::Exception ToException(const Status& status);

// An Outcome field of a reply.
Status FromOutcome(Outcome::Reader outcome);
void ToOutcome(const Status& status, Outcome::Builder out);

inline kj::Duration ToKj(Duration d) { return d.ns * kj::NANOSECONDS; }

}  // namespace mr::rpc
