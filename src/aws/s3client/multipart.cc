#include "aws/s3client/multipart.h"

#include "aws/xml.h"

namespace muster::s3client {

loop::Task<Result<std::string>> begin_multipart(std::shared_ptr<S3State> state, s3wire::S3Url to) {
  S3Request request{.method = "POST",
                    .url = to,
                    .query = {{"uploads", ""}},
                    .headers = {{"x-amz-checksum-algorithm", "CRC32"}}};
  Result<S3Answer> answer = co_await s3_call(state, std::move(request));
  if (!answer) co_return answer.error();
  const std::optional<std::string> id = aws::xml_text(answer->text, "UploadId");
  if (!id || id->empty())
    co_return fail(Errc::protocol, s3wire::text_of(to) + ": the server returned no UploadId");
  co_return *id;
}

loop::Task<Result<void>> end_multipart(std::shared_ptr<S3State> state, s3wire::S3Url to,
                                       std::string id, std::vector<StoredPart> parts) {
  std::string body = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
  for (std::size_t i = 0; i < parts.size(); ++i)
    body += "<Part><PartNumber>" + std::to_string(i + 1) + "</PartNumber><ETag>" +
            aws::xml_escaped(parts[i].etag) + "</ETag><ChecksumCRC32>" + parts[i].crc32 +
            "</ChecksumCRC32></Part>";
  body += "</CompleteMultipartUpload>";
  S3Request request{.method = "POST",
                    .url = std::move(to),
                    .query = {{"uploadId", std::move(id)}},
                    .headers = {{"content-type", "application/xml"}},
                    .body = std::move(body)};
  Result<S3Answer> answer = co_await s3_call(state, std::move(request));
  if (!answer) co_return answer.error();
  co_return Result<void>();
}

loop::Task<void> abort_multipart(std::shared_ptr<S3State> state, s3wire::S3Url to, std::string id) {
  S3Request request{
      .method = "DELETE", .url = std::move(to), .query = {{"uploadId", std::move(id)}}};
  Result<S3Answer> ignored = co_await s3_once(state, std::move(request), nullptr);
  static_cast<void>(ignored);  // The upload's own error is what counts.
}

}  // namespace muster::s3client
