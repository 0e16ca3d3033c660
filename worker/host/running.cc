#include "worker/host/running.h"

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "common/abi/operator_table.h"
#include "common/base/text.h"
#include "common/io/clock.h"
#include "common/io/ledger.h"
#include "common/io/stack_lines.h"
#include "worker/task/crash_place.h"
#include "worker/task/process_tree.h"

namespace mr::worker {

using task::Header;
using task::Kind;
using task::Packet;

namespace {
// How long a cancelled operator that polls for cancellation may take to end its work (guess: its slot, and perhaps the
// end of its job, wait for it).
constexpr Duration kKillGrace = Millis(500);
// How long a task without progress may take to write its stack. Above the time that its translation has
// (task/crash.cc).
constexpr Duration kStackGrace = Seconds(3);
// Without progress for so long, a task is asked for its stack (guesses). With a shorter --task-timeout: parts of that.
constexpr Duration kFirstSample = Seconds(60), kSecondSample = Seconds(300);
constexpr int kMostSamples = 20;  // of an attempt; a guess: they show what is slow, and leave the log to the operator

constexpr char kLeaseText[] =
    "its worker had no contact with the master for too long: an attempt with side effects ends then, so that another "
    "one may begin elsewhere (mrmaster --side_effects_lease)";
constexpr const char* kPhases[] = {"read", "shuffle", "merge", "reduce", "write"};

task::WireTask ToWire(const TaskSpec& spec, const TaskHostOptions& options, uint64_t default_memory,
                      uint64_t arena_bytes, bool keep) {
  task::WireTask w;
  w.attempt = spec.attempt;
  w.letter = spec.letter;
  w.stage_name = spec.stage_name;
  w.job_name = spec.job_name;
  w.submitted_unix_ms = spec.submitted_unix_ms;
  w.tasks = spec.tasks;
  w.library_path = spec.library_path;
  w.operator_name = spec.operator_name;
  w.operator_flags = spec.operator_flags;
  w.config = spec.config;
  for (const SplitInput& s : spec.splits) {
    w.splits.push_back({s.input, s.name, s.format, s.offset, s.length, s.file_bytes, s.sample_bytes, s.fd_offset,
                        s.fd_length, s.crcs, s.chunk_bytes, s.cached});
  }
  for (const EdgeInput& e : spec.edges) {
    w.edges.push_back(
        {e.input, e.grouped, e.broadcast, e.quotes, e.segments, e.format, e.written, e.file, e.sample_bytes});
  }
  w.inputs = spec.inputs;
  for (const OutputPort& p : spec.ports) {
    w.ports.push_back({p.files, p.format, p.partitions, p.sorted, p.combine, p.custom_partition});
  }
  for (const auto& [name, value] : spec.env) w.env.push_back({name, value});
  w.sort_buffer_bytes = spec.sort_buffer_bytes;
  w.memory_bytes = spec.memory_bytes;
  w.default_memory_bytes = default_memory;
  w.partition_seed = spec.partition_seed;
  w.scratch_directory = spec.scratch_directory;
  w.arena_bytes = arena_bytes;
  w.files_directory = spec.files_directory;
  w.open_files = options.open_files;
  w.file_bytes = options.file_bytes;
  w.max_bad_records = spec.max_bad_records;
  w.keep = keep;
  w.ledger = Ledger::on();
  w.network = spec.network;
  return w;
}

uint64_t NextNumber() {
  static std::atomic<uint64_t> next{1};
  return next++;
}

// Returns the key under which children may be reused: children with the same key differ in nothing that outlives a
// task.
std::string ReuseKey(const TaskSpec& spec) {
  std::string key = spec.library_path + '\0' + std::to_string(spec.memory_bytes) + '\0' + spec.files_directory + '\0' +
                    (spec.network ? "network" : "");
  for (const auto& [name, value] : spec.env) key += '\0' + name + '=' + value;
  return key;
}

}  // namespace

Running::Running(std::shared_ptr<Core> core, TaskSpec spec, std::shared_ptr<TaskObserver> observer)
    : number_(NextNumber()),
      core_(std::move(core)),
      spec_(std::move(spec)),
      observer_(std::move(observer)),
      leased_((spec_.operator_flags & MR_SIDE_EFFECTS) != 0) {
  if (spec_.scratch_directory.empty()) spec_.scratch_directory = core_->options_.scratch_directory;
  keep_ = (spec_.operator_flags & MR_REUSABLE) != 0 && !leased_;
  key_ = ReuseKey(spec_);
}

// ---- From any thread ---------------------------------------------------------------------------

void Running::Feed(uint32_t input, uint32_t upstream_task, uint32_t partition, SharedBytes bytes, bool last,
                   std::function<void()> taken) {
  core_->loop.Post([self = shared_from_this(), input, upstream_task, partition, bytes = std::move(bytes), last,
                    taken = std::move(taken)]() mutable {
    if (self->ended_) return;
    self->input_.push_back({input, upstream_task, partition, std::move(bytes), last, std::move(taken)});
    self->PumpInput();
  });
}

void Running::Kill() {
  core_->loop.Post([self = shared_from_this()] { self->KillNow(); });
}

TaskProgress Running::Progress() const {
  const std::lock_guard lock(mutex_);
  if (watched_ == nullptr) return final_;
  const task::ProgressPage* page = watched_->page();
  TaskProgress p;
  p.taken_bytes = __atomic_load_n(&page->taken, __ATOMIC_RELAXED);
  p.total_bytes = page->total.load(std::memory_order_acquire);
  p.records = page->records.load(std::memory_order_relaxed);
  p.pulse = page->pulse.load(std::memory_order_relaxed);
  // After the bytes: those of a phase that has just begun must not count as those of the one before.
  p.phase = static_cast<uint8_t>(std::min(page->phase.load(std::memory_order_relaxed), 4u));
  return p;
}

// ---- Start -------------------------------------------------------------------------------------

void Running::Start() {
  moved_ = core_->Lived();
  if (spec_.memory_bytes == 0) default_memory_ = core_->DefaultMemory();
  Result<std::shared_ptr<Child>> child =
      leased_ && core_->lease()->over()
          ? Rejected("the lease has run out")
          : core_->Take(spec_, key_, spec_.memory_bytes + default_memory_, keep_, leased_);
  if (!child.ok()) {
    TaskResult result;
    const bool over = leased_ && child.status().code() == Code::kRejected;
    result.end = over ? TaskEnd::kLeaseOver : TaskEnd::kEnvironment;
    result.message = over ? kLeaseText : child.status().message();
    End(std::move(result));
    return;
  }
  child_ = *child;
  arena_ = child_->arena();
  arena_->ClearProgress();
  input_taken_.resize(arena_->layout().input_slots);
  std::vector<PacketChecks::Port> ports;
  for (const OutputPort& port : spec_.ports) ports.push_back({port.files, port.partitions});
  checks_.emplace(ports, spec_.splits.size(), arena_->layout());
  if (child_->leaf() != nullptr) oom_kills_before_ = child_->leaf()->OomKills();
  child_->SetHandler(this);
  child_->log().Open(spec_.log_path);
  pid_.store(child_->pid(), std::memory_order_relaxed);
  // With users of their own, tasks may write to a part of it only (task/room_user.h).
  core_->scratch->Add(number_, spec_.scratch_directory + (child_->leaf() == nullptr ? "" : "/tmp"), child_->pid());
  {
    const std::lock_guard lock(mutex_);
    watched_ = arena_;
  }
  SendTask();
  PumpInput();
}

void Running::SendTask() {
  Header h;
  h.kind = Kind::kSplitFds;
  std::vector<UniqueFd> fds;
  for (SplitInput& s : spec_.splits) {
    fds.push_back(std::move(s.fd));
    if (fds.size() == task::kMaxPacketFds) {
      child_->Send(h, {}, std::move(fds));
      fds.clear();
    }
  }
  if (!fds.empty()) child_->Send(h, {}, std::move(fds));
  h.kind = Kind::kRun;
  child_->SendBlob(h, EncodeFields(ToWire(spec_, core_->options_, default_memory_, arena_->bytes(), keep_)));
}

void Running::PumpInput() {
  if (child_ == nullptr || ended_) return;
  while (!input_.empty()) {
    Chunk& c = input_.front();
    Header h;
    h.kind = Kind::kInput;
    h.a = c.input;
    h.b = c.upstream;
    h.c = c.partition;
    if (!c.bytes.empty()) {
      const std::optional<uint32_t> free = checks_->FreeInputSlot();
      if (!free.has_value()) return;
      h.d = *free;
      h.x = std::min<size_t>(c.bytes.size() - c.sent, task::kSlotBytes);
      memcpy(arena_->input(h.d), c.bytes.data() + c.sent, h.x);
      Ledger::Count(Ledger::give_input, h.x);
      c.sent += h.x;
      if (c.sent < c.bytes.size())
        h.y |= task::kFragment;
      else
        input_taken_[h.d] = std::move(c.taken);
    }
    const bool whole = c.sent == c.bytes.size();
    if (whole && c.last) h.y |= task::kLastOfSegment;
    child_->Send(h);
    if (h.d != task::kNoSlot) checks_->InputGiven(h.d, child_->queued());
    if (!whole) continue;
    if (c.bytes.empty() && c.taken) c.taken();
    input_.pop_front();
  }
}

// ---- Packets -----------------------------------------------------------------------------------

void Running::OnPacket(Packet& packet) {
  if (failure_.has_value()) {
    // The cancelled operator ended within its grace period.
    if (packet.header.kind == Kind::kDone && packet.header.more == 0) child_->Kill();
    return;
  }
  PacketEffect effect;
  const char* const wrong =
      checks_->Take(packet, child_->sent(), arena_->layout().output_slots > 0 ? arena_->output(0) : nullptr, &effect);
  if (wrong != nullptr) {
    return Fail(TaskEnd::kUserError, "PROTOCOL: " + operator_name() + " broke the protocol of its process: " + wrong);
  }
  const Header& h = packet.header;
  if (h.kind == Kind::kOutput) ++packets_;
  switch (effect.kind) {
    case PacketEffect::kNothing: break;
    case PacketEffect::kFragment: FreeOutput(h.d); break;
    case PacketEffect::kChunk: TakeOutput(h, std::move(effect.chunk)); break;
    case PacketEffect::kTaken: TakeTaken(h.d); break;
    case PacketEffect::kReadMore: TakeReadMore(h); break;
    case PacketEffect::kTaskResult: TakeDone(std::move(effect.result)); break;
  }
}

void Running::OnGarbage() {
  Fail(TaskEnd::kUserError, "PROTOCOL: " + operator_name() +
                                " wrote to a descriptor that is not its own: "
                                "something that is no packet came from its process");
}

void Running::FreeOutput(uint32_t slot) {
  Header free;
  free.kind = Kind::kFree;
  free.d = slot;
  child_->Send(free);
  checks_->OutputFreed(slot, child_->queued());
}

void Running::TakeOutput(const Header& h, std::string chunk) {
  const auto bytes = std::make_shared<std::string>(std::move(chunk));
  records_out_ += h.c;
  ++outputs_pending_;
  const uint32_t front = spec_.ports[h.a].files ? 0 : kOutputFront;
  const OutputChunk output{h.a, h.b, h.c, std::string_view(*bytes).substr(front), bytes};
  // The callback keeps the bytes alive, but not the child.
  observer_->OnOutput(output, [self = shared_from_this(), bytes, slot = h.d](Status status) {
    self->core_->loop.Post([self, slot, status = std::move(status)] { self->OutputDone(slot, status); });
  });
}

void Running::OutputDone(uint32_t slot, Status status) {
  if (ended_ || failure_.has_value() || !checks_->OutputPending(slot)) return;
  --outputs_pending_;
  if (!status.ok()) {
    Fail(TaskEnd::kEnvironment, "cannot store the output: " + status.message());
    return;
  }
  if (!done_.has_value() || keep_) {  // a kept child needs its slots for the next task
    FreeOutput(slot);
  } else {
    checks_->OutputFreed(slot, child_->queued());
  }
  EndIfComplete();
}

void Running::TakeTaken(uint32_t slot) {
  const std::function<void()> taken = std::exchange(input_taken_[slot], nullptr);
  if (taken) taken();
  PumpInput();
}

void Running::TakeReadMore(const Header& h) {
  observer_->ReadMore(h.a, h.x, h.b, [self = shared_from_this(), want = h.b](Result<std::string> bytes) {
    self->core_->loop.Post([self, want, bytes = std::move(bytes)] {
      if (self->ended_ || self->failure_.has_value() || self->child_ == nullptr) return;
      Header answer;
      answer.kind = Kind::kMore;
      answer.a = bytes.ok() ? 1 : 0;
      const bool fits = !bytes.ok() || bytes->size() <= want;
      self->child_->SendBlob(answer,
                             bytes.ok() ? bytes->substr(0, fits ? bytes->size() : want) : bytes.status().message());
      self->checks_->ReadAnswered(self->child_->queued());
    });
  });
}

void Running::TakeDone(task::WireResult result) {
  done_ = std::move(result);
  if (leased_) {
    child_->Kill();  // descendants first: no side effect outlives the attempt, even if this daemon is killed now
  } else if (!keep_ || done_->outcome != task::Outcome::kDone) {
    child_->KillAtOnce();  // it has flushed its log
  }
  EndIfComplete();
}

// ---- End ---------------------------------------------------------------------------------------

void Running::KillNow() {
  if (ended_ || failure_.has_value()) return;
  if (child_ == nullptr || exited_ || arena_->page()->asks.load(std::memory_order_relaxed) == 0) {
    return Fail(TaskEnd::kKilled, "killed");
  }
  failure_.emplace();
  failure_->end = TaskEnd::kKilled;
  failure_->message = "killed";
  arena_->page()->cancelled.store(1, std::memory_order_relaxed);
  core_->loop.After(kKillGrace, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self != nullptr && !self->ended_ && !self->exited_) self->child_->Kill();
  });
}

