#include "image/kept/import.h"

#include <filesystem>

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

constexpr const char* blobs_below = "blobs/sha256/";

/// The name without what it lies in.
std::string plain_name(Reference reference) {
  reference.transport = Reference::Transport::registry;
  return to_text(reference);
}

/// The files of an image, in a folder that may be another user's.
struct Files {
  const GivenPath& folder;
  std::string blobs;  ///< Before a blob's name: "", or a folder and '/'.

  Result<Fd> open(const std::string& name) const { return open_given_file(folder, name); }
  Result<Fd> open_blob(const std::string& digest) const {
    return open(blobs + digest.substr(digest.find(':') + 1));
  }
};

Result<std::string> read_document(const Fd& file, const std::string& name) {
  const std::string opened = held_path(file);
  Result<std::string> text = read_file(opened, document_bytes_max);
  if (text) return text;
  return Error{text.error().code, name + text.error().text.substr(opened.size())};
}

Result<std::string> read_blob(const Files& files, const Descriptor& descriptor) {
  const Fd file = TRY(files.open_blob(descriptor.digest));
  std::string bytes = TRY(read_document(file, "blob " + descriptor.digest));
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
Result<std::string> manifest_in(const Files& layout, const std::string& tag) {
  const Fd file = TRY(layout.open("index.json"));
  const std::string text = TRY(read_document(file, "index.json"));
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
    std::string bytes = TRY(read_blob(layout, next));
    read = TRY(manifest_from(bytes));
    if (std::holds_alternative<Manifest>(read)) return bytes;
    next = TRY(choose(std::get<Index>(read), this_platform()));
  }
  return fail(Errc::protocol,
              "image indexes are nested deeper than " + std::to_string(indexes_max));
}

/// By where it lies, whatever it is called there.
Source source_of(const GivenImage& given) {
  return Source::imported(is_of_engine(given.from) ? to_text(given.from) : given.at.path);
}

/// The image of a manifest whose blobs are files.
Result<Imported> add_from_files(Store& store, const Source& source, const std::string& name,
                                const std::string& manifest, const Files& files,
                                AddOptions options) {
  const std::variant<Manifest, Index> read = TRY(manifest_from(manifest));
  const Manifest* one = std::get_if<Manifest>(&read);
  if (one == nullptr)
    return fail(Errc::protocol, "the manifest is a list of images; expected a single image");
  const std::string config = TRY(read_blob(files, one->config));
  options.open = [&](const Descriptor& layer, std::size_t) -> Result<std::unique_ptr<Bytes>> {
    return checked(bytes_of(TRY(files.open_blob(layer.digest))), layer.digest);
  };
  Imported imported;
  imported.name = name;
  imported.image = TRY(store.add(source, imported.name, manifest, config, options));
  return imported;
}

Result<Imported> import_folder(Store& store, const GivenImage& given, std::string name,
                               AddOptions options) {
  const Files layout{given.at, blobs_below};
  const std::string manifest = TRY(manifest_in(layout, given.from.tag));
  if (name.empty()) name = TRY(local_name(given.from.path, given.from.tag));
  return add_from_files(store, source_of(given), name, manifest, layout, std::move(options));
}

Result<Imported> import_from_engine(Store& store, const GivenImage& given, std::string name,
                                    AddOptions options, const CopyOptions& copy) {
  const StoreScratch scratch = TRY(store.scratch());
  options.budget = TRY(store.budget());
  CopyOptions within = copy;
  within.bytes_max = std::min(copy.bytes_max, options.budget->limits().disk_bytes_max / 2);
  TRY(copy_from_engine(given.from, scratch.path(), within));
  // The store is muster's own.
  const GivenPath folder = TRY(find_given(scratch.path() + "/image", std::nullopt));
  const Files copied{folder, ""};
  const Fd file = TRY(copied.open("manifest.json"));
  const std::string manifest = TRY(read_document(file, "manifest.json"));
  if (name.empty()) name = plain_name(given.from);
  return add_from_files(store, source_of(given), name, manifest, copied, std::move(options));
}

Result<Imported> import_archive(Store& store, const GivenImage& given, const std::string& name,
                                AddOptions options) {
  const Reference& from = given.from;
  const std::string wanted = from.repository.empty() ? "" : plain_name(from);
  DockerArchive archive = TRY(DockerArchive::open(given.at, wanted));
  Imported imported;
  imported.name = !name.empty() ? name : archive.name();
  if (imported.name.empty()) imported.name = TRY(local_name(from.path, ""));
  if (name.empty()) options.name_from = NameFrom::archive;
  options.open = [&](const Descriptor&, std::size_t number) { return archive.layer(number); };
  imported.image = TRY(
      store.add(source_of(given), imported.name, archive.manifest(), archive.config(), options));
  return imported;
}

}  // namespace

Result<GivenImage> find_image(const Reference& from) {
  if (is_of_engine(from)) return GivenImage{from};
  Result<GivenPath> at = find_given(from.path);
  if (!at) return at.error().in(to_text(from));
  return GivenImage{from, *std::move(at)};
}

Result<Imported> import_image(Store& store, const GivenImage& given, const std::string& name,
                              AddOptions options, const CopyOptions& copy) {
  Result<Imported> imported =
      fail(Errc::invalid_input, "expected docker-daemon:, docker-archive: or oci:");
  if (given.from.transport == Reference::Transport::oci)
    imported = import_folder(store, given, name, std::move(options));
  else if (given.from.transport == Reference::Transport::docker_archive)
    imported = import_archive(store, given, name, std::move(options));
  else if (is_of_engine(given.from))
    imported = import_from_engine(store, given, name, std::move(options), copy);
  if (!imported) return imported.error().in(to_text(given.from));
  return imported;
}

}  // namespace muster::image
