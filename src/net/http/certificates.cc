#include "net/http/certificates.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <array>

#include "base/fd.h"
#include "base/files/given_path.h"

namespace muster::http {
namespace {

bool is_folder(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

}  // namespace

bool is_numeric(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> address{};
  return ::inet_pton(AF_INET, host.c_str(), address.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
}

Result<loop::SslContext> https_context(const std::string& ca_roots) {
  if (ca_roots.empty())
    return fail(Errc::system,
                "no CA roots found on this machine; install ca-certificates, or set AWS_CA_BUNDLE "
                "to a PEM file");
  ERR_clear_error();
  loop::SslContext context = loop::make_ssl_context(TLS_client_method(), TLS1_2_VERSION);
  if (!context) return fail(Errc::system, "TLS: " + loop::ssl_reason());
  const bool folder = is_folder(ca_roots);
  const int loaded = folder ? SSL_CTX_load_verify_dir(context.get(), ca_roots.c_str())
                            : SSL_CTX_load_verify_file(context.get(), ca_roots.c_str());
  if (loaded != 1)
    return fail(Errc::system, "CA roots: " + ca_roots + ": no certificate could be read");
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  return context;
}

Result<loop::SslContext> https_server_context(const std::string& certificate_file,
                                              const std::string& key_file) {
  ERR_clear_error();
  loop::SslContext context = loop::make_ssl_context(TLS_server_method(), TLS1_2_VERSION);
  if (!context) return fail(Errc::system, "TLS: " + loop::ssl_reason());
  // OpenSSL follows links of all users.
  const Result<Fd> certificate = open_given_file(certificate_file);
  if (!certificate) return fail(Errc::system, certificate.error().text);
  const Result<Fd> key = open_given_file(key_file);
  if (!key) return fail(Errc::system, key.error().text);
  if (SSL_CTX_use_certificate_chain_file(context.get(), held_path(*certificate).c_str()) != 1)
    return fail(Errc::system,
                certificate_file + ": no PEM certificate found: " + loop::ssl_reason());
  if (SSL_CTX_use_PrivateKey_file(context.get(), held_path(*key).c_str(), SSL_FILETYPE_PEM) != 1)
    return fail(Errc::system, key_file + ": no PEM key found: " + loop::ssl_reason());
  if (SSL_CTX_check_private_key(context.get()) != 1)
    return fail(Errc::system,
                key_file + ": the key does not match the certificate in " + certificate_file);
  return context;
}

ClientTls::ClientTls(SSL_CTX* context, int socket, const std::string& host)
    : SslWire(context, socket, Side::client) {
  bool named = false;
  if (is_numeric(host)) {
    named = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl()), host.c_str()) == 1;
  } else {
    SSL_set_hostflags(ssl(), X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    named = SSL_set1_host(ssl(), host.c_str()) == 1 &&
            SSL_ctrl(ssl(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                     const_cast<char*>(host.c_str())) == 1;
  }
  CHECK_THAT(named, "a host that no certificate can name");  // parse_url() rejects such hosts.
}

Error ClientTls::handshake_error() {
  const long verified = SSL_get_verify_result(ssl());
  if (verified == X509_V_OK) return SslWire::handshake_error();
  return fail(Errc::denied, std::string("the server's certificate is not trusted: ") +
                                X509_verify_cert_error_string(verified));
}

}  // namespace muster::http
