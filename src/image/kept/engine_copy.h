#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/command.h"
#include "base/result.h"
#include "base/time.h"
#include "image/reference.h"

namespace muster::image {

struct CopyOptions {
  Env env{};  ///< Where skopeo is (PATH), and which engine is meant (DOCKER_HOST ...).
  /// Called five times a second with the bytes received.
  std::function<void(std::uint64_t bytes)> on_progress{};
  Duration idle_max = std::chrono::minutes(10);  ///< Fails as hung after this time without data.
  std::uint64_t bytes_max = 512ull << 30;        ///< skopeo keeps an image twice meanwhile.
};

/// skopeo's line that copies an engine's image into `folder`/image, with `folder`/tmp for what it
/// keeps meanwhile. DOCKER_HOST, DOCKER_TLS_VERIFY and DOCKER_CERT_PATH mean what they mean to
/// `docker`. Pure. Error: `unsupported`: an engine that is reached by ssh.
/// Source: skopeo-copy(1); docker(1), "Environment variables".
Result<Command> copy_command(const Reference& from, const std::string& folder, const Env& env);

/// Why a copy failed and what to do, from what skopeo wrote. Pure.
Error copy_error(const Reference& from, const Env& env, std::string_view said);

/// Copies the image of an engine into the empty folder `folder`: `folder`/image has manifest.json
/// and blobs that are called by their digests' hex. Whatever was started is gone when it returns.
/// Blocks. Errors: `not_found` (skopeo, the image), `system` (the engine does not answer, the disk
/// is full), `timeout`, `protocol` (beyond `bytes_max`), copy_command()'s.
/// Source: github.com/containers/image, directory/directory_dest.go.
Result<void> copy_from_engine(const Reference& from, const std::string& folder,
                              const CopyOptions& options);

}  // namespace muster::image
