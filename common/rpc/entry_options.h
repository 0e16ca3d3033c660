// How a daemon lets peers in, from its flags (common/adr/0016).
#pragma once

#include <memory>
#include <string>

namespace mr::secure {
class GrantDoor;
}

namespace mr::rpc {

class NodeIdentity;

struct EntryOptions {
  bool insecure = false;    // anybody may connect, from anywhere
  int secret_fd = -1;       // an inherited descriptor with the secret, which no file holds then; -1: none
  std::string secret_dir;   // directory of secret files, as for SecretDirectory(); empty: the user's
  std::string unix_socket;  // the master only: path on which it listens, too; empty: none
  std::shared_ptr<NodeIdentity> node = nullptr;             // certificates: TLS only, at any address; null: none
  std::shared_ptr<const secure::GrantDoor> door = nullptr;  // a worker with certificates: checks people's tickets
};

}  // namespace mr::rpc
