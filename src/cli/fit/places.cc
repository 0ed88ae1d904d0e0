#include "cli/fit/places.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>

#include "base/files/given_path.h"
#include "base/files/plain_file.h"
#include "base/process/rootless.h"
#include "base/text.h"
#include "cli/fit/bound.h"
#include "cli/fit/script_kind.h"
#include "image/reference.h"
#include "platform/results.h"
#include "platform/submitter_folder.h"

namespace muster::cli {
namespace {

constexpr std::size_t script_head_bytes = 4096;

bool is_kind(const std::string& path, mode_t kind) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && (status.st_mode & S_IFMT) == kind;
}
bool is_folder(const std::string& path) {
  return is_kind(path, S_IFDIR);
}
bool is_file(const std::string& path) {
  return is_kind(path, S_IFREG);
}

bool leaves(const std::string& relative) {
  return relative == ".." || relative.compare(0, 3, "../") == 0;
}

std::string below(const std::string& path, const std::string& folder) {
  return std::filesystem::path(path).lexically_relative(folder);
}

/// With a source folder the script is a path in it; a path from here that leads into it will do.
Result<std::string> script_in(const std::string& source, const std::string& given_source,
                              const std::string& script, const std::string& cwd) {
  const std::string inside = below(absolute(script, source), source);
  if (!leaves(inside) && is_file(source + "/" + inside)) return inside;
  const std::string from_here = below(absolute(script, cwd), source);
  if (!leaves(from_here) && is_file(source + "/" + from_here)) return from_here;
  return fail(Errc::invalid_input, script + ": no such file in the source folder " + given_source);
}

/// Error: the file is of a kind that cannot be run. One that cannot be read is for others to tell.
Result<void> check_script(const std::string& path, const std::string& given) {
  const Result<GivenPath> file = walk_given(path);
  if (!file || !file->missing.empty()) return {};
  const Result<std::string> head = read_head(held_path(file->held), script_head_bytes);
  const std::optional<std::string> why = head ? no_script(path, *head) : std::nullopt;
  return why ? Result<void>(fail(Errc::invalid_input, given + ": " + *why)) : Result<void>();
}

/// What exists at `path`, absolute.
Result<GivenPath> found(const std::string& what, const std::string& path) {
  Result<GivenPath> given = walk_given(path);
  if (!given) return fail(Errc::invalid_input, what + ": " + given.error().text);
  errno = ENOENT;
  if (!given->missing.empty()) return fail(Errc::invalid_input, errno_text(what + ": " + path));
  return given;
}

/// Replaces the path of an image in a file or folder by `resolve` of it: a detached job does not
/// stay in the caller's folder.
Result<void> resolve_image(
    std::string& image, const std::string& cwd,
    const std::function<Result<void>(const std::string& what, std::string& path)>& resolve) {
  Result<image::Reference> from = image::reference_from(image);
  if (!from || from->path.empty()) return {};
  from->path = absolute(from->path, cwd);
  TRY(resolve("--image", from->path));
  if (from->path.find(':') != std::string::npos)
    return fail(Errc::invalid_input,
                "--image: " + from->path +
                    ": a path must not contain a colon; store the image under a "
                    "name with sm image import --name");
  image = image::to_text(*from);
  return {};
}

}  // namespace

Result<std::string> real_folder(const std::string& what, const std::string& path) {
  const GivenPath given = TRY(found(what, path));
  const std::string held = held_path(given.held);
  if (!is_folder(held)) return fail(Errc::invalid_input, what + ": " + path + ": not a folder");
  if (::access(held.c_str(), R_OK | X_OK) != 0)
    return fail(Errc::invalid_input, errno_text(what + ": " + path));
  return given.path;
}

Result<std::string> pip_conf_of(const std::string& given, const Env& env, const std::string& cwd) {
  std::string path = given;
  if (path.empty()) {
    // As in pip: a path that is not a regular file (often /dev/null) means no configuration.
    const Env::const_iterator named = env.find("PIP_CONFIG_FILE");
    if (named == env.end() || named->second.empty() || !is_file(absolute(named->second, cwd)))
      return std::string();
    path = named->second;
  }
  const GivenPath file = TRY(found("--pip-conf", absolute(path, cwd)));
  if (!is_file(held_path(file.held)))
    return fail(Errc::invalid_input, "--pip-conf: " + path + ": not a file");
  return file.path;
}

