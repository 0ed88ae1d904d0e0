#include "server/front/trust.h"

#include "base/fd.h"
#include "base/files/given_path.h"
#include "net/http/certificate.h"
#include "net/http/client.h"

namespace muster::server {
namespace {

std::string host_of(const ServerConfig& config) {
  if (!config.name.empty()) return config.name;
  return config.host == "0.0.0.0" || config.host == "::" ? "127.0.0.1" : config.host;
}

}  // namespace

std::string url_of(const ServerConfig& config, std::uint16_t port) {
  const http::Origin origin{!config.certificate.empty(), host_of(config), port};
  return (origin.tls ? "https://" : "http://") + origin.authority();
}

image::OwnNames own_names(const ServerConfig& config, std::uint16_t port) {
  const std::string url = url_of(config, port);
  image::OwnNames own{config.realm.account, config.realm.region, {url.substr(url.find("//") + 2)}};
  const std::string end = ":" + std::to_string(port);
  const bool all = config.host == "0.0.0.0" || config.host == "::";
  if (all || config.host.starts_with("127."))
    own.hosts.insert(own.hosts.end(), {"127.0.0.1" + end, "localhost" + end});
  if (config.host == "::" || config.host == "::1") own.hosts.push_back("[::1]" + end);
  return own;
}

Result<std::string> roots_with(const std::string& ca_file, const Env& env) {
  std::string roots;
  const Env::const_iterator own = env.find("SSL_CERT_FILE");
  // Not AWS_CA_BUNDLE: it is set for clients of a server, possibly of this one.
  const std::string file =
      http::find_ca_roots(own == env.end() ? Env() : Env{{own->first, own->second}});
  if (!file.empty()) {
    const Result<std::string> text = read_file(file);
    if (text) roots = *text + "\n";
  }
  if (!ca_file.empty()) roots += TRY(read_given(ca_file));
  return roots;
}

Result<void> check_tls(const ServerConfig& config, const Env& env) {
  if (config.certificate.empty()) return {};
  const Result<std::string> roots = roots_with(config.ca, env);
  if (!roots) return fail(Errc::invalid_input, "tls_ca: " + roots.error().text);
  const std::string host = host_of(config);
  const Result<void> fits = http::check_certificate(config.certificate, config.key, *roots, host);
  if (fits) return {};
  if (fits.error().code != Errc::denied) return fail(Errc::invalid_input, fits.error().text);
  return fail(Errc::invalid_input, "tls_certificate: not trusted for the name " + host + ": " +
                                       fits.error().text +
                                       "; set `name` to the name that clients use for the server, "
                                       "and `tls_ca` to a file with the certificate's CA");
}

}  // namespace muster::server
