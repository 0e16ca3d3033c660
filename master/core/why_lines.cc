#include "master/core/why_lines.h"

#include <cmath>
#include <cstring>

#include "common/base/check.h"

namespace mr::master {
namespace {

// The largest number that is stored as an integer. All smaller ones are exact in a double.
constexpr double kMostWhole = 1LL << 53;

// Appends numbers in as few bytes as they need: seven bits in each, the lowest first.
class Packer {
 public:
  explicit Packer(std::string* out) : out_(out) {}
  void Number(uint64_t n) {
    for (; n >= 0x80; n >>= 7) out_->push_back(static_cast<char>(n | 0x80));
    out_->push_back(static_cast<char>(n));
  }
  void Text(std::string_view text) {
    Number(text.size());
    out_->append(text);
  }
  // An even number is twice a whole one; else a double follows.
  void Double(double value) {
    if (value >= 0 && value < kMostWhole && std::floor(value) == value && !std::signbit(value)) {
      return Number(2 * static_cast<uint64_t>(value));
    }
    Number(1);
    out_->append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void Reason(const sched::Reason& reason) {
    out_->push_back(static_cast<char>(reason.code));
    Text(reason.policy);
    Number(reason.numbers.size());
    for (const double number : reason.numbers) Double(number);
  }

 private:
  std::string* out_;
};

// Reads what Packer wrote.
class Unpacker {
 public:
  explicit Unpacker(std::string_view in) : in_(in) {}
  bool AtEnd() const { return in_.empty(); }
  size_t Left() const { return in_.size(); }
  std::string_view Rest() const { return in_; }
  uint8_t Byte() {
    MR_CHECK(!in_.empty(), "packed lines that end early");
    const char byte = in_.front();
    in_.remove_prefix(1);
    return static_cast<uint8_t>(byte);
  }
  uint64_t Number() {
    uint64_t n = 0;
    for (int shift = 0;; shift += 7) {
      const uint8_t byte = Byte();
      n |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return n;
    }
  }
  uint32_t Small() { return static_cast<uint32_t>(Number()); }
  std::string_view Text(size_t size) {
    MR_CHECK(size <= in_.size(), "packed lines that end early");
    const std::string_view text = in_.substr(0, size);
    in_.remove_prefix(size);
    return text;
  }
  std::string_view Text() { return Text(Number()); }
  double Double() {
    const uint64_t n = Number();
    const uint64_t whole = n >> 1;
    if (n % 2 == 0) return static_cast<double>(whole);
    double value;
    std::memcpy(&value, Text(sizeof value).data(), sizeof value);
    return value;
  }
  sched::Reason Reason() {
    sched::Reason reason;
    reason.code = static_cast<sched::ReasonCode>(Byte());
    reason.policy = Text();
    reason.numbers.resize(Number());
    for (double& number : reason.numbers) number = Double();
    return reason;
  }

 private:
  std::string_view in_;
};

std::string Packed(const WhyLine& line) {
  std::string bytes;
  Packer out(&bytes);
  bytes.push_back(static_cast<char>(line.what));
  out.Number(static_cast<uint64_t>(line.at.ns));
  const TaskId& task = line.attempt.task;
  for (const uint32_t n : {task.job.epoch, task.job.seq, task.stage, task.task, line.attempt.number}) out.Number(n);
  out.Number(line.worker.value);
  out.Reason(line.reason);
  bytes += line.text;
  return bytes;
}

// Decodes a line if its beginning, without reason and text, satisfies wanted(line).
template <class Wanted>
void Unpack(std::string_view bytes, std::vector<WhyLine>* lines, Wanted&& wanted) {
  Unpacker in(bytes);
  WhyLine line;
  line.what = static_cast<What>(in.Byte());
  line.at.ns = static_cast<int64_t>(in.Number());
  TaskId& task = line.attempt.task;
  for (uint32_t* n : {&task.job.epoch, &task.job.seq, &task.stage, &task.task, &line.attempt.number}) *n = in.Small();
  line.worker.value = in.Small();
  if (!wanted(line)) return;
  line.reason = in.Reason();
  line.text = in.Rest();
  lines->push_back(std::move(line));
}

}  // namespace

void WhyLines::Add(const WhyLine& line) {
  const bool bound = line.what == What::kBound;
  if (bound && bound_ == kBoundPerTask) EraseOldest(true);
  if (size_ == kWhyPerTask) EraseOldest(false);
  const std::string packed = Packed(line);
  std::string length;
  Packer(&length).Number(packed.size());
  bytes_ += length;
  bytes_ += packed;
  ++size_;
  bound_ += bound ? 1 : 0;
}

void WhyLines::EraseOldest(bool bound) {
  for (Unpacker in(bytes_); !in.AtEnd();) {
    const size_t begin = bytes_.size() - in.Left();
    const auto what = static_cast<What>(in.Text()[0]);
    if (bound && what != What::kBound) continue;
    bytes_.erase(begin, bytes_.size() - in.Left() - begin);
    --size_;
    bound_ -= what == What::kBound ? 1 : 0;
    return;
  }
}

std::vector<WhyLine> WhyLines::All() const {
  std::vector<WhyLine> lines;
  lines.reserve(size_);
  for (Unpacker in(bytes_); !in.AtEnd();) Unpack(in.Text(), &lines, [](const WhyLine&) { return true; });
  return lines;
}

std::vector<WhyLine> WhyLines::Of(What what) const {
  std::vector<WhyLine> lines;
  for (Unpacker in(bytes_); !in.AtEnd();) {
    const std::string_view line = in.Text();
    if (static_cast<What>(line[0]) == what) Unpack(line, &lines, [](const WhyLine&) { return true; });
  }
  return lines;
}

std::vector<WhyLine> WhyLines::On(WorkerId worker) const {
  std::vector<WhyLine> lines;
  for (Unpacker in(bytes_); !in.AtEnd();) {
    Unpack(in.Text(), &lines, [worker](const WhyLine& line) { return line.worker == worker; });
  }
  return lines;
}

PackedReason::PackedReason(const sched::Reason& reason) {
  if (reason != sched::Reason()) Packer(&bytes_).Reason(reason);
}

PackedReason::operator sched::Reason() const { return bytes_.empty() ? sched::Reason() : Unpacker(bytes_).Reason(); }

}  // namespace mr::master
