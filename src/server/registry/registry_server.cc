#include "server/registry/registry_server.h"

#include "aws/access/party.h"
#include "net/loop/worker.h"
#include "server/registry/login.h"
#include "server/registry/registry_call.h"

namespace muster::registry {
namespace {

using loop::Task;

/// A job's key pulls its own image, and does nothing else.
bool may(const access::AccessKey& key, std::string_view method, const Route& route) {
  if (!key.policy.limited) return true;
  if (method != "GET" && method != "HEAD") return false;
  if (route.kind == Kind::base) return true;
  const bool pulls = route.kind == Kind::manifest || route.kind == Kind::blob;
  return pulls && !route.repository.empty() && route.repository == key.policy.repository;
}

Task<Answered> say_hello(RegistryCall& call) {
  http::Reply reply = fresh_reply(200);
  reply.headers.emplace_back("Content-Type", "application/json");
  reply.body = "{}";
  co_return co_await send(call, std::move(reply));
}

Task<Answered> perform(RegistryCall& call) {
  const bool reads = call.method() == "GET" || call.method() == "HEAD";
  switch (call.route.kind) {
    case Kind::base:
      co_return co_await say_hello(call);
    case Kind::catalog:
      co_return co_await list_repositories(call);
    case Kind::tags:
      co_return co_await list_tags(call);
    case Kind::blob:
      if (reads) co_return co_await give_blob(call);
      co_return co_await delete_blob(call);
    case Kind::uploads:
      co_return co_await begin_upload(call);
    case Kind::upload:
      co_return co_await go_on_with_upload(call);
    case Kind::manifest:
      break;
  }
  if (reads) co_return co_await give_manifest(call);
  if (call.method() == "PUT") co_return co_await put_manifest(call);
  co_return co_await delete_manifest(call);
}

Task<void> refuse(http::Exchange& exchange, aws::Refusal refusal, bool close) {
  http::Reply reply = fresh_reply(refusal.status);
  reply.headers.emplace_back("Content-Type", "application/json");
  if (refusal.status == 401)
    reply.headers.emplace_back("WWW-Authenticate", "Basic realm=\"muster\"");
  for (const auto& [name, value] : refusal.more) reply.headers.emplace_back(name, value);
  reply.body = error_json(refusal);
  reply.close = close;
  (void)co_await exchange.reply(std::move(reply));
}

}  // namespace

http::Reply fresh_reply(int status) {
  return {.status = status,
          .headers = {{"Docker-Distribution-Api-Version", "registry/2.0"},
                      {"X-Content-Type-Options", "nosniff"}}};
}

Task<Answered> send(RegistryCall& call, http::Reply reply) {
  (void)co_await call.exchange.reply(std::move(reply));
  co_return Answered();
}

aws::Refusal storage_failure(const Error& error) {
  if (error.text.find("No space left") != std::string::npos ||
      error.text.find("Disk quota") != std::string::npos)
    return {"UNKNOWN",
            "the registry's disk is full; free some space with sm image prune on its machine", 507};
  return {"UNKNOWN", "the registry cannot read or write its store: " + error.text, 500};
}

Task<Answered> with_store(RegistryCall& call, StoreWork work) {
  const auto run = [store = call.store, &work]() -> Answered {
    const Fd held = TRY(store->hold().transform_error(storage_failure));
    return work(*store);
  };
  co_return co_await loop::in_thread(call.exchange.loop(), run);
}

Answered edit_repository(image::Store& store, const std::string& name, UnixMillis now,
                         const Edit& edit) {
  Answered answered;
  const Result<void> changed = store.repositories().change(
      name, [&](std::optional<image::Repository>& repository) -> Result<void> {
        image::Repository edited =
            repository ? *repository : image::Repository{.name = name, .created = now};
        answered = edit(edited);
        if (answered) repository = std::move(edited);
        return {};
      });
  if (!changed) return storage_failure(changed.error());
  return answered;
}

Result<image::Repository, aws::Refusal> existing_repository(RegistryCall& call) {
  Result<std::optional<image::Repository>> found =
      call.store->repositories().find(call.route.repository);
  if (!found) return storage_failure(found.error());
  if (!*found)
    return aws::Refusal{"NAME_UNKNOWN",
                        "there is no repository " + call.route.repository +
                            "; create it with a push or with aws ecr create-repository",
                        404};
  return **std::move(found);
}

Result<std::shared_ptr<image::Store>> RegistryServer::store() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!store_) {
    image::Store opened = TRY(options_.open_store());
    store_ = std::make_shared<image::Store>(std::move(opened));
  }
  return store_;
}

Task<void> RegistryServer::answer(http::Exchange& exchange) {
  const http::Incoming& incoming = exchange.request();
  const aws::RequestHead head{incoming.method, incoming.target, incoming.headers};
  Result<std::shared_ptr<const access::AccessKey>> key =
      logged_in(head.header("authorization"), keys_, options_.now());
  if (!key) {
    aws::Refusal nobody{"UNAUTHORIZED", key.error().text, 401};
    co_return co_await refuse(exchange, std::move(nobody), false);
  }
  if (!exchange.proved((*key)->counted(), access::party_of(**key))) {
    aws::Refusal busy{"TOOMANYREQUESTS", "too many requests from this job at once", 429};
    co_return co_await refuse(exchange, std::move(busy), true);
  }
  Result<Route, aws::Refusal> route = read_route(head);
  Answered answered;
  if (!route) {
    answered = route.error();
  } else if (!may(**key, incoming.method, *route)) {
    answered = aws::Refusal{"DENIED", "a job's key can only pull the job's own TrainingImage", 403};
  } else if (const Result<std::shared_ptr<image::Store>> opened = store(); !opened) {
    answered = aws::Refusal{
        "UNKNOWN", "the registry's image store cannot be opened: " + opened.error().text, 503};
  } else {
    RegistryCall call{exchange, options_, uploads_, *opened, *std::move(key), *std::move(route)};
    answered = co_await perform(call);
  }
  if (answered || exchange.answered()) co_return;
  aws::Refusal refusal = answered.error();
  co_await refuse(exchange, std::move(refusal), false);
}

}  // namespace muster::registry
