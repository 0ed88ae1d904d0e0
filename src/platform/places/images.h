#pragma once

#include <functional>
#include <string>

#include "base/command.h"
#include "base/result.h"
#include "image/kept/import.h"
#include "image/kept/store.h"
#include "image/policy.h"
#include "job/image.h"

namespace muster::places {

/// The images of this machine, below its state folder, which is noted as muster's. For root, or
/// within enter_rootless(). Errors: as image::Store::open().
Result<image::Store> open_image_store(const Env& env);

/// A name as the store knows it: "docker.io/library/box:latest" for "box"; a digest as it is.
/// Error: `invalid_input`.
Result<std::string> stored_name(const std::string& name);
/// What a name means now; by digest an image may have come under any name.
Result<std::optional<image::Meaning>> look_up(const image::Store& store, const std::string& name);
/// Says that the store has no such image, and where one comes from.
Error no_such_image(const std::string& name);

/// Whether an image that was asked for by digest is one that its own repository had: another
/// one's are found by their names alone.
Result<bool> is_of_repository(const image::Store& store, const image::Reference& reference);

/// Whether the policy of a file takes the image that a name meant in the store, by what is known of
/// who signed it; an empty path takes all. Blocks for a moment. Errors: read_policy()'s; `denied`.
Result<void> obey_policy(const image::Store& store, const std::string& policy_file,
                         const image::Reference& name, const image::Meaning& meaning);

/// Whether the policy of a file takes an image that is about to be imported: by its place, which
/// carries no signatures. Errors: as above.
Result<void> obey_policy_of_place(const std::string& policy_file, const image::GivenImage& given);

/// Callbacks while an image is fetched.
struct ImageTelling {
  std::function<void(const std::string& text)> progress{};  ///< A terminal's; empty: it goes.
  std::function<void(const std::string& line)> say{};       ///< What of the image was left out.
};
/// Takes an image of a file, a folder, or an engine that `env` names; callers have asked
/// obey_policy_of_place(). Blocks. Errors: as image::import_image().
Result<image::Imported> import_image(image::Store& store, const image::GivenImage& given,
                                     const std::string& name, const Env& env,
                                     const ImageTelling& telling);

/// An image for the hosts of a job; it stays on the machine while this does, or one of them.
struct UsedImage {
  job::Image image;
  image::Lease lease;
};
/// The image that `store` found under the name `stored`. Blocks for a moment. Error: `not_found`:
/// it was removed meanwhile.
Result<UsedImage> lease_image(const image::Store& store, const image::Image& image,
                              const std::string& stored);
/// Blocks for a moment, with a pushed image's first use until it is unpacked, with one of a
/// file, a folder or an engine until it is imported. Errors: `not_found`, `invalid_input`,
/// `denied`; obey_policy()'s and import_image()'s.
Result<UsedImage> use_image(const Env& env, const std::string& name, const std::string& policy_file,
                            const ImageTelling& telling);

}  // namespace muster::places
