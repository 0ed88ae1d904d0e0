#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "image/kept/blobs.h"
#include "image/kept/deliveries.h"
#include "image/kept/repositories.h"
#include "image/layers/budget.h"
#include "image/layers/bytes.h"
#include "image/layers/layer.h"
#include "image/manifest.h"
#include "image/signature.h"
#include "image/source.h"

namespace muster::image {

/// An image whose layers are all unpacked.
struct Image {
  std::string digest;  ///< The digest of its manifest.
  ImageConfig config;
  std::vector<std::string> layers;  ///< Folders to stack as an overlay, the lowest first.
};

/// One name of an image, for lists.
struct ListedImage {
  std::string name;
  std::string digest;
  std::uint64_t bytes = 0;  ///< Disk space of its layers, including those shared with other images.
  std::size_t layers = 0;
  UnixMillis used{};  ///< When a job last began with it, or when it was added.
  bool in_use = false;
  bool unpacked = true;  ///< False: it was pushed, and no job has used it yet.
};

/// The meaning of a name at one moment. A name is looked up only once, so the image that a policy
/// accepted is the one that runs, even if the name's meaning changes.
struct Meaning {
  std::string digest;  ///< The digest of one image's manifest.
  /// The repository on this machine to which the image was pushed; else empty.
  std::string repository{};
  /// The pushed index that the name refers to, which contains the image.
  std::string index{};

  bool operator==(const Meaning&) const = default;
};

/// Keeps an image from being removed while this object lives.
struct Lease {
  Fd lock;
  std::string file{};  ///< Another process can also keep the image by a shared flock on this file.
};

/// A temporary folder in a store, removed with this object, or by a prune() if the process was
/// killed.
class StoreScratch {
 public:
  StoreScratch(std::string path, Fd lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  StoreScratch(StoreScratch&& other) noexcept
      : path_(std::exchange(other.path_, "")), lock_(std::move(other.lock_)) {}
  StoreScratch& operator=(StoreScratch&&) = delete;
  ~StoreScratch();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  Fd lock_;
};

/// The source of an image's name.
enum class NameFrom {
  user,
  registry,  ///< The registry that delivered the image by that name.
  archive,   ///< The image's own file, which may contain any name.
};

/// Options of add().
struct AddOptions {
  NameFrom name_from = NameFrom::user;
  /// Opens the bytes of a layer, as its manifest describes them; empty: use the source's drafts.
  std::function<Result<std::unique_ptr<Bytes>>(const Descriptor& layer, std::size_t number)> open;
  /// Called before the bytes of layer `number` of `all` are read: to unpack the layer, or to verify
  /// that the source has it.
  std::function<void(std::size_t number, std::size_t all)> on_layer;
  /// Receives lines about parts of the image that were left out.
  std::function<void(const std::string& line)> say;
  LayerLimits limits;
  std::shared_ptr<Budget> budget;  ///< The image's budget; null: budget_for() the store.
  /// `open` returns layers that pack_layer() made from another store of this user, with their own
  /// digests: the caller ensures that no other user could change them.
  bool repacked = false;
};

struct PruneOptions {
  bool all = false;  ///< Also remove images that no job runs.
  /// Also remove images, the least recently used first, until the rest takes at most this many
  /// bytes.
  std::optional<std::uint64_t> bytes_max;
};

struct Pruned {
  std::vector<std::string> names;  ///< Removed images.
  std::uint64_t bytes = 0;         ///< Freed disk space.
  std::uint64_t left_bytes = 0;
};

/// A store of images, each layer unpacked once, in a folder that only its owner can enter (images
/// contain setuid programs).
///
///     blobs/sha256/HEX       manifests, configurations, and layers of images that were pushed
///     pulls/SOURCE/HEX       layers from one source, until they are unpacked
///     layers/HEX/root/       a layer over those named by its chain id, HEX
///     deliveries/HEX/SOURCE  the sources of a layer, or of all layers of an image (deliveries.h)
///     layers/HEX/layer.json  the layer's disk space
///     leases/HEX             locked while the image of this manifest is in use; its time: last use
///     refs.json              names of images that were pulled or imported
///     pulled.json            those of these names that registries delivered
///     registry/              names of images that were pushed (repositories.h)
///     signatures/HEX         signers of the image of this manifest, according to its registry
///     lock                   shared: adding and reading images; exclusive: removing unused data
///
/// Files and folders with these names are complete, also after a crash. Any number of processes and
/// threads may use a store. All functions block: call them in a thread (loop::in_thread). Source:
/// docs/decisions/0029-image-store.md.
class Store {
 public:
  /// Creates the missing parts of `folder`. Errors: `denied`, `system`.
  static Result<Store> open(const std::string& folder);