void Running::LookAfter(Instant now) {
  if (child_ == nullptr || ended_ || child_->exited() || failure_.has_value() || done_.has_value()) return;
  const uint32_t most = core_->options_.processes;
  if (most > 0 && task::CountTree(child_->pid(), most) > most) {
    return Fail(TaskEnd::kUserError,
                operator_name() + " and what it started had more than " + std::to_string(most) +
                    " processes and threads at a time (ended ones that nobody waited for count): " +
                    task::DescribeTree(child_->pid()) + "; start fewer, or raise --task_processes of the workers");
  }
  const TaskProgress progress = Progress();
  const bool moved = progress.taken_bytes != seen_.taken_bytes || progress.records != seen_.records ||
                     progress.phase != seen_.phase || progress.pulse != seen_.pulse || packets_ != seen_packets_ ||
                     arena_->page()->waits.load(std::memory_order_relaxed) != 0 || checks_->reading();
  if (moved) {
    seen_ = progress;
    seen_packets_ = packets_;
    moved_ = now;
    if (samples_ > 0) {
      child_->DrainLog();
      child_->log().Note(kProgressLine);
    }
    samples_ = 0;
  }
  SampleStack(now - moved_);
  if (spec_.timeout.ns > 0 && now - moved_ >= spec_.timeout) {
    FailWithStack(HangText(now - moved_));
  }
}

