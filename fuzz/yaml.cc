// YAML of anybody's: read within its limits, or refused in one line.
#include "base/yaml.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "fuzz.h"

namespace muster {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const YamlOptions tagged{.tagged = [](std::string_view tag, Json value) -> Result<Json> {
                             return Json{{std::string(tag), std::move(value)}};
                           },
                           .is_text_kept = true};
  for (const YamlOptions& options : {YamlOptions{}, tagged}) {
    const Result<Json> read = parse_yaml(text, options);
    if (!read) {
      CHECK_THAT(read.error().text.find('\0') == std::string::npos, "an error is text");
      continue;
    }
    const Result<Json> again = parse_json(to_text(*read));
    CHECK_THAT(again.has_value(), "what was read can be written as JSON");
  }
  return 0;
}

}  // namespace muster
