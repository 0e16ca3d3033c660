#include "worker/task/crash.h"

#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "common/abi/batch.h"
#include "common/io/stack_lines.h"
#include "worker/task/frames.h"
#include "worker/task/split_reader.h"

namespace mr::task {
namespace {

constexpr int kFatalSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGQUIT};
constexpr int kMostFrames = 48;  // a guess: enough to leave the libraries that an operator calls
// After this time SIGALRM ends a handler that hangs. The translation of the stack has less.
constexpr unsigned kHandlerSeconds = 5;
constexpr uint64_t kNearLimitPercent = 95;    // a guess: above what an allocation of usual size leaves free
constexpr uint64_t kStackNear = 64ull << 10;  // a guess: frames are smaller
constexpr int kTranslateRounds = 400, kRoundMillis = 5;

// State of the handlers, written by the operator's thread. A fault of another thread may read it in between, so the
// note then shows a wrong record; it is still bounded.
ProgressPage* crash_page = nullptr;
pid_t crash_pid = 0;  // processes that it forks inherit the handlers; they note nothing
struct {
  const char* data;
  uint64_t size;
  const char* place;
  size_t place_bytes;
  const SplitReader* reader;
} volatile crash_batch = {};
mr_bytes crash_at = {};

// Each function below is async-signal-safe: no allocation, no lock, no stdio.

void CopyShown(const char* from, uint64_t bytes, uint64_t most, char* to, std::atomic<uint32_t>* shown) {
  const uint64_t n = from == nullptr ? 0 : std::min(bytes, most);
  if (n > 0) memcpy(to, from, n);
  shown->store(static_cast<uint32_t>(n), std::memory_order_release);
}

// Appends text to a note's place, as far as there is room.
void AddPlace(CrashNote* note, uint32_t* size, const char* text, size_t bytes) {
  bytes = std::min<size_t>(bytes, CrashNote::kMostPlace - *size);
  memcpy(note->place + *size, text, bytes);
  *size += static_cast<uint32_t>(bytes);
}

// Writes the digits of a number to the end of `out`, which has 24 bytes. Returns the first one.
const char* Decimal(uint64_t n, char* out) {
  char* at = out + 23;
  *at = '\0';
  do {
    *--at = static_cast<char>('0' + n % 10);
    n /= 10;
  } while (n != 0);
  return at;
}

// Notes the place of the record; line: the byte of a block of lines at which the operator is, or null.
void NotePlace(CrashNote* note, const BatchView& view, uint32_t record, const char* line) {
  constexpr size_t kRoom = 100;  // for what follows the name
  const auto add = [note](uint32_t* size, const char* text) { AddPlace(note, size, text, strlen(text)); };
  const SplitReader* const reader = crash_batch.reader;
  char digits[24];
  uint32_t size = 0;
  if (reader == nullptr) {  // an edge has the place of its chunk, and a merged batch has none
    const size_t bytes = crash_batch.place_bytes;
    if (bytes == 0) return;
    AddPlace(note, &size, crash_batch.place, std::min(bytes, CrashNote::kMostPlace - kRoom));
    add(&size, ", record ");
    add(&size, Decimal(record, digits));
  } else {
    const SplitReader::RecordOffset place = reader->OffsetOf(view, record, line);
    AddPlace(note, &size, reader->name().data(), std::min(reader->name().size(), CrashNote::kMostPlace - kRoom));
    add(&size, ", byte ");
    add(&size, Decimal(place.offset, digits));
    if (reader->compressed()) add(&size, " (uncompressed)");
    if (place.in_frame) {
      add(&size, ", record ");
      add(&size, Decimal(record, digits));
      add(&size, " of the frame");
    }
  }
  note->place_bytes.store(size, std::memory_order_release);
  note->exact.store(1, std::memory_order_relaxed);
}

void NoteRecordIn(CrashNote* note) {
  note->about.store(CrashNote::kRecord, std::memory_order_relaxed);
  note->exact.store(0, std::memory_order_relaxed);
  for (auto* bytes : {&note->place_bytes, &note->key_bytes, &note->value_bytes}) bytes->store(0);
  const char* const at = __atomic_load_n(&crash_at.data, __ATOMIC_ACQUIRE);
  const uint64_t at_bytes = __atomic_load_n(&crash_at.size, __ATOMIC_RELAXED);
  const uint32_t record = __atomic_load_n(&crash_page->record, __ATOMIC_RELAXED);
  const bool in_batch = crash_page->batch_records.load(std::memory_order_relaxed) != 0;
  BatchView view;
  // The whole check, since the crash may have followed from a write over the batch.
  const bool known = in_batch && crash_batch.data != nullptr &&
                     BatchView::Parse(crash_batch.data, crash_batch.size, &view) == nullptr && record < view.size();
  const std::string_view value = known ? view.value(record) : std::string_view();
  const bool in_record = at != nullptr && known && view.key(record).empty() && at_bytes == 0 && at >= value.data() &&
                         at < value.data() + value.size();
  if (at != nullptr && at_bytes > 0) {
    note->about.store(CrashNote::kGroup, std::memory_order_relaxed);
    CopyShown(at, at_bytes, CrashNote::kMostShown, note->key, &note->key_bytes);
  } else if (in_record) {
    note->about.store(CrashNote::kLine, std::memory_order_relaxed);
    const size_t left = static_cast<size_t>(value.data() + value.size() - at);
    const void* const end = memchr(at, '\n', left);
    const size_t line = end == nullptr ? left : static_cast<size_t>(static_cast<const char*>(end) - at);
    CopyShown(at, line, CrashNote::kMostShown, note->value, &note->value_bytes);
    NotePlace(note, view, record, at);
  } else if (known) {
    const std::string_view key = view.key(record);
    CopyShown(key.data(), key.size(), CrashNote::kMostShown, note->key, &note->key_bytes);
    CopyShown(value.data(), value.size(), CrashNote::kMostShown, note->value, &note->value_bytes);
    NotePlace(note, view, record, nullptr);
  } else if (in_batch) {
    CopyShown(crash_batch.place, crash_batch.place_bytes, CrashNote::kMostPlace, note->place, &note->place_bytes);
  }
}

void NoteRecord() {
  if (getpid() == crash_pid) NoteRecordIn(&crash_page->crash);
}

void Say(const char* text) { (void)!write(2, text, strlen(text)); }

// Writes "0x" and the number in hexadecimal digits, with the final 0, to `out`, which has 19 bytes.
void Hexadecimal(uint64_t n, char* out) {
  char digits[16];
  int count = 0;
  do {
    digits[count++] = "0123456789abcdef"[n & 15];
    n >>= 4;
  } while (n != 0);
  *out++ = '0';
  *out++ = 'x';
  while (count > 0) *out++ = digits[--count];
  *out = '\0';
}

// Writes the number of the record within the attempt's input, if it is known.
void SayRecord() {
  const uint64_t in_batch = crash_page->batch_records.load(std::memory_order_relaxed);
  const uint32_t record = __atomic_load_n(&crash_page->record, __ATOMIC_RELAXED);
  if (record >= in_batch) return;
  const uint64_t number = crash_page->records.load(std::memory_order_relaxed) - in_batch + record + 1;
  char digits[24];
  Say(" in record ");
  Say(Decimal(number, digits));
  Say(" of its input");
}

// Reads a decimal number and moves `at` behind it and the next byte.
uint64_t NumberAt(const char** at) {
  uint64_t n = 0;
  for (; **at >= '0' && **at <= '9'; ++*at) n = n * 10 + static_cast<uint64_t>(**at - '0');
  if (**at != '\0') ++*at;
  return n;
}

struct MemoryUse {
  uint64_t limit = 0;  // 0: none, or not known
  uint64_t used = 0;   // of what the limit counts
};
MemoryUse MemoryOfProcess() {
  rlimit limit;
  if (getrlimit(RLIMIT_DATA, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  char text[256] = {};
  const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  const ssize_t got = read(file, text, sizeof text - 1);
  close(file);
  if (got <= 0) return {};
  const char* at = text;
  constexpr int kDataField = 5;  // proc(5): size, resident, shared, text, lib, data, dt
  for (int field = 0; field < kDataField; ++field) NumberAt(&at);
  return {limit.rlim_cur, NumberAt(&at) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE))};
}

// Returns whether the process holds nearly all the memory of its limit. An allocation that failed then explains the
// crash of code that did not check it.
bool NearMemoryLimit() {
  const MemoryUse memory = MemoryOfProcess();
  return memory.limit != 0 && memory.used >= memory.limit / 100 * kNearLimitPercent;
}

// Returns whether the attempt's limit leaves memory for the translation of a stack. A control group counts both
// together, and the kernel would kill the attempt.
bool MemoryForTranslation() {
  const MemoryUse memory = MemoryOfProcess();
  return memory.limit == 0 || memory.used + kFramesMemory <= memory.limit;
}

// Returns the address that a register holds.
template <class Register>
void* PointerOf(Register value) {
  static_assert(sizeof value == sizeof(void*));
  void* pointer = nullptr;
  memcpy(&pointer, &value, sizeof pointer);
  return pointer;
}

// Returns whether the fault is near the stack pointer, where only a stack without room can fault.
bool OverflowsStack(const ucontext_t& context, const void* fault) {
#if defined(__x86_64__)
  const uint64_t stack = static_cast<uint64_t>(context.uc_mcontext.gregs[REG_RSP]);
#elif defined(__aarch64__)
  const uint64_t stack = context.uc_mcontext.sp;
#else
  const uint64_t stack = 0;
#endif
  const uint64_t at = reinterpret_cast<uint64_t>(fault);
  return stack > kStackNear && at >= stack - kStackNear && at < stack + kStackNear;
}

void* FaultingInstruction(const ucontext_t& context) {
#if defined(__x86_64__)
  return PointerOf(context.uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return PointerOf(context.uc_mcontext.pc);
#else
  (void)context;
  return nullptr;
#endif
}

// Changes the context as a return from a function without a frame would. The process does not continue with it.
void ReturnFromCall(ucontext_t* context) {
#if defined(__x86_64__)
  greg_t* const registers = context->uc_mcontext.gregs;
  memcpy(&registers[REG_RIP], PointerOf(registers[REG_RSP]), sizeof(greg_t));
  registers[REG_RSP] += static_cast<greg_t>(sizeof(greg_t));
#elif defined(__aarch64__)
  context->uc_mcontext.pc = context->uc_mcontext.regs[30];
#else
  (void)context;
#endif
}

// Collects the calls of the crashed code, innermost first. Returns their number.
int CrashedFrames(ucontext_t* context, void** out, int most) {
  void* const fault = FaultingInstruction(*context);
  void* frames[kMostFrames];
  void** end = frames + backtrace(frames, most);
  // The first frames are those of the handler.
  void** begin = std::find(frames, end, fault);
  if (begin != end) return static_cast<int>(std::copy(begin, end, out) - out);
  // A call of a null pointer leads to no code, at which unwinding ends. The stack goes on with its caller.
  *out = fault;
  ReturnFromCall(context);
  end = frames + backtrace(frames, most - 1);
  begin = std::find(frames, end, FaultingInstruction(*context));
  return static_cast<int>(std::copy(begin, end, out + 1) - out);
}

// Waits for the process that translates the stack, and ends it after a time. Returns whether it did.
bool AwaitTranslation(pid_t pid) {
  for (int round = 0; round < kTranslateRounds; ++round) {
    int status = 0;
    const pid_t ended = waitpid(pid, &status, WNOHANG | __WALL);
    if (ended == pid) return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (ended < 0 && errno != EINTR) return false;
    const timespec pause{0, kRoundMillis * 1'000'000L};
    nanosleep(&pause, nullptr);
  }
  kill(pid, SIGKILL);
  // Nobody else waits for it: it would count in --task_processes until the attempt ends.
  while (waitpid(pid, nullptr, __WALL) < 0 && errno == EINTR) {
  }
  return false;
}

// Runs `mrtask frames ADDRESS...` with this process's memory map on its stdin. Returns whether it wrote the stack.
bool WriteTranslated(void* const* frames, int count) {
  static char words[kMostFrames][24];
  static char program[] = "mrtask", verb[] = "frames";
  static char* argv[kMostFrames + 3];
  static char* environment[] = {nullptr};
  argv[0] = program;
  argv[1] = verb;
  for (int i = 0; i < count; ++i) {
    Hexadecimal(reinterpret_cast<uint64_t>(frames[i]), words[i]);
    argv[i + 2] = words[i];
  }
  argv[count + 2] = nullptr;
  const int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (maps < 0) return false;
  const pid_t self = getpid();
  // Without a signal at its end, so that the operator's own handlers and waits do not see it. fork() would call
  // handlers of libraries, too.
  const pid_t pid = static_cast<pid_t>(syscall(SYS_clone, 0, 0, 0, 0, 0));
  if (pid == 0) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    alarm(0);
    // The signal comes when the thread that crashed ends: nobody needs the stack then.
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != self) _exit(127);
    dup2(maps, 0);
    dup2(2, 1);
    execve("/proc/self/exe", argv, environment);
    _exit(127);
  }
  close(maps);
  return pid > 0 && AwaitTranslation(pid);
}

