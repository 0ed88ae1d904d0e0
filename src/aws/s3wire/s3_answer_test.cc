#include "aws/s3wire/s3_answer.h"

#include <doctest/doctest.h>

#include <pugixml.hpp>

#include "aws/xml.h"
#include "base/text.h"

using namespace muster;
using namespace muster::s3wire;

namespace {

/// The text of an element by its path from the root: "Contents/Key". "-" if it is not there.
class Answer {
 public:
  explicit Answer(const std::string& xml) {
    CHECK_MESSAGE(document_.load_string(xml.c_str(), pugi::parse_full), xml);
    root_ = document_.document_element();
  }
  std::string root() const { return root_.name(); }
  std::string text(const char* path) const {
    const pugi::xml_node node = root_.first_element_by_path(path);
    return node ? node.text().get() : "-";
  }
  int count(const char* name) const {
    int count = 0;
    for ([[maybe_unused]] const pugi::xml_node& node : root_.children(name)) ++count;
    return count;
  }

 private:
  pugi::xml_document document_;
  pugi::xml_node root_;
};

ListedObject listed(std::string key) {
  ListedObject object;
  object.key = std::move(key);
  object.etag = "e-2";
  object.size = 7;
  object.modified = UnixMillis(784111777123);
  object.checksum = Checksum::crc64nvme;
  object.whole_checksum = true;
  return object;
}

S3Operation asked_for(S3Op op) {
  S3Operation asked;
  asked.op = op;
  asked.bucket = "bucket";
  asked.key = "a&b";
  return asked;
}

}  // namespace

TEST_CASE("s3_answer: an error") {
  aws::Refusal error = aws::s3_refusal("NoSuchKey");
  error.more = {{"Key", "<&>"}};
  const Answer answer(error_xml(error, "/b/<&>\x01", "42"));
  CHECK(answer.root() == "Error");
  CHECK(answer.text("Code") == "NoSuchKey");
  CHECK(answer.text("Message") == "The specified key does not exist.");
  CHECK(answer.text("Key") == "<&>");
  CHECK(answer.text("Resource") == "/b/<&>\xef\xbf\xbd");
  CHECK(answer.text("RequestId") == "42");
  CHECK(error.status == 404);
  // The client of our own reads it too.
  CHECK(aws::s3_failure(error_xml(error, "/", "")).code == "NoSuchKey");
  CHECK(aws::s3_refusal("NoSuchKey", "x").message == "x");
}

TEST_CASE("s3_answer: any bytes make well-formed XML") {
  for (int c = 1; c < 256; ++c) {
    CAPTURE(c);
    Listing listing;
    listing.objects.push_back(listed("a" + std::string(1, static_cast<char>(c)) + "b"));
    const Answer answer(listing_xml(asked_for(S3Op::list_objects), listing));
    const std::string key = answer.text("Contents/Key");
    CHECK(is_utf8(key));
    CHECK(key.size() >= 3);
    if ((c >= ' ' && c < 0x80) || c == '\t' || c == '\n' || c == '\r')
      CHECK(key == listed(key).key);
  }
  Listing listing;
  listing.objects.push_back(
      listed("a\xef\xbf\xbf"
             "b\r\n\t"));
  CHECK(Answer(listing_xml(asked_for(S3Op::list_objects), listing)).text("Contents/Key") ==
        "a\xef\xbf\xbd"
        "b\r\n\t");
}

