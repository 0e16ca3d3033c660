// The protocol between the worker daemon (worker/host) and its child processes (worker/task). Private to these two
// folders, which must be of one build. Each side sends kTaskProtocol once, at the helper's start, and another number is
// refused. The daemon checks every field that it reads, because a child runs user code and may send anything.
//
// Helper: a SOCK_SEQPACKET socket. The helper sends a HelperHello at its start. Then the daemon sends one SpawnRequest
// per child, with the descriptors of SpawnFd, and the helper answers with one SpawnReply and the pidfd. Child: a
// SOCK_SEQPACKET control socket of packets (Header, then payload), and an arena: one memfd, mapped by both, with a
// progress page and two rings of slots.
#pragma once

#include <signal.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/fields.h"
#include "common/base/hot_keys.h"
#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/io/files.h"

namespace mr::task {

// Exit code of a child that has lost its socket: its daemon is gone, or the operator has closed a descriptor that is
// not its own.
inline constexpr int kLostDaemon = 71;

// Raise it with every change of this file, or of the blobs and batches that it carries.
inline constexpr uint32_t kTaskProtocol = 17;

// ---- Arena -------------------------------------------------------------------------------------

// One slot holds a usual chunk (1 MiB target plus its last record). Larger ones go in fragments.
inline constexpr uint32_t kSlotBytes = (1u << 20) + (128u << 10);
inline constexpr uint32_t kProgressBytes = 4096;
inline constexpr uint32_t kNoSlot = 0xffffffff;

inline constexpr uint32_t kNoRecord = 0xffffffff;

// The signal at which a child writes its operator's stack to its log, and goes on (crash.h).
inline int SampleSignal() { return SIGRTMAX - 1; }

// A note of a process about itself: the record at which its operator is (crash.h).
struct CrashNote {
  static constexpr uint32_t kMostPlace = 512, kMostShown = 64;  // bytes; guesses
  static constexpr uint32_t kStackOverflow = 1, kMemoryLimit = 2;
  std::atomic<uint32_t> signal;  // 0: none
  std::atomic<uint32_t> causes;  // bits: the stack overflowed; the memory is near the attempt's limit
  // The subject of the note: kRecord, kLine (of a block of lines), kGroup (its key, while the operator ends or
  // combines).
  static constexpr uint32_t kRecord = 0, kLine = 1, kGroup = 2;
  std::atomic<uint32_t> about;
  std::atomic<uint32_t> exact;  // not 0: the place is that of the record or line, and not of its batch
  // Bytes in use of the three texts: the place, and the beginnings of the record's key and value.
  std::atomic<uint32_t> place_bytes, key_bytes, value_bytes;
  char place[kMostPlace], key[kMostShown], value[kMostShown];
};

// First page of the arena. The child writes it (`taken` and `record`: the operator itself), and the daemon reads it.
// Only `cancelled` is written by the daemon.
struct ProgressPage {
  uint64_t taken;
  std::atomic<uint64_t> total;
  std::atomic<uint64_t> records;
  std::atomic<uint32_t> phase;
  std::atomic<uint32_t> asks;       // not 0: the operator polls `cancelled`, and may have a moment to see it
  std::atomic<uint32_t> cancelled;  // not 0: the task has to end
  std::atomic<uint32_t>
      waits;  // not 0: it waits for its daemon (inputs, room for output), which is no lack of progress
  std::atomic<uint64_t> pulse;  // rises with output, counters and whatever else the operator reports as progress
  std::atomic<uint32_t> batch_records;  // of the batch that the operator has, the last of `records`; 0: it has none
  uint32_t record;                      // index in that batch, or kNoRecord
  CrashNote crash;
};
static_assert(sizeof(ProgressPage) <= kProgressBytes);

// Slots [0, input_slots) go to the child, the output_slots after them to the daemon.
struct ArenaLayout {
  uint32_t input_slots = 0, output_slots = 0;
  static ArenaLayout Of(uint64_t arena_bytes) {
    const uint64_t slots = arena_bytes > kProgressBytes ? (arena_bytes - kProgressBytes) / kSlotBytes : 0;
    return {static_cast<uint32_t>(slots / 2), static_cast<uint32_t>(slots - slots / 2)};
  }
  static uint64_t InputOffset(uint32_t slot) { return kProgressBytes + uint64_t{slot} * kSlotBytes; }
  uint64_t OutputOffset(uint32_t slot) const { return InputOffset(input_slots + slot); }
};

// ---- Packets -----------------------------------------------------------------------------------

inline constexpr uint32_t kPacketMagic = 0x504b544d;  // "MTKP"
// Most bytes of payload in one packet: below the default socket buffer. Longer blobs are cut (Header.more).
inline constexpr uint32_t kMaxPayload = 60u << 10;
// Most descriptors in one packet; the kernel takes 253.
inline constexpr uint32_t kMaxPacketFds = 200;

enum class Kind : uint8_t {
  // Daemon to child.
  kSplitFds = 1,  // descriptors of the splits of the next task, in order; repeated as needed
  kRun = 2,       // blob: WireTask
  kInput = 3,     // a input, b upstream task, c partition, d slot, x bytes, y InputBits
  kFree = 4,      // d: an output slot that may be used again
  kMore = 5,      // blob: answer to kReadMore; a: 1 bytes, 0 the reason of a failure
  // Child to daemon.
  kOutput = 16,    // a port, b partition over all ports, c records, d slot, x bytes, y OutputBits
  kTaken = 17,     // d: an input slot that may be used again
  kReadMore = 18,  // a split, b bytes, x offset
  kDone = 19,      // blob: WireResult. Nothing follows for this task.
};
inline constexpr uint64_t kLastOfSegment = 1;  // y of kInput
inline constexpr uint64_t kFragment = 2;       // y of kInput and kOutput: the chunk goes on

struct Header {
  uint32_t magic = kPacketMagic;
  Kind kind{};
  uint8_t more = 0;  // the blob goes on in the next packet of this kind
  uint16_t fds = 0;
  uint32_t a = 0, b = 0, c = 0, d = kNoSlot;
  uint64_t x = 0, y = 0;
};
static_assert(sizeof(Header) == 40);

struct Packet {
  Header header;
  std::string payload;
  std::vector<UniqueFd> fds;
};

// Sends a packet. Returns 0 or errno (EAGAIN if `flags` has MSG_DONTWAIT and the socket is full).
int SendPacket(int socket, const Header& header, std::string_view payload, const std::vector<int>& fds, int flags);
// Sends a blob in as many packets as it needs. Blocks. Returns 0 or errno.
int SendBlob(int socket, Header header, std::string_view blob);
// Receives a packet. Returns 0; EAGAIN; EPIPE at the end of the connection; EBADMSG for something that is no packet;
// ECONNRESET once if the other side ended with packets unread. What it sent before can still be received.
int ReceivePacket(int socket, Packet* out, int flags);

// ---- Blobs -------------------------------------------------------------------------------------

struct WireSplit {
  uint32_t input = 0;
  std::string name, format;
  uint64_t offset = 0, length = 0, file_bytes = 0, sample_bytes = 0, fd_offset = 0, fd_length = 0;
  std::vector<uint32_t> crcs;  // not empty: CRC-32C of each chunk_bytes of the descriptor
  uint32_t chunk_bytes = 0;
  bool cached = true;  // what is read enters the page cache
  template <class V>
  static void Fields(V&& v) {
    using S = WireSplit;
    v(&S::input, &S::name, &S::format, &S::offset, &S::length, &S::file_bytes, &S::sample_bytes, &S::fd_offset,
      &S::fd_length, &S::crcs, &S::chunk_bytes, &S::cached);
  }
};

struct WireEdge {
  uint32_t input = 0;
  bool grouped = false, broadcast = false, quotes = false;
  uint64_t segments = 0;
  std::string format, written, file;  // not empty: delivered as files of this format
  uint64_t sample_bytes = 0;
  template <class V>
  static void Fields(V&& v) {
    using S = WireEdge;
    v(&S::input, &S::grouped, &S::broadcast, &S::quotes, &S::segments, &S::format, &S::written, &S::file,
      &S::sample_bytes);
  }
};

struct WirePort {
  bool files = false;
  std::string format;
  uint32_t partitions = 1;
  bool sorted = false, combine = false, custom_partition = false;
  template <class V>
  static void Fields(V&& v) {
    using S = WirePort;
    v(&S::files, &S::format, &S::partitions, &S::sorted, &S::combine, &S::custom_partition);
  }
};

struct WireEnv {
  std::string name, value;
  template <class V>
  static void Fields(V&& v) {
    v(&WireEnv::name, &WireEnv::value);
  }
};

struct WireTask {
  AttemptId attempt;
  TaskLetter letter = TaskLetter::kMap;
  std::string stage_name, job_name;
  uint64_t submitted_unix_ms = 0;  // when the job was submitted
  uint32_t tasks = 0;
  std::string library_path, operator_name;
  uint32_t operator_flags = 0;
  std::string config;
  std::vector<WireSplit> splits;
  std::vector<WireEdge> edges;
  uint32_t inputs = 0;
  std::vector<WirePort> ports;
  std::vector<WireEnv> env;
  uint64_t sort_buffer_bytes = 0, partition_seed = 0;
  uint64_t memory_bytes = 0;          // the job's limit (RLIMIT_DATA, soft and hard); 0 = none
  uint64_t default_memory_bytes = 0;  // without a job's limit: the soft one; 0 = none
  std::string scratch_directory;
  uint64_t arena_bytes = 0;
  std::string files_directory;              // of side files, or ""
  uint64_t open_files = 0, file_bytes = 0;  // RLIMIT_NOFILE, RLIMIT_FSIZE; 0 = as the daemon's
  uint64_t max_bad_records = 0;             // records that may be skipped; one more fails the task
  bool keep = false;                        // wait for another task afterwards instead of ending
  bool ledger = false;                      // count passes over bytes (common/io/ledger.h)
  bool network = false;                     // it may make sockets of the internet families
  template <class V>
  static void Fields(V&& v) {
    using S = WireTask;
    v(&S::attempt, &S::letter, &S::stage_name, &S::job_name, &S::submitted_unix_ms, &S::tasks, &S::library_path,
      &S::operator_name, &S::operator_flags, &S::config, &S::splits, &S::edges, &S::inputs, &S::ports, &S::env,
      &S::sort_buffer_bytes, &S::partition_seed, &S::memory_bytes, &S::default_memory_bytes, &S::scratch_directory,
      &S::arena_bytes, &S::files_directory, &S::open_files, &S::file_bytes, &S::max_bad_records, &S::keep, &S::ledger,
      &S::network);
  }
};

// Returns an attempt's limit of memory and its source, for messages: "256 MiB (--memory)". Empty if it has none. The
// numbers are those of WireTask.
std::string MemoryLimitText(uint64_t memory_bytes, uint64_t default_memory_bytes);

struct WireCounter {
  std::string group, name;
  int64_t value = 0;
  template <class V>
  static void Fields(V&& v) {
    v(&WireCounter::group, &WireCounter::name, &WireCounter::value);
  }
};

// The outcome of a task. kUserFinal: like kUser, but every other attempt would fail in the same way.
enum class Outcome : uint8_t { kDone = 0, kUser = 1, kEnvironment = 2, kUserFinal = 3 };

struct WireResult {
  Outcome outcome = Outcome::kDone;
  std::string message, record;
  uint64_t records_in = 0, records_out = 0;
  Duration ran, waited;
  std::vector<WireCounter> counters;
  std::vector<std::string> bad_records;  // the first few skipped ones
  std::vector<HotKey> hot_keys;          // of shuffle ports, if there are any; the hottest of a port first
  template <class V>
  static void Fields(V&& v) {
    using S = WireResult;
    v(&S::outcome, &S::message, &S::record, &S::records_in, &S::records_out, &S::ran, &S::waited, &S::counters,
      &S::bad_records, &S::hot_keys);
  }
};

// ---- Helper ------------------------------------------------------------------------------------

inline constexpr uint32_t kHelperMagic = 0x48544d50;  // "PMTH"
// The first message, from the helper. The helper ends at once if the daemon named another protocol, or if the kernel
// does not even give rooms of tier 0.
struct HelperHello {
  uint32_t magic = kHelperMagic;
  uint32_t protocol = kTaskProtocol;
  int32_t tier = -1;  // of the rooms of its children (room.h); -1: it can make none
  int32_t landlock_abi = 0;
  char why[240] = {};  // why the tier is no higher, with a final 0
};

// One page, a memfd that daemon and helper map: the time until which attempts with side effects may run
// (worker/adr/0003). The helper gets it as descriptor kLeaseFd.
inline constexpr int kLeaseFd = 4;
struct LeasePage {
  std::atomic<int64_t> until;  // CLOCK_BOOTTIME, ns; 0 = no lease is kept. Written by the daemon
  // Written by the helper: how many children it has ended, and the pids of the last ones.
  std::atomic<uint32_t> ended;
  std::atomic<int32_t> pids[512];
};
inline constexpr uint64_t kLeaseBytes = 4096;
static_assert(sizeof(LeasePage) <= kLeaseBytes);

enum class HelperOp : uint32_t {
  kSpawn = 1,   // descriptors: all of SpawnFd, then those by which it joins its control groups; answered
  kForget = 2,  // nothing but `ended`: no answer
  kAdopt = 3,   // `pid` is a child that an earlier helper made; descriptors: kOwnControl, kOwnLog; no answer
};
// Descriptors of a request, in order. The helper holds the daemon's own ends as long as the child lives. So no child
// sees that the daemon is gone (a closed socket, SIGPIPE), and ends, before the helper has ended what the child has
// started.
enum SpawnFd : uint32_t { kTheirControl = 0, kTheirArena, kTheirLog, kOwnControl, kOwnLog, kSpawnFds };
struct SpawnRequest {
  // Most ended children in one request. A message for each would wake the helper once more per attempt.
  static constexpr uint32_t kMostEnded = 16;

