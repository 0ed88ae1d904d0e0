#include "server/operations/identity.h"

#include <nlohmann/json.hpp>

#include "aws/api/inputs.h"
#include "base/text.h"

namespace muster::server {
namespace {

constexpr const char* role_id = "AROAMUSTERMUSTERMUST";

/// Percent-encoded, as IAM gives documents.
constexpr const char* trust_sagemaker =
    "%7B%22Version%22%3A%222012-10-17%22%2C%22Statement%22%3A%5B%7B%22Effect%22%3A%22Allow%22%2C"
    "%22Principal%22%3A%7B%22Service%22%3A%22sagemaker.amazonaws.com%22%7D%2C%22Action%22%3A%22sts"
    "%3AAssumeRole%22%7D%5D%7D";

Json role(const std::string& name, const api::Realm& realm) {
  return {{"RoleName", name},
          {"RoleId", role_id},
          {"Path", "/"},
          {"Arn", "arn:aws:iam::" + realm.account + ":role/" + name},
          {"CreateDate", 0},
          {"MaxSessionDuration", 43200},
          {"AssumeRolePolicyDocument", trust_sagemaker}};
}

/// Every action on every resource: who may do what is a matter of keys here, not of roles.
Json simulated(const Json& input) {
  std::vector<std::string> resources = api::texts_of(input, "ResourceArns");
  if (resources.empty()) resources.emplace_back("*");
  Json results = Json::array();
  for (const std::string& action : api::texts_of(input, "ActionNames"))
    for (const std::string& resource : resources)
      results.push_back({{"EvalActionName", action},
                         {"EvalResourceName", resource},
                         {"EvalDecision", "allowed"},
                         {"MatchedStatements", Json::array()},
                         {"MissingContextValues", Json::array()}});
  return {{"EvaluationResults", std::move(results)}, {"IsTruncated", false}};
}

api::Answer of_sts(const api::Request& request, const api::Realm& realm) {
  if (request.operation == "GetCallerIdentity") {
    const Identity identity = identity_of(request, realm);
    return Json{{"UserId", identity.user_id}, {"Account", realm.account}, {"Arn", identity.arn}};
  }
  return aws::Refusal{"InvalidAction", "muster does not support sts:" + request.operation};
}

api::Answer of_iam(const api::Request& request, const api::Realm& realm) {
  if (request.operation == "GetRole")
    return Json{{"Role", role(api::text_of(request.input, "RoleName"), realm)}};
  if (request.operation == "SimulatePrincipalPolicy") return simulated(request.input);
  return aws::Refusal{"InvalidAction", "muster does not support iam:" + request.operation};
}

}  // namespace

Identity assumed_identity(const std::string& session, const api::Realm& realm) {
  const std::string name = session.substr(session.find('/') + 1);
  return {std::string(role_id) + ":" + name,
          "arn:aws:sts::" + realm.account + ":assumed-role/" + session};
}

Identity identity_of(const api::Request& request, const api::Realm& realm) {
  if (!request.session.empty()) return assumed_identity(request.session, realm);
  return {request.access_key.empty() ? realm.account : request.access_key,
          "arn:aws:iam::" + realm.account + ":user/muster"};
}

api::Answer identify(const api::Request& request, const api::Realm& realm) {
  if (request.service == "sts") return of_sts(request, realm);
  if (request.service == "iam") return of_iam(request, realm);
  return aws::Refusal{"UnknownOperationException",
                      "muster does not support " + request.service + ":" + request.operation};
}

}  // namespace muster::server
