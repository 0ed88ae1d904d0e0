#pragma once

// Inside access/ only: what a request says of its signature, read but not believed. Pure.

#include <forward_list>
#include <optional>
#include <string>
#include <string_view>

#include "aws/access/verify.h"

namespace muster::access {

/// Views into the head, or into `decoded`: what stood encoded in a query.
struct Claim {
  std::string_view credential;  ///< "AKID/20150830/us-east-1/s3/aws4_request"
  std::string_view access_key;
  std::string_view day;
  std::string_view region;
  std::string_view service;
  std::string_view scope;           ///< "20150830/us-east-1/s3/aws4_request"
  std::string_view signed_headers;  ///< "host;x-amz-date"
  std::string_view signature;
  std::string_view time_text;  ///< "20150830T123600Z"
  std::string_view token;      ///< The session token; empty: none.
  std::string_view payload;    ///< x-amz-content-sha256, if it is there.
  UnixMillis time{};
  std::chrono::seconds expires{};  ///< How long a presigned request is good for.
  bool presigned = false;
  bool version_2 = false;  ///< Presigned by Version 2; `time` is then when it ends.
  std::forward_list<std::string> decoded;

  std::string_view kept(std::string text) { return decoded.emplace_front(std::move(text)); }
};

/// The only code that reads signatures: no other code reads Authorization or the query's X-Amz-
/// parameters. There must be one signature, in one of the two places, with each part of Version 4
/// exactly once and no other part. Otherwise `missing`, `unsupported` and so on.
Result<Claim, AuthRefusal> read_claim(const aws::RequestHead& head);

}  // namespace muster::access
