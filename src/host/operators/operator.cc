#include "host/operators/operator.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "host/calls/conduct_job.h"
#include "host/env/job_files.h"
#include "host/env/place.h"
#include "host/ranks/socket_client.h"
#include "job/wire/message.h"
#include "net/sockets/probe_port.h"

namespace muster::operators {
namespace {

constexpr int exit_failure = 1;
constexpr std::size_t name_bytes_max = 200;

Result<launch::CallResult> ask_train(const std::string& socket_path, const launch::Call& call) {
  const std::string payload = launch::pack(call);
  if (payload.size() > frame_payload_bytes_max)
    return fail(Errc::invalid_input, "the arguments and the environment are larger than 1 MiB");
  ranks::SocketClient train = TRY(ranks::SocketClient::connect(socket_path));
  TRY(train.send(job::type_of(job::Message::call), payload));
  const Frame frame = TRY(train.receive());
  if (frame.type == job::type_of(job::Message::call_result))
    return launch::call_result_from(frame.payload);
  const Json json = TRY(parse_json(frame.payload));
  if (frame.type != job::type_of(job::Message::failed) || !json.is_object())
    return fail(Errc::protocol, "unexpected response from the train process: frame type " +
                                    std::to_string(frame.type));
  return fail(Errc::closed, json.value("why", "refused"));
}

/// Takes part in the job with `work` as this host's work.
Result<calls::JobEnd> take_part(const job::Training& training, const calls::Work& work,
                                const Env& env, const Log& log) {
  calls::JobStart start = TRY(job_start(training, env, log));
  start.socket = true;
  const auto prepare = [&work](calls::Workshop&) -> loop::Task<calls::Prepared> {
    calls::Work own = work;
    co_return calls::Prepared(std::move(own));
  };
  return calls::conduct_job(start, prepare, log);
}

/// An operator's command line as the host's work, in a process that has a `train`.
Result<calls::Work> again(const std::string& name, const Args& args, const Env& env) {
  calls::Work work;
  work.name = "sm " + name;
  work.program.emplace();
  work.program->argv = {TRY(own_program())};
  for (const std::string& word : split_words(name)) work.program->argv.push_back(word);
  work.program->argv.insert(work.program->argv.end(), args.begin(), args.end());
  work.program->env = env::user_environment(env);
  return work;
}

Result<int> conduct(const std::string& name, const Args& args, const Env& env,
                    const job::Training& training, const Log& log) {
  const calls::Work work = TRY(again(name, args, env));
  const Env full = TRY(env::full_environment(env));
  const calls::JobEnd end = TRY(take_part(training, work, full, log));
  const job::Verdict& verdict = end.verdict;
  const bool told_by_program = verdict.host == training.current_host && end.own;
  if (!verdict.success() && !told_by_program) log.error(job::describe(verdict));
  return job::exit_code(verdict.outcome);
}

/// A host's report about itself.
Result<launch::Site::Host> site_host(const std::string& name, const std::string& text) {
  const Json facts = TRY(parse_json(text));
  launch::Site::Host host;
  host.name = name;
  if (!facts.is_object()) return host;
  if (facts.contains("gpus") && facts["gpus"].is_number_integer())
    host.gpus = facts["gpus"].get<int>();
  if (facts.contains("address") && facts["address"].is_string())
    host.address = facts["address"].get<std::string>();
  if (facts.contains("ports") && facts["ports"].is_array())
    for (const Json& port : facts["ports"])
      if (port.is_number_unsigned()) host.ports.push_back(port.get<std::uint16_t>());
  return host;
}

}  // namespace

Result<calls::JobStart> job_start(const job::Training& training, const Env& env, const Log& log) {
  calls::JobStart start;
  start.options = TRY(env::train_options(env));
  start.training = training;
  start.steward_fd = TRY(calls::steward_stream(env));
  start.key = TRY(calls::key_for(training, env, log));
  start.env = env;
  return start;
}

Result<launch::CallResult> make_call(const job::Training& training, launch::Call call,
                                     const Env& env, const Log& log) {
  const Env::const_iterator socket = env.find("MUSTER_SOCKET");
  if (socket != env.end()) return ask_train(socket->second, call);
  calls::Work work;
  work.name = call.name;
  work.call = std::move(call);
  return launch::CallResult{TRY(take_part(training, work, env, log)).verdict, {}};
}

int run_operator(const std::string& name, const Args& args, const Env& env,
                 const std::function<Result<launch::CallResult>(const job::Training& training,
                                                                const Log& log)>& run) {
  const Log log(STDERR_FILENO, "sm " + name, Log::Level::info);
  const Result<job::Training> training = env::read_site(env);
  if (!training) {
    log.error(training.error().text);
    return exit_failure;
  }
  if (!env.contains("MUSTER_SOCKET")) {
    const Result<int> code = conduct(name, args, env, *training, log);
    if (code) return *code;
    log.error(code.error().text);
    return exit_failure;
  }
  const Result<launch::CallResult> result = run(*training, log);
  if (!result) {
    log.error(result.error().text);
    return exit_failure;
  }
  if (!result->verdict.success()) log.error(job::describe(result->verdict));
  return job::exit_code(result->verdict.outcome);
}

Result<launch::Site> exchange_sites(const job::Training& training, const std::string& name,
                                    const std::string& digest, int ports, const Env& env,
                                    const Log& log) {
  const std::vector<std::uint16_t> free = TRY(loop::free_ports(ports));
  const std::string address = env::address_for_others(
      loop::address_of(training.current_host).value_or(""), training.current_host, training.hosts);
  launch::Call call;
  call.name = name;
  call.digest = digest;
  call.hosts = training.hosts;
  call.kind = launch::Call::Kind::exchange;
  call.data = to_text({{"gpus", training.facts.num_gpus}, {"ports", free}, {"address", address}});
  const launch::CallResult result = TRY(make_call(training, std::move(call), env, log));
  if (!result.verdict.success()) return fail(Errc::closed, job::describe(result.verdict));
  launch::Site site;
  site.self = training.current_host;
  for (const std::string& host : training.hosts) {
    const auto found = result.data.find(host);
    if (found == result.data.end())
      return fail(Errc::protocol, host + " did not send information about itself");
    site.hosts.push_back(TRY(site_host(host, found->second)));
  }
  return site;
}

Log log_of(const std::string& name) {
  return Log(STDERR_FILENO, "sm " + name, Log::Level::info);
}

std::string name_of_line(const std::string& name, const Args& args) {
  std::string line = name + " " + shell_quoted(args);
  if (line.size() > name_bytes_max) line = line.substr(0, name_bytes_max) + "...";
  return to_utf8(line);
}

std::string digest_of_line(const Args& args) {
  // Every word ends in a NUL, so that two different lists never give the same text. FNV-1a, 64
  // bits: it only compares the lists of a job's own hosts, and protects against nothing.
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const std::string& word : args)
    for (const char byte : word + std::string(1, '\0'))
      hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3ULL;
  return std::to_string(args.size()) + " words, " + std::to_string(hash);
}

}  // namespace muster::operators
