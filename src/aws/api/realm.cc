#include "aws/api/realm.h"

#include "base/text.h"

namespace muster::api {

std::string job_arn(const Realm& realm, const std::string& name) {
  return "arn:aws:sagemaker:" + realm.region + ":" + realm.account + ":training-job/" + name;
}

std::string job_of_arn(const std::string& arn) {
  const std::vector<std::string> parts = split(arn, ':');
  constexpr std::string_view kind = "training-job/";
  if (parts.size() != 6 || parts[0] != "arn" || parts[2] != "sagemaker") return {};
  if (!parts[5].starts_with(kind)) return {};
  return parts[5].substr(kind.size());
}

}  // namespace muster::api
