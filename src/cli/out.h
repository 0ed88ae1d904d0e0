#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "net/loop/wait.h"

namespace muster::cli {

/// A program's own output. Text is buffered until flush(), which does not block the loop if the
/// kernel allows that (terminals and pipes). Once the reader has closed its end, output is dropped.
class Out {
 public:
  /// `fd` stays the caller's; its flags, which others share, are left alone.
  Out(loop::Loop& loop, int fd);
  Out(const Out&) = delete;
  Out& operator=(const Out&) = delete;
  ~Out();

  /// What is to be written; append to it at any time.
  std::string& text() { return text_; }
  bool is_terminal() const { return terminal_; }
  /// The terminal's width at this moment; 0: none is known.
  int columns() const;
  int rows() const;  ///< The terminal's height, likewise.
  /// Waits until all of the text has been written. One at a time.
  loop::Task<> flush();
  /// From now on nothing waits for the reader: what it does not take at once is dropped.
  void abandon();

 private:
  enum class Wrote { all, some, gone };
  Wrote write_some();

  loop::Loop& loop_;
  int fd_;
  bool terminal_;
  Fd own_;  ///< Our own non-blocking description of the same file; none: writes block.
  std::unique_ptr<loop::Watch> watch_;
  std::string text_;
  std::string sending_;
  std::size_t sent_ = 0;
  bool gone_ = false;
  bool abandoned_ = false;
};

}  // namespace muster::cli