// Asks for the stack early, for people who look at the attempt, and again when half of its time is over, to show
// whether it is still there.
void Running::SampleStack(Duration idle) {
  if (all_samples_ == kMostSamples) return;
  const bool limited = spec_.timeout.ns > 0;
  const Duration first = limited ? std::min(kFirstSample, Duration{spec_.timeout.ns / 4}) : kFirstSample;
  const Duration second = limited ? Duration{spec_.timeout.ns / 2} : kSecondSample;
  if ((samples_ == 0 && idle >= first) || (samples_ == 1 && idle >= second)) {
    ++samples_;
    ++all_samples_;
    child_->DrainLog();
    child_->log().EndLine();  // the handler begins a line
    // To the thread that calls the operator.
    syscall(SYS_tgkill, child_->pid(), child_->pid(), task::SampleSignal());
  }
}

void Running::ScratchOver(uint64_t bytes) {
  if (child_ == nullptr || ended_ || done_.has_value()) return;
  Fail(TaskEnd::kUserError, operator_name() + " was killed because the files of its job in $TMPDIR take more than " +
                                HumanBytes(core_->scratch->most()) + " (" + HumanBytes(bytes) +
                                ") on its worker; write less there, or raise --task_scratch_bytes of the workers");
}

std::string Running::HangText(Duration idle) const {
  std::string text =
      operator_name() + " made no progress for " + HumanDuration(idle) +
      " (--task-timeout): it took no input, gave no output and changed no counter. It was in its phase '" +
      kPhases[std::min<size_t>(seen_.phase, std::size(kPhases) - 1)] + "' and had taken " +
      HumanBytes(seen_.taken_bytes);
  if (seen_.total_bytes > 0) text += " of " + HumanBytes(seen_.total_bytes);
  const uint64_t records = task::RecordsBegun(*arena_->page());
  text += " (" + std::to_string(records) + (records == 1 ? " record)" : " records)");
  if (const std::string tree = task::DescribeTree(child_->pid()); !tree.empty()) text += "; its processes: " + tree;
  return text;
}