Result<void> resolve_links(FitOptions& options, const std::string& cwd) {
  const auto resolve = [&](const std::string& what, std::string& path) -> Result<void> {
    if (path.empty()) return {};
    const std::string full = absolute(path, cwd);
    const Result<GivenPath> given = walk_given(full);
    if (!given && given.error().code == Errc::unsupported)
      return fail(Errc::invalid_input, what + ": " + given.error().text);
    if (given && given->whole() != full) path = given->whole();
    return {};  // Any other error is for the flag's own check to report.
  };
  if (options.source_folder.empty() && !options.script.empty()) {
    const std::string script = absolute(options.script, cwd);
    const std::string above = script.substr(0, std::max<std::size_t>(script.rfind('/'), 1));
    std::string folder = above;
    TRY(resolve("source folder", folder));
    if (folder != above) options.script = folder + script.substr(script.rfind('/'));
  }
  TRY(resolve("--source-dir", options.source_folder));
  for (auto& [name, folder] : options.inputs) TRY(resolve("--input " + name, folder));
  TRY(resolve("output", options.output));
  TRY(resolve_image(options.image, cwd, resolve));
  // The folder may have another real path on a cluster's nodes.
  if (!options.slurm) TRY(resolve("--checkpoints", options.checkpoints));
  for (BindWish& wish : options.bound) {
    if (wish.inside.empty()) wish.inside = absolute(wish.outside, cwd);
    TRY(resolve("--bind", wish.outside));
  }
  return {};
}

std::string lost_venv(const Env& env, const std::string& program, const Places& places,
                      const std::string& cwd) {
  std::vector<std::string> meant;
  const Env::const_iterator active = env.find("VIRTUAL_ENV");
  if (active != env.end() && active->second.starts_with("/")) {
    meant = {active->second};
  } else if (env.contains("SUDO_UID")) {
    const std::string script = places.source_folder + "/" + places.script;
    for (const std::string& folder : {script.substr(0, script.rfind('/')), cwd})
      for (const char* name : {"/.venv", "/venv"}) meant.push_back(folder + name);
  }
  for (const std::string& venv : meant)
    if (!leaves(below(program, venv))) return {};
  for (const std::string& venv : meant)
    if (is_file(venv + "/pyvenv.cfg") && is_file(venv + "/bin/python")) return venv;
  return {};
}

std::optional<Owner> submitter(const Env& env) {
  if (rootless_ids(env) > 0) return Owner{0, 0};  // Within the user's own namespace.
  const auto number = [&](const char* name) -> std::optional<std::uint32_t> {
    const Env::const_iterator at = env.find(name);
    const std::optional<std::int64_t> value =
        at == env.end() ? std::nullopt : parse_integer(at->second);
    if (!value || *value < 0 || *value >= std::numeric_limits<std::uint32_t>::max())
      return std::nullopt;  // The last one means "as it is" to chown.
    return static_cast<std::uint32_t>(*value);
  };
  const std::optional<std::uint32_t> user = number("SUDO_UID"), group = number("SUDO_GID");
  if (!user || !group) return std::nullopt;
  return Owner{*user, *group};
}

Result<std::string> current_folder() {
  const std::unique_ptr<char, void (*)(void*)> here(::getcwd(nullptr, 0), ::free);
  if (!here) return fail_errno("cannot determine the current folder");
  return std::string(here.get());
}

std::string absolute(const std::string& path, const std::string& cwd) {
  const std::filesystem::path full = std::filesystem::path(cwd) / path;
  std::string text = full.lexically_normal();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

Result<Places> find_places(const FitOptions& options, const std::string& cwd,
                           const std::optional<Owner>& owner) {
  Places places;
  if (options.script.empty()) {
    // An image's own program.
  } else if (options.source_folder.empty()) {
    const std::string script = absolute(options.script, cwd);
    if (!is_file(script))
      return fail(
          Errc::invalid_input,
          options.script +
              (is_folder(script)
                   ? ": is a folder; pass the script as SCRIPT, and the folder with --source-dir"
                   : ": no such file"));
    const std::string folder = script.substr(0, script.rfind('/'));
    places.source_folder = TRY(real_folder("source folder", folder.empty() ? "/" : folder));
    places.script = script.substr(script.rfind('/') + 1);
  } else {
    places.source_folder = TRY(real_folder("--source-dir", absolute(options.source_folder, cwd)));
    places.script =
        TRY(script_in(places.source_folder, options.source_folder, options.script, cwd));
  }
  if (!places.script.empty())
    TRY(check_script(places.source_folder + "/" + places.script, options.script));
  for (const auto& [name, folder] : options.inputs) {
    const std::string found = TRY(real_folder("--input " + name, absolute(folder, cwd)));
    places.inputs.push_back({name, found});
  }
  places.bound = TRY(find_bound(options.bound, cwd, owner));
  if (!options.output.empty()) {
    places.output = absolute(options.output, cwd);
    const Result<void> usable = platform::check_output_folder(places.output, options.overwrite);
    if (!usable) return fail(Errc::invalid_input, usable.error().text);
  }
  if (!options.checkpoints.empty()) {
    places.checkpoints = absolute(options.checkpoints, cwd);
    const Result<GivenPath> usable = platform::check_place("--checkpoints", places.checkpoints);
    if (!usable) return fail(Errc::invalid_input, usable.error().text);
  }
  return places;
}

}  // namespace muster::cli
