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

/// An image of which every layer is unpacked.
struct Image {
  std::string digest;  ///< The digest of its manifest.
  ImageConfig config;
  std::vector<std::string> layers;  ///< Folders to stack as an overlay, the lowest first.
};

/// One name of an image, for lists.
struct ListedImage {
  std::string name;
  std::string digest;
  std::uint64_t bytes = 0;  ///< Layers on the disk, also those that other images share.
  std::size_t layers = 0;
  UnixMillis used{};  ///< The last time that a job began with it, or that it came.
  bool in_use = false;
  bool unpacked = true;  ///< Not: it was pushed, and no job began with it yet.
};

/// What a name means at one moment. A name is looked up once: the image that a policy took is the
/// one that runs, whatever the name means by then.
struct Meaning {
  std::string digest;        ///< The manifest's, of one image.
  std::string repository{};  ///< Where the image was pushed to on this machine; else empty.
  std::string index{};       ///< The pushed index that the name means, which has that image in it.

  bool operator==(const Meaning&) const = default;
};

/// An image stays while this does.
struct Lease {
  Fd lock;
  std::string file{};  ///< Another process that holds a shared flock on it keeps the image, too.
};

/// A folder of a store's that goes with this, and by a prune() if the process was killed.
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

/// Who says what an image is called.
enum class NameFrom {
  user,
  registry,  ///< The one that delivered the image by that name.
  archive,   ///< The image's own file: anybody may have written any name into it.
};

/// Options of add().
struct AddOptions {
  NameFrom name_from = NameFrom::user;
  /// A layer's bytes as its manifest means them, by its number; empty: the source's drafts.
  std::function<Result<std::unique_ptr<Bytes>>(const Descriptor& layer, std::size_t number)> open;
  /// Called before the bytes of layer `number` of `all` are read: to unpack the layer, or to verify
  /// that the source has it.
  std::function<void(std::size_t number, std::size_t all)> on_layer;
  /// Lines on what of the image was left out.
  std::function<void(const std::string& line)> say;
  LayerLimits limits;
  std::shared_ptr<Budget> budget;  ///< The image's; none: budget_for() the store.
  /// `open` returns layers that pack_layer() of another store of this user made, with their own
  /// digests: the caller ensures that no one else could change them.
  bool repacked = false;
};

struct PruneOptions {
  bool all = false;  ///< Images too that no job runs.
  /// Images too, the least recently used first, until the rest takes at most so much.
  std::optional<std::uint64_t> bytes_max;
};

struct Pruned {
  std::vector<std::string> names;  ///< Images that went.
  std::uint64_t bytes = 0;         ///< What went on the disk.
  std::uint64_t left_bytes = 0;
};

/// Images, each layer unpacked once, in a folder that only its owner can enter (images hold setuid
/// programs).
///
///     blobs/sha256/HEX       manifests, configurations, and layers of images that were pushed
///     pulls/SOURCE/HEX       layers that come from one source, until they are unpacked
///     layers/HEX/root/       a layer over those that its chain id names, HEX
///     deliveries/HEX/SOURCE  who has delivered a layer, or all layers of an image (deliveries.h)
///     layers/HEX/layer.json  what it takes on the disk
///     leases/HEX             locked by who runs the image of this manifest; its time: the last use
///     refs.json              names of images that were pulled or imported
///     pulled.json            of those the names that registries delivered
///     registry/              those of images that were pushed (repositories.h)
///     signatures/HEX         who signed the image of this manifest, as its registry told
///     lock                   shared: images come and are read; exclusive: what nobody needs goes
///
/// What has its name is whole, also after a crash. Any number of processes and threads; everything
/// here blocks: call it in a thread (loop::in_thread).
/// Source: docs/decisions/0029-image-store.md.
class Store {
 public:
  /// Makes what is missing of `folder`. Errors: `denied`, `system`.
  static Result<Store> open(const std::string& folder);

