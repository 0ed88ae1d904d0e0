#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/files/given_path.h"
#include "image/layers/bytes.h"
#include "image/manifest.h"

namespace muster::image {

/// One image of a tar archive as `docker save` writes it: manifest.json names its configuration and
/// the tars of its layers, which have no digests but their diff ids. Blocks.
class DockerArchive {
 public:
  /// `wanted`: the whole name of an image in it; empty: the only one. An archive that gzip or zstd
  /// packed is unpacked into a file without a name first, within a budget. Errors: `not_found`,
  /// `denied`, `system`; `protocol`: no such archive, damaged, beyond a limit; `invalid_input`: it
  /// has several, or is no plain file.
  static Result<DockerArchive> open(const GivenPath& file, const std::string& wanted);

  /// The whole name that it has in the archive; empty: none.
  const std::string& name() const { return name_; }
  /// A manifest of our own (document_of()), whose layers are as the archive has them.
  const std::string& manifest() const { return manifest_; }
  const std::string& config() const { return config_; }
  /// The bytes of one layer, as they are in the archive; valid until the archive is destroyed or
  /// the next call. Error: `protocol`.
  Result<std::unique_ptr<Bytes>> layer(std::size_t number) const;

 private:
  struct Member {
    std::int64_t at = 0;  ///< Where its header is in the archive.
    bool is_link = false;
    std::string target;  ///< A link's, from the archive's root.
    std::uint64_t bytes = 0;
  };
  struct Listed;
  Result<void> list();
  Result<void> read_image(const Listed& listed);
  Result<std::string> real_name(const std::string& name) const;
  Result<std::unique_ptr<Bytes>> open_member(const std::string& name) const;
  Result<std::string> read_member(const std::string& name) const;
  Result<Listed> choose(const std::string& wanted) const;

  Fd file_;
  std::map<std::string, Member> members_;
  std::string name_;
  std::string manifest_;
  std::string config_;
  std::vector<std::string> layers_;  ///< Names of members, lowest first.
};

}  // namespace muster::image
