// The output of `mrsim schedulers`: the named lists of policies, all policies, and names that stand for several.
#pragma once

#include <string>

namespace mr::sim {

std::string SchedulersTable();
std::string SchedulersJson();

}  // namespace mr::sim
