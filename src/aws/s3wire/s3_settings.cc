#include "aws/s3wire/s3_settings.h"

#include <array>

namespace muster::s3wire {
namespace {

/// What S3 answers of a new bucket.
struct Setting {
  std::string_view name;
  std::string_view code;      ///< What the 404 says; or empty, and:
  std::string_view root{};    ///< The document's element.
  std::string_view inside{};  ///< The element's content.
};
constexpr std::array settings = {
    Setting{"cors", "NoSuchCORSConfiguration"},
    Setting{"encryption", "ServerSideEncryptionConfigurationNotFoundError"},
    Setting{"lifecycle", "NoSuchLifecycleConfiguration"},
    Setting{"object-lock", "ObjectLockConfigurationNotFoundError"},
    Setting{"ownershipControls", "OwnershipControlsNotFoundError"},
    Setting{"policy", "NoSuchBucketPolicy"},
    Setting{"policyStatus", "NoSuchBucketPolicy"},
    Setting{"publicAccessBlock", "NoSuchPublicAccessBlockConfiguration"},
    Setting{"replication", "ReplicationConfigurationNotFoundError"},
    Setting{"tagging", "NoSuchTagSet"},
    Setting{"website", "NoSuchWebsiteConfiguration"},
    Setting{"accelerate", "", "AccelerateConfiguration"},
    Setting{"logging", "", "BucketLoggingStatus"},
    Setting{"notification", "", "NotificationConfiguration"},
    Setting{"requestPayment", "", "RequestPaymentConfiguration", "<Payer>BucketOwner</Payer>"},
};

}  // namespace

Result<std::string, aws::Refusal> setting_xml(std::string_view setting) {
  for (const Setting& one : settings) {
    if (one.name != setting) continue;
    if (!one.code.empty()) return aws::s3_refusal(one.code);
    std::string xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<";
    ((xml += one.root) += " xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">") += one.inside;
    return ((xml += "</") += one.root) += ">";
  }
  CHECK_THAT(false, "a setting of the table of operations");
  return std::string();
}

}  // namespace muster::s3wire