  bool has_blob(const std::string& digest) const { return blobs_.has(digest); }
  /// True if there is a packed layer from the source that is not unpacked yet.
  bool has_draft(const Source& source, const std::string& digest) const {
    return drafts_of(source).has(digest);
  }
  /// Begins a draft; see Blobs::draft(). Waits only for drafts from the same source.
  Result<std::optional<BlobDraft>> draft(const Source& source, const std::string& digest,
                                         std::uint64_t bytes_max);
  Result<std::string> read_blob(const std::string& digest) const { return blobs_.read(digest); }
  /// The budget for an image that is added to this store. Error: `system`.
  Result<std::shared_ptr<Budget>> budget() const { return budget_for(folder_); }
  /// While the descriptor is open, nothing is removed. Hold it from the first missing() until add()
  /// is done.
  Result<Fd> hold() const;
  /// An empty folder on the same disk as the images.
  Result<StoreScratch> scratch() const;
  /// The numbers of the layers whose bytes add() needs: those that are not here, and those that
  /// only other sources delivered. `config`: the configuration that the manifest names.
  std::vector<std::size_t> missing(const Source& source, const ImageConfig& config) const;

  /// Unpacks the missing layers of an image from `source`, and then gives it `name`, which must
  /// come from to_text() of a reference. An image that had the name loses it, but an archive's own
  /// name never replaces an image from a registry. If a layer is here but this source has not
  /// delivered it yet, it is compared with the source's bytes. Waits for layers of the same source
  /// that another process is adding. Errors: `invalid_input` (the name), `protocol` (documents or
  /// layers that differ from their digests, do not fit each other, or exceed a limit), `not_found`
  /// (a layer's bytes), `unsupported` (for another kind of machine), `system` (the disk is full).
  /// Nothing incomplete remains.
  Result<Image> add(const Source& source, const std::string& name, const std::string& manifest,
                    const std::string& config, const AddOptions& options = {});
  /// The current meaning of a name from add() or own_image(); a digest means itself. None: the name
  /// was neither imported nor pushed.
  Result<std::optional<Meaning>> look_up(const std::string& name) const;
  /// None if the image or one of its layers is missing, or no source delivered it completely.
  Result<std::optional<Image>> find(const Meaning& meaning) const;

  /// Stores the signers of an image, replacing earlier evidence, until the image is removed.
  Result<void> keep_evidence(const std::string& digest, const Evidence& evidence);
  /// The signers of the image: for a pushed image, also from pushed signatures; for others, as
  /// passed to keep_evidence(). Missing evidence is not an error. Errors: `protocol`, `system`
  /// (damaged evidence).
  Result<Evidence> evidence(const Meaning& meaning) const;

