#include "cli/api_client.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "aws/aws_call.h"
#include "aws/credentials.h"
#include "aws/endpoint.h"
#include "aws/retry.h"
#include "aws/s3client/s3_client.h"
#include "aws/xml.h"
#include "base/fd.h"
#include "base/fields.h"
#include "base/text.h"

namespace muster::cli {
namespace {

constexpr std::size_t message_bytes_max = 2000;

/// One line that a terminal takes as text.
std::string one_line(const std::string& text) {
  std::string line = to_utf8(text.substr(0, message_bytes_max));
  const auto control = [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; };
  std::replace_if(line.begin(), line.end(), control, ' ');
  return line;
}

/// "code" of "namespace#code", "code:http://…" or "code".
std::string bare_code(std::string code) {
  code = code.substr(0, code.find(':'));
  const std::size_t hash = code.find('#');
  return hash == std::string::npos ? code : code.substr(hash + 1);
}

aws::RetryOptions retries(ApiClient::Patience patience) {
  aws::RetryOptions options;
  options.tries_max = patience == ApiClient::Patience::some ? 12 : 1;
  options.pauses.most = std::chrono::seconds(5);
  return options;
}

/// A service's names: in credential scopes and in AWS_ENDPOINT_URL_<name>.
struct Service {
  const char* scope;
  const char* setting;
};

Service service_of(const std::string& target) {
  if (target.starts_with("Logs_")) return {"logs", "CLOUDWATCH_LOGS"};
  return {"sagemaker", "SAGEMAKER"};
}

constexpr Service sts{"sts", "STS"};

}  // namespace

Error api_error(int status, const std::string& code, const std::string& message,
                const std::string& key_origin) {
  const std::string text = one_line(message);
  const std::string from = key_origin.empty() ? "" : " (keys from " + key_origin + ")";
  if (code == "UnrecognizedClientException" || code == "InvalidClientTokenId" ||
      code == "InvalidAccessKeyId")
    return fail(Errc::denied, "the server does not know this access key" + from);
  if (code == "InvalidSignatureException" || code == "SignatureDoesNotMatch") {
    const bool clock = text.find("not yet current") != std::string::npos;
    const std::string why =
        clock ? ": " + text : ": the secret key does not belong to this access key";
    return fail(Errc::denied, "the server rejects the signature" + why + from);
  }
  if (code.starts_with("AccessDenied") || code.starts_with("ExpiredToken") ||
      code == "MissingAuthenticationTokenException")
    return fail(Errc::denied, "the server rejects this access key: " + text + from);
  if (code == "ResourceNotFoundException" || code == "ResourceNotFound" ||
      (code == "ValidationException" && text.find("not found") != std::string::npos))
    return fail(Errc::not_found, text);
  if (code.empty())
    return fail(status / 100 == 5 ? Errc::system : Errc::protocol,
                "the server returned " + std::to_string(status) +
                    ", but the response is not in SageMaker's format");
  if (status / 100 == 5 || code.starts_with("Throttling"))
    return fail(Errc::system, "the server returned an internal error: " + code + ": " + text);
  return fail(Errc::invalid_input, code == "ValidationException" ? text : code + ": " + text);
}

struct ApiClient::State {
  State(loop::Loop& on, Env with, Log to, std::string home, aws::CredentialSources sources,
        const std::string& ca_roots)
      : loop(on),
        env(std::move(with)),
        log(std::move(to)),
        region(std::move(home)),
        credentials(on, std::move(sources), ca_roots),
        http(on, [&] {
          http::Client::Options options;
          options.ca_roots = ca_roots;
          return options;
        }()) {}

  loop::Task<Result<aws::AwsAnswer>> exchange(Service service, std::string target, std::string body,
                                              Patience patience);

