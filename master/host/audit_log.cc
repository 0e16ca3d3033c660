#include "master/host/audit_log.h"

#include <fcntl.h>
#include <glog/logging.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>
#include <vector>

#include "common/base/text.h"
#include "common/io/sha256.h"

namespace mr::master {
namespace {

constexpr uint64_t kMostQueued = 10'000;  // calls: some MiB; a guess
constexpr uint64_t kSyncEvery = 256;      // lines, where more are queued: a sync takes some milliseconds; a guess
constexpr uint64_t kMostLine = 64 << 10;  // bytes; a line has about 3 KiB at most
constexpr std::string_view kHashKey = ",\"hash\":\"";
constexpr size_t kHashBytes = 64, kTailBytes = kHashKey.size() + kHashBytes + 2;  // and "}

const char* ProofName(Proof proof) {
  switch (proof) {
    case Proof::kNone: return "none";
    case Proof::kSecret: return "secret";
    case Proof::kSocket: return "socket";
    case Proof::kCertificate: return "certificate";
    case Proof::kToken: return "token";
    case Proof::kJoin: return "join";
  }
  return "unknown";
}

// "2026-05-09T07:29:33.042Z"
std::string UtcTime(uint64_t unix_ms) {
  const auto seconds = static_cast<time_t>(unix_ms / 1000);
  tm parts{};
  gmtime_r(&seconds, &parts);
  char text[40], all[48];
  strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(all, sizeof all, "%s.%03uZ", text, static_cast<unsigned>(unix_ms % 1000));
  return all;
}

std::string NumberedName(uint64_t number) {
  char name[40];
  std::snprintf(name, sizeof name, "audit-%06llu.log", static_cast<unsigned long long>(number));
  return name;
}

// Returns the number in the name, or 0 where it is no file of the log.
uint64_t NumberOf(const std::string& name) {
  unsigned long long number = 0;
  int end = 0;
  if (std::sscanf(name.c_str(), "audit-%llu.log%n", &number, &end) != 1) return 0;
  return static_cast<size_t>(end) == name.size() ? number : 0;
}

Result<std::vector<std::pair<uint64_t, std::string>>> AuditFiles(const std::string& directory) {
  MR_ASSIGN_OR_RETURN(const auto names, ListDirectory(directory));
  std::vector<std::pair<uint64_t, std::string>> files;
  for (const std::string& name : names) {
    if (const uint64_t number = NumberOf(name); number != 0) files.emplace_back(number, name);
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string HashOf(const std::string& previous, std::string_view head) {
  Sha256 digest;
  digest.Update(previous);
  digest.Update(head);
  return digest.HexDigest();
}

// The parts of a line. ok: it has the form of one.
struct ParsedLine {
  bool ok = false;
  std::string_view head;  // what the hash covers
  std::string hash;
};
ParsedLine Parse(std::string_view line) {
  if (line.size() < kTailBytes || !line.ends_with("\"}")) return {};
  const size_t at = line.size() - kTailBytes;
  if (line.substr(at, kHashKey.size()) != kHashKey) return {};
  ParsedLine parsed{true, line.substr(0, at), std::string(line.substr(at + kHashKey.size(), kHashBytes))};
  parsed.ok = parsed.hash.find_first_not_of("0123456789abcdef") == std::string::npos;
  return parsed;
}

// Returns the text or number behind `"key":` in a line that this file wrote, or "".
std::string FieldOf(std::string_view head, std::string_view key) {
  const std::string begin = "\"" + std::string(key) + "\":";
  size_t at = head.find(begin);
  if (at == std::string_view::npos) return "";
  at += begin.size();
  if (at < head.size() && head[at] == '"') ++at;
  return std::string(head.substr(at, head.find_first_of("\",}", at) - at));
}

const std::string& FirstHash() {
  static const std::string* const zeros = new std::string(kHashBytes, '0');
  return *zeros;
}

// Returns the code point at `text[*at]`, which is valid UTF-8, and moves behind it.
uint32_t NextPoint(const std::string& text, size_t* at) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(text[i])); };
  const uint32_t first = byte(*at);
  const size_t more = first < 0x80 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
  uint32_t point = more == 0 ? first : first & (0x3fu >> more);
  for (size_t i = 1; i <= more && *at + i < text.size(); ++i) point = point << 6 | (byte(*at + i) & 0x3f);
  *at += more + 1;
  return point;
}

// C1 controls, marks and overrides of direction, invisible characters (Unicode 15, category Cf), line separators.
bool Misleading(uint32_t point) {
  return (point >= 0x7f && point <= 0x9f) || point == 0xad || point == 0x61c || point == 0x180e ||
         (point >= 0x200b && point <= 0x200f) || (point >= 0x2028 && point <= 0x202e) ||
         (point >= 0x2060 && point <= 0x206f) || point == 0xfeff || (point >= 0xfff9 && point <= 0xfffb);
}

}  // namespace

