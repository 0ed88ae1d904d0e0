#pragma once

// Inside s3wire/ only: which operation a request asks for. Pure.

#include "aws/s3wire/s3_fields.h"

namespace muster::s3wire {

enum class About { service, bucket, object };

struct AskedOperation {
  S3Op op{};
  std::string_view name;      ///< "PutObject"
  std::string_view selector;  ///< The parameter that asks for it; empty: none.
};
/// By the method, a query parameter and the header of copies. A parameter or an x-amz- header that
/// the operation's row does not list is `NotImplemented` with its name, so that what S3 has or gets
/// besides is never taken for the plain operation of the method.
Result<AskedOperation, aws::Refusal> asked_operation(const Fields& fields, About about);

/// What is not served, by its name.
aws::Refusal not_implemented(std::string_view name);
/// The signature's own parameters and headers, of either version, in any case.
bool is_of_signature(std::string_view name);
/// Content-Type and Content-MD5, which a URL of Version 2 hands on.
bool is_of_version_2(std::string_view name);

}  // namespace muster::s3wire
