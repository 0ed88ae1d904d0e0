#include "host/ranks/pmi_relay.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/text.h"

namespace muster::ranks {
namespace {

constexpr std::string_view abort_mark = "cmd=abort";
constexpr std::size_t abort_bytes_max = 64 * 1024;  // A longer message is not an abort.

int exit_code_in(std::string_view line) {
  for (const std::string& word : split_words(line)) {
    constexpr std::string_view key = "exitcode=";
    if (!word.starts_with(key)) continue;
    const auto code = static_cast<unsigned>(parse_integer(word.substr(key.size())).value_or(1));
    return (code & 0xff) == 0 ? 1 : static_cast<int>(code & 0xff);
  }
  return 1;
}

/// The result of one read; none at the end.
std::optional<std::string> read_some(const Fd& from) {
  std::array<char, 4096> buffer;
  ssize_t count = 0;
  do {
    count = ::read(from.get(), buffer.data(), buffer.size());
  } while (count < 0 && errno == EINTR);
  if (count <= 0) return std::nullopt;
  return std::string(buffer.data(), static_cast<std::size_t>(count));
}

}  // namespace

std::string AbortFilter::pass(std::string_view bytes) {
  std::string passed;
  for (const char byte : bytes) {
    if (code_) break;
    if (held_.empty() && !at_line_start_) {
      passed += byte;
      at_line_start_ = byte == '\n';
      continue;
    }
    held_ += byte;
    const std::size_t known = std::min(held_.size(), abort_mark.size());
    const bool may_abort = held_.compare(0, known, abort_mark.substr(0, known)) == 0;
    if (may_abort && byte == '\n') {
      code_ = exit_code_in(held_);
    } else if (!may_abort || held_.size() > abort_bytes_max) {
      passed += held_;
      held_.clear();
      at_line_start_ = byte == '\n';
    }
  }
  return passed;
}

Result<PmiRelay> PmiRelay::open(Fd daemon) {
  PmiRelay relay;
  if (!daemon) return relay;
  std::pair<Fd, Fd> ends = TRY(make_socket_pair());
  relay.daemon_ = std::move(daemon);
  relay.program_ = std::move(ends.first);
  relay.programs_end_ = std::move(ends.second);
  return relay;
}

void PmiRelay::serve_program() {
  const std::optional<std::string> bytes = read_some(program_);
  if (!bytes || !write_all(daemon_.get(), filter_.pass(*bytes))) close();
}

void PmiRelay::serve_rest() {
  pollfd fd{program_.get(), POLLIN, 0};
  while (program_ && daemon_ && ::poll(&fd, 1, 0) > 0) {
    const std::optional<std::string> bytes = read_some(program_);
    if (!bytes || !write_all(daemon_.get(), filter_.pass(*bytes))) return;
  }
}

void PmiRelay::serve_daemon() {
  const std::optional<std::string> bytes = read_some(daemon_);
  if (!bytes) keeps_daemon_ = false;
  if (bytes && !program_) return;  // There is no reader any more.
  if (!bytes || !write_all(program_.get(), *bytes)) close();
}

void PmiRelay::close() {
  if (!keeps_daemon_) daemon_.reset();
  program_.reset();
}

}  // namespace muster::ranks