void Running::FailWithStack(std::string message) {
  // Descendants of a task with side effects end before it.
  if (leased_) {
    Fail(TaskEnd::kUserError, std::move(message));
    if (failure_.has_value()) failure_->record = task::CrashPlace(*arena_->page());
    return;
  }
  failure_.emplace();
  failure_->end = TaskEnd::kUserError;
  failure_->message = std::move(message);
  stack_asked_ = true;
  kill(child_->pid(), SIGQUIT);  // its handler writes the stack to the log, and ends it (task/crash.h)
  core_->loop.After(kStackGrace, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self != nullptr && !self->ended_ && !self->exited_) self->child_->Kill();
  });
}

void Running::Fail(TaskEnd end, std::string message) {
  if (failure_.has_value() || ended_) return;
  failure_.emplace();
  failure_->end = end;
  failure_->message = std::move(message);
  if (child_ == nullptr || exited_) {
    EndIfComplete();
  } else {
    child_->Kill();  // OnExit follows
  }
}

void Running::OnExit(Helper::Exit exit) {
  exited_ = true;
  child_->SetHandler(nullptr);
  if (!failure_.has_value() && !done_.has_value()) ExitedEarly(exit);
  if (stack_asked_) failure_->record = task::CrashPlace(*arena_->page());
  EndIfComplete();
}

