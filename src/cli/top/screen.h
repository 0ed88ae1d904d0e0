#pragma once

#include <termios.h>

#include <string>
#include <string_view>

#include "base/fd.h"
#include "net/loop/wait.h"

namespace muster::cli {

/// A terminal's alternate screen without a cursor, whose keys come one by one and unseen. Ctrl-C is
/// a key, so that the screen is left in an orderly way; Ctrl-Z does nothing. Destroying it brings
/// back what was there, as does leave(), which may be called when a signal ends the process.
class Screen {
 public:
  /// `out`: the terminal's descriptor. Keys are read from standard input, if that is a terminal.
  explicit Screen(int out);
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  ~Screen() { leave(); }
  void leave();

  /// Waits for q or Ctrl-C; for ever without keys.
  loop::Task<> quit(loop::Loop& loop);

 private:
  int out_;
  Fd keys_;
  struct termios before_ {};
  bool has_entered_ = true;
};

/// What shows `text` on that screen from its beginning, in place of what was there, without an
/// empty screen in between. Pure.
std::string frame(std::string_view text);

}  // namespace muster::cli
