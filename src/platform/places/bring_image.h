#pragma once

#include <functional>
#include <string>

#include "base/command.h"
#include "job/image_wish.h"
#include "os/supervise/programs.h"
#include "platform/places/images.h"

namespace muster::places {

/// Where images of this machine are, and how one is pulled.
struct ImagePlace {
  std::string program;  ///< `sm`.
  Env env;              ///< MUSTER_STATE names the state folder that images are below.
};

/// Finds the image, or pulls it, as the wish says, by `sm image pull`: a separate process, because
/// it reads untrusted archives and works for minutes. `on_pull` is called before that. Destroying
/// the task ends the pull. Errors: `not_found` (missing, and must not be pulled), `invalid_input`
/// (why the pull failed, what took too long, or that its policy rejects it), `denied`, `timeout`,
/// `system`.
loop::Task<Result<UsedImage>> bring_image(supervise::Programs& programs, ImagePlace place,
                                          job::ImageWish wish, std::function<void()> on_pull);

/// The command that pulls it. Pure.
Command pull_command(const ImagePlace& place, const job::ImageWish& wish);
/// Why a pull failed, out of what it said on standard error: its last line's own words. Pure.
std::string pull_failure(std::string_view said);

}  // namespace muster::places
