#include "server/front/server_main_config.h"

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/fields.h"
#include "base/files/given_path.h"
#include "base/port.h"
#include "base/text.h"
#include "command/line.h"
#include "net/http/client.h"

namespace muster::server {
namespace {

Result<void> set_listen(ServerConfig& config, const std::string& listen) {
  const std::size_t colon = listen.rfind(':');
  const std::string port_text = colon == std::string::npos ? "" : listen.substr(colon + 1);
  const std::optional<std::uint16_t> port =
      port_text == "0" ? std::optional<std::uint16_t>(0) : parse_port(port_text);
  if (!port) return expected("listen: \"" + listen + "\"", "ADDRESS:PORT, e.g. 127.0.0.1:7700");
  config.host = listen.substr(0, colon);
  if (config.host.size() > 2 && config.host.front() == '[' && config.host.back() == ']')
    config.host = config.host.substr(1, config.host.size() - 2);
  if (config.host == "localhost") config.host = "127.0.0.1";
  config.port = *port;
  return {};
}

Result<void> set_text(std::string& value, const Json& json, const std::string& name) {
  if (!json.is_string()) return expected(name, "a string");
  value = json.get<std::string>();
  return {};
}

Result<void> set_flag(bool& value, const Json& json, const std::string& name) {
  if (!json.is_boolean()) return expected(name, "true or false");
  value = json.get<bool>();
  return {};
}

Result<void> set_name(ServerConfig& config, const Json& json) {
  TRY(set_text(config.name, json, "name"));
  const Result<http::Url> url =
      http::parse_url("http://" + config.name + ":1/");  // No port, no path of its own.
  if (url && url->origin.host == config.name) return {};
  return expected("name", "a host name or an IPv4 address, got \"" + config.name + "\"");
}

Result<void> set_account(ServerConfig& config, const Json& json) {
  TRY(set_text(config.realm.account, json, "account"));
  const std::string& account = config.realm.account;
  if (account.size() != 12 || account.find_first_not_of("0123456789") != std::string::npos)
    return expected("account", "12 digits");
  return {};
}

Result<void> set_access_keys(ServerConfig& config, const Json& json) {
  if (!json.is_array()) return expected("keys", "a list of objects, each with id and secret_file");
  for (const Json& each : json) {
    const std::string where = "keys[" + std::to_string(config.keys.size()) + "]";
    if (!each.is_object()) return expected(where, "an object with id and secret_file");
    ConfigKey& key = config.keys.emplace_back();
    for (const auto& [name, value] : each.items()) {
      if (name != "id" && name != "secret_file")
        return expected(where + "." + name, "one of the keys id and secret_file");
      TRY(set_text(name == "id" ? key.id : key.secret_file, value, where + "." + name));
    }
    if (key.id.empty() || key.secret_file.empty())
      return expected(where, "both id and secret_file");
  }
  return {};
}

Result<void> set_listen_key(ServerConfig& config, const Json& json) {
  std::string listen;
  TRY(set_text(listen, json, "listen"));
  return set_listen(config, listen);
}

Result<void> set_s3(ServerConfig& config, const Json& json) {
  config.s3 = TRY(jobs::outside_s3_from(json));
  return {};
}

Result<void> set_disk_free(ServerConfig& config, const Json& json) {
  const double gib = json.is_number() ? json.get<double>() : -1;
  if (!(gib >= 0 && gib <= 1e9)) return expected("disk_free_gib", "a number from 0 to 1000000000");
  config.disk_free_bytes = static_cast<std::uint64_t>(gib * 1024 * 1024 * 1024);
  return {};
}

Result<void> set_networks(ServerConfig& config, const Json& json) {
  config.networks = TRY(vpc::networks_from(json));
  return {};
}

Result<void> set_page_names(ServerConfig& config, const Json& json) {
  if (!json.is_array()) return expected("page_names", "a list of host names for this server");
  for (const Json& each : json) {
    if (!each.is_string() || each.get<std::string>().empty())
      return expected("page_names", "a list of host names for this server");
    config.page_names.push_back(lower_case(each.get<std::string>()));
  }
  return {};
}

/// {"slurm": {...}}, or "local", the default.
Result<void> set_engine(ServerConfig& config, const Json& json) {
  if (json == Json("local")) return {};
  if (!json.is_object() || json.size() != 1 || !json.contains("slurm"))
    return expected("engine", "\"local\" or {\"slurm\": {...}}");
  Result<places::SlurmCluster> cluster = places::slurm_cluster_from(json.at("slurm"));
  if (!cluster) return cluster.error().in("engine.slurm");
  config.slurm = *std::move(cluster);
  return {};
}

Result<void> set_jobs(ServerConfig& config, const Json& json) {
  if (!json.is_object()) return expected("jobs", "an object");
  config.jobs = json;
  return {};
}

/// A key of the file. docs/users/configuration.md has a line for each.
struct Key {
  const char* name;
  std::string ServerConfig::*text;  ///< Or null, and:
  Result<void> (*set)(ServerConfig& config, const Json& json);
};

constexpr Key keys[] = {
    {"listen", nullptr, set_listen_key},
    {"data", &ServerConfig::data, nullptr},
    {"tls_certificate", &ServerConfig::certificate, nullptr},
    {"tls_key", &ServerConfig::key, nullptr},
    {"tls_ca", &ServerConfig::ca, nullptr},
    {"name", nullptr, set_name},
    {"insecure_http", nullptr,
     [](ServerConfig& config, const Json& json) {
       return set_flag(config.insecure_http, json, "insecure_http");
     }},
    {"s3", nullptr, set_s3},
    {"s3_domain", &ServerConfig::s3_domain, nullptr},
    {"disk_free_gib", nullptr, set_disk_free},
    {"keys", nullptr, set_access_keys},
    {"region", nullptr,
     [](ServerConfig& config, const Json& json) {
       return set_text(config.realm.region, json, "region");
     }},
    {"account", nullptr, set_account},
    {"networks", nullptr, set_networks},
    {"page", nullptr,
     [](ServerConfig& config, const Json& json) {
       return set_flag(config.web_page, json, "page");
     }},
    {"page_names", nullptr, set_page_names},
    {"engine", nullptr, set_engine},
    {"access_log", &ServerConfig::access_log, nullptr},
    {"metrics_token_file", &ServerConfig::metrics_token_file, nullptr},
    {"jobs", nullptr, set_jobs},
};

Result<void> set_key(ServerConfig& config, const std::string& name, const Json& json) {
  std::vector<std::string> names;
  for (const Key& key : keys) {
    if (name == key.name)
      return key.text != nullptr ? set_text(config.*key.text, json, name) : key.set(config, json);
    names.emplace_back(key.name);
  }
  return fail(Errc::invalid_input,
              "\"" + name + "\" is not a config key; the config keys are " + join(names, ", "));
}

/// The text with spaces for comments, from // to the end of a line: so positions do not change.
std::string without_comments(std::string_view text) {
  std::string plain(text);
  bool in_text = false;
  for (std::size_t at = 0; at < plain.size(); ++at) {
    if (in_text && plain[at] == '\\') {
      ++at;
    } else if (plain[at] == '"') {
      in_text = !in_text;
    } else if (!in_text && text.substr(at).starts_with("//")) {
      while (at < plain.size() && plain[at] != '\n') plain[at++] = ' ';
    }
  }
  return plain;
}

bool is_loopback(const std::string& host) {
  return host.starts_with("127.") || host == "::1";
}

Result<void> check(const ServerConfig& config) {
  if (config.certificate.empty() != config.key.empty())
    return fail(Errc::invalid_input, "tls_certificate and tls_key must be set together");
  if (!config.ca.empty() && config.certificate.empty())
    return fail(Errc::invalid_input, "tls_ca requires tls_certificate");
  if (!is_loopback(config.host) && config.certificate.empty() && !config.insecure_http)
    return fail(Errc::invalid_input,
                "listen: " + config.host +
                    " can be reached by other machines: set tls_certificate and tls_key in the "
                    "config, or use --insecure-http, which sends everything unencrypted");
  return {};
}

std::string default_data(const Env& env) {
  const auto data = env.find("XDG_DATA_HOME");
  if (data != env.end() && !data->second.empty()) return data->second + "/muster";
  const auto home = env.find("HOME");
  if (home != env.end() && !home->second.empty()) return home->second + "/.local/share/muster";
  return "/var/lib/muster";
}

}  // namespace

std::optional<command::Stop> parse_flags(const Args& args, ServerFlags& flags) {
  command::Line line(command::page_of("server"));
  line.text("--listen", flags.listen);
  line.text("--data", flags.data);
  line.text("--config", flags.config);
  line.flag("--check", flags.check);
  line.flag("--operations", flags.operations);
  line.flag("--insecure-http", flags.insecure_http);
  return line.parse(args);
}

Result<ServerConfig> config_of(const ServerFlags& flags, const std::string& file, const Env& env) {
  ServerConfig config;
  if (!file.empty()) {
    const Json json = TRY(parse_json(without_comments(file)));
    if (!json.is_object()) return fail(Errc::invalid_input, "expected a JSON object");
    for (const auto& [name, value] : json.items()) TRY(set_key(config, name, value));
  }
  if (!flags.listen.empty()) TRY(set_listen(config, flags.listen));
  if (!flags.data.empty()) config.data = flags.data;
  if (config.data.empty()) config.data = default_data(env);
  if (flags.insecure_http) config.insecure_http = true;
  TRY(check(config));
  return config;
}

void make_absolute(ServerConfig& config) {
  std::vector<std::string*> paths = {&config.data, &config.certificate, &config.key,
                                     &config.ca,   &config.access_log,  &config.metrics_token_file};
  for (ConfigKey& key : config.keys) paths.push_back(&key.secret_file);
  if (config.s3) {
    if (config.s3->region.empty()) config.s3->region = config.realm.region;
    paths.insert(paths.end(), {&config.s3->credentials_file, &config.s3->ca_file});
  }
  for (std::string* path : paths)
    if (!path->empty()) *path = std::filesystem::absolute(*path);
}

Result<void> resolve_links(ServerConfig& config) {
  std::vector<std::string*> paths = {&config.certificate, &config.key, &config.ca,
                                     &config.access_log};
  if (config.s3) paths.push_back(&config.s3->ca_file);
  for (std::string* path : paths)
    if (!path->empty()) *path = TRY(walk_given(*path)).whole();
  return {};
}

std::vector<std::string> secret_files(const ServerConfig& config) {
  std::vector<std::string> paths;
  for (const std::string& path : {config.key, config.metrics_token_file, config.access_log})
    if (!path.empty()) paths.push_back(path);
  for (const ConfigKey& key : config.keys) paths.push_back(key.secret_file);
  if (config.s3) paths.push_back(config.s3->credentials_file);
  return paths;
}

s3wire::HostNames s3_names(const ServerConfig& config) {
  std::vector<std::string> others = config.page_names;
  std::array<char, HOST_NAME_MAX + 1> own{};
  if (::gethostname(own.data(), HOST_NAME_MAX) == 0) others.push_back(lower_case(own.data()));
  return s3wire::host_names(config.name, config.s3_domain, others);
}

}  // namespace muster::server
