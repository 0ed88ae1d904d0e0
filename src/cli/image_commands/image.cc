// `sm image import`, `ls`, `inspect`, `rm` and `prune`

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/dates.h"
#include "base/json.h"
#include "base/process/local_time.h"
#include "base/terminal.h"
#include "base/topic.h"
#include "cli/cli.h"
#include "cli/exit_code_of.h"
#include "cli/image_commands/image_import.h"
#include "cli/image_commands/image_pull.h"
#include "cli/own_namespace.h"
#include "cli/server_client.h"
#include "cli/values.h"
#include "command/line.h"
#include "image/kept/store.h"
#include "image/memory_limit.h"
#include "platform/places/images.h"

namespace muster::cli {
namespace {

constexpr std::size_t short_digest = 19;  ///< "sha256:" and 12 digits, as Docker shows them.
constexpr double kilo = 1024;

/// The line as it is typed.
struct ImageOptions {
  std::string source, name, size, policy;
  bool all = false;
  bool json = false;
};

std::string size_text(std::uint64_t bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  double size = static_cast<double>(bytes);
  for (; size >= kilo && unit + 1 < std::size(units); ++unit) size /= kilo;
  char text[32];
  static_cast<void>(
      std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", size, units[unit]));
  return text;
}

Result<std::string> whole_name(const std::string& name) {
  const image::Reference reference = TRY(image::reference_from(name));
  if (reference.transport != image::Reference::Transport::registry || !reference.digest.empty())
    return fail(Errc::invalid_input, "expected an image name, e.g. team/box:v1, got " + name);
  return image::to_text(reference);
}

/// The image to import; nothing for other commands.
Result<image::GivenImage> source_of(const std::string& command, const ImageOptions& options) {
  if (command != "import") return image::GivenImage{};
  const image::Reference from = TRY(image::reference_from(options.source));
  if (from.transport == image::Reference::Transport::registry)
    return fail(Errc::invalid_input,
                options.source +
                    ": expected docker-daemon:NAME[:TAG], docker-archive:FILE[:NAME] or "
                    "oci:DIR[:TAG]; use sm image pull for an image in a registry");
  return image::find_image(from);
}

Result<std::string> import_one(image::Store& store, const ImageOptions& options,
                               const image::GivenImage& source, const Env& env) {
  const Result<void> allowed = places::obey_policy_of_place(options.policy, source);
  if (!allowed && allowed.error().code == Errc::denied)
    return fail(Errc::invalid_input, allowed.error().text);
  if (!allowed) return allowed.error();
  std::string name;
  if (!options.name.empty()) name = TRY(whole_name(options.name));
  const image::MemoryLimit memory;
  const image::Imported imported = TRY(import_shown("sm image import", store, source, name, env));
  return imported_text(imported, options.json);
}

std::string use_text(const image::ListedImage& image) {
  if (!image.unpacked) return "pushed, not used by a job yet";
  return image.in_use ? "in use" : "last used " + zoned_text(image.used);
}

Result<std::string> list(const image::Store& store, const ImageOptions& options) {
  const std::vector<image::ListedImage> images = TRY(store.list());
  std::size_t width = 0;
  for (const image::ListedImage& image : images) width = std::max(width, image.name.size());
  std::string text;
  for (const image::ListedImage& image : images) {
    if (options.json) {
      text += to_text(Json{{"Name", image.name},
                           {"Digest", image.digest},
                           {"Bytes", image.bytes},
                           {"Layers", image.layers},
                           {"LastUsed", iso_date(image.used)},
                           {"InUse", image.in_use},
                           {"Unpacked", image.unpacked}}) +
              "\n";
      continue;
    }
    text += image.name + std::string(width - image.name.size() + 2, ' ') +
            image.digest.substr(0, short_digest) + "  " + size_text(image.bytes) + "  " +
            layers_text(image.layers) + "  " + use_text(image) + "\n";
  }
  if (images.empty() && !options.json) return std::string("no images\n");
  return text;
}

Result<std::string> inspect(const image::Store& store, const ImageOptions& options) {
  const std::string name = TRY(places::stored_name(options.name));
  const std::optional<image::Meaning> meaning = TRY(places::look_up(store, options.name));
  std::optional<image::Image> found;
  if (meaning) found = TRY(store.find(*meaning));
  if (!found) return places::no_such_image(name);
  const image::ImageConfig& config = found->config;
  return to_text(Json{{"Name", name},
                      {"Digest", found->digest},
                      {"Os", config.platform.os},
                      {"Architecture", config.platform.architecture},
                      {"Entrypoint", config.entrypoint},
                      {"Cmd", config.command},
                      {"Env", config.environment},
                      {"WorkingDir", config.working_folder},
                      {"User", config.user},
                      {"DiffIds", config.diff_ids},
                      {"Layers", found->layers}}) +
         "\n";
}

Result<std::string> remove(image::Store& store, const ImageOptions& options) {
  const std::string name = TRY(whole_name(options.name));
  const bool removed = TRY(store.remove(name));
  if (!removed) return places::no_such_image(name);
  if (options.json) return to_text(Json{{"Name", name}, {"Removed", true}}) + "\n";
  return name + ": removed\n";
}

Result<std::string> prune(image::Store& store, const ImageOptions& options) {
  image::PruneOptions prune;
  prune.all = options.all;
  if (!options.size.empty())
    prune.bytes_max = static_cast<std::uint64_t>(TRY(byte_count("--size", options.size, 1, 0)));
  const std::optional<image::Pruned> pruned = TRY(store.prune(prune));
  if (!pruned)
    return fail(Errc::system,
                "an image is being pulled or imported, so nothing was removed; try again later");
  if (options.json)
    return to_text(Json{{"Removed", pruned->names},
                        {"Bytes", pruned->bytes},
                        {"LeftBytes", pruned->left_bytes}}) +
           "\n";
  std::string text;
  for (const std::string& name : pruned->names) text += name + ": removed\n";
  return text + size_text(pruned->bytes) + " removed, " + size_text(pruned->left_bytes) + " left\n";
}

std::optional<command::Stop> parse(const Args& args, std::string& command, ImageOptions& options) {
  const std::variant<const command::Page*, command::Stop> below =
      command::command_below("image", args);
  if (const command::Stop* stop = std::get_if<command::Stop>(&below)) return *stop;
  const command::Page* page = std::get<const command::Page*>(below);
  command = last_word(*page);
  command::Line line(*page);
  if (command == "import") line.text("SOURCE", options.source);
  if (command == "import") line.text("--name", options.name);
  if (command == "import") line.text("--policy", options.policy);
  if (command == "inspect" || command == "rm") line.text("NAME", options.name);
  if (command == "prune") line.flag("--all", options.all);
  if (command == "prune") line.text("--size", options.size);
  if (command != "inspect") line.flag("--json", options.json);
  bool utc = false;
  if (command == "ls") line.flag("--utc", utc);
  std::optional<command::Stop> stop = line.parse({args.begin() + 1, args.end()});
  if (utc) use_utc();
  return stop;
}

Result<std::string> run(const std::string& command, const ImageOptions& options,
                        const image::GivenImage& source, const Env& env) {
  image::Store store = TRY(places::open_image_store(env));
  if (command == "import") return import_one(store, options, source, env);
  if (command == "ls") return list(store, options);
  if (command == "inspect") return inspect(store, options);
  if (command == "rm") return remove(store, options);
  return prune(store, options);
}

/// A damaged image is what was given, too.
int exit_code_of_image(Errc code) {
  return code == Errc::system || code == Errc::denied ? exit_platform : exit_usage;
}

}  // namespace

int image_main(const Args& args, const Env& given) {
  Env env = given;
  if (!args.empty() && args[0] == "pull")
    return image_pull_main({args.begin() + 1, args.end()}, env);
  std::string command;
  ImageOptions options;
  if (const std::optional<command::Stop> stop = parse(args, command, options)) return tell(*stop);
  const std::string shown = "sm image " + command;
  // Within the namespace, root's links look like other users'.
  const Result<image::GivenImage> source = source_of(command, options);
  if (source)
    if (const std::optional<int> code = enter_own_namespace(shown, env, false)) return *code;
  const Result<std::string> done =
      source ? run(command, options, *source, env) : Result<std::string>(source.error());
  if (!done) {
    static_cast<void>(say_error(STDERR_FILENO, shown, done.error().text));
    return exit_code_of_image(done.error().code);
  }
  const std::string text = options.json || command == "inspect" ? visible_json(*done) : *done;
  return say(STDOUT_FILENO, text) ? exit_success : exit_platform;
}

}  // namespace muster::cli
