#include <algorithm>
#include <charconv>

#include "aws/s3wire/s3_request.h"
#include "base/dates.h"
#include "base/letters.h"
#include "base/text.h"

namespace muster::s3wire {
namespace {

/// True if `etag` is in `list`: "*", or ETags by commas, with quotes or without, weak or not.
bool names_etag(std::string_view list, std::string_view etag) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    std::string one = trim(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
    if (one == "*") return true;
    std::string_view named = one;
    if (named.starts_with("W/")) named.remove_prefix(2);
    if (named.size() >= 2 && named.front() == '"' && named.back() == '"')
      named = named.substr(1, named.size() - 2);
    if (!named.empty() && named == etag) return true;
  }
  return false;
}

/// HTTP's dates have whole seconds.
bool is_later(UnixMillis modified, UnixMillis than) {
  return std::chrono::floor<std::chrono::seconds>(modified) >
         std::chrono::floor<std::chrono::seconds>(than);
}

}  // namespace

std::optional<ByteSpan> resolved(const AskedRange& range, std::uint64_t size) {
  if (!range.first) {
    const std::uint64_t bytes = std::min(range.last.value_or(0), size);
    if (bytes == 0) return std::nullopt;
    return ByteSpan{size - bytes, bytes};
  }
  if (*range.first >= size) return std::nullopt;
  const std::uint64_t last = std::min(range.last.value_or(size - 1), size - 1);
  if (last < *range.first) return std::nullopt;
  return ByteSpan{*range.first, last - *range.first + 1};
}

std::string content_range(const ByteSpan& span, std::uint64_t size) {
  return "bytes " + std::to_string(span.offset) + "-" +
         std::to_string(span.offset + span.bytes - 1) + "/" + std::to_string(size);
}

Precondition read_precondition(const Conditions& conditions, std::string_view etag,
                               UnixMillis modified) {
  if (!conditions.if_match.empty()) {
    if (!names_etag(conditions.if_match, etag)) return Precondition::failed;
  } else if (conditions.if_unmodified_since &&
             is_later(modified, *conditions.if_unmodified_since)) {
    return Precondition::failed;
  }
  if (!conditions.if_none_match.empty())
    return names_etag(conditions.if_none_match, etag) ? Precondition::not_modified
                                                      : Precondition::proceed;
  if (conditions.if_modified_since && !is_later(modified, *conditions.if_modified_since))
    return Precondition::not_modified;
  return Precondition::proceed;
}

bool range_holds(std::string_view if_range, std::string_view etag, UnixMillis modified) {
  if (if_range.empty()) return true;
  if (if_range == etag || if_range == "\"" + std::string(etag) + "\"") return true;
  const std::optional<UnixMillis> time = parse_http_date(if_range);
  return time && *time == std::chrono::floor<std::chrono::seconds>(modified);
}

Precondition copy_precondition(const Conditions& conditions, std::string_view etag,
                               UnixMillis modified) {
  const Precondition precondition = read_precondition(conditions, etag, modified);
  return precondition == Precondition::not_modified ? Precondition::failed : precondition;
}

Precondition write_precondition(const Conditions& conditions,
                                std::optional<std::string_view> etag) {
  if (!conditions.if_match.empty() && (!etag || !names_etag(conditions.if_match, *etag)))
    return Precondition::failed;
  if (!conditions.if_none_match.empty() && etag && names_etag(conditions.if_none_match, *etag))
    return Precondition::failed;
  return Precondition::proceed;
}

bool is_bucket_name(std::string_view name) {
  if (name.size() < 3 || name.size() > 63 || !is_lower_or_digit(name.front()) ||
      !is_lower_or_digit(name.back()))
    return false;
  bool is_address = true;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (!is_lower_or_digit(c) && c != '.' && c != '-') return false;
    // A label neither begins nor ends in '-', and is not empty.
    if (c == '.' && !(is_lower_or_digit(name[i - 1]) && is_lower_or_digit(name[i + 1])))
      return false;
    if (c != '.' && !is_digit(c)) is_address = false;
  }
  return !is_address || std::count(name.begin(), name.end(), '.') != 3;
}

}  // namespace muster::s3wire
