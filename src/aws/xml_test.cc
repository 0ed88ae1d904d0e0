#include "aws/xml.h"

#include <doctest/doctest.h>

using namespace muster;
using namespace muster::aws;

TEST_CASE("xml: texts of plain elements, and nothing of what is broken") {
  struct {
    const char* xml;
    const char* name;
    std::optional<std::string> want;
  } const cases[] = {
      {"<Error><Code>NoSuchKey</Code></Error>", "Code", "NoSuchKey"},
      {"<R xmlns=\"x\"><UploadId>a&amp;b&lt;&gt;&quot;&apos;</UploadId></R>", "UploadId",
       "a&b<>\"'"},
      {"<a>&#65;&#x42;&#x20AC;</a>", "a", "AB\xe2\x82\xac"},
      {"<a>&nope; &</a>", "a", "&nope; &"},
      {"<a>&#xD800;</a>", "a", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
      {"<CodeX>1</CodeX><Code>2</Code>", "Code", "2"},
      {"<Code attribute=\"1\">2</Code>", "Code", "2"},
      {"<a></a>", "a", ""},
      {"<a/>", "a", ""},
      {"<a b='1'/>", "a", ""},
      {"<a>1", "a", std::nullopt},
      {"<a", "a", std::nullopt},
      {"<a><b>1</b></a>", "a", std::nullopt},
      {"", "a", std::nullopt},
  };
  for (const auto& c : cases) {
    CAPTURE(c.xml);
    CHECK(xml_text(c.xml, c.name) == c.want);
  }
  CHECK(xml_escaped("\"a\"<&>") == "&quot;a&quot;&lt;&amp;&gt;");
  CHECK(xml_escaped("\r\n\t\x01\xff") == "&#13;\n\t\xef\xbf\xbd\xef\xbf\xbd");
  CHECK(xml_escaped("\xef\xbf\xbe") == "\xef\xbf\xbd");
}

TEST_CASE("xml: a failure's code and message fit in a line") {
  const S3Failure failure = s3_failure(
      "<?xml version=\"1.0\"?>\n<Error><Code>SlowDown</Code><Message>Please\nreduce\x01 it"
      "</Message><Region>eu-west-1</Region></Error>");
  CHECK(failure.code == "SlowDown");
  CHECK(failure.message == "Please reduce  it");
  CHECK(failure.region == "eu-west-1");
  CHECK(s3_failure("<html>502 Bad Gateway</html>").code.empty());
  CHECK(s3_failure("<Error><Message>" + std::string(5000, 'm') + "</Message></Error>")
            .message.size() <= 300);
}
