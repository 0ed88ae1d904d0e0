// Who signed the images of a store.

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/fd.h"
#include "base/files/folder.h"
#include "base/json.h"
#include "image/kept/store.h"

namespace muster::image {
namespace {

std::string file_of(const std::string& folder, const std::string& digest) {
  return folder + "/signatures/" + digest.substr(digest.find(':') + 1);
}

Json document_of(const Evidence& evidence) {
  Json indexes = Json::array();
  for (const std::string& index : evidence.indexes) indexes.push_back(base64(index));
  Json signatures = Json::array();
  for (const Signature& each : evidence.signatures)
    signatures.push_back(
        {{"Payload", base64(each.payload)}, {"Signature", base64(each.signature)}});
  return {{"Indexes", std::move(indexes)}, {"Signatures", std::move(signatures)}};
}

std::optional<std::string> bytes_at(const Json& json) {
  return json.is_string() ? from_base64(json.get<std::string>()) : std::nullopt;
}

std::optional<Evidence> evidence_from(const Json& json) {
  if (!json.is_object() || !json.contains("Indexes") || !json.contains("Signatures"))
    return std::nullopt;
  Evidence evidence;
  for (const Json& each : json["Indexes"]) {
    std::optional<std::string> index = bytes_at(each);
    if (!index) return std::nullopt;
    evidence.indexes.push_back(*std::move(index));
  }
  for (const Json& each : json["Signatures"]) {
    if (!each.is_object()) return std::nullopt;
    std::optional<std::string> payload = bytes_at(each.value("Payload", Json()));
    std::optional<std::string> signature = bytes_at(each.value("Signature", Json()));
    if (!payload || !signature) return std::nullopt;
    evidence.signatures.push_back({*std::move(payload), *std::move(signature)});
  }
  return evidence;
}

}  // namespace

Result<void> Store::keep_evidence(const std::string& digest, const Evidence& evidence) {
  return write_file(file_of(folder_, digest), muster::to_text(document_of(evidence)) + "\n", 0600);
}

/// The signatures that were pushed for the image, and for the index that the name means.
Result<Evidence> Store::pushed_evidence(const Repository& repository,
                                        const Meaning& meaning) const {
  Evidence evidence;
  if (!meaning.index.empty() && repository.manifests.contains(meaning.index))
    evidence.indexes.push_back(TRY(blobs_.read(meaning.index)));
  for (const std::string& each : digests_of(meaning.digest, evidence)) {
    const auto tag = repository.tags.find(signature_tag(each));
    if (tag == repository.tags.end()) continue;
    const std::string manifest = TRY(blobs_.read(tag->second));
    for (AttachedSignature& one : TRY(attached_signatures(manifest))) {
      const bool is_own = repository.blobs.contains(one.payload.digest);
      if (!is_own || !blobs_.has(one.payload.digest)) continue;
      std::string payload = TRY(blobs_.read(one.payload.digest));
      evidence.signatures.push_back({std::move(payload), std::move(one.signature)});
    }
  }
  return evidence;
}

Result<Evidence> Store::evidence(const Meaning& meaning) const {
  if (!meaning.repository.empty()) {
    const std::optional<Repository> repository = TRY(repositories_.find(meaning.repository));
    return repository ? pushed_evidence(*repository, meaning) : Evidence();
  }
  const std::string path = file_of(folder_, meaning.digest);
  const Result<std::string> text = read_file(path);
  if (!text && text.error().code == Errc::not_found) return Evidence();
  if (!text) return text.error();
  const Result<Json> json = parse_json(*text);
  std::optional<Evidence> evidence = json ? evidence_from(*json) : std::nullopt;
  if (!evidence)
    return fail(Errc::system, path + " is damaged: pull the image again, with --policy");
  return *std::move(evidence);
}

}  // namespace muster::image
