#include "tests/bench/peer.h"

#include <fcntl.h>
#include <unistd.h>

#include "paceline/json_text.h"
#include "tests/bench/report.h"
#include "tests/support/cluster.h"

namespace mr::bench {

Peer::Peer(const std::vector<std::string>& program, const std::string& log) : name_(program.back()), log_(log) {
  int to[2], from[2];
  if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) Die("no pipes");
  const UniqueFd its_orders(to[0]), its_answers(from[1]);
  orders_ = UniqueFd(to[1]);
  answers_ = UniqueFd(from[0]);
  std::vector<std::string> argv = {test::BinaryDirectory() + "/../peers/bin/python"};
  if (!PathExists(argv[0])) Die("the peers are not installed: ./dev bench --peers does that");
  argv.push_back(std::string(MR_SOURCE_DIR) + "/tests/bench/" + program[0]);
  argv.insert(argv.end(), program.begin() + 1, program.end());
  test::SpawnOptions options;
  options.stdout_path = options.stderr_path = log_;
  options.inherit = {{its_orders.get(), 3}, {its_answers.get(), 4}};
  process_ = OrDie(test::Process::Spawn(argv, options), argv[1]);
  Await("to start");
}

Peer::~Peer() {
  orders_.reset();
  if (process_.pid() != 0) (void)process_.Wait(Seconds(30));
}

void Peer::Run(const std::string& job, const std::vector<std::string>& inputs, const std::string& output,
               const std::string& pattern) {
  std::string files;
  for (const std::string& file : inputs) files += (files.empty() ? "" : ", ") + sdk::JsonString(file);
  OrDie(WriteAll(orders_.get(), "{\"job\": " + sdk::JsonString(job) + ", \"inputs\": [" + files + "], \"output\": " +
                                    sdk::JsonString(output) + ", \"pattern\": " + sdk::JsonString(pattern) + "}\n"),
        name_);
  Await(job);
}

void Peer::Await(const std::string& what) {
  std::string line;
  for (char c = 0; c != '\n';) {
    if (read(answers_.get(), &c, 1) != 1) Die(name_ + ", " + what + ": it is gone; its output is in " + log_);
    line += c;
  }
  if (line != "ok\n") Die(name_ + ", " + what + ": " + line);
}

}  // namespace mr::bench
