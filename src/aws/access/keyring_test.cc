#include "aws/access/keyring.h"

#include <doctest/doctest.h>

#include <functional>

using namespace muster;
using namespace muster::access;

namespace {

AccessKey key_of(std::string id, std::string owner = "") {
  return {.id = std::move(id),
          .secret = "0123456789abcdef",
          .session_token = "",
          .expires = std::nullopt,
          .policy = {},
          .owner = std::move(owner)};
}

}  // namespace

TEST_CASE("keyring: keys are added, found, and removed") {
  KeyRing ring;
  REQUIRE(ring.add(key_of("AKIDONE")));
  REQUIRE(ring.add(key_of("AKIDTWO", "job-a")));
  REQUIRE(ring.add(key_of("AKIDTHREE", "job-a")));
  CHECK(ring.ids() == std::vector<std::string>{"AKIDONE", "AKIDTHREE", "AKIDTWO"});
  REQUIRE(ring.find("AKIDONE"));
  CHECK(ring.find("AKIDONE")->id == "AKIDONE");
  CHECK(!ring.find("AKID"));
  const std::shared_ptr<const AccessKey> held = ring.find("AKIDTWO");
  CHECK(ring.revoke_owned("job-a") == 2);
  CHECK(ring.revoke_owned("job-a") == 0);
  CHECK(held->owner == "job-a");  // Who holds it may still read it.
  CHECK(ring.revoke_owned("") == 0);
  CHECK(ring.revoke("AKIDONE"));
  CHECK(!ring.revoke("AKIDONE"));
  CHECK(ring.ids().empty());
}

TEST_CASE("keyring: keys that no client could sign with are refused") {
  const struct {
    const char* name;
    std::function<void(AccessKey&)> alter;
  } cases[] = {
      {"no id", [](AccessKey& k) { k.id = ""; }},
      {"a short id", [](AccessKey& k) { k.id = "ab"; }},
      {"a long id", [](AccessKey& k) { k.id = std::string(129, 'a'); }},
      {"a slash in the id", [](AccessKey& k) { k.id = "AKID/1"; }},
      {"a space in the id", [](AccessKey& k) { k.id = "AKID 1"; }},
      {"no secret", [](AccessKey& k) { k.secret = ""; }},
      {"a short secret", [](AccessKey& k) { k.secret = "1234567"; }},
      {"a long secret", [](AccessKey& k) { k.secret = std::string(129, 'a'); }},
      {"a line break in the secret", [](AccessKey& k) { k.secret += "\n"; }},
      {"a line break in the token", [](AccessKey& k) { k.session_token = "a\nb"; }},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    AccessKey key = key_of("AKIDONE");
    const std::string secret = key.secret;
    c.alter(key);
    KeyRing ring;
    const Result<void> added = ring.add(key);
    REQUIRE(!added);
    CHECK(added.error().code == Errc::invalid_input);
    CHECK(added.error().text.find(secret) == std::string::npos);
    CHECK(ring.ids().empty());
  }
}