  loop::Loop& loop;
  const Env env;
  const Log log;
  const std::string region;
  aws::CredentialProvider credentials;
  http::Client http;
  std::unique_ptr<s3client::S3Client> s3;
};

ApiClient::ApiClient(std::unique_ptr<State> state) : state_(std::move(state)) {}
ApiClient::~ApiClient() = default;

namespace {

Result<http::Url> endpoint_of(const Env& env, const Service& service) {
  const std::string setting = aws::endpoint_setting(env, service.setting);
  if (setting.empty())
    return fail(Errc::invalid_input,
                "AWS_ENDPOINT_URL is not set; `sm key create` on the server's machine prints the "
                "commands that set it");
  Result<http::Url> url = http::parse_url(setting);
  if (!url) return url.error().in("AWS_ENDPOINT_URL");
  return url;
}

std::string url_text(const http::Url& url) {
  return (url.origin.tls ? "https://" : "http://") + url.origin.authority();
}

}  // namespace

Result<std::unique_ptr<ApiClient>> ApiClient::open(loop::Loop& loop, const Env& env,
                                                   const Log& log) {
  TRY(endpoint_of(env, service_of("SageMaker")));
  std::string region = TRY(aws::region_from(env));
  aws::CredentialSources sources = TRY(aws::credential_sources(env));
  auto state = std::make_unique<State>(loop, env, log, std::move(region), std::move(sources),
                                       http::find_ca_roots(env));
  return std::unique_ptr<ApiClient>(new ApiClient(std::move(state)));
}

loop::Task<Result<aws::AwsAnswer>> ApiClient::State::exchange(Service service, std::string target,
                                                              std::string body, Patience patience) {
  const Result<http::Url> url = endpoint_of(env, service);
  if (!url) co_return url.error();
  const std::string where = "the server at " + url_text(*url);
  aws::AwsRequest request;
  request.method = "POST";
  request.origin = url->origin;
  request.path = url->target;
  const bool json = !target.empty();
  request.headers.emplace_back(
      "content-type", json ? "application/x-amz-json-1.1" : "application/x-www-form-urlencoded");
  if (json) request.headers.emplace_back("x-amz-target", target);
  // A server takes all tries with one id for one call.
  request.headers.emplace_back("amz-sdk-invocation-id", hex(random_bytes(16)));
  request.body = std::move(body);
  aws::Tries tries(loop, retries(patience), log, where);
  while (true) {
    Result<aws::Credentials> keys = co_await credentials.get();
    if (!keys)
      co_return fail(keys.error().code,
                     keys.error().text + "; `sm key create` on the server's machine creates one");
    aws::AwsRequest out = request;
    std::string scope = service.scope;
    Result<aws::AwsAnswer> answer = co_await aws::aws_exchange(
        http, std::move(out), std::move(scope), region, *std::move(keys), nullptr);
    if (answer && !aws::worth_another_try(answer->head.status, "")) co_return answer;
    if (!answer && !aws::worth_another_try(answer.error())) co_return answer.error().in(where);
    const Error why =
        answer
            ? fail(Errc::system, "the response has status " + std::to_string(answer->head.status))
            : answer.error();
    const bool again = co_await tries.again(why, std::nullopt);
    if (!again && answer) co_return answer;
    if (!again) co_return fail(Errc::system, where + " does not respond: " + why.text);
  }
}

std::string ApiClient::url() const {
  const Result<http::Url> url = endpoint_of(state_->env, service_of("SageMaker"));
  return url ? url_text(*url) : std::string();  // open() has looked.
}

loop::Task<Result<Json>> ApiClient::call(std::string target, Json input, Patience patience) {
  std::string body = to_text(input);
  const Service service = service_of(target);
  const Result<aws::AwsAnswer> answer =
      co_await state_->exchange(service, std::move(target), std::move(body), patience);
  if (!answer) co_return answer.error();
  Result<Json> json = parse_json(answer->text);
  const bool object = json && json->is_object();
  if (answer->head.status == 200 && object) co_return *std::move(json);
  std::string code = answer->head.value("x-amzn-ErrorType");
  std::string message;
  if (object) {
    if (code.empty()) code = member_text(*json, "__type");
    message = member_text(*json, "message");
    if (message.empty()) message = member_text(*json, "Message");
  }
  co_return api_error(answer->head.status, bare_code(code), message, state_->credentials.origin());
}

loop::Task<Result<std::string>> ApiClient::account() {
  std::string target;
  std::string body = "Action=GetCallerIdentity&Version=2011-06-15";
  const Result<aws::AwsAnswer> answer =
      co_await state_->exchange(sts, std::move(target), std::move(body), Patience::none);
  if (!answer) co_return answer.error();
  const std::optional<std::string> account = aws::xml_text(answer->text, "Account");
  if (answer->head.status == 200 && account && account->size() == 12) co_return *account;
  const std::string code = aws::xml_text(answer->text, "Code").value_or("");
  const std::string message = aws::xml_text(answer->text, "Message").value_or("");
  co_return api_error(answer->head.status, code, message, state_->credentials.origin());
}

loop::Task<Result<std::string>> ApiClient::default_bucket(std::string account) {
  const std::string& region = state_->region;
  const std::string bucket = "sagemaker-" + region + "-" + account;
  const Result<aws::S3Endpoint> endpoint = aws::S3Endpoint::from(state_->env);
  if (!endpoint) co_return endpoint.error();
  const aws::S3Place place = endpoint->place(bucket, region);
  aws::AwsRequest request;
  request.method = "PUT";
  request.origin = place.origin;
  request.path = place.path.empty() ? "/" : place.path;
  if (region != "us-east-1")  // S3 refuses this one's name.
    request.body =
        "<CreateBucketConfiguration xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
        "<LocationConstraint>" +
        region + "</LocationConstraint></CreateBucketConfiguration>";
  Result<aws::Credentials> keys = co_await state_->credentials.get();
  if (!keys) co_return keys.error();
  std::string scope = "s3";
  const Result<aws::AwsAnswer> answer = co_await aws::aws_exchange(
      state_->http, std::move(request), std::move(scope), region, *std::move(keys), nullptr);
  if (!answer) co_return answer.error().in("the bucket " + bucket);
  if (answer->head.status / 100 == 2) co_return bucket;
  const aws::S3Failure failure = aws::s3_failure(answer->text);
  if (failure.code == "BucketAlreadyOwnedByYou") co_return bucket;
  const Error why =
      api_error(answer->head.status, failure.code, failure.message, state_->credentials.origin());
  co_return why.in("the bucket " + bucket);
}

Result<s3client::S3Client*> ApiClient::s3() {
  if (!state_->s3)
    state_->s3 = TRY(s3client::S3Client::open(state_->loop, state_->env, state_->log));
  return state_->s3.get();
}

}  // namespace muster::cli
