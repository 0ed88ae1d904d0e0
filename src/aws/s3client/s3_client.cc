#include "aws/s3client/s3_client.h"

#include <charconv>

#include "aws/s3client/s3_call.h"
#include "base/text.h"

namespace muster::s3client {

Result<S3Client::Options> S3Client::options_from(const Env& env) {
  Options options;
  const auto at = env.find("MUSTER_S3_IDLE");
  if (at == env.end() || at->second.empty()) return options;
  double seconds = 0;
  const std::string& text = at->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || !(seconds >= 0.1) ||
      seconds > 86400)
    return fail(Errc::invalid_input,
                "MUSTER_S3_IDLE: expected a number of seconds from 0.1 to 86400");
  options.idle_max = std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
  return options;
}

Result<std::unique_ptr<S3Client>> S3Client::open(loop::Loop& loop, const Env& env, const Log& log) {
  const Options options = TRY(options_from(env));
  return open(loop, env, log, options);
}

Result<std::unique_ptr<S3Client>> S3Client::open(loop::Loop& loop, const Env& env, const Log& log,
                                                 Options options) {
  aws::S3Endpoint endpoint = TRY(aws::S3Endpoint::from(env));
  std::string region = TRY(aws::region_from(env));
  aws::CredentialSources sources = TRY(aws::credential_sources(env));
  auto state = std::make_shared<S3State>(loop, log, options, std::move(endpoint), std::move(region),
                                         std::move(sources), http::find_ca_roots(env));
  return std::unique_ptr<S3Client>(new S3Client(std::move(state)));
}

S3Client::S3Client(std::shared_ptr<S3State> state) : state_(std::move(state)) {}
S3Client::~S3Client() = default;

loop::Task<Result<void>> S3Client::download(s3wire::S3Url from, std::string path) {
  return s3_download(state_, std::move(from), std::move(path));
}

loop::Task<Result<void>> S3Client::upload(std::string path, s3wire::S3Url to) {
  return s3_upload(state_, std::move(path), std::move(to));
}

loop::Task<Result<std::string>> S3Client::read(s3wire::S3Url from) {
  S3Request request;
  request.url = std::move(from);
  Result<S3Answer> answer = co_await s3_call(state_, std::move(request));
  if (!answer) co_return answer.error();
  co_return std::move(answer->text);
}

}  // namespace muster::s3client
