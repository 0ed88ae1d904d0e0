#include "server/server_main_front.h"

#include <nlohmann/json.hpp>

#include "api/protocol.h"
#include "api/validate.h"
#include "aws/digest.h"
#include "base/text.h"
#include "loop/other_loop.h"

namespace muster::server {
namespace {

using aws::RequestHead;
using loop::Task;

constexpr std::size_t request_id_bytes = 16;

/// "01234567-89ab-…", as AWS has it.
std::string fresh_request_id() {
  std::string id = hex(random_bytes(request_id_bytes));
  for (const std::size_t at : {8u, 13u, 18u, 23u}) id.insert(at, "-");
  return id;
}

access::Dialect dialect_of(const api::Reply& reply) {
  const bool query = reply.protocol == api::Protocol::query || reply.protocol == api::Protocol::ec2;
  return query ? access::Dialect::query : access::Dialect::json;
}

Task<void> send(http::Exchange& exchange, api::Reply reply, api::Answer answer,
                bool close = false) {
  api::ApiAnswer made = api::write_answer(reply, answer);
  http::Reply http{.status = made.status,
                   .headers = std::move(made.headers),
                   .body = std::move(made.body),
                   .close = close};
  (void)co_await exchange.reply(std::move(http));
}

aws::Refusal refusal_of(const access::AuthRefusal& refused, const api::Reply& reply) {
  return access::answer_to(refused, dialect_of(reply));
}

/// The service whose operation is asked for, whatever the signature says. What is no operation of
/// any service here is answered as such to whom the scope fits, whatever it is.
std::string wanted_service(const api::ApiRequest& request, const api::Reply& reply) {
  return reply.service.empty() ? request.scope_service : reply.service;
}

/// A call that its key may make and whose input is what AWS takes, or why it is none.
Result<api::Call, aws::Refusal> allowed_and_valid(Result<api::Call, aws::Refusal> read,
                                                  const api::Reply& reply,
                                                  const access::AccessKey& key) {
  if (!read) return read;
  const api::Call& call = *read;
  if (!access::allowed_call(key, call.service, call.operation))
    return refusal_of({access::AuthFailure::denied, {}, {}}, reply);
  TRY(api::validate(call.service, call.operation, call.input));
  return read;
}

}  // namespace

Task<void> Front::answer(http::Exchange& exchange) {
  const http::Incoming& incoming = exchange.request();
  const RequestHead head{incoming.method, incoming.target, incoming.headers};
  const std::string service = access::claimed_service(head);
  api::ApiRequest request;
  if (service != "s3") {
    request = api::api_request(head);
    request.scope_service = service;
  }
  if (service != "s3" && api::is_api_request(request))
    co_await answer_api(exchange, std::move(request));
  else
    co_await options_.s3(exchange);
}

Task<void> Front::answer_api(http::Exchange& exchange, api::ApiRequest request) {
  const http::Incoming& incoming = exchange.request();
  const RequestHead head{incoming.method, incoming.target, incoming.headers};
  std::string id = fresh_request_id();
  api::Reply reply = api::reply_for(request, id);
  const std::string service = wanted_service(request, reply);
  Result<access::CheckedHead, access::AuthRefusal> checked =
      options_.verifier.check_head(head, options_.now(), service);
  if (!checked) {
    api::Answer refusal = refusal_of(checked.error(), reply);
    co_await send(exchange, std::move(reply), std::move(refusal));
    co_return;
  }
  Result<std::string> body = co_await http::read_whole(exchange, api::api_body_bytes_max);
  if (!body) {
    api::Answer refusal = api::body_too_large();
    if (body.error().code != Errc::invalid_input)
      refusal = aws::Refusal{"SerializationException", body.error().text};
    const bool crowded = body.error().code == Errc::denied;
    if (crowded) refusal = aws::Refusal{"ServiceUnavailable", body.error().text, 503};
    co_await send(exchange, std::move(reply), std::move(refusal), crowded);
    co_return;
  }
  const aws::Sha256Bytes digest = aws::sha256(*body);
  Result<access::Verified, access::AuthRefusal> verified =
      options_.verifier.check_signature(head, *checked, hex(aws::view_of(digest)));
  if (!verified) {
    api::Answer refusal = refusal_of(verified.error(), reply);
    co_await send(exchange, std::move(reply), std::move(refusal));
    co_return;
  }
  const access::Verified& caller = *verified;
  if (!exchange.proved(caller.key->owner)) {
    api::Answer refusal = aws::Refusal{"ThrottlingException", "Rate exceeded"};
    co_await send(exchange, std::move(reply), std::move(refusal), true);
    co_return;
  }
  request.scope_service = caller.service;
  request.access_key = caller.key->id;
  api::ApiCall read = api::read_call(request, *body, std::move(id));
  Result<api::Call, aws::Refusal> call =
      allowed_and_valid(std::move(read.call), read.reply, *caller.key);
  if (!call) {
    api::Answer answer = call.error();
    co_await send(exchange, std::move(read.reply), std::move(answer));
    co_return;
  }
  std::function<Task<api::Answer>()> work = [this, call = *std::move(call)] {
    return options_.api(call);
  };
  api::Answer answer = co_await loop::run_on(exchange.loop(), options_.calls, std::move(work));
  co_await send(exchange, std::move(read.reply), std::move(answer));
}

}  // namespace muster::server
