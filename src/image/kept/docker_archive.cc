#include "image/kept/docker_archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "image/layers/budget.h"
#include "image/layers/path_limit.h"
#include "image/reference.h"
#include "os/packing/archive_member.h"

namespace muster::image {
namespace {

constexpr std::size_t members_max = 100'000;
constexpr int links_max = 8;
constexpr std::size_t block_bytes = 64u << 10;
constexpr const char* manifest_name = "manifest.json";
constexpr const char* layer_type = "application/vnd.docker.image.rootfs.diff.tar";
constexpr const char* config_type = "application/vnd.docker.container.image.v1+json";

Error damaged(const std::string& text) {
  return fail(Errc::protocol, text);
}

/// "./a/../b" as "b"; above the root is the root.
std::string plain(const std::string& name) {
  const std::string normal = std::filesystem::path("/" + name).lexically_normal();
  return normal.substr(1);
}

/// A tar archive from a member on.
class Reader {
 public:
  static Result<Reader> open(int file, std::int64_t at) {
    Reader reader;
    if (::lseek(file, at, SEEK_SET) != at) return fail_errno("cannot seek in the archive");
    archive* const handle = reader.handle_.get();
    CHECK_THAT(handle != nullptr && ::archive_read_support_format_tar(handle) == ARCHIVE_OK,
               "libarchive knows tar");
    if (::archive_read_open_fd(handle, file, block_bytes) != ARCHIVE_OK) return reader.error();
    return reader;
  }

  /// Null at the end.
  Result<archive_entry*> next() {
    archive_entry* entry = nullptr;
    const int status = ::archive_read_next_header(handle_.get(), &entry);
    if (status == ARCHIVE_EOF) return static_cast<archive_entry*>(nullptr);
    if (status == ARCHIVE_OK || status == ARCHIVE_WARN) return entry;
    return error();
  }
  /// Where the header of the last one is, counted from where this was opened.
  std::int64_t at() const { return ::archive_read_header_position(handle_.get()); }
  /// The next piece of the last member; empty at its end. A hole would mean bytes that were not
  /// read.
  Result<std::string_view> read() {
    const void* block = nullptr;
    std::size_t count = 0;
    la_int64_t at = 0;
    const int status = ::archive_read_data_block(handle_.get(), &block, &count, &at);
    if (status == ARCHIVE_EOF) return std::string_view();
    if (status != ARCHIVE_OK && status != ARCHIVE_WARN) return error();
    if (at != read_) return damaged("contains a sparse file, which docker save does not write");
    read_ += static_cast<la_int64_t>(count);
    return std::string_view(static_cast<const char*>(block), count);
  }

 private:
  Reader() : handle_(::archive_read_new(), ::archive_read_free) {}
  Error error() const {
    const char* text = ::archive_error_string(handle_.get());
    return damaged(std::string("is not a tar archive, or is damaged: ") +
                   (text != nullptr ? text : "wrong data"));
  }
  std::unique_ptr<archive, int (*)(archive*)> handle_;
  la_int64_t read_ = 0;  ///< Bytes of the last one.
};

class MemberBytes final : public Bytes {
 public:
  explicit MemberBytes(Reader reader) : reader_(std::move(reader)) {}
  Result<std::string_view> next() override { return reader_.read(); }

