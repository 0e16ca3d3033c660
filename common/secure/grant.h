// Grants: what the master lets somebody do at one worker, checked there without asking the master
// (common/adr/0019-grants.md). A grant names no holder: it is as good as what it opens, and travels only to those who
// may have that.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/ids.h"
#include "common/base/secret.h"
#include "common/base/status.h"
#include "common/model/block.h"
#include "common/secure/ticket.h"
#include "common/secure/unix_time.h"

namespace mr::secure {

// One right at one worker.
struct Right {
  enum Kind : uint8_t { kReadBlock = 1, kWriteBlock = 2, kReadOutputs = 3 };
  Kind kind;
  uint64_t first, second;
};
inline Right ReadsBlock(BlockId id, uint32_t generation) { return {Right::kReadBlock, id.value, generation}; }
inline Right WritesBlock(BlockId id, uint32_t generation) { return {Right::kWriteBlock, id.value, generation}; }
inline Right ReadsOutputs(JobId job) { return {Right::kReadOutputs, job.epoch, job.seq}; }

// Longer than attempts run and clients keep the places of a file (guess). A removed right of a person ends earlier with
// the token.
inline constexpr Duration kGrantLife = kDay * 7;

// Makes and checks grants. The master has one key, from which those of the workers follow; a worker has its own only.
// Immutable. Thread: any number at a time.
class GrantKey {
 public:
  static constexpr size_t kBytes = 32;
  // Makes a key from the kernel's randomness. Errors: kInternal.
  static Result<GrantKey> Make();
  // Errors: kInvalidArgument: not kBytes bytes.
  static Result<GrantKey> FromBytes(std::string_view bytes);

  // Returns the key of the worker with this name.
  GrantKey ForWorker(std::string_view name) const;
  // Returns 20 bytes: the hour in which the grant ends, and an HMAC-SHA256 of it and of the right, cut to 16 bytes.
  // Cost: 1 us.
  std::string Grant(const Right& right, UnixTime now) const;
  // Errors: kNotAllowed: the grant is for another right, of another key, or has ended.
  Status Check(const Right& right, std::string_view grant, UnixTime now) const;
  // Returns the bytes of a ticket for the worker of this key: fewer than 600.
  Secret<std::string> SignTicket(const Ticket& ticket) const;
  // Errors: kNotAllowed: of another key, changed, or ended.
  Result<Ticket> CheckTicket(std::string_view bytes, UnixTime now) const;
  Secret<std::string> Bytes() const;

 private:
  using Key = std::array<uint8_t, kBytes>;
  explicit GrantKey(Secret<Key> key) : key_(std::move(key)) {}
  Key Mac(std::string_view text) const;

  Secret<Key> key_;
};

}  // namespace mr::secure
