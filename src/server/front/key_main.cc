#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "aws/api/inputs.h"
#include "base/dates.h"
#include "base/fd.h"
#include "base/files/given_path.h"
#include "base/files/own_folder.h"
#include "base/process/local_time.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/time.h"
#include "base/topic.h"
#include "command/exit_codes.h"
#include "command/line.h"
#include "server/control.h"
#include "server/front/server_main.h"
#include "server/front/server_main_config.h"
#include "server/operations/keys.h"

namespace muster::server {
namespace {

using command::exit_platform;
using command::exit_usage;

struct KeyFlags {
  ServerFlags server;
  std::string command;
  std::string comment;
  std::string id;
  bool utc = false;
  bool json = false;
  bool force = false;
};

void bind_common(command::Line& line, KeyFlags& flags) {
  line.text("--data", flags.server.data);
  line.text("--config", flags.server.config);
}

std::optional<command::Stop> parse(const Args& args, KeyFlags& flags) {
  const std::variant<const command::Page*, command::Stop> below =
      command::command_below("key", args);
  if (const command::Stop* stop = std::get_if<command::Stop>(&below)) return *stop;
  const command::Page* page = std::get<const command::Page*>(below);
  flags.command = last_word(*page);
  command::Line line(*page);
  bind_common(line, flags);
  if (flags.command == "create") line.text("--comment", flags.comment);
  if (flags.command == "delete") line.text("KEY_ID", flags.id);
  if (flags.command == "delete") line.flag("--force", flags.force);
  if (flags.command == "list") line.flag("--utc", flags.utc);
  if (flags.command != "delete") line.flag("--json", flags.json);
  return line.parse({args.begin() + 1, args.end()});
}

Result<ServerConfig> config_for(const KeyFlags& flags, const Env& env) {
  std::string file;
  if (!flags.server.config.empty()) file = TRY(read_given(flags.server.config));
  ServerFlags server = flags.server;
  server.insecure_http = true;  // Only the server checks whether it may listen there.
  Result<ServerConfig> config = config_of(server, file, env);
  if (!config && !file.empty()) return config.error().in(flags.server.config);
  if (config) config->data = std::filesystem::absolute(config->data);
  return config;
}

Result<store::Store> open_store(const std::string& data, bool make) {
  TRY(check_own_folder(data));
  const std::string path = data + "/muster.db";
  if (make) TRY(make_folders(data, 0700));
  if (!make && ::access(path.c_str(), F_OK) != 0)
    return fail(Errc::not_found,
                data + ": no sm server has used this folder; choose another folder with --data");
  return store::Store::open(path);
}

/// Null if no server runs.
Result<Json> tell_of_change(const std::string& data) {
  Result<Json> told = tell_server(data, Json{{"do", "reload keys"}});
  if (told) return told;
  return told.error().in("the store was changed, but the running server could not be notified");
}

Json to_json(const store::AccessKey& key) {
  return Json{{"AccessKeyId", key.id},
              {"CreateDate", iso8601(api::seconds(key.created))},
              {"Comment", key.comment}};
}

/// On standard error: standard output is for a shell.
void explain_key(bool server_runs) {
  static_cast<void>(say_line(
      STDERR_FILENO, "sm key",
      std::string(
          "created a key, which is shown only once; these lines configure AWS clients for ") +
          (server_runs ? "the server" : "the server once it is running")));
  static_cast<void>(say_line(STDERR_FILENO, "sm key",
                             "with them set, SageMaker's SDKs also need a file: eval \"$(sm env "
                             "--client --write ~/muster-sagemaker.yaml)\"; for notebooks add "
                             "--notebook, once, as root"));
}

Result<std::string> create(const KeyFlags& flags, const ServerConfig& config) {
  TRY(check_comment(flags.comment, "--comment"));
  store::Store store = TRY(open_store(config.data, true));
  store::AccessKey key = fresh_key(wall_time());
  key.comment = flags.comment;
  TRY(store.add_key(key));
  const Json told = TRY(tell_of_change(config.data));
  const ClientSettings settings{api::text_of(told, "endpoint"), config.realm.region,
                                api::text_of(told, "ca_bundle"), api::text_of(told, "s3_endpoint")};
  if (!flags.json) {
    explain_key(!told.is_null());
    return export_lines(key, settings);
  }
  Json json = to_json(key);
  json["SecretAccessKey"] = key.secret;
  json["Region"] = settings.region;
  if (!settings.endpoint.empty()) json["Endpoint"] = settings.endpoint;
  if (!settings.s3_endpoint.empty()) json["S3Endpoint"] = settings.s3_endpoint;
  if (!settings.ca_bundle.empty()) json["CaBundle"] = settings.ca_bundle;
  return to_text(json) + "\n";
}

Result<std::string> list(const KeyFlags& flags, const ServerConfig& config) {
  store::Store store = TRY(open_store(config.data, false));
  std::string text;
  for (const store::AccessKey& key : TRY(store.keys())) {
    const std::string line = key.id + "  " + zoned_text(key.created) + "  " + key.comment;
    text += flags.json ? to_text(to_json(key)) : line.substr(0, line.find_last_not_of(' ') + 1);
    text += "\n";
  }
  for (const ConfigKey& key : config.keys)
    text += flags.json
                ? to_text(Json{{"AccessKeyId", key.id}, {"Config", flags.server.config}}) + "\n"
                : key.id + "  of " + flags.server.config + "\n";
  return text;
}

Result<std::string> remove(const KeyFlags& flags, const ServerConfig& config) {
  for (const ConfigKey& key : config.keys)
    if (key.id == flags.id)
      return fail(Errc::invalid_input,
                  key.id + " is in " + flags.server.config + "; remove the key from this file");
  store::Store store = TRY(open_store(config.data, false));
  const store::KeyRemoval removal =
      TRY(store.remove_key(flags.id, flags.force || !config.keys.empty()));
  if (removal == store::KeyRemoval::unknown)
    return fail(Errc::not_found,
                "there is no key " + to_utf8(flags.id) + "; list the keys with sm key list");
  if (removal == store::KeyRemoval::last)
    return fail(Errc::invalid_input,
                flags.id +
                    " is the last key, and the server cannot be used without a key; use --force to "
                    "delete this key anyway (the server creates a new one when it next starts)");
  TRY(tell_of_change(config.data));
  return std::string();
}

int fail_with(const Error& error) {
  static_cast<void>(say_error(STDERR_FILENO, "sm key", error.text));
  const bool given = error.code == Errc::invalid_input || error.code == Errc::not_found ||
                     error.code == Errc::denied;
  return given ? exit_usage : exit_platform;
}

}  // namespace

int key_main(const Args& args, const Env& env) {
  KeyFlags flags;
  if (const std::optional<command::Stop> stop = parse(args, flags)) return tell(*stop);
  if (flags.utc) use_utc();
  const Result<ServerConfig> config = config_for(flags, env);
  if (!config) return fail_with(config.error());
  const Result<std::string> done = flags.command == "create" ? create(flags, *config)
                                   : flags.command == "list" ? list(flags, *config)
                                                             : remove(flags, *config);
  if (!done) return fail_with(done.error());
  return say(STDOUT_FILENO, *done) ? 0 : exit_platform;
}

}  // namespace muster::server
