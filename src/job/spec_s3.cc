#include "job/spec_s3.h"

#include <limits>

namespace muster::job {
namespace {

constexpr std::size_t arguments_max = 100;  // The API's limit, as the next one.
constexpr std::size_t argument_bytes_max = 128u << 10;

/// The bucket and the key are s3wire's business.
Result<void> check_url(const std::string& field, std::string_view url, bool may_be_empty) {
  TRY(check_text(field, url));
  if (url.empty() && may_be_empty) return {};
  constexpr std::string_view scheme = "s3://";
  if (!url.starts_with(scheme) || url.size() == scheme.size() || url[scheme.size()] == '/')
    return expected(field, "s3://bucket/…");
  if (url.size() > 1024 + 64 + scheme.size()) return expected(field, "a key of at most 1024 bytes");
  return {};
}

Result<void> check_arguments(const std::string& field, const Args& args) {
  if (args.size() > arguments_max) return expected(field, "at most 100 strings");
  for (const std::string& arg : args) {
    TRY(check_text(field, arg));
    if (arg.size() > argument_bytes_max) return expected(field, "strings of at most 131072 bytes");
  }
  return {};
}

/// What the job may not put its checkpoints over.
bool is_taken(std::string_view path) {
  for (const std::string_view folder : {"/", "/opt", ml_path, "/proc", "/sys", "/dev", "/etc",
                                        "/usr", "/bin", "/sbin", "/lib", "/lib64", "/run", "/tmp"})
    if (path == folder) return true;
  for (const std::string_view folder : {"/proc/", "/sys/", "/dev/", "/etc/", "/run/muster/"})
    if (path.starts_with(folder)) return true;
  for (const char* folder : {input_path, model_path, output_path, code_path, "/run/muster"})
    if (path == folder) return true;
  return path.starts_with(std::string(input_path) + "/");
}

bool has_dots(std::string_view path) {
  return (std::string(path) + "/").find("/../") != std::string::npos ||
         (std::string(path) + "/").find("/./") != std::string::npos ||
         path.find("//") != std::string_view::npos || path.ends_with('/');
}

void read_source(const Json& json, InputChannel& channel, Fields& outer, const std::string& path) {
  Fields source(json, path + ".DataSource");
  const Json* const s3 = source.object("S3DataSource");
  if (s3 == nullptr) {
    source.note(path + ".DataSource.S3DataSource",
                "a value (muster does not support other sources)");
    return outer.take(source);
  }
  Fields fields(*s3, path + ".DataSource.S3DataSource");
  fields.text("S3Uri", channel.s3.url, true);
  fields.choice("S3DataType", "S3Prefix", "ManifestFile", channel.s3.manifest);
  fields.text("ETag", channel.s3.etag);
  fields.choice("S3DataDistributionType", "FullyReplicated", "ShardedByS3Key", channel.s3.sharded);
  fields.text_list("InstanceGroupNames", channel.s3.groups);
  outer.take(source);
  outer.take(fields);
}

}  // namespace

bool keeps_checkpoints(const Spec& spec) {
  return !spec.checkpoint_url.empty() || !spec.checkpoint_folder.empty();
}

std::string s3_results(const Spec& spec) {
  if (spec.s3_output.empty()) return {};
  std::string url = spec.s3_output;
  while (url.ends_with('/')) url.pop_back();
  return url + "/" + spec.name + "/output";
}

Result<void> check_source(const std::string& field, const InputChannel& channel) {
  TRY(check_path(field + "Folder", channel.folder, !channel.s3.url.empty()));
  if (!channel.folder.empty() && !channel.s3.url.empty())
    return expected(field + "Folder", "a folder or a DataSource, not both");
  TRY(check_text(field + "ContentType", channel.content_type));
  TRY(check_text(field + "RecordWrapperType", channel.record_wrapper));
  return check_url(field + "DataSource.S3DataSource.S3Uri", channel.s3.url, true);
}

Result<void> check_outputs(const Spec& spec) {
  TRY(check_arguments("AlgorithmSpecification.ContainerEntrypoint", spec.entrypoint));
  TRY(check_arguments("AlgorithmSpecification.ContainerArguments", spec.arguments));
  if (!spec.entrypoint.empty() && spec.entrypoint.front().empty())
    return expected("AlgorithmSpecification.ContainerEntrypoint", "a program as its first element");
  TRY(check_url("OutputDataConfig.S3OutputPath", spec.s3_output, true));
  TRY(check_url("CheckpointConfig.S3Uri", spec.checkpoint_url, true));
  TRY(check_path("CheckpointConfig.LocalPath", spec.checkpoint_path, false));
  if (has_dots(spec.checkpoint_path) || is_taken(spec.checkpoint_path))
    return expected(
        "CheckpointConfig.LocalPath",
        "a folder that muster does not use itself, without . and .., got " + spec.checkpoint_path);
  TRY(check_path("Muster.Checkpoints.Folder", spec.checkpoint_folder, true));
  if (!spec.checkpoint_url.empty() && !spec.checkpoint_folder.empty())
    return expected("Muster.Checkpoints.Folder", "a folder or CheckpointConfig, not both");
  TRY(check_text("Muster.S3.Endpoint", spec.s3.endpoint));
  TRY(check_text("Muster.S3.Region", spec.s3.region));
  TRY(check_path("Muster.S3.CredentialsFile", spec.s3.credentials_file, true));
  TRY(check_path("Muster.S3.ResultsCredentialsFile", spec.s3.results_credentials_file, true));
  return check_path("Muster.S3.CaFile", spec.s3.ca_file, true);
}

Json input_json(const std::vector<InputChannel>& input) {
  Json all = Json::array();
  for (const InputChannel& channel : input) {
    Json json{{"ChannelName", channel.name}};
    if (!channel.folder.empty()) json["Folder"] = channel.folder;
    if (!channel.content_type.empty()) json["ContentType"] = channel.content_type;
    if (channel.record_wrapper != "None") json["RecordWrapperType"] = channel.record_wrapper;
    const S3Source& s3 = channel.s3;
    if (!s3.url.empty())
      json["DataSource"] = {
          {"S3DataSource",
           {{"S3Uri", s3.url},
            {"S3DataType", s3.manifest ? "ManifestFile" : "S3Prefix"},
            {"S3DataDistributionType", s3.sharded ? "ShardedByS3Key" : "FullyReplicated"}}}};
    if (!s3.etag.empty()) json["DataSource"]["S3DataSource"]["ETag"] = s3.etag;
    if (!s3.groups.empty()) json["DataSource"]["S3DataSource"]["InstanceGroupNames"] = s3.groups;
    if (s3.gzip) json["CompressionType"] = "Gzip";
    all.push_back(std::move(json));
  }
  return all;
}

Json access_json(const S3Access& access) {
  return Json{{"Endpoint", access.endpoint},
              {"Region", access.region},
              {"CredentialsFile", access.credentials_file},
              {"ResultsCredentialsFile", access.results_credentials_file},
              {"CaFile", access.ca_file}};
}

void add_outputs(const Spec& spec, Json& json) {
  if (!spec.s3_output.empty())
    json["OutputDataConfig"] = {{"S3OutputPath", spec.s3_output},
                                {"CompressionType", spec.packed_output ? "GZIP" : "NONE"}};
  if (!spec.checkpoint_url.empty())
    json["CheckpointConfig"] = {{"S3Uri", spec.checkpoint_url},
                                {"LocalPath", spec.checkpoint_path}};
}

void read_input(const Json& json, Spec& spec, Fields& outer, Writer writer) {
  for (std::size_t i = 0; i < json.size(); ++i) {
    const std::string path = "InputDataConfig[" + std::to_string(i) + "]";
    Fields channel(json[i], path);
    InputChannel read;
    channel.text("ChannelName", read.name, true);
    const Json* const source = channel.object("DataSource");
    if (writer == Writer::muster)
      channel.text("Folder", read.folder, source == nullptr);
    else if (source == nullptr)
      channel.note(path + ".DataSource", "a value");
    channel.text("ContentType", read.content_type);
    channel.text("RecordWrapperType", read.record_wrapper);
    channel.choice("CompressionType", "None", "Gzip", read.s3.gzip);
    std::string mode = "File";
    channel.text("InputMode", mode);
    // FastFile shows the same files; here they are all there when the job begins.
    if (mode != "File" && mode != "FastFile")
      channel.note(path + ".InputMode", "File (or FastFile), got " + mode);
    if (source != nullptr) read_source(*source, read, channel, path);
    outer.take(channel);
    spec.input.push_back(std::move(read));
  }
}

void read_outputs(Fields& outer, Spec& spec) {
  if (const Json* const output = outer.object("OutputDataConfig")) {
    Fields fields(*output, "OutputDataConfig");
    bool plain = false;
    fields.text("S3OutputPath", spec.s3_output);
    fields.choice("CompressionType", "GZIP", "NONE", plain);
    spec.packed_output = !plain;
    outer.take(fields);
  }
  if (const Json* const checkpoints = outer.object("CheckpointConfig")) {
    Fields fields(*checkpoints, "CheckpointConfig");
    fields.text("S3Uri", spec.checkpoint_url, true);
    fields.text("LocalPath", spec.checkpoint_path);
    while (spec.checkpoint_path.size() > 1 && spec.checkpoint_path.ends_with('/'))
      spec.checkpoint_path.pop_back();
    outer.take(fields);
  }
}

Json checkpoints_json(const Spec& spec) {
  Json json{{"Folder", spec.checkpoint_folder}};
  if (spec.checkpoint_owner) {
    json["User"] = spec.checkpoint_owner->user;
    json["Group"] = spec.checkpoint_owner->group;
  }
  return json;
}

void read_checkpoints(const Json& json, Spec& spec, Fields& outer) {
  Fields fields(json, "Muster.Checkpoints");
  std::int64_t user = -1, group = -1;
  fields.text("Folder", spec.checkpoint_folder, true);
  fields.integer("User", user);
  fields.integer("Group", group);
  constexpr std::int64_t id_max = std::numeric_limits<std::uint32_t>::max() - 1;
  if (user >= 0 && group >= 0 && user <= id_max && group <= id_max)
    spec.checkpoint_owner = {static_cast<uid_t>(user), static_cast<gid_t>(group)};
  else if (user != -1 || group != -1)
    fields.note(fields.path_of("User"), "a user's and a group's number, or neither");
  fields.no_others();
  outer.take(fields);
}

Json bound_json(const std::vector<BoundPath>& bound) {
  Json all = Json::array();
  for (const BoundPath& one : bound) {
    all.push_back({{"Outside", one.outside}, {"Inside", one.inside}});
    if (one.writable) all.back()["Writable"] = {{"User", one.user}, {"Group", one.group}};
  }
  return all;
}

void read_bound(const Json& json, Spec& spec, Fields& outer) {
  for (std::size_t i = 0; i < json.size(); ++i) {
    Fields fields(json[i], "Muster.Bound[" + std::to_string(i) + "]");
    BoundPath& one = spec.bound.emplace_back();
    fields.text("Outside", one.outside, true);
    fields.text("Inside", one.inside, true);
    if (const Json* const writable = fields.object("Writable")) {
      Fields owner(*writable, fields.path_of("Writable"));
      one.writable = true;
      owner.integer("User", one.user);
      owner.integer("Group", one.group);
      owner.no_others();
      fields.take(owner);
    }
    fields.no_others();
    outer.take(fields);
  }
}

void read_access(const Json& json, S3Access& access, Fields& outer) {
  Fields fields(json, "Muster.S3");
  fields.text("Endpoint", access.endpoint);
  fields.text("Region", access.region);
  fields.text("CredentialsFile", access.credentials_file);
  fields.text("ResultsCredentialsFile", access.results_credentials_file);
  fields.text("CaFile", access.ca_file);
  fields.no_others();
  outer.take(fields);
}

}  // namespace muster::job
