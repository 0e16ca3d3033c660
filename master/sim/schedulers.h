// The output of `mrsim schedulers`: the lists of policies that have a name, and the policies.
#pragma once

#include <string>

namespace mr::sim {

std::string SchedulersTable();
std::string SchedulersJson();

}  // namespace mr::sim
