// mrctl: parses the command line, resolves the settings, runs one command and reports its failure.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "common/io/clock.h"
#include "common/io/descriptors.h"
#include "common/io/files.h"
#include "common/io/private_memory.h"
#include "common/rpc/tls_credentials.h"
#include "jobs/mrctl/client.h"
#include "jobs/mrctl/config.h"
#include "jobs/mrctl/credentials.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/options.h"
#include "jobs/mrctl/step_times.h"
#include "jobs/mrctl/terminal_text.h"
#include "jobs/mrctl/verbs.h"
#include "jobs/mrctl/wait.h"

namespace mr::ctl {

namespace {

Status printed;  // the first failure of Print

}  // namespace

// A reader that has read enough, such as head, is no failure.
void Print(const std::string& text) {
  errno = 0;
  const Status written = WriteAll(1, isatty(1) ? TerminalText(text) : text);
  if (written.ok() || errno == EPIPE || !printed.ok()) return;
  printed = errno == EBADF ? InvalidArgument("cannot print the answer: standard output is closed")
                           : written.With("cannot print the answer");
}

namespace {

Result<int> Dispatch(const Command& command, const Settings& settings) {
  const std::string& verb = command.verb;
  if (verb == "submit" || verb == "explain") return RunSubmit(command, settings);
  if (verb == "logs") return RunLogs(command, settings);
  if (verb == "profile") return RunProfile(command, settings);
  if (verb == "whatif") return RunWhatif(command, settings);
  if (verb == "schedulers") return RunSchedulers(settings);
  if (verb == "report") return RunReport(command, settings);
  if (verb == "trace") return RunTrace(command, settings);
  if (verb == "top") return RunTop(command, settings);
  if (verb == "config") return RunConfig(command, settings);
  if (verb == "completion") return RunCompletion(command, settings);
  if (verb == "task") return RunReplay(command, settings);
  if (verb == "sdk") return RunSdk(command, settings);
  if (verb == "fs") return RunFs(command, settings);
  if (verb == "store") return RunStore(command, settings);
  if (verb == "cluster") return RunCluster(command, settings);
  if (verb == "token") return RunToken(command, settings);
  if (verb == "page") return RunPage(command, settings);
  if (verb == "workers" || verb == "worker" || verb == "version" || verb == "queues" || verb == "queue") {
    return RunClusterVerb(command, settings);
  }
  return RunJobVerb(command, settings);
}

// Returns whether these words are probably of a command that connects to a master. A wrong guess costs some time.
bool WillConnect(const std::vector<std::string>& argv) {
  static const std::set<std::string> kAlone = {"config", "completion", "schedulers", "sdk",    "cluster",
                                               "token",  "-h",         "--help",     "--local"};
  return std::none_of(argv.begin(), argv.end(),
                      [](const std::string& word) { return kAlone.contains(word) || word.starts_with("--local="); });
}

// Returns whether an error must be JSON, before the settings are known.
bool WantsJson(const std::vector<std::string>& argv) {
  for (size_t i = 0; i < argv.size(); ++i) {
    if (argv[i] == "-ojson" || (argv[i] == "-o" && i + 1 < argv.size() && argv[i + 1] == "json")) return true;
    if (argv[i].starts_with("-o")) return false;
  }
  return RealSources().env("MR_OUTPUT") == "json";
}

int Fail(const Status& status, bool json) {
  const Failure failure = ToFailure(status);
  if (json)
    Print(FailureJson(failure));
  else
    PrintErr(FailureText(failure));
  return failure.exit;
}

// For a process of milliseconds: a heap of each thread would grow by a system call per 4 KiB.
void KeepOneHeap() {
  constexpr int kGrowth = 1 << 20;
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_TOP_PAD, kGrowth);
}

int Main(const std::vector<std::string>& argv) {
  NoteStep("main");
  KeepOneHeap();
  KeepMemoryPrivate();  // it reads secrets of daemons; tasks of `--local` have the same user
  const auto tokens_in = [](const std::string& file) {
    return std::make_shared<rpc::TokenCredentials>(rpc::TokenCredentials::Places{file, TokenDirectory()},
                                                   rpc::ProcessCredentials());
  };
  const std::string token_file = RealSources().env("MR_TOKEN_FILE").value_or("");
  const auto tokens = tokens_in(token_file);
  const std::jthread prepares = WillConnect(argv) ? tokens->Prepare() : std::jthread();
  auto command = ParseCommandLine(argv);
  if (!command.ok()) return Fail(command.status(), WantsJson(argv));
  if (!command->help.empty()) {
    Print(command->help);
    return printed.ok() ? kExitOk : Fail(printed, false);
  }
  NoteStep("parsed");
  auto settings = ResolveSettings(command->global, RealSources());
  if (settings.ok() && settings->quiet) KeepQuietAboutInsecure();
  if (settings.ok()) {
    // `--local` sets others.
    rpc::SetProcessCredentials(settings->token_file == token_file ? tokens : tokens_in(settings->token_file));
  }
  if (command->verb == "doctor") {
    if (settings.ok() && settings->timeout.has_value()) SetTimeLimit(Now() + *settings->timeout);
    CatchInterrupts();
    auto exit = RunDoctor(*command, settings);
    return exit.ok() ? *exit
                     : Fail(exit.status(), settings.ok() ? settings->form == OutputForm::kJson : WantsJson(argv));
  }
  if (!settings.ok()) return Fail(settings.status(), WantsJson(argv));
  if (settings->timeout.has_value()) SetTimeLimit(Now() + *settings->timeout);
  CatchInterrupts();
  auto exit = Dispatch(*command, *settings);
  if (!exit.ok()) return Fail(WithLocalWay(exit.status(), command->verb), settings->form == OutputForm::kJson);
  return *exit == kExitOk && !printed.ok() ? Fail(printed, false) : *exit;
}

}  // namespace
}  // namespace mr::ctl

int main(int argc, char** argv) {
  mr::HoldStandardDescriptors();
  const int exit = mr::ctl::Main(std::vector<std::string>(argv + 1, argv + argc));
  mr::ctl::WriteStepTimes();
  return exit;
}
