#include "cli/top/screen.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/text.h"

namespace muster::cli {
namespace {

/// Another screen, no cursor, lines that are cut where the terminal ends (xterm's control
/// sequences).
constexpr std::string_view enter_text = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr std::string_view leave_text = "\x1b[?7h\x1b[?25h\x1b[?1049l";
constexpr char ctrl_c = 3;

/// A description of our own: the shell shares the other one, which must stay blocking.
Fd open_keys() {
  if (::isatty(STDIN_FILENO) != 1) return {};
  return Fd(::open("/proc/self/fd/0", O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

}  // namespace

Screen::Screen(int out) : out_(out), keys_(open_keys()) {
  if (keys_ && ::tcgetattr(keys_.get(), &before_) != 0) keys_.reset();
  if (keys_) {
    struct termios now = before_;
    now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);
    now.c_cc[VMIN] = 1;
    now.c_cc[VTIME] = 0;
    ::tcsetattr(keys_.get(), TCSADRAIN, &now);
  }
  static_cast<void>(write_all(out_, enter_text));
}

void Screen::leave() {
  if (!has_entered_) return;
  has_entered_ = false;
  static_cast<void>(write_all(out_, leave_text));
  if (keys_) ::tcsetattr(keys_.get(), TCSADRAIN, &before_);
}

loop::Task<> Screen::quit(loop::Loop& loop) {
  if (keys_) {
    loop::Watch watch(loop, keys_.get());
    std::array<char, 64> typed{};
    while (true) {
      const bool more = co_await watch.readable();
      if (!more) co_return;
      const ssize_t count = ::read(keys_.get(), typed.data(), typed.size());
      if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (count <= 0) co_return;  // The terminal is gone.
      for (const char key : std::string_view(typed.data(), static_cast<std::size_t>(count)))
        if (key == 'q' || key == 'Q' || key == ctrl_c) co_return;
    }
  }
  loop::Event never(loop);
  co_await never.wait();
}

std::string frame(std::string_view text) {
  std::string out = "\x1b[H";
  for (const std::string& line : split(text, '\n')) {
    if (out.size() > 3) out += "\r\n";
    out += line + "\x1b[K";
  }
  return out + "\x1b[J";
}

}  // namespace muster::cli
