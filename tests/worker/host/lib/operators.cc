// Operators for the tests of the task host, written against the C table by hand: good ones, and
// one for each way in which a user's operator may go wrong.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "common/abi/batch.h"
#include "common/abi/operator_table.h"

namespace {

using mr::BatchBuilder;
using mr::BatchView;

struct Op {
  const mr_host* host;
  std::string config;
  BatchBuilder out;
  std::string bytes;
  uint32_t port = 0;
  // of sums
  std::string key;
  int64_t sum = 0;
  bool any = false;
  uint64_t sequence = 0;

  int Emit() {
    if (out.empty()) return 0;
    bytes.clear();
    out.Finish(0, &bytes);
    return host->emit(host->context, port, {bytes.data(), bytes.size()});
  }
  int Add(std::string_view k, std::string_view v) {
    out.Add(k, v);
    return out.Full(mr::kEmitTargetBytes) ? Emit() : 0;
  }
};

BatchView View(const mr_batch* in) {
  BatchView view;
  if (BatchView::Parse(in->data.data, in->data.size, &view) != nullptr) abort();
  return view;
}

void* Open(const mr_open_args* args, const mr_host* host) {
  Op* op = new Op;
  op->host = host;
  op->config.assign(args->config.data, args->config.size);
  return op;
}
int End(void* p) { return static_cast<Op*>(p)->Emit(); }
void Close(void* p) { delete static_cast<Op*>(p); }
int Nothing(void*, const mr_batch*) { return 0; }

int Tokens(void* p, const mr_batch* in) {
  Op* op = static_cast<Op*>(p);
  const BatchView view = View(in);
  uint64_t taken = __atomic_load_n(op->host->taken, __ATOMIC_RELAXED);
  for (uint32_t i = 0; i < view.size(); ++i) {
    const std::string_view text = view.value(i);
    size_t at = 0;
    while (at < text.size()) {
      const size_t from = text.find_first_not_of(" \t\n\v\f\r", at);
      if (from == text.npos) break;
      at = text.find_first_of(" \t\n\v\f\r", from);
      if (at == text.npos) at = text.size();
      if (op->Add(text.substr(from, at - from), "1")) return 1;
    }
    taken += view.key(i).size() + text.size();
    __atomic_store_n(op->host->taken, taken, __ATOMIC_RELAXED);
  }
  op->host->count(op->host->context, {"test", 4}, {"batches", 7}, 1);
  return 0;
}

int FlushSum(Op* op) { return op->any ? op->Add(op->key, std::to_string(op->sum)) : 0; }

int Sum(void* p, const mr_batch* in) {
  Op* op = static_cast<Op*>(p);
  const BatchView view = View(in);
  for (uint32_t i = 0; i < view.size(); ++i) {
    if (!op->any || view.key(i) != op->key) {
      if (FlushSum(op)) return 1;
      op->key.assign(view.key(i));
      op->sum = 0;
      op->any = true;
    }
    op->sum += atoll(std::string(view.value(i)).c_str());
  }
  return 0;
}
int EndSum(void* p) {
  Op* op = static_cast<Op*>(p);
  return FlushSum(op) ? 1 : op->Emit();
}

// The same by next_batch(): within one call it follows a group over as many batches as it has.
int SumByGroup(void* p, const mr_batch* in) {
  Op* op = static_cast<Op*>(p);
  mr_batch batch = *in;
  for (;;) {
    if (Sum(p, &batch)) return 1;
    const int more = op->host->next_batch(op->host->context, &batch);
    if (more < 0) return 1;
    if (more == 0) return 0;
    op->host->count(op->host->context, {"test", 4}, {"continued", 9}, 1);
  }
}

int CombineSums(void*, uint32_t, mr_bytes data, mr_emit_fn emit, void* context) {
  BatchView view;
  if (BatchView::Parse(data.data, data.size, &view) != nullptr) abort();
  BatchBuilder out;
  for (uint32_t i = 0; i < view.size();) {
    int64_t sum = 0;
    const std::string_view key = view.key(i);
    for (; i < view.size() && view.key(i) == key; ++i) sum += atoll(std::string(view.value(i)).c_str());
    out.Add(key, std::to_string(sum));
  }
  std::string bytes;
  out.Finish(0, &bytes);
  return emit(context, {bytes.data(), bytes.size()});
}

int Echo(void* p, const mr_batch* in) {
  Op* op = static_cast<Op*>(p);
  return op->host->emit(op->host->context, 0, in->data);
}

// Emits what it is called with, as text.
int Trace(void* p, const mr_batch* in) {
  Op* op = static_cast<Op*>(p);
  const BatchView view = View(in);
  for (uint32_t i = 0; i < view.size(); ++i) {
    const uint32_t input = in->grouped ? view.tag(i) : in->input;
    if (op->Add("", std::string(in->grouped ? "g" : "u") + std::to_string(input) + "/" +
                        std::to_string(in->upstream_task) + " " + std::string(view.key(i)) + "=" +
                        std::string(view.value(i)))) {
      return 1;
    }
  }
  return 0;
}
int TraceInputEnd(void* p, uint32_t input) { return static_cast<Op*>(p)->Add("", "end " + std::to_string(input)); }

// By the number in the key.
int PartitionByNumber(void*, uint32_t, mr_bytes data, uint32_t, uint32_t* out) {
  BatchView view;
  if (BatchView::Parse(data.data, data.size, &view) != nullptr) abort();
  for (uint32_t i = 0; i < view.size(); ++i) out[i] = static_cast<uint32_t>(atoi(std::string(view.key(i)).c_str()));
  return 0;
}

int Crash(void*, const mr_batch*) {
  fprintf(stderr, "about to crash\n");
  raise(SIGSEGV);
  return 0;
}
// Fails at the line that equals its config: "crash", "call", "overflow", "terminate", "allocate",
// "leave", "throw". At "doze" it only takes its time.
int* volatile g_nowhere = nullptr;  // hidden from the optimizer
__attribute__((noinline, no_sanitize("undefined"))) void WriteNowhere() { *g_nowhere = 1; }
void (*volatile g_no_function)() = nullptr;
__attribute__((noinline, no_sanitize("undefined"))) int CallNothing() {
  g_no_function();
  return 1;
}
volatile int g_deepest = 1 << 30;
__attribute__((noinline)) int Overflow(int depth) {
  if (depth == g_deepest) return 0;
  volatile char room[4096];
  room[0] = static_cast<char>(depth);
  return Overflow(depth + 1) + room[0];
}
__attribute__((noinline)) void LetGo() { throw std::runtime_error("let go"); }
__attribute__((noinline)) void Terminate() noexcept { LetGo(); }
// Behaves like C code that does not check its allocations.
void AllocateUnchecked() {
  for (;;) {
    volatile char* volatile memory = static_cast<char*>(malloc(1 << 20));
    memory[0] = 1;
  }
}
// Works for 1.7 s without any sign of progress, and without a system call that a signal would end.
__attribute__((noinline)) int Doze() {
  const auto ms = [] {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
  };
  for (const int64_t end = ms() + 1700; ms() < end;) asm volatile("");
  return 0;
}
// The same with 200 MiB.
__attribute__((noinline)) int DozeWithMemory() {
  void* volatile memory = malloc(200 << 20);
  const int result = memory == nullptr ? 1 : Doze();
  free(memory);
  return result;
}
__attribute__((noinline)) int FailAtLine(const std::string& how) {
  if (how == "doze") return Doze();
  if (how == "doze with memory") return DozeWithMemory();
  if (how == "crash") WriteNowhere();
  if (how == "call") return CallNothing();
  if (how == "overflow") return Overflow(0);
  if (how == "terminate") Terminate();
  if (how == "allocate") AllocateUnchecked();
  if (how == "leave") exit(3);
  if (how == "throw") throw std::runtime_error("the moon is full");
  return 0;
}
int FailAt(void* p, const mr_batch* in) {
  Op* op = static_cast<Op*>(p);
  const BatchView view = View(in);
  for (uint32_t i = 0; i < view.size(); ++i) {
    if (MR_HAS(op->host, record)) __atomic_store_n(op->host->record, i, __ATOMIC_RELAXED);
    if (view.value(i) == op->config && FailAtLine(op->config) != 0) return 1;
  }
  return 0;
}
void* RefuseToOpen(const mr_open_args*, const mr_host* host) {
  host->fail(host->context, {"there is no such option", 23});
  return nullptr;
}
void* OpenLater(const mr_open_args*, const mr_host* host) {
  host->fail_as(host->context, MR_FAILURE_RETRYABLE, {"no licence is free", 18});
  return nullptr;
}
int Throw(void*, const mr_batch*) { throw std::runtime_error("the moon is full"); }
int Leave(void*, const mr_batch*) { exit(0); }
int Spin(void*, const mr_batch*) {
  for (;;) asm volatile("");
}
int FailOnBad(void* p, const mr_batch* in) {
  Op* op = static_cast<Op*>(p);
  const BatchView view = View(in);
  for (uint32_t i = 0; i < view.size(); ++i) {
    if (view.value(i) != "bad") continue;
    op->host->fail(op->host->context, {"a bad line", 10});
    return 1;
  }
  return 0;
}
// Writes to each descriptor that it can find ("sockets"), or to 0-9.
int Scribble(void* p, const mr_batch*) {
  const bool sockets = static_cast<Op*>(p)->config == "sockets";
  for (int fd = 0; fd < (sockets ? 1024 : 10); ++fd) {
    struct stat info;
    if (fstat(fd, &info) != 0 || (sockets && !S_ISSOCK(info.st_mode))) continue;
    if (write(fd, "garbage garbage garbage", 23) < 0) continue;
  }
  if (sockets) pause();
  return 0;
}
int Shout(void*, const mr_batch*) {
  const std::string line(1 << 16, 'x');
  for (int i = 0; i < 1200; ++i) {  // 75 MiB
    if (write(1, line.data(), line.size()) < 0) return 1;
  }
  fprintf(stderr, "the last word\n");
  return 0;
}
// Leaves a process in a session of its own; its number goes to the file named by the config.
int Leak(void* p, const mr_batch*) {
  Op* op = static_cast<Op*>(p);
  if (fork() == 0) {
    setsid();
    if (fork() == 0) {
      FILE* f = fopen(op->config.c_str(), "w");
      fprintf(f, "%d\n", getpid());
      fclose(f);
      for (;;) pause();
    }
    _exit(0);
  }
  while (access(op->config.c_str(), R_OK) != 0) usleep(1000);
  usleep(20000);
  return 0;
}
int SpinAfterLeak(void* p, const mr_batch* in) {
  Leak(p, in);
  return Spin(p, in);
}
int ShoutAfterLeak(void* p, const mr_batch* in) {
  Leak(p, in);
  for (;;) (void)!write(1, "still here\n", 11);
}
// Forty processes that have left session, group and parent; the number of one of them goes to the file.
int Breed(void* p, const mr_batch* in) {
  Op* op = static_cast<Op*>(p);
  for (int i = 0; i < 40; ++i) {
    if (fork() != 0) {
      // The first one is there, whenever the others are counted.
      while (access(op->config.c_str(), R_OK) != 0) usleep(1000);
      continue;
    }
    setsid();
    if (fork() == 0) {
      if (i == 0) {
        FILE* f = fopen(op->config.c_str(), "w");
        fprintf(f, "%d\n", getpid());
        fclose(f);
      }
      for (;;) pause();
    }
    _exit(0);
  }
  return Spin(p, in);
}
// Like Leak, but the process has two threads, and the main one has ended before the number is in the file.
int LeakHalf(void* p, const mr_batch*) {
  Op* op = static_cast<Op*>(p);
  if (fork() == 0) {
    setsid();
    std::thread([path = op->config] {
      char stat[256] = {};
      const auto ended = [&stat] {
        const int fd = open("/proc/self/stat", O_RDONLY);
        const ssize_t n = read(fd, stat, sizeof stat - 1);
        close(fd);
        return n > 0 && strstr(stat, ") Z") != nullptr;
      };
      while (!ended()) usleep(1000);
      FILE* f = fopen(path.c_str(), "w");
      fprintf(f, "%d\n", getpid());
      fclose(f);
      for (;;) pause();
    }).detach();
    syscall(SYS_exit, 0);  // what pthread_exit ends with: of this thread alone
  }
  while (access(op->config.c_str(), R_OK) != 0) usleep(1000);
  usleep(20000);
  return 0;
}
int SpinAfterLeakHalf(void* p, const mr_batch* in) {
  LeakHalf(p, in);
  return Spin(p, in);
}
// More than a chunk of output, and then nothing any more.
int EmitAndSpin(void* p, const mr_batch* in) {
  Op* op = static_cast<Op*>(p);
  const std::string value(64 << 10, 'v');
  for (int i = 0; i < 100; ++i) {
    if (op->Add("", value)) return 1;
  }
  return op->Emit() ? 1 : Spin(p, in);
}
// A process in the group of the task, as a shell pipeline would be.
int ForkAndSpin(void* p, const mr_batch* in) {
  Op* op = static_cast<Op*>(p);
  if (fork() == 0) {
    FILE* f = fopen(op->config.c_str(), "w");
    fprintf(f, "%d\n", getpid());
    fclose(f);
    for (;;) pause();
  }
  return Spin(p, in);
}
int Greedy(void*, const mr_batch*) {
  std::vector<std::string> all;
  for (;;) all.emplace_back(1 << 20, 'x');
}
int BadBatch(void* p, const mr_batch*) {
  Op* op = static_cast<Op*>(p);
  return op->host->emit(op->host->context, 0, {"no batch at all", 15});
}
// Two ports: even lines to 0, odd ones to 1.
int Deal(void* p, const mr_batch* in) {
  Op* op = static_cast<Op*>(p);
  const BatchView view = View(in);
  BatchBuilder b[2];
  for (uint32_t i = 0; i < view.size(); ++i) b[op->sequence++ % 2].Add(view.value(i), "");
  for (uint32_t port = 0; port < 2; ++port) {
    std::string bytes;
    b[port].Finish(0, &bytes);
    if (op->host->emit(op->host->context, port, {bytes.data(), bytes.size()})) return 1;
  }
  return 0;
}
// One record of config bytes.
int Big(void* p, const mr_batch*) {
  Op* op = static_cast<Op*>(p);
  return op->Add("k", std::string(strtoull(op->config.c_str(), nullptr, 10), 'b'));
}
// Emits the soft and the hard limit of its process in MiB, and that of its job in bytes.
int MemoryLimits(void* p, const mr_batch*) {
  rlimit data{};
  if (getrlimit(RLIMIT_DATA, &data) != 0) return 1;
  const auto text = [](rlim_t limit) { return limit == RLIM_INFINITY ? "none" : std::to_string(limit >> 20); };
  const char* const of_job = getenv("MR_MEMORY_LIMIT");
  return static_cast<Op*>(p)->Add(text(data.rlim_cur) + " " + text(data.rlim_max), of_job == nullptr ? "?" : of_job);
}
int Environment(void* p, const mr_batch*) {
  Op* op = static_cast<Op*>(p);
  for (char** e = environ; *e != nullptr; ++e) {
    if (op->Add("", *e)) return 1;
  }
  return 0;
}

// Skips each line "bad", and says where it is.
int Picky(void* p, const mr_batch* in) {
  Op* op = static_cast<Op*>(p);
  const BatchView view = View(in);
  for (uint32_t i = 0; i < view.size(); ++i) {
    if (view.value(i) != "bad") continue;
    const std::string what = "line " + std::to_string(++op->sequence) + " of its kind is bad";
    if (op->host->bad_record(op->host->context, {what.data(), what.size()}) != 0) return 1;
  }
  return 0;
}
// "N BYTES": N counters with names of so many bytes.
int Tally(void* p, const mr_batch*) {
  Op* op = static_cast<Op*>(p);
  unsigned n = 0, bytes = 0;
  sscanf(op->config.c_str(), "%u %u", &n, &bytes);
  std::string name(bytes, 'x');
  for (unsigned i = 0; i < n; ++i) {
    const std::string number = std::to_string(i);
    name.replace(0, number.size(), number);
    op->host->count(op->host->context, {"group", 5}, {name.data(), bytes}, 1);
  }
  return 0;
}
int Plead(void* p, const mr_batch*) {
  Op* op = static_cast<Op*>(p);
  op->host->fail_as(op->host->context, MR_FAILURE_RETRYABLE, {"no answer", 9});
  return 1;
}

int GiveUp(void* p, const mr_batch*) {
  Op* op = static_cast<Op*>(p);
  op->host->fail_as(op->host->context, MR_FAILURE_FINAL, {"no attempt can do this", 22});
  return 1;
}
// Computes until it is cancelled, and ends ("deaf": goes on). It writes its state to the file that the config names.
int UntilCancelled(void* p, const mr_batch*) {
  Op* op = static_cast<Op*>(p);
  const bool deaf = op->config.starts_with("deaf ");
  const auto say = [&](const char* what) {
    FILE* f = fopen(op->config.c_str() + (deaf ? 5 : 0), "w");
    fputs(what, f);
    fclose(f);
  };
  for (bool asked = false; op->host->cancelled(op->host->context) == 0; usleep(1000)) {
    if (!asked) say("asked");
    asked = true;
  }
  say("cancelled");
  while (deaf) usleep(1000);
  return 0;
}

int RefuseConfig(mr_bytes config, mr_sink error) {
  if (std::string_view(config.data, config.size) != "wrong") return 0;
  error.write(error.context, {"this config is wrong", 20});
  return 1;
}

constexpr mr_operator Make(const char* name, uint32_t flags, int (*batch)(void*, const mr_batch*),
                           int (*end)(void*) = &End) {
  mr_operator o{};
  o.struct_size = sizeof o;
  o.flags = flags;
  o.name = name;
  o.prepare = &RefuseConfig;
  o.open = &Open;
  o.batch = batch;
  o.end = end;
  o.close = &Close;
  return o;
}
mr_operator Opening(mr_operator o, decltype(o.open) open) {
  o.open = open;
  return o;
}
mr_operator With(mr_operator o, decltype(o.combine) combine, decltype(o.partition) partition = nullptr,
                 decltype(o.input_end) input_end = nullptr) {
  o.combine = combine;
  o.partition = partition;
  o.input_end = input_end;
  return o;
}

const mr_operator kOperators[] = {
    With(Make("tokens", MR_DETERMINISTIC | MR_ASSOCIATIVE, &Tokens), &CombineSums),
    With(Make("tokens.raw", MR_DETERMINISTIC | MR_ASSOCIATIVE | MR_RAW_BLOCKS, &Tokens), &CombineSums),
    Make("sum", MR_DETERMINISTIC, &Sum, &EndSum),
    Make("sum.group", MR_DETERMINISTIC, &SumByGroup, &EndSum),
    With(Make("echo", 0, &Echo), nullptr, &PartitionByNumber),
    With(Make("trace", 0, &Trace), nullptr, nullptr, &TraceInputEnd),
    Make("nothing", 0, &Nothing),
    Make("nothing.reusable", MR_REUSABLE, &Nothing),
    Make("tokens.reusable", MR_REUSABLE, &Tokens),
    Make("crash", 0, &Crash),
    Make("throw", MR_REUSABLE, &Throw),
    Make("fail.at", 0, &FailAt),
    Opening(Make("refuse.open", 0, &Nothing), &RefuseToOpen),
    Opening(Make("open.later", 0, &Nothing), &OpenLater),
    Make("leave", 0, &Leave),
    Make("spin", 0, &Spin),
    Make("fail", 0, &FailOnBad),
    Make("scribble", 0, &Scribble),
    Make("shout", 0, &Shout),
    Make("leak", 0, &Leak),
    Make("leak.spin", 0, &SpinAfterLeak),
    Make("leak.shout", 0, &ShoutAfterLeak),
    Make("leak.effects", MR_SIDE_EFFECTS, &SpinAfterLeak),
    Make("leak.half", 0, &LeakHalf),
    Make("leak.half.spin", 0, &SpinAfterLeakHalf),
    Make("emit.spin", 0, &EmitAndSpin),
    Make("breed", 0, &Breed),
    Make("fork.spin", 0, &ForkAndSpin),
    Make("greedy", 0, &Greedy),
    Make("bad.batch", 0, &BadBatch),
    Make("deal", 0, &Deal),
    Make("big", 0, &Big),
    Make("environment", 0, &Environment),
    Make("memory.limits.reusable", MR_REUSABLE, &MemoryLimits),
    Make("picky", 0, &Picky),
    Make("tally", 0, &Tally),
    Make("plead", 0, &Plead),
    Make("give_up", 0, &GiveUp),
    Make("until.cancelled", 0, &UntilCancelled),
    Make("until.cancelled.reusable", MR_REUSABLE, &UntilCancelled),
};
constexpr size_t kCount = sizeof kOperators / sizeof kOperators[0];

int PlanCount(uint32_t argc, const mr_bytes* argv, mr_sink plan, mr_sink error) {
  const std::string arg = argc > 0 ? std::string(argv[0].data, argv[0].size) : "";
  if (arg == "refuse") {
    error.write(error.context, {"count: no thanks", 16});
    return 1;
  }
  const std::string op = arg == "unknown" ? "tokenz" : "tokens";
  const std::string config = arg == "wrong" ? "d3Jvbmc=" : "";
  const std::string text = arg == "nojson" ? "{"
                                           : R"({"version":1,"stages":[{"name":"s","operator":")" + op +
                                                 R"(","config":")" + config + R"("}]})";
  plan.write(plan.context, {text.data(), text.size()});
  return 0;
}
// The table of a library that was built before plans got sizes.
const mr_job kJob{offsetof(mr_job, plan_sized), 0, "count", "counts words", &PlanCount, nullptr};

