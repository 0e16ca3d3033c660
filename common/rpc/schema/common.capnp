@0xd8e4fadae2457aa5;
# Ids and outcomes that all schemas of Paceline use.
#
# Rules for whoever changes a schema: numbers are never reused and fields never change type; add at
# the end. Only control.capnp may depart from this, with a new kProtocolVersion, which peers of the
# old one refuse. Zero is never a valid id. Every call may arrive twice. Times are durations measured by
# the sender. Enums may arrive with unknown values: every switch has a rejecting default.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("mr::rpc");

struct JobId { epoch @0 :UInt32; seq @1 :UInt32; }
struct TaskId { job @0 :JobId; stage @1 :UInt32; task @2 :UInt32; }
struct AttemptId { task @0 :TaskId; number @1 :UInt32; }

struct WorkerRef {
  id @0 :UInt32;
  incarnation @1 :UInt64;
}

struct Digest { low @0 :UInt64; high @1 :UInt64; }

struct Outcome {
  # Result of an operation that can fail for reasons that the caller must know. code: mr::Code, 0 = ok.
  # Transport errors and bugs travel as RPC exceptions instead.
  code @0 :UInt8;
  message @1 :Text;
}

struct KeyValue { key @0 :Text; value @1 :Text; }
