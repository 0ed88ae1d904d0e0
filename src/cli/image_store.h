#pragma once

#include <string>

#include "base/command.h"
#include "base/result.h"
#include "image/store.h"
#include "job/image.h"

namespace muster::cli {

/// The images of this machine, below its state folder, which is noted as muster's. Errors: `denied`
/// without root; as image::Store::open().
Result<image::Store> open_image_store(const Env& env);

/// A name as the store knows it: "docker.io/library/box:latest" for "box"; a digest as it is.
/// Error: `invalid_input`.
Result<std::string> stored_name(const std::string& name);
/// Says that the store has no such image, and where one comes from.
Error no_such_image(const std::string& name);

/// `sm image pull`; `args` are the words behind that.
int image_pull_main(const Args& args, const Env& env);

/// An image for the hosts of a job; it stays on the machine while this does.
struct UsedImage {
  job::Image image;
  image::Lease lease;
};
/// Blocks for a moment. Errors: `not_found`, `invalid_input`, `denied`.
Result<UsedImage> use_image(const Env& env, const std::string& name);

}  // namespace muster::cli