std::string AuditEscape(const std::string& text) {
  const std::string json = JsonEscape(text);
  std::string out;
  for (size_t at = 0; at < json.size();) {
    const size_t begin = at;
    const uint32_t point = NextPoint(json, &at);
    if (Misleading(point)) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", point);
      out += escaped;
    } else {
      out.append(json, begin, at - begin);
    }
  }
  return out;
}

AuditLog::AuditLog(Options options) : options_(std::move(options)), hash_(FirstHash()) {}
AuditLog::~AuditLog() { pool_.Finish(); }

Status AuditLog::Open() {
  MR_RETURN_IF_ERROR(MakeDirectories(options_.directory));
  if (chmod(options_.directory.c_str(), 0700) != 0) return ErrnoStatus(errno, "cannot protect " + options_.directory);
  MR_ASSIGN_OR_RETURN(const auto files, AuditFiles(options_.directory));
  if (files.empty()) return Status::Ok();
  number_ = files.back().first;
  return Continue(files.back().second);
}

// Reads the last line of the newest file. The line that a crash cut short was never a line.
Status AuditLog::Continue(const std::string& name) {
  const std::string path = options_.directory + "/" + name;
  MR_ASSIGN_OR_RETURN(UniqueFd file, OpenFile(path, O_RDWR));
  MR_ASSIGN_OR_RETURN(const uint64_t size, FileSize(path));
  const uint64_t from = size - std::min(size, kMostLine);
  std::string end(size - from, '\0');
  MR_ASSIGN_OR_RETURN(const size_t read, PreadUpTo(file.get(), end.data(), end.size(), from));
  end.resize(read);
  const size_t last = end.rfind('\n');
  end.resize(last == std::string::npos ? 0 : last + 1);
  bytes_ = from + end.size();
  if (bytes_ != size) {
    LOG(WARNING) << path << ": a line was cut short, probably by a crash; it is removed";
    if (ftruncate(file.get(), static_cast<off_t>(bytes_)) != 0) return ErrnoStatus(errno, "cannot shorten " + path);
  }
  const std::string_view lines = end;
  const size_t before = lines.size() < 2 ? std::string_view::npos : lines.rfind('\n', lines.size() - 2);
  const ParsedLine line =
      lines.empty() ? ParsedLine{}
                    : Parse(lines.substr(before == std::string_view::npos ? 0 : before + 1,
                                         lines.size() - 1 - (before == std::string_view::npos ? 0 : before + 1)));
  if (!line.ok) {
    // The next file begins a chain of its own; the check finds the break.
    LOG(ERROR) << path << ": its last line is none that a master wrote; see mrmaster --audit_check";
    return Status::Ok();
  }
  hash_ = line.hash;
  lines_ = std::strtoull(FieldOf(line.head, "n").c_str(), nullptr, 10);
  file_ = std::move(file);
  if (lseek(file_.get(), 0, SEEK_END) < 0) return ErrnoStatus(errno, "cannot append to " + path);
  return Status::Ok();
}

void AuditLog::Called(rpc::CallRecord record) {
  if (queued_.fetch_add(1) >= kMostQueued) {
    --queued_;
    ++lost_;
    LOG_EVERY_T(ERROR, 10) << "the audit log cannot keep up: " << lost_ << " calls are not in it";
    return;
  }
  const bool posted = pool_.Post([this, record = std::move(record), wall_ms = options_.wall_ms()] {
    Write(record, wall_ms);
    const bool more = --queued_ > 0;
    if (unsynced_ > 0 && file_.valid() && (!more || unsynced_ >= kSyncEvery)) {
      (void)fdatasync(file_.get());  // the lines are written; what a power cut takes from them, the check shows
      unsynced_ = 0;
    }
  });
  if (!posted) ++lost_;
}

Status AuditLog::NextFile() {
  const std::string path = options_.directory + "/" + NumberedName(number_ + 1);
  MR_ASSIGN_OR_RETURN(UniqueFd file, OpenFile(path, O_RDWR | O_CREAT | O_TRUNC, 0600));
  if (unsynced_ > 0 && file_.valid()) (void)fdatasync(file_.get());
  file_ = std::move(file);
  bytes_ = 0;
  const Status begun =
      WriteLine("{\"audit\":1,\"n\":" + std::to_string(lines_ + 1) + ",\"previous\":\"" + hash_ + "\"");
  if (!begun.ok()) {
    file_.reset();
    return begun;
  }
  ++number_;
  (void)SyncDirectory(options_.directory);
  const auto files = AuditFiles(options_.directory);
  if (!files.ok()) return Status::Ok();
  for (size_t i = 0; i + options_.files < files->size(); ++i) {
    (void)RemoveTree(options_.directory + "/" + (*files)[i].second);
  }
  return Status::Ok();
}

