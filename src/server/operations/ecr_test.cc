#include "server/operations/ecr.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/fd.h"
#include "net/loop/tasks.h"

namespace muster::server {
namespace {

using std::chrono::hours;

const UnixMillis now = hours(1000);
const std::string manifest_type = "application/vnd.oci.image.manifest.v1+json";
const std::string manifest = R"({"config":{"digest":"sha256:)" + std::string(64, 'c') +
                             R"(","size":5},"layers":[{"digest":"sha256:)" + std::string(64, 'd') +
                             R"(","size":7}]})";

struct Place {
  Place() : folder(*make_private_folder("/tmp", "muster-ecr-")) {}
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() { std::filesystem::remove_all(folder); }

  LastListing last;
  api::Answer ask(const std::string& operation, Json input) {
    image::Store store = *image::Store::open(folder);
    return answer_ecr(store, last, {"ecr", operation, std::move(input), "AK", ""},
                      {"eu-west-1", "123456789012"}, "lab:7700", now);
  }
  std::string code(const std::string& operation, Json input) {
    const api::Answer answer = ask(operation, std::move(input));
    return answer ? "" : answer.error().code;
  }
  /// A manifest with a tag, none if that is empty.
  void push(const std::string& name, const std::string& bytes, const std::string& tag,
            const std::string& type = manifest_type) {
    image::Store store = *image::Store::open(folder);
    const std::string digest = image::digest_of(bytes);
    REQUIRE(store.put_blob(digest, bytes));
    REQUIRE(store.repositories().change(
        name, [&](std::optional<image::Repository>& repository) -> Result<void> {
          repository->manifests[digest] = {type, bytes.size(), now};
          if (!tag.empty()) repository->tags[tag] = digest;
          return {};
        }));
  }

  const std::string folder;
};

TEST_CASE("ecr: repositories are created, listed page by page, and deleted") {
  Place place;
  const api::Answer made = place.ask("CreateRepository", {{"repositoryName", "team/box"}});
  REQUIRE(made);
  CHECK(made->at("repository").at("repositoryUri") == "lab:7700/team/box");
  CHECK(made->at("repository").at("repositoryArn") ==
        "arn:aws:ecr:eu-west-1:123456789012:repository/team/box");
  CHECK(made->at("repository").at("createdAt") == 3'600'000.0);
  CHECK(place.code("CreateRepository", {{"repositoryName", "team/box"}}) ==
        "RepositoryAlreadyExistsException");
  CHECK(place.code("CreateRepository", {{"repositoryName", std::string(201, 'a')}}) ==
        "InvalidParameterException");
  const Json excluding{{"repositoryName", "bb"},
                       {"imageTagMutability", "IMMUTABLE_WITH_EXCLUSION"}};
  CHECK(place.code("CreateRepository", excluding) == "InvalidParameterException");
  const Json fixed{{"repositoryName", "another"}, {"imageTagMutability", "IMMUTABLE"}};
  CHECK(place.ask("CreateRepository", fixed)->at("repository").at("imageTagMutability") ==
        "IMMUTABLE");

  const Json first = *place.ask("DescribeRepositories", {{"maxResults", 1}});
  CHECK(first.at("repositories")[0].at("repositoryName") == "another");
  const Json rest = *place.ask("DescribeRepositories", {{"nextToken", first.at("nextToken")}});
  CHECK(rest.at("repositories")[0].at("repositoryName") == "team/box");
  CHECK(!rest.contains("nextToken"));
  CHECK(place.code("DescribeRepositories", {{"nextToken", "x"}}) == "InvalidParameterException");
  CHECK(place.code("DescribeRepositories", {{"repositoryNames", {"another", "none"}}}) ==
        "RepositoryNotFoundException");
  CHECK(place.code("DescribeRepositories", {{"repositoryNames", {"../another"}}}) ==
        "RepositoryNotFoundException");
  CHECK(place.code("DescribeRepositories", {{"registryId", "999999999999"}}) ==
        "InvalidParameterException");

  place.push("team/box", manifest, "v1");
  CHECK(place.code("DeleteRepository", {{"repositoryName", "team/box"}}) ==
        "RepositoryNotEmptyException");
  CHECK(place.ask("DeleteRepository", {{"repositoryName", "team/box"}, {"force", true}}));
  CHECK(place.code("DeleteRepository", {{"repositoryName", "team/box"}}) ==
        "RepositoryNotFoundException");
  CHECK(place.code("PutImage", {{"repositoryName", "another"}}) == "UnknownOperationException");
}

