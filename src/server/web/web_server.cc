#include "server/web/web_server.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "aws/access/party.h"
#include "aws/api/inputs.h"
#include "aws/api/validate.h"
#include "aws/digest.h"
#include "base/text.h"
#include "net/http/url.h"
#include "net/loop/other_loop.h"
#include "server/web/web_files.h"
#include "server/web/web_rules.h"
#include "server/web/web_server_call.h"

namespace muster::server {
namespace {

using aws::RequestHead;
using loop::Task;

constexpr std::size_t call_bytes_max = 64u << 10;
/// The prefix of an IPv4 address on an IPv6 socket (RFC 4291, 2.5.5.2).
constexpr std::string_view mapped_v4 = "::ffff:";
constexpr const char* forever = "public, max-age=31536000, immutable";

/// GET requests with a cookie.
constexpr std::array<std::string_view, 6> files_and_events = {"events",   "download", "metric-csv",
                                                              "host-csv", "runs-csv", "object"};
constexpr std::string_view timeline_call = "DescribeTrainingJobTimeline";
constexpr std::string_view usage_call = "DescribeTrainingJobUsage";
/// SageMaker operations that the page calls unchanged.
constexpr std::string_view operations[] = {
    "DescribeTrainingJob", timeline_call,    usage_call, "ListTags",
    "ListTrainingJobs",    "StopTrainingJob"};

RequestHead head_of(const http::Incoming& incoming) {
  return {incoming.method, incoming.target, incoming.headers};
}

std::string_view host_of(const http::Incoming& incoming) {
  return incoming.value("host").value_or("");
}

http::Reply fresh_reply(int status, const char* caching) {
  http::Reply reply{.status = status, .headers = web::safety_headers()};
  reply.headers.emplace_back("Cache-Control", caching);
  return reply;
}

Task<void> send_json(http::Exchange& exchange, int status, Json json, std::string cookie = {}) {
  http::Reply reply = fresh_reply(status, "no-store");
  reply.headers.emplace_back("Content-Type", "application/json");
  if (!cookie.empty()) reply.headers.emplace_back("Set-Cookie", std::move(cookie));
  reply.body = to_text(json);
  reply.close = status == 503;  // A resource is exhausted, so closing the connection helps.
  (void)co_await exchange.reply(std::move(reply));
}

Task<void> send_file(http::Exchange& exchange, const web::WebFile& file, bool keeps) {
  const std::string etag = "\"" + std::string(web::web_edition()) + "\"";
  const bool is_known = exchange.request().value("if-none-match") == etag;
  http::Reply reply = fresh_reply(is_known ? 304 : 200, keeps ? forever : "no-cache");
  reply.headers.emplace_back("ETag", etag);
  if (!is_known) {
    reply.headers.emplace_back("Content-Type", std::string(file.type));
    reply.headers.emplace_back("Content-Encoding", "gzip");
    reply.body = std::string(file.packed);
  }
  (void)co_await exchange.reply(std::move(reply));
}

std::string cookie_text(const http::Incoming& incoming, const std::string& secret,
                        std::int64_t seconds) {
  return web::cookie_name(host_of(incoming)) + "=" + secret +
         "; Path=/ui/; Max-Age=" + std::to_string(seconds) + "; HttpOnly; SameSite=Strict" +
         (incoming.tls ? "; Secure" : "");
}

/// Why a request is rejected; empty if it is accepted.
std::string strangeness(const http::Incoming& incoming, const std::vector<std::string>& names) {
  if (!web::is_own_host(host_of(incoming), names))
    return "this server does not use this host name; page_names in its config lists its names";
  return {};
}

}  // namespace

Task<void> refuse(http::Exchange& exchange, int status, std::string text) {
  Json json{{"message", std::move(text)}};
  co_await send_json(exchange, status, std::move(json));
}

bool secrets_may_pass(const http::Incoming& incoming) {
  std::string peer(incoming.peer);
  if (peer.starts_with(mapped_v4)) peer.erase(0, mapped_v4.size());
  return incoming.tls || http::is_loopback(peer);
}

Task<void> WebServer::answer(http::Exchange& exchange) {
  const http::Incoming& incoming = exchange.request();
  const RequestHead head = head_of(incoming);
  std::string strange = strangeness(incoming, options_.names);
  if (!strange.empty()) co_return co_await refuse(exchange, 421, std::move(strange));
  web::WebRoute route = web::web_route(head.path());
  const bool reads = incoming.method == "GET" || incoming.method == "HEAD";
  if (route.wanted == web::Wanted::call)
    co_return co_await answer_call(exchange, std::move(route.name));
  if (!reads)
    co_return co_await refuse(exchange, 405, "only calls of the page can use this method");
  if (head.path() == "/ui" || head.path() == "/") {
    http::Reply reply = fresh_reply(308, "no-cache");
    reply.headers.emplace_back("Location", "/ui/");
    (void)co_await exchange.reply(std::move(reply));
    co_return;
  }
  const bool is_view = route.wanted == web::Wanted::view;
  const web::WebFile* file = web::find_web_file(is_view ? "index.html" : route.name);
  if (route.wanted == web::Wanted::nothing || file == nullptr)
    co_return co_await refuse(exchange, 404, "page not found");
  co_await send_file(exchange, *file, !is_view);
}

std::string WebServer::link(const std::string& key) {
  return "/ui/#enter=" + visits_.issue_pass(key, options_.now());
}

std::optional<web::Visit> WebServer::visit_of(http::Exchange& exchange) {
  const http::Incoming& incoming = exchange.request();
  const std::string name = web::cookie_name(host_of(incoming));
  const std::string_view secret = web::cookie_of(head_of(incoming), name);
  if (secret.empty()) return std::nullopt;
  std::optional<web::Visit> visit = visits_.find(secret, options_.now());
  if (!visit) return std::nullopt;
  const std::shared_ptr<const access::AccessKey> key = options_.keys.find(visit->key);
  if (!key || key->policy.limited) return std::nullopt;  // The key was revoked.
  return visit;
}

Task<void> WebServer::let_in(http::Exchange& exchange, std::string key) {
  const http::Incoming& incoming = exchange.request();
  const std::string_view browser = incoming.value("user-agent").value_or("");
  const std::string secret = visits_.begin(key, browser, options_.now());
  std::string cookie = cookie_text(incoming, secret, web::Visits::visit_lasts.count() / 1000);
  Json json{{"key", std::move(key)}};
  co_await send_json(exchange, 200, std::move(json), std::move(cookie));
}

/// `enter` with a pass, or `login` with an access key.
Task<void> WebServer::begin_visit(http::Exchange& exchange, const std::string& name,
                                  const Json& input) {
  if (name == "enter") {
    std::optional<std::string> key = visits_.use_pass(api::text_of(input, "pass"), options_.now());
    if (!key || !options_.keys.find(*key))
      co_return co_await refuse(
          exchange, 403,
          "the link was used already, or is older than a minute; sm ui prints a new one");
    co_return co_await let_in(exchange, *std::move(key));
  }
  if (!secrets_may_pass(exchange.request()))
    co_return co_await refuse(
        exchange, 403,
        "access keys are not accepted over a network without TLS; use the link from sm ui");
  const std::shared_ptr<const access::AccessKey> key =
      options_.keys.find(api::text_of(input, "id"));
  const std::string secret = api::text_of(input, "secret");
  const bool good = key && aws::same_bytes(key->secret, secret) && !key->policy.limited &&
                    key->session_token.empty();
  if (!good) co_return co_await refuse(exchange, 403, "unknown access key or wrong secret");
  std::string id = key->id;
  co_await let_in(exchange, std::move(id));
}

const std::map<std::string, WebServer::Handler, std::less<>>& WebServer::handlers() {
  static const std::map<std::string, Handler, std::less<>> all = [] {
    std::map<std::string, Handler, std::less<>> table = {
        {"visit", &WebServer::visit},
        {"visits", &WebServer::visits},
        {"counts", &WebServer::counts},
        {"last-run", &WebServer::last_run},
        {"end-visit", &WebServer::end_visit},
        {"log", &WebServer::log},
        {"search-log", &WebServer::search_log},
        {"metric", &WebServer::metric},
        {"metrics", &WebServer::metrics},
        {"objects", &WebServer::objects},
        {"contents", &WebServer::contents},
        {"stacks", &WebServer::stacks},
        {"keys", &WebServer::keys},
        {"make-key", &WebServer::make_key},
        {"delete-key", &WebServer::delete_key},
        {"machine", &WebServer::machine},
        {"hosts", &WebServer::hosts},
        {"host-usage", &WebServer::host_usage},
        {"ranks", &WebServer::ranks},
        {"runs", &WebServer::runs},
        {"run-columns", &WebServer::run_columns},
        {"compare-runs", &WebServer::compare_runs},
    };
    for (const std::string_view name : operations)
      table.emplace(std::string(name), &WebServer::operate);
    return table;
  }();
  return all;
}

Task<void> WebServer::answer_call(http::Exchange& exchange, std::string name) {
  const http::Incoming& incoming = exchange.request();
  const bool only_reads =
      incoming.method == "GET" &&
      std::find(files_and_events.begin(), files_and_events.end(), name) != files_and_events.end();
  const std::optional<std::string_view> site = incoming.value("sec-fetch-site");
  const bool own = only_reads ? !site || *site == "same-origin"
                              : web::is_from_own_page(head_of(incoming), incoming.tls);
  if (!own) co_return co_await refuse(exchange, 403, "only the page itself can make this call");
  if (!only_reads && incoming.method != "POST")
    co_return co_await refuse(exchange, 405, "calls of the page use POST");
  std::optional<web::Visit> visit = visit_of(exchange);
  const bool begins = name == "enter" || name == "login";
  if (!visit && !begins) {
    Json json{{"message", "not logged in"}, {"login", secrets_may_pass(incoming)}};
    co_return co_await send_json(exchange, 401, std::move(json));
  }
  if (visit && !exchange.proved(visit->key, access::party_of_key(visit->key)))
    co_return co_await refuse(exchange, 503,
                              "too many connections of this access key are busy; try again later");
  if (only_reads) co_return co_await send(exchange, name, *std::move(visit));
  const Result<std::string> body = co_await http::read_whole(exchange, call_bytes_max);
  if (!body) co_return co_await refuse(exchange, 413, "the call is too large or incomplete");
  Result<Json> input = body->empty() ? Json::object() : parse_json(*body);
  if (!input || !input->is_object())
    co_return co_await refuse(exchange, 400, "a call must be a JSON object");
  if (begins) co_return co_await begin_visit(exchange, name, *input);
  if (name == "leave") {
    visits_.end(visit->id, visit->key);
    Json json = Json::object();
    std::string cookie = cookie_text(incoming, "", 0);
    co_return co_await send_json(exchange, 200, std::move(json), std::move(cookie));
  }
  const auto handler = handlers().find(name);
  if (handler == handlers().end()) co_return co_await refuse(exchange, 404, "unknown call");
  Call call{exchange, *std::move(visit), std::move(name), *std::move(input)};
  Result<Json, aws::Refusal> answer = co_await (this->*handler->second)(call);
  if (!answer) co_return co_await refuse(exchange, answer.error().status, answer.error().message);
  Json json = *std::move(answer);
  co_await send_json(exchange, 200, std::move(json));
}

/// One of `files_and_events`.
Task<void> WebServer::send(http::Exchange& exchange, const std::string& name, web::Visit visit) {
  if (name == "events") return events(exchange, std::move(visit));
  if (name == "download") return download(exchange, std::move(visit.key));
  if (name == "metric-csv") return download_metric(exchange, std::move(visit.key));
  if (name == "host-csv") return download_usage(exchange, std::move(visit.key));
  if (name == "runs-csv") return download_runs(exchange, std::move(visit.key));
  return download_object(exchange, std::move(visit.key));
}

Task<Result<Json, aws::Refusal>> WebServer::operate(Call& call) {
  api::Request request{.service = "sagemaker",
                       .operation = call.name,
                       .input = call.input,
                       .access_key = call.visit.key};
  if (call.name == timeline_call) request.own = api::Own::timeline;
  if (call.name == usage_call) request.own = api::Own::usage;
  // Parsed like the similar AWS operation.
  if (request.own != api::Own::none) request.operation = "DescribeTrainingJob";
  co_return co_await ask(call.exchange, std::move(request));
}

Task<Result<Json, aws::Refusal>> WebServer::ask(http::Exchange& exchange, api::Request request) {
  const auto valid = api::validate(request.service, request.operation, request.input);
  if (!valid) co_return valid.error();
  std::function<Task<api::Answer>()> work = [this, request = std::move(request)] {
    return options_.api(request);
  };
  co_return co_await loop::run_on(exchange.loop(), options_.calls, std::move(work));
}

Task<Result<Json, aws::Refusal>> WebServer::visit(Call& call) {
  co_return Json{
      {"key", call.visit.key}, {"id", call.visit.id}, {"until", call.visit.until.count()}};
}

Task<Result<Json, aws::Refusal>> WebServer::visits(Call& call) {
  Json list = Json::array();
  for (const web::Visit& each : visits_.of_key(call.visit.key, options_.now()))
    list.push_back({{"id", each.id},
                    {"since", each.since.count()},
                    {"until", each.until.count()},
                    {"browser", each.browser},
                    {"own", each.id == call.visit.id}});
  co_return Json{{"visits", std::move(list)}};
}

Task<Result<Json, aws::Refusal>> WebServer::end_visit(Call& call) {
  if (!visits_.end(api::text_of(call.input, "id"), call.visit.key))
    co_return aws::Refusal{"NotFound", "this key has no session with this ID", 404};
  co_return Json::object();
}

Task<Result<Json, aws::Refusal>> WebServer::counts(Call& call) {
  std::function<Task<Result<Json>>()> work = [this]() -> Task<Result<Json>> {
    co_return options_.state.counts();
  };
  Result<Json> counted =
      co_await loop::run_on(call.exchange.loop(), options_.calls, std::move(work));
  if (!counted) co_return api::internal_failure(counted.error());
  co_return *std::move(counted);
}

/// {"job"}: {"job"}, the job to compare it with; empty if none exists.
Task<Result<Json, aws::Refusal>> WebServer::last_run(Call& call) {
  std::function<Task<Result<std::string>>()> work =
      [this, job = api::text_of(call.input, "job")]() -> Task<Result<std::string>> {
    co_return options_.state.last_run(job);
  };
  const Result<std::string> found =
      co_await loop::run_on(call.exchange.loop(), options_.calls, std::move(work));
  if (!found) co_return api::internal_failure(found.error());
  co_return Json{{"job", *found}};
}

}  // namespace muster::server
