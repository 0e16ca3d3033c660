// mrtask: the process that hosts user code. The worker starts it as its helper, and mrctl for plan and check. It is not
// meant for users, but `mrtask check LIB` is useful while writing operators.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "worker/task/child.h"
#include "worker/task/frames.h"
#include "worker/task/plan_check.h"
#include "worker/task/replay.h"

namespace {

int Usage() {
  fprintf(stderr,
          "usage: mrtask check LIBRARY             print what an operator library offers (JSON)\n"
          "       mrtask plan [--memory BYTES] [--bytes N URI].. LIBRARY JOB [ARGS..]\n"
          "                                        print the plan of a job (JSON) for these memory and input sizes\n"
          "       mrtask plan LIBRARY --document PLAN  check the configs of a plan document and print it (JSON)\n"
          "       mrtask replay FILE [watched]     run one attempt again (see mrctl task replay)\n"
          "       mrtask frames ADDRESS.. < MAPS   print a stack, given /proc/PID/maps\n"
          "       mrtask libraries                 print the paths of mrtask and its loaded libraries\n"
          "       mrtask version\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args.empty()) return Usage();
  if (args[0] == "helper" && args.size() >= 4) {
    const auto rooms = mr::task::RoomOptions::FromWords({args.begin() + 4, args.end()});
    if (!rooms.ok()) {
      fprintf(stderr, "mrtask: %s\n", rooms.status().message().c_str());
      return 2;
    }
    return mr::task::HelperMain(atoi(args[1].c_str()), args[2], static_cast<uint32_t>(atoi(args[3].c_str())), *rooms);
  }
  if (args[0] == "check" && args.size() == 2) return mr::task::CheckMain(args[1]);
  if (args[0] == "frames") _exit(mr::task::FramesMain({args.begin() + 1, args.end()}));  // not past its filter
  if (args[0] == "replay" && args.size() == 2) return mr::task::ReplayMain(args[1], false);
  if (args[0] == "replay" && args.size() == 3 && args[2] == "watched") return mr::task::ReplayMain(args[1], true);
  if (args[0] == "libraries" && args.size() == 1) return mr::task::LibrariesMain();
  if (args[0] == "plan" && args.size() >= 3) return mr::task::PlanMain({args.begin() + 1, args.end()});
  if (args[0] == "version" && args.size() == 1) {
    printf("mrtask %s, operator ABI %u\n", MR_VERSION, MR_ABI_VERSION);
    return 0;
  }
  return Usage();
}
