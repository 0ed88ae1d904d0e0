#include "base/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace muster {

Result<Json> parse_json(std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    std::string what = error.what();
    const std::size_t at = what.find("at line");
    return fail(Errc::invalid_input,
                "not JSON " + (at == std::string::npos ? what : what.substr(at)));
  } catch (const Json::exception& error) {  // A number that no double can hold.
    const std::string what = error.what();
    return fail(Errc::invalid_input, "not JSON that muster can read: " +
                                         what.substr(std::min(what.size(), what.find("] ") + 2)));
  }
}

std::string to_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace muster
