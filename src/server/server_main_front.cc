#include "server/server_main_front.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "loop/other_loop.h"
#include "objects/digest.h"
#include "server/protocol.h"
#include "server/validate.h"

namespace muster::server {
namespace {

using loop::HttpExchange;
using loop::Task;
using objects::RequestHead;

constexpr std::size_t request_id_bytes = 16;

/// "01234567-89ab-…", as AWS has it.
std::string fresh_request_id() {
  std::string id = hex(random_bytes(request_id_bytes));
  for (const std::size_t at : {8u, 13u, 18u, 23u}) id.insert(at, "-");
  return id;
}

objects::Dialect dialect_of(const Reply& reply) {
  const bool query = reply.protocol == Protocol::query || reply.protocol == Protocol::ec2;
  return query ? objects::Dialect::query : objects::Dialect::json;
}

Refusal refusal_of(const objects::AwsError& error) {
  return {error.code, error.message, error.status};
}

Task<void> send(HttpExchange& exchange, Reply reply, Answer answer) {
  ApiAnswer made = write_answer(reply, answer);
  loop::HttpReply http{
      .status = made.status, .headers = std::move(made.headers), .body = std::move(made.body)};
  (void)co_await exchange.reply(std::move(http));
}

/// Whose call it is, and whether they may call that service at all.
std::variant<std::string, objects::Refused> caller_of(objects::Verifier& verifier,
                                                      const RequestHead& head, UnixMillis now,
                                                      const std::string& service,
                                                      std::string_view body) {
  const objects::Sha256Bytes digest = objects::sha256(body);
  const std::string body_sha256 = hex(objects::view_of(digest));
  std::variant<objects::Verified, objects::Refused> verified = verifier.verify(
      head, {.now = now, .service = service, .body_sha256 = body_sha256});
  if (auto* refused = std::get_if<objects::Refused>(&verified)) return std::move(*refused);
  const objects::Verified& good = std::get<objects::Verified>(verified);
  if (!objects::allowed_service(*good.key, good.service))
    return objects::Refused{objects::AuthFailure::denied, {}, {}};
  return good.key->id;
}

}  // namespace

Task<void> Front::answer(HttpExchange& exchange) {
  const loop::HttpIncoming& incoming = exchange.request();
  const RequestHead head{incoming.method, incoming.target, incoming.headers};
  const std::string service = objects::claimed_service(head);
  ApiRequest request;
  if (service != "s3") {
    request = api_request(head);
    request.scope_service = service;
  }
  if (service != "s3" && is_api_request(request))
    co_await answer_api(exchange, std::move(request));
  else
    co_await options_.s3(exchange);
}

Task<void> Front::answer_api(HttpExchange& exchange, ApiRequest request) {
  const loop::HttpIncoming& incoming = exchange.request();
  const RequestHead head{incoming.method, incoming.target, incoming.headers};
  std::string id = fresh_request_id();
  Reply reply = reply_for(request, id);
  Result<std::string> body = co_await loop::read_whole(exchange, api_body_bytes_max);
  if (!body) {
    Answer refusal = body_too_large();
    if (body.error().code != Errc::invalid_input)
      refusal = Refusal{"SerializationException", body.error().text};
    co_await send(exchange, std::move(reply), std::move(refusal));
    co_return;
  }
  std::variant<std::string, objects::Refused> caller =
      caller_of(options_.verifier, head, options_.now(), request.scope_service, *body);
  if (const objects::Refused* refused = std::get_if<objects::Refused>(&caller)) {
    Answer refusal = refusal_of(objects::answer_to(*refused, dialect_of(reply)));
    co_await send(exchange, std::move(reply), std::move(refusal));
    co_return;
  }
  request.access_key = std::get<std::string>(std::move(caller));
  ApiCall read = read_call(request, *body, std::move(id));
  std::optional<Refusal> refusal;
  if (const Refusal* wrong = std::get_if<Refusal>(&read.call)) {
    refusal = *wrong;
  } else {
    const Call& call = std::get<Call>(read.call);
    refusal = validate(call.service, call.operation, call.input);
  }
  if (refusal) {
    Answer answer = *std::move(refusal);
    co_await send(exchange, std::move(read.reply), std::move(answer));
    co_return;
  }
  std::function<Task<Answer>()> work = [this, call = std::get<Call>(std::move(read.call))] {
    return options_.door(call);
  };
  Answer answer = co_await loop::run_on(exchange.loop(), options_.main, std::move(work));
  co_await send(exchange, std::move(read.reply), std::move(answer));
}

}  // namespace muster::server
