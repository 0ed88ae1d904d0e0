#include "image/pull/registry_login.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "aws/aws_call.h"
#include "aws/credentials.h"
#include "aws/endpoint.h"
#include "base/base64.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/letters.h"
#include "base/text.h"
#include "image/pull/credential_helper.h"

namespace muster::image {
namespace {

constexpr std::size_t file_bytes_max = 1u << 20;
using MaybeLogin = std::optional<FoundLogin>;

loop::Task<Result<MaybeLogin>> from_helper(loop::Loop& loop, const Env& env, std::string helper,
                                           std::string registry, TimePoint deadline) {
  const std::string program = "docker-credential-" + helper;
  Command command{.argv = {}, .env = env, .cwd = "/"};
  command.argv.push_back(program);
  command.argv.emplace_back("get");
  const Result<HelperAnswer> answer =
      co_await ask_helper(loop, std::move(command), helper_name_of(registry), deadline);
  if (!answer) co_return answer.error();
  Result<std::optional<Login>> login = login_from_helper(answer->text, answer->succeeded);
  if (!login) co_return login.error().in(program + " get " + registry);
  if (!login->has_value()) co_return MaybeLogin();
  co_return MaybeLogin(FoundLogin{**std::move(login), program});
}

loop::Task<Result<MaybeLogin>> from_files(loop::Loop& loop, const Env& env, Reference image,
                                          Duration helper_max) {
  for (const std::string& path : login_files(env)) {
    const Result<std::string> text = read_file(path, file_bytes_max);
    if (!text && text.error().code == Errc::not_found) continue;
    if (!text) co_return text.error();
    Result<ConfiguredLogin> found = login_in(*text, image.registry, image.repository);
    if (!found) co_return found.error().in(path);
    if (!found->helper.empty()) {
      Result<MaybeLogin> helped =
          co_await from_helper(loop, env, found->helper, image.registry, Clock::now() + helper_max);
      if (!helped) co_return helped.error().in(path);
      if (helped->has_value()) co_return helped;
    }
    if (found->login) co_return MaybeLogin(FoundLogin{*std::move(found->login), path});
  }
  co_return MaybeLogin();
}

Result<aws::AwsRequest> token_request(const Env& env, const EcrRegistry& registry) {
  const std::string own = aws::endpoint_setting(env, "ECR");
  const http::Url url = TRY(http::parse_url(
      own.empty() ? "https://api.ecr." + registry.region + "." + registry.domain : own));
  aws::AwsRequest request;
  request.method = "POST";
  request.origin = url.origin;
  request.path = url.target;
  request.headers = {
      {"content-type", "application/x-amz-json-1.1"},
      {"x-amz-target", "AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken"}};
  request.body = "{}";
  return request;
}

loop::Task<Result<MaybeLogin>> from_ecr(loop::Loop& loop, const Log& log, const Env& env,
                                        EcrRegistry registry, LoginOptions options) {
  const std::string what = "ECR's GetAuthorizationToken";
  Result<aws::CredentialSources> sources = aws::credential_sources(env);
  if (!sources) co_return sources.error().in(what);
  Result<aws::AwsRequest> request = token_request(env, registry);
  if (!request) co_return request.error().in(what);
  aws::CredentialProvider provider(loop, *std::move(sources), options.ca_roots);
  http::Client::Options client_options;
  client_options.ca_roots = options.ca_roots;
  http::Client http(loop, std::move(client_options));
  aws::Tries tries(loop, options.retry, log, what);
  while (true) {
    Result<aws::Credentials> credentials = co_await provider.get();
    if (!credentials) co_return credentials.error().in(what);
    aws::AwsRequest out = *request;
    Result<aws::AwsAnswer> answer = co_await aws::aws_exchange(
        http, std::move(out), "ecr", registry.region, *std::move(credentials), nullptr);
    if (answer && answer->head.status == 200) {
      Result<Login> login = login_from_ecr(answer->text);
      if (!login) co_return login.error().in(what);
      co_return MaybeLogin(
          FoundLogin{*std::move(login), "the AWS credentials of " + provider.origin()});
    }
    Error why;
    bool worth = false;
    std::optional<Duration> wanted;
    if (!answer) {
      why = answer.error();
      worth = aws::worth_another_try(why);
    } else {
      const int status = answer->head.status;
      const std::string said = answer->head.value("x-amzn-ErrorType");
      why = fail(status / 100 == 4 && status != 429 ? Errc::denied : Errc::closed,
                 "ECR returned status " + std::to_string(status) +
                     " for a request with the credentials from " + provider.origin());
      worth = aws::worth_another_try(status, said);
      wanted = aws::retry_after(answer->head);
    }
    bool again = false;
    if (worth) again = co_await tries.again(why, wanted);
    if (!again) co_return tries.final(why);
  }
}

}  // namespace

std::optional<EcrRegistry> ecr_registry(std::string_view registry) {
  const std::vector<std::string> parts = split(registry.substr(0, registry.find(':')), '.');
  const auto all = [](const std::string& text, auto is_byte) {
    return !text.empty() && std::all_of(text.begin(), text.end(), is_byte);
  };
  if (parts.size() < 6 || parts[0].size() != 12 || parts[1] != "dkr") return std::nullopt;
  if (parts[2] != "ecr" && parts[2] != "ecr-fips") return std::nullopt;
  if (!all(parts[0], [](char c) { return c >= '0' && c <= '9'; })) return std::nullopt;
  if (!all(parts[3], [](char c) { return is_lower_or_digit(c) || c == '-'; })) return std::nullopt;
  const std::string domain = join({parts.begin() + 4, parts.end()}, ".");
  // The credentials' signature goes to that domain: to AWS's own alone.
  if (domain != aws::domain_of(parts[3])) return std::nullopt;
  return EcrRegistry{parts[0], parts[3], domain};
}

Result<Login> login_from_ecr(std::string_view answer) {
  const Error bad = fail(Errc::protocol, "the response has no authorizationToken");
  const Result<Json> json = parse_json(answer);
  if (!json || !json->is_object() || !json->contains("authorizationData")) return bad;
  const Json& data = (*json)["authorizationData"];
  if (!data.is_array() || data.empty() || !data[0].is_object()) return bad;
  const auto token = data[0].find("authorizationToken");
  if (token == data[0].end() || !token->is_string()) return bad;
  const std::optional<std::string> pair = from_base64(token->get<std::string>());
  const std::size_t colon = pair ? pair->find(':') : std::string::npos;
  if (colon == std::string::npos) return bad;
  return Login{pair->substr(0, colon), pair->substr(colon + 1), ""};
}

loop::Task<Result<MaybeLogin>> find_login(loop::Loop& loop, const Log& log, Env env,
                                          Reference image, LoginOptions options) {
  if (options.given) co_return MaybeLogin(FoundLogin{*options.given, "the command line"});
  Result<MaybeLogin> found = co_await from_files(loop, env, image, options.helper_max);
  if (!found || found->has_value()) co_return found;
  std::optional<EcrRegistry> ecr = ecr_registry(image.registry);
  if (!ecr) co_return MaybeLogin();
  found = co_await from_ecr(loop, log, env, *std::move(ecr), std::move(options));
  co_return found;
}

}  // namespace muster::image
