// What goes from a store of images, and what may not.

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "base/files/folder.h"
#include "base/files/remove_tree.h"
#include "image/kept/claim.h"
#include "image/kept/store.h"
#include "image/own_image.h"
#include "image/reference.h"

namespace muster::image {
namespace {

constexpr std::string_view fresh_start = ".new-";
constexpr std::string_view old_start = ".old-";
/// A push brings blobs before the manifest that names them, and manifests before their tag.
constexpr Duration push_grace = std::chrono::hours(24);

std::string hex_of(const std::string& digest) {
  return digest.substr(digest.find(':') + 1);
}

}  // namespace

/// What images need.
struct Store::Sweep {
  std::set<std::string> blobs;   ///< Digests.
  std::set<std::string> layers;  ///< Hex of chain ids.
};

/// Images that have a name, and those that only a lease keeps.
Result<Store::Sweep> Store::survey(const Refs& refs) const {
  std::set<std::string> digests;
  for (const auto& [name, digest] : refs) digests.insert(digest);
  for (const std::string& hex : TRY(names_in(folder_ + "/leases"))) {
    const std::string digest = "sha256:" + hex;
    if (!is_digest(digest) || digests.contains(digest)) continue;
    if (is_leased(digest))
      digests.insert(digest);
    else
      ::unlink((folder_ + "/leases/" + hex).c_str());
  }
  Sweep needed;
  for (const std::string& digest : digests) {
    const Result<std::optional<Image>> image = image_of(digest);
    if (!image || !*image) continue;  // Damaged, or a layer is missing: it cannot run.
    needed.blobs.insert(digest);
    const std::string manifest = TRY(blobs_.read(digest));
    const std::variant<Manifest, Index> read = TRY(manifest_from(manifest));
    needed.blobs.insert(std::get<Manifest>(read).config.digest);
    for (const std::string& id : chain_ids((*image)->config.diff_ids))
      needed.layers.insert(hex_of(id));
  }
  return needed;
}

/// Removes images that can no longer be pulled. Everything else that was pushed is needed, and
/// stays even if it cannot be read: its owner decides about a damaged file.
Result<void> Store::tidy_repositories(Sweep& needed) {
  const UnixMillis now = wall_time();
  const NamedBy named = [this](const std::string& digest) { return named_by(digest); };
  for (const std::string& name : TRY(repositories_.names()))
    TRY(repositories_.change(name, [&](std::optional<Repository>& repository) -> Result<void> {
      if (!repository) return {};
      repository = without_rests(*std::move(repository), named, now, push_grace);
      for (const auto& [digest, pushed] : repository->manifests) needed.blobs.insert(digest);
      for (const auto& [digest, time] : repository->blobs) needed.blobs.insert(digest);
      return {};
    }));
  return {};
}

/// What came of pulls: none is under way.
Result<void> Store::remove_drafts(Pruned& pruned) {
  for (const std::string& source : TRY(names_in(folder_ + "/pulls"))) {
    const std::string folder = folder_ + "/pulls/" + source;
    const Blobs drafts(folder);
    for (const std::string& digest : TRY(drafts.list())) pruned.bytes += drafts.bytes_of(digest);
    TRY(remove_tree(folder));
  }
  return {};
}

/// Layers lose their names at once: that is all that who waits for the lock has to wait for.
Result<void> Store::remove_layers(const Sweep& needed, Pruned& pruned) {
  const std::string layers = folder_ + "/layers/";
  for (const std::string& name : TRY(names_in(layers))) {
    if (needed.layers.contains(name)) {
      pruned.left_bytes += layer_bytes(name);
    } else if (is_digest("sha256:" + name)) {
      pruned.bytes += layer_bytes(name);
      const std::string old = layers + std::string(old_start) + name;
      TRY(remove_tree(old));  // A killed process left it.
      if (::rename((layers + name).c_str(), old.c_str()) != 0)
        return fail_errno("cannot rename " + layers + name);
    } else if (name.starts_with(fresh_start)) {
      const Fd folder(::open((layers + name).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      if (folder && try_claim(folder.get(), layers + name)) TRY(remove_tree(layers + name));
    }
  }
  return {};
}

Result<Pruned> Store::sweep(const PruneOptions& options) {
  Pruned pruned;
  std::vector<ListedImage> images;
  if (options.all || options.bytes_max) images = TRY(list());
  std::sort(images.begin(), images.end(),
            [](const ListedImage& a, const ListedImage& b) { return a.used < b.used; });
  Refs names = TRY(refs());
  TRY(add_pushed(names));
  const auto size_of = [this](const Sweep& needed) {
    std::uint64_t bytes = 0;
    for (const std::string& layer : needed.layers) bytes += layer_bytes(layer);
    return bytes;
  };
  Sweep needed = TRY(survey(names));
  for (const ListedImage& image : images) {
    if (image.in_use || !image.unpacked) continue;
    if (!options.all && size_of(needed) <= *options.bytes_max) break;
    names.erase(image.name);
    pruned.names.push_back(image.name);
    needed = TRY(survey(names));
  }
  if (!pruned.names.empty())
    TRY(change_refs([&](Refs& refs) {
      for (const std::string& name : pruned.names) refs.erase(name);
    }));
  TRY(tidy_repositories(needed));
  for (const std::string& digest : TRY(blobs_.list())) {
    if (needed.blobs.contains(digest)) continue;
    pruned.bytes += blobs_.bytes_of(digest);
    blobs_.remove(digest);
  }
  for (const std::string& hex : TRY(names_in(folder_ + "/signatures")))
    if (!needed.blobs.contains("sha256:" + hex)) ::unlink((folder_ + "/signatures/" + hex).c_str());
  TRY(blobs_.remove_rests());
  TRY(remove_drafts(pruned));
  TRY(remove_layers(needed, pruned));
  std::set<std::string> known = needed.layers;
  for (const std::string& digest : needed.blobs) known.insert(hex_of(digest));
  TRY(deliveries_.keep_only(known));
  return pruned;
}

Result<std::optional<Pruned>> Store::prune(const PruneOptions& options) {
  Fd lock(::open((folder_ + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock) return fail_errno("cannot open " + folder_ + "/lock");
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return std::optional<Pruned>();
  Pruned pruned = TRY(sweep(options));
  lock.reset();
  for (const std::string& name : TRY(names_in(folder_ + "/layers")))
    if (name.starts_with(old_start)) TRY(remove_tree(folder_ + "/layers/" + name));
  return std::optional<Pruned>(std::move(pruned));
}

Result<bool> Store::remove(const std::string& name) {
  bool found = false;
  const std::optional<OwnName> own = read_own_name(name);
  if (own && is_repository_name(own->repository))
    TRY(repositories_.change(own->repository,
                             [&](std::optional<Repository>& repository) -> Result<void> {
                               found = repository && repository->tags.erase(own->tag) > 0;
                               return {};
                             }));
  if (!found) TRY(change_refs([&](Refs& refs) { found = refs.erase(name) > 0; }));
  if (found) TRY(prune({}));
  return found;
}

}  // namespace muster::image
