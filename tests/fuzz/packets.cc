// The bytes that a worker takes from a child process: packets on the control socket, the result, batches of output, the
// shared page and the log. The first byte chooses.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "common/abi/batch.h"
#include "common/base/check.h"
#include "common/base/fields.h"
#include "tests/fuzz/target.h"
#include "worker/host/log_sink.h"
#include "worker/task/crash_place.h"
#include "worker/task/frames.h"
#include "worker/task/protocol.h"

namespace mr::fuzz {
namespace {

enum Reader : uint8_t { kPackets_, kResult, kTask, kBatch, kPage, kLog, kMaps, kReaders };

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
