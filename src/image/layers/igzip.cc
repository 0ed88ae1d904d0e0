#include "image/layers/igzip.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <vector>

#include "image/layers/child.h"

namespace muster::image {
namespace {

constexpr std::size_t piece_bytes = 256u << 10;
constexpr int idle_ms_max = 60'000;

/// Not the user's PATH: root runs it on strangers' bytes.
Command command() {
  Command command;
  command.argv = {"igzip", "-dc"};
  command.env.insert_or_assign("PATH", std::string("/usr/local/bin:/usr/bin:/bin"));
  command.cwd = std::string("/");
  return command;
}

bool is_later(int number) {
  return number == EAGAIN || number == EINTR;
}

class IgzipBytes final : public Bytes {
 public:
  explicit IgzipBytes(std::unique_ptr<Bytes> packed)
      : packed_(std::move(packed)), piece_(piece_bytes) {}

  Result<std::string_view> next() override {
    if (!started_) ended_ = !start();
    started_ = true;
    while (!ended_) {
      const Turn turn = wait();
      if (turn == Turn::feed) TRY(feed());
      if (turn == Turn::feed) continue;
      const ssize_t got = turn == Turn::take ? ::read(out_.get(), piece_.data(), piece_.size()) : 0;
      if (got < 0 && is_later(errno)) continue;
      if (got > 0) return std::string_view(piece_.data(), static_cast<std::size_t>(got));
      ended_ = true;
    }
    // The process may end before its input does; what checks the packed bytes has to see them all.
    while (!packed_ended_) packed_ended_ = TRY(packed_->next()).empty();
    return std::string_view();
  }

 private:
  enum class Turn { take, feed, give_up };

  Result<void> start() {
    std::pair<Fd, Fd> in = TRY(make_socket_pair());
    Pipe out = TRY(make_pipe());
    const Fd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    if (!nowhere) return fail_errno("cannot open /dev/null");
    supervise::Stdio stdio;
    stdio.in = in.second.get();
    stdio.out = out.write.get();
    stdio.err = nowhere.get();
    program_.emplace(TRY(Child::start(command(), stdio)));
    in_ = std::move(in.first);
    out_ = std::move(out.read);
    return {};
  }

  Turn wait() {
    std::array<pollfd, 2> ends = {{{out_.get(), POLLIN, 0}, {in_.get(), POLLOUT, 0}}};
    int count = -1;
    do count = ::poll(ends.data(), in_ ? 2 : 1, idle_ms_max);
    while (count < 0 && errno == EINTR);
    if (count <= 0) return Turn::give_up;
    return ends[0].revents != 0 ? Turn::take : Turn::feed;
  }

  Result<void> feed() {
    if (rest_.empty()) {
      rest_ = TRY(packed_->next());
      packed_ended_ = rest_.empty();
    }
    if (packed_ended_) {
      in_.reset();
      return {};
    }
    const ssize_t put = ::send(in_.get(), rest_.data(), rest_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put >= 0) {
      rest_.remove_prefix(static_cast<std::size_t>(put));
    } else if (!is_later(errno)) {
      in_.reset();  // The process has enough.
    }
    return {};
  }

  std::unique_ptr<Bytes> packed_;
  std::string_view rest_;  ///< What came last and was not taken yet.
  bool packed_ended_ = false;
  bool started_ = false;
  bool ended_ = false;
  std::optional<Child> program_;
  Fd in_;
  Fd out_;
  std::vector<char> piece_;
};

}  // namespace

bool has_igzip() {
  return supervise::find_program("igzip", command().env, "/").has_value();
}

std::unique_ptr<Bytes> by_igzip(std::unique_ptr<Bytes> packed) {
  if (!has_igzip()) return nullptr;
  return std::make_unique<IgzipBytes>(std::move(packed));
}

}  // namespace muster::image
