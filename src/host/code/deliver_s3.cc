#include "aws/s3client/s3_client.h"
#include "host/code/deliver.h"

namespace muster::code {
namespace {

/// Credentials and endpoint are read only when something is fetched.
loop::Task<Result<void>> download_from_s3(loop::Loop& loop, Env env, const Log& log,
                                          std::string uri, std::string path) {
  const Result<s3wire::S3Url> url = s3wire::parse_s3_url(uri);
  if (!url) co_return url.error();
  const Result<std::unique_ptr<s3client::S3Client>> client =
      s3client::S3Client::open(loop, env, log);
  if (!client) co_return client.error();
  co_return co_await (*client)->download(*url, path);
}

}  // namespace

loop::Task<Result<DeliverReport>> deliver(loop::Loop& loop, Env env, std::string uri,
                                          std::string code_dir, const Log& log) {
  Download download = [&loop, &log, env](std::string from, std::string path) {
    return download_from_s3(loop, env, log, std::move(from), std::move(path));
  };
  co_return co_await deliver(loop, env, std::move(uri), std::move(code_dir), log,
                             std::move(download));
}

}  // namespace muster::code
