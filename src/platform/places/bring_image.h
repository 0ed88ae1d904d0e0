#pragma once

#include <functional>
#include <string>

#include "base/command.h"
#include "job/image_wish.h"
#include "job/outcome/outcome.h"
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
/// (the image is missing or refused, took too long, or its policy rejects it), `closed` (the
/// registry or this machine failed; a later pull may succeed), `denied`, `system`.
loop::Task<Result<UsedImage>> bring_image(supervise::Programs& programs, ImagePlace place,
                                          job::ImageWish wish, std::function<void()> on_pull);

/// The command that pulls it. Pure.
Command pull_command(const ImagePlace& place, const job::ImageWish& wish);
/// Why `sm image pull` failed: its last line on standard error (`said`), or how it ended. The code
/// is `invalid_input` if it exits as for an image that cannot be used, otherwise `closed`. Pure.
Error pull_failure(const job::Outcome& outcome, std::string_view said);

}  // namespace muster::places
