@0xb2e80e3cb4e9cf31;
# Who may call a method. Every method of an interface that a daemon serves has the annotation `access`; the build fails
# without it (common/rpc/access_check.cc). common/rpc/access.h reads it and refuses calls before the method runs.
#
# No role contains another (common/model/identity.h): each role that may call is listed.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("mr::rpc");

enum CallerRole { unset @0; viewer @1; submitter @2; operator @3; admin @4; worker @5; joiner @6; master @7; }
# mr::RoleBit.

enum Object {
  # The kind of object that a method names and that belongs to somebody.
  none @0;
  # Nothing that belongs to anybody: a queue, a library (its name is its digest), the cluster.
  job @1;
  # Also by one of its attempts or outputs. Owner: the subject that submitted it.
  path @2;
  # A path of the block store, or a lease or a block there.
  worker @3;
  # A worker speaks for itself only, by its session. No role may speak for another.
}

struct Access {
  roles @0 :List(CallerRole);
  # Roles that may call. An identity needs one of them.
  object @1 :Object;
  others @2 :List(CallerRole);
  # Roles that may name an object of another owner, too. For everybody else such an object is absent (not_found), and
  # lists leave it out.
  changes @3 :Bool;
  # The call changes something: it is in the audit log.
}

annotation access @0x939e7af1750b5b54 (method) :Access;
annotation callback @0xde7e7332a3413896 (interface) :Void;
# A client or a worker implements this interface, and hands it to the daemon that it has connected to. Nobody else
# reaches it, so its methods need no roles.
