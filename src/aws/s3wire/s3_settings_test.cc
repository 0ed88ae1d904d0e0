#include "aws/s3wire/s3_settings.h"

#include <doctest/doctest.h>

#include "aws/s3wire/s3_request.h"

using namespace muster;
using namespace muster::s3wire;

TEST_CASE("s3_settings: each setting is that of a new bucket") {
  const struct {
    const char* name;
    const char* code;
    bool deletable;
  } cases[] = {
      {"cors", "NoSuchCORSConfiguration", true},
      {"encryption", "ServerSideEncryptionConfigurationNotFoundError", true},
      {"lifecycle", "NoSuchLifecycleConfiguration", true},
      {"object-lock", "ObjectLockConfigurationNotFoundError", false},
      {"ownershipControls", "OwnershipControlsNotFoundError", true},
      {"policy", "NoSuchBucketPolicy", true},
      {"policyStatus", "NoSuchBucketPolicy", false},
      {"publicAccessBlock", "NoSuchPublicAccessBlockConfiguration", true},
      {"replication", "ReplicationConfigurationNotFoundError", true},
      {"tagging", "NoSuchTagSet", true},
      {"website", "NoSuchWebsiteConfiguration", true},
      {"accelerate", "", false},
      {"logging", "", false},
      {"notification", "", false},
      {"requestPayment", "", false},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const std::string target = "/bucket?" + std::string(c.name);
    const auto get = read_s3_request({"GET", target, {}}, {});
    REQUIRE(get);
    CHECK(get->op == S3Op::get_bucket_setting);
    const Result<std::string, aws::Refusal> xml = setting_xml(get->selector);
    CHECK((xml ? "" : xml.error().code) == c.code);
    if (!xml) CHECK(xml.error().status == 404);
    const auto remove = read_s3_request({"DELETE", target, {}}, {});
    CHECK(static_cast<bool>(remove) == c.deletable);
    if (remove) CHECK(remove->op == S3Op::delete_bucket_setting);
    const auto put = read_s3_request({"PUT", target, {}}, {});
    CHECK((put ? "" : put.error().code) == "NotImplemented");
  }
  CHECK(setting_xml("requestPayment")->find("<Payer>BucketOwner</Payer>") != std::string::npos);
}
