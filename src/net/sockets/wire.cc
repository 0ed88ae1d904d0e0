#include "net/sockets/wire.h"

#include <sys/sendfile.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace muster::loop {
namespace {

constexpr std::size_t fds_kept_max = 16;  ///< Room for a sender that ignores `wire_fds_max`.

class PlainWire final : public Wire {
 public:
  explicit PlainWire(int socket) : socket_(socket) {}

  Attempt read(char* into, std::size_t bytes_max, std::vector<Fd>* fds) override {
    iovec piece{into, bytes_max};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(fds_kept_max * sizeof(int))> control;
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    if (fds != nullptr) {
      message.msg_control = control.data();
      message.msg_controllen = control.size();
    }
    ssize_t count = 0;
    do count = ::recvmsg(socket_, &message, MSG_CMSG_CLOEXEC);
    while (count < 0 && errno == EINTR);
    if (count >= 0 && fds != nullptr) take(message, *fds);
    if (count == 0) return {.kind = Kind::end};
    return outcome_of(count, Kind::want_read);
  }

  Attempt write(const iovec* pieces, int count, bool more, std::vector<Fd>* fds) override {
    alignas(cmsghdr) std::array<char, CMSG_SPACE(wire_fds_max * sizeof(int))> control;
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(pieces);
    message.msg_iovlen = static_cast<std::size_t>(count);
    if (fds != nullptr && !fds->empty()) {
      control.fill(0);
      message.msg_control = control.data();
      put(message, *fds);
    }
    ssize_t sent = 0;
    do sent = ::sendmsg(socket_, &message, MSG_NOSIGNAL | (more ? MSG_MORE : 0));
    while (sent < 0 && errno == EINTR);
    if (sent >= 0 && fds != nullptr) fds->clear();
    return outcome_of(sent, Kind::want_write);
  }

  Attempt send_file(int fd, std::uint64_t offset, std::size_t bytes) override {
    auto at = static_cast<off_t>(offset);
    ssize_t sent = 0;
    do sent = ::sendfile(socket_, fd, &at, bytes);
    while (sent < 0 && errno == EINTR);
    if (sent == 0) return {.kind = Kind::end};
    return outcome_of(sent, Kind::want_write);
  }

 private:
  static Attempt outcome_of(ssize_t count, Kind otherwise) {
    if (count >= 0) return {.bytes = static_cast<std::size_t>(count)};
    if (errno == EAGAIN || errno == EWOULDBLOCK) return {.kind = otherwise};
    return {.kind = Kind::failed, .error = fail_errno("connection failed")};
  }

  static void put(msghdr& message, const std::vector<Fd>& fds) {
    CHECK_THAT(fds.size() <= wire_fds_max, "too many descriptors at a time");
    message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    for (std::size_t i = 0; i < fds.size(); ++i) {
      const int number = fds[i].get();
      std::memcpy(CMSG_DATA(header) + i * sizeof(int), &number, sizeof number);
    }
  }

  static void take(msghdr& message, std::vector<Fd>& fds) {
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
         header = CMSG_NXTHDR(&message, header)) {
      if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
      const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (std::size_t i = 0; i < count; ++i) {
        int number = -1;
        std::memcpy(&number, CMSG_DATA(header) + i * sizeof(int), sizeof number);
        Fd fd(number);  // Closes descriptors beyond the limit.
        if (fds.size() < wire_fds_max) fds.push_back(std::move(fd));
      }
    }
  }

  int socket_;
};

}  // namespace

std::unique_ptr<Wire> plain_wire(int socket) {
  return std::make_unique<PlainWire>(socket);
}

}  // namespace muster::loop
