#include "cli/server_client.h"

#include <doctest/doctest.h>

#include "cli/api_client.h"
#include "cli/exit_code_of.h"

namespace muster::cli {
namespace {

TEST_CASE("client: a refusal says what is wrong in one line, and how the command ends") {
  struct {
    int status;
    const char* code;
    const char* message;
    int exit_code;
    const char* text;
  } const cases[] = {
      {400, "UnrecognizedClientException", "x", exit_usage,
       "the server does not know this access key (keys from E)"},
      {403, "InvalidAccessKeyId", "x", exit_usage, "does not know this access key"},
      {400, "InvalidSignatureException", "x", exit_usage,
       "the secret key does not belong to this access key"},
      {400, "InvalidSignatureException", "Signature expired or not yet current: …", exit_usage,
       "not yet current"},
      {400, "AccessDeniedException", "no", exit_usage, "rejects this access key: no"},
      {400, "ValidationException", "Requested resource not found.", exit_usage, "not found"},
      {400, "ValidationException", "1 validation error\ndetected", exit_usage,
       "1 validation error detected"},
      {400, "ResourceInUse", "taken", exit_usage, "ResourceInUse: taken"},
      {500, "InternalFailure", "disk", exit_platform, "an internal error: InternalFailure: disk"},
      {400, "ThrottlingException", "slow", exit_platform, "internal error"},
      {404, "", "", exit_platform,
       "the server returned 404, but the response is not in SageMaker's format"},
  };
  for (const auto& one : cases) {
    CAPTURE(one.code);
    const Error error = api_error(one.status, one.code, one.message, "E");
    CHECK(exit_code_of_client(error) == one.exit_code);
    CAPTURE(error.text);
    CHECK(error.text.find(one.text) != std::string::npos);
    CHECK(error.text.find('\n') == std::string::npos);
  }
  CHECK(api_error(400, "ValidationException", "Requested resource not found.", "").code ==
        Errc::not_found);
}

}  // namespace
}  // namespace muster::cli
