#include "aws/aws_call.h"

#include <memory>

#include "base/time.h"

namespace muster::aws {
namespace {

constexpr std::size_t text_bytes_max = 4u << 20;  // A page of a listing: 1,000 encoded keys.

}  // namespace

loop::Task<Result<AwsAnswer>> aws_exchange(http::Client& http, AwsRequest request,
                                           std::string service, std::string region,
                                           Credentials credentials, http::OnBody on_body) {
  const UnixMillis now = wall_time();
  if (request.payload_hash.empty()) request.payload_hash = sha256_hex(request.body);
  SignRequest to_sign{request.method, request.path, request.query, request.headers,
                      request.payload_hash};
  to_sign.headers.emplace_back("host", request.origin.authority());
  const Pairs added = sign(to_sign, {std::move(service), std::move(region), now}, credentials);

  http::Request out;
  out.method = request.method;
  const std::string query = encoded_query(request.query);
  out.target = request.path + (query.empty() ? "" : "?" + query);
  out.headers = std::move(request.headers);
  out.headers.insert(out.headers.end(), added.begin(), added.end());
  out.headers.emplace_back("User-Agent", "muster/" MUSTER_VERSION);
  out.headers.emplace_back("Accept-Encoding", "identity");  // Bytes as they are stored.
  out.body = std::move(request.body);
  out.file = request.file;

  auto text = std::make_shared<std::string>();
  const http::OnBody take = [text, on_body](const http::Head& head,
                                            std::string_view bytes) -> Result<void> {
    if (on_body && head.status / 100 == 2) return on_body(head, bytes);
    *text += bytes;
    if (text->size() > text_bytes_max)
      return fail(Errc::protocol, "the server's response is too long");
    return {};
  };
  Result<http::Head> head = co_await http.exchange(request.origin, std::move(out), take);
  if (!head) co_return head.error();
  co_return AwsAnswer{*std::move(head), std::move(*text)};
}

}  // namespace muster::aws
