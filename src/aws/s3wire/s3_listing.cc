#include "aws/s3wire/s3_listing.h"

#include <algorithm>

#include "base/text.h"

namespace muster::s3wire {
namespace {

/// The part of `key` up to the first delimiter behind the prefix; none if there is none.
std::optional<std::string> common_prefix(std::string_view key, const ListQuery& query) {
  if (query.delimiter.empty()) return std::nullopt;
  const std::size_t at = key.find(query.delimiter, query.prefix.size());
  if (at == std::string_view::npos) return std::nullopt;
  return std::string(key.substr(0, at + query.delimiter.size()));
}

/// The least key that a page may begin with; none if there is none.
std::optional<std::string> first_key(const ListQuery& query) {
  if (query.after < query.prefix) return query.prefix;
  // A page that ended with a common prefix has had all that begins with it.
  const bool at_common =
      query.after.starts_with(query.prefix) && common_prefix(query.after, query) == query.after;
  if (at_common) return behind_prefix(query.after);
  return query.after.empty() ? std::string() : query.after + '\0';
}

}  // namespace

Listing list(KeyCursor& keys, const ListQuery& query) {
  Listing page;
  std::optional<std::string> from = first_key(query);
  if (!from || query.max == 0) return page;
  keys.seek(*from);
  while (const std::optional<std::string_view> key = keys.key()) {
    if (!key->starts_with(query.prefix)) break;
    if (query.named_only && key->size() > query.prefix.size()) {
      const unsigned char next = static_cast<unsigned char>((*key)[query.prefix.size()]);
      if (next > '/') break;
      if (next < '/') {
        keys.seek(query.prefix + "/");
        continue;
      }
    }
    if (page.objects.size() + page.common_prefixes.size() >= query.max) {
      page.truncated = true;
      break;
    }
    if (std::optional<std::string> common = common_prefix(*key, query)) {
      page.next = *common;
      page.common_prefixes.push_back(std::move(*common));
      const std::optional<std::string> behind = behind_prefix(page.next);
      if (!behind) break;
      keys.seek(*behind);
      continue;
    }
    if (std::optional<ListedObject> object = keys.object()) {
      page.next = object->key;
      page.objects.push_back(std::move(*object));
    }
    keys.next();
  }
  if (!page.truncated) page.next.clear();
  return page;
}

std::string continuation_token(std::string_view next) {
  return hex(next);
}

std::optional<std::string> continued_at(std::string_view token) {
  if (token.empty()) return std::nullopt;
  return from_hex(token);
}

std::optional<std::string> behind_prefix(std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xff') prefix.pop_back();
  if (prefix.empty()) return std::nullopt;
  prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

}  // namespace muster::s3wire
