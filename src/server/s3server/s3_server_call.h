#pragma once

// Inside s3server/ only: one call of the S3 server.

#include <optional>
#include <string>

#include "server/bucket/bucket_uploads.h"
#include "server/s3server/s3_server.h"

namespace muster::s3server {

/// Lives as long as the coroutine that answers the exchange.
struct S3Call {
  http::Exchange& exchange;
  bucket::BucketStore& store;
  const S3Server::Options& options;
  KeyBudgets& budgets;
  UnixMillis now{};
  access::Verified verified;
  s3wire::S3Operation op;
  std::string request_id;
  std::shared_ptr<bucket::Budget> budget{};  ///< For a write by a key with a budget.
  std::string host_bucket{};                 ///< Named by the Host header; empty: by the path.

  /// Disk space that this call's writes must leave free.
  std::uint64_t free_min() const {
    return verified.key->policy.may_fill_disk ? 0 : options.free_min_bytes;
  }
  bool is_head() const { return exchange.request().method == "HEAD"; }
  http::Reply fresh_reply(int status) const {
    return {.status = status, .headers = {{"x-amz-request-id", request_id}}};
  }
};

/// The call was answered, or the caller must send this refusal.
using Answered = Result<void, aws::Refusal>;
/// The handlers of calls.
using S3Handler = loop::Task<Answered> (*)(S3Call& call, std::shared_ptr<bucket::Bucket> bucket);

loop::Task<Answered> send(S3Call& call, http::Reply reply);
loop::Task<Answered> send_xml(S3Call& call, std::string xml);

// s3_server_read.cc
loop::Task<Answered> get_object(S3Call& call, std::shared_ptr<bucket::Bucket> bucket);
loop::Task<Answered> get_attributes(S3Call& call, std::shared_ptr<bucket::Bucket> bucket);
loop::Task<Answered> get_tagging(S3Call& call, std::shared_ptr<bucket::Bucket> bucket);
loop::Task<Answered> get_object_acl(S3Call& call, std::shared_ptr<bucket::Bucket> bucket);
loop::Task<Answered> put_object_acl(S3Call& call, std::shared_ptr<bucket::Bucket> bucket);
loop::Task<Answered> list_bucket(S3Call& call, std::shared_ptr<bucket::Bucket> bucket);

// s3_server_write.cc
loop::Task<Answered> put_object(S3Call& call, std::shared_ptr<bucket::Bucket> bucket);
loop::Task<Answered> delete_object(S3Call& call, std::shared_ptr<bucket::Bucket> bucket);
loop::Task<Answered> delete_objects(S3Call& call, std::shared_ptr<bucket::Bucket> bucket);
loop::Task<Answered> put_tagging(S3Call& call, std::shared_ptr<bucket::Bucket> bucket);
loop::Task<Answered> delete_tagging(S3Call& call, std::shared_ptr<bucket::Bucket> bucket);

// s3_server_copy.cc
loop::Task<Answered> copy_object(S3Call& call, std::shared_ptr<bucket::Bucket> bucket);
loop::Task<Answered> copy_part(S3Call& call, std::shared_ptr<bucket::Bucket> bucket);

// s3_server_upload.cc
loop::Task<Answered> begin_upload(S3Call& call, std::shared_ptr<bucket::Bucket> bucket);
loop::Task<Answered> put_part(S3Call& call, std::shared_ptr<bucket::Bucket> bucket);
loop::Task<Answered> complete_upload(S3Call& call, std::shared_ptr<bucket::Bucket> bucket);
loop::Task<Answered> abort_upload(S3Call& call, std::shared_ptr<bucket::Bucket> bucket);
loop::Task<Answered> list_parts(S3Call& call, std::shared_ptr<bucket::Bucket> bucket);
loop::Task<Answered> list_uploads(S3Call& call, std::shared_ptr<bucket::Bucket> bucket);

// Functions shared by several handlers.

/// The result of a body that was read and checked.
struct ReceivedBody {
  std::string md5;  ///< 16 bytes, if asked for.
  std::optional<s3wire::KeptChecksum> checksum;
};
/// Reads the body: undoes aws-chunked, compares length, hashes and checksums with the signed and
/// announced values. `also`: an additional checksum to compute. `sink` receives the bytes.
loop::Task<Result<ReceivedBody, aws::Refusal>> receive_body(
    S3Call& call, bool with_md5, std::optional<s3wire::Checksum> also,
    std::function<Result<void>(std::string_view)> sink);
/// Reads a body like receive_body(), and returns it as text.
loop::Task<Result<std::string, aws::Refusal>> receive_text(S3Call& call, std::size_t bytes_max);

/// A body that is written to a draft, counted by the budget of its key.
struct Receiving {
  Receiving(const S3Call& call, const bucket::Bucket& bucket)
      : draft(bucket.draft(call.free_min())) {}

  bucket::Hold hold;
  bucket::Draft draft;
  Answered fits;  ///< Refused if a body without a length exceeded the budget.
};
/// For the body that follows; an HTTP-chunked one may have no length.
Answered make_room(const S3Call& call, Receiving& receiving);
/// The sink for receive_body().
std::function<Result<void>(std::string_view)> sink_of(const S3Call& call, Receiving& receiving);
/// Writes nothing if too little of the disk is free.
Answered check_disk(const S3Call& call, const bucket::Bucket& bucket, std::uint64_t bytes);
/// The check of the request's conditions; empty if there are none.
bucket::WriteCheck check_of(const s3wire::Conditions& conditions);
/// The refusal for this result; none for success.
Answered answered(const Result<bucket::WriteEnd>& end);
void add_checksum_headers(http::Reply& reply, const s3wire::KeptChecksum& checksum);
std::string quoted(const std::string& etag);
aws::Refusal no_such_key(const S3Call& call);
/// Larger writes run on a separate thread.
inline constexpr std::uint64_t long_write_bytes = 4u << 20;
/// Seals and stores, on the loop or on another thread.
loop::Task<Result<bucket::WriteEnd>> put_draft(S3Call& call, std::shared_ptr<bucket::Bucket> bucket,
                                               Receiving& receiving, bucket::ObjectRecord& record);

}  // namespace muster::s3server
