#include "job/launch/call.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/fields.h"
#include "base/json.h"
#include "base/text.h"

namespace muster::launch {
namespace {

// Arguments and environment may be any bytes but NUL, which JSON could not carry: a packed payload
// is texts that each end in NUL; a list is its length, then its texts.

class Packer {
 public:
  void text(const std::string& text) { payload_.append(text).push_back('\0'); }
  void list(const Args& texts) {
    text(std::to_string(texts.size()));
    for (const std::string& each : texts) text(each);
  }
  void command(const Command& command) {
    list(command.argv);
    Args variables;
    for (const auto& [name, value] : command.env) variables.push_back(name + "=" + value);
    list(variables);
    text(command.cwd);
  }
  void flag(bool set) { text(set ? "1" : "0"); }
  std::string take() { return std::move(payload_); }

 private:
  std::string payload_;
};

class Unpacker {
 public:
  explicit Unpacker(std::string_view payload) : rest_(payload) {}
  Result<std::string> text() {
    const std::size_t end = rest_.find('\0');
    if (end == std::string_view::npos) return fail(Errc::protocol, "an incomplete call");
    std::string text(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return text;
  }
  Result<std::int64_t> number(std::int64_t least, std::int64_t most) {
    const std::string digits = TRY(text());
    const std::int64_t value = parse_integer(digits).value_or(least - 1);
    if (value < least || value > most) return fail(Errc::protocol, "a call has an invalid number");
    return value;
  }
  Result<Args> list() {
    // Each text takes a byte at least.
    const std::int64_t texts = TRY(number(0, static_cast<std::int64_t>(rest_.size())));
    Args list;
    for (std::int64_t i = 0; i < texts; ++i) list.push_back(TRY(text()));
    return list;
  }
  Result<Command> command() {
    Command command;
    command.argv = TRY(list());
    const Args variables = TRY(list());
    for (const std::string& variable : variables) {
      const std::size_t equals = variable.find('=');
      if (equals == std::string::npos)
        return fail(Errc::protocol, "a call has an invalid variable");
      command.env.emplace(variable.substr(0, equals), variable.substr(equals + 1));
    }
    command.cwd = TRY(text());
    return command;
  }

  Result<HostProgram> program() {
    HostProgram program;
    program.name = TRY(text());
    program.rank = static_cast<int>(TRY(number(-1, 1 << 30)));
    program.command = TRY(command());
    program.decides = TRY(number(0, 1)) == 1;
    program.agent = TRY(number(0, 1)) == 1;
    if (program.command.argv.empty()) return fail(Errc::protocol, "a call has no program");
    return program;
  }

 private:
  std::string_view rest_;
};

constexpr std::int64_t programs_max = 4096;
// The part of a call that other hosts receive; the rest stays on its host. An operator sends 300
// bytes.
constexpr std::size_t name_bytes_max = 1024;
constexpr std::size_t digest_bytes_max = 256;
constexpr std::size_t data_bytes_max = 4096;

Result<void> check(const Call& call) {
  const bool ranks_run_nothing = call.kind == Call::Kind::mpi && call.rank.command.argv.empty();
  const bool launcher_is_nothing = call.launcher && call.launcher->argv.empty();
  if (call.hosts.empty() || ranks_run_nothing || launcher_is_nothing)
    return fail(Errc::protocol, "an empty call");
  if (call.name.size() > name_bytes_max || call.digest.size() > digest_bytes_max ||
      call.data.size() > data_bytes_max)
    return fail(Errc::protocol, "a call's name, digest or data is too long");
  return {};
}

}  // namespace

bool has_agent(const std::vector<HostProgram>& programs) {
  return std::any_of(programs.begin(), programs.end(),
                     [](const HostProgram& program) { return program.agent; });
}

Call call_from(const HostPlan& plan, std::string name, std::string digest) {
  Call call;
  call.name = std::move(name);
  call.digest = std::move(digest);
  call.hosts = plan.hosts;
  call.rank.command = plan.rank;
  call.rank.kept = plan.kept_names;
  call.rank.near_gpu = plan.ranks_near_gpus;
  call.launcher = plan.launcher_command;
  call.ranks_decide = plan.ranks_decide;
  if (plan.launcher == Launcher::mpi || has_agent(plan.programs)) call.ranks = plan.ranks_total;
  call.by_ssh = plan.launcher == Launcher::mpi && plan.transport == Transport::ssh;
  if (plan.launcher == Launcher::direct) call.kind = Call::Kind::direct;
  call.programs = plan.programs;
  return call;
}

std::string pack(const Call& call) {
  Packer packer;
  packer.text(call.name);
  packer.text(call.digest);
  packer.list(call.hosts);
  packer.text(std::to_string(static_cast<int>(call.kind)));
  packer.command(call.rank.command);
  packer.list(call.rank.kept);
  packer.flag(call.rank.near_gpu);
  packer.flag(call.by_ssh);
  packer.flag(call.launcher.has_value());
  if (call.launcher) packer.command(*call.launcher);
  packer.text(std::to_string(call.ranks_decide));
  packer.text(std::to_string(call.ranks));
  packer.text(std::to_string(call.programs.size()));
  for (const HostProgram& program : call.programs) {
    packer.text(program.name);
    packer.text(std::to_string(program.rank));
    packer.command(program.command);
    packer.flag(program.decides);
    packer.flag(program.agent);
  }
  packer.text(call.data);
  return packer.take();
}

Result<Call> unpack_call(std::string_view payload) {
  Unpacker unpacker(payload);
  Call call;
  call.name = TRY(unpacker.text());
  call.digest = TRY(unpacker.text());
  call.hosts = TRY(unpacker.list());
  const std::int64_t kind = TRY(unpacker.number(0, 2));
  call.kind = static_cast<Call::Kind>(kind);
  call.rank.command = TRY(unpacker.command());
  call.rank.kept = TRY(unpacker.list());
  call.rank.near_gpu = TRY(unpacker.number(0, 1)) == 1;
  call.by_ssh = TRY(unpacker.number(0, 1)) == 1;
  const bool has_launcher = TRY(unpacker.number(0, 1)) == 1;
  if (has_launcher) call.launcher = TRY(unpacker.command());
  call.ranks_decide = static_cast<int>(TRY(unpacker.number(0, 1 << 30)));
  call.ranks = static_cast<int>(TRY(unpacker.number(0, 1 << 30)));
  const std::int64_t programs = TRY(unpacker.number(0, programs_max));
  for (std::int64_t i = 0; i < programs; ++i) call.programs.push_back(TRY(unpacker.program()));
  call.data = TRY(unpacker.text());
  TRY(check(call));
  return call;
}

std::string host_call_text(const HostCall& call) {
  return to_text({{"name", to_utf8(call.name)},
                  {"digest", to_utf8(call.digest)},
                  {"data", to_utf8(call.data)}});
}

Result<HostCall> host_call_from(std::string_view payload) {
  const Json json = TRY(parse_json(payload));
  if (!json.is_object() || !json.contains("name") || !json["name"].is_string() ||
      !json.contains("digest") || !json["digest"].is_string())
    return fail(Errc::protocol, "a call has no name");
  return HostCall{json["name"].get<std::string>(), json["digest"].get<std::string>(),
                  member_text(json, "data")};
}

std::string call_result_text(const CallResult& result) {
  return to_text({{"verdict", job::to_json(result.verdict)}, {"data", result.data}});
}

Result<CallResult> call_result_from(std::string_view payload) {
  const Json json = TRY(parse_json(payload));
  if (!json.is_object() || !json.contains("verdict"))
    return fail(Errc::protocol, "a call's result has no verdict");
  CallResult result;
  result.verdict = TRY(job::verdict_from(json["verdict"]));
  if (!json.contains("data") || !json["data"].is_object()) return result;
  for (const auto& [host, data] : json["data"].items())
    if (data.is_string()) result.data[host] = data.get<std::string>();
  return result;
}

}  // namespace muster::launch
