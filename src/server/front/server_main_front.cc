#include "server/front/server_main_front.h"

#include <nlohmann/json.hpp>

#include "aws/access/party.h"
#include "aws/api/inputs.h"
#include "aws/api/protocol.h"
#include "aws/api/validate.h"
#include "aws/digest.h"
#include "base/text.h"
#include "net/loop/other_loop.h"
#include "server/front/probes.h"
#include "server/registry/route.h"
#include "server/web/web_rules.h"

namespace muster::server {
namespace {

using aws::RequestHead;
using loop::Task;

constexpr std::size_t request_id_bytes = 16;

/// "01234567-89ab-…", as in AWS.
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

/// The service of the requested operation, whatever the signature says. For an operation that no
/// service here has, the service that the signature's scope names.
std::string wanted_service(const api::ApiHead& head, const api::Reply& reply) {
  return reply.service.empty() ? head.scope_service : reply.service;
}

/// The request, if its key allows the operation and AWS would accept the input; else the refusal.
Result<api::Request, aws::Refusal> allowed_and_valid(Result<api::Request, aws::Refusal> read,
                                                     const api::Reply& reply,
                                                     const access::AccessKey& key) {
  if (!read) return read;
  const api::Request& request = *read;
  if (!access::allowed_operation(key, request.service, request.operation))
    return refusal_of({access::AuthFailure::denied, {}, {}}, reply);
  TRY(api::validate(request.service, request.operation, request.input));
  return read;
}

/// No bucket is used without a signature, so "ui" may be a bucket's name. A browser that opens the
/// root also gets the page.
bool is_for_web(const RequestHead& head, std::string_view service, const api::ApiHead& api_head) {
  if (!service.empty() || api::is_of_an_api(api_head)) return false;
  if (web::is_web_path(head.path())) return true;
  return head.target == "/" && head.method == "GET" && web::is_navigation(head);
}

}  // namespace

api::Answer Front::web_link(const access::AccessKey& key) {
  if (!options_.web_link)
    return api::invalid("the server's web page is disabled in the server's config");
  if (!key.maker.empty())
    return api::invalid(
        "a temporary key cannot open the web page; use the key that created the temporary key");
  return Json{{"Path", options_.web_link(key.id)}};
}

Task<void> Front::answer(http::Exchange& exchange) {
  const http::Incoming& incoming = exchange.request();
  const RequestHead head{incoming.method, incoming.target, incoming.headers};
  const std::string service = access::claimed_service(head);
  api::ApiHead api_head;
  if (service != "s3") {
    api_head = api::api_head(head);
    api_head.scope_service = service;
  }
  // S3 keys may have such names too, but S3 requires a signature.
  if (service.empty() && Probes::takes(head)) co_return co_await options_.probes(exchange);
  if (service.empty() && registry::is_registry_path(head.path())) {
    exchange.is_for("registry");
    co_return co_await options_.registry(exchange);
  }
  if (options_.web && is_for_web(head, service, api_head)) {
    exchange.is_for("page");
    co_return co_await options_.web(exchange);
  }
  if (service != "s3" && api::is_of_an_api(api_head)) {
    exchange.is_for("api");
    co_return co_await answer_api(exchange, std::move(api_head));
  }
  exchange.is_for("s3");
  co_await options_.s3(exchange);
}

Task<void> Front::answer_api(http::Exchange& exchange, api::ApiHead api_head) {
  const http::Incoming& incoming = exchange.request();
  const RequestHead head{incoming.method, incoming.target, incoming.headers};
  std::string id = fresh_request_id();
  api::Reply reply = api::reply_for(api_head, id);
  const std::string service = wanted_service(api_head, reply);
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
  if (!exchange.proved(caller.key->counted(), access::party_of(*caller.key))) {
    api::Answer refusal = aws::Refusal{"ThrottlingException", "Rate exceeded"};
    co_await send(exchange, std::move(reply), std::move(refusal), true);
    co_return;
  }
  api_head.scope_service = caller.service;
  api_head.access_key = caller.key->counted();
  api_head.signer = caller.key->id;
  api_head.session = caller.key->session;
  api::RequestRead read = api::read_request(api_head, *body, std::move(id));
  Result<api::Request, aws::Refusal> request =
      allowed_and_valid(std::move(read.request), read.reply, *caller.key);
  if (!request) {
    api::Answer answer = request.error();
    co_await send(exchange, std::move(read.reply), std::move(answer));
    co_return;
  }
  if (request->own == api::Own::web_link) {
    api::Answer answer = web_link(*caller.key);
    co_await send(exchange, std::move(read.reply), std::move(answer));
    co_return;
  }
  request->host = head.header("host").value_or("");
  request->gone = exchange.gone();
  std::function<Task<api::Answer>()> work = [this, request = *std::move(request)] {
    return options_.api(request);
  };
  api::Answer answer = co_await loop::run_on(exchange.loop(), options_.calls, std::move(work));
  co_await send(exchange, std::move(read.reply), std::move(answer));
}

}  // namespace muster::server
