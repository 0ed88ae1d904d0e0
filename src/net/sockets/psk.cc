#include "net/sockets/psk.h"

#include <openssl/err.h>

#include <array>

namespace muster::loop {
namespace {

constexpr std::size_t key_bytes = 32;
constexpr std::size_t identity_bytes_max = 256;

PskSession& session_of_ssl(SSL* ssl) {
  return *static_cast<PskSession*>(SSL_get_app_data(ssl));
}

int find_session(SSL* ssl, const unsigned char* identity, std::size_t size, SSL_SESSION** session) {
  *session = nullptr;  // Without a session, the handshake fails, because there is no certificate.
  if (size <= identity_bytes_max)
    *session = session_of_ssl(ssl).found({reinterpret_cast<const char*>(identity), size});
  return 1;
}

int use_session(SSL* ssl, const EVP_MD*, const unsigned char** identity, std::size_t* size,
                SSL_SESSION** session) {
  *session = session_of_ssl(ssl).offered(identity, size);
  return *session != nullptr ? 1 : 0;
}

SslContext make_context(const SSL_METHOD* method) {
  SslContext context = make_ssl_context(method, TLS1_3_VERSION);
  if (!context) return context;
  SSL_CTX* raw = context.get();
  const bool usable = SSL_CTX_set_max_proto_version(raw, TLS1_3_VERSION) == 1 &&
                      // With additional suites, OpenSSL 3.0 does not select the one of the key.
                      SSL_CTX_set_ciphersuites(raw, "TLS_AES_128_GCM_SHA256") == 1 &&
                      SSL_CTX_set1_groups_list(raw, "X25519:P-256") == 1;
  if (!usable) context.reset();
  return context;
}

}  // namespace

SslContext psk_server_context() {
  SslContext context = make_context(TLS_server_method());
  if (!context) return context;
  SSL_CTX_set_psk_find_session_callback(context.get(), find_session);
  SSL_CTX_set_num_tickets(context.get(), 0);
  return context;
}

SslContext psk_client_context() {
  SslContext context = make_context(TLS_client_method());
  if (!context) return context;
  SSL_CTX_set_psk_use_session_callback(context.get(), use_session);
  // No certificate is trusted, so a server with a certificate instead of the key is rejected.
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  return context;
}

PskSession::PskSession(SSL_CTX* context, int socket, Side side) : SslWire(context, socket, side) {
  SSL_set_app_data(ssl(), this);
}

std::unique_ptr<PskSession> PskSession::server(SSL_CTX* context, int socket,
                                               const KeyFor* key_for) {
  std::unique_ptr<PskSession> session(new PskSession(context, socket, Side::server));
  session->key_for_ = key_for;
  return session;
}

std::unique_ptr<PskSession> PskSession::client(SSL_CTX* context, int socket, std::string identity,
                                               std::string key) {
  std::unique_ptr<PskSession> session(new PskSession(context, socket, Side::client));
  session->identity_ = std::move(identity);
  session->key_ = std::move(key);
  return session;
}

SSL_SESSION* PskSession::session_of(const std::string& key) {
  if (key.size() != key_bytes) return nullptr;
  static constexpr std::array<unsigned char, 2> suite{0x13, 0x01};  // TLS_AES_128_GCM_SHA256
  const SSL_CIPHER* cipher = SSL_CIPHER_find(ssl(), suite.data());
  SSL_SESSION* session = SSL_SESSION_new();
  const bool filled =
      session != nullptr && cipher != nullptr &&
      SSL_SESSION_set1_master_key(session, reinterpret_cast<const unsigned char*>(key.data()),
                                  key.size()) == 1 &&
      SSL_SESSION_set_cipher(session, cipher) == 1 &&
      SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1;
  if (filled) return session;
  SSL_SESSION_free(session);
  return nullptr;
}

SSL_SESSION* PskSession::found(std::string identity) {
  const std::optional<std::string> key = (*key_for_)(identity);
  identity_ = std::move(identity);
  return key ? session_of(*key) : nullptr;
}

SSL_SESSION* PskSession::offered(const unsigned char** identity, std::size_t* size) {
  *identity = reinterpret_cast<const unsigned char*>(identity_.data());
  *size = identity_.size();
  return session_of(key_);
}

Result<void> PskSession::proved() {
  if (SSL_session_reused(ssl()) == 1) return {};
  return fail(Errc::denied, "the other side did not prove that it has the job's key");
}

Error PskSession::handshake_error() {
  const unsigned long code = ERR_peek_error();
  const int number = ERR_GET_REASON(code);
  if (ERR_GET_LIB(code) != ERR_LIB_SSL) return fail(Errc::system, "TLS: " + ssl_reason());
  if (number > SSL_AD_REASON_OFFSET)
    return fail(Errc::denied, "the other side rejected this side's key (" + ssl_reason() + ")");
  switch (number) {
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
    case SSL_R_BINDER_DOES_NOT_VERIFY:
    case SSL_R_BAD_PSK:
    case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
    case SSL_R_NO_SHARED_CIPHER:
      return fail(Errc::denied,
                  "the other side does not have the job's key (" + ssl_reason() + ")");
    default:
      return fail(Errc::protocol, "the other side does not support TLS 1.3 (" + ssl_reason() + ")");
  }
}

}  // namespace muster::loop