// Asks for the size of each argument alone, and puts the answers into the names of its stages.
int PlanSized(const mr_plan_args* args, mr_sink plan, mr_sink) {
  std::string text =
      R"({"version":1,"stages":[{"name":"memory )" + std::to_string(args->memory_bytes) + R"(","operator":"tokens"})";
  for (uint32_t i = 0; i < args->argc; ++i) {
    uint64_t bytes = 0;
    const bool known = args->input_bytes(args->context, 1, &args->argv[i], &bytes) != 0;
    text += R"(,{"name":")" + std::string(args->argv[i].data, args->argv[i].size) + " " +
            (known ? std::to_string(bytes) : "unknown") + R"(","operator":"tokens"})";
  }
  text += "]}";
  plan.write(plan.context, {text.data(), text.size()});
  return 0;
}
int NeverPlanned(uint32_t, const mr_bytes*, mr_sink, mr_sink) { return 1; }
const mr_job kSizedJob{sizeof(mr_job), 0, "sized", "plans by sizes", &NeverPlanned, &PlanSized};

}  // namespace

extern "C" __attribute__((visibility("default"))) const mr_library* mr_library_table() {
  static const mr_operator* operators[kCount];
  static const mr_job* jobs[] = {&kJob, &kSizedJob};
  static mr_library library{};
  for (size_t i = 0; i < kCount; ++i) operators[i] = &kOperators[i];
  library.magic = MR_ABI_MAGIC;
  library.abi = MR_ABI_VERSION;
  library.struct_size = sizeof library;
  library.operator_count = kCount;
  library.operators = operators;
  library.job_count = 2;
  library.jobs = jobs;
  library.built_with = "test";
  return &library;
}
