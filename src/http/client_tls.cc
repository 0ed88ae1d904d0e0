#include "http/client_tls.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <array>

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
                "no CA roots on this machine: install ca-certificates, or name a PEM file in "
                "AWS_CA_BUNDLE");
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

ClientTls::ClientTls(SSL_CTX* context, int socket, const std::string& host)
    : socket_(socket), ssl_(SSL_new(context), SSL_free) {
  CHECK_THAT(ssl_, "SSL_new: out of memory");
  SSL* ssl = ssl_.get();
  socket_.attach(ssl);
  SSL_set_connect_state(ssl);
  bool named = false;
  if (is_numeric(host)) {
    named = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host.c_str()) == 1;
  } else {
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    named = SSL_set1_host(ssl, host.c_str()) == 1 &&
            SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                     const_cast<char*>(host.c_str())) == 1;
  }
  CHECK_THAT(named, "a host that no certificate can name");  // parse_url lets none pass.
}

loop::Wire::Attempt ClientTls::handshake() {
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_.get());
  if (result == 1) return {};
  Attempt attempt = socket_.outcome_of(ssl_.get(), result);
  if (attempt.kind == Kind::end)
    return {.kind = Kind::failed,
            .error = fail(Errc::closed, "the other side closed during the TLS handshake")};
  if (attempt.kind != Kind::failed || !attempt.error.text.empty()) return attempt;
  const long verified = SSL_get_verify_result(ssl_.get());
  if (verified != X509_V_OK)
    attempt.error = fail(Errc::denied, std::string("its certificate is not trusted: ") +
                                           X509_verify_cert_error_string(verified));
  else
    attempt.error = fail(Errc::protocol, "TLS: " + loop::ssl_reason());
  return attempt;
}

loop::Wire::Attempt ClientTls::read(char* into, std::size_t bytes_max, std::vector<Fd>&) {
  ERR_clear_error();
  std::size_t count = 0;
  const int result = SSL_read_ex(ssl_.get(), into, bytes_max, &count);
  if (result == 1) return {.bytes = count};
  Attempt attempt = socket_.outcome_of(ssl_.get(), result);
  // Without a goodbye the end may be a cut: a response that has no length must not pass for whole.
  if (attempt.kind == Kind::end && SSL_get_error(ssl_.get(), result) != SSL_ERROR_ZERO_RETURN)
    return {.kind = Kind::failed, .error = fail(Errc::closed, "the connection was cut")};
  if (attempt.kind == Kind::failed && attempt.error.text.empty())
    attempt.error = fail(Errc::protocol, "TLS: " + loop::ssl_reason());
  return attempt;
}

loop::Wire::Attempt ClientTls::write(std::string_view bytes, std::vector<Fd>&) {
  ERR_clear_error();
  std::size_t count = 0;
  const int result = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &count);
  if (result == 1) return {.bytes = count};
  Attempt attempt = socket_.outcome_of(ssl_.get(), result);
  if (attempt.kind == Kind::end)
    return {.kind = Kind::failed,
            .error = fail(Errc::closed, "the other side closed the connection")};
  if (attempt.kind == Kind::failed && attempt.error.text.empty())
    attempt.error = fail(Errc::protocol, "TLS: " + loop::ssl_reason());
  return attempt;
}

void ClientTls::goodbye() {
  ERR_clear_error();
  SSL_shutdown(ssl_.get());
}

}  // namespace muster::http
