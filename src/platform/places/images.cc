#include "platform/places/images.h"

#include <algorithm>

#include "base/process/private_folders.h"
#include "base/process/rootless.h"
#include "image/memory_limit.h"
#include "image/policy_read.h"
#include "image/reference.h"
#include "platform/places/machine.h"

namespace muster::places {

Result<image::Store> open_image_store(const Env& env) {
  const std::string state = state_folder(env);
  image::Store store = TRY(image::Store::open(state + "/images"));
  TRY(note_private_folder(private_folder_register_of(env), state));
  return store;
}

Result<std::string> stored_name(const std::string& name) {
  if (image::is_digest(name)) return name;
  const image::Reference reference = TRY(image::reference_from(name));
  if (reference.transport != image::Reference::Transport::registry)
    return fail(Errc::invalid_input, "expected an image name, e.g. team/box:v1, got " + name +
                                         "; use sm image import for an image in a file or folder");
  return reference.digest.empty() ? image::to_text(reference) : reference.digest;
}

Result<std::optional<image::Meaning>> look_up(const image::Store& store, const std::string& name) {
  const std::string stored = TRY(stored_name(name));
  if (image::is_digest(name)) return store.look_up(name);
  const image::Reference reference = TRY(image::reference_from(name));
  std::optional<image::Meaning> meaning = TRY(store.look_up(image::to_text(reference)));
  if (!meaning && image::is_digest(stored)) meaning = TRY(store.look_up(stored));
  return meaning;
}

Error no_such_image(const std::string& name) {
  return fail(
      Errc::invalid_input,
      "there is no image " + name +
          "; list the images with sm image ls, or add one with sm image pull or sm image import");
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

Result<bool> is_of_repository(const image::Store& store, const image::Reference& reference) {
  const std::string start = reference.registry + "/" + reference.repository;
  const std::vector<image::ListedImage> images = TRY(store.list());
  return std::any_of(images.begin(), images.end(), [&](const image::ListedImage& each) {
    return each.digest == reference.digest &&
           (each.name.starts_with(start + ":") || each.name.starts_with(start + "@"));
  });
}

Result<void> obey_policy(const image::Store& store, const std::string& policy_file,
                         const image::Reference& name, const image::Meaning& meaning) {
  if (policy_file.empty()) return {};
  const image::Policy policy = TRY(image::read_policy(policy_file));
  const bool needs = TRY(image::needs_signatures(policy, name));
  if (!needs) return {};
  const image::Evidence evidence = TRY(store.evidence(meaning));
  return image::check_image(policy, name, meaning.digest, evidence);
}

namespace {

/// A policy is about names, and a digest alone has no name.
Result<void> obey(const image::Store& store, const std::string& policy_file,
                  const std::string& name, const image::Meaning& meaning) {
  if (policy_file.empty()) return {};
  if (image::is_digest(name))
    return fail(Errc::invalid_input,
                "--policy requires an image name, e.g. team/box:v1, not a bare digest");
  const image::Reference reference = TRY(image::reference_from(name));
  if (!reference.digest.empty()) {
    const bool known = TRY(is_of_repository(store, reference));
    if (!known) return no_such_image(name);
  }
  return obey_policy(store, policy_file, reference, meaning);
}

}  // namespace

Result<void> obey_policy_of_place(const std::string& policy_file, const image::GivenImage& given) {
  if (policy_file.empty()) return {};
  const image::Policy policy = TRY(image::read_policy(policy_file));
  image::Reference place = given.from;
  if (given.at.held) place.path = given.at.path;
  return image::check_image(policy, place, "", {});
}

Result<image::Imported> import_image(image::Store& store, const image::GivenImage& given,
                                     const std::string& name, const Env& env,
                                     const ImageTelling& telling) {
  const auto progress = [&](const std::string& text) {
    if (telling.progress) telling.progress(text);
  };
  image::AddOptions add;
  add.on_layer = [&](std::size_t number, std::size_t all) {
    progress("unpacking layer " + std::to_string(number + 1) + " of " + std::to_string(all));
  };
  add.say = [&](const std::string& line) {
    progress("");
    if (telling.say) telling.say(line);
  };
  image::CopyOptions copy;
  copy.env = env;
  copy.on_progress = [&](std::uint64_t bytes) {
    constexpr std::uint64_t million = 1'000'000;
    progress("copying with skopeo: " + std::to_string(bytes / million) + " MB");
  };
  Result<image::Imported> imported = image::import_image(store, given, name, std::move(add), copy);
  progress("");
  return imported;
}

namespace {

/// An image of a file, a folder or an engine is read each time, since only its source knows the
/// current content. Layers that the store has are not unpacked again.
Result<UsedImage> use_of_place(const Env& env, const image::Reference& from,
                               const std::string& policy_file, const ImageTelling& telling) {
  const image::GivenImage given = TRY(image::find_image(from));
  TRY(obey_policy_of_place(policy_file, given));
  const image::MemoryLimit memory;
  image::Store store = TRY(open_image_store(env));
  const image::Imported imported = TRY(import_image(store, given, "", env, telling));
  return lease_image(store, imported.image, imported.name);
}

}  // namespace

Result<UsedImage> use_image(const Env& env, const std::string& name, const std::string& policy_file,
                            const ImageTelling& telling) {
  if (const Result<image::Reference> from = image::reference_from(name);
      from && from->transport != image::Reference::Transport::registry) {
    Result<UsedImage> used = use_of_place(env, *from, policy_file, telling);
    if (used || (used.error().code != Errc::not_found && used.error().code != Errc::protocol))
      return used;
    return fail(Errc::invalid_input, used.error().text);
  }
  const std::string stored = TRY(stored_name(name));
  image::Store store = TRY(open_image_store(env));
  const std::optional<image::Meaning> meaning = TRY(look_up(store, name));
  if (!meaning) return no_such_image(stored);
  TRY(obey(store, policy_file, name, *meaning));  // Before it is unpacked.
  std::optional<image::Image> found = TRY(store.find(*meaning));
  if (!found && !meaning->repository.empty()) {
    const image::MemoryLimit memory;
    found = TRY(store.unpack(*meaning));
  }
  if (!found) return no_such_image(stored);
  return lease_image(store, *found, stored);
}

}  // namespace muster::places