// head: the line without its hash. Leaves no part of a line that could not be written.
Status AuditLog::WriteLine(const std::string& head) {
  const std::string hash = HashOf(hash_, head);
  const std::string line = head + std::string(kHashKey) + hash + "\"}\n";
  if (Status written = WriteAll(file_.get(), line); !written.ok()) {
    const bool cut = ftruncate(file_.get(), static_cast<off_t>(bytes_)) == 0 &&
                     lseek(file_.get(), static_cast<off_t>(bytes_), SEEK_SET) >= 0;
    if (!cut) file_.reset();  // the next line begins another file
    return written;
  }
  bytes_ += line.size();
  hash_ = hash;
  ++lines_;
  ++unsynced_;
  return Status::Ok();
}

void AuditLog::Write(const rpc::CallRecord& record, uint64_t wall_ms) {
  const auto write = [&]() -> Status {
    if (!file_.valid() || bytes_ >= options_.file_bytes) MR_RETURN_IF_ERROR(NextFile());
    const uint64_t lost = lost_;
    std::string head = "{\"n\":" + std::to_string(lines_ + 1) + ",\"time\":\"" + UtcTime(wall_ms) +
                       "\",\"subject\":\"" + AuditEscape(record.identity.subject) + "\",\"proof\":\"" +
                       ProofName(record.identity.proof) + "\",\"peer\":\"" + AuditEscape(record.peer) +
                       "\",\"method\":\"" + record.method + "\",\"object\":\"" + AuditEscape(record.object) +
                       "\",\"result\":\"" + CodeName(record.code) +
                       "\",\"sequence\":" + std::to_string(record.sequence);
    if (lost != lost_told_) head += ",\"lost\":" + std::to_string(lost - lost_told_);
    MR_RETURN_IF_ERROR(WriteLine(head));
    lost_told_ = lost;
    return Status::Ok();
  };
  if (Status written = write(); !written.ok()) {
    ++lost_;
    LOG_EVERY_T(ERROR, 10) << "the audit log cannot be written: " << written.message() << "; " << lost_
                           << " calls are not in it; make space on the disk of " << options_.directory;
  }
}

Result<AuditCheck> CheckAudit(const std::string& directory) {
  MR_ASSIGN_OR_RETURN(const auto files, AuditFiles(directory));
  if (files.empty()) return NotFound("there is no audit log in " + directory);
  AuditCheck check;
  std::string hash;
  uint64_t n = 0, number = 0;
  for (const auto& [file_number, name] : files) {
    MR_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(directory + "/" + name));
    ++check.files;
    uint64_t line_number = 0;
    const auto broken = [&, &file = name](const std::string& why) {
      check.broken = file + ", line " + std::to_string(line_number) + ": " + why;
      return check;
    };
    if (number != 0 && file_number != number + 1) {
      line_number = 1;
      return broken("the file before it is missing");
    }
    number = file_number;
    for (size_t at = 0; at < bytes.size();) {
      ++line_number;
      const size_t end = bytes.find('\n', at);
      if (end == std::string::npos) return broken("the line is cut short");
      const ParsedLine line = Parse(std::string_view(bytes).substr(at, end - at));
      at = end + 1;
      if (!line.ok) return broken("it has no hash");
      const uint64_t own = std::strtoull(FieldOf(line.head, "n").c_str(), nullptr, 10);
      if (line_number == 1) {
        const std::string previous = FieldOf(line.head, "previous");
        if (!line.head.starts_with("{\"audit\":1,"))
          return broken("the file does not begin with the first line of one");
        if (check.lines == 0) {
          // Older files are removed in time: the oldest that is left cannot be compared with them.
          hash = previous;
          n = own - 1;
        }
        if (previous != hash) return broken("it does not follow from the last line of the file before it");
      }
      if (own != n + 1) return broken("its number is " + std::to_string(own) + " after " + std::to_string(n));
      if (HashOf(hash, line.head) != line.hash) return broken("it, or the line before it, was changed");
      hash = line.hash;
      n = own;
      ++check.lines;
      check.lost += std::strtoull(FieldOf(line.head, "lost").c_str(), nullptr, 10);
    }
  }
  return check;
}

}  // namespace mr::master
