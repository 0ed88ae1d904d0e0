#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "http/server.h"

namespace muster::http {

/// Inside http/ only: HTTP/1.1 requests as bytes. No I/O in here.
///
/// Source: RFC 9112. Strict where leniency lets two readers see two requests: no line folding, no
/// space before a colon, no bare CR, not both a length and chunks, no length given twice.

/// Where the head in `bytes` ends (behind its empty line); 0: not all there yet. `from`: how many
/// bytes earlier calls have seen already.
std::size_t head_end(std::string_view bytes, std::size_t from);

struct ParsedHead {
  Incoming incoming;
  bool http11 = true;  ///< Not HTTP/1.0, which knows no chunks.
  bool keep_alive = true;
  bool expects_continue = false;
};
/// What to answer to a request that is none: 400, 431, 501, 505.
struct BadHead {
  int status = 400;
  std::string_view why;
};
/// `head` ends with its empty line; the texts of what is returned are views into it.
std::variant<ParsedHead, BadHead> parse_head(std::string_view head);

/// Undoes Transfer-Encoding: chunked, in pieces.
class ChunkDecoder {
 public:
  /// What `bytes` begins with: framing of `skipped` bytes, then `data` bytes of data. Both 0: more
  /// is needed, or it is done(). Error: `protocol`.
  struct Step {
    std::size_t skipped = 0;
    std::size_t data = 0;
  };
  Result<Step> next(std::string_view bytes);
  bool done() const { return state_ == State::done; }

 private:
  enum class State { size, data, data_end, trailer, done };
  Result<Step> line(std::string_view bytes);

  State state_ = State::size;
  std::uint64_t left_ = 0;  ///< Of the chunk's data.
  std::size_t trailer_bytes_ = 0;
};

std::string_view reason_of(int status);

}  // namespace muster::http