  /// Unpacks the missing layers of an image that was pushed to this machine. None: it was deleted
  /// meanwhile. Errors: as add().
  Result<std::optional<Image>> unpack(const Meaning& pushed, const AddOptions& options = {});
  /// The pushed images. Call hold() before you change them or read blobs that they name.
  Repositories& repositories() { return repositories_; }
  /// Begins a blob whose digest is known only at its end, of at most `bytes_max`.
  Result<BlobDraft> upload(std::uint64_t bytes_max) { return blobs_.upload(bytes_max); }
  /// The digests in a manifest: an image's configuration and layers, or an index's manifests. Empty
  /// if the manifest cannot be read.
  std::vector<std::string> named_by(const std::string& manifest) const;
  /// Stores a complete document.
  Result<void> put_blob(const std::string& digest, std::string_view bytes) {
    return blobs_.put(digest, bytes);
  }
  /// A blob opened for reading, with its size; none if it does not exist.
  struct OpenBlob {
    Fd file;
    std::uint64_t bytes = 0;
  };
  Result<std::optional<OpenBlob>> open_blob(const std::string& digest) const;
  /// Removes uploads that no process is writing.
  Result<void> remove_rests() { return blobs_.remove_rests(); }
  /// Call it before the first use of the image's folders; it records the time. Error: `not_found`:
  /// the image was removed meanwhile.
  Result<Lease> lease(const Image& image) const;
  Result<std::vector<ListedImage>> list() const;

  /// Removes a name, for a pushed image its tag; false if it does not exist. Also removes data that
  /// is no longer needed, unless images are being added: then the next prune() does.
  Result<bool> remove(const std::string& name);
  /// Removes data that no image needs; never data under a lease. A pushed image keeps its bytes
  /// whatever the options say; only its unpacked layers are removed. None: images are being added
  /// at the moment.
  Result<std::optional<Pruned>> prune(const PruneOptions& options);

 private:
  using Refs = std::map<std::string, std::string>;
  struct Parsed;
  struct Sweep;
  explicit Store(std::string folder);

  Blobs drafts_of(const Source& source) const { return Blobs(folder_ + "/pulls/" + source.id()); }
  std::string layer_path(const std::string& chain_id) const;
  Result<std::string> ensure_layer(const Source& source, const std::string& chain_id,
                                   const std::string& diff_id,
                                   const std::vector<std::string>& lowers,
                                   const std::function<Result<std::unique_ptr<Bytes>>()>& open,
                                   const AddOptions& options);
  Result<void> prove_layer(const std::string& chain_id, const std::string& diff_id,
                           const std::function<Result<std::unique_ptr<Bytes>>()>& open,
                           const AddOptions& options) const;
  Result<void> unpack_into(int fresh, const std::string& path, const std::string& diff_id,
                           const std::vector<std::string>& lowers,
                           const std::function<Result<std::unique_ptr<Bytes>>()>& open,
                           const AddOptions& options);
  Result<Image> unpack_layers(const Source& source, const Parsed& parsed, const std::string& digest,
                              AddOptions options);
  Result<std::optional<Image>> image_of(const std::string& digest) const;
  Result<Evidence> pushed_evidence(const Repository& repository, const Meaning& meaning) const;
  Result<std::optional<Meaning>> look_up_pushed(const std::string& name) const;
  Result<std::optional<std::string>> image_in(const std::string& digest) const;
  Result<void> add_pushed(Refs& refs) const;
  Result<std::optional<ListedImage>> listed_of(const std::string& name,
                                               const std::string& digest) const;
  Result<void> tidy_repositories(Sweep& needed);
  Result<Fd> open_lease(const std::string& digest) const;
  Result<Refs> refs() const { return names_of("refs.json"); }
  Result<Refs> names_of(const char* file) const;
  Result<void> change_refs(const std::function<void(Refs&)>& change);
  Result<void> check_name(const std::string& name, const std::string& digest, NameFrom from) const;
  Result<void> give_name(const std::string& name, const std::string& digest, NameFrom from);
  std::uint64_t layer_fact(const std::string& chain_hex, const char* name) const;
  std::uint64_t layer_bytes(const std::string& chain_hex) const {
    return layer_fact(chain_hex, "Bytes");
  }
  bool is_leased(const std::string& digest) const;

  Result<Sweep> survey(const Refs& refs) const;
  Result<Pruned> sweep(const PruneOptions& options);
  Result<void> remove_drafts(Pruned& pruned);
  Result<void> remove_layers(const Sweep& needed, Pruned& pruned);

  std::string folder_;
  Blobs blobs_;
  Deliveries deliveries_;
  Repositories repositories_;
};

}  // namespace muster::image
