#include "aws/s3wire/s3_document.h"

#include <doctest/doctest.h>

using namespace muster;
using namespace muster::s3wire;

namespace {

template <class T>
std::string code_of(const Document<T>& document) {
  return document ? "" : document.error().code;
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

}  // namespace

TEST_CASE("s3_document: the list of objects to delete") {
  const Document<DeleteAsked> got = read_delete(
      "<?xml version=\"1.0\"?><Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\n"
      " <Object><Key>a &amp; b&#x2F;\xc3\xa4</Key></Object>"
      " <Object><Key> </Key><VersionId>null</VersionId><ETag>&quot;e&quot;</ETag>"
      "<Size>5</Size><LastModifiedTime>Sun, 06 Nov 1994 08:49:37 GMT</LastModifiedTime></Object>"
      " <Object><Key><![CDATA[<x>]]>y</Key></Object><Quiet>true</Quiet></Delete>");
  REQUIRE(code_of(got) == "");
  const DeleteAsked& asked = *got;
  REQUIRE(asked.objects.size() == 3);
  CHECK(asked.quiet);
  CHECK(asked.objects[0].key == "a & b/\xc3\xa4");
  CHECK(asked.objects[1].key == " ");
  CHECK(asked.objects[1].version_id == "null");
  CHECK(asked.objects[1].etag == "e");
  CHECK(asked.objects[1].size == 5);
  CHECK(asked.objects[1].modified == UnixMillis(784111777000));
  CHECK(asked.objects[2].key == "<x>y");

  const std::string object = "<Object><Key>a</Key></Object>";
  CHECK(code_of(read_delete("<Delete>" + repeated(object, 1000) + "</Delete>")) == "");
  const struct {
    std::string xml;
    const char* code;
  } bad[] = {
      {"", "MissingRequestBodyError"},
      {"<Delete>", "MalformedXML"},
      {"<Delete/>", "MalformedXML"},
      {"<Other>" + object + "</Other>", "MalformedXML"},
      {"<Delete>" + object + "</Delete><Delete/>", "MalformedXML"},
      {"<!DOCTYPE a [<!ENTITY b \"c\">]><Delete>" + object + "</Delete>", "MalformedXML"},
      {"<?php x?><Delete>" + object + "</Delete>", "MalformedXML"},
      {"<Delete>" + repeated(object, 1001) + "</Delete>", "MalformedXML"},
      {"<Delete><Object/></Delete>", "MalformedXML"},
      {"<Delete><Object><Key/></Object></Delete>", "MalformedXML"},
      {"<Delete><Object><Key><b>a</b></Key></Object></Delete>", "MalformedXML"},
      {"<Delete><Object><Key>a</Key><Size>x</Size></Object></Delete>", "MalformedXML"},
      {"<Delete><Object><Key>\xff</Key></Object></Delete>", "MalformedXML"},
      {std::string("<Delete><Object><Key>a\0</Key></Object></Delete>", 47), "MalformedXML"},
      {"<Delete><Object><Key>" + std::string(1025, 'k') + "</Key></Object></Delete>",
       "KeyTooLongError"},
      {std::string(document_bytes_max + 1, ' '), "MaxMessageLengthExceeded"},
  };
  for (const auto& c : bad) {
    CAPTURE(c.xml.substr(0, 100));
    CHECK(code_of(read_delete(c.xml)) == c.code);
  }
}

TEST_CASE("s3_document: nesting of any depth") {
  CHECK(code_of(read_delete(repeated("<Delete>", 400000))) == "MalformedXML");
  CHECK(code_of(read_delete(repeated("<a>", 500000) + repeated("</a>", 500000))) == "MalformedXML");
}

TEST_CASE("s3_document: the parts of an upload") {
  const auto complete = [](const std::string& inside) {
    return read_complete("<CompleteMultipartUpload>" + inside + "</CompleteMultipartUpload>");
  };
  const Document<std::vector<CompletePart>> got = complete(
      "<Part><PartNumber>1</PartNumber><ETag>\"abc\"</ETag>"
      "<ChecksumCRC32>AAAAAQ==</ChecksumCRC32></Part>"
      "<Part><ETag>def</ETag><PartNumber>10000</PartNumber></Part>");
  REQUIRE(code_of(got) == "");
  const auto& parts = *got;
  REQUIRE(parts.size() == 2);
  CHECK(parts[0].number == 1);
  CHECK(parts[0].etag == "abc");
  CHECK(parts[0].checksum == GivenChecksum{Checksum::crc32, std::string("\0\0\0\1", 4)});
  CHECK(parts[1].number == 10000);
  CHECK(!parts[1].checksum);
  const auto part = [](const std::string& number, const std::string& etag) {
    return "<Part><PartNumber>" + number + "</PartNumber><ETag>" + etag + "</ETag></Part>";
  };
  const struct {
    std::string inside;
    const char* code;
  } bad[] = {
      {"", "MalformedXML"},
      {part("2", "a") + part("1", "b"), "InvalidPartOrder"},
      {part("1", "a") + part("1", "a"), "InvalidPartOrder"},
      {part("0", "a"), "InvalidArgument"},
      {part("10001", "a"), "InvalidArgument"},
      {part("x", "a"), "InvalidArgument"},
      {part("1", ""), "MalformedXML"},
      {"<Part><ETag>a</ETag></Part>", "MalformedXML"},
      {"<Part><PartNumber>1</PartNumber><ETag>a</ETag><ChecksumSHA1>AA==</ChecksumSHA1></Part>",
       "InvalidPart"},
  };
  for (const auto& c : bad) {
    CAPTURE(c.inside);
    CHECK(code_of(complete(c.inside)) == c.code);
  }
  CHECK(code_of(read_complete("")) == "MalformedXML");
}

TEST_CASE("s3_document: where a bucket is to be") {
  const auto place = [](std::string_view xml) {
    const Document<std::string> got = read_create_bucket(xml);
    return got ? *got : code_of(got);
  };
  CHECK(place("") == "");
  CHECK(place("<CreateBucketConfiguration/>") == "");
  CHECK(place("<CreateBucketConfiguration><LocationConstraint>eu-west-1</LocationConstraint>"
              "</CreateBucketConfiguration>") == "eu-west-1");
  CHECK(place("<Other/>") == "MalformedXML");
  CHECK(place("nothing") == "MalformedXML");
}

TEST_CASE("s3_document: tags, in a body and in a header") {
  const auto tagging = [](const std::string& inside) {
    return read_tagging("<Tagging><TagSet>" + inside + "</TagSet></Tagging>");
  };
  const auto tag = [](const std::string& key, const std::string& value) {
    return "<Tag><Key>" + key + "</Key><Value>" + value + "</Value></Tag>";
  };
  const aws::Pairs want = {{"a", "1"}, {"b c", ""}};
  CHECK(*tagging(tag("a", "1") + tag("b c", "")) == want);
  CHECK(tagging("")->empty());
  CHECK(*read_tagging_header("a=1&b%20c=") == want);
  CHECK(*read_tagging_header("b+c&a=1") == want);
  CHECK(read_tagging_header("")->empty());
  std::string ten;
  for (int i = 0; i < 10; ++i) ten += tag("k" + std::to_string(i), "v");
  CHECK(code_of(tagging(ten)) == "");
  CHECK(code_of(tagging(tag(repeated("\xc3\xa4", 128), repeated("\xc3\xa4", 256)))) == "");
  const struct {
    std::string inside;
    const char* code;
  } bad[] = {
      {ten + tag("k", "v"), "InvalidTag"},
      {tag("a", "1") + tag("a", "2"), "InvalidTag"},
      {tag("", "1"), "InvalidTag"},
      {tag(std::string(129, 'k'), ""), "InvalidTag"},
      {tag("a", std::string(257, 'k')), "InvalidTag"},
      {"<Tag><Value>a</Value></Tag>", "MalformedXML"},
  };
  for (const auto& c : bad) {
    CAPTURE(c.inside);
    CHECK(code_of(tagging(c.inside)) == c.code);
  }
  CHECK(code_of(read_tagging("<Tagging/>")) == "MalformedXML");
  CHECK(code_of(read_tagging_header("a=%")) == "InvalidArgument");
  CHECK(code_of(read_tagging_header("a=1&a=2")) == "InvalidTag");
  CHECK(code_of(read_tagging_header("%ff=1")) == "InvalidTag");
}
