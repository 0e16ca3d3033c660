#include "worker/host/peers_here.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "common/io/clock.h"

namespace mr::worker {

Result<PeersHere> PeersHere::Join(const std::string& what, bool passing) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return ErrnoStatus(errno, "cannot make a socket");
  // In the abstract namespace: a name without a file. Nobody listens at it.
  const std::string stays = "paceline-worker." + what + ".", passes = "paceline-guest." + what + ".";
  const std::string name = (passing ? passes : stays) + std::to_string(RandomId());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.size() + 1 > sizeof address.sun_path) return InvalidArgument("the name '" + what + "' is too long");
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) {
    return ErrnoStatus(errno, "cannot name a socket '" + name + "'");
  }
  std::vector<std::string> marks = {"@" + stays};
  if (passing) marks.push_back("@" + passes);
  return PeersHere(std::move(socket), std::move(marks));
}

uint32_t PeersHere::Count() const {
  const auto text = ReadFile("/proc/net/unix");
  if (!text.ok()) return 1;
  uint32_t count = 0;
  for (const std::string& mark : marks_) count += CountSockets(*text, mark);
  return std::max(1u, count);
}

uint32_t CountSockets(const std::string& text, const std::string& mark) {
  // The name is the last field of a line, and may have blanks.
  const std::string field = " " + mark;
  uint32_t count = 0;
  for (size_t at = text.find(field); at != text.npos; at = text.find(field, at + field.size())) ++count;
  return count;
}

}  // namespace mr::worker
