#include "tests/cluster/prepared.h"

#include <sstream>

#include "common/io/clock.h"
#include "tests/support/answers.h"

namespace mr::test {
namespace {

std::vector<std::string> Words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// Returns the verbs that the sections of a help text list.
std::vector<std::string> VerbsIn(const std::string& help) {
  std::istringstream in(help);
  std::vector<std::string> verbs;
  bool lists = false;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line[0] != ' ') {
      lists = line.back() == ':' && line != "Jobs:" && line != "Example:";
    } else if (lists && line.size() > 2 && line[2] >= 'a' && line[2] <= 'z') {
      verbs.push_back(Words(line)[0]);
    }
  }
  return verbs;
}

}  // namespace

Status Prepared::Start() {
  MR_RETURN_IF_ERROR(cluster_.Start());
  MR_RETURN_IF_ERROR(MakeDirectories(work()));
  WriteWords(work() + "/books.txt", 2000, 7);
  const RunResult copied = Shell("cp '" + BinaryDirectory() + "/../lib/libpaceline_jobs.so' libvisits.so");
  if (copied.exit != 0) return Internal(copied.err);
  for (const char* line :
       {"mrctl fs mkdir -p /data/trash && mrctl fs put books.txt /data/books.txt && mrctl fs put books.txt "
        "/data/old.txt",
        "mrctl fs put books.txt /data/trash/x", "mrctl submit wordcount --input /data/books.txt --output /data/counts",
        "mrctl submit --detach sleep --ms 600000 --tasks 1 --output /data/slept"}) {
    const RunResult run = Shell(line);
    if (run.exit != 0) return Internal(std::string(line) + ": " + run.err + cluster_.Logs());
  }
  for (const Instant limit = Now() + Seconds(20); Now() < limit;) {
    if (Mrctl({"job", "attempts", kRunningJob}).out.find(" running ") != std::string::npos) return Status::Ok();
  }
  return Internal("the job that should run does not: " + cluster_.Logs());
}

RunResult Prepared::Mrctl(const std::vector<std::string>& args) const {
  SpawnOptions options;
  options.directory = work();
  options.env = {"XDG_STATE_HOME=" + work() + "/state", "MR_KEEP_RUNS=200"};
  return cluster_.Mrctl(args, Seconds(60), options);
}

RunResult Prepared::Shell(const std::string& line) const {
  SpawnOptions options;
  options.directory = work();
  options.env = {"XDG_STATE_HOME=" + work() + "/state", "MR_KEEP_RUNS=200", "MR_MASTER=" + cluster_.master_address(),
                 "PATH=" + BinaryDirectory() + ":/usr/bin:/bin"};
  return RunProgram({"/bin/sh", "-c", line}, Seconds(60), options);
}

std::string HelpOf(const std::string& verb) {
  std::vector<std::string> args = Words(verb);
  args.push_back("--help");
  return RunMrctl(args).out;
}

std::vector<std::string> LeafVerbs() {
  std::vector<std::string> leaves;
  for (const std::string& verb : VerbsIn(RunMrctl({"help"}).out)) {
    const auto below = VerbsIn(HelpOf(verb));
    if (below.empty()) leaves.push_back(verb);
    for (const std::string& sub : below) leaves.push_back(verb + " " + sub);
  }
  return leaves;
}

}  // namespace mr::test
