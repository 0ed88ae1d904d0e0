#include "cli/image_commands/image_import.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/terminal.h"
#include "cli/server_client.h"

namespace muster::cli {

std::string layers_text(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " layer" : " layers");
}

Result<image::Imported> import_shown(const std::string& command, image::Store& store,
                                     const image::GivenImage& given, const std::string& name,
                                     const Env& env) {
  places::ImageTelling telling;
  telling.progress = show_progress;
  telling.say = [&](const std::string& line) {
    static_cast<void>(say_line(STDERR_FILENO, command, line));
  };
  return places::import_image(store, given, name, env, telling);
}

std::string imported_text(const image::Imported& imported, bool json) {
  const image::Image& one = imported.image;
  if (json)
    return to_text(Json{
               {"Name", imported.name}, {"Digest", one.digest}, {"Layers", one.layers.size()}}) +
           "\n";
  return imported.name + "  " + one.digest + "  " + layers_text(one.layers.size()) + "\n";
}

}  // namespace muster::cli
