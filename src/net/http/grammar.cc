#include "net/http/grammar.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"

namespace muster::http {
namespace {

constexpr std::size_t headers_max = 256;
constexpr std::size_t scheme_bytes_max = 5;  // "https"
constexpr std::size_t chunk_line_bytes_max = 1024;
constexpr std::size_t trailers_bytes_max = 16 << 10;

/// RFC 9110's token.
constexpr std::array<bool, 256> token_table = [] {
  std::array<bool, 256> table{};
  for (int c = 'a'; c <= 'z'; ++c) table[static_cast<std::size_t>(c)] = true;
  for (int c = 'A'; c <= 'Z'; ++c) table[static_cast<std::size_t>(c)] = true;
  for (int c = '0'; c <= '9'; ++c) table[static_cast<std::size_t>(c)] = true;
  for (const char c : std::string_view("!#$%&'*+-.^_`|~"))
    table[static_cast<std::size_t>(c)] = true;
  return table;
}();

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return token_table[static_cast<unsigned char>(c)];
  });
}

bool is_control(char c) {
  const auto code = static_cast<unsigned char>(c);
  return (code < 0x20 && code != '\t') || code == 0x7f;
}

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

/// True if the comma-separated list contains `word`, which is in lower case.
bool lists(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (same_letters(trimmed(list.substr(0, comma)), word)) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

using Fields = std::vector<std::pair<std::string_view, std::string_view>>;

BadHead bad_head(std::string_view why) {
  return {.status = 400, .why = why};
}

/// The header fields that determine how the message is read.
struct Known {
  int hosts = 0;
  int lengths = 0;
  int codings = 0;
  std::optional<std::uint64_t> body_bytes;
  bool chunked = false;
  bool close = false;
  bool expects_continue = false;
};

Result<void, BadHead> read_known(std::string_view name, std::string_view value, Known& known) {
  if (same_letters(name, "host")) {
    if (++known.hosts > 1) return bad_head("there are two Host headers");
  } else if (same_letters(name, "content-length")) {
    std::uint64_t bytes = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), bytes);
    if (error != std::errc() || end != value.data() + value.size() || (bytes >> 62) != 0)
      return bad_head("invalid Content-Length");
    if (++known.lengths > 1) return bad_head("there are two Content-Length headers");
    known.body_bytes = bytes;
  } else if (same_letters(name, "transfer-encoding")) {
    if (++known.codings > 1 || !same_letters(value, "chunked"))
      return BadHead{501, "Transfer-Encoding is not chunked"};
    known.chunked = true;
  } else if (same_letters(name, "connection")) {
    if (lists(value, "close")) known.close = true;
  } else if (same_letters(name, "expect")) {
    if (same_letters(value, "100-continue")) known.expects_continue = true;
  }
  return {};
}

/// `lines`: the lines between the first and the empty one, each with its end.
Result<void, BadHead> read_fields(std::string_view lines, bool http11, Fields& fields,
                                  Known& known) {
  while (!lines.empty()) {
    const std::size_t end = lines.find("\r\n");
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(end + 2);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || !is_token(line.substr(0, colon)))
      return bad_head("a header line has no name");
    const std::string_view value = trimmed(line.substr(colon + 1));
    if (std::any_of(value.begin(), value.end(), is_control))
      return bad_head("the message head contains a control character");
    if (fields.size() == headers_max) return BadHead{431, "too many headers"};
    fields.emplace_back(line.substr(0, colon), value);
    TRY(read_known(line.substr(0, colon), value, known));
  }
  if (known.chunked && known.lengths > 0)
    return bad_head("the message has both Content-Length and chunked encoding");
  if (known.chunked && !http11)
    return bad_head("HTTP/1.0 does not support chunked encoding");  // RFC 9112 section 6.1.
  return {};
}

/// The lines after the first one, each with its end, without the empty line at the end.
std::string_view lines_behind(std::string_view text, std::size_t first) {
  CHECK_THAT(text.ends_with("\r\n\r\n"), "a head ends with its empty line");
  return text.substr(first + 2, text.size() - first - 4);
}