// Writes the stack of the code that a signal has interrupted. translate: into functions and lines, in another process.
void WriteStack(void* context, bool translate) {
  void* frames[kMostFrames];
  const int count = CrashedFrames(static_cast<ucontext_t*>(context), frames, kMostFrames);
  if (!translate || !WriteTranslated(frames, count)) backtrace_symbols_fd(frames, count, 2);
}

// While a sample is taken: the place to which a fault in it returns.
volatile sig_atomic_t sampling = 0;
volatile pid_t sampling_thread = 0;  // the jump is for its stack alone
sigjmp_buf sample_failed;

// Writes where the operator is, and goes on.
void OnSampleSignal(int, siginfo_t*, void* context) {
  if (getpid() != crash_pid || sampling != 0) return;
  const int saved = errno;
  static CrashNote note;
  if (sigsetjmp(sample_failed, 1) == 0) {
    sampling_thread = gettid();
    sampling = 1;
    NoteRecordIn(&note);
    Say(kStuckLine);
    SayRecord();
    Say("; its stack, innermost call first:\n");
    WriteStack(context, MemoryForTranslation());  // the attempt goes on
    const uint32_t bytes = note.place_bytes.load(std::memory_order_relaxed);
    if (bytes > 0) {
      Say(note.exact.load(std::memory_order_relaxed) != 0 ? "at " : "in the batch that begins at ");
      (void)!write(2, note.place, bytes);
      Say("\n");
    }
  }
  sampling = 0;
  errno = saved;
}

