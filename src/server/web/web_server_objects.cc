// The web page's view of a job's outputs and checkpoints in the server's own S3.

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>

#include "aws/api/inputs.h"
#include "aws/s3wire/s3_url.h"
#include "net/loop/worker.h"
#include "os/packing/contents.h"
#include "server/bucket/bucket_store.h"
#include "server/web/web_server_call.h"

namespace muster::server {
namespace {

using loop::Task;
using s3wire::S3Url;

constexpr std::uint64_t objects_max = 500;  ///< Shown per place.
/// The time limit for reading an archive.
constexpr Duration contents_last = std::chrono::seconds(10);

struct Place {
  std::string name;  ///< The name on the page.
  S3Url at;          ///< The key ends with a slash.
};

std::optional<Place> place_at(std::string name, const std::string& url) {
  Result<S3Url> at = s3wire::parse_s3_prefix(url);
  if (!at) return std::nullopt;
  if (!at->key.ends_with('/')) at->key += '/';
  return Place{std::move(name), *std::move(at)};
}

/// The places of a job's objects, from its description: the folder with the job's name, and its
/// checkpoint folder. Never a whole bucket.
std::vector<Place> places_of(const Json& description) {
  std::vector<Place> places;
  std::string output = api::text_of(api::inside(description, {"OutputDataConfig"}), "S3OutputPath");
  while (output.ends_with('/')) output.pop_back();
  const std::string job = api::text_of(description, "TrainingJobName");
  if (!output.empty())
    if (auto place = place_at("output", output + "/" + job + "/output"))
      places.push_back(*std::move(place));
  const std::string kept = api::text_of(api::inside(description, {"CheckpointConfig"}), "S3Uri");
  if (auto place = place_at("checkpoints", kept); place && place->at.key != "/")
    places.push_back(*std::move(place));
  return places;
}

Result<Json> objects_at(const bucket::BucketStore& buckets, const std::vector<Place>& places) {
  Json list = Json::array();
  bool more = false;
  for (const Place& place : places) {
    const std::shared_ptr<bucket::Bucket> bucket = buckets.find(place.at.bucket);
    if (!bucket) continue;
    if (!bucket->indexed()) TRY(bucket->index());
    s3wire::ListQuery query;
    query.prefix = place.at.key;
    query.max = objects_max;
    const s3wire::Listing page = bucket->page(query);
    more = more || page.truncated;
    for (const s3wire::ListedObject& each : page.objects)
      list.push_back({{"place", place.name},
                      {"name", each.key.substr(place.at.key.size())},
                      {"bytes", each.size},
                      {"modified", each.modified.count()}});
  }
  return Json{{"objects", std::move(list)}, {"more", more}};
}

/// None if the job has no such object.
Result<std::optional<bucket::OpenedObject>> open_object(const bucket::BucketStore& buckets,
                                                        const std::vector<Place>& places,
                                                        const std::string& place,
                                                        const std::string& name, bool read_small) {
  for (const Place& each : places) {
    if (each.name != place || name.empty()) continue;
    if (const std::shared_ptr<bucket::Bucket> bucket = buckets.find(each.at.bucket))
      return bucket->find(each.at.key + name, read_small);
  }
  return std::optional<bucket::OpenedObject>();
}

Json contents_json(const packing::Contents& contents) {
  constexpr std::array kinds = {"file", "folder", "link", "other"};  // As Member::Kind.
  Json members = Json::array();
  for (const packing::Member& each : contents.members)
    members.push_back({each.name, kinds[static_cast<std::size_t>(each.kind)], each.bytes, each.time,
                       each.target});
  return {{"members", std::move(members)}, {"more", contents.more}};
}

/// The last part of a key as a file name. Characters that could end a header or separate folders
/// become `_`.
std::string plain_name(const std::string& key) {
  std::string name = key.substr(key.rfind('/') + 1);
  for (char& c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80 || (std::isalnum(byte) == 0 && c != '.' && c != '-')) c = '_';
  }
  while (name.starts_with('.')) name.erase(0, 1);
  return name.empty() ? "object" : name;
}

}  // namespace

