#pragma once

// Inside s3client/ only: one request to S3, signed, sent to where the bucket is, and explained.

#include <map>
#include <memory>

#include "aws/aws_call.h"
#include "aws/credentials.h"
#include "aws/endpoint.h"
#include "aws/s3client/s3_client.h"

namespace muster::s3client {

struct S3State {
  S3State(loop::Loop& on, const Log& to, S3Client::Options with, aws::S3Endpoint server,
          std::string home_region, aws::CredentialSources sources, const std::string& ca_roots);

  loop::Loop& loop;
  const Log log;
  const S3Client::Options options;
  const aws::S3Endpoint endpoint;
  const std::string region;
  std::map<std::string, std::string> regions;  ///< By bucket, for those that are elsewhere.
  aws::CredentialProvider credentials;
  http::Client http;
};

struct S3Request {
  std::string method = "GET";
  s3wire::S3Url url;
  aws::Pairs query{};
  aws::Pairs headers{};
  std::string body{};
  http::FilePart file{};
  std::string file_hash{};  ///< SHA-256 of `file` in hex; needed where signs_payloads().
};

/// One try. An answer of any status is a success, with what S3 said of a failure. Goes once to
/// another region if the bucket is there, and once more with fresh credentials if those fetched
/// from the container's endpoint were not taken.
struct S3Answer {
  http::Head head;
  std::string text;
  aws::S3Failure failure;
  /// 2xx, and no failure in it: S3 finds some only after it has sent the 200.
  bool succeeded() const { return head.status / 100 == 2 && failure.code.empty(); }
};
loop::Task<Result<S3Answer>> s3_once(std::shared_ptr<S3State> state, S3Request request,
                                     http::OnBody on_body);

/// As many tries as are worth it. Error: the last one's, which begins with the object's URL.
loop::Task<Result<S3Answer>> s3_call(std::shared_ptr<S3State> state, S3Request request);

/// Bytes go there over a network without TLS.
bool in_the_clear(const http::Origin& origin);

/// Then a payload's SHA-256 is signed, as AWS's clients do. With TLS, and to this machine itself,
/// its checksum is, which finds damage as well and costs a tenth (decisions/0020).
bool signs_payloads(const S3State& state, const std::string& bucket);

/// One line about an unsuccessful response. `origin`: where the credentials are from.
Error s3_error(int status, const aws::S3Failure& failure, const std::string& origin);

loop::Task<Result<void>> s3_download(std::shared_ptr<S3State> state, s3wire::S3Url from,
                                     std::string path);
loop::Task<Result<void>> s3_upload(std::shared_ptr<S3State> state, std::string path,
                                   s3wire::S3Url to);

}  // namespace muster::s3client
