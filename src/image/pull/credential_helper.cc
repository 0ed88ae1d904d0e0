#include "image/pull/credential_helper.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/fd.h"
#include "image/layers/child.h"
#include "net/loop/wait.h"

namespace muster::image {
namespace {

constexpr std::size_t answer_bytes_max = 64u << 10;

/// Writes to a socket that has not been read from yet: it has room for `text`. If the helper never
/// reads it, that is not our failure.
void tell(int socket, const std::string& text) {
  static_cast<void>(::send(socket, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
}

loop::Task<Result<std::string>> read_answer(loop::Loop& loop, int fd, TimePoint deadline) {
  std::string answer;
  std::array<char, 4096> piece{};
  loop::Watch watch(loop, fd);
  while (true) {
    const bool readable = co_await watch.readable(deadline);
    if (!readable) co_return fail(Errc::timeout, "did not respond in time");
    const ssize_t count = ::read(fd, piece.data(), piece.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) co_return fail_errno("cannot read the credential helper's output");
    if (count == 0) co_return answer;
    answer.append(piece.data(), static_cast<std::size_t>(count));
    if (answer.size() > answer_bytes_max)
      co_return fail(Errc::protocol, "the response is too long");
  }
}

}  // namespace

loop::Task<Result<HelperAnswer>> ask_helper(loop::Loop& loop, Command command, std::string input,
                                            TimePoint deadline) {
  const std::string name = command.argv[0];
  Result<std::pair<Fd, Fd>> in = make_socket_pair();
  if (!in) co_return in.error();
  Result<Pipe> out = make_pipe();
  if (!out) co_return out.error();
  Fd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (!nowhere) co_return fail_errno("cannot open /dev/null");
  supervise::Stdio stdio;
  stdio.in = in->second.get();
  stdio.out = out->write.get();
  stdio.err = nowhere.get();
  Result<Child> helper = Child::start(command, stdio);
  if (!helper) co_return helper.error();
  in->second.reset();
  out->write.reset();
  tell(in->first.get(), input);
  in->first.reset();
  Result<std::string> answer = co_await read_answer(loop, out->read.get(), deadline);
  if (!answer) co_return answer.error().in(name);
  loop::Watch end(loop, helper->pidfd().get());
  const bool ended = co_await end.readable(deadline);
  if (!ended) co_return fail(Errc::timeout, name + ": the credential helper did not exit in time");
  const bool succeeded = helper->reap();
  co_return HelperAnswer{*std::move(answer), succeeded};
}

}  // namespace muster::image
