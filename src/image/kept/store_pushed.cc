// Images of a store that were pushed to this machine.

#include <fcntl.h>
#include <sys/stat.h>

#include "image/kept/store.h"
#include "image/kept/store_parsed.h"
#include "image/own_image.h"
#include "image/reference.h"
#include "image/this_platform.h"

namespace muster::image {
namespace {

constexpr int indexes_max = 4;  ///< In each other.

}  // namespace

Result<std::optional<Store::OpenBlob>> Store::open_blob(const std::string& digest) const {
  const std::string path = blobs_.path_of(digest);
  OpenBlob blob{Fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC))};
  if (!blob.file && errno == ENOENT) return std::optional<OpenBlob>();
  struct stat status {};
  if (!blob.file || ::fstat(blob.file.get(), &status) != 0)
    return fail_errno("cannot open " + path);
  blob.bytes = static_cast<std::uint64_t>(status.st_size);
  return std::optional<OpenBlob>(std::move(blob));
}

std::vector<std::string> Store::named_by(const std::string& manifest) const {
  std::vector<std::string> named;
  const Result<std::string> bytes = blobs_.read(manifest);
  if (!bytes) return named;
  const Result<std::variant<Manifest, Index>> read = manifest_from(*bytes);
  if (!read) return named;
  if (const Manifest* image = std::get_if<Manifest>(&*read)) {
    named.push_back(image->config.digest);
    for (const Descriptor& layer : image->layers) named.push_back(layer.digest);
  } else {
    for (const Index::Entry& entry : std::get<Index>(*read).entries)
      named.push_back(entry.manifest.digest);
  }
  return named;
}

/// The one image that a pushed manifest or index means on this machine; none if it has none.
Result<std::optional<std::string>> Store::image_in(const std::string& digest) const {
  std::string which = digest;
  for (int depth = 0; depth < indexes_max; ++depth) {
    const std::string bytes = TRY(blobs_.read(which));
    const std::variant<Manifest, Index> read = TRY(manifest_from(bytes));
    const Index* index = std::get_if<Index>(&read);
    if (index == nullptr) return std::optional<std::string>(which);
    which = TRY(choose(*index, this_platform())).digest;
  }
  return std::optional<std::string>();
}

Result<std::optional<Meaning>> Store::look_up_pushed(const std::string& name) const {
  const std::optional<OwnName> own = read_own_name(name);
  if (!own || !is_repository_name(own->repository)) return std::optional<Meaning>();
  const std::optional<Repository> repository = TRY(repositories_.find(own->repository));
  if (!repository) return std::optional<Meaning>();
  std::string digest = own->digest;
  if (digest.empty()) {
    const auto tag = repository->tags.find(own->tag);
    if (tag == repository->tags.end()) return std::optional<Meaning>();
    digest = tag->second;
  }
  const auto pushed = repository->manifests.find(digest);
  if (pushed == repository->manifests.end()) return std::optional<Meaning>();
  if (!is_index_type(pushed->second.media_type))
    return std::optional<Meaning>(Meaning{digest, own->repository});
  const std::optional<std::string> image = TRY(image_in(digest));
  if (!image) return std::optional<Meaning>();
  return std::optional<Meaning>(Meaning{*image, own->repository, digest});
}

/// The names of pushed images. One that no machine of this kind runs has none.
Result<void> Store::add_pushed(Refs& refs) const {
  for (const std::string& name : TRY(repositories_.names())) {
    const Result<std::optional<Repository>> repository = repositories_.find(name);
    if (!repository || !*repository) continue;  // Damaged: its users get the error.
    for (const auto& [tag, digest] : (*repository)->tags) {
      if (is_signature_tag(tag)) continue;
      const std::string own = std::string(own_registry) + "/" + name + ":" + tag;
      const Result<std::optional<Meaning>> image = look_up_pushed(own);
      if (image && *image) refs.insert_or_assign(own, (*image)->digest);
    }
  }
  return {};
}

Result<std::optional<Image>> Store::unpack(const Meaning& pushed, const AddOptions& options) {
  const Fd held = TRY(hold());
  const std::optional<Repository> repository = TRY(repositories_.find(pushed.repository));
  if (!repository || !repository->manifests.contains(pushed.digest)) return std::optional<Image>();
  std::optional<Image> there = TRY(image_of(pushed.digest));
  if (there) return there;
  const std::string manifest = TRY(blobs_.read(pushed.digest));
  const std::variant<Manifest, Index> read = TRY(manifest_from(manifest));
  const Manifest* one = std::get_if<Manifest>(&read);
  if (one == nullptr)
    return fail(Errc::protocol, "the manifest is a list of images; expected a single image");
  const std::string config = TRY(blobs_.read(one->config.digest));
  const Parsed parsed = TRY(Parsed::from(manifest, config));
  AddOptions packed = options;
  packed.open = [this](const Descriptor& layer, std::size_t) { return blobs_.open(layer.digest); };
  const Source source = Source::pushed(pushed.repository);
  Image image = TRY(unpack_layers(source, parsed, pushed.digest, packed));
  TRY(deliveries_.note(pushed.digest, source));
  TRY(open_lease(pushed.digest));
  return std::optional<Image>(std::move(image));
}

}  // namespace muster::image