  bool has_blob(const std::string& digest) const { return blobs_.has(digest); }
  /// A packed layer that came from the source and is not unpacked yet.
  bool has_draft(const Source& source, const std::string& digest) const {
    return drafts_of(source).has(digest);
  }
  /// Begins one; see Blobs::draft(). None but what comes from the same source is waited for.
  Result<std::optional<BlobDraft>> draft(const Source& source, const std::string& digest,
                                         std::uint64_t bytes_max);
  Result<std::string> read_blob(const std::string& digest) const { return blobs_.read(digest); }
  /// For an image that comes into this store. Error: `system`.
  Result<std::shared_ptr<Budget>> budget() const { return budget_for(folder_); }
  /// While it is open, nothing is removed. Hold it from the first missing() until add() is done.
  Result<Fd> hold() const;
  /// An empty folder, on the disk that images are on.
  Result<StoreScratch> scratch() const;
  /// The numbers of the layers that add() would need the bytes of: those that are not here, and
  /// those that only others delivered. The configuration is the manifest's own.
  std::vector<std::size_t> missing(const Source& source, const ImageConfig& config) const;

  /// Unpacks what is missing of an image that comes from `source`, and then knows it under `name`,
  /// which to_text() of a reference made; an image that had the name loses it, but one from a
  /// registry never to an archive's own word. A layer that is here, and that the source has not
  /// delivered yet, is compared with what it has. Layers of the same source that another process is
  /// at are waited for. Errors: `invalid_input` (the name), `protocol` (documents or layers that
  /// are not what their digests say, that do not fit each other, or break a limit), `not_found` (a
  /// layer's bytes), `unsupported` (for another kind of machine), `system` (the disk is full).
  /// Nothing half made stays.
  Result<Image> add(const Source& source, const std::string& name, const std::string& manifest,
                    const std::string& config, const AddOptions& options = {});
  /// The current meaning of a name from add() or own_image(); a digest means itself. None: the name
  /// was neither imported nor pushed.
  Result<std::optional<Meaning>> look_up(const std::string& name) const;
  /// None if the image or one of its layers is missing, or no source delivered it completely.
  Result<std::optional<Image>> find(const Meaning& meaning) const;

  /// Keeps who signed an image, in place of what was known of it, for as long as the image is
  /// there.
  Result<void> keep_evidence(const std::string& digest, const Evidence& evidence);
  /// Who signed the image: for a pushed image, also by the signatures that were pushed; for others,
  /// as passed to keep_evidence(). Missing evidence is not an error. Errors: `protocol`, `system`
  /// (damaged evidence).
  Result<Evidence> evidence(const Meaning& meaning) const;

  /// Unpacks what is missing of an image that was pushed to this machine. None: it was deleted
  /// meanwhile. Errors: as add().
  Result<std::optional<Image>> unpack(const Meaning& pushed, const AddOptions& options = {});
  /// What was pushed. Who changes it, or reads blobs that it names, does so within hold().
  Repositories& repositories() { return repositories_; }
  /// A blob whose digest is known only at its end, at most `bytes_max`.
  Result<BlobDraft> upload(std::uint64_t bytes_max) { return blobs_.upload(bytes_max); }
  /// The digests that a manifest names: an image's configuration and layers, an index's manifests.
  /// None of one that cannot be read.
  std::vector<std::string> named_by(const std::string& manifest) const;
  /// Keeps a document that is there whole.
  Result<void> put_blob(const std::string& digest, std::string_view bytes) {
    return blobs_.put(digest, bytes);
  }
  /// For reading, with its size; none if it is not there.
  struct OpenBlob {
    Fd file;
    std::uint64_t bytes = 0;
  };
  Result<std::optional<OpenBlob>> open_blob(const std::string& digest) const;
  /// Removes uploads that no process is at.
  Result<void> remove_rests() { return blobs_.remove_rests(); }
  /// Call it before the first use of the image's folders; it records the time. Error: `not_found`:
  /// the image was removed meanwhile.
  Result<Lease> lease(const Image& image) const;
  Result<std::vector<ListedImage>> list() const;

  /// Removes a name, for a pushed image its tag; false if it does not exist. Also removes data that
  /// is no longer needed, unless images are being added: then the next prune() does.
  Result<bool> remove(const std::string& name);
  /// Removes what no image needs; never what a lease is for. A pushed image keeps its bytes
  /// whatever the options say, only its unpacked layers go. None: images are just being brought.
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
