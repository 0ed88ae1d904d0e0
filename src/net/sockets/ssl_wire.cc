#include "net/sockets/ssl_wire.h"

#include <openssl/err.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace muster::loop {

/// The socket as OpenSSL sees it. OpenSSL's own socket BIO would raise SIGPIPE.
struct SslWire::Bio {
  static int read(BIO* bio, char* into, int bytes_max);
  static int write(BIO* bio, const char* bytes, int count);
  static long control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }
  static BIO_METHOD* method();

  int socket;
  bool ended = false;  ///< The other side will send no more.
  int failure = 0;     ///< errno of the socket.
};

int SslWire::Bio::read(BIO* bio, char* into, int bytes_max) {
  Bio& self = *static_cast<Bio*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  ssize_t count = 0;
  do count = ::recv(self.socket, into, static_cast<std::size_t>(bytes_max), 0);
  while (count < 0 && errno == EINTR);
  if (count == 0) self.ended = true;
  if (count < 0 && errno == EAGAIN)
    BIO_set_retry_read(bio);
  else if (count < 0)
    self.failure = errno;
  return static_cast<int>(count);
}

int SslWire::Bio::write(BIO* bio, const char* bytes, int count) {
  Bio& self = *static_cast<Bio*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  ssize_t sent = 0;
  do sent = ::send(self.socket, bytes, static_cast<std::size_t>(count), MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  if (sent < 0 && errno == EAGAIN)
    BIO_set_retry_write(bio);
  else if (sent < 0)
    self.failure = errno;
  return static_cast<int>(sent);
}

BIO_METHOD* SslWire::Bio::method() {
  static const std::unique_ptr<BIO_METHOD, void (*)(BIO_METHOD*)> made = [] {
    BIO_METHOD* fresh = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "muster socket");
    CHECK_THAT(fresh != nullptr, "BIO_meth_new");
    BIO_meth_set_read(fresh, read);
    BIO_meth_set_write(fresh, write);
    BIO_meth_set_ctrl(fresh, control);
    return std::unique_ptr<BIO_METHOD, void (*)(BIO_METHOD*)>(fresh, BIO_meth_free);
  }();
  return made.get();
}

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

SslWire::SslWire(SSL_CTX* context, int socket, Side side)
    : bio_(std::make_unique<Bio>(Bio{.socket = socket})), ssl_(SSL_new(context), SSL_free) {
  BIO* bio = BIO_new(Bio::method());
  CHECK_THAT(ssl_ && bio != nullptr, "OpenSSL: out of memory");
  BIO_set_data(bio, bio_.get());
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_.get(), bio, bio);
  if (side == Side::client)
    SSL_set_connect_state(ssl_.get());
  else
    SSL_set_accept_state(ssl_.get());
}

SslWire::~SslWire() = default;

Error SslWire::handshake_error() {
  return fail(Errc::protocol, "TLS: " + ssl_reason());
}

/// The meaning of a failed call on the SSL object. `failed` without a text: the reason is in
/// OpenSSL's error queue.
Wire::Attempt SslWire::outcome_of(int result) {
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return {.kind = Kind::want_read};
    case SSL_ERROR_WANT_WRITE:
      return {.kind = Kind::want_write};
    case SSL_ERROR_ZERO_RETURN:
      return {.kind = Kind::end};
    default:
      break;
  }
  if (bio_->failure != 0) {
    errno = bio_->failure;
    return {.kind = Kind::failed, .error = fail_errno("connection failed")};
  }
  if (!bio_->ended) return {.kind = Kind::failed};
  if (!end_is_announced()) return {.kind = Kind::end};
  return {.kind = Kind::failed, .error = fail(Errc::closed, "the connection was lost")};
}

Wire::Attempt SslWire::handshake() {
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_.get());
  if (result == 1) {
    Result<void> is_proved = proved();
    return is_proved ? Attempt{} : Attempt{.kind = Kind::failed, .error = is_proved.error()};
  }
  Attempt attempt = outcome_of(result);
  if (attempt.kind == Kind::want_read || attempt.kind == Kind::want_write) return attempt;
  if (bio_->failure != 0) return attempt;
  if (attempt.kind == Kind::end || bio_->ended)
    attempt.error =
        fail(Errc::closed, "the other side closed the connection during the TLS handshake");
  else
    attempt.error = handshake_error();
  attempt.kind = Kind::failed;
  return attempt;
}

Wire::Attempt SslWire::read(char* into, std::size_t bytes_max, std::vector<Fd>*) {
  ERR_clear_error();
  std::size_t count = 0;
  const int result = SSL_read_ex(ssl_.get(), into, bytes_max, &count);
  if (result == 1) return {.bytes = count};
  Attempt attempt = outcome_of(result);
  if (attempt.kind == Kind::failed && attempt.error.text.empty())
    attempt.error = fail(Errc::protocol, "TLS: " + ssl_reason());
  return attempt;
}

Wire::Attempt SslWire::write(const iovec* pieces, int count, bool, std::vector<Fd>* fds) {
  CHECK_THAT(fds == nullptr || fds->empty(), "descriptors pass over unix sockets only");
  while (count > 1 && pieces->iov_len == 0) ++pieces, --count;
  return put(static_cast<const char*>(pieces->iov_base), pieces->iov_len);
}

Wire::Attempt SslWire::send_file(int fd, std::uint64_t offset, std::size_t bytes) {
  std::array<char, 16 << 10> piece;  // One record, read again if it could not be sent.
  const std::size_t want = std::min(bytes, piece.size());
  const ssize_t count = ::pread(fd, piece.data(), want, static_cast<off_t>(offset));
  if (count < 0) return {.kind = Kind::failed, .error = fail_errno("cannot read the file")};
  if (count == 0) return {.kind = Kind::end};
  return put(piece.data(), static_cast<std::size_t>(count));
}

Wire::Attempt SslWire::put(const char* bytes, std::size_t count) {
  ERR_clear_error();
  std::size_t sent = 0;
  const int result = SSL_write_ex(ssl_.get(), bytes, count, &sent);
  if (result == 1) return {.bytes = sent};
  Attempt attempt = outcome_of(result);
  if (attempt.kind == Kind::end)
    return {.kind = Kind::failed,
            .error = fail(Errc::closed, "the other side closed the connection")};
  if (attempt.kind == Kind::failed && attempt.error.text.empty())
    attempt.error = fail(Errc::protocol, "TLS: " + ssl_reason());
  return attempt;
}

void SslWire::goodbye() {
  ERR_clear_error();
  if (SSL_is_init_finished(ssl_.get()) == 1) SSL_shutdown(ssl_.get());
}

}  // namespace muster::loop
