#include "host/code/codeartifact.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "aws/aws_call.h"
#include "aws/credentials.h"
#include "aws/endpoint.h"
#include "aws/retry.h"
#include "aws/s3client/s3_call.h"
#include "base/json.h"
#include "base/letters.h"
#include "base/text.h"

namespace muster::code {
namespace {

constexpr std::string_view where = "codeartifact";

/// The data that all calls share.
struct Service {
  http::Url url;
  CodeArtifactArn arn;
  http::Client http;
  aws::CredentialProvider credentials;
  Log log;
};

Result<http::Url> service_url(const Env& env, const std::string& region) {
  const std::string setting = aws::endpoint_setting(env, "CODEARTIFACT");
  Result<http::Url> url = http::parse_url(
      setting.empty() ? "https://codeartifact." + region + "." + aws::domain_of(region) : setting);
  if (!url) return url.error().in("the endpoint (AWS_ENDPOINT_URL_CODEARTIFACT)");
  while (url->target.ends_with('/')) url->target.pop_back();
  return url;
}

/// A failed call's own message, without the rest of the response.
aws::S3Failure failure_of(const aws::AwsAnswer& answer) {
  aws::S3Failure failure;
  failure.code = split(answer.head.value("x-amzn-ErrorType"), ':').front();
  const Result<Json> json = parse_json(answer.text);
  if (json && json->is_object()) {
    const auto at = json->find("message");
    if (at != json->end() && at->is_string()) failure.message = at->get<std::string>();
  }
  const auto control = [](char c) { return c >= 0 && c < ' '; };
  failure.message = to_utf8(failure.message.substr(0, 300));
  std::replace_if(failure.message.begin(), failure.message.end(), control, ' ');
  return failure;
}

Error error_of(const aws::AwsAnswer& answer, const aws::S3Failure& failure,
               const std::string& origin) {
  if (answer.head.status == 404)
    return fail(Errc::not_found, "no such domain or repository: " + failure.message);
  return s3client::s3_error(answer.head.status, failure, origin);
}

/// One call, with retries; returns the text at `member` of its JSON response.
loop::Task<Result<std::string>> ask(loop::Loop& loop, std::shared_ptr<Service> service,
                                    aws::AwsRequest request, std::string member) {
  aws::Tries tries(loop, aws::RetryOptions{}, service->log, std::string(where));
  while (true) {
    Result<aws::Credentials> credentials = co_await service->credentials.get();
    if (!credentials) co_return credentials.error().in(std::string(where));
    aws::AwsRequest out = request;
    Result<aws::AwsAnswer> answer =
        co_await aws::aws_exchange(service->http, std::move(out), "codeartifact",
                                   service->arn.region, *std::move(credentials), nullptr);
    if (answer && answer->head.status == 200) {
      const Result<Json> json = parse_json(answer->text);
      if (json && json->is_object() && json->contains(member) && (*json)[member].is_string())
        co_return (*json)[member].get<std::string>();
      co_return fail(Errc::protocol, std::string(where) + ": the response has no " + member);
    }
    Error why;
    std::optional<Duration> wanted;
    bool worth = false;
    if (!answer) {
      why = answer.error();
      worth = aws::worth_another_try(why);
    } else {
      const aws::S3Failure failure = failure_of(*answer);
      why = error_of(*answer, failure, service->credentials.origin());
      worth = aws::worth_another_try(answer->head.status, failure.code);
      wanted = aws::retry_after(answer->head);
    }
    bool again = false;
    if (worth) again = co_await tries.again(why, wanted);
    if (!again) co_return tries.final(why);
  }
}

aws::AwsRequest request_for(const Service& service, std::string method, const std::string& path) {
  aws::AwsRequest request;
  request.method = std::move(method);
  request.origin = service.url.origin;
  request.path = service.url.target + path;
  request.query = {{"domain", service.arn.domain}, {"domain-owner", service.arn.account}};
  return request;
}

}  // namespace

Result<CodeArtifactArn> parse_codeartifact_arn(const std::string& arn) {
  const Error bad =
      fail(Errc::invalid_input,
           "CA_REPOSITORY_ARN: invalid CodeArtifact repository arn " + to_utf8(arn.substr(0, 200)) +
               ", expected arn:PARTITION:codeartifact:REGION:ACCOUNT:repository/DOMAIN/REPOSITORY");
  const std::vector<std::string> parts = split(arn, ':');
  if (parts.size() < 6 || parts[0] != "arn" || parts[2] != "codeartifact" || parts[1].empty() ||
      parts[3].empty() || parts[4].empty())
    return bad;
  std::string resource = arn;
  for (int i = 0; i < 5; ++i) resource = resource.substr(resource.find(':') + 1);
  const std::string_view start = "repository/";
  if (!resource.starts_with(start)) return bad;
  resource.erase(0, start.size());
  const std::size_t slash = resource.find('/');
  if (slash == 0 || slash == std::string::npos || slash + 1 == resource.size()) return bad;
  CodeArtifactArn parsed{parts[3], parts[4], resource.substr(0, slash), resource.substr(slash + 1)};
  const bool plain = std::all_of(parsed.region.begin(), parsed.region.end(),
                                 [](char c) { return is_lower_or_digit(c) || c == '-'; });
  if (!plain) return bad;
  return parsed;
}

Result<std::string> codeartifact_index_url(const std::string& endpoint,
                                           const std::string& repository,
                                           const std::string& token) {
  const std::string scheme = "https://";
  if (!endpoint.starts_with(scheme))
    return fail(Errc::protocol, "codeartifact: the repository's endpoint is not an https URL");
  std::string url = scheme + "aws:" + token + "@" + endpoint.substr(scheme.size());
  const std::string_view bare(url.data(), url.size() - (url.ends_with('/') ? 1 : 0));
  if (!bare.ends_with(repository))
    return url;  // As in the reference: this is an index URL already.
  return std::string(bare) + "/simple/";
}

loop::Task<Result<std::string>> codeartifact_index(loop::Loop& loop, Env env, std::string arn,
                                                   Log log) {
  Result<CodeArtifactArn> parsed = parse_codeartifact_arn(arn);
  if (!parsed) co_return parsed.error();
  Result<http::Url> url = service_url(env, parsed->region);
  if (!url) co_return url.error().in(std::string(where));
  Result<aws::CredentialSources> sources = aws::credential_sources(env);
  if (!sources) co_return sources.error().in(std::string(where));
  const std::string ca_roots = http::find_ca_roots(env);
  http::Client::Options options;
  options.ca_roots = ca_roots;
  auto service = std::shared_ptr<Service>(
      new Service{*std::move(url), *std::move(parsed), http::Client(loop, std::move(options)),
                  aws::CredentialProvider(loop, *std::move(sources), ca_roots), log});
  aws::AwsRequest request = request_for(*service, "POST", "/v1/authorization-token");
  Result<std::string> token = co_await ask(loop, service, std::move(request), "authorizationToken");
  if (!token) co_return token.error();
  request = request_for(*service, "GET", "/v1/repository/endpoint");
  request.query.emplace_back("format", "pypi");
  request.query.emplace_back("repository", service->arn.repository);
  Result<std::string> endpoint =
      co_await ask(loop, service, std::move(request), "repositoryEndpoint");
  if (!endpoint) co_return endpoint.error();
  co_return codeartifact_index_url(*endpoint, service->arn.repository, *token);
}

}  // namespace muster::code
