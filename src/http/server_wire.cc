#include "http/server_wire.h"

#include <openssl/err.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace muster::http {
namespace {

using Attempt = loop::Wire::Attempt;
using Kind = loop::Wire::Kind;

Attempt failed() {
  return {.kind = Kind::failed, .error = fail_errno("connection")};
}

class PlainWire final : public ServerWire {
 public:
  explicit PlainWire(int socket) : socket_(socket) {}

  Attempt read(char* into, std::size_t bytes_max) override {
    ssize_t count = 0;
    do count = ::recv(socket_, into, bytes_max, 0);
    while (count < 0 && errno == EINTR);
    if (count > 0) return {.bytes = static_cast<std::size_t>(count)};
    if (count == 0) return {.kind = Kind::end};
    return errno == EAGAIN ? Attempt{.kind = Kind::want_read} : failed();
  }

  Attempt write(const iovec* pieces, int count, bool more) override {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(pieces);
    message.msg_iovlen = static_cast<std::size_t>(count);
    return sent(::sendmsg(socket_, &message, MSG_NOSIGNAL | (more ? MSG_MORE : 0)));
  }

  Attempt send_file(int fd, std::uint64_t offset, std::size_t bytes) override {
    auto at = static_cast<off_t>(offset);
    const ssize_t count = ::sendfile(socket_, fd, &at, bytes);
    if (count == 0) return {.kind = Kind::end};
    return sent(count);
  }

 private:
  static Attempt sent(ssize_t count) {
    if (count >= 0) return {.bytes = static_cast<std::size_t>(count)};
    return errno == EAGAIN || errno == EINTR ? Attempt{.kind = Kind::want_write} : failed();
  }

  int socket_;
};

class TlsWire final : public ServerWire {
 public:
  TlsWire(SSL_CTX* context, int socket) : socket_(socket), ssl_(SSL_new(context), SSL_free) {
    CHECK_THAT(ssl_, "SSL_new: out of memory");
    socket_.attach(ssl_.get());
    SSL_set_accept_state(ssl_.get());
  }
  TlsWire(const TlsWire&) = delete;
  TlsWire& operator=(const TlsWire&) = delete;
  ~TlsWire() override = default;

  Attempt handshake() override {
    ERR_clear_error();
    const int result = SSL_do_handshake(ssl_.get());
    return result == 1 ? Attempt{} : outcome(result);
  }

  Attempt read(char* into, std::size_t bytes_max) override {
    ERR_clear_error();
    std::size_t count = 0;
    const int result = SSL_read_ex(ssl_.get(), into, bytes_max, &count);
    return result == 1 ? Attempt{.bytes = count} : outcome(result);
  }

  Attempt write(const iovec* pieces, int count, bool) override {
    while (count > 0 && pieces->iov_len == 0) ++pieces, --count;
    if (count == 0) return {};
    return put(static_cast<const char*>(pieces->iov_base), pieces->iov_len);
  }

  Attempt send_file(int fd, std::uint64_t offset, std::size_t bytes) override {
    std::array<char, 16 << 10> piece;  // One record. Read anew if it could not go out.
    const std::size_t want = std::min(bytes, piece.size());
    const ssize_t count = ::pread(fd, piece.data(), want, static_cast<off_t>(offset));
    if (count < 0) return failed();
    if (count == 0) return {.kind = Kind::end};
    return put(piece.data(), static_cast<std::size_t>(count));
  }

  bool buffers() const override { return true; }

  void goodbye() override {
    ERR_clear_error();
    if (SSL_is_init_finished(ssl_.get()) == 1) SSL_shutdown(ssl_.get());
  }

 private:
  Attempt put(const char* bytes, std::size_t size) {
    ERR_clear_error();
    std::size_t count = 0;
    const int result = SSL_write_ex(ssl_.get(), bytes, size, &count);
    return result == 1 ? Attempt{.bytes = count} : outcome(result);
  }

  Attempt outcome(int result) {
    Attempt attempt = socket_.outcome_of(ssl_.get(), result);
    if (attempt.kind == Kind::failed && attempt.error.text.empty())
      attempt.error = fail(Errc::protocol, "TLS: " + loop::ssl_reason());
    return attempt;
  }

  loop::SocketBio socket_;
  std::unique_ptr<SSL, void (*)(SSL*)> ssl_;
};

}  // namespace

std::unique_ptr<ServerWire> plain_wire(int socket) {
  return std::make_unique<PlainWire>(socket);
}

std::unique_ptr<ServerWire> tls_wire(SSL_CTX* context, int socket) {
  return std::make_unique<TlsWire>(context, socket);
}

Result<loop::SslContext> https_server_context(const std::string& certificate_file,
                                              const std::string& key_file) {
  ERR_clear_error();
  loop::SslContext context = loop::make_ssl_context(TLS_server_method(), TLS1_2_VERSION);
  if (!context) return fail(Errc::system, "TLS: " + loop::ssl_reason());
  if (SSL_CTX_use_certificate_chain_file(context.get(), certificate_file.c_str()) != 1)
    return fail(Errc::system, certificate_file + ": no certificate in PEM: " + loop::ssl_reason());
  if (SSL_CTX_use_PrivateKey_file(context.get(), key_file.c_str(), SSL_FILETYPE_PEM) != 1)
    return fail(Errc::system, key_file + ": no key in PEM: " + loop::ssl_reason());
  if (SSL_CTX_check_private_key(context.get()) != 1)
    return fail(Errc::system, key_file + ": not the key of " + certificate_file);
  return context;
}

}  // namespace muster::http
