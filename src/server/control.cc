#include "server/control.h"

#include <unistd.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "aws/api/inputs.h"
#include "net/loop/wait.h"

namespace muster::server {
namespace {

using loop::Loop;
using loop::Task;
using loop::UnixChannel;

constexpr std::uint8_t request_type = 1;
constexpr std::uint8_t answer_type = 2;
constexpr std::uint8_t refusal_type = 3;
constexpr Duration answer_max = std::chrono::seconds(30);

std::string path_in(const std::string& data) {
  return data + "/control.sock";
}

Result<Json> answer_in(const Result<Frame>& frame) {
  if (!frame && frame.error().code == Errc::closed) return Json();  // The other side ended.
  if (!frame) return frame.error();
  const Json answer = TRY(parse_json(frame->payload));
  if (frame->type == refusal_type) return fail(Errc::system, api::text_of(answer, "why"));
  if (frame->type != answer_type || !answer.is_object())
    return fail(Errc::protocol, "the server's response is invalid");
  return answer;
}

Task<> ask(Loop& loop, UnixChannel& server, std::string request,
           std::optional<Result<Json>>& done) {
  server.post(request_type, request);
  const Result<Frame> frame = co_await server.receive();
  if (!done) done = answer_in(frame);
  loop.stop();
}

Task<> give_up(Loop& loop, std::optional<Result<Json>>& done) {
  loop::Timer timer(loop);
  const bool came = co_await timer.after(answer_max);
  if (!came || done) co_return;
  done = fail(Errc::timeout, "the server is not responding");
  loop.stop();
}

}  // namespace

Result<std::unique_ptr<Control>> Control::open(Loop& loop, const std::string& data) {
  // We hold the folder's lock: a server that still answers there is ending.
  ::unlink(path_in(data).c_str());
  std::unique_ptr<loop::UnixListener> listener = TRY(loop::UnixListener::open(loop, path_in(data)));
  return std::unique_ptr<Control>(new Control(loop, std::move(listener)));
}

void Control::serve(ControlHandler handler) {
  handler_ = std::move(handler);
  tasks_.start(accept_all());
}

Task<> Control::accept_all() {
  while (true) {
    Result<std::unique_ptr<UnixChannel>> peer = co_await listener_->accept();
    if (!peer) co_return;
    tasks_.start(serve_peer(*std::move(peer)));
  }
}

Task<> Control::serve_peer(std::unique_ptr<UnixChannel> peer) {
  while (true) {
    const Result<Frame> frame = co_await peer->receive();
    if (!frame) co_return;
    const Result<Json> request = parse_json(frame->payload);
    Result<Json> answer = fail(Errc::protocol, "expected a JSON object");
    if (frame->type == request_type && request && request->is_object()) answer = handler_(*request);
    if (answer)
      peer->post(answer_type, to_text(*answer));
    else
      peer->post(refusal_type, to_text(Json{{"why", answer.error().text}}));
    const Result<void> sent = co_await peer->flushed();
    if (!sent) co_return;
  }
}

Result<Json> tell_server(const std::string& data, const Json& request) {
  Loop loop;
  Result<std::unique_ptr<UnixChannel>> server = loop::unix_connect(loop, path_in(data));
  if (!server && server.error().code == Errc::not_found) return Json();
  if (!server) return server.error();
  std::optional<Result<Json>> done;
  loop::Tasks tasks(loop);
  tasks.start(ask(loop, **server, to_text(request), done));
  tasks.start(give_up(loop, done));
  loop.run();
  return done ? *std::move(done) : Result<Json>(fail(Errc::closed, "the server is not responding"));
}

}  // namespace muster::server
