// A library whose operators misbehave, each in its own way, so that tests can see that nothing but
// the one attempt comes to harm. Job `bad --how NAME`: a map over the input by the operator NAME.
// Job `bad_plan --how NAME`: the plan itself misbehaves.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "paceline/paceline.h"

namespace {

using Base = mr::LineMapper<mr::Text, mr::Text>;

// Kept from the optimizer: an endless loop without effect may be removed.
volatile bool g_for_ever = true;

[[noreturn]] void Loop() {
  while (g_for_ever) {
  }
  std::abort();
}

__attribute__((no_sanitize("undefined"))) void Segfault() {
  volatile int* nowhere = nullptr;
  *nowhere = 1;  // NOLINT(clang-analyzer-core.NullDereference): it is there to crash
}

class Throws : public Base {
 public:
  void Map(std::string_view, Out&) { throw std::runtime_error("thrown on purpose"); }
};
// At the record that begins with '!', alone, as a line or as a key, and in a group of such a key. One that begins with
// "!skip" is only a bad record.
void ThrowAt(std::string_view text) {
  if (text.starts_with("!skip")) throw mr::BadRecord("skipped on purpose");
  if (text.starts_with('!')) throw std::runtime_error("thrown at '" + std::string(text) + "'");
}
class ThrowsAtLine : public Base {
 public:
  void Map(std::string_view line, Out&) { ThrowAt(line); }
};
class ThrowsAtKey : public mr::Mapper<std::string, std::string, mr::Text, mr::Text> {
 public:
  void Map(std::string_view key, std::string_view, Out&) { ThrowAt(key); }
};
class EmitsLines : public mr::LineMapper<std::string, std::string> {
 public:
  void Map(std::string_view line, Out& out) { out.Emit(line, ""); }
};
class ThrowsAtGroup : public mr::Reducer<std::string, std::string, mr::Text, mr::Text> {
 public:
  void Reduce(std::string_view key, mr::Values<std::string>&, Out&) { ThrowAt(key); }
};
class ThrowsInt : public Base {
 public:
  void Map(std::string_view, Out&) { throw 42; }
};
class Segfaults : public Base {
 public:
  void Map(std::string_view, Out&) { Segfault(); }
};
class Aborts : public Base {
 public:
  void Map(std::string_view, Out&) { std::abort(); }
};
class Exits : public Base {
 public:
  void Map(std::string_view, Out&) { std::_Exit(0); }
};
class Loops : public Base {
 public:
  // Deaf to polite signals as well.
  void Open() { std::signal(SIGTERM, SIG_IGN); }
  void Map(std::string_view, Out&) { Loop(); }
};
// Leaves a process behind that would outlive it.
class Forks : public Base {
 public:
  void Map(std::string_view, Out&) {
    if (fork() == 0) {
      setsid();
      Loop();
    }
    Loop();
  }
};
class FailsInOpen : public Base {
 public:
  void Open() { throw mr::JobError("will not open"); }
  void Map(std::string_view, Out&) {}
};
class FailsInPrepare : public Base {
 public:
  static void Prepare(std::string_view) { throw mr::JobError("this config will not do"); }
  void Map(std::string_view, Out&) {}
};

// Fails at the first two attempts of each task.
class FailsTwice : public Base {
 public:
  void Map(std::string_view line, Out& out) {
    if (context().attempt() <= 2) throw mr::JobError("not yet");
    out.Line(line);
  }
};

// Closes what it can, the way to its worker included.
class Closes : public Base {
 public:
  void Map(std::string_view line, Out& out) {
    for (int fd = 0; fd < 4096; ++fd) close(fd);
    out.Line(line);
  }
};
// Closes what it takes for left-overs, the files of its inputs included.
class ClosesFiles : public Base {
 public:
  void Map(std::string_view line, Out& out) {
    for (int fd = 3; fd < 200; ++fd) close(fd);
    out.Line(line);
  }
};
class Leaks : public Base {
 public:
  void Map(std::string_view, Out&) {
    for (;;) {
      auto* bytes = new char[1 << 20];
      std::memset(bytes, 1, 1 << 20);
      kept_ = bytes;
    }
  }

 private:
  char* volatile kept_ = nullptr;
};
class Prints : public Base {
 public:
  void Map(std::string_view line, Out& out) {
    std::printf("printed: %.*s\n", static_cast<int>(line.size()), line.data());
    out.Line(line);
  }
};

void PlanBad(const std::vector<std::string>& argv, mr::JobPlan& plan) {
  std::string how;
  mr::Args args("bad");
  args.Add("--how", &how).Parse(argv);
  if (how.empty()) args.Refuse("say --how");
  if (how == "throws_at_group") {
    auto& map = plan.Map("map", "bad.emits").ReadFiles().Shuffle({});
    plan.Reduce("reduce", "bad." + how).Group(map).WriteFiles();
    return;
  }
  plan.Map("map", "bad." + how).ReadFiles().WriteFiles();
}

void PlanItselfBad(const std::vector<std::string>& argv, mr::JobPlan&) {
  std::string how;
  mr::Args("bad_plan").Add("--how", &how).Parse(argv);
  if (how == "throws") throw 42;
  if (how == "segfaults") Segfault();
  if (how == "loops") Loop();
}

}  // namespace

PACELINE_LIBRARY(
    PACELINE_OPERATOR(Throws, "bad.throws", MR_DETERMINISTIC) PACELINE_OPERATOR(ThrowsAtLine, "bad.throws_at_line",
                                                                                MR_DETERMINISTIC)
        PACELINE_OPERATOR(ThrowsAtKey, "bad.throws_at_key", MR_DETERMINISTIC) PACELINE_OPERATOR(EmitsLines, "bad.emits",
                                                                                                MR_DETERMINISTIC)
            PACELINE_OPERATOR(ThrowsAtGroup, "bad.throws_at_group",
                              MR_DETERMINISTIC) PACELINE_OPERATOR(ThrowsInt, "bad.throws_int", MR_DETERMINISTIC)
                PACELINE_OPERATOR(Segfaults, "bad.segfaults", MR_DETERMINISTIC) PACELINE_OPERATOR(Aborts, "bad.aborts",
                                                                                                  MR_DETERMINISTIC)
                    PACELINE_OPERATOR(Exits, "bad.exits", MR_DETERMINISTIC) PACELINE_OPERATOR(Loops, "bad.loops",
                                                                                              MR_DETERMINISTIC)
                        PACELINE_OPERATOR(Forks, "bad.forks",
                                          MR_DETERMINISTIC) PACELINE_OPERATOR(FailsInOpen, "bad.open", MR_DETERMINISTIC)
                            PACELINE_OPERATOR(FailsInPrepare, "bad.prepare", MR_DETERMINISTIC)
                                PACELINE_OPERATOR(Closes, "bad.closes", MR_DETERMINISTIC)
                                    PACELINE_OPERATOR(ClosesFiles, "bad.closes_files", MR_DETERMINISTIC)
                                        PACELINE_OPERATOR(Leaks, "bad.leaks", MR_DETERMINISTIC)
                                            PACELINE_OPERATOR(Prints, "bad.prints", MR_DETERMINISTIC)
                                                PACELINE_OPERATOR(FailsTwice, "bad.twice", MR_DETERMINISTIC)
                                                    PACELINE_JOB("bad", "an operator that misbehaves\n  --how NAME",
                                                                 PlanBad)
                                                        PACELINE_JOB("bad_plan", "a plan that misbehaves\n  --how NAME",
                                                                     PlanItselfBad))
