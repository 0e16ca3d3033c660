// Attacks on the machine, the daemons and other jobs, for tests/cluster/rooms_test.cc. Each is tried as far as is
// needed to see whether it would succeed, and harms nobody: a signal is number 0, a reboot has a wrong magic number.
// Only kill_all, fork_bomb, fill_disk and use_memory are meant: for rooms that end or limit them.
#pragma once

#include <string>

namespace mr::test {

// Tries the attack `NAME [ARGUMENT]`. Returns "possible", or "denied: " and the name of the errno, "absent" where
// the call answers ENOSYS, or "unknown" for another name.
std::string TryAttack(const std::string& line);

}  // namespace mr::test
