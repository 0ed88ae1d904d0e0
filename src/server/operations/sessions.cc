#include "server/operations/sessions.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "aws/api/inputs.h"
#include "server/operations/identity.h"

namespace muster::server {
namespace {

using Refusal = aws::Refusal;

constexpr std::int64_t assumed_seconds = 3600;
constexpr std::int64_t longest_seconds = 43'200;

/// "ROLE/NAME" of AssumeRole's input.
Result<std::string, Refusal> session_name(const api::Request& request, const api::Realm& realm) {
  const std::string arn = api::text_of(request.input, "RoleArn");
  const std::string start = "arn:aws:iam::" + realm.account + ":role/";
  const std::string path = arn.starts_with(start) ? arn.substr(start.size()) : "";
  const std::string role = path.substr(path.rfind('/') + 1);
  const bool is_name = !role.empty() && std::all_of(role.begin(), role.end(), [](char c) {
    return c > ' ' && c < '\x7f' && c != ':';
  });
  if (!is_name)
    return Refusal{"AccessDenied",
                   "User: " + identity_of(request, realm).arn +
                       " is not authorized to perform: sts:AssumeRole on resource: " + arn +
                       "; expected a role ARN of this server: " + start + "NAME",
                   403};
  return role + "/" + api::text_of(request.input, "RoleSessionName");
}

Result<void, Refusal> check_input(const Json& input) {
  for (const char* name : {"Policy", "PolicyArns", "SerialNumber", "TokenCode"})
    if (input.contains(name))
      return Refusal{
          "ValidationError",
          std::string(name) +
              ": not supported: a temporary key has exactly the rights of the key that "
              "created it, and muster does not support MFA devices; omit this parameter"};
  const std::int64_t seconds = api::integer_of(input, "DurationSeconds").value_or(0);
  if (seconds > longest_seconds)
    return Refusal{"ValidationError", "DurationSeconds: must be at most 43200 (12 hours)"};
  return {};
}

}  // namespace

api::Answer lend_key(const api::Request& request, const api::Realm& realm, UserKeys& keys,
                     UnixMillis now) {
  const bool assumes = request.operation == "AssumeRole";
  const bool is_temporary = !request.signer.empty() && request.signer != request.access_key;
  if (!assumes && is_temporary)
    return Refusal{"AccessDenied", "Cannot call GetSessionToken with session credentials", 403};
  TRY(check_input(request.input));
  std::string session;
  if (assumes) session = TRY(session_name(request, realm));
  const std::int64_t seconds = api::integer_of(request.input, "DurationSeconds")
                                   .value_or(assumes ? assumed_seconds : longest_seconds);
  UnixMillis end = now + std::chrono::seconds(seconds);
  if (is_temporary) end = std::min(end, keys.end_of(request.signer).value_or(now));
  const Result<std::optional<access::AccessKey>> lent =
      keys.lend(request.access_key, session, now, end);
  if (!lent && lent.error().code == Errc::not_found)
    return Refusal{"InvalidClientTokenId", "The security token included in the request is invalid.",
                   403};
  if (!lent) return api::internal_failure(lent.error());
  if (!*lent)
    return Refusal{"LimitExceeded", "The access key has " + std::to_string(UserKeys::sessions_max) +
                                        " temporary keys; wait until one expires"};
  Json answer{{"Credentials",
               {{"AccessKeyId", (*lent)->id},
                {"SecretAccessKey", (*lent)->secret},
                {"SessionToken", (*lent)->session_token},
                {"Expiration", api::seconds(end)}}}};
  if (!assumes) return answer;
  const Identity identity = assumed_identity(session, realm);
  answer["AssumedRoleUser"] = {{"AssumedRoleId", identity.user_id}, {"Arn", identity.arn}};
  answer["PackedPolicySize"] = 0;
  if (const std::string source = api::text_of(request.input, "SourceIdentity"); !source.empty())
    answer["SourceIdentity"] = source;
  return answer;
}

}  // namespace muster::server
