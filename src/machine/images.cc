#include "machine/images.h"

#include <unistd.h>

#include "base/private_folders.h"
#include "image/own_image.h"
#include "image/reference.h"
#include "machine/machine.h"

namespace muster::machine {

Result<image::Store> open_image_store(const Env& env) {
  if (::geteuid() != 0) return fail(Errc::denied, "needs root: run it with sudo");
  const std::string state = state_folder(env);
  image::Store store = TRY(image::Store::open(state + "/images"));
  TRY(note_private_folder(private_folder_register, state));
  return store;
}

Result<std::string> stored_name(const std::string& name) {
  if (image::is_digest(name)) return name;
  const image::Reference reference = TRY(image::reference_from(name));
  if (reference.transport != image::Reference::Transport::registry)
    return fail(Errc::invalid_input, "expected the image's name, as team/box:v1, got " + name +
                                         "; sm image import brings what lies in a file or folder");
  return reference.digest.empty() ? image::to_text(reference) : reference.digest;
}

Error no_such_image(const std::string& name) {
  return fail(Errc::invalid_input, "there is no image " + name +
                                       "; sm image ls lists those that there are, sm image pull "
                                       "and sm image import bring one");
}

Result<UsedImage> lease_image(const image::Store& store, const image::Image& image,
                              const std::string& stored) {
  UsedImage used{{}, TRY(store.lease(image))};
  used.image.name = stored;
  used.image.digest = image.digest;
  used.image.layers = image.layers;
  used.image.entrypoint = image.config.entrypoint;
  used.image.folder = image.config.working_folder;
  used.image.user = image.config.user;
  used.image.lease = used.lease.file;
  for (const std::string& variable : image.config.environment) {
    const std::size_t equals = variable.find('=');
    used.image.environment[variable.substr(0, equals)] = variable.substr(equals + 1);
  }
  return used;
}

Result<UsedImage> use_image(const Env& env, const std::string& name) {
  const std::string stored = TRY(stored_name(name));
  image::Store store = TRY(open_image_store(env));
  std::optional<image::Image> found = TRY(store.find(stored));
  if (!found && image::read_own_name(stored)) found = TRY(store.unpack(stored));
  if (!found) return no_such_image(stored);
  return lease_image(store, *found, stored);
}

}  // namespace muster::machine