  HelperOp op = HelperOp::kSpawn;
  int32_t pid = 0;      // for kAdopt
  uint32_t leased = 0;  // for kSpawn and kAdopt: the helper ends it when the lease runs out
  // For kSpawn: the child's user and group, in rooms of tier 2 and above; 0: the helper's own.
  uint32_t user = 0;
  uint32_t network = 0;  // for kSpawn: not 0: at tier 3 it has the machine's network
  uint32_t ended_count = 0;
  int32_t ended[kMostEnded] = {};  // ended and reaped, with all that they started
};
struct SpawnReply {
  int32_t pid = 0;
  int32_t error = 0;  // errno of clone; ETIME: leased, and the lease has run out
  // The first process of its namespace, a child of the helper, or 0 (namespaces.h). It passes to the daemon if the
  // helper is killed, and must not be taken for an orphan then.
  int32_t keeper = 0;
};

// Sends one message with descriptors on a SOCK_SEQPACKET socket. Returns 0 or errno.
int SendWithFds(int socket, const void* data, size_t size, const std::vector<int>& fds, int flags);
// Receives one message. Returns its bytes, 0 at the end of the connection, or -errno.
long ReceiveWithFds(int socket, void* data, size_t size, std::vector<UniqueFd>* fds, int flags);

}  // namespace mr::task
