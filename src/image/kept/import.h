#pragma once

#include <string>

#include "base/files/given_path.h"
#include "image/kept/engine_copy.h"
#include "image/kept/store.h"
#include "image/reference.h"

namespace muster::image {

/// An image outside the store. Its file or folder is held: the one that a policy has accepted is
/// the one that is read, whatever its path leads to by then.
struct GivenImage {
  Reference from;
  GivenPath at{};  ///< Without a descriptor if an engine has the image.
};
/// Follows links as walk_given() does. Call it before this process enters a user namespace, in
/// which root's links look like other users'. Errors: as find_given().
Result<GivenImage> find_image(const Reference& from);

struct Imported {
  std::string name;
  Image image;
};

/// Puts an image of an OCI layout folder, of an archive that `docker save` wrote (also one that
/// gzip or zstd packed), or of an engine into the store. `name`: a whole name as to_text() has it;
/// empty: the one that the archive or the engine has, or "localhost/FOLDER:TAG". `copy`: for what
/// an engine keeps. Blocks. `options.open` is not used.
/// Errors: as Store::add() and copy_from_engine(); `not_found`: no such image in it;
/// `invalid_input`: it has several and none was named, or needs a name; or a file is a pipe or a
/// device, which is not even opened.
/// Source: OCI image specification 1.1, image-layout.md; skopeo's oci: and docker-archive:.
Result<Imported> import_image(Store& store, const GivenImage& given, const std::string& name,
                              AddOptions options, const CopyOptions& copy = {});

}  // namespace muster::image
