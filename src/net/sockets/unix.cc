#include "net/sockets/unix.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "net/sockets/channel_core.h"

namespace muster::loop {
namespace {

bool would_block() {
  return errno == EAGAIN || errno == EWOULDBLOCK;
}

class UnixCoreChannel final : public CoreChannel<UnixChannel> {
 public:
  using CoreChannel::CoreChannel;

  void post_with_fds(std::uint8_t type, std::string_view payload, std::vector<Fd> fds) override {
    CHECK_THAT(fds.size() <= wire_fds_max, "too many descriptors for one frame");
    core().post(type, payload, std::move(fds));
  }
  std::vector<Fd> take_fds() override { return core().take_fds(); }
};

ucred peer_of(int socket) {
  ucred peer{.pid = -1, .uid = static_cast<uid_t>(-1), .gid = static_cast<gid_t>(-1)};
  socklen_t size = sizeof peer;
  ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size);
  return peer;
}

/// The address of a socket. If the path is too long, uses the folder's descriptor.
struct Address {
  sockaddr_un name{};
  Fd folder;

  static Result<Address> of(const std::string& path) {
    Address address;
    address.name.sun_family = AF_UNIX;
    std::string text = path;
    if (text.size() >= sizeof address.name.sun_path) {
      const std::size_t slash = path.rfind('/');
      if (slash == std::string::npos) return fail(Errc::invalid_input, path + ": name too long");
      address.folder =
          Fd(::open(path.substr(0, slash + 1).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
      if (!address.folder) return fail_errno("cannot open the folder that contains " + path);
      text = "/proc/self/fd/" + std::to_string(address.folder.get()) + path.substr(slash);
    }
    if (text.empty() || text.size() >= sizeof address.name.sun_path)
      return fail(Errc::invalid_input, path + ": empty, or too long for the path of a socket");
    std::memcpy(address.name.sun_path, text.data(), text.size());
    return address;
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&name); }
};

Result<Fd> open_socket() {
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail_errno("cannot open a socket");
  return socket;
}

/// True if there is a socket at `path` without a listener.
bool abandoned(const std::string& path, const Address& address) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) return false;
  Result<Fd> probe = open_socket();
  return probe && ::connect(probe->get(), address.get(), sizeof address.name) != 0 &&
         errno == ECONNREFUSED;
}

struct Listening {
  Listening(Loop& on, Fd listener)
      : loop(on), socket(std::move(listener)), watch(on, socket.get()) {}

  Loop& loop;
  Fd socket;
  Watch watch;
  bool closed = false;
};

Task<Result<std::unique_ptr<UnixChannel>>> accept_next(std::shared_ptr<Listening> listening) {
  while (!listening->closed) {
    Fd socket(::accept4(listening->socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket) {
      const uid_t uid = peer_of(socket.get()).uid;
      if (uid == 0 || uid == ::geteuid())
        co_return unix_channel(listening->loop, std::move(socket));
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (would_block()) {
      co_await listening->watch.readable();
      continue;
    }
    Timer pause(listening->loop);  // Until others have freed descriptors or memory.
    co_await pause.after(std::chrono::milliseconds(100));
  }
  co_return fail(Errc::closed, "no longer listening");
}

class UnixCoreListener final : public UnixListener {
 public:
  UnixCoreListener(Loop& loop, Fd socket, std::string path)
      : path_(std::move(path)), listening_(std::make_shared<Listening>(loop, std::move(socket))) {}
  UnixCoreListener(const UnixCoreListener&) = delete;
  UnixCoreListener& operator=(const UnixCoreListener&) = delete;
  ~UnixCoreListener() override {
    close();
    ::unlink(path_.c_str());
  }

  Task<Result<std::unique_ptr<UnixChannel>>> accept() override { return accept_next(listening_); }
  void close() override {
    listening_->closed = true;
    listening_->watch.cancel();
  }

 private:
  std::string path_;
  std::shared_ptr<Listening> listening_;
};

}  // namespace

std::unique_ptr<UnixChannel> unix_channel(Loop& loop, Fd socket) {
  const int number = socket.get();
  const int flags = ::fcntl(number, F_GETFL);
  if (flags >= 0) ::fcntl(number, F_SETFL, flags | O_NONBLOCK);
  return std::make_unique<UnixCoreChannel>(
      std::make_shared<ChannelCore>(loop, std::move(socket), plain_wire(number)));
}

Result<std::unique_ptr<UnixChannel>> unix_connect(Loop& loop, const std::string& path) {
  const Address address = TRY(Address::of(path));
  // Blocking: a local connect waits only for room in the listener's queue.
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return fail_errno("cannot open a socket");
  if (::connect(socket.get(), address.get(), sizeof address.name) != 0) {
    if (errno == ECONNREFUSED)
      return fail(Errc::not_found, path + ": no process is listening on this socket");
    return fail_errno("cannot connect to " + path);
  }
  return unix_channel(loop, std::move(socket));
}

Result<std::unique_ptr<UnixListener>> UnixListener::open(Loop& loop, const std::string& path) {
  const Address address = TRY(Address::of(path));
  Fd socket = TRY(open_socket());
  ::fchmod(socket.get(), 0600);  // Linux creates the path with the socket's mode.
  int bound = ::bind(socket.get(), address.get(), sizeof address.name);
  if (bound != 0 && errno == EADDRINUSE && abandoned(path, address)) {
    ::unlink(path.c_str());
    bound = ::bind(socket.get(), address.get(), sizeof address.name);
  }
  if (bound != 0) return fail_errno("cannot listen on " + path);
  if (::listen(socket.get(), SOMAXCONN) != 0) return fail_errno("cannot listen on " + path);
  return std::unique_ptr<UnixListener>(
      std::make_unique<UnixCoreListener>(loop, std::move(socket), path));
}

}  // namespace muster::loop
