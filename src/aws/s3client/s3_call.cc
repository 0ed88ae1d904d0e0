#include "aws/s3client/s3_call.h"

namespace muster::s3client {
namespace {

/// Where to look when S3 refuses the keys.
std::string hint(const std::string& code, const std::string& origin) {
  const bool by_variables = origin == "AWS_ACCESS_KEY_ID";
  if (code == "InvalidAccessKeyId" || code == "UnrecognizedClientException")
    return by_variables ? "check AWS_ACCESS_KEY_ID" : "check " + origin;
  if (code == "SignatureDoesNotMatch" || code == "InvalidSignatureException")
    return by_variables ? "check AWS_SECRET_ACCESS_KEY" : "check " + origin;
  if (code == "ExpiredToken" || code == "InvalidToken" || code == "ExpiredTokenException")
    return by_variables ? "check AWS_SESSION_TOKEN" : "check " + origin;
  if (code == "RequestTimeTooSkewed") return "check this machine's clock";
  return "the credentials of " + origin + " do not allow this operation";
}

/// The region to go to instead, if the answer says so.
std::string elsewhere(const S3Answer& answer) {
  const int status = answer.head.status;
  const bool says_so =
      status == 301 || status == 307 ||
      (status == 400 && (answer.failure.code == "AuthorizationHeaderMalformed" ||
                         answer.failure.code == "IllegalLocationConstraintException"));
  if (!says_so) return "";
  const std::string region = answer.head.value("x-amz-bucket-region");
  return region.empty() ? answer.failure.region : region;
}

bool tokens_expired(const aws::S3Failure& failure) {
  return failure.code == "ExpiredToken" || failure.code == "InvalidToken" ||
         failure.code == "TokenRefreshRequired";
}

}  // namespace

bool in_the_clear(const http::Origin& origin) {
  return !origin.tls && !http::is_loopback(origin.host);
}

S3State::S3State(loop::Loop& on, const Log& to, S3Client::Options with, aws::S3Endpoint server,
                 std::string home_region, aws::CredentialSources sources,
                 const std::string& ca_roots)
    : loop(on),
      log(to),
      options(with),
      endpoint(std::move(server)),
      region(std::move(home_region)),
      credentials(on, std::move(sources), ca_roots),
      http(on, {.connect_max = with.connect_max, .idle_max = with.idle_max, .ca_roots = ca_roots}) {
}

bool signs_payloads(const S3State& state, const std::string& bucket) {
  return in_the_clear(state.endpoint.place(bucket, state.region).origin);
}

bool is_full(const Error& error) {
  return error.text.find("507 (InsufficientStorage)") != std::string::npos;
}

Error s3_error(int status, const aws::S3Failure& failure, const std::string& origin) {
  const std::string says = failure.message.empty() ? "" : "; the server says: " + failure.message;
  if (failure.code == "NoSuchBucket") return fail(Errc::not_found, "no such bucket");
  if (failure.code == "NoSuchKey" || status == 404) return fail(Errc::not_found, "no such key");
  if (failure.code == "QuotaExceeded")
    return fail(Errc::denied, "quota exceeded: " + failure.message);
  if (status == 401 || status == 403 || tokens_expired(failure)) {
    const std::string code = failure.code.empty() ? std::to_string(status) : failure.code;
    return fail(Errc::denied, "access denied (" + code + "): " + hint(failure.code, origin) + says);
  }
  if (status == 412) return fail(Errc::protocol, "the object changed before the download finished");
  std::string text = "the server returned " + std::to_string(status);
  if (!failure.code.empty()) text += " (" + failure.code + ")";
  const Errc code = status >= 500 || status == 429 ? Errc::closed : Errc::protocol;
  return fail(code, text + says);
}

loop::Task<Result<S3Answer>> s3_once(std::shared_ptr<S3State> state, S3Request request,
                                     http::OnBody on_body) {
  bool moved = false;
  bool renewed = false;
  const std::string bucket = request.url.bucket;
  while (true) {
    Result<aws::Credentials> credentials = co_await state->credentials.get();
    if (!credentials) co_return credentials.error();
    const auto known = state->regions.find(bucket);
    const std::string region = known == state->regions.end() ? state->region : known->second;
    const aws::S3Place place = state->endpoint.place(bucket, region);
    aws::AwsRequest out{.method = request.method,
                        .origin = place.origin,
                        .path = place.path + "/" + aws::percent_encoded(request.url.key, true),
                        .query = request.query,
                        .headers = request.headers,
                        .body = request.body,
                        .file = request.file,
                        .payload_hash = request.file_hash};
    if (out.file.fd >= 0 && !in_the_clear(place.origin)) out.payload_hash = aws::unsigned_payload;
    Result<aws::AwsAnswer> answered = co_await aws::aws_exchange(
        state->http, std::move(out), "s3", region, *std::move(credentials), on_body);
    if (!answered) co_return answered.error();
    S3Answer answer{std::move(answered->head), std::move(answered->text), {}};
    answer.failure = aws::s3_failure(answer.text);
    if (answer.succeeded()) co_return answer;
    const std::string other = elsewhere(answer);
    if (!moved && !other.empty() && other != region) {
      moved = true;
      state->regions[bucket] = other;
      continue;
    }
    if (!renewed && tokens_expired(answer.failure)) {
      renewed = true;
      state->credentials.forget();
      continue;
    }
    co_return answer;
  }
}

loop::Task<Result<S3Answer>> s3_call(std::shared_ptr<S3State> state, S3Request request) {
  aws::Tries tries(state->loop, state->options.retry, state->log, s3wire::text_of(request.url));
  while (true) {
    Result<S3Answer> answer = co_await s3_once(state, request, nullptr);
    if (answer && answer->succeeded()) co_return answer;
    Error why;
    std::optional<Duration> wanted;
    bool worth = false;
    if (!answer) {
      why = answer.error();
      worth = aws::worth_another_try(why);
    } else {
      // A failure inside a 200 is one of the server's own.
      const int status = answer->head.status / 100 == 2 ? 500 : answer->head.status;
      why = s3_error(status, answer->failure, state->credentials.origin());
      worth = aws::worth_another_try(status, answer->failure.code);
      wanted = aws::retry_after(answer->head);
    }
    bool again = false;
    if (worth) again = co_await tries.again(why, wanted);
    if (!again) co_return tries.final(why);
  }
}

}  // namespace muster::s3client
