#include "server/registry/route.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "aws/percent.h"
#include "base/json.h"
#include "base/text.h"
#include "image/kept/repositories.h"
#include "image/reference.h"

namespace muster::registry {
namespace {

constexpr std::string_view start = "/v2/";
constexpr std::size_t upload_id_hex = 32;
constexpr std::size_t page_max = 1000;

using Words = std::vector<std::string>;

aws::Refusal no_such_place() {
  return {"UNSUPPORTED", "this is not a registry URL", 404};
}

/// The value of a query's first parameter of that name, decoded; empty if there is none.
std::string parameter(const aws::RequestHead& head, std::string_view name) {
  for (const std::string& pair : split(head.query(), '&')) {
    const std::size_t equals = pair.find('=');
    if (std::string_view(pair).substr(0, equals) != name || equals == std::string::npos) continue;
    return aws::percent_decoded(pair.substr(equals + 1), true).value_or("");
  }
  return "";
}

/// The part after the repository's name: the number of its words, and their meaning.
struct Tail {
  std::size_t words = 0;
  Kind kind = Kind::base;
};

std::optional<Tail> tail_of(const Words& words) {
  const std::size_t count = words.size();
  const auto word = [&](std::size_t from_end) -> std::string_view {
    return from_end <= count ? std::string_view(words[count - from_end]) : std::string_view();
  };
  if (word(2) == "tags" && word(1) == "list") return Tail{2, Kind::tags};
  if (word(3) == "blobs" && word(2) == "uploads")
    return Tail{3, word(1).empty() ? Kind::uploads : Kind::upload};
  if (word(2) == "blobs" && word(1) == "uploads") return Tail{2, Kind::uploads};
  if (word(2) == "blobs") return Tail{2, Kind::blob};
  if (word(2) == "manifests") return Tail{2, Kind::manifest};
  return std::nullopt;
}

bool is_upload_id(std::string_view id) {
  return id.size() == upload_id_hex &&
         id.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Result<void, aws::Refusal> read_last(Route& route, const std::string& last) {
  if (route.kind == Kind::upload) {
    if (!is_upload_id(last)) return aws::Refusal{"BLOB_UPLOAD_UNKNOWN", "upload not found", 404};
    route.id = last;
  } else if (route.kind == Kind::blob || last.find(':') != std::string::npos) {
    if (!image::is_digest(last))
      return aws::Refusal{"DIGEST_INVALID", "expected sha256: and 64 lower-case hex digits"};
    route.digest = last;
  } else {
    if (!image::is_tag_name(last))
      return aws::Refusal{"TAG_INVALID",
                          "expected a tag of up to 128 letters, digits, '_', '.' and '-'"};
    route.tag = last;
  }
  return {};
}

bool is_method_of(Kind kind, std::string_view method) {
  const bool reads = method == "GET" || method == "HEAD";
  switch (kind) {
    case Kind::base:
    case Kind::catalog:
    case Kind::tags:
      return reads;
    case Kind::blob:
      return reads || method == "DELETE";
    case Kind::manifest:
      return reads || method == "PUT" || method == "DELETE";
    case Kind::uploads:
      return method == "POST";
    case Kind::upload:
      return method == "GET" || method == "PATCH" || method == "PUT" || method == "DELETE";
  }
  return false;
}

void read_query(const aws::RequestHead& head, Route& route) {
  route.given_digest = parameter(head, "digest");
  const std::string mount = parameter(head, "mount");
  const std::string from = parameter(head, "from");
  if (image::is_digest(mount) && image::is_repository_name(from)) {
    route.mount = mount;
    route.mount_from = from;
  }
  const std::optional<std::int64_t> page = parse_integer(parameter(head, "n"));
  if (page && *page >= 0) route.page = std::min(static_cast<std::size_t>(*page), page_max);
  route.last = parameter(head, "last");
}

std::optional<std::uint64_t> digits(std::string_view text) {
  const std::optional<std::int64_t> number = parse_integer(text);
  if (!number || *number < 0 || text.starts_with('+')) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

}  // namespace

bool is_registry_path(std::string_view path) {
  return path == "/v2" || path.starts_with(start);
}

Result<Route, aws::Refusal> read_route(const aws::RequestHead& head) {
  Route route;
  const std::string_view path = head.path();
  const std::string_view rest = path.size() > start.size() ? path.substr(start.size()) : "";
  if (rest == "_catalog") {
    route.kind = Kind::catalog;
  } else if (!rest.empty()) {
    const Words words = split(rest, '/');
    const std::optional<Tail> tail = tail_of(words);
    if (!tail) return no_such_place();
    route.kind = tail->kind;
    const auto end = words.end() - static_cast<std::ptrdiff_t>(tail->words);
    route.repository = join(Words(words.begin(), end), "/");
    if (!image::is_repository_name(route.repository))
      return aws::Refusal{
          "NAME_INVALID",
          "expected a repository name of 2 to 200 lower-case letters and digits, with "
          "'/', '.', '_' and '-' between them"};
    if (route.kind != Kind::tags && route.kind != Kind::uploads)
      TRY(read_last(route, words.back()));
  }
  if (!is_method_of(route.kind, head.method))
    return aws::Refusal{"UNSUPPORTED", "this registry does not support this operation", 405};
  read_query(head, route);
  return route;
}

std::optional<ByteRange> read_content_range(std::string_view text) {
  if (text.starts_with("bytes ")) text.remove_prefix(6);
  text = text.substr(0, text.find('/'));
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const std::optional<std::uint64_t> first = digits(text.substr(0, dash));
  const std::optional<std::uint64_t> last = digits(text.substr(dash + 1));
  if (!first || !last || *last < *first) return std::nullopt;
  return ByteRange{*first, *last};
}

std::optional<ByteRange> read_range(std::string_view text, std::uint64_t bytes) {
  constexpr std::string_view unit = "bytes=";
  const std::uint64_t end = bytes == 0 ? 0 : bytes - 1;
  const ByteRange whole{0, end};
  const std::size_t dash = text.find('-');
  if (!text.starts_with(unit) || dash == std::string_view::npos) return whole;
  const std::string_view from = text.substr(unit.size(), dash - unit.size());
  const std::string_view to = text.substr(dash + 1);
  const std::optional<std::uint64_t> first = digits(from);
  const std::optional<std::uint64_t> last = digits(to);
  if (from.empty() && last) {
    if (*last == 0 || bytes == 0) return std::nullopt;
    return ByteRange{*last >= bytes ? 0 : bytes - *last, end};
  }
  if (!first || (!to.empty() && (!last || *last < *first))) return whole;
  if (*first >= bytes) return std::nullopt;
  return ByteRange{*first, last ? std::min(*last, end) : end};
}

std::string error_json(const aws::Refusal& refusal) {
  const Json error{{"code", refusal.code}, {"message", refusal.message}};
  return muster::to_text(Json{{"errors", Json::array({error})}});
}

}  // namespace muster::registry
