#include "jobs/mrctl/refused_action.h"

#include <utility>

namespace mr::ctl {
namespace {

constexpr std::pair<std::string_view, std::string_view> kActions[] = {
    // MasterForClient
    {"submit", "submit jobs"},
    {"watch", "follow jobs"},
    {"job", "see jobs"},
    {"jobs", "list jobs"},
    {"tasks", "list the tasks of jobs"},
    {"attempts", "list the attempts of jobs"},
    {"counters", "read the counters of jobs"},
    {"kill", "kill jobs"},
    {"why", "ask why jobs and workers are in their state"},
    {"workers", "list workers"},
    {"logs", "read the logs of attempts"},
    {"libraryKnown", "upload operator libraries"},
    {"putLibrary", "upload operator libraries"},
    {"files", "use the block store"},
    {"info", "see the state of the master"},
    {"null", "call the master"},
    {"drain", "drain or undrain workers"},
    {"queues", "list queues"},
    {"setQueue", "change queues"},
    {"history", "read the records of ended jobs"},
    {"profile", "see the profiles of jobs"},
    {"explain", "explain jobs"},
    {"setJob", "change the priority or the deadline of jobs"},
    {"exclude", "exclude or include workers"},
    {"decisions", "see the decisions of the scheduler"},
    {"launched", "replay attempts"},
    {"measure", "see the sizes of inputs"},
    {"drainStatus", "see the state of a drain"},
    {"journal", "see the state of the journal"},
    {"spec", "see how jobs were submitted"},
    {"acceptLoss", "accept a loss of journal records"},
    {"page", "open the master's pages"},
    {"ticket", "read or write data on workers"},
    {"forget", "remove workers from the lists"},
    {"reach", "check the network between workers"},
    // FileSystem
    {"create", "write files"},
    {"createFiles", "write files"},
    {"addBlock", "write files"},
    {"complete", "write files"},
    {"completeFiles", "write files"},
    {"abandon", "write files"},
    {"renew", "write files"},
    {"stat", "see files"},
    {"list", "list files"},
    {"locate", "read files"},
    {"mkdir", "make directories"},
    {"remove", "remove files"},
    {"rename", "move files"},
    {"setReplication", "change the replication of files"},
    {"health", "see the health of the block store"},
    {"setOwner", "change the owner of files"},
    {"setReaders", "change who reads files"},
    // Data servers of workers
    {"readBlock", "read files"},
    {"writeBlock", "write files"},
    {"writeBlocks", "write files"},
    {"write", "write files"},
    {"finish", "write files"},
};

}  // namespace

std::string_view ActionOf(std::string_view method) {
  for (const auto& [name, action] : kActions) {
    if (name == method) return action;
  }
  return "";
}

std::string InWords(std::string message) {
  constexpr std::string_view kRefused = "' is not allowed: it needs one of the roles ";
  const size_t end = message.find(kRefused);
  if (end == std::string::npos || end == 0) return message;
  const size_t quote = message.rfind('\'', end - 1);
  if (quote == std::string::npos) return message;
  const std::string_view action = ActionOf(std::string_view(message).substr(quote + 1, end - quote - 1));
  if (action.empty()) return message;
  const size_t colon = message.find(':', end);
  return message.replace(quote, colon - quote, "not allowed to " + std::string(action));
}

}  // namespace mr::ctl
