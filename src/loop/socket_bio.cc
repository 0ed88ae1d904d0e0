#include "loop/socket_bio.h"

#include <openssl/err.h>
#include <sys/socket.h>

#include <cerrno>

namespace muster::loop {
namespace {

SocketBio& socket_at(BIO* bio) {
  return *static_cast<SocketBio*>(BIO_get_data(bio));
}

int bio_read(BIO* bio, char* into, int bytes_max) {
  BIO_clear_retry_flags(bio);
  const int count = socket_at(bio).receive(into, bytes_max);
  if (count < 0 && errno == EAGAIN) BIO_set_retry_read(bio);
  return count;
}

int bio_write(BIO* bio, const char* bytes, int count) {
  BIO_clear_retry_flags(bio);
  const int written = socket_at(bio).send(bytes, count);
  if (written < 0 && errno == EAGAIN) BIO_set_retry_write(bio);
  return written;
}

long bio_ctrl(BIO*, int command, long, void*) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

BIO_METHOD* bio_method() {
  static const std::unique_ptr<BIO_METHOD, void (*)(BIO_METHOD*)> method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "muster socket");
    CHECK_THAT(made != nullptr, "BIO_meth_new");
    BIO_meth_set_read(made, bio_read);
    BIO_meth_set_write(made, bio_write);
    BIO_meth_set_ctrl(made, bio_ctrl);
    return std::unique_ptr<BIO_METHOD, void (*)(BIO_METHOD*)>(made, BIO_meth_free);
  }();
  return method.get();
}

}  // namespace

SslContext make_ssl_context(const SSL_METHOD* method, int version_min) {
  static const int initialised = OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
  SslContext context(initialised == 1 ? SSL_CTX_new(method) : nullptr, SSL_CTX_free);
  if (!context) return context;
  SSL_CTX* raw = context.get();
  if (SSL_CTX_set_min_proto_version(raw, version_min) != 1) {
    context.reset();
    return context;
  }
  SSL_CTX_set_options(raw, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(raw, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(raw, 1);
  SSL_CTX_set_default_read_buffer_len(raw, 64u << 10);
  return context;
}

std::string ssl_reason() {
  const unsigned long code = ERR_peek_last_error();
  const char* text = ERR_reason_error_string(code);
  return text != nullptr ? text : "error " + std::to_string(code);
}

void SocketBio::attach(SSL* ssl) {
  BIO* bio = BIO_new(bio_method());
  CHECK_THAT(bio != nullptr, "BIO_new: out of memory");
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl, bio, bio);
}

Wire::Attempt SocketBio::outcome_of(const SSL* ssl, int result) const {
  switch (SSL_get_error(ssl, result)) {
    case SSL_ERROR_WANT_READ:
      return {.kind = Wire::Kind::want_read};
    case SSL_ERROR_WANT_WRITE:
      return {.kind = Wire::Kind::want_write};
    case SSL_ERROR_ZERO_RETURN:
      return {.kind = Wire::Kind::end};
    default:
      break;
  }
  if (failure_ != 0) {
    errno = failure_;
    return {.kind = Wire::Kind::failed, .error = fail_errno("connection")};
  }
  if (ended_) return {.kind = Wire::Kind::end};
  return {.kind = Wire::Kind::failed};
}

int SocketBio::receive(char* into, int bytes_max) {
  ssize_t count = 0;
  do count = ::recv(socket_, into, static_cast<std::size_t>(bytes_max), 0);
  while (count < 0 && errno == EINTR);
  if (count == 0) ended_ = true;
  if (count < 0 && errno != EAGAIN) failure_ = errno;
  return static_cast<int>(count);
}

int SocketBio::send(const char* bytes, int count) {
  ssize_t sent = 0;
  do sent = ::send(socket_, bytes, static_cast<std::size_t>(count), MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  if (sent < 0 && errno != EAGAIN) failure_ = errno;
  return static_cast<int>(sent);
}

}  // namespace muster::loop
