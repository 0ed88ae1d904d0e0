#include "base/files/swept.h"

#include <nlohmann/json.hpp>

namespace muster {

std::string lines_of(const Swept& swept) {
  std::string text;
  for (const std::string& what : swept.removed) text += "removed " + what + "\n";
  for (const std::string& what : swept.failed) text += "could not remove " + what + "\n";
  return text;
}

Json to_json(const Swept& swept) {
  return {{"removed", swept.removed}, {"failed", swept.failed}};
}

Result<Swept> swept_from(const Json& json) {
  try {
    return Swept{json.at("removed").get<std::vector<std::string>>(),
                 json.at("failed").get<std::vector<std::string>>()};
  } catch (const Json::exception& error) {
    return fail(Errc::protocol,
                std::string("cannot parse the output of sm steward --sweep: ") + error.what());
  }
}

}  // namespace muster