void OnFatalSignal(int signal, siginfo_t* info, void* context) {
  // The operator may have been interrupted in the middle of a change to what the sample reads.
  if (sampling != 0 && info->si_code > 0 && getpid() == crash_pid && gettid() == sampling_thread) {
    siglongjmp(sample_failed, 1);
  }
  const int saved = errno;
  // A fault or a hang in this handler ends the process at once.
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (const int s : kFatalSignals) sigaction(s, &standard, nullptr);
  sigaction(SIGALRM, &standard, nullptr);
  sigaction(SIGCHLD, &standard, nullptr);  // an operator that ignores it could not wait for the translation
  sigset_t alarms;
  sigemptyset(&alarms);
  sigaddset(&alarms, SIGALRM);
  sigprocmask(SIG_UNBLOCK, &alarms, nullptr);
  alarm(kHandlerSeconds);

  if (getpid() == crash_pid) crash_page->crash.signal.store(static_cast<uint32_t>(signal), std::memory_order_relaxed);
  NoteRecord();
  uint32_t causes = 0;
  if (signal == SIGSEGV && info->si_code > 0 && OverflowsStack(*static_cast<ucontext_t*>(context), info->si_addr)) {
    causes |= CrashNote::kStackOverflow;
  }
  if (signal != SIGQUIT && NearMemoryLimit()) causes |= CrashNote::kMemoryLimit;
  if (getpid() == crash_pid) crash_page->crash.causes.store(causes, std::memory_order_relaxed);
  const char* name = sigabbrev_np(signal);
  Say(kCrashLine);
  Say(name != nullptr ? name : "?");
  if (signal == SIGSEGV || signal == SIGBUS) {
    char address[24];
    Hexadecimal(reinterpret_cast<uint64_t>(info->si_addr), address);
    Say(info->si_code > 0 ? " at address " : "");
    Say(info->si_code > 0 ? address : "");
  }
  if (causes & CrashNote::kStackOverflow) Say(" (stack overflow)");
  if (causes & CrashNote::kMemoryLimit) Say(" at the attempt's memory limit");
  SayRecord();
  Say("; its stack, innermost call first:\n");
  WriteStack(context, /*translate=*/true);
  raise(signal);  // it is blocked, and ends the process when this handler returns
  errno = saved;
}

}  // namespace

