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

Task<void> send(HttpExchange& exchange, Reply reply, Answer answer, bool close = false) {
  ApiAnswer made = write_answer(reply, answer);
  loop::HttpReply http{.status = made.status,
                       .headers = std::move(made.headers),
                       .body = std::move(made.body),
                       .close = close};
  (void)co_await exchange.reply(std::move(http));
}

Refusal refusal_of(const objects::Refused& refused, const Reply& reply) {
  const objects::AwsError error = objects::answer_to(refused, dialect_of(reply));
  return {error.code, error.message, error.status};
}

/// Whose operation is asked for, whatever the signature says. What is no operation of any service
/// here is answered as such to whom the scope fits, whatever it is.
std::string wanted_service(const ApiRequest& request, const Reply& reply) {
  return reply.service.empty() ? request.scope_service : reply.service;
}

/// A call that its key may make and whose input is what AWS takes, or why it is none.
std::variant<Call, Refusal> allowed_and_valid(std::variant<Call, Refusal> read, const Reply& reply,
                                              const objects::AccessKey& key) {
  const Call* call = std::get_if<Call>(&read);
  if (call == nullptr) return read;
  if (!objects::allowed_call(key, call->service, call->operation))
    return refusal_of({objects::AuthFailure::denied, {}, {}}, reply);
  if (std::optional<Refusal> wrong = validate(call->service, call->operation, call->input))
    return *std::move(wrong);
  return read;
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
  const std::string service = wanted_service(request, reply);
  std::variant<objects::CheckedHead, objects::Refused> checked =
      options_.verifier.check_head(head, options_.now(), service);
  if (const objects::Refused* refused = std::get_if<objects::Refused>(&checked)) {
    Answer refusal = refusal_of(*refused, reply);
    co_await send(exchange, std::move(reply), std::move(refusal));
    co_return;
  }
  Result<std::string> body = co_await loop::read_whole(exchange, api_body_bytes_max);
  if (!body) {
    Answer refusal = body_too_large();
    if (body.error().code != Errc::invalid_input)
      refusal = Refusal{"SerializationException", body.error().text};
    const bool crowded = body.error().code == Errc::denied;
    if (crowded) refusal = Refusal{"ServiceUnavailable", body.error().text, 503};
    co_await send(exchange, std::move(reply), std::move(refusal), crowded);
    co_return;
  }
  const objects::Sha256Bytes digest = objects::sha256(*body);
  std::variant<objects::Verified, objects::Refused> verified = options_.verifier.check_signature(
      head, std::get<objects::CheckedHead>(checked), hex(objects::view_of(digest)));
  if (const objects::Refused* refused = std::get_if<objects::Refused>(&verified)) {
    Answer refusal = refusal_of(*refused, reply);
    co_await send(exchange, std::move(reply), std::move(refusal));
    co_return;
  }
  const objects::Verified& caller = std::get<objects::Verified>(verified);
  if (!exchange.proved(caller.key->owner)) {
    Answer refusal = Refusal{"ThrottlingException", "Rate exceeded"};
    co_await send(exchange, std::move(reply), std::move(refusal), true);
    co_return;
  }
  request.scope_service = caller.service;
  request.access_key = caller.key->id;
  ApiCall read = read_call(request, *body, std::move(id));
  std::variant<Call, Refusal> call =
      allowed_and_valid(std::move(read.call), read.reply, *caller.key);
  if (const Refusal* refusal = std::get_if<Refusal>(&call)) {
    Answer answer = *refusal;
    co_await send(exchange, std::move(read.reply), std::move(answer));
    co_return;
  }
  std::function<Task<Answer>()> work = [this, call = std::get<Call>(std::move(call))] {
    return options_.door(call);
  };
  Answer answer = co_await loop::run_on(exchange.loop(), options_.main, std::move(work));
  co_await send(exchange, std::move(read.reply), std::move(answer));
}

}  // namespace muster::server
