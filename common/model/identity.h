// The identity behind a request, as its connection proved it. Values only; no I/O.
#pragma once

#include <cstdint>
#include <string>

namespace mr {

// The rights of an identity. A set of these is a number: the bitwise or. No role contains another: who is given kAdmin
// is given kOperator and kViewer, too, and who is given kOperator also kViewer.
enum RoleBit : uint8_t {
  kViewer = 1,     // sees jobs, workers, files' names and pages; reads no data
  kSubmitter = 2,  // submits jobs; changes own jobs; reads and writes own paths of the store
  kOperator = 4,   // drains, excludes, kills any job, sets queues; reads no data
  kAdmin = 8,      // tokens, owners, what is left of the journal; reads and changes everything
  kWorker = 16,    // registers, reports, serves and fetches
  kJoiner = 32,    // asks for a worker's certificate, once
  kMaster = 64,    // looks after outputs on workers
};
using Roles = uint8_t;
inline constexpr Roles kAllPeople = kViewer | kSubmitter | kOperator | kAdmin;

// How the connection proved it. The numbers are in the audit log.
enum class Proof : uint8_t {
  kNone = 0,         // --insecure: nobody asked
  kSecret = 1,       // the secret that the daemon wrote for its own user
  kSocket = 2,       // a unix socket, by the peer's uid
  kCertificate = 3,  // a node's certificate
  kToken = 4,        // a signed token
  kJoin = 5,         // a join token: may ask for a certificate and nothing else
};

struct Identity {
  std::string subject;  // "anna", "worker:3"; never empty; printable
  Roles roles = 0;
  Proof proof = Proof::kNone;

  // Returns whether it has at least one of these roles.
  bool HasAny(Roles wanted) const { return (roles & wanted) != 0; }
};

}  // namespace mr
