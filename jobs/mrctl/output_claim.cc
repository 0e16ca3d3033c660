#include "jobs/mrctl/output_claim.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>

#include "common/base/digest.h"
#include "jobs/mrctl/exit_code.h"

namespace mr::ctl {

Result<OutputClaim> OutputClaim::Take(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::weakly_canonical(path, error);
  // A digest, since such a name has at most 107 bytes.
  const std::string name = "paceline-output-" + Hash128(error ? path : real.string()).Hex();
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());  // after a zero byte: abstract
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (fd.valid() && ::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) {
    if (errno == EADDRINUSE) {
      return WithHint(Rejected("output " + path + " is being written by another `mrctl submit --local`"),
                      "wait for its end, or give another --output");
    }
    fd.reset();
  }
  return OutputClaim(std::move(fd));
}

}  // namespace mr::ctl
