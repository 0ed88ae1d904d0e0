#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "net/http/client.h"
#include "net/http/server.h"

namespace muster::http {

/// Pure: HTTP/1.1 messages as bytes, read by the server and by the client with one grammar.
///
/// Source: RFC 9112. Strict where leniency lets two readers see two messages: no line folding, no
/// space before a colon, no bare CR, not both Content-Length and chunks, no length given twice.
/// Which of these Boost.Beast accepts: docs/decisions/0013-s3-server.md.

/// The end of the head in `bytes` (after its empty line); 0 if it is not complete. `from`: how many
/// bytes earlier calls have already searched.
std::size_t head_end(std::string_view bytes, std::size_t from);
/// False once `bytes` cannot become a request: a client that speaks TLS to a server that does not
/// waits for an answer, and so would the server.
bool may_begin_request(std::string_view bytes);
/// False if `bytes` (any number of them) cannot be the start of a response, so that the client does
/// not wait for its end.
bool may_begin_answer(std::string_view bytes);

/// Why a head is invalid, and a server's status for such a request: 400, 431, 501, 505.
struct BadHead {
  int status = 400;
  std::string_view why;
};

struct ParsedRequest {
  Incoming incoming;
  bool http11 = true;  ///< Not HTTP/1.0, which knows no chunks.
  bool keep_alive = true;
  bool expects_continue = false;
};
/// `head` ends with its empty line; the texts of what is returned are views into it.
Result<ParsedRequest, BadHead> parse_request(std::string_view head);

/// Decodes Transfer-Encoding: chunked, in pieces.
class ChunkDecoder {
 public:
  /// Describes the start of `bytes`: `skipped` bytes of framing, then `data` bytes of data. If both
  /// are 0, more bytes are needed, or the body is done(). Error: `protocol`.
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
  std::uint64_t left_ = 0;  ///< Bytes of the chunk's data.
  std::size_t trailer_bytes_ = 0;
};

/// The body of a message, in the bytes after its head.
class Body {
 public:
  enum class Framing { length, chunks, to_end };
  using Step = ChunkDecoder::Step;

  /// `bytes`: with Framing::length. By default there is no body.
  explicit Body(Framing framing = Framing::length, std::uint64_t bytes = 0)
      : framing_(framing), left_(bytes) {}
  Framing framing() const { return framing_; }
  /// As ChunkDecoder::next().
  Result<Step> next(std::string_view bytes);
  /// Never true for a body that ends with its connection.
  bool done() const;
  /// Bytes still to come, of a body with a length.
  std::uint64_t left() const { return left_; }

 private:
  Framing framing_;
  std::uint64_t left_;
  ChunkDecoder chunks_;
};

struct ParsedAnswer {
  Head head;
  Body body;
  bool keep_alive = true;  ///< According to the response's own headers.
};
/// `head` ends with its empty line. `to_head`: of a request HEAD, so that no body follows.
Result<ParsedAnswer, BadHead> parse_answer(std::string_view head, bool to_head);

std::string_view reason_of(int status);

}  // namespace muster::http
