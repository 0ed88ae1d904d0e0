#include "toolkit/call.h"

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"

namespace muster::toolkit {
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
  std::string take() { return std::move(payload_); }

 private:
  std::string payload_;
};

class Unpacker {
 public:
  explicit Unpacker(std::string_view payload) : rest_(payload) {}
  Result<std::string> text() {
    const std::size_t end = rest_.find('\0');
    if (end == std::string_view::npos) return fail(Errc::protocol, "half a call");
    std::string text(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return text;
  }
  Result<Args> list() {
    const std::string count = TRY(text());
    const std::int64_t texts = parse_integer(count).value_or(-1);
    if (texts < 0) return fail(Errc::protocol, "a call with a list of no length");
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
      if (equals == std::string::npos) return fail(Errc::protocol, "a call with a bad variable");
      command.env.emplace(variable.substr(0, equals), variable.substr(equals + 1));
    }
    command.cwd = TRY(text());
    return command;
  }

 private:
  std::string_view rest_;
};

}  // namespace

Call call_from(const launch::HostPlan& plan, std::string name, std::string digest) {
  Call call;
  call.name = std::move(name);
  call.digest = std::move(digest);
  call.hosts = plan.hosts;
  call.rank.command = plan.rank;
  call.rank.kept = plan.kept_names;
  call.launcher = plan.launcher_command;
  call.by_ssh = plan.transport == launch::Transport::ssh;
  return call;
}

std::string pack(const Call& call) {
  Packer packer;
  packer.text(call.name);
  packer.text(call.digest);
  packer.list(call.hosts);
  packer.command(call.rank.command);
  packer.list(call.rank.kept);
  packer.text(call.by_ssh ? "1" : "0");
  packer.text(call.launcher ? "1" : "0");
  if (call.launcher) packer.command(*call.launcher);
  return packer.take();
}

Result<Call> unpack_call(std::string_view payload) {
  Unpacker unpacker(payload);
  Call call;
  call.name = TRY(unpacker.text());
  call.digest = TRY(unpacker.text());
  call.hosts = TRY(unpacker.list());
  call.rank.command = TRY(unpacker.command());
  call.rank.kept = TRY(unpacker.list());
  const std::string by_ssh = TRY(unpacker.text());
  call.by_ssh = by_ssh == "1";
  const std::string has_launcher = TRY(unpacker.text());
  if (has_launcher == "1") call.launcher = TRY(unpacker.command());
  if (call.hosts.empty() || call.rank.command.argv.empty() ||
      (call.launcher && call.launcher->argv.empty()))
    return fail(Errc::protocol, "a call of nothing");
  return call;
}

std::string host_call_text(const HostCall& call) {
  return to_text({{"name", to_utf8(call.name)}, {"digest", to_utf8(call.digest)}});
}

Result<HostCall> host_call_from(std::string_view payload) {
  const Json json = TRY(parse_json(payload));
  if (!json.is_object() || !json.contains("name") || !json["name"].is_string() ||
      !json.contains("digest") || !json["digest"].is_string())
    return fail(Errc::protocol, "a call without name");
  return HostCall{json["name"].get<std::string>(), json["digest"].get<std::string>()};
}

}  // namespace muster::toolkit
