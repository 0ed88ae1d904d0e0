#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "aws/access/verify.h"
#include "aws/sign.h"
#include "base/text.h"

// AWS's test suite for Signature Version 4, as botocore's sources carry it. `make test` fetches it
// to build/sigv4-vectors; without it this test says that it was left out.

using namespace muster;
using namespace muster::access;

namespace {

namespace fs = std::filesystem;

constexpr UnixMillis then{1440938160000};  // 2015-08-30 12:36:00

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Request {
  std::string method;
  std::string target;
  aws::Pairs headers;
  std::string body;
};

/// The suite's texts are no HTTP: lines end in "\n", a target may hold spaces and UTF-8 as it is,
/// and a header may go on in lines that begin with a space.
Request parsed(const std::string& text) {
  Request request;
  std::string_view rest = text;
  const auto line = [&] {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view one = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return one;
  };
  const std::string_view first = line();
  const std::size_t space = first.find(' ');
  request.method = first.substr(0, space);
  request.target = first.substr(space + 1, first.rfind(' ') - space - 1);
  while (!rest.empty()) {
    const std::string_view header = line();
    if (header.empty()) break;
    if (header.front() == ' ') {
      (request.headers.back().second += ' ') += header;
      continue;
    }
    const std::size_t colon = header.find(':');
    request.headers.emplace_back(header.substr(0, colon), header.substr(colon + 1));
  }
  request.body = rest;
  return request;
}

std::string header_of(const Request& request, std::string_view name) {
  for (const auto& [key, value] : request.headers)
    if (same_letters(key, name)) return trim(value);
  return "";
}

/// The code of the refusal; empty if the request is its key's.
std::string code_of(const Request& request) {
  KeyRing ring;
  AccessKey key{.id = "AKIDEXAMPLE",
                .secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
                .session_token = header_of(request, "x-amz-security-token"),
                .expires = std::nullopt,
                .policy = {},
                .owner = ""};
  REQUIRE(ring.add(key));
  Verifier verifier(ring);
  const std::vector<aws::HeaderView> views(request.headers.begin(), request.headers.end());
  const std::string hash = aws::sha256_hex(request.body);
  const auto got = verifier.verify({request.method, request.target, views},
                                   {.now = then, .service = "service", .body_sha256 = hash});
  if (got) return "";
  return answer_to(got.error(), Dialect::query).code;
}

}  // namespace

TEST_CASE("verify: AWS's test suite of signatures") {
  const fs::path folder = fs::path(MUSTER_SOURCE_DIR) / "build/sigv4-vectors";
  if (!fs::exists(folder / ".done")) {
    MESSAGE("left out: ", folder.string(), " is missing (`make build/sigv4-vectors/.done`)");
    return;
  }
  int vectors = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".req") continue;
    fs::path path = entry.path();
    CAPTURE(path.filename().string());
    Request request = parsed(content_of(path));
    const std::string authorization = trim(content_of(path.replace_extension(".authz")));
    const Request as_signed = parsed(content_of(path.replace_extension(".sreq")));
    // One vector's request lacks the token that its signature covers.
    if (authorization.find("x-amz-security-token") != std::string::npos &&
        header_of(request, "x-amz-security-token").empty())
      request.headers.emplace_back("X-Amz-Security-Token",
                                   header_of(as_signed, "x-amz-security-token"));
    request.headers.emplace_back("Authorization", authorization);
    CHECK(code_of(request) == "");
    request.body += "x";
    CHECK(code_of(request) == "SignatureDoesNotMatch");
    ++vectors;
  }
  CHECK(vectors >= 34);
}
