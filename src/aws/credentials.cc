#include "aws/credentials.h"

#include <nlohmann/json.hpp>
#include <set>

#include "base/dates.h"
#include "base/fd.h"
#include "base/fields.h"
#include "base/json.h"
#include "base/text.h"
#include "base/time.h"
#include "base/variables.h"
#include "net/loop/wait.h"

namespace muster::aws {
namespace {

constexpr std::size_t answer_bytes_max = 64u << 10;
constexpr auto renew_before = std::chrono::minutes(5);
constexpr int fetch_tries = 3;
constexpr auto fetch_max = std::chrono::seconds(10);

/// Hosts that may be asked without TLS: this machine, ECS, EKS.
bool may_be_plain(const std::string& host) {
  static const std::set<std::string> hosts = {"localhost",     "127.0.0.1",      "::1",
                                              "169.254.170.2", "169.254.170.23", "fd00:ec2::23"};
  return hosts.contains(host);
}

Result<std::optional<CredentialsEndpoint>> endpoint_in(const Env& env) {
  const std::string relative = value_of(env, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  const std::string full = value_of(env, "AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (relative.empty() && full.empty()) return std::optional<CredentialsEndpoint>();
  const std::string name = relative.empty() ? "AWS_CONTAINER_CREDENTIALS_FULL_URI"
                                            : "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI";
  if (!relative.empty() && !relative.starts_with('/'))
    return fail(Errc::invalid_input, name + ": expected a path that starts with /");
  Result<http::Url> url =
      http::parse_url(relative.empty() ? full : "http://169.254.170.2" + relative);
  if (!url) return url.error().in(name);
  if (!url->origin.tls && !may_be_plain(url->origin.host))
    return fail(
        Errc::invalid_input,
        name +
            ": http is allowed only for this machine, 169.254.170.2 and 169.254.170.23; use https");
  CredentialsEndpoint endpoint{*std::move(url), value_of(env, "AWS_CONTAINER_AUTHORIZATION_TOKEN"),
                               value_of(env, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")};
  return std::optional<CredentialsEndpoint>(std::move(endpoint));
}

std::optional<CredentialsFile> file_in(const Env& env) {
  std::string path = value_of(env, "AWS_SHARED_CREDENTIALS_FILE");
  const std::string home = value_of(env, "HOME");
  if (path.empty() && !home.empty()) path = home + "/.aws/credentials";
  if (path.starts_with("~/") && !home.empty()) path = home + path.substr(1);
  if (path.empty()) return std::nullopt;
  const std::string profile = value_of(env, "AWS_PROFILE");
  return CredentialsFile{path, profile.empty() ? "default" : profile, !profile.empty()};
}

/// "[ name ]" gives "name".
std::optional<std::string> section_of(const std::string& line) {
  if (!line.starts_with('[') || line.find(']') == std::string::npos) return std::nullopt;
  return trim(std::string_view(line).substr(1, line.find(']') - 1));
}

}  // namespace

Result<CredentialSources> credential_sources(const Env& env) {
  CredentialSources sources;
  const std::string access = value_of(env, "AWS_ACCESS_KEY_ID");
  const std::string secret = value_of(env, "AWS_SECRET_ACCESS_KEY");
  if (access.empty() != secret.empty())
    return fail(Errc::invalid_input,
                access.empty()
                    ? "AWS_SECRET_ACCESS_KEY is set, but AWS_ACCESS_KEY_ID is not; set both"
                    : "AWS_ACCESS_KEY_ID is set, but AWS_SECRET_ACCESS_KEY is not; set both");
  if (!access.empty())
    sources.variables = {trim(access), trim(secret), trim(value_of(env, "AWS_SESSION_TOKEN"))};
  sources.file = file_in(env);
  sources.endpoint = TRY(endpoint_in(env));
  return sources;
}

Result<std::optional<Credentials>> credentials_in(std::string_view text,
                                                  const std::string& profile) {
  bool inside = false;
  Credentials found;
  for (const std::string& raw : split(text, '\n')) {
    const std::string line = trim(raw);
    if (line.empty() || line.starts_with('#') || line.starts_with(';')) continue;
    if (const std::optional<std::string> section = section_of(line)) {
      inside = *section == profile;
      continue;
    }
    const std::size_t equals = line.find_first_of("=:");
    if (!inside || equals == std::string::npos) continue;
    const std::string name = lower_case(trim(std::string_view(line).substr(0, equals)));
    const std::string value = trim(std::string_view(line).substr(equals + 1));
    if (name == "aws_access_key_id") found.access_key = value;
    if (name == "aws_secret_access_key") found.secret_key = value;
    if (name == "aws_session_token") found.session_token = value;
  }
  if (found.access_key.empty() && found.secret_key.empty()) return std::optional<Credentials>();
  if (found.access_key.empty() || found.secret_key.empty())
    return fail(Errc::invalid_input, "profile " + profile +
                                         ": expected both aws_access_key_id and "
                                         "aws_secret_access_key");
  return std::optional<Credentials>(std::move(found));
}

Result<FetchedCredentials> credentials_from_json(std::string_view text) {
  Result<Json> json = parse_json(text);
  if (!json || !json->is_object())
    return fail(Errc::protocol, "the credentials endpoint's response is not a JSON object");
  FetchedCredentials fetched;
  fetched.credentials = {member_text(*json, "AccessKeyId"), member_text(*json, "SecretAccessKey"),
                         member_text(*json, "Token")};
  if (fetched.credentials.access_key.empty() || fetched.credentials.secret_key.empty())
    return fail(Errc::protocol,
                "the credentials endpoint's response has no AccessKeyId or no SecretAccessKey");
  fetched.expires = parse_iso_date(member_text(*json, "Expiration"));
  return fetched;
}

CredentialProvider::CredentialProvider(loop::Loop& loop, CredentialSources sources,
                                       std::string ca_roots)
    : loop_(loop),
      sources_(std::move(sources)),
      http_(loop, {.connect_max = std::chrono::seconds(2),
                   .idle_max = std::chrono::seconds(5),
                   .ca_roots = std::move(ca_roots)}) {}

loop::Task<Result<Credentials>> CredentialProvider::get() {
  if (sources_.variables) {
    origin_ = "AWS_ACCESS_KEY_ID";
    co_return *sources_.variables;
  }
  if (sources_.file) {
    const CredentialsFile& file = *sources_.file;
    origin_ = file.path + " [" + file.profile + "]";
    const Result<std::string> text = read_file(file.path, 1u << 20);
    if (!text && text.error().code != Errc::not_found) co_return text.error();
    Result<std::optional<Credentials>> found =
        credentials_in(text ? *text : std::string(), file.profile);
    if (!found) co_return found.error().in(file.path);
    if (found->has_value()) co_return **found;
    if (file.named)
      co_return fail(Errc::denied, "no credentials: AWS_PROFILE is " + file.profile + ", but " +
                                       file.path + " has no profile with this name");
  }
  if (!sources_.endpoint) {
    std::string looked = "no credentials: AWS_ACCESS_KEY_ID is not set";
    if (sources_.file) looked += ", " + sources_.file->path + " has no profile default";
    co_return fail(Errc::denied, looked +
                                     ", and neither AWS_CONTAINER_CREDENTIALS_RELATIVE_URI nor "
                                     "AWS_CONTAINER_CREDENTIALS_FULL_URI is set");
  }
  origin_ = "the container's credentials endpoint";
  if (cached_ && (!cached_->expires || *cached_->expires - renew_before > wall_time()))
    co_return cached_->credentials;
  Result<FetchedCredentials> fetched = fail(Errc::closed, "");
  loop::Timer pause(loop_);
  for (int i = 0; i < fetch_tries; ++i) {
    if (i > 0) co_await pause.after(std::chrono::milliseconds(200 << i));
    fetched = co_await fetch(*sources_.endpoint);
    if (fetched || fetched.error().code == Errc::denied) break;
  }
  // Until they have expired the old ones do.
  if (!fetched && cached_ && cached_->expires && *cached_->expires > wall_time())
    co_return cached_->credentials;
  if (!fetched) co_return fetched.error().in("no credentials: the container's endpoint");
  cached_ = *fetched;
  co_return cached_->credentials;
}

loop::Task<Result<FetchedCredentials>> CredentialProvider::fetch(CredentialsEndpoint endpoint) {
  http::Request request;
  request.target = endpoint.url.target;
  request.deadline = Clock::now() + fetch_max;
  request.headers.emplace_back("Accept", "application/json");
  if (!endpoint.token_file.empty()) {
    const Result<std::string> token = read_file(endpoint.token_file, answer_bytes_max);
    if (!token) co_return fail(Errc::denied, token.error().text);
    endpoint.token = trim(*token);
  }
  if (!endpoint.token.empty()) request.headers.emplace_back("Authorization", endpoint.token);
  auto answer = std::make_shared<std::string>();
  const http::OnBody collect = [answer](const http::Head&, std::string_view bytes) -> Result<void> {
    *answer += bytes;
    if (answer->size() > answer_bytes_max) return fail(Errc::protocol, "the response is too long");
    return {};
  };
  Result<http::Head> head =
      co_await http_.exchange(endpoint.url.origin, std::move(request), collect);
  if (!head) co_return head.error();
  if (head->status != 200)
    co_return fail(head->status / 100 == 4 && head->status != 429 ? Errc::denied : Errc::closed,
                   "the response has status " + std::to_string(head->status));
  co_return credentials_from_json(*answer);
}

}  // namespace muster::aws