/// Reads "METHOD target HTTP/1.1".
Result<void, BadHead> read_request_line(std::string_view line, ParsedRequest& head) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return bad_head("missing request line");
  head.incoming.method = line.substr(0, first);
  head.incoming.target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  if (!is_token(head.incoming.method) || head.incoming.method.size() > 32)
    return bad_head("invalid method");
  const std::string_view target = head.incoming.target;
  if (target.empty() || target.find(' ') != std::string_view::npos ||
      std::any_of(target.begin(), target.end(), is_control))
    return bad_head("invalid request target");
  if (version != "HTTP/1.1" && version != "HTTP/1.0")
    return BadHead{version.starts_with("HTTP/") ? 505 : 400, "it is not HTTP/1.1"};
  head.http11 = head.keep_alive = version == "HTTP/1.1";
  return {};
}

/// Converts "http://host/path", as sent to proxies, to "/path"; `authority` is the part before it.
Result<void, BadHead> strip_origin(std::string_view& target, std::string_view& authority) {
  if (target.front() == '/' || target == "*") return {};
  const std::size_t scheme = target.find("://");
  if (scheme > scheme_bytes_max)
    return bad_head("invalid request target");  // Also if it is missing.
  const std::size_t slash = target.find('/', scheme + 3);
  if (slash == std::string_view::npos) return bad_head("invalid request target");
  authority = target.substr(scheme + 3, slash - scheme - 3);
  target.remove_prefix(slash);
  return {};
}

/// Reads "HTTP/1.1 200 OK"; the reason, and the space before it, may be missing.
Result<int, BadHead> read_status_line(std::string_view line, bool& http11) {
  http11 = line.starts_with("HTTP/1.1 ");
  if (!http11 && !line.starts_with("HTTP/1.0 ")) return bad_head("it is not HTTP/1.1");
  const std::string_view digits = line.substr(9, 3);
  int status = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), status);
  const bool three = error == std::errc() && end == digits.data() + 3 && status >= 100;
  if (!three || (line.size() > 12 && line[12] != ' ')) return bad_head("the status is missing");
  if (std::any_of(line.begin(), line.end(), is_control))
    return bad_head("the message head contains a control character");
  return status;
}

/// Source: RFC 9112 section 6.3.
Body body_of_answer(int status, const Known& known, bool to_head) {
  if (to_head || status / 100 == 1 || status == 204 || status == 304) return Body();
  if (known.chunked) return Body(Body::Framing::chunks);
  if (known.body_bytes) return Body(Body::Framing::length, *known.body_bytes);
  return Body(Body::Framing::to_end);
}

}  // namespace

std::optional<std::string_view> Incoming::value(std::string_view name) const {
  for (const auto& [key, text] : headers)
    if (same_letters(key, name)) return text;
  return std::nullopt;
}

std::size_t head_end(std::string_view bytes, std::size_t from) {
  const std::size_t at = bytes.find("\r\n\r\n", from < 3 ? 0 : from - 3);
  return at == std::string_view::npos ? 0 : at + 4;
}

bool may_begin_answer(std::string_view bytes) {
  const std::string_view begin = "HTTP/1.";
  return bytes.substr(0, begin.size()) == begin.substr(0, bytes.size());
}

Result<ParsedRequest, BadHead> parse_request(std::string_view text) {
  ParsedRequest head;
  Incoming& incoming = head.incoming;
  incoming.headers.reserve(24);
  const std::size_t line = text.find("\r\n");
  TRY(read_request_line(text.substr(0, line), head));
  std::string_view authority;
  TRY(strip_origin(incoming.target, authority));
  Known known;
  TRY(read_fields(lines_behind(text, line), head.http11, incoming.headers, known));
  if (known.hosts == 0 && head.http11) return bad_head("the Host header is missing");
  // Other readers may prefer the other one, and only the Host header is signed.
  if (!authority.empty() && !same_letters(authority, incoming.value("host").value_or("")))
    return bad_head("the host in the request target differs from the Host header");
  incoming.body_bytes = known.body_bytes;
  incoming.chunked = known.chunked;
  if (known.close) head.keep_alive = false;
  head.expects_continue = known.expects_continue;
  return head;
}

