// A request to the server's registry: its place, its login, its ranges. The input is a head, as
// fuzz/head.h has it.
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "fuzz.h"
#include "head.h"
#include "image/kept/repositories.h"
#include "image/reference.h"
#include "server/registry/login.h"
#include "server/registry/route.h"

namespace muster {

namespace {

const UnixMillis now = std::chrono::hours(1000);

const access::KeyRing& keys() {
  static const access::KeyRing* const ring = [] {
    auto* made = new access::KeyRing;
    CHECK_THAT(made->add({"USER", "secretsecret", "", std::nullopt, {}, ""}), "a key");
    return made;
  }();
  return *ring;
}

void check_refusal(const aws::Refusal& refusal) {
  CHECK_THAT(refusal.message.find('\n') == std::string::npos, "a refusal is one line");
  CHECK_THAT(parse_json(registry::error_json(refusal)), "a refusal is JSON");
}

void check_route(const registry::Route& route) {
  const bool has_name = route.kind != registry::Kind::base && route.kind != registry::Kind::catalog;
  CHECK_THAT(has_name == image::is_repository_name(route.repository), "a repository has its form");
  CHECK_THAT(route.tag.empty() || image::is_tag_name(route.tag), "a tag has its form");
  CHECK_THAT(route.digest.empty() || image::is_digest(route.digest), "a digest has its form");
  CHECK_THAT(route.mount.empty() || image::is_digest(route.mount), "what is mounted is a digest");
  CHECK_THAT(route.mount.empty() == route.mount_from.empty(), "a mount comes from somewhere");
  CHECK_THAT(route.mount_from.empty() || image::is_repository_name(route.mount_from),
             "a mount comes from a repository");
  const bool hex = route.id.find_first_not_of("0123456789abcdef") == std::string::npos;
  CHECK_THAT(route.id.empty() || (route.id.size() == 32 && hex), "an upload's id is no path");
  if (route.kind == registry::Kind::blob)
    CHECK_THAT(!route.digest.empty(), "a blob is asked for by digest");
  if (route.kind == registry::Kind::manifest)
    CHECK_THAT(route.digest.empty() != route.tag.empty(), "a manifest by tag or by digest");
}

void check_ranges(std::string_view value) {
  if (const auto came = registry::read_content_range(value))
    CHECK_THAT(came->first <= came->last, "a range does not run backwards");
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1000}})
    if (const auto range = registry::read_range(value, bytes))
      CHECK_THAT(bytes == 0 || (range->first <= range->last && range->last < bytes),
                 "a range is within the blob");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Head head = head_of({reinterpret_cast<const char*>(data), size});
  const Result<registry::Route, aws::Refusal> route = registry::read_route(head.view());
  if (route)
    check_route(*route);
  else
    check_refusal(route.error());
  for (const aws::HeaderView& header : head.headers) {
    check_ranges(header.second);
    const auto key = registry::logged_in(header.second, keys(), now);
    if (key) CHECK_THAT(*key && (*key)->id == "USER", "who comes in has a key");
    if (!key) CHECK_THAT(key.error().text.find('\n') == std::string::npos, "an error is one line");
  }
  return 0;
}

}  // namespace muster
