#include "image/kept/store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/files/folder.h"
#include "base/files/remove_tree.h"
#include "base/json.h"
#include "image/kept/claim.h"
#include "image/kept/store_parsed.h"
#include "image/layers/igzip.h"
#include "image/own_image.h"
#include "image/reference.h"
#include "image/this_platform.h"

namespace muster::image {
namespace {

std::string hex_of(const std::string& digest) {
  CHECK_THAT(is_digest(digest), "a digest");
  return digest.substr(digest.find(':') + 1);
}

Result<void> empty_folder(int folder, const std::string& path) {
  for (const std::string& name : TRY(names_in(folder, path))) TRY(remove_tree_at(folder, name));
  return {};
}

bool is_there(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

/// An image whose programs this machine cannot run is refused before anything is unpacked.
Result<void> check_platform(const Platform& image) {
  const Platform ours = this_platform();
  if (image.architecture.empty() ||
      (image.os == ours.os && image.architecture == ours.architecture))
    return {};
  return fail(Errc::unsupported, "the image is for " + image.os + "/" + image.architecture +
                                     ", but this machine is " + ours.os + "/" + ours.architecture);
}

}  // namespace

Result<Store::Parsed> Store::Parsed::from(const std::string& manifest_bytes,
                                          const std::string& config_bytes) {
  const std::variant<Manifest, Index> read = TRY(manifest_from(manifest_bytes));
  const Manifest* manifest = std::get_if<Manifest>(&read);
  if (manifest == nullptr)
    return fail(Errc::protocol, "the manifest is a list of images; expected a single image");
  if (digest_of(config_bytes) != manifest->config.digest)
    return fail(Errc::protocol,
                "the configuration does not match its digest " + manifest->config.digest);
  const ImageConfig config = TRY(config_from(config_bytes));
  if (config.diff_ids.size() != manifest->layers.size())
    return fail(Errc::protocol, "the manifest has " + std::to_string(manifest->layers.size()) +
                                    " layers, but the configuration has " +
                                    std::to_string(config.diff_ids.size()));
  return Parsed{*manifest, config};
}

Store::Store(std::string folder)
    : folder_(std::move(folder)),
      blobs_(folder_ + "/blobs/sha256"),
      deliveries_(folder_ + "/deliveries"),
      repositories_(folder_ + "/registry") {}

Result<Store> Store::open(const std::string& folder) {
  TRY(make_folders(folder, 0700));
  for (const char* inside : {"/blobs", "/blobs/sha256", "/deliveries", "/layers", "/leases",
                             "/pulls", "/registry", "/signatures"})
    TRY(make_folders(folder + inside, 0700));
  return Store(folder);
}

Result<std::optional<BlobDraft>> Store::draft(const Source& source, const std::string& digest,
                                              std::uint64_t bytes_max) {
  TRY(make_folders(folder_ + "/pulls/" + source.id(), 0700));
  return drafts_of(source).draft(digest, bytes_max);
}

Result<Fd> Store::hold() const {
  return wait_for_lock(folder_ + "/lock", false);
}

StoreScratch::~StoreScratch() {
  if (!path_.empty()) static_cast<void>(remove_tree(path_));
}

Result<StoreScratch> Store::scratch() const {
  const Fd held = TRY(hold());  // Until it is locked, no sweep takes it for a killed process's.
  const std::string path = TRY(make_private_folder(folder_ + "/layers", ".new-scratch-"));
  Fd lock(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
    return fail_errno("cannot lock " + path);
  return StoreScratch(path, std::move(lock));
}

std::string Store::layer_path(const std::string& chain_id) const {
  return folder_ + "/layers/" + hex_of(chain_id);
}

std::vector<std::size_t> Store::missing(const Source& source, const ImageConfig& config) const {
  std::vector<std::size_t> numbers;
  const std::vector<std::string> chain = chain_ids(config.diff_ids);
  for (std::size_t i = 0; i < chain.size(); ++i)
    if (!is_there(layer_path(chain[i])) || !deliveries_.has(chain[i], source)) numbers.push_back(i);
  return numbers;
}

Result<Image> Store::add(const Source& source, const std::string& name, const std::string& manifest,
                         const std::string& config, const AddOptions& options) {
  const Parsed parsed = TRY(Parsed::from(manifest, config));
  Fd held = TRY(hold());
  TRY(check_name(name, digest_of(manifest), options.name_from));
  Image image = TRY(unpack_layers(source, parsed, digest_of(manifest), options));
  TRY(blobs_.put(parsed.manifest.config.digest, config));
  TRY(blobs_.put(image.digest, manifest));
  TRY(deliveries_.note(image.digest, source));
  TRY(open_lease(image.digest));
  TRY(give_name(name, image.digest, options.name_from));
  held.reset();
  TRY(prune({}));  // Packed layers are of no more use.
  return image;
}

/// While hold() is.
Result<Image> Store::unpack_layers(const Source& source, const Parsed& parsed,
                                   const std::string& digest, AddOptions options) {
  TRY(check_platform(parsed.config.platform));
  if (!options.budget) options.budget = TRY(budget());
  Image image{digest, parsed.config, {}};
  const std::vector<std::string> chain = chain_ids(image.config.diff_ids);
  const std::vector<Descriptor>& layers = parsed.manifest.layers;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto open = [&]() -> Result<std::unique_ptr<Bytes>> {
      if (options.on_layer) options.on_layer(i, layers.size());
      if (options.open) return options.open(layers[i], i);
      return drafts_of(source).open(layers[i].digest);
    };
    const std::vector<std::string> lowers(image.layers.rbegin(), image.layers.rend());
    Result<std::string> path =
        ensure_layer(source, chain[i], image.config.diff_ids[i], lowers, open, options);
    if (!path) return path.error().in("layer " + layers[i].digest);
    image.layers.push_back(*std::move(path));
  }
  return image;
}

/// A layer in its place that the source has delivered, whichever source put it there. Several
/// sources may work on one layer: the first that has it complete gives it its name.
Result<std::string> Store::ensure_layer(const Source& source, const std::string& chain_id,
                                        const std::string& diff_id,
                                        const std::vector<std::string>& lowers,
                                        const std::function<Result<std::unique_ptr<Bytes>>()>& open,
                                        const AddOptions& options) {
  const std::string path = layer_path(chain_id);
  const std::string fresh = folder_ + "/layers/.new-" + hex_of(chain_id) + "-" + source.id();
  while (!is_there(path) || !deliveries_.has(chain_id, source)) {
    if (::mkdir(fresh.c_str(), 0700) != 0 && errno != EEXIST)
      return fail_errno("cannot create " + fresh);
    const Fd folder(::open(fresh.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!folder && errno == ENOENT) continue;
    if (!folder) return fail_errno("cannot open " + fresh);
    const bool ours = TRY(claim(folder.get(), fresh));
    if (!ours) continue;  // Who had it is done, or failed.
    const bool proves = is_there(path);
    Result<void> made = proves ? prove_layer(chain_id, diff_id, open, options)
                               : unpack_into(folder.get(), fresh, diff_id, lowers, open, options);
    if (made) made = deliveries_.note(chain_id, source);
    if (made && !proves && ::rename(fresh.c_str(), path.c_str()) == 0) continue;
    if (made && !proves && errno != ENOTEMPTY && errno != EEXIST)
      made = fail_errno("cannot create " + path);
    static_cast<void>(empty_folder(folder.get(), fresh));
    ::rmdir(fresh.c_str());
    if (!made) return made.error();
  }
  return path + "/root";
}

/// Whether a source has the layer that is here already; it may send no more than that.
Result<void> Store::prove_layer(const std::string& chain_id, const std::string& diff_id,
                                const std::function<Result<std::unique_ptr<Bytes>>()>& open,
                                const AddOptions& options) const {
  if (options.repacked) return {};
  LayerLimits limits = options.limits;
  if (const std::uint64_t bytes = layer_fact(hex_of(chain_id), "TarBytes"); bytes > 0)
    limits.bytes_max = std::min(limits.bytes_max, bytes);
  return check_layer(TRY(open()), diff_id, limits, *options.budget);
}

Result<void> Store::unpack_into(int fresh, const std::string& path, const std::string& diff_id,
                                const std::vector<std::string>& lowers,
                                const std::function<Result<std::unique_ptr<Bytes>>()>& open,
                                const AddOptions& options) {
  const auto unpack = [&](Gunzip by) -> Result<LayerReport> {
    TRY(empty_folder(fresh, path));  // A killed process left it, or igzip.
    if (::mkdirat(fresh, "root", 0755) != 0) return fail_errno("cannot create " + path);
    std::unique_ptr<Bytes> bytes = TRY(open());
    return unpack_layer(std::move(bytes), options.repacked ? "" : diff_id, path + "/root", lowers,
                        options.limits, *options.budget, by);
  };
  Result<LayerReport> report = unpack(Gunzip::igzip);
  // Only zlib can tell what is wrong with a layer, and whether anything is.
  if (!report && report.error().code == Errc::protocol && has_igzip())
    report = unpack(Gunzip::zlib);
  if (!report) return report.error();
  if (options.say)
    for (const std::string& line : report->said) options.say(line);
  const Json facts{{"Bytes", report->disk_bytes},
                   {"Entries", report->entries},
                   {"TarBytes", options.repacked ? 0 : report->tar_bytes}};
  TRY(write_file(path + "/layer.json", muster::to_text(facts) + "\n"));
  // A name that is on the disk before what it names would be half a layer after a power cut.
  if (::syncfs(fresh) != 0) return fail_errno("cannot sync " + path);
  return {};
}

Result<Store::Refs> Store::names_of(const char* file) const {
  const std::string path = folder_ + "/" + file;
  const Result<std::string> text = read_file(path);
  if (!text && text.error().code == Errc::not_found) return Refs();
  if (!text) return text.error();
  const Result<Json> json = parse_json(*text);
  if (!json || !json->is_object())
    return fail(Errc::system,
                path + " is damaged: remove this file, and import or pull the images again");
  Refs refs;
  for (const auto& [name, digest] : json->items())
    if (digest.is_string() && is_digest(digest.get<std::string>()))
      refs[name] = digest.get<std::string>();
  return refs;
}

Result<void> Store::change_refs(const std::function<void(Refs&)>& change) {
  const Fd lock = TRY(wait_for_lock(folder_ + "/refs.lock"));
  Refs refs = TRY(this->refs());
  change(refs);
  return write_file(folder_ + "/refs.json", muster::to_text(Json(refs)) + "\n", 0600);
}

/// What a registry delivered keeps its name, unless a person or a registry says otherwise.
Result<void> Store::check_name(const std::string& name, const std::string& digest,
                               NameFrom from) const {
  if (from != NameFrom::archive) return {};
  const Refs names = TRY(refs());
  const Refs pulled = TRY(names_of("pulled.json"));
  const auto at = names.find(name);
  const auto delivered = pulled.find(name);
  const bool is_pulled =
      at != names.end() && delivered != pulled.end() && at->second == delivered->second;
  if (!read_own_name(name) && (!is_pulled || at->second == digest)) return {};
  return fail(Errc::invalid_input,
              "the image's name, " + name +
                  ", belongs to an image in a registry; set another name with --name");
}

Result<void> Store::give_name(const std::string& name, const std::string& digest, NameFrom from) {
  const Fd lock = TRY(wait_for_lock(folder_ + "/refs.lock"));
  TRY(check_name(name, digest, from));
  Refs names = TRY(refs());
  names[name] = digest;
  Refs pulled = TRY(names_of("pulled.json"));
  if (from == NameFrom::registry) pulled[name] = digest;
  std::erase_if(pulled, [&](const auto& each) {
    const auto at = names.find(each.first);
    return at == names.end() || at->second != each.second;
  });
  // First who may not replace it, then what it is: a crash in between changes nothing.
  TRY(write_file(folder_ + "/pulled.json", muster::to_text(Json(pulled)) + "\n", 0600));
  return write_file(folder_ + "/refs.json", muster::to_text(Json(names)) + "\n", 0600);
}

Result<std::optional<Image>> Store::image_of(const std::string& digest) const {
  if (!blobs_.has(digest) || !deliveries_.has_any(digest)) return std::optional<Image>();
  const std::string manifest = TRY(blobs_.read(digest));
  const std::variant<Manifest, Index> read = TRY(manifest_from(manifest));
  const Manifest* one = std::get_if<Manifest>(&read);
  if (one == nullptr || !blobs_.has(one->config.digest)) return std::optional<Image>();
  const std::string config = TRY(blobs_.read(one->config.digest));
  Image image{digest, {}, {}};
  image.config = TRY(config_from(config));
  for (const std::string& id : chain_ids(image.config.diff_ids)) {
    image.layers.push_back(layer_path(id) + "/root");
    if (!is_there(image.layers.back())) return std::optional<Image>();
  }
  return std::optional<Image>(std::move(image));
}

Result<std::optional<Meaning>> Store::look_up(const std::string& name) const {
  if (is_digest(name)) return std::optional<Meaning>(Meaning{name});
  std::optional<Meaning> pushed = TRY(look_up_pushed(name));
  if (pushed) return pushed;
  const Refs names = TRY(refs());
  const auto at = names.find(name);
  if (at == names.end()) return std::optional<Meaning>();
  return std::optional<Meaning>(Meaning{at->second});
}

Result<std::optional<Image>> Store::find(const Meaning& meaning) const {
  return image_of(meaning.digest);
}

/// Made if need be, with the time of now.
Result<Fd> Store::open_lease(const std::string& digest) const {
  const std::string path = folder_ + "/leases/" + hex_of(digest);
  Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file || ::futimens(file.get(), nullptr) != 0) return fail_errno("cannot create " + path);
  return file;
}

Result<Lease> Store::lease(const Image& image) const {
  const Fd held = TRY(hold());
  Lease lease{TRY(open_lease(image.digest)), folder_ + "/leases/" + hex_of(image.digest)};
  while (::flock(lease.lock.get(), LOCK_SH) != 0)
    if (errno != EINTR) return fail_errno("cannot lock the image");
  const bool whole =
      blobs_.has(image.digest) && std::all_of(image.layers.begin(), image.layers.end(), is_there);
  if (!whole)
    return fail(Errc::not_found, "image " + image.digest + " was removed in the meantime");
  return lease;
}

std::uint64_t Store::layer_fact(const std::string& chain_hex, const char* name) const {
  const Result<std::string> text = read_file(folder_ + "/layers/" + chain_hex + "/layer.json");
  if (!text) return 0;
  const Result<Json> json = parse_json(*text);
  if (!json || !json->is_object()) return 0;
  const auto fact = json->find(name);
  return fact != json->end() && fact->is_number_unsigned() ? fact->get<std::uint64_t>() : 0;
}

bool Store::is_leased(const std::string& digest) const {
  const std::string path = folder_ + "/leases/" + hex_of(digest);
  const Fd file(::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  return file && ::flock(file.get(), LOCK_EX | LOCK_NB) != 0;
}

Result<std::optional<ListedImage>> Store::listed_of(const std::string& name,
                                                    const std::string& digest) const {
  ListedImage listed{name, digest};
  const Result<std::optional<Image>> image = image_of(digest);
  listed.unpacked = image && *image;
  if (listed.unpacked) {
    for (const std::string& id : chain_ids((*image)->config.diff_ids))
      listed.bytes += layer_bytes(hex_of(id));
    listed.layers = (*image)->layers.size();
    listed.in_use = is_leased(digest);
  } else {
    // Damaged: pulling it repairs it.
    if (!read_own_name(name)) return std::optional<ListedImage>();
    const Result<std::string> manifest = blobs_.read(digest);
    if (!manifest) return std::optional<ListedImage>();
    const std::variant<Manifest, Index> read = TRY(manifest_from(*manifest));
    const Manifest* one = std::get_if<Manifest>(&read);
    if (one == nullptr) return std::optional<ListedImage>();
    for (const Descriptor& layer : one->layers) listed.bytes += blobs_.bytes_of(layer.digest);
    listed.layers = one->layers.size();
  }
  struct stat status {};
  if (::stat((folder_ + "/leases/" + hex_of(digest)).c_str(), &status) == 0)
    listed.used = UnixMillis(status.st_mtim.tv_sec * 1000 + status.st_mtim.tv_nsec / 1'000'000);
  return std::optional<ListedImage>(std::move(listed));
}

Result<std::vector<ListedImage>> Store::list() const {
  std::vector<ListedImage> images;
  Refs names = TRY(refs());
  TRY(add_pushed(names));
  for (const auto& [name, digest] : names) {
    std::optional<ListedImage> listed = TRY(listed_of(name, digest));
    if (listed) images.push_back(*std::move(listed));
  }
  return images;
}

}  // namespace muster::image
