#include "machine/steward/s3_access.h"

#include <unistd.h>

namespace muster::steward {

Env s3_environment(const job::S3Access& access, const Env& own) {
  Env env = own;
  if (!access.endpoint.empty()) env["AWS_ENDPOINT_URL_S3"] = access.endpoint;
  if (!access.region.empty()) env["AWS_REGION"] = access.region;
  if (!access.ca_file.empty()) env["AWS_CA_BUNDLE"] = access.ca_file;
  if (access.credentials_file.empty()) return env;
  // Only the job's keys, none from the machine.
  for (const char* name :
       {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"})
    env.erase(name);
  env["AWS_SHARED_CREDENTIALS_FILE"] = access.credentials_file;
  return env;
}

Result<std::unique_ptr<s3client::S3Client>> open_s3(loop::Loop& loop, const job::S3Access& access,
                                                    const Env& own) {
  const Log log(STDERR_FILENO, "sm steward", Log::Level::info);
  Result<std::unique_ptr<s3client::S3Client>> client =
      s3client::S3Client::open(loop, s3_environment(access, own), log);
  if (!client) return client.error().in("S3");
  return client;
}

}  // namespace muster::steward