std::string Running::OomText() const {
  const CgroupLeaf* const leaf = child_ == nullptr ? nullptr : child_->leaf();
  if (leaf == nullptr || leaf->OomKills() == oom_kills_before_) return "";
  const uint64_t limit = leaf->memory_limit(), used = std::min(limit, leaf->PeakBytes());
  return "was killed for memory: used " + HumanBytes(used) + " of " + HumanBytes(limit) +
         (used > limit / 10 * 9 ? "; raise --memory" : "; the attempts of this worker need more memory than it has");
}

void Running::ExitedEarly(Helper::Exit exit) {
  TaskResult r;
  r.end = TaskEnd::kUserError;
  r.record = task::CrashPlace(*arena_->page());
  const pid_t pid = child_->pid();
  // The report of a crash may hang in a broken process, and SIGALRM ends it.
  const uint32_t noted = arena_->page()->crash.signal.load(std::memory_order_relaxed);
  if (exit.by_signal && exit.value == SIGALRM && noted < NSIG && noted != 0) exit.value = static_cast<int>(noted);
  if (!exit.by_signal && exit.value == 70) {  // the child could not set itself up
    r.end = TaskEnd::kEnvironment;
    r.message = "the task's process could not be set up";
  } else if (!exit.by_signal && exit.value == task::kLostDaemon) {
    r.message = operator_name() + " closed the socket between its process and the worker; close only descriptors " +
                "that the operator has opened";
  } else if (!exit.by_signal) {
    r.message = "TASK_EXITED_EARLY: " + operator_name() + " called exit(" + std::to_string(exit.value) +
                ") before its task was done; return from the operator instead";
  } else if (exit.value == SIGKILL && core_->lease()->TakeEnded(pid)) {
    r.end = TaskEnd::kLeaseOver;
    r.message = kLeaseText;
  } else if (exit.value == SIGKILL && !OomText().empty()) {
    r.message = operator_name() + " " + OomText();
  } else if (exit.value == SIGXFSZ) {
    r.message = operator_name() + " wrote a file larger than " + HumanBytes(core_->options_.file_bytes) +
                ", the limit --task_file_bytes of its worker";
  } else if (exit.value == SIGKILL) {
    r.message =
        operator_name() +
        " was killed by SIGKILL: by the kernel because memory ran out, or by a kill of the operator or of another "
        "process";
  } else {
    const uint32_t causes = arena_->page()->crash.causes.load(std::memory_order_relaxed);
    r.message = operator_name() + " crashed: " + SignalName(exit.value);
    if (causes & task::CrashNote::kStackOverflow)
      r.message += " (stack overflow: a recursion without end, or too deep)";
    const std::string limit = task::MemoryLimitText(spec_.memory_bytes, default_memory_);
    if ((causes & task::CrashNote::kMemoryLimit) && !limit.empty()) {
      r.message += "; it was out of memory: its limit of " + limit + " was reached; raise --memory";
    }
  }
  failure_ = std::move(r);
}