TEST_CASE("keyring: a job's key reaches that job's places only") {
  AccessKey job = key_of("AKIDJOB");
  job.policy = {.limited = true,
                .reads = {{"data", "train/", Extent::folder},
                          {"data", "one.csv", Extent::object},
                          {"ckpt", "j/", Extent::folder}},
                .read_objects = {{"named", "d/1"}, {"named", "d/2"}},
                .writes = {{"out", "job/output/", Extent::folder}, {"ckpt", "j/", Extent::folder}}};
  const struct {
    s3wire::S3Op op;
    const char* bucket;
    const char* key;
    bool may;
  } cases[] = {
      {s3wire::S3Op::get_object, "data", "train/a", true},
      {s3wire::S3Op::head_object, "data", "train/a/b", true},
      {s3wire::S3Op::get_object, "data", "train", false},
      {s3wire::S3Op::get_object, "data", "training/a", false},
      {s3wire::S3Op::get_object, "data", "one.csv", true},
      {s3wire::S3Op::get_object, "data", "two.csv", false},
      {s3wire::S3Op::get_object, "data", "one.csv.old", false},
      {s3wire::S3Op::get_object, "data", "one.csv/x", false},
      {s3wire::S3Op::get_object, "named", "d/1", true},
      {s3wire::S3Op::head_object, "named", "d/2", true},
      {s3wire::S3Op::get_object, "named", "d/3", false},
      {s3wire::S3Op::get_object, "named", "d/1/x", false},
      {s3wire::S3Op::get_object, "data", "d/1", false},
      {s3wire::S3Op::put_object, "named", "d/1", false},
      {s3wire::S3Op::head_bucket, "named", "", true},
      {s3wire::S3Op::get_object, "ckpt", "j", false},
      {s3wire::S3Op::put_object, "ckpt", "j", false},
      {s3wire::S3Op::put_object, "ckpt", "j2/1", false},
      {s3wire::S3Op::put_object, "ckpt", "", false},
      {s3wire::S3Op::put_object, "ckpt", "/j/1", false},
      {s3wire::S3Op::put_object, "ckpt", "./j/1", false},
      {s3wire::S3Op::get_object, "other", "train/a", false},
      {s3wire::S3Op::put_object, "data", "train/a", false},
      {s3wire::S3Op::delete_object, "data", "train/a", false},
      {s3wire::S3Op::put_object, "out", "job/output/model.tar.gz", true},
      {s3wire::S3Op::get_object, "out", "job/output/model.tar.gz", false},
      {s3wire::S3Op::put_object, "out", "job2/output/x", false},
      {s3wire::S3Op::copy_object, "out", "job/output/x", true},
      {s3wire::S3Op::create_multipart_upload, "out", "job/output/x", true},
      {s3wire::S3Op::upload_part, "out", "job/output/x", true},
      {s3wire::S3Op::upload_part_copy, "out", "job/output/x", true},
      {s3wire::S3Op::complete_multipart_upload, "out", "job/output/x", true},
      {s3wire::S3Op::abort_multipart_upload, "out", "job/output/x", true},
      {s3wire::S3Op::list_parts, "out", "job/output/x", true},
      {s3wire::S3Op::put_object_tagging, "out", "job/output/x", true},
      {s3wire::S3Op::get_object, "ckpt", "j/1", true},
      {s3wire::S3Op::put_object, "ckpt", "j/1", true},
      {s3wire::S3Op::delete_object, "ckpt", "j/1", true},
      {s3wire::S3Op::delete_objects, "ckpt", "", true},
      {s3wire::S3Op::delete_objects, "other", "", false},
      {s3wire::S3Op::head_bucket, "data", "", true},
      {s3wire::S3Op::get_bucket_location, "out", "", true},
      {s3wire::S3Op::head_bucket, "other", "", false},
      {s3wire::S3Op::list_buckets, "", "", false},
      {s3wire::S3Op::create_bucket, "out", "", false},
      {s3wire::S3Op::delete_bucket, "out", "", false},
      {s3wire::S3Op::get_bucket_acl, "data", "", false},
      {s3wire::S3Op::get_bucket_setting, "data", "", false},
      {s3wire::S3Op::delete_bucket_setting, "data", "", false},
  };
  const AccessKey whole = key_of("AKIDALL");
  for (const auto& c : cases) {
    CAPTURE(static_cast<int>(c.op));
    CAPTURE(c.bucket);
    CAPTURE(c.key);
    CHECK(allowed(job, c.op, c.bucket, c.key, {}) == c.may);
    CHECK(allowed(whole, c.op, c.bucket, c.key, {}));
  }
  const struct {
    const char* service;
    const char* operation;
    bool may;
  } calls[] = {
      {"sts", "GetCallerIdentity", true},
      {"sts", "AssumeRole", false},
      {"sts", "", false},
      {"", "GetCallerIdentity", false},
      {"iam", "GetCallerIdentity", false},
      {"iam", "GetRole", false},
      {"ec2", "DescribeSubnets", false},
      {"cloudformation", "CreateStack", false},
      {"cloudformation", "DescribeStacks", false},
      {"ecr", "GetAuthorizationToken", true},
      {"ecr", "CreateRepository", false},
      {"ecr", "DescribeRepositories", false},
      {"ecr", "BatchGetImage", false},
      {"logs", "GetLogEvents", false},
      {"monitoring", "GetMetricData", false},
      {"sagemaker", "CreateTrainingJob", false},
      {"sagemaker", "ListTrainingJobs", false},
  };
  for (const auto& c : calls) {
    CAPTURE(c.service);
    CAPTURE(c.operation);
    CHECK(allowed_operation(job, c.service, c.operation) == c.may);
    CHECK(allowed_operation(whole, c.service, c.operation));
  }
}

