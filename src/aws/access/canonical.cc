#include "aws/access/canonical.h"

#include <algorithm>
#include <array>
#include <deque>
#include <vector>

#include "aws/percent.h"
#include "aws/sign.h"
#include "base/text.h"

namespace muster::access {
namespace {

constexpr std::array<bool, 256> make_unreserved() {
  std::array<bool, 256> table{};
  for (const char c : std::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                       "0123456789-._~"))
    table[static_cast<unsigned char>(c)] = true;
  return table;
}
constexpr std::array<bool, 256> unreserved = make_unreserved();

bool is_unreserved(char c) {
  return unreserved[static_cast<unsigned char>(c)];
}

/// True if decoding and encoding `text` again gives the same, which almost all texts are.
bool is_canonical(std::string_view text, bool keep_slash) {
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return is_unreserved(c) || (keep_slash && c == '/'); });
}

/// Decoded and encoded again. Invalid encoding counts as plain text.
std::string recoded(std::string_view text, bool keep_slash) {
  const std::optional<std::string> decoded = aws::percent_decoded(text, !keep_slash);
  return aws::percent_encoded(decoded ? std::string_view(*decoded) : text, keep_slash);
}

/// Without empty and "." segments, ".." takes the one before it away (RFC 3986 section 5.2.4, and
/// as the signers of AWS's SDKs have it).
std::string without_dots(std::string_view path) {
  std::vector<std::string_view> kept;
  std::string_view rest = path;
  while (!rest.empty()) {
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    const std::string_view segment = rest.substr(0, slash);
    rest.remove_prefix(std::min(slash + 1, rest.size()));
    if (segment == ".." && !kept.empty()) kept.pop_back();
    if (!segment.empty() && segment != "." && segment != "..") kept.push_back(segment);
  }
  std::string plain;
  for (const std::string_view segment : kept) (plain += '/') += segment;
  if (plain.empty() || path.ends_with('/')) plain += '/';
  return plain;
}

/// Without spaces at the ends, a row of them as one.
void put_folded(std::string& out, std::string_view value) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  bool plain = true;
  char before = ' ';
  for (const char c : value) {
    plain = plain && (!is_space(c) || (c == ' ' && before != ' '));
    before = c;
  }
  if (plain && before != ' ') {
    out += value;
    return;
  }
  bool space = false;
  const std::size_t begin = out.size();
  for (const char c : value) {
    if (is_space(c)) {
      space = true;
      continue;
    }
    if (space && out.size() > begin) out += ' ';
    space = false;
    out += c;
  }
}

}  // namespace

std::string_view next_name(std::string_view& names) {
  const std::size_t end = std::min(names.find(';'), names.size());
  const std::string_view name = names.substr(0, end);
  names.remove_prefix(std::min(end + 1, names.size()));
  return name;
}

void put_canonical_path(std::string& out, std::string_view path, bool of_s3) {
  if (!of_s3)
    out += aws::percent_encoded(without_dots(path), true);
  else if (is_canonical(path, true))
    out += path;
  else
    out += recoded(path, true);
}

void put_canonical_query(std::string& out, std::string_view query, std::string_view without) {
  std::vector<std::pair<std::string_view, std::string_view>> parts;
  // Texts that had to be encoded again; a deque's texts stay in place.
  std::deque<std::string> owned;
  const auto canonical = [&](std::string_view text) -> std::string_view {
    if (is_canonical(text, false)) return text;
    return owned.emplace_back(recoded(text, false));
  };
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view one = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    const std::size_t equals = std::min(one.find('='), one.size());
    const std::string_view name = one.substr(0, equals);
    if (one.empty() || (!without.empty() && name == without)) continue;
    const std::string_view value = one.substr(std::min(equals + 1, one.size()));
    const std::string_view plain_name = canonical(name);
    parts.emplace_back(plain_name, canonical(value));
  }
  std::sort(parts.begin(), parts.end());
  bool first = true;
  for (const auto& [name, value] : parts) {
    if (!first) out += '&';
    first = false;
    ((out += name) += '=') += value;
  }
}

void put_canonical_headers(std::string& out, const aws::RequestHead& head, std::string_view names) {
  while (!names.empty()) {
    const std::string_view name = next_name(names);
    (out += name) += ':';
    bool first = true;
    for (const auto& [key, value] : head.headers) {
      if (!same_letters(key, name)) continue;
      if (!first) out += ',';
      first = false;
      put_folded(out, value);
    }
    out += '\n';
  }
}

}  // namespace muster::access