TEST_CASE("s3_answer: pages of keys, in each version") {
  Listing listing;
  listing.objects = {listed("a b+c/&")};
  listing.common_prefixes = {"x y/"};
  listing.truncated = true;
  listing.next = "x y/";
  S3Operation asked = asked_for(S3Op::list_objects);
  asked.list.prefix = "p ";
  asked.list.delimiter = "/";
  asked.list.marker = "m ";
  asked.list.max = 2;
  const Answer first(listing_xml(asked, listing));
  CHECK(first.root() == "ListBucketResult");
  CHECK(first.text("Name") == "bucket");
  CHECK(first.text("Prefix") == "p ");
  CHECK(first.text("Marker") == "m ");
  CHECK(first.text("NextMarker") == "x y/");
  CHECK(first.text("MaxKeys") == "2");
  CHECK(first.text("IsTruncated") == "true");
  CHECK(first.text("Contents/Key") == "a b+c/&");
  CHECK(first.text("Contents/ETag") == "\"e-2\"");
  CHECK(first.text("Contents/Size") == "7");
  CHECK(first.text("Contents/LastModified") == "1994-11-06T08:49:37.123Z");
  CHECK(first.text("Contents/ChecksumAlgorithm") == "CRC64NVME");
  CHECK(first.text("Contents/Owner/ID") == "muster");
  CHECK(first.text("CommonPrefixes/Prefix") == "x y/");
  CHECK(first.text("EncodingType") == "-");

  asked.list.url_encoding = true;
  const Answer encoded(listing_xml(asked, listing));
  CHECK(encoded.text("EncodingType") == "url");
  CHECK(encoded.text("Contents/Key") == "a%20b%2Bc/%26");
  CHECK(encoded.text("CommonPrefixes/Prefix") == "x%20y/");
  CHECK(encoded.text("NextMarker") == "x%20y/");
  CHECK(encoded.text("Prefix") == "p%20");

  asked.op = S3Op::list_objects_v2;
  asked.list.has_marker = true;
  asked.list.has_continuation = true;
  asked.list.continuation = "token";
  const Answer second(listing_xml(asked, listing));
  CHECK(second.text("KeyCount") == "2");
  CHECK(second.text("StartAfter") == "m%20");
  CHECK(second.text("ContinuationToken") == "token");
  CHECK(continued_at(second.text("NextContinuationToken")) == "x y/");
  CHECK(second.text("Contents/Owner/ID") == "-");
  CHECK(second.text("Marker") == "-");

  asked.op = S3Op::list_object_versions;
  const Answer versions(listing_xml(asked, listing));
  CHECK(versions.root() == "ListVersionsResult");
  CHECK(versions.text("Version/VersionId") == "null");
  CHECK(versions.text("Version/IsLatest") == "true");
  CHECK(versions.text("NextKeyMarker") == "x%20y/");
}

TEST_CASE("s3_answer: buckets and what is said of one") {
  const std::vector<BucketEntry> all = {
      {"one", UnixMillis(0)}, {"other", UnixMillis(0)}, {"two", UnixMillis(0)}};
  const Answer buckets(list_buckets_xml({}, all));
  CHECK(buckets.text("Buckets/Bucket/Name") == "one");
  CHECK(buckets.text("Buckets/Bucket/CreationDate") == "1970-01-01T00:00:00.000Z");
  CHECK(buckets.text("ContinuationToken") == "-");
  ListQuery page;
  page.prefix = "o";
  page.max = 1;
  const Answer first(list_buckets_xml(page, all));
  CHECK(first.text("Buckets/Bucket/Name") == "one");
  CHECK(first.text("ContinuationToken") == continuation_token("one"));
  page.after = "one";
  const Answer second(list_buckets_xml(page, all));
  CHECK(second.text("Buckets/Bucket/Name") == "other");
  CHECK(second.text("ContinuationToken") == "-");
  CHECK(location_xml("us-east-1") == location_xml(""));
  CHECK(location_xml("eu-west-1").find(">eu-west-1</LocationConstraint>") != std::string::npos);
  CHECK(Answer(versioning_xml()).root() == "VersioningConfiguration");
  CHECK(Answer(acl_xml()).text("AccessControlList/Grant/Permission") == "FULL_CONTROL");
}

TEST_CASE("s3_answer: uploads in parts") {
  const Answer created(create_upload_xml("bucket", "a&b", "id"));
  CHECK(created.text("Key") == "a&b");
  CHECK(created.text("UploadId") == "id");
  const Answer complete(complete_upload_xml("http://h/b/a&b", "b", "a&b", "e-3",
                                            KeptChecksum{Checksum::crc32, "AAAAAQ==-3", false}));
  CHECK(complete.text("Location") == "http://h/b/a&b");
  CHECK(complete.text("ETag") == "\"e-3\"");
  CHECK(complete.text("ChecksumCRC32") == "AAAAAQ==-3");
  CHECK(complete.text("ChecksumType") == "COMPOSITE");
  S3Operation asked = asked_for(S3Op::list_parts);
  asked.upload_id = "id";
  asked.list.max = 2;
  const GivenChecksum sum{Checksum::crc32, std::string("\0\0\0\1", 4)};
  PartsPage page;
  page.parts = {{3, "c", 5, {}, sum}, {4, "d", 5, {}, {}}, {9, "i", 5, {}, {}}};
  const Answer parts(list_parts_xml(asked, page));
  CHECK(parts.count("Part") == 2);
  CHECK(parts.text("Part/PartNumber") == "3");
  CHECK(parts.text("Part/ChecksumCRC32") == "AAAAAQ==");
  CHECK(parts.text("IsTruncated") == "true");
  CHECK(parts.text("NextPartNumberMarker") == "4");
  CHECK(Answer(copy_object_xml("e", {}, sum)).text("ChecksumCRC32") == "AAAAAQ==");
  CHECK(Answer(copy_part_xml("e", {}, {})).text("ETag") == "\"e\"");
}

