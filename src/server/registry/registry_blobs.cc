// Blobs, and the uploads that bring them.

#include "image/reference.h"
#include "server/registry/registry_call.h"

namespace muster::registry {
namespace {

using loop::Task;

std::string place_of(const Upload& upload) {
  return "/v2/" + upload.repository + "/blobs/uploads/" + upload.id;
}

/// What has come, as the protocol says it: "0-0" is nothing, or one byte.
std::string range_of(const Upload& upload) {
  const std::uint64_t bytes = upload.draft.bytes();
  return "0-" + std::to_string(bytes == 0 ? 0 : bytes - 1);
}

http::Reply told_of(const Upload& upload, int status) {
  http::Reply reply = fresh_reply(status);
  reply.headers.emplace_back("Location", place_of(upload));
  reply.headers.emplace_back("Range", range_of(upload));
  reply.headers.emplace_back("Docker-Upload-UUID", upload.id);
  return reply;
}

/// Gives a blob that is in the store to a repository.
Answered link(image::Store& store, const std::string& name, const std::string& digest,
              UnixMillis now, std::size_t entries_max) {
  return edit_repository(store, name, now, [&](image::Repository& repository) -> Answered {
    if (repository.blobs.size() >= entries_max && !repository.blobs.contains(digest))
      return aws::Refusal{"DENIED", "the repository already has " + std::to_string(entries_max) +
                                        " blobs: delete images, then run sm image prune"};
    repository.blobs[digest] = now;
    return {};
  });
}

Task<Answered> send_created(RegistryCall& call, std::string digest) {
  http::Reply reply = fresh_reply(201);
  reply.headers.emplace_back("Location", "/v2/" + call.route.repository + "/blobs/" + digest);
  reply.headers.emplace_back("Docker-Content-Digest", digest);
  co_return co_await send(call, std::move(reply));
}

/// Takes the request's body into an upload. A connection that breaks leaves what came, for the
/// client to go on behind; a disk that fails leaves nothing.
Task<Answered> receive(RegistryCall& call, Uploads::Taken& upload) {
  const http::Incoming& incoming = call.exchange.request();
  const std::uint64_t left = call.options.blob_bytes_max - upload->draft.bytes();
  if (incoming.body_bytes && *incoming.body_bytes > left)
    co_return aws::Refusal{
        "SIZE_INVALID",
        "a blob can have at most " + std::to_string(call.options.blob_bytes_max) + " bytes", 413};
  while (true) {
    const Result<std::string_view> piece = co_await call.exchange.read();
    if (!piece)
      co_return aws::Refusal{"BLOB_UPLOAD_INVALID",
                             "the request body is incomplete: " + piece.error().text};
    if (piece->empty()) co_return Answered();
    const Result<void> kept = upload->draft.append(*piece);
    if (kept) continue;
    upload.end();
    if (kept.error().code == Errc::protocol)
      co_return aws::Refusal{"SIZE_INVALID", kept.error().text, 413};
    co_return storage_failure(kept.error());
  }
}

/// The chunk begins where the upload is, and is as long as it says.
Answered check_chunk(const RegistryCall& call, const Upload& upload) {
  const http::Incoming& incoming = call.exchange.request();
  const std::optional<std::string_view> text = incoming.value("content-range");
  if (!text) return {};
  const std::optional<ByteRange> range = read_content_range(*text);
  if (range && incoming.body_bytes && *incoming.body_bytes != range->last - range->first + 1)
    return aws::Refusal{"SIZE_INVALID", "Content-Length does not match Content-Range"};
  if (range && range->first == upload.draft.bytes()) return {};
  return aws::Refusal{"BLOB_UPLOAD_INVALID",
                      "the chunk must start at byte " + std::to_string(upload.draft.bytes()) +
                          ", the end of the data received so far",
                      416,
                      {{"Location", place_of(upload)}, {"Range", range_of(upload)}}};
}

/// Ends an upload: its bytes are the blob of that digest, or nothing stays of them.
Task<Answered> finish(RegistryCall& call, Uploads::Taken& upload, std::string digest) {
  const StoreWork work = [upload = upload.shared(), digest, now = call.options.now(),
                          limit = call.options.entries_max](image::Store& store) -> Answered {
    const Result<void> kept = upload->draft.commit_as(digest);
    if (!kept && kept.error().code == Errc::protocol)
      return aws::Refusal{"DIGEST_INVALID", kept.error().text};
    if (!kept) return storage_failure(kept.error());
    return link(store, upload->repository, digest, now, limit);
  };
  upload.end();
  const Answered kept = co_await with_store(call, work);
  if (!kept) co_return kept.error();
  co_return co_await send_created(call, std::move(digest));
}

aws::Refusal no_digest() {
  return {"DIGEST_INVALID", "?digest=: expected sha256: and 64 lower-case hex digits"};
}

/// True if the blob was in the other repository, and now is in this one, too.
Task<Result<bool, aws::Refusal>> mount(RegistryCall& call) {
  const auto mounted = std::make_shared<bool>(false);
  const StoreWork work = [route = call.route, now = call.options.now(),
                          limit = call.options.entries_max,
                          mounted](image::Store& store) -> Answered {
    const Result<std::optional<image::Repository>> from =
        store.repositories().find(route.mount_from);
    if (!from) return storage_failure(from.error());
    if (!*from || !(*from)->blobs.contains(route.mount) || !store.has_blob(route.mount)) return {};
    *mounted = true;
    return link(store, route.repository, route.mount, now, limit);
  };
  const Answered done = co_await with_store(call, work);
  if (!done) co_return done.error();
  co_return *mounted;
}

Task<Answered> patch_upload(RegistryCall& call, Uploads::Taken& upload) {
  const Answered fits = check_chunk(call, *upload);
  if (!fits) co_return fits.error();
  const Answered came = co_await receive(call, upload);
  if (!came) co_return came.error();
  http::Reply reply = told_of(*upload, 202);
  upload.release();
  co_return co_await send(call, std::move(reply));
}

Task<Answered> end_upload(RegistryCall& call, Uploads::Taken& upload) {
  std::string digest = call.route.given_digest;
  if (!image::is_digest(digest)) co_return no_digest();
  const Answered fits = check_chunk(call, *upload);
  if (!fits) co_return fits.error();
  const Answered came = co_await receive(call, upload);
  if (!came) co_return came.error();
  co_return co_await finish(call, upload, std::move(digest));
}

}  // namespace

Task<Answered> give_blob(RegistryCall& call) {
  const Result<image::Repository, aws::Refusal> repository = existing_repository(call);
  if (!repository) co_return repository.error();
  const std::string& digest = call.route.digest;
  const aws::Refusal unknown{"BLOB_UNKNOWN", "the repository has no blob with this digest", 404};
  if (!repository->blobs.contains(digest)) co_return unknown;
  Result<std::optional<image::Store::OpenBlob>> blob = call.store->open_blob(digest);
  if (!blob) co_return storage_failure(blob.error());
  if (!*blob) co_return unknown;
  const std::uint64_t bytes = (*blob)->bytes;
  const std::optional<std::string_view> asked = call.exchange.request().value("range");
  const std::optional<ByteRange> range = read_range(asked.value_or(""), bytes);
  if (!range)
    co_return aws::Refusal{"SIZE_INVALID",
                           "the requested range is outside the blob",
                           416,
                           {{"Content-Range", "bytes */" + std::to_string(bytes)}}};
  const std::uint64_t count = bytes == 0 ? 0 : range->last - range->first + 1;
  http::Reply reply = fresh_reply(count == bytes ? 200 : 206);
  reply.headers.emplace_back("Content-Type", "application/octet-stream");
  reply.headers.emplace_back("Docker-Content-Digest", digest);
  reply.headers.emplace_back("Accept-Ranges", "bytes");
  if (count != bytes)
    reply.headers.emplace_back("Content-Range", "bytes " + std::to_string(range->first) + "-" +
                                                    std::to_string(range->last) + "/" +
                                                    std::to_string(bytes));
  reply.file = std::move((*blob)->file);
  reply.file_offset = range->first;
  reply.file_bytes = count;
  co_return co_await send(call, std::move(reply));
}

Task<Answered> delete_blob(RegistryCall& call) {
  const Result<image::Repository, aws::Refusal> there = existing_repository(call);
  if (!there) co_return there.error();
  const StoreWork work = [route = call.route, now = call.options.now()](image::Store& store) {
    return edit_repository(
        store, route.repository, now, [&](image::Repository& repository) -> Answered {
          if (!repository.blobs.contains(route.digest))
            return aws::Refusal{"BLOB_UNKNOWN", "the repository has no blob with this digest", 404};
          for (const auto& [manifest, pushed] : repository.manifests)
            for (const std::string& named : store.named_by(manifest))
              if (named == route.digest)
                return aws::Refusal{
                    "UNSUPPORTED",
                    "the manifest " + manifest + " uses the blob: delete the manifest first", 405};
          repository.blobs.erase(route.digest);
          return {};
        });
  };
  const Answered done = co_await with_store(call, work);
  if (!done) co_return done.error();
  http::Reply reply = fresh_reply(202);
  co_return co_await send(call, std::move(reply));
}

Task<Answered> begin_upload(RegistryCall& call) {
  if (!call.route.mount.empty()) {
    const Result<bool, aws::Refusal> mounted = co_await mount(call);
    if (!mounted) co_return mounted.error();
    if (*mounted) co_return co_await send_created(call, call.route.mount);
  }
  std::string digest = call.route.given_digest;
  if (!digest.empty() && !image::is_digest(digest)) co_return no_digest();
  Result<image::BlobDraft> draft = call.store->upload(call.options.blob_bytes_max);
  if (!draft) co_return storage_failure(draft.error());
  Result<Uploads::Taken, aws::Refusal> upload =
      call.uploads.begin(call.route.repository, call.key->id, *std::move(draft));
  if (!upload) co_return upload.error();
  if (digest.empty()) {
    http::Reply reply = told_of(**upload, 202);
    upload->release();
    co_return co_await send(call, std::move(reply));
  }
  const Answered came = co_await receive(call, *upload);
  if (!came) upload->end();  // The client does not know its location.
  if (!came) co_return came.error();
  co_return co_await finish(call, *upload, std::move(digest));
}

Task<Answered> go_on_with_upload(RegistryCall& call) {
  Result<Uploads::Taken, aws::Refusal> upload =
      call.uploads.take(call.route.id, call.route.repository, call.key->id);
  if (!upload) co_return upload.error();
  if (call.method() == "PATCH") co_return co_await patch_upload(call, *upload);
  if (call.method() == "PUT") co_return co_await end_upload(call, *upload);
  const bool gives_up = call.method() == "DELETE";
  if (gives_up) upload->end();
  http::Reply reply = gives_up ? fresh_reply(204) : told_of(**upload, 204);
  upload->release();
  co_return co_await send(call, std::move(reply));
}

}  // namespace muster::registry
