// Lists, creates and deletes access keys for the web page, as `sm key` does.

#include "aws/api/inputs.h"
#include "net/loop/other_loop.h"
#include "server/operations/keys.h"
#include "server/web/web_server_call.h"

namespace muster::server {
namespace {

using loop::Task;

aws::Refusal refusal_of(const Error& error) {
  const bool is_unknown = error.code == Errc::not_found;
  if (!is_unknown && error.code != Errc::invalid_input) return api::internal_failure(error);
  aws::Refusal refusal = api::invalid(error.text);
  if (is_unknown) refusal.status = 404;
  return refusal;
}

}  // namespace

/// `work` on the main loop, where the store is.
Task<Result<Json, aws::Refusal>> WebServer::with_keys(Call& call,
                                                      std::function<Result<Json>()> work) {
  std::function<Task<Result<Json>>()> turn = [work = std::move(work)]() -> Task<Result<Json>> {
    co_return work();
  };
  Result<Json> done = co_await loop::run_on(call.exchange.loop(), options_.calls, std::move(turn));
  if (!done) co_return refusal_of(done.error());
  co_return *std::move(done);
}

/// {"keys": [{"id", "created", "comment", "config", "own"}], "may_make"}: users' keys, without
/// secrets. Every user's key has full access.
Task<Result<Json, aws::Refusal>> WebServer::keys(Call& call) {
  std::function<Result<Json>()> work = [this] { return options_.state.keys->list(); };
  Result<Json, aws::Refusal> list = co_await with_keys(call, std::move(work));
  if (!list) co_return list.error();
  for (Json& each : *list) each["own"] = api::text_of(each, "id") == call.visit.key;
  co_return Json{{"keys", *std::move(list)},
                 {"may_make", secrets_may_pass(call.exchange.request())}};
}

/// {"comment"}: the new key's {"id", "secret"}, shown only this once.
Task<Result<Json, aws::Refusal>> WebServer::make_key(Call& call) {
  if (!secrets_may_pass(call.exchange.request()))
    co_return aws::Refusal{
        "AccessDenied",
        "secrets are not sent over a network without TLS; create a key with sm key create", 403};
  const auto comment = call.input.find("comment");
  if (comment != call.input.end() && !comment->is_string())
    co_return api::invalid("comment: expected a string");
  std::function<Result<Json>()> work = [this, text = api::text_of(call.input, "comment"),
                                        maker = call.visit.key]() -> Result<Json> {
    const store::AccessKey key = TRY(options_.state.keys->make(text, options_.now(), maker));
    return Json{{"id", key.id}, {"secret", key.secret}};
  };
  co_return co_await with_keys(call, std::move(work));
}

/// {"id"}. Ends all visits of the key immediately, including this one if it uses the same key.
Task<Result<Json, aws::Refusal>> WebServer::delete_key(Call& call) {
  std::function<Result<Json>()> work = [this,
                                        id = api::text_of(call.input, "id")]() -> Result<Json> {
    TRY(options_.state.keys->remove(id));
    return Json::object();
  };
  co_return co_await with_keys(call, std::move(work));
}

}  // namespace muster::server