void WarmUpBacktrace() {
  void* frames[2];
  backtrace(frames, 2);
}

void ReportCrashes(ProgressPage* page) {
  crash_page = page;
  crash_pid = getpid();
  // A stack of its own: the crash may be an overflow of the usual one.
  constexpr size_t kStackBytes = 256 << 10;
  void* const stack =
      mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) return;
  stack_t other{};
  other.ss_sp = stack;
  other.ss_size = kStackBytes;
  sigaltstack(&other, nullptr);
  struct sigaction action {};
  action.sa_sigaction = OnFatalSignal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaddset(&action.sa_mask, SampleSignal());
  for (const int s : kFatalSignals) sigaction(s, &action, nullptr);
  action.sa_sigaction = OnSampleSignal;
  action.sa_flags |= SA_RESTART;
  sigaction(SampleSignal(), &action, nullptr);
  atexit(NoteRecord);
}

void NoteCrashRecord() { NoteRecord(); }

mr_bytes* CrashAt() { return &crash_at; }

void SetCrashBatch(const mr_batch* batch, const std::string* place, const SplitReader* reader) {
  // A signal handler may read them in between.
  crash_batch.data = nullptr;
  crash_batch.size = batch == nullptr ? 0 : batch->data.size;
  crash_batch.place = place == nullptr ? nullptr : place->data();
  crash_batch.place_bytes = place == nullptr ? 0 : place->size();
  crash_batch.reader = reader;
  crash_batch.data = batch == nullptr ? nullptr : batch->data.data;
}

}  // namespace mr::task
