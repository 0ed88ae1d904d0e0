#include "image/pull/registry_ask.h"

#include <algorithm>

#include "aws/percent.h"
#include "base/base64.h"
#include "base/text.h"
#include "image/pull/registry_answer.h"

namespace muster::image {
namespace {

constexpr std::size_t token_bytes_max = 64u << 10;
constexpr int redirects_max = 5;
constexpr auto token_max = std::chrono::seconds(30);
constexpr std::string_view hub_server = "registry-1.docker.io";

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

std::string all_of(const http::Head& head, std::string_view name) {
  std::string text;
  for (const auto& [key, value] : head.headers)
    if (same_letters(key, name)) text += (text.empty() ? "" : ", ") + value;
  return text;
}

const Challenge* challenge_of(const std::vector<Challenge>& challenges, std::string_view scheme) {
  const auto at = std::find_if(challenges.begin(), challenges.end(),
                               [&](const Challenge& each) { return each.scheme == scheme; });
  return at == challenges.end() ? nullptr : &*at;
}

std::string basic(const Login& login) {
  return "Basic " + base64(login.user + ":" + login.password);
}

/// An exchange whose body is gathered, unless `on_body` takes it. A body beyond the limit ends it.
loop::Task<Result<RegistryAnswer>> exchange(http::Client& http, http::Origin origin,
                                            http::Request request, std::size_t text_max,
                                            http::OnBody on_body) {
  const auto answer = std::make_shared<RegistryAnswer>();
  const http::OnBody gather = [answer, text_max, on_body](const http::Head& head,
                                                          std::string_view bytes) -> Result<void> {
    if (head.status / 100 == 2 && on_body) return on_body(head, bytes);
    answer->too_long = bytes.size() > text_max - answer->text.size();
    if (answer->too_long) {
      answer->head = head;
      return fail(Errc::protocol, "the response is too long");
    }
    answer->text += bytes;
    return {};
  };
  request.headers.emplace_back("User-Agent", "muster/" MUSTER_VERSION);
  request.headers.emplace_back("Accept-Encoding", "identity");  // The bytes that have the digest.
  Result<http::Head> head = co_await http.exchange(std::move(origin), std::move(request), gather);
  if (!head && !answer->too_long) co_return head.error();
  if (head) answer->head = *std::move(head);
  co_return *answer;
}

/// A query to the token service, or a form; the scope is what this client needs, whatever the
/// registry asks for.
http::Request token_request(const http::Url& url, const Challenge& challenge,
                            const std::string& repository, const std::optional<Login>& login) {
  aws::Pairs query = {{"scope", "repository:" + repository + ":pull"}};
  const std::string service = challenge.value("service");
  if (!service.empty()) query.emplace_back("service", service);
  http::Request request;
  request.target = url.target;
  if (login && !login->identity_token.empty()) {
    query.emplace_back("grant_type", "refresh_token");
    query.emplace_back("refresh_token", login->identity_token);
    query.emplace_back("client_id", "muster");
    request.method = "POST";
    request.headers.emplace_back("Content-Type", "application/x-www-form-urlencoded");
    request.body = aws::encoded_query(std::move(query));
    return request;
  }
  const char mark = url.target.find('?') == std::string::npos ? '?' : '&';
  request.target += mark + aws::encoded_query(std::move(query));
  if (login) request.headers.emplace_back("Authorization", basic(*login));
  return request;
}

/// Sets a flag and wakes who waits, also where the coroutine is destroyed.
class Renewing {
 public:
  Renewing(bool& flag, loop::Event& done) : flag_(flag), done_(done) { flag_ = true; }
  Renewing(const Renewing&) = delete;
  Renewing& operator=(const Renewing&) = delete;
  ~Renewing() {
    flag_ = false;
    done_.notify();
  }