Result<ParsedAnswer, BadHead> parse_answer(std::string_view text, bool to_head) {
  bool http11 = true;
  const std::size_t line = text.find("\r\n");
  ParsedAnswer answer;
  answer.head.status = TRY(read_status_line(text.substr(0, line), http11));
  Fields fields;
  Known known;
  TRY(read_fields(lines_behind(text, line), http11, fields, known));
  for (const auto& [name, value] : fields) answer.head.headers.emplace_back(name, value);
  answer.body = body_of_answer(answer.head.status, known, to_head);
  answer.keep_alive = http11 && !known.close && answer.body.framing() != Body::Framing::to_end;
  return answer;
}

Result<Body::Step> Body::next(std::string_view bytes) {
  if (framing_ == Framing::chunks) return chunks_.next(bytes);
  if (framing_ == Framing::to_end) return Step{.data = bytes.size()};
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
  left_ -= count;
  return Step{.data = count};
}

bool Body::done() const {
  if (framing_ == Framing::chunks) return chunks_.done();
  return framing_ == Framing::length && left_ == 0;
}

Result<ChunkDecoder::Step> ChunkDecoder::next(std::string_view bytes) {
  if (state_ == State::done || bytes.empty()) return Step{};
  if (state_ != State::data) return line(bytes);
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
  left_ -= count;
  if (left_ == 0) state_ = State::data_end;
  return Step{.data = count};
}

/// One line of the framing, if it is complete.
Result<ChunkDecoder::Step> ChunkDecoder::line(std::string_view bytes) {
  const std::size_t end = bytes.substr(0, chunk_line_bytes_max).find("\r\n");
  if (end == std::string_view::npos) {
    if (bytes.size() >= chunk_line_bytes_max)
      return fail(Errc::protocol, "the line with a chunk's size is too long");
    return Step{};
  }
  const std::string_view text = bytes.substr(0, end);
  const Step step{.skipped = end + 2};
  // Other readers would treat a bare line feed as the end of the line.
  if (std::any_of(text.begin(), text.end(), is_control))
    return fail(Errc::protocol, "there is a control character between chunks");
  if (state_ == State::data_end) {
    if (!text.empty()) return fail(Errc::protocol, "a chunk is larger than its declared size");
    state_ = State::size;
    return step;
  }
  if (state_ == State::trailer) {
    trailer_bytes_ += end;
    if (trailer_bytes_ > trailers_bytes_max) return fail(Errc::protocol, "the trailer is too long");
    if (text.empty()) state_ = State::done;
    return step;
  }
  const std::string_view digits = trimmed(text.substr(0, text.find(';')));
  const auto [last, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), left_, 16);
  if (error != std::errc() || last != digits.data() + digits.size() || (left_ >> 62) != 0)
    return fail(Errc::protocol, "a chunk has no valid size");
  state_ = left_ == 0 ? State::trailer : State::data;
  return step;
}

bool may_begin_request(std::string_view bytes) {
  return bytes.empty() || is_token(bytes.substr(0, 1));
}

std::string_view reason_of(int status) {
  static constexpr std::pair<int, std::string_view> reasons[] = {
      {200, "OK"},
      {201, "Created"},
      {202, "Accepted"},
      {204, "No Content"},
      {206, "Partial Content"},
      {301, "Moved Permanently"},
      {304, "Not Modified"},
      {307, "Temporary Redirect"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {408, "Request Timeout"},
      {409, "Conflict"},
      {411, "Length Required"},
      {412, "Precondition Failed"},
      {413, "Content Too Large"},
      {416, "Range Not Satisfiable"},
      {429, "Too Many Requests"},
      {431, "Request Header Fields Too Large"},
      {500, "Internal Server Error"},
      {501, "Not Implemented"},
      {503, "Service Unavailable"},
      {505, "HTTP Version Not Supported"},
      {507, "Insufficient Storage"},
  };
  for (const auto& [code, text] : reasons)
    if (code == status) return text;
  return "Status";
}

}  // namespace muster::http
