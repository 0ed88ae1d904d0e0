#pragma once

#include <string>

#include "aws/sign.h"
#include "base/command.h"
#include "net/http/client.h"

namespace muster::aws {

struct AwsRequest {
  std::string method = "GET";
  http::Origin origin;
  std::string path = "/";  ///< Encoded.
  Pairs query{};
  Pairs headers{};             ///< Signed, all of them.
  std::string body{};          ///< Or:
  http::FilePart file{};       ///< The caller sets its hash.
  std::string payload_hash{};  ///< Empty: that of `body`.
};

struct AwsAnswer {
  http::Head head;
  std::string
      text;  ///< The body of a response outside 2xx, or of any response without another receiver.
};

/// Signs a request and makes one exchange. The body of a 2xx goes to `on_body` if there is one;
/// else it is kept, as is that of every other answer, 4 MiB at most (beyond: `protocol`).
loop::Task<Result<AwsAnswer>> aws_exchange(http::Client& http, AwsRequest request,
                                           std::string service, std::string region,
                                           Credentials credentials, http::OnBody on_body);

}  // namespace muster::aws