/// The job as in DescribeTrainingJob.
Task<Result<Json, aws::Refusal>> WebServer::describe(http::Exchange& exchange, std::string job,
                                                     std::string key) {
  api::Request request{.service = "sagemaker",
                       .operation = "DescribeTrainingJob",
                       .input = {{"TrainingJobName", std::move(job)}},
                       .access_key = std::move(key)};
  co_return co_await ask(exchange, std::move(request));
}

/// {"job"}: its objects, at most 500 per place, and whether there are more.
Task<Result<Json, aws::Refusal>> WebServer::objects(Call& call) {
  Result<Json, aws::Refusal> description =
      co_await describe(call.exchange, api::text_of(call.input, "job"), call.visit.key);
  if (!description) co_return description.error();
  if (options_.buckets == nullptr)
    co_return Json{{"objects", Json::array()}, {"more", false}, {"elsewhere", true}};
  const auto work = [this, places = places_of(*description)] {
    return objects_at(*options_.buckets, places);
  };
  Result<Json> answer = co_await in_turn(object_reads_, call.exchange, call.visit.key, work);
  if (!answer) co_return unread(answer.error());
  co_return *std::move(answer);
}

/// {"job", "place", "name"}, as in `objects`: the content of the object, which is an archive.
Task<Result<Json, aws::Refusal>> WebServer::contents(Call& call) {
  const std::string place = api::text_of(call.input, "place");
  const std::string name = api::text_of(call.input, "name");
  Result<Json, aws::Refusal> description =
      co_await describe(call.exchange, api::text_of(call.input, "job"), call.visit.key);
  if (!description) co_return description.error();
  if (options_.buckets == nullptr)
    co_return api::invalid("the job's objects are on another S3 server");
  const auto work = [this, places = places_of(*description), place, name]() -> Result<Json> {
    std::optional<bucket::OpenedObject> object =
        TRY(open_object(*options_.buckets, places, place, name, false));
    if (!object) return fail(Errc::not_found, "the job has no object with this name");
    const packing::Contents told = TRY(packing::contents_of(
        std::move(object->file), object->record.size, {.deadline = Clock::now() + contents_last}));
    return contents_json(told);
  };
  Result<Json> answer = co_await in_turn(archive_reads_, call.exchange, call.visit.key, work);
  if (!answer && (answer.error().code == Errc::system || answer.error().code == Errc::denied))
    co_return unread(answer.error());
  if (!answer) co_return api::invalid(plain_name(name) + ": " + answer.error().text);
  co_return *std::move(answer);
}

/// `job`, `place` and `name` of the query, as in `objects`: the object as a file.
Task<void> WebServer::download_object(http::Exchange& exchange, std::string key) {
  const std::string place = asked(exchange, "place");
  const std::string name = asked(exchange, "name");
  Result<Json, aws::Refusal> description = co_await describe(exchange, asked(exchange, "job"), key);
  http::Reply head = file_head("application/octet-stream", plain_name(name));
  Result<std::optional<bucket::OpenedObject>> object = std::optional<bucket::OpenedObject>();
  if (description && options_.buckets != nullptr) {
    const auto work = [this, places = places_of(*description), place, name] {
      return open_object(*options_.buckets, places, place, name, true);
    };
    object = co_await in_turn(object_reads_, exchange, key, work);
  }
  if (!object || !*object) {
    head.status = !object && object.error().code == Errc::denied ? 503 : 404;
  } else if ((*object)->is_small) {
    head.body = std::move((*object)->small);
  } else {
    head.file = std::move((*object)->file);
    head.file_bytes = (*object)->record.size;
  }
  (void)co_await exchange.reply(std::move(head));
}

}  // namespace muster::server