TEST_CASE("keyring: a listing shows only what its key may reach") {
  AccessKey job = key_of("AKIDJOB");
  job.policy = {.limited = true,
                .reads = {{"b", "folder/", Extent::folder},
                          {"b", "one.csv", Extent::object},
                          {"b", "train", Extent::start},
                          {"all", "", Extent::folder}},
                .writes = {{"b", "out/", Extent::folder}}};
  const struct {
    s3wire::S3Op op;
    const char* bucket;
    const char* prefix;
    View there;      ///< Where the object or the folder "train" is there.
    View not_there;  ///< Where it is not.
  } cases[] = {
      {s3wire::S3Op::list_objects_v2, "b", "folder/", View::all, View::all},
      {s3wire::S3Op::list_objects, "b", "folder/x", View::all, View::all},
      {s3wire::S3Op::list_objects_v2, "b", "folder", View::named, View::named},
      {s3wire::S3Op::list_object_versions, "b", "folde", View::nothing, View::nothing},
      {s3wire::S3Op::list_objects_v2, "b", "folders", View::nothing, View::nothing},
      {s3wire::S3Op::list_objects_v2, "b", "", View::nothing, View::nothing},
      {s3wire::S3Op::list_objects_v2, "b", "one.csv", View::nothing, View::nothing},
      {s3wire::S3Op::list_objects_v2, "b", "train/", View::all, View::all},
      {s3wire::S3Op::list_objects_v2, "b", "train", View::named, View::all},
      {s3wire::S3Op::list_objects_v2, "b", "train2", View::nothing, View::all},
      {s3wire::S3Op::list_objects_v2, "b", "trai", View::nothing, View::nothing},
      {s3wire::S3Op::list_objects_v2, "all", "", View::all, View::all},
      {s3wire::S3Op::list_objects_v2, "other", "folder/", View::nothing, View::nothing},
      {s3wire::S3Op::list_objects_v2, "b", "out/", View::nothing, View::nothing},
      {s3wire::S3Op::list_multipart_uploads, "b", "out/", View::all, View::all},
      {s3wire::S3Op::list_multipart_uploads, "b", "out", View::nothing, View::nothing},
      {s3wire::S3Op::list_multipart_uploads, "b", "", View::nothing, View::nothing},
      {s3wire::S3Op::list_multipart_uploads, "b", "folder/", View::nothing, View::nothing},
  };
  const AccessKey whole = key_of("AKIDALL");
  for (const auto& c : cases) {
    CAPTURE(c.prefix);
    CHECK(is_listing(c.op));
    CHECK(view_of(job, c.op, c.bucket, c.prefix, [](const Place&) { return true; }) == c.there);
    CHECK(view_of(job, c.op, c.bucket, c.prefix, [](const Place&) { return false; }) ==
          c.not_there);
    CHECK(view_of(whole, c.op, c.bucket, c.prefix, {}) == View::all);
  }
}

TEST_CASE("keyring: the start of keys is a right where no object and no folder has that name") {
  AccessKey job = key_of("AKIDJOB");
  job.policy = {.limited = true, .reads = {{"b", "train", Extent::start}}, .writes = {}};
  const struct {
    const char* key;
    bool there;
    bool not_there;
  } cases[] = {{"train", true, true},      {"train/a", true, true}, {"train2/a", false, true},
               {"train.csv", false, true}, {"trai", false, false},  {"", false, false}};
  for (const auto& c : cases) {
    CAPTURE(c.key);
    const auto with = [&](bool there) {
      return allowed(job, s3wire::S3Op::get_object, "b", c.key,
                     [=](const Place&) { return there; });
    };
    CHECK(with(true) == c.there);
    CHECK(with(false) == c.not_there);
    CHECK(!allowed(job, s3wire::S3Op::put_object, "b", c.key, [](const Place&) { return false; }));
  }
}

TEST_CASE("keyring: the place that a URL names") {
  using Places = std::vector<Place>;
  CHECK(places_named({"b", "a/b"}) ==
        Places{{"b", "a/b", Extent::object}, {"b", "a/b/", Extent::folder}});
  CHECK(places_named({"b", "a/"}) == Places{{"b", "a/", Extent::folder}});
  CHECK(places_named({"b", ""}) == Places{{"b", "", Extent::folder}});
}
