#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "job/outcome/said.h"

namespace muster::supervise {

/// The last lines that a process wrote, for the message about its end. Pure.
///
/// Both streams count, in the order of their lines; what one is full of pushes out nothing of the
/// other. Of a line that is longer than `line_bytes_max` the beginning and the end are kept, of a
/// progress bar its last state.
class LastWords {
 public:
  static constexpr std::size_t line_bytes_max = 2048;
  static constexpr std::size_t stream_bytes_max = 64u << 10;  ///< Lines count 64 more each.
  static constexpr std::size_t text_bytes_max = 8192;

  /// As one read() gave them.
  void add(job::Stream stream, std::string_view bytes);
  std::vector<job::SaidLine> lines() const;
  /// said_text() of them.
  std::string text() const { return job::said_text(lines(), text_bytes_max); }

 private:
  /// A line that has not ended.
  class Open {
   public:
    void add(std::string_view bytes, std::uint64_t read);
    bool empty() const { return text_.empty(); }
    job::SaidLine line(job::Stream stream) const;

   private:
    std::string text_;
    bool returned_ = false;  ///< The last byte was '\r': the next output overwrites the line.
    std::uint64_t began_ = 0;
    std::uint64_t ended_ = 0;
  };
  struct Numbered {
    std::uint64_t number;
    job::SaidLine line;
  };
  struct Half {
    job::Stream stream;
    std::deque<Numbered> lines = {};
    std::size_t bytes = 0;
    Open open = {};
    std::uint64_t open_number = 0;
  };
  void close(Half& half);

  Half out_{job::Stream::out};
  Half err_{job::Stream::err};
  std::uint64_t reads_ = 0;
  std::uint64_t number_ = 0;  ///< The last line's, of both in their order.
};

}  // namespace muster::supervise