void Running::EndIfComplete() {
  if (ended_) return;
  if (failure_.has_value()) {
    if (child_ == nullptr || exited_) End(std::move(*failure_));
    return;
  }
  if (!done_.has_value()) return;
  TaskResult result;
  const bool good = done_->outcome == task::Outcome::kDone;
  if (good && (outputs_pending_ > 0 || (!keep_ && !exited_))) return;
  if (!good && !exited_) return;
  switch (done_->outcome) {
    case task::Outcome::kDone: result.end = TaskEnd::kDone; break;
    case task::Outcome::kUser: result.end = TaskEnd::kUserError; break;
    case task::Outcome::kUserFinal: result.end = TaskEnd::kUserFinal; break;
    case task::Outcome::kEnvironment: result.end = TaskEnd::kEnvironment; break;
  }
  result.message = std::move(done_->message);
  // A command that the operator had started.
  if (!good && !OomText().empty()) result.message += "; a process of it " + OomText();
  result.record = std::move(done_->record);
  result.records_in = done_->records_in;
  result.ran = done_->ran;
  result.waited = done_->waited;
  for (task::WireCounter& c : done_->counters) {
    result.counters.push_back({std::move(c.group), std::move(c.name), c.value});
  }
  result.bad_records = std::move(done_->bad_records);
  result.hot_keys = std::move(done_->hot_keys);
  End(std::move(result));
}

void Running::End(TaskResult result) {
  const auto self = shared_from_this();
  core_->scratch->Remove(number_);
  ended_ = true;
  result.records_out = records_out_;
  const TaskProgress last = Progress();
  if (child_ != nullptr) {
    child_->DrainLog();
    result.stderr_tail = child_->log().Tail();
    result.log = child_->log().End();
    result.log_bytes = child_->log().bytes();
  }
  {
    const std::lock_guard lock(mutex_);
    final_ = last;
    watched_ = nullptr;
  }
  pid_.store(0, std::memory_order_relaxed);
  const JobId job = spec_.attempt.task.job;
  if (child_ != nullptr && !exited_) {
    core_->GiveBack(job, key_, std::move(child_));
  } else if (arena_ != nullptr) {
    core_->GiveBack(job, std::move(arena_));
  }
  child_ = nullptr;
  arena_ = nullptr;
  input_.clear();
  core_->running.erase(self);
  observer_->OnEnd(std::move(result));
  observer_ = nullptr;
}

}  // namespace mr::worker
