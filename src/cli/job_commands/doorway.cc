#include "cli/job_commands/doorway.h"

#include <unistd.h>

#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/text.h"

namespace muster::cli {
namespace {

constexpr const char* host = "127.0.0.1";
constexpr std::size_t sockets_bytes_max = 64u << 20;
constexpr std::chrono::seconds farewell{2};

/// "0100007F:A8CA", as /proc/net/tcp writes 127.0.0.1:43210.
std::string socket_name(std::uint16_t port) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string name = "0100007F:";
  for (int shift = 12; shift >= 0; shift -= 4)
    name += digits[static_cast<std::size_t>(port >> shift) & 0xF];
  return name;
}

}  // namespace

std::optional<uid_t> owner_of(std::string_view lines, std::uint16_t own, std::uint16_t other) {
  // Columns: number, own address, other's address, state, queues, timer, retransmits, uid, …
  constexpr std::size_t uid_column = 7;
  for (const std::string& line : split(std::string(lines), '\n')) {
    const std::vector<std::string> words = split_words(line);
    if (words.size() <= uid_column || words[1] != socket_name(own) ||
        words[2] != socket_name(other))
      continue;
    if (const std::optional<std::int64_t> uid = parse_integer(words[uid_column]))
      return static_cast<uid_t>(*uid);
  }
  return std::nullopt;
}

bool is_opened_by_hand(const http::Incoming& request, std::uint16_t port) {
  return request.method == "GET" && request.target == "/" &&
         request.value("Host") == host + (":" + std::to_string(port)) &&
         request.value("Sec-Fetch-Site").value_or("none") == "none";
}

Result<std::unique_ptr<Doorway>> Doorway::open(loop::Loop& loop, std::string link) {
  std::unique_ptr<Doorway> door(new Doorway(loop, std::move(link)));
  Doorway* const own = door.get();
  door->server_ =
      TRY(http::Server::open(loop, {.host = host, .head_bytes_max = 16u << 10},
                             [own](http::Exchange& exchange) { return own->answer(exchange); }));
  return door;
}

std::string Doorway::address() const {
  return std::string("http://") + host + ":" + std::to_string(server_->port()) + "/";
}

/// Another user's process may connect, too: the kernel reports who owns a socket.
bool Doorway::may_pass(const http::Incoming& request) const {
  if (used_ || !is_opened_by_hand(request, server_->port())) return false;
  const std::string sockets = read_file("/proc/net/tcp", sockets_bytes_max).value_or("");
  return owner_of(sockets, request.peer_port, server_->port()) == ::geteuid();
}

loop::Task<void> Doorway::answer(http::Exchange& exchange) {
  http::Reply reply{.status = 403, .close = true};
  if (may_pass(exchange.request())) {
    used_ = true;
    reply.status = 307;
    reply.headers = {
        {"Location", link_}, {"Cache-Control", "no-store"}, {"Referrer-Policy", "no-referrer"}};
  }
  static_cast<void>(co_await exchange.reply(std::move(reply)));
  if (used_) moved_.notify();
}

loop::Task<bool> Doorway::used(TimePoint deadline) {
  while (!used_ && !closed_ && Clock::now() < deadline) co_await moved_.wait_until(deadline);
  co_return used_;
}

void Doorway::close() {
  closed_ = true;
  moved_.notify();
}

loop::Task<void> Doorway::stop() {
  co_await server_->stop(Clock::now() + farewell);
}

}  // namespace muster::cli
