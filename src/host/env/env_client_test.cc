#include "host/env/env_client.h"

#include <doctest/doctest.h>

#include "job/training/client_config.h"

namespace muster::env {
namespace {

TEST_CASE("toolkit: a client's lines are made from the AWS variables, else the server's defaults") {
  const ClientSettings plain = client_settings({}, "");
  CHECK(plain.endpoint == "http://127.0.0.1:7700");
  CHECK(plain.region == "us-east-1");
  CHECK(plain.bucket == "sagemaker-us-east-1-000000000000");
  CHECK_FALSE(plain.has_keys);
  const Env env{{"AWS_ENDPOINT_URL", "https://there:1"},
                {"AWS_DEFAULT_REGION", "eu-west-1"},
                {"AWS_ACCESS_KEY_ID", "AKIA"},
                {"AWS_SECRET_ACCESS_KEY", "the secret"}};
  const ClientSettings set = client_settings(env, "");
  CHECK(set.endpoint == "https://there:1");
  CHECK(set.bucket == "sagemaker-eu-west-1-000000000000");
  CHECK(set.has_keys);
  CHECK(client_settings(env, "mine").bucket == "mine");
}

TEST_CASE("toolkit: a client's lines quote what a shell reads, and hold no secret") {
  const ClientSettings settings = client_settings({{"AWS_ENDPOINT_URL", "http://h:1/$(x) y"},
                                                   {"AWS_ACCESS_KEY_ID", "AKIA"},
                                                   {"AWS_SECRET_ACCESS_KEY", "the secret"}},
                                                  "it's");
  const std::string lines = client_lines(settings, "/a b/c.yaml");
  CHECK(lines ==
        "export AWS_ENDPOINT_URL='http://h:1/$(x) y'\n"
        "export AWS_REGION=us-east-1\n"
        "export AWS_DEFAULT_REGION=us-east-1\n"
        "export AWS_EC2_METADATA_DISABLED=true\n"
        "export SAGEMAKER_USER_CONFIG_OVERRIDE='/a b/c.yaml'\n");
  CHECK(job::sagemaker_config(settings.bucket).find("DefaultS3Bucket: 'it''s'\n") !=
        std::string::npos);
}

TEST_CASE("toolkit: an S3 elsewhere and whom to trust are handed on where they are set") {
  const std::string lines = client_lines(
      client_settings(
          {{"AWS_ENDPOINT_URL_S3", "https://minio:9000"}, {"AWS_CA_BUNDLE", "/a/ca.pem"}}, ""),
      "/c.yaml");
  CHECK(lines.find("export AWS_ENDPOINT_URL_S3=https://minio:9000\n") != std::string::npos);
  CHECK(lines.find("export AWS_CA_BUNDLE=/a/ca.pem\n") != std::string::npos);
}

TEST_CASE("toolkit: a notebook's role is an ARN in JSON") {
  CHECK(notebook_metadata() ==
        "{\"ExecutionRoleArn\":\"arn:aws:iam::000000000000:role/muster\"}\n");
}

TEST_CASE("toolkit: without a file the config is shown, and what is missing is said") {
  const std::string lines = client_lines(client_settings({}, ""), "");
  CHECK(lines.find("# AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set") !=
        std::string::npos);
  CHECK(lines.find("\n#       PythonSDK:\n") == std::string::npos);
  CHECK(lines.find("\n#     PythonSDK:\n") != std::string::npos);
  CHECK(lines.find("\n#         TelemetryOptOut: true\n") != std::string::npos);
}

}  // namespace
}  // namespace muster::env
