#include "jobs/mrctl/daemon_facts.h"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <sstream>
#include <vector>

#include "common/io/clock.h"
#include "common/io/files.h"
#include "common/rpc/http_entry.h"

namespace mr::ctl {
namespace {

constexpr Duration kHttpTimeout = Seconds(2);  // a guess: a daemon answers within milliseconds

std::string ProcOf(uint32_t pid) { return "/proc/" + std::to_string(pid); }

// Waits for an event on the socket. Returns false after the limit.
bool Await(int fd, short event, Instant limit) {
  for (;;) {
    const int64_t left_ms = (limit - Now()).ns / 1'000'000;
    if (left_ms <= 0) return false;
    pollfd ready{fd, event, 0};
    const int n = poll(&ready, 1, static_cast<int>(left_ms));
    if (n > 0) return true;
    if (n == 0 || errno != EINTR) return false;
  }
}

Result<UniqueFd> ConnectTo(const std::string& host, uint16_t port, Instant limit) {
  const std::string where = host + ":" + std::to_string(port);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found); error != 0) {
    return Unavailable(where + ": " + gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, freeaddrinfo);
  int why = ECONNREFUSED;
  for (const addrinfo* a = addresses.get(); a != nullptr; a = a->ai_next) {
    UniqueFd fd(socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd.valid()) continue;
    if (connect(fd.get(), a->ai_addr, a->ai_addrlen) == 0) return fd;
    why = errno;
    if (errno != EINPROGRESS) continue;
    why = ETIMEDOUT;
    if (!Await(fd.get(), POLLOUT, limit)) continue;
    socklen_t size = sizeof why;
    if (getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &why, &size) == 0 && why == 0) return fd;
  }
  return Unavailable(where + ": " + std::strerror(why));
}

// Returns whether a reply has the body that its head announces: daemons keep connections open.
bool Whole(const std::string& reply) {
  constexpr char kLength[] = "\r\nContent-Length: ";
  const size_t head = reply.find("\r\n\r\n"), at = reply.find(kLength);
  if (head == std::string::npos || at == std::string::npos || at > head) return false;
  return reply.size() >= head + 4 + std::strtoull(reply.c_str() + at + sizeof kLength - 1, nullptr, 10);
}

}  // namespace

bool RunsHere(uint32_t pid, const std::string& program) {
  if (pid == 0) return false;
  const auto name = ReadFile(ProcOf(pid) + "/comm");
  return name.ok() && *name == program + "\n";
}

Result<std::string> LogOfProcess(uint32_t pid, uint64_t most) {
  const std::string path = ProcOf(pid) + "/fd/2";
  struct stat info {};
  if (stat(path.c_str(), &info) != 0)
    return ErrnoStatus(errno, "cannot look at the log of process " + std::to_string(pid));
  if (!S_ISREG(info.st_mode)) {
    return NotFound("its standard error is no file: journalctl _PID=" + std::to_string(pid) +
                    " shows it if systemd runs it, docker logs if a container does");
  }
  MR_ASSIGN_OR_RETURN(const UniqueFd file, OpenFile(path, O_RDONLY));
  const auto size = static_cast<uint64_t>(info.st_size);
  std::string text(std::min(size, most), '\0');
  MR_ASSIGN_OR_RETURN(const size_t n, PreadUpTo(file.get(), text.data(), text.size(), size - text.size()));
  text.resize(n);
  return text;
}

uint16_t HttpPortOf(uint32_t pid, uint16_t rpc_port) {
  std::set<std::string> sockets;  // their inodes
  const auto numbers = ListDirectory(ProcOf(pid) + "/fd");
  if (!numbers.ok()) return 0;
  for (const std::string& number : *numbers) {
    char target[64];
    const ssize_t n = readlink((ProcOf(pid) + "/fd/" + number).c_str(), target, sizeof target);
    const std::string link(target, static_cast<size_t>(std::max<ssize_t>(n, 0)));
    if (link.starts_with("socket:[")) sockets.insert(link.substr(8, link.size() - 9));
  }
  std::set<uint16_t> ports;
  for (const char* table : {"/net/tcp", "/net/tcp6"}) {
    const auto text = ReadFile(ProcOf(pid) + table);
    if (!text.ok()) continue;
    std::istringstream lines(*text);
    std::string line;
    std::getline(lines, line);  // the heading
    while (std::getline(lines, line)) {
      // sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode
      std::istringstream in(line);
      std::vector<std::string> words;
      for (std::string word; in >> word;) words.push_back(word);
      constexpr char kListens[] = "0A";
      if (words.size() < 10 || words[3] != kListens || !sockets.contains(words[9])) continue;
      const uint16_t port =
          static_cast<uint16_t>(std::strtoul(words[1].substr(words[1].rfind(':') + 1).c_str(), nullptr, 16));
      if (port != rpc_port) ports.insert(port);
    }
  }
  return ports.size() == 1 ? *ports.begin() : 0;
}

Result<std::string> GetHttp(const std::string& host, uint16_t port, const std::string& path, uint64_t most) {
  const Instant limit = Now() + kHttpTimeout;
  const std::string where = host + ":" + std::to_string(port);
  MR_ASSIGN_OR_RETURN(const UniqueFd fd, ConnectTo(host, port, limit));
  // The secret that a daemon of this user on this machine wrote for its port. Others get none.
  const auto bearer = rpc::BearerFor(where);
  const std::string request = "GET " + path + " HTTP/1.1\r\nHost: " + where + "\r\nConnection: close\r\n" +
                              (bearer.ok() ? "Authorization: " + bearer->Reveal() + "\r\n" : "") + "\r\n";
  if (send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size())) {
    return Unavailable(where + " did not take the request");
  }
  std::string reply;
  while (reply.size() < most && !Whole(reply)) {
    char piece[16 << 10];
    if (!Await(fd.get(), POLLIN, limit)) return Unavailable(where + " did not answer in time");
    const ssize_t n = recv(fd.get(), piece, sizeof piece, 0);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0) return Unavailable(where + ": " + std::strerror(errno));
    if (n == 0) break;
    reply.append(piece, static_cast<size_t>(n));
  }
  return BodyOf(where, reply);
}

Result<std::string> BodyOf(const std::string& where, const std::string& reply) {
  const size_t body = reply.find("\r\n\r\n");
  const size_t status = reply.find(' ');
  if (!reply.starts_with("HTTP/1.") || body == std::string::npos) {
    return Unavailable(where +
                       " is not the HTTP port of a daemon, or the daemon has certificates and speaks TLS: name "
                       "a token of its cluster with MR_TOKEN_FILE");
  }
  if (reply.compare(status, 5, " 401 ") == 0) {
    return Status(Code::kNotAllowed, where + " shows its pages to the daemon's own user, and to holders of a token");
  }
  if (reply.compare(status, 5, " 403 ") == 0) {
    return Status(Code::kNotAllowed, where + " does not show this to your token: " + reply.substr(body + 4));
  }
  if (reply.compare(status, 5, " 200 ") != 0) return Unavailable(where + " is not the HTTP port of a daemon");
  return reply.substr(body + 4);
}

}  // namespace mr::ctl
