#include "image/pull/challenge.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/letters.h"
#include "base/text.h"

namespace muster::image {
namespace {

constexpr std::size_t header_bytes_max = 8u << 10;
constexpr std::size_t challenges_max = 16;
constexpr std::size_t parameters_max = 32;
constexpr std::size_t token_bytes_max = 48u << 10;  ///< What servers take as a header at most.

Error invalid_challenge(const char* why) {
  return fail(Errc::protocol, std::string("WWW-Authenticate: ") + why);
}

bool is_token_byte(char c) {
  return is_letter_or_digit(c) ||
         (c != '\0' && std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos);
}
bool is_token68_byte(char c) {
  return is_letter_or_digit(c) ||
         (c != '\0' && std::string_view("-._~+/").find(c) != std::string_view::npos);
}

/// Takes a header from its front.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}
  bool at_end() const { return text_.empty(); }
  bool at(char c) const { return text_.starts_with(c); }
  void skip() { text_.remove_prefix(1); }
  void skip_space() {
    while (at(' ') || at('\t')) skip();
  }
  void skip_commas() {
    while (at(' ') || at('\t') || at(',')) skip();
  }
  template <class IsByte>
  std::string_view take(IsByte is_byte) {
    const auto end = std::find_if_not(text_.begin(), text_.end(), is_byte);
    const std::string_view taken = text_.substr(0, static_cast<std::size_t>(end - text_.begin()));
    text_.remove_prefix(taken.size());
    return taken;
  }
  Result<std::string> quoted();
  /// The token68 that some schemes have in place of parameters; not consumed if there is none.
  void skip_token68();

 private:
  std::string_view text_;
};

Result<std::string> Cursor::quoted() {
  std::string value;
  skip();
  while (!at_end() && !at('"')) {
    if (at('\\')) skip();
    if (at_end()) break;
    const char c = text_.front();
    if ((c >= 0 && c < ' ' && c != '\t') || c == '\x7f')
      return invalid_challenge("a value contains a control character");
    value += c;
    skip();
  }
  if (at_end()) return invalid_challenge("missing closing '\"'");
  skip();
  return value;
}

void Cursor::skip_token68() {
  Cursor ahead = *this;
  if (ahead.take(is_token68_byte).empty()) return;
  ahead.take([](char c) { return c == '='; });
  ahead.skip_space();
  if (ahead.at_end() || ahead.at(',')) *this = ahead;
}

Result<std::string> value_of(Cursor& cursor) {
  if (cursor.at('"')) return cursor.quoted();
  const std::string_view value = cursor.take(is_token_byte);
  if (value.empty()) return invalid_challenge("a parameter has no value");
  return std::string(value);
}

}  // namespace

std::string Challenge::value(const std::string& name) const {
  const auto at = parameters.find(name);
  return at == parameters.end() ? "" : at->second;
}

Result<std::vector<Challenge>> challenges_from(std::string_view header) {
  if (header.size() > header_bytes_max) return invalid_challenge("the header is too long");
  std::vector<Challenge> found;
  std::size_t parameters = 0;
  Cursor cursor(header);
  while (true) {
    cursor.skip_commas();
    if (cursor.at_end()) return found;
    const std::string word = lower_case(cursor.take(is_token_byte));
    if (word.empty()) return invalid_challenge("expected a word");
    cursor.skip_space();
    if (!cursor.at('=')) {
      if (found.size() == challenges_max) return invalid_challenge("too many challenges");
      found.push_back({word, {}});
      cursor.skip_token68();
      continue;
    }
    cursor.skip();
    cursor.skip_space();
    if (found.empty()) return invalid_challenge("a parameter precedes the scheme");
    if (++parameters > parameters_max) return invalid_challenge("too many parameters");
    const std::string value = TRY(value_of(cursor));
    if (!found.back().parameters.emplace(word, value).second)
      return invalid_challenge("a parameter appears twice");
    cursor.skip_space();
    if (!cursor.at_end() && !cursor.at(','))
      return invalid_challenge("a comma is missing after a parameter");
  }
}

Result<std::string> token_from(std::string_view answer) {
  const Result<Json> json = parse_json(answer);
  if (!json || !json->is_object()) return fail(Errc::protocol, "the response is not a JSON object");
  for (const char* name : {"token", "access_token"}) {
    const auto at = json->find(name);
    if (at == json->end() || !at->is_string()) continue;
    std::string token = at->get<std::string>();
    const bool plain =
        std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < '\x7f'; });
    if (token.empty()) continue;
    if (!plain || token.size() > token_bytes_max)
      return fail(Errc::protocol, "the token is too long or contains invalid characters");
    return token;
  }
  return fail(Errc::protocol, "the response has no token");
}

}  // namespace muster::image
