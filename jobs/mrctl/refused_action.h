// Refusals of a daemon in the words of people: the message of a refused call names its method, such as 'setQueue'.
#pragma once

#include <string>
#include <string_view>

namespace mr::ctl {

// Returns what a call of this method does, as in "not allowed to drain or undrain workers"; "" for an unknown method.
std::string_view ActionOf(std::string_view method);

// Returns the message with the action in place of the method that was refused (rpc::CheckRoles). Other messages, and
// those with an unknown method, stay as they are.
std::string InWords(std::string message);

}  // namespace mr::ctl