TEST_CASE("ecr: images with their tags, sizes and manifests") {
  Place place;
  REQUIRE(place.ask("CreateRepository", {{"repositoryName", "box"}}));
  place.push("box", manifest, "v1");
  place.push("box", manifest, "v2");
  place.push("box", manifest + " ", "");
  const std::string digest = image::digest_of(manifest);

  const Json tagged{{"repositoryName", "box"}, {"filter", {{"tagStatus", "TAGGED"}}}};
  const Json details = place.ask("DescribeImages", tagged)->at("imageDetails");
  REQUIRE(details.size() == 1);
  CHECK(details[0].at("imageTags") == Json{"v1", "v2"});
  CHECK(details[0].at("imageSizeInBytes") == 12);
  CHECK(details[0].at("imageDigest") == digest);
  CHECK(place.ask("ListImages", tagged)->at("imageIds").size() == 2);
  const Json untagged{{"repositoryName", "box"}, {"filter", {{"tagStatus", "UNTAGGED"}}}};
  CHECK(place.ask("ListImages", untagged)->at("imageIds") ==
        Json::array({{{"imageDigest", image::digest_of(manifest + " ")}}}));
  CHECK(place.ask("ListImages", {{"repositoryName", "box"}})->at("imageIds").size() == 3);

  const Json ids = Json::array({{{"imageTag", "v1"}}, {{"imageTag", "v9"}}});
  const Json got = *place.ask("BatchGetImage", {{"repositoryName", "box"}, {"imageIds", ids}});
  CHECK(got.at("images")[0].at("imageManifest") == manifest);
  CHECK(got.at("failures")[0].at("imageId") == ids[1]);
  CHECK(place.code("DescribeImages", {{"repositoryName", "box"}, {"imageIds", ids}}) ==
        "ImageNotFoundException");
  CHECK(place.code("DescribeImages", {{"repositoryName", "none"}}) ==
        "RepositoryNotFoundException");
}

TEST_CASE("ecr: images are deleted by tag and by digest") {
  Place place;
  REQUIRE(place.ask("CreateRepository", {{"repositoryName", "box"}}));
  const std::string other = manifest + " ";
  const std::string digest = image::digest_of(manifest);
  place.push("box", manifest, "a");
  place.push("box", manifest, "b");
  place.push("box", other, "c");
  const auto ask = [&](const Json& ids) {
    const api::Answer answer =
        place.ask("BatchDeleteImage", {{"repositoryName", "box"}, {"imageIds", ids}});
    REQUIRE(answer);
    return *answer;
  };
  const auto left = [&] {
    return place.ask("ListImages", {{"repositoryName", "box"}})->at("imageIds");
  };
  const struct {
    Json id;
    const char* code;
  } bad[] = {{Json::object(), "MissingDigestAndTag"},
             {{{"imageTag", "no"}}, "ImageNotFound"},
             {{{"imageDigest", "sha256:" + std::string(64, '0')}}, "ImageNotFound"},
             {{{"imageTag", "c"}, {"imageDigest", digest}}, "ImageTagDoesNotMatchDigest"}};
  for (const auto& c : bad) {
    const Json answer = ask(Json::array({c.id}));
    CHECK(answer.at("imageIds").empty());
    CHECK(answer.at("failures")[0].at("failureCode") == c.code);
    CHECK(answer.at("failures")[0].at("imageId") == c.id);
  }
  CHECK(left().size() == 3);
  CHECK(ask({{{"imageTag", "a"}}}).at("imageIds") ==
        Json::array({{{"imageDigest", digest}, {"imageTag", "a"}}}));
  CHECK(place.ask("DescribeImages", {{"repositoryName", "box"}})->at("imageDetails").size() == 2);
  ask({{{"imageTag", "b"}, {"imageDigest", digest}}});  // The last tag takes the image.
  CHECK(place.ask("DescribeImages", {{"repositoryName", "box"}})->at("imageDetails").size() == 1);
  const Json answer = ask({{{"imageDigest", image::digest_of(other)}}, {{"imageTag", "a"}}});
  CHECK(answer.at("imageIds") ==
        Json::array({{{"imageDigest", image::digest_of(other)}, {"imageTag", "c"}}}));
  CHECK(answer.at("failures").size() == 1);
  CHECK(left().empty());
  CHECK(place.code("BatchDeleteImage", {{"repositoryName", "no"}, {"imageIds", Json::array()}}) ==
        "RepositoryNotFoundException");
}

