// The bytes that a worker takes from a child process: packets on the control socket, their order, the result, batches
// of output, the shared page and the log. The first byte chooses.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <string>

#include "common/abi/batch.h"
#include "common/base/check.h"
#include "common/base/fields.h"
#include "tests/fuzz/target.h"
#include "worker/host/log_sink.h"
#include "worker/host/packet_checks.h"
#include "worker/host/task_host.h"
#include "worker/task/crash_place.h"
#include "worker/task/frames.h"
#include "worker/task/protocol.h"

namespace mr::fuzz {
namespace {

enum Reader : uint8_t { kPackets_, kResult, kTask, kBatch, kPage, kLog, kMaps, kOrder, kReaders };

// Each packet: two bytes of length, then its bytes.
void ReadPackets(Input input) {
  int ends[2];
  MR_CHECK(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
  const UniqueFd child(ends[0]), daemon(ends[1]);
  while (!input.empty()) {
    const std::string_view sent = input.Bytes(input.Short());
    if (::send(child.get(), sent.data(), sent.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) break;
    task::Packet packet;
    const int error = task::ReceivePacket(daemon.get(), &packet, MSG_DONTWAIT);
    if (error == EPIPE && sent.empty()) continue;  // an empty packet looks like the end
    MR_CHECK(error == 0 || error == EBADMSG);
    if (error == 0) MR_CHECK(packet.payload.size() + sizeof(task::Header) == sent.size() && packet.fds.empty());
  }
}

template <class T>
void ReadFields(std::string_view bytes) {
  T value;
  if (!DecodeFields(bytes, &value)) return;
  MR_CHECK(EncodeFields(value) == bytes);
}

void ReadBatch(std::string_view bytes) {
  const std::string aligned(bytes);
  BatchView view;
  if (BatchView::Parse(aligned.data(), aligned.size(), &view) != nullptr) return;
  uint64_t total = 0;
  for (uint32_t i = 0; i < view.size(); ++i) {
    const std::string_view key = view.key(i), value = view.value(i);
    for (const std::string_view part : {key, value}) {
      if (!part.empty()) MR_CHECK(part.data() >= aligned.data() && &part.back() < aligned.data() + aligned.size());
    }
    total += key.size() + value.size();
  }
  MR_CHECK(total == uint64_t{view.key_bytes()} + view.value_bytes());
}

void ReadPage(std::string_view bytes) {
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  const std::unique_ptr<void, Free> memory(std::calloc(1, task::kProgressBytes));
  std::memcpy(memory.get(), bytes.data(), std::min<size_t>(bytes.size(), task::kProgressBytes));
  const auto* page = static_cast<const task::ProgressPage*>(memory.get());
  (void)task::RecordsBegun(*page);
  (void)task::CrashPlace(*page);
  (void)task::CrashPlace(*page, "file:///a");
}

void ReadLog(std::string_view bytes) {
  int ends[2];
  MR_CHECK(::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
  const UniqueFd daemon(ends[0]), child(ends[1]);
  const ssize_t written = ::write(child.get(), bytes.data(), bytes.size());
  worker::LogSink log;
  log.Open("");
  (void)log.Drain(daemon.get());
  MR_CHECK(written < 0 || log.bytes() == static_cast<uint64_t>(written));
  MR_CHECK(log.Tail().size() <= worker::LogSink::kTailBytes);
  MR_CHECK(log.End().size() <= log.bytes());
}

void ReadMaps(std::string_view text) {
  for (const task::MappedFile& file : task::ParseMaps(text)) MR_CHECK(!file.path.empty());
}

// One task: what its child sends, between what the daemon queues for it and what the socket takes. Keeps its own
// account of what the child has received, and lets it use nothing else.
class OneTask {
 public:
  static constexpr task::ArenaLayout kSlots{2, 2};
  static constexpr uint32_t kPartitions = 4;  // 0 to 2: a shuffle; 3: files

  enum Step : uint8_t { kPacket, kSend, kStore, kGive, kAnswer, kSteps };

  OneTask() : checks_({{false, 3}, {true, 1}}, 2, kSlots) {}

  // Returns false after a packet that was refused.
  bool Do(Input& input) {
    switch (static_cast<Step>(input.Byte() % kSteps)) {
      case kPacket: return Receive(input);
      case kSend: SendOne(); break;
      case kStore:
        if (const uint32_t slot = input.Byte() % kSlots.output_slots; checks_.OutputPending(slot) && !ended_) {
          checks_.OutputFreed(slot, Queue(kFreeSlot, slot));
        }
        break;
      case kGive:
        if (const auto slot = checks_.FreeInputSlot(); slot.has_value()) {
          MR_CHECK(!has_input_[*slot]);
          checks_.InputGiven(*slot, Queue(kInputSlot, *slot));
        }
        break;
      case kAnswer:
        if (checks_.reading()) checks_.ReadAnswered(Queue(kMoreBytes, 0));
        break;
      case kSteps: break;
    }
    MR_CHECK(outgoing_.size() <= kSlots.input_slots + kSlots.output_slots + 1);  // also if it reads nothing
    return true;
  }

 private:
  enum Sent : uint8_t { kFreeSlot, kInputSlot, kMoreBytes };

  uint64_t Queue(Sent what, uint32_t slot) {
    outgoing_.emplace_back(what, slot);
    return ++queued_;
  }
  void SendOne() {
    if (outgoing_.empty()) return;
    const auto [what, slot] = outgoing_.front();
    outgoing_.pop_front();
    ++sent_;
    if (what == kFreeSlot) has_output_[slot] = true;
    if (what == kInputSlot) has_input_[slot] = true;
    if (what == kMoreBytes) may_read_ = true;
  }
  bool Receive(Input& input) {
    task::Packet packet;
    task::Header& h = packet.header;
    h.kind = static_cast<task::Kind>(15 + input.Byte() % 6);
    const uint8_t flags = input.Byte();
    h.more = flags & 1;
    h.a = Number(input), h.b = Number(input), h.c = Number(input), h.d = Number(input);
    const std::string_view bytes = input.Bytes(input.Short());
    if (h.kind == task::Kind::kDone) packet.payload = bytes;
    if (h.kind == task::Kind::kOutput && h.d < kSlots.output_slots) {
      char* const slot = Memory() + uint64_t{h.d} * task::kSlotBytes;
      if (flags & 2) std::memset(slot, 0, 1u << 16);  // more than any earlier input has written
      if (!bytes.empty()) std::memcpy(slot, bytes.data(), bytes.size());
    }
    h.x = flags & 2 ? task::kSlotBytes + (flags & 4) : bytes.size();
    h.y = flags & 8 ? task::kFragment : 0;
    worker::PacketEffect effect;
    if (checks_.Take(packet, sent_, Memory(), &effect) != nullptr) return false;
    MR_CHECK(!ended_);
    Account(packet, effect);
    return true;
  }
  // Bytes before a chunk in its memory.
  static uint64_t Front(const task::Header& h) { return h.a == 0 ? worker::kOutputFront : 0; }
  void Account(const task::Packet& packet, const worker::PacketEffect& effect) {
    const task::Header& h = packet.header;
    using Effect = worker::PacketEffect;
    switch (effect.kind) {
      case Effect::kNothing: MR_CHECK(h.kind == task::Kind::kDone && h.more != 0); break;
      case Effect::kFragment:
      case Effect::kChunk:
        MR_CHECK(h.d < kSlots.output_slots && has_output_[h.d] && h.x <= task::kSlotBytes);
        has_output_[h.d] = false;
        chunk_ += h.x;
        MR_CHECK(chunk_ <= kMaxRecordBytes + (4u << 20));
        if (effect.kind == Effect::kFragment) {
          checks_.OutputFreed(h.d, Queue(kFreeSlot, h.d));
          break;
        }
        MR_CHECK(effect.chunk.size() == chunk_ + Front(h) && h.b < kPartitions && h.a == (h.b < 3 ? 0u : 1u));
        if (h.a == 0) {
          MR_CHECK(h.b >= partition_);
          BatchView view;
          const std::string_view batch = std::string_view(effect.chunk).substr(Front(h));
          MR_CHECK(BatchView::Parse(batch.data(), batch.size(), &view) == nullptr && view.size() == h.c);
        }
        partition_ = h.b;
        chunk_ = 0;
        break;
      case Effect::kTaken:
        MR_CHECK(h.d < kSlots.input_slots && has_input_[h.d]);
        has_input_[h.d] = false;
        break;
      case Effect::kReadMore:
        MR_CHECK(may_read_ && h.a < 2 && h.b > 0 && h.b <= 1u << 20);
        may_read_ = false;
        break;
      case Effect::kTaskResult:
        MR_CHECK(chunk_ == 0 && !checks_.reading());
        ended_ = true;
        break;
    }
  }
  // Small numbers, and those at the edges.
  static uint32_t Number(Input& input) {
    const uint8_t byte = input.Byte();
    return byte < 0xf0 ? byte : byte == 0xf0 ? 1u << 20 : byte == 0xf1 ? (1u << 20) + 1 : task::kNoSlot - (0xff - byte);
  }
  static char* Memory() {
    static const std::unique_ptr<char[]> slots(new char[uint64_t{kSlots.output_slots} * task::kSlotBytes]());
    return slots.get();
  }

  worker::PacketChecks checks_;
  std::deque<std::pair<Sent, uint32_t>> outgoing_;
  uint64_t queued_ = 0, sent_ = 0;
  bool has_output_[kSlots.output_slots] = {true, true}, has_input_[kSlots.input_slots] = {}, may_read_ = true;
  uint64_t chunk_ = 0;
  uint32_t partition_ = 0;
  bool ended_ = false;
};

void ReadInOrder(Input& input) {
  OneTask task;
  while (!input.empty() && task.Do(input)) {
  }
}

void Run(std::string_view bytes) {
  Input input(bytes);
  switch (static_cast<Reader>(input.Byte() % kReaders)) {
    case kPackets_: ReadPackets(input); break;
    case kResult: ReadFields<task::WireResult>(input.Rest()); break;
    case kTask: ReadFields<task::WireTask>(input.Rest()); break;
    case kBatch: ReadBatch(input.Rest()); break;
    case kPage: ReadPage(input.Rest()); break;
    case kLog: ReadLog(input.Rest()); break;
    case kMaps: ReadMaps(input.Rest()); break;
    case kOrder: ReadInOrder(input); break;
    case kReaders: break;
  }
}

std::string Packet(task::Kind kind, std::string_view payload) {
  task::Header header;
  header.kind = kind;
  header.d = 0;
  header.x = 8;
  std::string packet(reinterpret_cast<const char*>(&header), sizeof header);
  packet += payload;
  const size_t size = packet.size();
  return std::string{static_cast<char>(size & 255), static_cast<char>(size >> 8)} + packet;
}

// A packet of OneTask.
std::string Step(task::Kind kind, uint8_t flags, const char (&numbers)[5], std::string_view bytes) {
  std::string step = {OneTask::kPacket, static_cast<char>(static_cast<int>(kind) - 15), static_cast<char>(flags)};
  step.append(numbers, 4);
  step += static_cast<char>(bytes.size() & 255);
  step += static_cast<char>(bytes.size() >> 8);
  return step.append(bytes);
}

std::vector<std::string> Seeds() {
  const auto seed = [](Reader reader, const std::string& rest) {
    return std::string(1, static_cast<char>(reader)) + rest;
  };
  task::WireResult result;
  result.outcome = task::Outcome::kUser;
  result.message = "it failed";
  result.counters = {{"group", "name", -3}};
  result.bad_records = {"record 3"};
  result.hot_keys.emplace_back();
  result.hot_keys.back().prefix = "key";
  task::WireTask task;
  task.attempt = {{{1, 2}, 3, 4}, 5};
  task.splits.emplace_back();
  task.edges.emplace_back();
  task.ports.emplace_back();
  task.env = {{"NAME", "value"}};
  const std::string done = EncodeFields(result);
  std::vector<std::string> seeds = {
      seed(kPackets_, Packet(task::Kind::kOutput, "") + Packet(task::Kind::kTaken, "") +
                          Packet(task::Kind::kReadMore, "") + Packet(task::Kind::kDone, done)),
      seed(kResult, done), seed(kTask, EncodeFields(task)), seed(kLog, "a line\nterminate called after\n"),
      seed(kMaps, "7f00-7fff r-xp 00001000 08:01 42 /usr/lib/libmine.so\n0-1 rw-p 0 0:0 0\n")};
  for (const uint16_t flags : {0, int{kSorted}, int{kTagged}}) {
    BatchBuilder builder;
    builder.Add("a", "1");
    builder.Add("key", std::string(40, 'v'));
    std::string bytes;
    builder.Finish(flags, &bytes);
    seeds.push_back(seed(kBatch, bytes));
  }
  BatchBuilder records;
  records.Add("a", "1");
  std::string batch;
  records.Finish(kSorted, &batch);
  const std::string freed = {OneTask::kStore, 0, OneTask::kSend};
  seeds.push_back(seed(
      kOrder,
      std::string{OneTask::kGive, OneTask::kSend} + Step(task::Kind::kTaken, 0, "\0\0\0\0", "") +
          Step(task::Kind::kReadMore, 0, "\1\7\0\0", "") + std::string{OneTask::kAnswer, OneTask::kSend} +
          Step(task::Kind::kOutput, 0, "\0\0\1\0", batch) + freed + Step(task::Kind::kOutput, 0, "\0\2\1\0", batch) +
          freed + Step(task::Kind::kOutput, 8, "\1\3\0\0", "a part ") + std::string(1, OneTask::kSend) +
          Step(task::Kind::kOutput, 0, "\1\3\1\0", "of a file") + Step(task::Kind::kDone, 0, "\0\0\0\0", done)));
  task::ProgressPage page{};
  page.records = 7;
  page.batch_records = 4;
  page.record = 2;
  page.crash.place_bytes = 5;
  page.crash.key_bytes = 3;
  page.crash.value_bytes = task::CrashNote::kMostShown;
  std::memcpy(page.crash.place, "file:", 5);
  seeds.push_back(seed(kPage, std::string(reinterpret_cast<const char*>(&page), sizeof page)));
  return seeds;
}

}  // namespace

const Target kPackets{"packets", Run, Seeds};

}  // namespace mr::fuzz