 private:
  Reader reader_;
};

/// A file of the archive's tar that can be read from any place.
Result<Fd> plain_tar(const GivenPath& archive) {
  Fd file = TRY(open_file(archive));
  unsigned char start[4] = {};
  if (::pread(file.get(), start, sizeof start, 0) < 0) return fail_errno("cannot read");
  const bool packed =
      (start[0] == 0x1f && start[1] == 0x8b) ||
      (start[0] == 0x28 && start[1] == 0xb5 && start[2] == 0x2f && start[3] == 0xfd);
  if (!packed) return file;
  const std::string path = std::filesystem::path(archive.path).parent_path();
  const Fd folder = TRY(open_given_folder(path));
  Fd tar(::openat(folder.get(), ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600));
  if (!tar)
    return fail_errno(
        "the file is compressed, and muster cannot create a file for the decompressed data in the "
        "same folder");
  const std::shared_ptr<Budget> budget = TRY(budget_for(held_path(folder)));
  std::unique_ptr<Bytes> bytes = unpacked(counted(bytes_of(std::move(file)), *budget));
  bytes = read_ahead(metered(std::move(bytes), *budget));
  while (true) {
    const std::string_view piece = TRY(bytes->next());
    if (piece.empty()) return tar;
    TRY(budget->write(piece.size()));
    TRY(write_all(tar.get(), piece));
  }
}

Result<std::vector<std::string>> texts(const Json& object, const char* name) {
  std::vector<std::string> all;
  const auto list = object.find(name);
  if (list == object.end() || list->is_null()) return all;
  if (!list->is_array())
    return damaged(std::string("manifest.json: ") + name + ": expected a list");
  for (const Json& text : *list) {
    if (!text.is_string())
      return damaged(std::string("manifest.json: ") + name + ": expected strings");
    all.push_back(text.get<std::string>());
  }
  return all;
}

}  // namespace

/// An entry of manifest.json.
struct DockerArchive::Listed {
  std::string config;
  std::vector<std::string> names;  ///< Whole, as to_text() has them.
  std::vector<std::string> layers;
};

Result<void> DockerArchive::list() {
  Reader reader = TRY(Reader::open(file_.get(), 0));
  while (archive_entry* entry = TRY(reader.next())) {
    const std::string name = plain(std::string(TRY(checked_path(::archive_entry_pathname(entry)))));
    Member member;
    member.at = reader.at();
    const char* hard = ::archive_entry_hardlink(entry);
    const char* soft = ::archive_entry_symlink(entry);
    TRY(checked_path(hard));
    TRY(checked_path(soft));
    if (hard != nullptr || soft != nullptr) {
      member.is_link = true;
      const std::size_t slash = name.rfind('/');
      const std::string folder = slash == std::string::npos ? "" : name.substr(0, slash + 1);
      member.target = plain(hard != nullptr ? hard : folder + soft);
    } else if (::archive_entry_filetype(entry) == AE_IFREG) {
      member.bytes =
          static_cast<std::uint64_t>(std::max<la_int64_t>(0, ::archive_entry_size(entry)));
    } else {
      continue;
    }
    members_.try_emplace(name, std::move(member));
    if (members_.size() > members_max)
      return damaged("contains more than " + std::to_string(members_max) + " entries");
  }
  return {};
}

/// A member's own name, with links followed: a layer that occurs twice in an image is a link.
Result<std::string> DockerArchive::real_name(const std::string& name) const {
  std::string at = plain(name);
  for (int links = 0; links < links_max; ++links) {
    const auto member = members_.find(at);
    if (member == members_.end())
      return damaged("does not contain " + packing::shown(name) +
                     ": docker save did not write it, or it is truncated");
    if (!member->second.is_link) return at;
    at = member->second.target;
  }
  return damaged(packing::shown(name) + ": symbolic links form a loop");
}

Result<std::unique_ptr<Bytes>> DockerArchive::open_member(const std::string& name) const {
  const Member& member = members_.at(TRY(real_name(name)));
  Reader reader = TRY(Reader::open(file_.get(), member.at));
  if (TRY(reader.next()) == nullptr) return damaged("does not contain " + packing::shown(name));
  return std::unique_ptr<Bytes>(std::make_unique<MemberBytes>(std::move(reader)));
}

Result<std::string> DockerArchive::read_member(const std::string& name) const {
  const std::unique_ptr<Bytes> bytes = TRY(open_member(name));
  std::string text;
  while (true) {
    const std::string_view piece = TRY(bytes->next());
    if (piece.empty()) return text;
    text += piece;
    if (text.size() > document_bytes_max)
      return damaged(packing::shown(name) + " contains more than " +
                     std::to_string(document_bytes_max) + " bytes");
  }
}

/// The image that is called `wanted`, or the only one.
Result<DockerArchive::Listed> DockerArchive::choose(const std::string& wanted) const {
  const std::string text = TRY(read_member(manifest_name));
  const Result<Json> json = parse_json(text);
  if (!json) return json.error().in(manifest_name);
  if (!json->is_array() || json->empty())
    return damaged("manifest.json: expected a list of images");
  std::vector<std::string> there;
  for (const Json& image : *json) {
    if (!image.is_object()) return damaged("manifest.json: expected a list of images");
    Listed listed;
    const auto config = image.find("Config");
    if (config == image.end() || !config->is_string())
      return damaged("manifest.json: expected a name in Config");
    listed.config = config->get<std::string>();
    listed.layers = TRY(texts(image, "Layers"));
    for (const std::string& tag : TRY(texts(image, "RepoTags")))
      if (const Result<Reference> name = reference_from(tag);
          name && name->transport == Reference::Transport::registry)
        listed.names.push_back(to_text(*name));
    for (const std::string& name : listed.names) {
      if (there.size() < 16) there.push_back(name);
      if (name != wanted) continue;
      listed.names = {name};
      return listed;
    }
    if (wanted.empty() && json->size() == 1) return listed;
  }
  const std::string names = there.empty() ? "images without a name" : join(there, ", ");
  if (!wanted.empty())
    return fail(Errc::not_found,
                "the archive does not contain the image " + wanted + "; it contains " + names);
  return fail(
      Errc::invalid_input,
      "the archive contains several images; choose one with docker-archive:FILE:NAME: " + names);
}

Result<void> DockerArchive::read_image(const Listed& listed) {
  if (!listed.names.empty()) name_ = listed.names[0];
  config_ = TRY(read_member(listed.config));
  const ImageConfig config = TRY(config_from(config_));
  layers_ = listed.layers;
  if (layers_.size() != config.diff_ids.size())
    return damaged("has " + std::to_string(layers_.size()) + " layers, but its configuration has " +
                   std::to_string(config.diff_ids.size()));
  Manifest manifest;
  manifest.config = {digest_of(config_), config_.size(), config_type};
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const std::string name = TRY(real_name(layers_[i]));
    manifest.layers.push_back({config.diff_ids[i], members_.at(name).bytes, layer_type});
  }
  manifest_ = document_of(manifest);
  return {};
}

Result<DockerArchive> DockerArchive::open(const GivenPath& file, const std::string& wanted) {
  DockerArchive archive;
  archive.file_ = TRY(plain_tar(file));
  TRY(archive.list());
  const Listed listed = TRY(archive.choose(wanted));
  TRY(archive.read_image(listed));
  return archive;
}

Result<std::unique_ptr<Bytes>> DockerArchive::layer(std::size_t number) const {
  return open_member(layers_.at(number));
}

}  // namespace muster::image
