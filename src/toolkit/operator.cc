#include "toolkit/operator.h"

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "job/message.h"
#include "toolkit/conduct_job.h"
#include "toolkit/messages.h"
#include "toolkit/socket_client.h"

namespace muster::toolkit {
namespace {

Result<job::Verdict> ask_train(const std::string& socket_path, const Call& call) {
  const std::string payload = pack(call);
  if (payload.size() > frame_payload_bytes_max)
    return fail(Errc::invalid_input, "the arguments and the environment are larger than 1 MiB");
  SocketClient train = TRY(SocketClient::connect(socket_path));
  TRY(train.send(job::type_of(job::Message::call), payload));
  const Frame frame = TRY(train.receive());
  if (frame.type == job::type_of(job::Message::call_result))
    return verdict_from_text(frame.payload);
  const Json json = TRY(parse_json(frame.payload));
  if (frame.type != job::type_of(job::Message::failed) || !json.is_object())
    return fail(Errc::protocol, "train answered with frame type " + std::to_string(frame.type));
  return fail(Errc::closed, json.value("why", "refused"));
}

Result<job::Verdict> gather_and_run(const job::Training& training, const Call& call, const Env& env,
                                    const Log& log) {
  JobStart start;
  start.options = TRY(train_options({}, env));
  start.training = training;
  start.steward_fd = TRY(steward_stream(env));
  start.key = TRY(key_for(training, env, log));
  start.socket = true;
  start.env = env;
  const auto prepare = [&call](Workshop&) -> loop::Task<Prepared> {
    Work work;
    work.name = call.name;
    work.call = call;
    co_return Prepared(std::move(work));
  };
  return conduct_job(start, prepare, log).verdict;
}

}  // namespace

Result<job::Verdict> make_call(const job::Training& training, Call call, const Env& env,
                               const Log& log) {
  const Env::const_iterator socket = env.find("MUSTER_SOCKET");
  if (socket != env.end()) return ask_train(socket->second, call);
  return gather_and_run(training, call, env, log);
}

}  // namespace muster::toolkit
