#pragma once

#include <string>

#include "image/kept/engine_copy.h"
#include "image/kept/store.h"
#include "image/reference.h"

namespace muster::image {

struct Imported {
  std::string name;
  Image image;
};

/// Puts an image of an OCI layout folder, of an archive that `docker save` wrote (also one that
/// gzip or zstd packed), or of an engine into the store. `name`: a whole name as to_text() has it;
/// empty: the one that the archive or the engine has, or "localhost/FOLDER:TAG". `copy`: for what
/// an engine keeps. Blocks. `options.open` is not used.
/// Errors: as Store::add() and copy_from_engine(); `not_found`: no such file, or image in it;
/// `invalid_input`: it has several and none was named, or needs a name.
/// Source: OCI image specification 1.1, image-layout.md; skopeo's oci: and docker-archive:.
Result<Imported> import_image(Store& store, const Reference& from, const std::string& name,
                              AddOptions options, const CopyOptions& copy = {});

}  // namespace muster::image
