#pragma once

// Inside objects/ only: what a request says of its signature, read but not believed. Pure.

#include <forward_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "objects/verify.h"

namespace muster::objects {

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
  std::chrono::seconds expires{};  ///< Of a presigned one.
  bool presigned = false;
  std::forward_list<std::string> decoded;

  std::string_view kept(std::string text) { return decoded.emplace_front(std::move(text)); }
};

enum class ClaimKind { none, header_v4, query_v4, version_2, unsupported };
ClaimKind claim_kind(const RequestHead& head);

/// The value of one parameter of the query, decoded; none if it is not there.
std::optional<std::string> query_parameter(const RequestHead& head, std::string_view name);

std::variant<Claim, Refused> claim_of_header(const RequestHead& head);
std::variant<Claim, Refused> claim_of_query(const RequestHead& head);

}  // namespace muster::objects