TEST_CASE("ecr: an image of an index is removed after the index") {
  Place place;
  REQUIRE(place.ask("CreateRepository", {{"repositoryName", "box"}}));
  const std::string digest = image::digest_of(manifest);
  const std::string index =
      R"({"mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [{"mediaType": ")" +
      manifest_type + R"(", "size": )" + std::to_string(manifest.size()) + R"(, "digest": ")" +
      digest + R"(", "platform": {"os": "linux", "architecture": "amd64"}}]})";
  place.push("box", manifest, "one");
  place.push("box", index, "all", "application/vnd.oci.image.index.v1+json");
  const auto ask = [&](const Json& id) {
    return *place.ask("BatchDeleteImage",
                      {{"repositoryName", "box"}, {"imageIds", Json::array({id})}});
  };
  const Json refused = ask({{"imageDigest", digest}}).at("failures")[0];
  CHECK(refused.at("failureCode") == "ImageReferencedByManifestList");
  CHECK(refused.at("failureReason") ==
        "Requested image referenced by manifest list: [" + image::digest_of(index) + "]");
  ask({{"imageTag", "one"}});  // The tag goes, the index keeps the image.
  CHECK(ask({{"imageDigest", digest}}).at("failures").size() == 1);
  CHECK(ask({{"imageTag", "all"}}).at("failures").empty());
  CHECK(ask({{"imageDigest", digest}}).at("failures").empty());
}

TEST_CASE("ecr: a repository has no tags and no lifecycle policy") {
  Place place;
  REQUIRE(place.ask("CreateRepository", {{"repositoryName", "team/box"}}));
  const std::string arn = "arn:aws:ecr:eu-west-1:123456789012:repository/";
  CHECK(place.ask("ListTagsForResource", {{"resourceArn", arn + "team/box"}})->at("tags").empty());
  CHECK(place.code("ListTagsForResource", {{"resourceArn", arn + "no"}}) ==
        "RepositoryNotFoundException");
  CHECK(place.code("ListTagsForResource", {{"resourceArn", "team/box"}}) ==
        "InvalidParameterException");
  CHECK(place.code("GetLifecyclePolicy", {{"repositoryName", "team/box"}}) ==
        "LifecyclePolicyNotFoundException");
  CHECK(place.code("GetLifecyclePolicy", {{"repositoryName", "no"}}) ==
        "RepositoryNotFoundException");
}

