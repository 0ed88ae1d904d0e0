#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "api/inputs.h"
#include "base/dates.h"
#include "base/fd.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/time.h"
#include "server/control.h"
#include "server/keys.h"
#include "server/server_main.h"
#include "server/server_main_config.h"

namespace muster::server {
namespace {

constexpr int exit_usage = 2;
constexpr int exit_platform = 3;
constexpr std::size_t comment_bytes_max = 256;

constexpr const char* examples =
    "examples:\n"
    "  sm key create --comment \"the lab's notebook\"\n"
    "      make a key, and print it, this once, as lines for a shell\n"
    "  sm key list\n"
    "      whose keys there are; no secrets\n"
    "  sm key delete AKIA2TGJ5EXAMPLE\n"
    "      from now on the server refuses it\n"
    "\n"
    "For the sm server that works on the same data folder, whether it runs or not: one that runs\n"
    "knows at once. A key may do everything.";

struct KeyFlags {
  ServerFlags server;
  std::string command;
  std::string comment;
  std::string id;
  bool json = false;
  bool force = false;
};

void add_common(CLI::App& command, KeyFlags& flags) {
  command.add_option("--data", flags.server.data, "the server's data folder");
  command.add_option("--config", flags.server.config, "the server's config, which may name it");
  command.get_formatter()->column_width(34);
}

std::optional<FlagsStop> parse(const Args& args, KeyFlags& flags) {
  CLI::App app("", "sm key");
  app.description("Makes, lists and deletes the access keys of sm server.");
  app.footer(examples);
  app.require_subcommand(1);
  CLI::App* create = app.add_subcommand("create", "make a key and print it, once");
  add_common(*create, flags);
  create->add_option("--comment", flags.comment, "what it is for: sm key list shows it");
  create->add_flag("--json", flags.json, "print it as a JSON object");
  CLI::App* list = app.add_subcommand("list", "list the keys, without their secrets");
  add_common(*list, flags);
  list->add_flag("--json", flags.json, "one JSON object a line");
  CLI::App* remove = app.add_subcommand("delete", "delete a key");
  add_common(*remove, flags);
  remove->add_option("KEY_ID", flags.id, "as sm key list shows it")->required();
  remove->add_flag("--force", flags.force, "the last key too");
  try {
    std::vector<std::string> words(args.rbegin(), args.rend());
    app.parse(std::move(words));
    flags.command = app.get_subcommands().front()->get_name();
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    const std::vector<CLI::App*> chosen = app.get_subcommands();
    return FlagsStop{0, chosen.empty() ? app.help() : chosen.front()->help()};
  } catch (const CLI::ParseError& error) {
    return FlagsStop{exit_usage,
                     std::string("sm key: ") + error.what() + "\nsm key --help tells more\n"};
  }
}

Result<void> check_comment(const std::string& comment) {
  const bool plain = is_utf8(comment) && std::none_of(comment.begin(), comment.end(), [](char c) {
                       return static_cast<unsigned char>(c) < ' ' || c == '\x7f';
                     });
  if (plain && comment.size() <= comment_bytes_max) return {};
  return fail(Errc::invalid_input, "--comment: expected one line of at most 256 bytes of UTF-8");
}

Result<ServerConfig> config_for(const KeyFlags& flags, const Env& env) {
  std::string file;
  if (!flags.server.config.empty()) file = TRY(read_file(flags.server.config));
  ServerFlags server = flags.server;
  server.insecure_http = true;  // Whether it may listen there is the server's to say.
  Result<ServerConfig> config = config_of(server, file, env);
  if (!config && !file.empty()) return config.error().in(flags.server.config);
  if (config) config->data = std::filesystem::absolute(config->data);
  return config;
}

Result<store::Store> open_store(const std::string& data, bool make) {
  const std::string path = data + "/muster.db";
  if (make) TRY(make_folders(data, 0700));
  if (!make && ::access(path.c_str(), F_OK) != 0)
    return fail(Errc::not_found,
                data + ": no sm server has worked on this folder; --data names it");
  return store::Store::open(path);
}

/// Null if no server runs.
Result<Json> tell_of_change(const std::string& data) {
  Result<Json> told = tell_server(data, Json{{"do", "reload keys"}});
  if (told) return told;
  return told.error().in("the store is changed, but the running server could not be told");
}

Json to_json(const store::AccessKey& key) {
  return Json{{"AccessKeyId", key.id},
              {"CreateDate", iso8601(api::seconds(key.created))},
              {"Comment", key.comment}};
}

Result<std::string> create(const KeyFlags& flags, const ServerConfig& config) {
  TRY(check_comment(flags.comment));
  store::Store store = TRY(open_store(config.data, true));
  store::AccessKey key = fresh_key(wall_time());
  key.comment = flags.comment;
  TRY(store.add_key(key));
  const Json told = TRY(tell_of_change(config.data));
  const ClientSettings settings{api::text_of(told, "endpoint"), config.realm.region,
                                api::text_of(told, "ca_bundle"), api::text_of(told, "s3_endpoint")};
  if (!flags.json)
    return "A key was made. These lines make AWS's clients use " +
           std::string(told.is_null() ? "the server once it runs" : "the server") + ":\n\n" +
           export_lines(key, settings) + "\n";
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
    const std::string line =
        key.id + "  " + iso8601(std::floor(api::seconds(key.created))) + "  " + key.comment;
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
                  key.id + " stands in " + flags.server.config + ": take it out there");
  store::Store store = TRY(open_store(config.data, false));
  const store::KeyRemoval removal =
      TRY(store.remove_key(flags.id, flags.force || !config.keys.empty()));
  if (removal == store::KeyRemoval::unknown)
    return fail(Errc::not_found,
                "there is no key " + to_utf8(flags.id) + "; sm key list lists them");
  if (removal == store::KeyRemoval::last)
    return fail(Errc::invalid_input, flags.id +
                                         " is the last key: nobody could use the server any more "
                                         "(its next start makes one); --force deletes it");
  TRY(tell_of_change(config.data));
  return std::string();
}

int fail_with(const Error& error) {
  static_cast<void>(say_line(STDERR_FILENO, "sm key", error.text));
  const bool given = error.code == Errc::invalid_input || error.code == Errc::not_found ||
                     error.code == Errc::denied;
  return given ? exit_usage : exit_platform;
}

}  // namespace

int key_main(const Args& args, const Env& env) {
  KeyFlags flags;
  if (const std::optional<FlagsStop> stop = parse(args, flags)) {
    const int fd = stop->exit_code == 0 ? STDOUT_FILENO : STDERR_FILENO;
    return say(fd, stop->text) ? stop->exit_code : exit_platform;
  }
  const Result<ServerConfig> config = config_for(flags, env);
  if (!config) return fail_with(config.error());
  const Result<std::string> done = flags.command == "create" ? create(flags, *config)
                                   : flags.command == "list" ? list(flags, *config)
                                                             : remove(flags, *config);
  if (!done) return fail_with(done.error());
  return say(STDOUT_FILENO, *done) ? 0 : exit_platform;
}

}  // namespace muster::server
