#include "host/ranks/socket_client.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace muster::ranks {
namespace {
constexpr std::size_t fds_max = 4;
}

Result<SocketClient> SocketClient::connect(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path))
    return fail(Errc::invalid_input,
                "MUSTER_SOCKET is not a socket: this command runs only in processes that were "
                "started by `train`");
  std::memcpy(address.sun_path, path.data(), path.size());
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return fail_errno("cannot open a socket");
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0)
    return fail_errno("cannot connect to " + path);
  return SocketClient(std::move(socket));
}

Result<void> SocketClient::send(std::uint8_t type, std::string_view payload,
                                const std::vector<int>& fds) {
  CHECK_THAT(fds.size() <= fds_max, "at most 4 descriptors a frame");
  std::string bytes;
  append_frame(bytes, type, payload);
  alignas(cmsghdr) std::array<char, CMSG_SPACE(fds_max * sizeof(int))> control{};
  iovec part{bytes.data(), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    std::memcpy(CMSG_DATA(header), fds.data(), fds.size() * sizeof(int));
  }
  ssize_t sent = -1;
  do {
    sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) return fail_errno("cannot send to the train process");
  return write_all(socket_.get(), std::string_view(bytes).substr(static_cast<std::size_t>(sent)));
}

Result<void> SocketClient::read_once() {
  std::array<char, 65536> buffer;
  ssize_t count = -1;
  do {
    count = ::read(socket_.get(), buffer.data(), buffer.size());
  } while (count < 0 && errno == EINTR);
  if (count < 0) return fail_errno("cannot receive from the train process");
  if (count == 0) return fail(Errc::closed, "the train process has exited");
  reader_.feed({buffer.data(), static_cast<std::size_t>(count)});
  return {};
}

Result<Frame> SocketClient::receive() {
  while (true) {
    std::optional<Frame> frame = TRY(reader_.next());
    if (frame) return *std::move(frame);
    TRY(read_once());
  }
}

Result<std::optional<Frame>> SocketClient::receive_some() {
  std::optional<Frame> frame = TRY(reader_.next());
  if (frame) return frame;
  TRY(read_once());
  return reader_.next();
}

}  // namespace muster::ranks
