#include "worker/task/protocol.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <memory>

#include "common/base/text.h"

namespace mr::task {
namespace {

constexpr size_t kControlBytes = CMSG_SPACE(sizeof(int) * kMaxPacketFds);

int SendParts(int socket, iovec* parts, size_t count, const std::vector<int>& fds, int flags) {
  alignas(cmsghdr) char control[kControlBytes];
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = count;
  if (!fds.empty()) {
    MR_CHECK(fds.size() <= kMaxPacketFds, "too many descriptors for one packet");
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
    memcpy(CMSG_DATA(head), fds.data(), sizeof(int) * fds.size());
  }
  for (;;) {
    if (sendmsg(socket, &message, flags | MSG_NOSIGNAL) >= 0) return 0;
    if (errno == EINTR) continue;
    return errno == EWOULDBLOCK ? EAGAIN : errno;
  }
}

long ReceiveParts(int socket, iovec* parts, size_t count, std::vector<UniqueFd>* fds, int flags) {
  alignas(cmsghdr) char control[kControlBytes];
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = count;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got;
  do {
    got = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return errno == EWOULDBLOCK ? -EAGAIN : -errno;
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr; head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    const size_t n = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < n; ++i) {
      int fd;
      memcpy(&fd, CMSG_DATA(head) + i * sizeof(int), sizeof fd);
      fds->emplace_back(fd);
    }
  }
  if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) return -EBADMSG;
  return got;
}

}  // namespace

int SendPacket(int socket, const Header& header, std::string_view payload, const std::vector<int>& fds, int flags) {
  Header h = header;
  h.fds = static_cast<uint16_t>(fds.size());
  iovec parts[2] = {{&h, sizeof h}, {const_cast<char*>(payload.data()), payload.size()}};
  return SendParts(socket, parts, payload.empty() ? 1 : 2, fds, flags);
}

int SendBlob(int socket, Header header, std::string_view blob) {
  do {
    const std::string_view part = blob.substr(0, kMaxPayload);
    blob.remove_prefix(part.size());
    header.more = !blob.empty();
    if (int error = SendPacket(socket, header, part, {}, 0)) return error;
  } while (!blob.empty());
  return 0;
}

int ReceivePacket(int socket, Packet* out, int flags) {
  out->fds.clear();
  out->payload.clear();
  // Not zero-filled: a child that lives for one task touches only as much of it as arrives.
  static thread_local const std::unique_ptr<char[]> buffer(new char[kMaxPayload]);
  iovec parts[2] = {{&out->header, sizeof out->header}, {buffer.get(), kMaxPayload}};
  const long got = ReceiveParts(socket, parts, 2, &out->fds, flags);
  if (got < 0) return static_cast<int>(-got);
  if (got == 0) return EPIPE;
  if (got < static_cast<long>(sizeof(Header)) || out->header.magic != kPacketMagic ||
      out->header.fds != out->fds.size()) {
    return EBADMSG;
  }
  out->payload.assign(buffer.get(), got - sizeof(Header));
  return 0;
}

int SendWithFds(int socket, const void* data, size_t size, const std::vector<int>& fds, int flags) {
  iovec part{const_cast<void*>(data), size};
  return SendParts(socket, &part, 1, fds, flags);
}

long ReceiveWithFds(int socket, void* data, size_t size, std::vector<UniqueFd>* fds, int flags) {
  iovec part{data, size};
  return ReceiveParts(socket, &part, 1, fds, flags);
}

std::string MemoryLimitText(uint64_t memory_bytes, uint64_t default_memory_bytes) {
  if (memory_bytes != 0) return HumanBytes(memory_bytes) + " (--memory)";
  if (default_memory_bytes == 0) return "";
  return HumanBytes(default_memory_bytes) +
         " (the default: the worker's memory over its slots, or its --task_memory_bytes)";
}

}  // namespace mr::task
