#include "server/front/probes.h"

#include "aws/access/party.h"
#include "aws/digest.h"
#include "net/loop/other_loop.h"
#include "server/registry/login.h"

namespace muster::server {
namespace {

using loop::Task;

constexpr Duration looked_for = std::chrono::seconds(1);
constexpr std::string_view bearer = "Bearer ";

Task<void> send(http::Exchange& exchange, int status, std::string body) {
  http::Reply reply{.status = status, .body = std::move(body)};
  reply.headers.emplace_back("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
  reply.headers.emplace_back("Cache-Control", "no-store");
  if (status == 401) reply.headers.emplace_back("WWW-Authenticate", "Basic realm=\"muster\"");
  (void)co_await exchange.reply(std::move(reply));
}

}  // namespace

bool Probes::takes(const aws::RequestHead& head) {
  if (head.method != "GET" && head.method != "HEAD") return false;
  const std::string_view path = head.path();
  return path == "/healthz" || path == "/readyz" || path == "/metrics";
}

Task<void> Probes::answer(http::Exchange& exchange) {
  exchange.is_for("probes");
  const http::Incoming& incoming = exchange.request();
  const aws::RequestHead head{incoming.method, incoming.target, incoming.headers};
  if (head.path() == "/metrics") {
    if (may_see(exchange, head)) co_return co_await answer_metrics(exchange);
    co_return co_await send(exchange, 401,
                            "log in with the ID and the secret of an access key, or the token of "
                            "metrics_token_file\n");
  }
  if (head.path() == "/readyz") co_return co_await answer_ready(exchange);
  std::function<Task<bool>()> turn = []() -> Task<bool> { co_return true; };
  (void)co_await loop::run_on(exchange.loop(), options_.calls, std::move(turn));
  co_await send(exchange, 200, "ok\n");
}

bool Probes::may_see(http::Exchange& exchange, const aws::RequestHead& head) const {
  const std::string_view given = head.header("authorization").value_or("");
  if (given.starts_with(bearer)) {
    const bool right =
        !options_.token.empty() && aws::same_bytes(given.substr(bearer.size()), options_.token);
    return right && exchange.proved("metrics_token_file", {});
  }
  const Result<std::shared_ptr<const access::AccessKey>> key =
      registry::logged_in(given, options_.keys, options_.now());
  return key && (*key)->owner.empty() &&
         exchange.proved((*key)->counted(), access::party_of(**key));
}

/// On the main loop. An answer is reused for a second, so that unauthenticated requests cause no
/// load.
std::string Probes::trouble() {
  const TimePoint now = Clock::now();
  if (looked_ != TimePoint() && now - looked_ < looked_for) return last_;
  looked_ = now;
  last_ = options_.trouble();
  return last_;
}

Task<void> Probes::answer_ready(http::Exchange& exchange) {
  std::function<Task<std::string>()> look = [this]() -> Task<std::string> { co_return trouble(); };
  std::string said = co_await loop::run_on(exchange.loop(), options_.calls, std::move(look));
  const int status = said.empty() ? 200 : 503;
  if (said.empty()) said = "ready";
  said += "\n";
  co_await send(exchange, status, std::move(said));
}

Task<void> Probes::answer_metrics(http::Exchange& exchange) {
  std::function<Task<std::string>()> write = [this]() -> Task<std::string> {
    Exposition text;
    options_.write(text);
    co_return text.text();
  };
  std::string text = co_await loop::run_on(exchange.loop(), options_.calls, std::move(write));
  Exposition here;
  options_.write_here(here);
  co_await send(exchange, 200, text + here.text());
}

}  // namespace muster::server