 private:
  bool& flag_;
  loop::Event& done_;
};

}  // namespace

RegistryCalls::RegistryCalls(loop::Loop& loop, const Log& log, Registry::Options options,
                             Reference image, Registry::FindLogin find_login)
    : loop_(loop),
      log_(log),
      options_(std::move(options)),
      image_(std::move(image)),
      find_login_(std::move(find_login)),
      http_(loop, {.connect_max = options_.connect_max,
                   .idle_max = options_.idle_max,
                   .ca_roots = options_.ca_roots,
                   .public_only = options_.public_only}),
      renewed_(loop) {}

/// Docker's rule: https, but a registry of this machine that speaks no TLS is asked without.
loop::Task<Result<void>> RegistryCalls::find_origin() {
  if (origin_) co_return Result<void>();
  const std::string server =
      image_.registry == "docker.io" ? std::string(hub_server) : image_.registry;
  Result<http::Url> url = http::parse_url((options_.plain_http ? "http://" : "https://") + server);
  if (!url) co_return url.error();
  if (url->origin.tls && http::is_loopback(url->origin.host)) {
    http::Request request;
    request.target = "/v2/";
    request.deadline = Clock::now() + token_max;
    const Result<RegistryAnswer> probe =
        co_await exchange(http_, url->origin, std::move(request), token_bytes_max, nullptr);
    if (!probe) {
      const Errc code = probe.error().code;
      if (code == Errc::denied || code == Errc::timeout) co_return probe.error();
      url = http::parse_url("http://" + server);
    }
  }
  origin_ = url->origin;
  co_return Result<void>();
}

loop::Task<Result<RegistryAnswer>> RegistryCalls::once(RegistryAsk ask) {
  const Result<void> found = co_await find_origin();
  if (!found) co_return found.error();
  bool renewed = false;
  while (true) {
    const unsigned used = passes_;
    Result<RegistryAnswer> answer = co_await follow(ask);
    const bool asks = answer && answer->own && answer->head.status == 401 && !renewed;
    if (!asks) co_return answer;
    renewed = true;
    const Result<void> got = co_await renew(std::move(answer->head), used);
    if (!got) co_return got.error();
  }
}

loop::Task<Result<RegistryAnswer>> RegistryCalls::follow(RegistryAsk ask) {
  http::Url at{*origin_, ask.target};
  for (int hop = 0; hop <= redirects_max; ++hop) {
    const bool own = at.origin == *origin_;
    http::Request request;
    request.target = at.target;
    request.headers = ask.headers;
    request.deadline = ask.deadline;
    if (own && !authorization_.empty())
      request.headers.emplace_back("Authorization", authorization_);
    Result<RegistryAnswer> answer =
        co_await exchange(http_, at.origin, std::move(request), ask.text_max, ask.on_body);
    if (!answer) co_return answer;
    answer->own = own;
    if (!is_redirect(answer->head.status)) co_return answer;
    Result<http::Url> next = redirected(at, answer->head, options_.plain_http);
    if (!next) co_return next.error();
    at = *std::move(next);
  }
  co_return fail(Errc::unsupported,
                 "the registry redirects more than " + std::to_string(redirects_max) + " times");
}

loop::Task<Result<void>> RegistryCalls::renew(http::Head refused, unsigned used) {
  while (renewing_) co_await renewed_.wait();
  if (passes_ != used) co_return Result<void>();  // Another call got it meanwhile.
  const Renewing renewing(renewing_, renewed_);
  Result<std::string> header = co_await header_for(std::move(refused));
  if (!header) co_return header.error();
  authorization_ = *std::move(header);
  ++passes_;
  co_return Result<void>();
}

loop::Task<Result<std::string>> RegistryCalls::header_for(http::Head refused) {
  const Result<std::vector<Challenge>> challenges =
      challenges_from(all_of(refused, "WWW-Authenticate"));
  if (!challenges) co_return challenges.error();
  const Challenge* bearer = challenge_of(*challenges, "bearer");
  if (bearer == nullptr && challenge_of(*challenges, "basic") == nullptr)
    co_return fail(Errc::unsupported, "the registry requires an unsupported kind of login");
  const Result<std::optional<FoundLogin>> found = co_await find_login_();
  if (!found) co_return found.error();
  login_origin_ = *found ? (*found)->origin : "";
  login_ = *found ? (*found)->login.user + " from " + login_origin_ : "";
  std::optional<Login> login;
  if (*found) login = (*found)->login;
  if (bearer != nullptr) {
    const Result<std::string> token = co_await token_of(*bearer, std::move(login));
    if (!token) co_return token.error();
    co_return "Bearer " + *token;
  }
  if (!login)
    co_return fail(Errc::denied, "the registry requires a login: run docker login " +
                                     image_.registry +
                                     ", which stores the login in ~/.docker/config.json");
  if (!login->identity_token.empty())
    co_return fail(Errc::denied, "the registry requires a password, but the login from " +
                                     login_origin_ + " is a token");
  co_return basic(*login);
}

loop::Task<Result<std::string>> RegistryCalls::token_of(Challenge challenge,
                                                        std::optional<Login> login) {
  const Result<http::Url> url = http::parse_url(challenge.value("realm"));
  if (!url) co_return fail(Errc::protocol, "the URL of the registry's token service is invalid");
  const std::string where = "the token service " + url->origin.authority();
  const bool plain = options_.plain_http || http::is_loopback(url->origin.host);
  if (!url->origin.tls && (origin_->tls || !plain))  // The password goes there.
    co_return fail(Errc::unsupported, where + " does not use TLS");
  http::Request request = token_request(*url, challenge, image_.repository, login);
  request.deadline = Clock::now() + token_max;
  const Result<RegistryAnswer> answer =
      co_await exchange(http_, url->origin, std::move(request), token_bytes_max, nullptr);
  if (!answer) co_return answer.error().in(where);
  const int status = answer->head.status;
  if (status == 401 || status == 403 || status == 400)
    co_return fail(
        Errc::denied,
        where + " returned status " + std::to_string(status) +
            (login_origin_.empty() ? " without a login" : " for the login from " + login_origin_));
  if (status != 200 || answer->too_long)
    co_return fail(Errc::closed, where + " returned status " + std::to_string(status));
  Result<std::string> token = token_from(answer->text);
  if (!token) co_return token.error().in(where);
  co_return token;
}

Error RegistryCalls::failure(const RegistryAnswer& answer, const std::string& what) const {
  if (answer.own) return failure_of(answer.head, answer.text, what, login_origin_);
  // Such links are for a while: the registry may give another one.
  return fail(Errc::closed,
              "the registry's redirect target returned " + std::to_string(answer.head.status));
}

}  // namespace muster::image
