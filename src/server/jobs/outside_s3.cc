#include "server/jobs/outside_s3.h"

#include <nlohmann/json.hpp>

#include "aws/credentials.h"
#include "aws/s3wire/s3_answer.h"
#include "base/files/private_file.h"
#include "net/http/client.h"

namespace muster::jobs {
namespace {

constexpr const char* profile = "default";
constexpr const char* elsewhere =
    "This server does not store objects: its config names another S3 server. Set the client's "
    "AWS_ENDPOINT_URL_S3 to that server.";

}  // namespace

Result<OutsideS3> outside_s3_from(const Json& json) {
  if (!json.is_object())
    return fail(Errc::invalid_input,
                "s3: expected an object with endpoint, region, credentials_file and ca_file");
  OutsideS3 s3;
  for (const auto& [name, value] : json.items()) {
    std::string* const field = name == "endpoint"           ? &s3.endpoint
                               : name == "region"           ? &s3.region
                               : name == "credentials_file" ? &s3.credentials_file
                               : name == "ca_file"          ? &s3.ca_file
                                                            : nullptr;
    if (field == nullptr)
      return fail(
          Errc::invalid_input,
          "s3." + name + ": expected one of the keys endpoint, region, credentials_file, ca_file");
    if (!value.is_string()) return fail(Errc::invalid_input, "s3." + name + ": expected a string");
    *field = value.get<std::string>();
  }
  const Result<http::Url> url = http::parse_url(s3.endpoint);
  if (!url) return url.error().in("s3.endpoint");
  if (url->target.find('?') != std::string::npos)
    return fail(Errc::invalid_input, "s3.endpoint: expected http(s)://HOST:PORT, without a query");
  if (s3.credentials_file.empty())
    return fail(Errc::invalid_input, "s3.credentials_file: expected a file");
  return s3;
}

Result<aws::Credentials> credentials_of(const OutsideS3& s3) {
  const std::string text = TRY(read_private(s3.credentials_file));
  Result<std::optional<aws::Credentials>> found = aws::credentials_in(text, profile);
  if (!found) return found.error().in(s3.credentials_file);
  if (*found) return **std::move(found);
  return fail(Errc::invalid_input, s3.credentials_file +
                                       ": expected a [default] profile with aws_access_key_id and "
                                       "aws_secret_access_key");
}

Env environment_for(const OutsideS3& s3) {
  Env env{{"AWS_ENDPOINT_URL_S3", s3.endpoint},
          {"AWS_REGION", s3.region},
          {"AWS_SHARED_CREDENTIALS_FILE", s3.credentials_file}};
  if (!s3.ca_file.empty()) env["AWS_CA_BUNDLE"] = s3.ca_file;
  return env;
}

loop::Task<void> answer_no_s3(http::Exchange& exchange) {
  const aws::Refusal error = aws::s3_refusal("NotImplemented", elsewhere);
  http::Reply reply;
  reply.status = error.status;
  reply.headers = {{"Content-Type", "application/xml"}};
  reply.body = s3wire::error_xml(error, exchange.request().target, {});
  (void)co_await exchange.reply(std::move(reply));
}

}  // namespace muster::jobs
