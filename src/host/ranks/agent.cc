#include "host/ranks/agent.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/log.h"
#include "host/ranks/rsh_agent.h"
#include "host/ranks/socket_client.h"
#include "job/wire/message.h"

namespace muster::ranks {
namespace {

constexpr int exit_no_train = 255;  // As ssh ends when it cannot reach the host.

/// The remote daemon's exit code.
Result<int> call(const std::string& socket_path, const std::string& host, const std::string& text) {
  SocketClient train = TRY(SocketClient::connect(socket_path));
  TRY(train.send(job::type_of(job::Message::agent_exec), to_text({{"host", host}, {"text", text}}),
                 {STDOUT_FILENO, STDERR_FILENO}));
  const Frame frame = TRY(train.receive());
  const Json reply = TRY(parse_json(frame.payload));
  if (frame.type != job::type_of(job::Message::agent_end) || !reply.is_object())
    return fail(Errc::protocol, "unexpected response from the train process: frame type " +
                                    std::to_string(frame.type));
  const std::string error = reply.value("error", "");
  if (!error.empty()) return fail(Errc::system, error);
  return reply.value("code", 1);
}

}  // namespace

int agent_main(const Args& args, const Env& env) {
  const Log log(STDERR_FILENO, "sm agent", Log::Level::info);
  const Result<launch::AgentRequest> request = launch::agent_request(args);
  if (!request) {
    log.error(request.error().text);
    return exit_no_train;
  }
  const Env::const_iterator path = env.find("MUSTER_SOCKET");
  const Result<int> code =
      call(path == env.end() ? "" : path->second, request->host, request->text);
  if (code) return *code;
  log.error(request->host + ": " + code.error().text);
  return exit_no_train;
}

}  // namespace muster::ranks
