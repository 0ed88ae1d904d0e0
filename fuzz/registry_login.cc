// What registries, their token services, credential helpers and config.json say. The first byte
// says which.
#include <algorithm>
#include <string_view>

#include "fuzz.h"
#include "image/pull/challenge.h"
#include "image/pull/docker_config.h"

namespace muster {

namespace {

void challenges(std::string_view header) {
  const Result<std::vector<image::Challenge>> found = image::challenges_from(header);
  if (!found) return;
  for (const image::Challenge& challenge : *found) {
    CHECK_THAT(!challenge.scheme.empty(), "a challenge has a scheme");
    for (const auto& [name, value] : challenge.parameters)
      CHECK_THAT(!name.empty() && value.find_first_of("\r\n") == std::string::npos,
                 "a parameter fits into a header");
  }
}

void token(std::string_view answer) {
  const Result<std::string> found = image::token_from(answer);
  if (!found) return;
  const bool plain =
      std::all_of(found->begin(), found->end(), [](char c) { return c > ' ' && c < '\x7f'; });
  CHECK_THAT(plain && !found->empty(), "a token fits into a header");
}

void config(std::string_view text) {
  const Result<image::ConfiguredLogin> found = image::login_in(text, "quay.io", "team/box");
  if (found && !found->helper.empty())
    CHECK_THAT(found->helper.find('/') == std::string::npos, "a helper is no path");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 'c') challenges(text);
  if (data[0] == 't') token(text);
  if (data[0] == 'd') config(text);
  if (data[0] == 'h') static_cast<void>(image::login_from_helper(text, true));
  return 0;
}

}  // namespace muster