TEST_CASE("ecr: lists of a repository with very many tags are read once for a page") {
  Place place;
  REQUIRE(place.ask("CreateRepository", {{"repositoryName", "box"}}));
  place.push("box", manifest, "v1");
  constexpr std::size_t many = 100'000;  // A look at each tag for each image took minutes.
  image::Store store = *image::Store::open(place.folder);
  REQUIRE(store.repositories().change(
      "box", [&](std::optional<image::Repository>& repository) -> Result<void> {
        const std::string digest = repository->tags.at("v1");
        const image::Repository::Pushed pushed = repository->manifests.at(digest);
        repository->tags.clear();
        for (std::size_t i = 0; i < many; ++i) {
          const std::string number = std::to_string(1'000'000 + i);
          const std::string own = "sha256:" + std::string(57, 'a') + number;
          repository->manifests[own] = pushed;
          if (i % 2 == 0) repository->tags["t" + number] = own;
        }
        return {};
      }));
  Json input{{"repositoryName", "box"}, {"maxResults", 1000}};
  const Json first = *place.ask("ListImages", input);
  CHECK(first.at("imageIds").size() == 1000);
  input["nextToken"] = first.at("nextToken");
  const Json second = *place.ask("ListImages", input);
  CHECK(second.at("imageIds")[0].at("imageDigest") > first.at("imageIds")[999].at("imageDigest"));
  // What was read for the first page serves the others until the repository changes.
  const std::string file = place.folder + "/registry/box.json";
  struct stat status {};
  REQUIRE(::stat(file.c_str(), &status) == 0);
  {
    const Fd damaged(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
    REQUIRE(::pwrite(damaged.get(), "?", 1, 0) == 1);
    const std::array<timespec, 2> times = {status.st_atim, status.st_mtim};
    REQUIRE(::futimens(damaged.get(), times.data()) == 0);
    CHECK(*place.ask("ListImages", input) == second);
    REQUIRE(::pwrite(damaged.get(), "{", 1, 0) == 1);
  }
  REQUIRE(store.repositories().change(
      "box", [&](std::optional<image::Repository>& repository) -> Result<void> {
        std::erase_if(repository->tags, [](const auto& each) { return each.first < "t1000010"; });
        return {};
      }));
  input.erase("nextToken");
  input["filter"] = {{"tagStatus", "TAGGED"}};
  CHECK(place.ask("ListImages", input)->at("imageIds")[0].at("imageTag") == "t1000010");
  input["filter"] = {{"tagStatus", "UNTAGGED"}};
  CHECK(!place.ask("ListImages", input)->at("imageIds")[0].contains("imageTag"));
  input["maxResults"] = 10;
  input["filter"] = {{"tagStatus", "TAGGED"}};
  const Json details = place.ask("DescribeImages", input)->at("imageDetails");
  REQUIRE(details.size() == 10);
  CHECK(details[9].at("imageTags").size() == 1);
}

loop::Task<> authorize(Ecr& ecr, std::string host, Json& told, loop::Loop& loop) {
  api::Request request{"ecr", "GetAuthorizationToken", Json::object(), "USER", ""};
  request.host = std::move(host);
  const api::Answer answer = co_await ecr.operate(std::move(request));
  if (answer) told = answer->at("authorizationData")[0];
  loop.stop();
}

TEST_CASE("ecr: a token that names the server as its caller does") {
  access::KeyRing keys;
  REQUIRE(keys.add({"USER", "secretsecret", "", std::nullopt, {}, ""}));
  registry::RegistryServer registry(
      keys,
      {.open_store = [] { return image::Store::open("/nowhere"); }, .now = [] { return now; }});
  struct {
    const char *host, *url;
  } const cases[] = {{"lab:7700", "https://lab:7700"},
                     {"[::1]:7700", "https://[::1]:7700"},
                     {"", "https://own:1"},
                     {"a/b", "https://own:1"},
                     {"a b", "https://own:1"},
                     {"user@lab", "https://own:1"}};
  for (const auto& c : cases) {
    CAPTURE(c.host);
    loop::Loop loop;
    Ecr ecr(loop, keys, registry, {{}, [] { return now; }, "https://own:1"});
    Json told;
    loop::Tasks tasks(loop);
    tasks.start(authorize(ecr, c.host, told, loop));
    loop.run();
    REQUIRE(told.is_object());
    CHECK(told.at("proxyEndpoint") == c.url);
    CHECK(told.at("expiresAt") == 3'600'000.0 + 12 * 3600);
    const std::string login = *from_base64(told.at("authorizationToken").get<std::string>());
    CHECK(login.starts_with("AWS:USER."));
    CHECK(login.find("secretsecret") == std::string::npos);
  }
}

}  // namespace
}  // namespace muster::server
