#include "host/code/codeartifact.h"

#include <doctest/doctest.h>

using namespace muster;
using namespace muster::code;

TEST_CASE("codeartifact: parts of an ARN, good and bad") {
  CHECK(*parse_codeartifact_arn("arn:aws:codeartifact:us-west-2:12:repository/dom/a/b") ==
        CodeArtifactArn{"us-west-2", "12", "dom", "a/b"});
  for (const char* bad :
       {"", "arn:aws:s3:::x", "arn:aws:codeartifact:us-west-2:12:repository/dom",
        "arn:aws:codeartifact:us-west-2:12:repository/dom/",
        "arn:aws:codeartifact::12:repository/d/r", "arn:aws:codeartifact:us-west-2:12:domain/d/r",
        "arn:aws:codeartifact:a.b/:12:repository/d/r",
        "arn:aws:codeartifact:us-west-2:12:repository//r"}) {
    CAPTURE(bad);
    const Result<CodeArtifactArn> got = parse_codeartifact_arn(bad);
    REQUIRE(!got);
    CHECK(got.error().text.starts_with("CA_REPOSITORY_ARN: invalid"));
  }
}

TEST_CASE("codeartifact: the index URL has the token and ends in simple/") {
  CHECK(*codeartifact_index_url("https://d.example/pypi/repo/", "repo", "tok") ==
        "https://aws:tok@d.example/pypi/repo/simple/");
  CHECK(*codeartifact_index_url("https://d.example/pypi/repo", "repo", "tok") ==
        "https://aws:tok@d.example/pypi/repo/simple/");
  CHECK(*codeartifact_index_url("https://d.example/pypi/x/", "repo", "tok") ==
        "https://aws:tok@d.example/pypi/x/");
  CHECK(!codeartifact_index_url("http://d.example/", "repo", "tok"));
}
