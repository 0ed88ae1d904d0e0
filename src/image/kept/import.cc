#include "image/kept/import.h"

#include <filesystem>

#include "base/files/plain_file.h"
#include "base/text.h"
#include "image/kept/docker_archive.h"
#include "image/this_platform.h"
#include "os/packing/archive_member.h"

namespace muster::image {
namespace {

constexpr int indexes_max = 4;  ///< In each other.

/// A name for an image that has none of its own: as podman calls what was built here.
Result<std::string> local_name(const std::string& path, const std::string& tag) {
  const std::string folder = std::filesystem::absolute(path).lexically_normal();
  const std::vector<std::string> parts = split(folder, '/');
  std::string last =
      parts.back().empty() && parts.size() > 1 ? parts[parts.size() - 2] : parts.back();
  last = "localhost/" + last.substr(0, last.find('.'));
  const Result<Reference> reference = reference_from(tag.empty() ? last : last + ":" + tag);
  if (!reference)
    return fail(Errc::invalid_input, path + ": the image has no name; set one with --name");
  return to_text(*reference);
}

constexpr const char* blobs_below = "/blobs/sha256";

/// The name without what it lies in.
std::string plain_name(Reference reference) {
  reference.transport = Reference::Transport::registry;
  return to_text(reference);
}

/// In a folder of blobs.
std::string blob_path(const std::string& blobs, const std::string& digest) {
  return blobs + "/" + digest.substr(digest.find(':') + 1);
}

Result<std::string> read_plain(const std::string& path) {
  const Fd file = TRY(open_plain(path));
  const std::string opened = "/proc/self/fd/" + std::to_string(file.get());
  Result<std::string> text = read_file(opened, document_bytes_max);
  if (text) return text;
  return Error{text.error().code, path + text.error().text.substr(opened.size())};
}

Result<std::string> read_document(const std::string& blobs, const Descriptor& descriptor) {
  std::string bytes = TRY(read_plain(blob_path(blobs, descriptor.digest)));
  if (digest_of(bytes) != descriptor.digest)
    return fail(Errc::protocol, "blob " + descriptor.digest + " does not match its digest");
  return bytes;
}

/// The entry of a layout's index that a tag names; without a tag the only one there is.
Result<const Index::Entry*> entry_for(const Index& index, const std::string& tag) {
  std::vector<std::string> names;
  const Index::Entry* found = nullptr;
  for (const Index::Entry& entry : index.entries) {
    if (names.size() < 16) names.push_back(entry.name.empty() ? "(unnamed)" : entry.name);
    if (tag.empty() || entry.name == tag || entry.name.ends_with(":" + tag)) found = &entry;
  }
  if (found != nullptr && (!tag.empty() || index.entries.size() == 1)) return found;
  const std::string there = packing::shown(join(names, ", "));
  if (!tag.empty())
    return fail(Errc::not_found,
                "found no image with the tag " + tag + "; available tags: " + there);
  if (index.entries.empty()) return fail(Errc::not_found, "the folder contains no image");
  return fail(Errc::invalid_input,
              "the folder contains several images; choose one with oci:FOLDER:TAG: " + there);
}

/// The manifest's bytes of the image for this machine.
Result<std::string> manifest_in(const std::string& folder, const std::string& tag) {
  const std::string text = TRY(read_plain(folder + "/index.json"));
  std::variant<Manifest, Index> read = TRY(manifest_from(text));
  const Index* index = std::get_if<Index>(&read);
  if (index == nullptr) return fail(Errc::protocol, "index.json: expected manifests");
  const bool by_platform =
      tag.empty() && index->entries.size() > 1 &&
      std::all_of(index->entries.begin(), index->entries.end(),
                  [](const Index::Entry& entry) { return entry.name.empty(); });
  Descriptor next;
  if (by_platform)
    next = TRY(choose(*index, this_platform()));
  else
    next = TRY(entry_for(*index, tag))->manifest;
  for (int depth = 0; depth < indexes_max; ++depth) {
    std::string bytes = TRY(read_document(folder + blobs_below, next));
    read = TRY(manifest_from(bytes));
    if (std::holds_alternative<Manifest>(read)) return bytes;
    next = TRY(choose(std::get<Index>(read), this_platform()));
  }
  return fail(Errc::protocol,
              "image indexes are nested deeper than " + std::to_string(indexes_max));
}

/// By where it lies, whatever it is called there.
Source source_of(const Reference& from) {
  if (is_of_engine(from)) return Source::imported(to_text(from));
  std::error_code failed;
  const std::filesystem::path whole = std::filesystem::canonical(from.path, failed);
  return Source::imported(failed ? from.path : whole.string());
}

/// The image of a manifest whose blobs are files of one folder.
Result<Imported> add_from_blobs(Store& store, const Source& source, const std::string& name,
                                const std::string& manifest, const std::string& blobs,
                                AddOptions options) {
  const std::variant<Manifest, Index> read = TRY(manifest_from(manifest));
  const Manifest* one = std::get_if<Manifest>(&read);
  if (one == nullptr)
    return fail(Errc::protocol, "the manifest is a list of images; expected a single image");
  const std::string config = TRY(read_document(blobs, one->config));
  options.open = [&](const Descriptor& layer, std::size_t) -> Result<std::unique_ptr<Bytes>> {
    const std::string path = blob_path(blobs, layer.digest);
    return checked(bytes_of(TRY(open_plain(path))), layer.digest);
  };
  Imported imported;
  imported.name = name;
  imported.image = TRY(store.add(source, imported.name, manifest, config, options));
  return imported;
}

Result<Imported> import_folder(Store& store, const Reference& from, std::string name,
                               AddOptions options) {
  const std::string manifest = TRY(manifest_in(from.path, from.tag));
  if (name.empty()) name = TRY(local_name(from.path, from.tag));
  return add_from_blobs(store, source_of(from), name, manifest, from.path + blobs_below,
                        std::move(options));
}

Result<Imported> import_from_engine(Store& store, const Reference& from, std::string name,
                                    AddOptions options, const CopyOptions& copy) {
  const StoreScratch scratch = TRY(store.scratch());
  options.budget = TRY(store.budget());
  CopyOptions within = copy;
  within.bytes_max = std::min(copy.bytes_max, options.budget->limits().disk_bytes_max / 2);
  TRY(copy_from_engine(from, scratch.path(), within));
  const std::string folder = scratch.path() + "/image";
  const std::string manifest = TRY(read_plain(folder + "/manifest.json"));
  if (name.empty()) name = plain_name(from);
  return add_from_blobs(store, source_of(from), name, manifest, folder, std::move(options));
}

Result<Imported> import_archive(Store& store, const Reference& from, const std::string& name,
                                AddOptions options) {
  const std::string wanted = from.repository.empty() ? "" : plain_name(from);
  DockerArchive archive = TRY(DockerArchive::open(from.path, wanted));
  Imported imported;
  imported.name = !name.empty() ? name : archive.name();
  if (imported.name.empty()) imported.name = TRY(local_name(from.path, ""));
  if (name.empty()) options.name_from = NameFrom::archive;
  options.open = [&](const Descriptor&, std::size_t number) { return archive.layer(number); };
  imported.image =
      TRY(store.add(source_of(from), imported.name, archive.manifest(), archive.config(), options));
  return imported;
}

}  // namespace

Result<Imported> import_image(Store& store, const Reference& from, const std::string& name,
                              AddOptions options, const CopyOptions& copy) {
  Result<Imported> imported =
      fail(Errc::invalid_input, "expected docker-daemon:, docker-archive: or oci:");
  if (from.transport == Reference::Transport::oci)
    imported = import_folder(store, from, name, std::move(options));
  else if (from.transport == Reference::Transport::docker_archive)
    imported = import_archive(store, from, name, std::move(options));
  else if (is_of_engine(from))
    imported = import_from_engine(store, from, name, std::move(options), copy);
  if (!imported) return imported.error().in(to_text(from));
  return imported;
}

}  // namespace muster::image
