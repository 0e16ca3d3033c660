// Removes what looks like a secret from a text that users send to others.
#pragma once

#include <string>

namespace mr::ctl {

// Returns the text with "[redacted]" for: values behind a name with "token", "secret", "password", "credential" or a
// kind of key in it (NAME=VALUE, "name": "value", --name VALUE); passwords in URLs; bearer and basic credentials; keys
// of well-known services by their form; private keys in PEM. Names of users and hosts stay. Bytes of any kind are
// allowed. A secret under an innocent name in a form of its own is not found. Thread: any. Cost: a pass per pattern.
std::string Redact(std::string text);

}  // namespace mr::ctl
