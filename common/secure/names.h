// Names in certificates and tokens, and the texts of roles and cluster ids. Pure: no I/O, no clock.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/model/identity.h"

namespace mr::secure {

inline constexpr size_t kMaxNameBytes = 56;  // with "worker:" it fits the 64 bytes of a common name (RFC 5280)

// Checks the name of a person or a service: 1 to 56 letters, digits, '.', '_', '@' or '-', the first one a letter or a
// digit. So no name of a person looks like "worker:3". Errors: kInvalidArgument, with the rule.
Status CheckPerson(std::string_view name);
// Checks the name of a worker: as of a person, without '@'. Errors: kInvalidArgument, with the rule.
Status CheckWorker(std::string_view name);

// Checks a name that an operator chooses for a worker: as CheckWorker, and it begins with a letter and cannot be taken
// for the id of a worker (w1), job, task or attempt. Errors: kInvalidArgument, with the rule.
Status CheckChosenWorker(std::string_view name);

// Returns "master.<16 hexadecimal digits>", the only name of the master's certificate.
std::string MasterName(uint64_t cluster_id);
// Returns "worker.<16 hexadecimal digits>": each worker's certificate has it as its second DNS name, for peers that
// know a worker's address and not its name.
std::string AnyWorkerName(uint64_t cluster_id);
// Returns "worker:<name>", the common name of a worker's certificate and its subject in logs.
std::string WorkerSubject(std::string_view name);
// Returns the worker's name in "worker:<name>". Errors: kInvalidArgument for any other text.
Result<std::string> WorkerInSubject(std::string_view subject);

// Returns 16 lower-case hexadecimal digits.
std::string ClusterText(uint64_t cluster_id);
// Reads ClusterText. Errors: kInvalidArgument, also for zero.
Result<uint64_t> ParseCluster(std::string_view text);

// Reads "viewer,submitter". Adds the roles that admin and operator bring (common/model/identity.h). Errors:
// kInvalidArgument for an empty list and for unknown names, and for "worker", which only certificates give.
Result<Roles> ParseRoles(std::string_view text);
// Returns the names of the roles, separated by commas, in the order viewer, submitter, operator, admin, worker.
std::string RoleNames(Roles roles);

}  // namespace mr::secure
