#include "job/image.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "job/host_spec.h"
#include "job/spec_fields.h"

namespace muster::job {
namespace {

constexpr std::size_t layers_max =
    999;  ///< What two overlays stack: decisions/0042-many-layers.md.
constexpr const char* path = "Muster.Image";

/// The line of a passwd(5) or group(5) file whose field `at` is `text`.
std::optional<std::vector<std::string>> line_with(std::string_view file, std::size_t at,
                                                  const std::string& text) {
  for (const std::string& line : split(file, '\n')) {
    std::vector<std::string> fields = split(line, ':');
    if (fields.size() > std::max<std::size_t>(at, 2) && fields[at] == text) return fields;
  }
  return std::nullopt;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

Result<std::uint32_t> id_from(const std::string& text, std::string_view whole) {
  const std::optional<std::int64_t> id = parse_integer(text);
  if (!id || *id < 0 || *id >= ids_per_job)
    return fail(Errc::invalid_input, "the image's USER \"" + to_utf8(std::string(whole)) +
                                         "\": expected ids from 0 to " +
                                         std::to_string(ids_per_job - 1));
  return static_cast<std::uint32_t>(*id);
}

/// Each names a program whose command line container/bundle/image_tool.h knows.
constexpr std::array<std::string_view, 2> tools = {"apptainer", "enroot"};
constexpr std::size_t tool_name_bytes_max = 4096;
/// Images that the tools can bring by themselves.
constexpr std::array<std::string_view, 3> schemes = {"docker://", "oras://", "library://"};

bool begins_with_scheme(std::string_view name, std::string_view tool) {
  if (tool == "enroot") return name.starts_with(schemes.front());
  return std::any_of(schemes.begin(), schemes.end(),
                     [&](std::string_view scheme) { return name.starts_with(scheme); });
}

std::string field(const char* name) {
  return std::string(path) + "." + name;
}

/// The name becomes one word of a command line, or one field of it.
Result<void> check_tool(const Image& image) {
  const auto is_printable = [](char c) { return c > ' ' && c <= '~'; };
  if (std::find(tools.begin(), tools.end(), image.tool) == tools.end())
    return expected(field("Tool"), "apptainer or enroot");
  if (image.name.size() > tool_name_bytes_max ||
      !std::all_of(image.name.begin(), image.name.end(), is_printable) ||
      (!image.name.starts_with('/') && !begins_with_scheme(image.name, image.tool)))
    return expected(field("Name"), std::string("an absolute path on the nodes") +
                                       (image.tool == "enroot" ? " or docker://NAME"
                                                               : ", docker://NAME or oras://NAME") +
                                       " (no spaces; Tool is " + image.tool + ")");
  if (!image.layers.empty()) return expected(field("Layers"), "no layers if Tool is set");
  return {};
}

Error no_such(const char* what, const std::string& name) {
  return fail(Errc::not_found, "the image's USER names the " + std::string(what) + " \"" +
                                   to_utf8(name) + "\", which does not exist in the image");
}

}  // namespace

Args command_of(const Image& image, const Args& entrypoint, const Args& arguments) {
  Args command = entrypoint.empty() ? image.entrypoint : entrypoint;
  if (entrypoint.empty() && arguments.empty()) command.emplace_back("train");
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

Result<User> user_of(std::string_view text, std::string_view passwd, std::string_view group) {
  User user;
  if (text.empty()) return user;
  const std::size_t colon = text.find(':');
  const std::string name(text.substr(0, colon));
  const auto known = line_with(passwd, is_number(name) ? 2 : 0, name);
  if (!known && !is_number(name)) return no_such("user", name);
  user.uid = TRY(id_from(known ? (*known)[2] : name, text));
  user.home = "/";
  if (known && known->size() > 3 && is_number((*known)[3]))
    user.gid = TRY(id_from((*known)[3], text));
  if (known && known->size() > 5 && (*known)[5].starts_with('/')) user.home = (*known)[5];
  if (colon == std::string_view::npos) return user;
  const std::string own_group(text.substr(colon + 1));
  const auto of_group = line_with(group, 0, own_group);
  if (!of_group && !is_number(own_group)) return no_such("group", own_group);
  user.gid = TRY(id_from(of_group ? (*of_group)[2] : own_group, text));
  return user;
}

Result<void> check(const Image& image) {
  if (!image.tool.empty()) return check_tool(image);
  if (image.layers.empty() || image.layers.size() > layers_max)
    return expected(field("Layers"), "1 to " + std::to_string(layers_max) + " folders");
  for (const std::string& layer : image.layers) TRY(check_path(field("Layers"), layer, false));
  for (const std::string& word : image.entrypoint) TRY(check_text(field("Entrypoint"), word));
  for (const auto& [name, value] : image.environment) {
    if (name.empty() || name.find('=') != std::string::npos)
      return expected(field("Environment"), "non-empty names without '='");
    TRY(check_text(field("Environment"), name));
    TRY(check_text(field("Environment"), value));
  }
  TRY(check_text(field("Name"), image.name));
  TRY(check_text(field("Digest"), image.digest));
  TRY(check_text(field("User"), image.user));
  TRY(check_path(field("Lease"), image.lease, true));
  return check_path(field("Folder"), image.folder, true);
}

Json to_json(const Image& image) {
  if (!image.tool.empty()) return Json{{"Name", image.name}, {"Tool", image.tool}};
  return Json{{"Name", image.name},
              {"Digest", image.digest},
              {"Layers", image.layers},
              {"Entrypoint", image.entrypoint},
              {"Environment", image.environment},
              {"Folder", image.folder},
              {"User", image.user},
              {"Lease", image.lease}};
}

Result<Image> image_from(const Json& json) {
  Image image;
  Fields fields(json, path);
  fields.text("Name", image.name);
  fields.text("Tool", image.tool);
  fields.text("Digest", image.digest);
  fields.text_list("Layers", image.layers);
  fields.text_list("Entrypoint", image.entrypoint);
  fields.texts("Environment", image.environment);
  fields.text("Folder", image.folder);
  fields.text("User", image.user);
  fields.text("Lease", image.lease);
  fields.no_others();
  if (fields.error()) return *fields.error();
  TRY(check(image));
  return image;
}

}  // namespace muster::job
