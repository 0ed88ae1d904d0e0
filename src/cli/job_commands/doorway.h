#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/http/server.h"
#include "net/loop/wait.h"

namespace muster::cli {

/// An address on this machine only that redirects a browser of this user to a link, once. The
/// address may be in an argv, which all users can read; the link must not be
/// (docs/decisions/0056-browsers.md).
class Doorway {
 public:
  /// Error: as http::Server::open().
  static Result<std::unique_ptr<Doorway>> open(loop::Loop& loop, std::string link);
  Doorway(const Doorway&) = delete;
  Doorway& operator=(const Doorway&) = delete;

  /// "http://127.0.0.1:43210/"
  std::string address() const;
  /// Waits until a browser was redirected. False: `deadline` passed first, or close() was called.
  loop::Task<bool> used(TimePoint deadline);
  /// The caller expects no more browsers.
  void close();
  /// Lets the answer out; the last word.
  loop::Task<void> stop();

 private:
  Doorway(loop::Loop& loop, std::string link) : link_(std::move(link)), moved_(loop) {}
  loop::Task<void> answer(http::Exchange& exchange);
  bool may_pass(const http::Incoming& request) const;

  std::string link_;
  bool used_ = false;
  bool closed_ = false;
  loop::Event moved_;
  std::unique_ptr<http::Server> server_;
};

/// Who owns the socket of 127.0.0.1:`own` that is connected to 127.0.0.1:`other`, by the lines of
/// /proc/net/tcp; none: it is not there. Pure.
std::optional<uid_t> owner_of(std::string_view lines, std::uint16_t own, std::uint16_t other);

/// True for a request from a browser in which the user, or a program of the user, opened the
/// address: no page redirected or linked to it, and no other name resolves to it. Pure.
bool is_opened_by_hand(const http::Incoming& request, std::uint16_t port);

}  // namespace muster::cli