TEST_CASE("s3_answer: uploads under way, page by page") {
  const std::vector<UploadEntry> uploads = {{"b", "2", {}},   {"a", "9", {}},   {"b", "1", {}},
                                            {"c/x", "1", {}}, {"c/y", "1", {}}, {"d", "1", {}}};
  S3Operation asked = asked_for(S3Op::list_multipart_uploads);
  asked.list.delimiter = "/";
  asked.list.max = 2;
  std::string seen;
  for (int pages = 0; pages < 10; ++pages) {
    const Answer page(list_uploads_xml(asked, uploads));
    seen += page.text("Upload/Key") + page.text("Upload/UploadId") +
            page.text("CommonPrefixes/Prefix") + " ";
    if (page.text("IsTruncated") == "false") break;
    asked.list.has_marker = true;
    asked.list.marker = page.text("NextKeyMarker");
    asked.list.continuation = page.text("NextUploadIdMarker");
    asked.list.has_continuation = !asked.list.continuation.empty();
  }
  CHECK(seen == "a9- b2c/ d1- ");
  asked = asked_for(S3Op::list_multipart_uploads);
  asked.list.prefix = "c";
  CHECK(Answer(list_uploads_xml(asked, uploads)).count("Upload") == 2);
}

TEST_CASE("s3_answer: the list of deleted objects") {
  const std::vector<Deleted> deleted = {
      {"a", "", {}}, {"b&", "null", {}}, {"c", "", aws::s3_refusal("AccessDenied")}};
  const Answer all(delete_xml(deleted, false));
  CHECK(all.count("Deleted") == 2);
  CHECK(all.text("Deleted/Key") == "a");
  CHECK(all.text("Error/Code") == "AccessDenied");
  const Answer quiet(delete_xml(deleted, true));
  CHECK(quiet.count("Deleted") == 0);
  CHECK(quiet.count("Error") == 1);
}

TEST_CASE("s3_answer: tags, attributes, headers") {
  CHECK(Answer(tagging_xml({{"a&", "b"}})).text("TagSet/Tag/Key") == "a&");
  S3Operation asked = asked_for(S3Op::get_object_attributes);
  asked.attributes = {"ETag", "Checksum", "ObjectSize", "ObjectParts"};
  ObjectAttributes object{"e", 7, KeptChecksum{Checksum::sha1, "x", true}};
  object.parts.resize(3);
  for (int i = 0; i < 3; ++i) object.parts[static_cast<std::size_t>(i)].number = i + 1;
  const Answer answer(attributes_xml(asked, object));
  CHECK(answer.text("ETag") == "e");
  CHECK(answer.text("Checksum/ChecksumSHA1") == "x");
  CHECK(answer.text("ObjectParts/PartsCount") == "3");
  CHECK(answer.text("ObjectParts/IsTruncated") == "false");
  CHECK(answer.text("ObjectParts/NextPartNumberMarker") == "-");
  asked.list.part_marker = 1;
  asked.list.max = 1;
  const Answer page(attributes_xml(asked, object));
  CHECK(page.text("ObjectParts/Part/PartNumber") == "2");
  CHECK(page.text("ObjectParts/IsTruncated") == "true");
  CHECK(page.text("ObjectParts/NextPartNumberMarker") == "2");
  CHECK(answer.text("ObjectSize") == "7");
  CHECK(answer.text("StorageClass") == "-");
  const ObjectMetadata metadata{
      {{"content-type", "a/b"}, {"cache-control", "no"}}, {{"x", "1"}}, {{"t", "1"}}};
  CHECK(metadata_headers(metadata, {{"content-type", "c/d"}, {"expires", "0"}}) ==
        aws::Pairs{{"cache-control", "no"},
                   {"content-type", "c/d"},
                   {"expires", "0"},
                   {"x-amz-meta-x", "1"},
                   {"x-amz-tagging-count", "1"}});
  CHECK(metadata_headers({}, {}) == aws::Pairs{{"content-type", "binary/octet-stream"}});
  CHECK(checksum_named("crc64nvme") == Checksum::crc64nvme);
  CHECK(checksum_named("x-amz-checksum-SHA256") == Checksum::sha256);
  CHECK(!checksum_named("MD5"));
  CHECK(!checksum_named(""));
}
