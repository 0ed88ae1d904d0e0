#include "job/wire/node_messages.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/little_endian.h"
#include "base/text.h"
#include "job/spec_fields.h"

namespace muster::job {
namespace {

constexpr std::int64_t looks_max = std::int64_t{1} << 50;

constexpr std::size_t nonce_digits = 16;
constexpr std::size_t key_bytes = 32;
constexpr std::size_t addresses_max = 16;
constexpr std::size_t address_bytes_max = 45;  // IPv6 in full.
constexpr std::size_t ipv4_bytes_max = 15;
constexpr std::size_t folder_bytes_max = 2000;  // The steward's names below it take the rest.
constexpr std::size_t line_bytes_max = 4096;
constexpr std::size_t node_bytes_max = 255;
constexpr std::size_t outcome_bytes_max = 16u << 10;
constexpr std::size_t number_bytes = 8;
constexpr int port_max = 65535;
constexpr int signals_max = 64;
constexpr int layers_max = 999;  // An image has no more.
/// A week: earlier times are never requested.
constexpr std::chrono::milliseconds ago_max{7 * 86400 * 1000LL};
constexpr std::chrono::milliseconds timing_min{10};
constexpr std::chrono::milliseconds timing_max{86400 * 1000LL};

bool is_line(std::string_view text, std::size_t bytes_max) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 127; };
  return text.size() <= bytes_max && is_utf8(text) &&
         std::none_of(text.begin(), text.end(), is_control);
}

bool is_ipv4(std::string_view text) {
  const std::vector<std::string> parts = split(text, '.');
  return text.size() <= ipv4_bytes_max && parts.size() == 4 &&
         std::all_of(parts.begin(), parts.end(), [](const std::string& part) {
           const std::optional<std::int64_t> number = parse_integer(part);
           return number && *number >= 0 && *number <= 255 && std::to_string(*number) == part;
         });
}

/// One line of text; what others see of a node must not break a log.
Result<std::string> line_at(const char* message, const Json& json, const char* name,
                            std::size_t bytes_max = line_bytes_max) {
  const auto found = json.find(name);
  if (found == json.end()) return std::string();
  if (!found->is_string())
    return invalid_message(message, "\"" + std::string(name) + "\" is not a string");
  std::string text = found->get<std::string>();
  if (!is_line(text, bytes_max))
    return invalid_message(message,
                           "\"" + std::string(name) + "\" is too long or contains line breaks");
  return text;
}

Result<std::uint64_t> bytes_at(const char* message, const Json& json, const char* name) {
  const std::int64_t bytes =
      TRY(integer_at(message, json, name, 0, std::numeric_limits<std::int64_t>::max()));
  return static_cast<std::uint64_t>(bytes);
}

Result<std::chrono::milliseconds> span_at(const char* message, const Json& json, const char* name,
                                          std::chrono::milliseconds most) {
  return std::chrono::milliseconds(TRY(integer_at(message, json, name, 0, most.count())));
}

constexpr const char* state_names[] = {"waiting", "running", "ended"};

Json timing_json(const LinkTiming& timing) {
  Json json{{"beat_ms", timing.beat.count()},
            {"silence_ms", timing.silence.count()},
            {"begin_ms", timing.begin.count()},
            {"linger_ms", timing.linger.count()}};
  if (timing.alone.count() > 0) json["alone_ms"] = timing.alone.count();
  return json;
}

void read_span(Fields& fields, const char* name, std::chrono::milliseconds& value) {
  std::int64_t number = value.count();
  fields.integer(name, number);
  if (number < timing_min.count() || number > timing_max.count())
    fields.note(fields.path_of(name), "10 to 86400000");
  value = std::chrono::milliseconds(number);
}

LinkTiming timing_from(Fields& outer, const Json& json) {
  LinkTiming timing;
  Fields fields(json, "timing");
  read_span(fields, "beat_ms", timing.beat);
  read_span(fields, "silence_ms", timing.silence);
  read_span(fields, "begin_ms", timing.begin);
  read_span(fields, "linger_ms", timing.linger);
  if (json.is_object() && json.contains("alone_ms")) read_span(fields, "alone_ms", timing.alone);
  fields.no_others();
  if (timing.silence < 2 * timing.beat) fields.note("timing.silence_ms", "twice beat_ms, or more");
  outer.take(fields);
  return timing;
}

std::string key_at(Fields& fields, const char* name) {
  std::string text;
  fields.text(name, text, true);
  const std::optional<std::string> key = from_hex(text);
  if (key && key->size() == key_bytes) return *key;
  fields.note(name, "64 hex digits");  // The value is not shown: it may be a key's greater part.
  return {};
}

Result<void> check(const NodeJob& job) {
  if (!is_nonce(job.nonce)) return expected("nonce", "16 hex digits");
  if (job.addresses.empty() || job.addresses.size() > addresses_max)
    return expected("engine.addresses", "1 to 16 addresses");
  for (const std::string& address : job.addresses)
    if (address.empty() || address.size() > address_bytes_max || !only_has(address, ".:"))
      return expected("engine.addresses", "numeric IP addresses");
  if (job.port == 0) return expected("engine.port", "1 to 65535");
  TRY(check_path("folder", job.folder, false));
  if (job.folder.size() > folder_bytes_max)
    return expected("folder", "a path of at most 2000 bytes");
  TRY(check_path("archive", job.archive, true));
  if (job.image) TRY(check_path("image.layers", job.image->layers, true));
  if (job.rollcall_port < 1 || job.rollcall_port > port_max)
    return expected("rollcall_port", "1 to 65535");
  if (job.kill_wait.count() < 0 || job.kill_wait > stop_grace_max)
    return expected("kill_wait_ms", "0 to 86400000");
  return {};
}

}  // namespace

std::vector<std::string> spare_names(int count) {
  std::vector<std::string> names;
  for (int i = 1; i <= count; ++i) names.push_back("spare-" + std::to_string(i));
  return names;
}

bool is_spare(std::string_view host) {
  return host.starts_with("spare-");
}

bool is_nonce(std::string_view text) {
  return text.size() == nonce_digits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Json to_json(const NodeJob& job) {
  Json json{{"nonce", job.nonce},
            {"key", hex(job.key)},
            {"job_key", hex(job.job_key)},
            {"engine", {{"addresses", job.addresses}, {"port", job.port}}},
            {"folder", job.folder},
            {"archive", job.archive},
            {"spec", to_json(job.spec)},
            {"light", job.light},
            {"rollcall_port", job.rollcall_port},
            {"kill_wait_ms", job.kill_wait.count()},
            {"timing", timing_json(job.timing)}};
  if (!job.archive_digest.empty()) json.emplace("archive_digest", job.archive_digest);
  if (job.image)
    json.emplace("image", Json{{"folder", job.image->folder},
                               {"manifest", job.image->manifest},
                               {"config", job.image->config},
                               {"layers", job.image->layers}});
  return json;
}

Result<NodeJob> node_job_from(std::string_view text) {
  if (text.size() > node_job_bytes_max) return fail(Errc::invalid_input, "longer than 16 MiB");
  const Json json = TRY(parse_json(text));
  NodeJob job;
  Fields fields(json, "");
  fields.text("nonce", job.nonce, true);
  job.key = key_at(fields, "key");
  job.job_key = key_at(fields, "job_key");
  if (const Json* const engine = fields.object("engine")) {
    Fields inner(*engine, "engine");
    inner.text_list("addresses", job.addresses);
    inner.integer("port", job.port);
    inner.no_others();
    fields.take(inner);
  }
  fields.text("folder", job.folder, true);
  fields.text("archive", job.archive);
  fields.text("archive_digest", job.archive_digest);
  const Json* const spec = fields.object("spec");
  if (spec == nullptr) fields.note("spec", "a value");
  fields.flag("light", job.light);
  fields.integer("rollcall_port", job.rollcall_port);
  std::int64_t kill_wait = job.kill_wait.count();
  fields.integer("kill_wait_ms", kill_wait);
  job.kill_wait = std::chrono::milliseconds(kill_wait);
  if (const Json* const image = fields.object("image")) {
    Fields inner(*image, "image");
    job.image.emplace();
    inner.text("folder", job.image->folder, true);
    inner.text("manifest", job.image->manifest, true);
    inner.text("config", job.image->config, true);
    inner.text("layers", job.image->layers);
    inner.no_others();
    fields.take(inner);
  }
  if (const Json* const timing = fields.object("timing")) job.timing = timing_from(fields, *timing);
  fields.no_others();
  if (fields.error()) return *fields.error();
  TRY(check(job));
  job.spec = TRY(spec_from(*spec));
  const bool is_stored = job.spec.image && job.spec.image->tool.empty();
  if (job.image.has_value() != is_stored || (job.image && job.light))
    return fail(Errc::invalid_input,
                "image: required if hosts are containers, not allowed otherwise");
  return job;
}

std::string encode(const NodeIdentity& identity) {
  return identity.nonce + "/" + identity.host;
}

std::optional<NodeIdentity> node_identity_from(std::string_view identity) {
  const std::size_t slash = identity.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  NodeIdentity read{std::string(identity.substr(0, slash)),
                    std::string(identity.substr(slash + 1))};
  if (!is_nonce(read.nonce) || !is_job_name(read.host)) return std::nullopt;
  return read;
}

std::string encode(const NodeHello& hello) {
  Json json{{"version", hello.version},
            {"muster", hello.muster},
            {"node", hello.node},
            {"address", hello.address},
            {"state", state_names[static_cast<int>(hello.state)]}};
  if (!hello.lacks.empty()) json.emplace("lacks", hello.lacks);
  if (hello.measures) json.emplace("measures", true);
  return to_text(json);
}

Result<NodeHello> node_hello_from(std::string_view payload) {
  constexpr const char* name = "hello";
  const Json json = TRY(object_from(name, payload));
  NodeHello hello;
  hello.version = static_cast<int>(TRY(integer_at(name, json, "version", 1, 1000000)));
  hello.muster = TRY(line_at(name, json, "muster", node_bytes_max));
  if (hello.version != node_link_version) return hello;
  hello.node = TRY(line_at(name, json, "node", node_bytes_max));
  hello.address = TRY(line_at(name, json, "address"));
  if (!is_ipv4(hello.address)) return invalid_message(name, "\"address\" is not an IPv4 address");
  const std::string state = TRY(line_at(name, json, "state"));
  const auto found = std::find(std::begin(state_names), std::end(state_names), state);
  if (found == std::end(state_names)) return invalid_message(name, "unknown state");
  hello.state = static_cast<NodeState>(found - std::begin(state_names));
  const Json lacks = json.value("lacks", Json::array());
  if (!lacks.is_array() || lacks.size() > layers_max)
    return invalid_message(name, "\"lacks\" is not a list, or is too long");
  for (const Json& number : lacks) {
    const Json each{{"lacks", number}};
    hello.lacks.push_back(static_cast<int>(TRY(integer_at(name, each, "lacks", 0, layers_max))));
  }
  hello.measures = json.value("measures", Json()) == true;
  return hello;
}

std::string encode(const NodeWelcome& welcome) {
  return to_text({{"version", welcome.version},
                  {"muster", welcome.muster},
                  {"journal_bytes", welcome.journal_bytes},
                  {"result_bytes", welcome.result_bytes}});
}

Result<NodeWelcome> node_welcome_from(std::string_view payload) {
  constexpr const char* name = "welcome";
  const Json json = TRY(object_from(name, payload));
  NodeWelcome welcome;
  welcome.version = static_cast<int>(TRY(integer_at(name, json, "version", 1, 1000000)));
  welcome.muster = TRY(line_at(name, json, "muster", node_bytes_max));
  if (welcome.version != node_link_version) return welcome;
  welcome.journal_bytes = TRY(bytes_at(name, json, "journal_bytes"));
  welcome.result_bytes = TRY(bytes_at(name, json, "result_bytes"));
  return welcome;
}

std::string encode(const NodeBegin& begin) {
  Json hosts = Json::array();
  for (const HostAddress& host : begin.hosts)
    hosts.push_back({{"name", host.name}, {"address", host.address}});
  return to_text(Json{{"hosts", hosts}, {"preempt_grace_ms", begin.preempt_grace.count()}});
}

Result<NodeBegin> node_begin_from(std::string_view payload) {
  constexpr const char* name = "begin";
  const Json json = TRY(object_from(name, payload));
  const auto hosts = json.find("hosts");
  if (hosts == json.end() || !hosts->is_array() || hosts->empty() || hosts->size() > hosts_max)
    return invalid_message(name, "missing field hosts");
  NodeBegin begin;
  if (json.contains("preempt_grace_ms"))
    begin.preempt_grace = TRY(span_at(name, json, "preempt_grace_ms", stop_grace_max));
  for (const Json& entry : *hosts) {
    if (!entry.is_object())
      return invalid_message(name, "\"hosts\" contains an item that is not an object");
    HostAddress& host = begin.hosts.emplace_back();
    host.name = TRY(line_at(name, entry, "name"));
    host.address = TRY(line_at(name, entry, "address"));
    if (!is_job_name(host.name)) return invalid_message(name, "invalid host name");
    if (!is_ipv4(host.address)) return invalid_message(name, host.name + " has no IPv4 address");
  }
  return begin;
}

std::string encode(const NodeStop& stop) {
  Json json{{"grace_ms", stop.grace.count()}};
  if (stop.is_preemption) json["is_preemption"] = true;
  return to_text(json);
}

Result<NodeStop> node_stop_from(std::string_view payload) {
  const Json json = TRY(object_from("stop", payload));
  NodeStop stop{TRY(span_at("stop", json, "grace_ms", stop_grace_max))};
  const auto preemption = json.find("is_preemption");
  stop.is_preemption = preemption != json.end() && *preemption == Json(true);
  return stop;
}

std::string encode(const NodeLook& look) {
  return to_text({{"id", look.id}, {"calls", calls_name(look.calls)}});
}

Result<NodeLook> node_look_from(std::string_view payload) {
  const Json json = TRY(object_from("look", payload));
  NodeLook look{.id = 0, .calls = calls_from(payload)};
  look.id = static_cast<std::uint64_t>(TRY(integer_at("look", json, "id", 0, looks_max)));
  return look;
}

std::string encode(const NodeStacks& answer) {
  Json json{{"id", answer.id}};
  if (answer.why.empty())
    json["stacks"] = to_json(answer.stacks);
  else
    json["why"] = answer.why;
  return to_text(json);
}

Result<NodeStacks> node_stacks_from(std::string_view payload) {
  const Json json = TRY(object_from("stacks", payload, host_stacks_bytes_max + 4096));
  NodeStacks answer;
  answer.id = static_cast<std::uint64_t>(TRY(integer_at("stacks", json, "id", 0, looks_max)));
  if (json.contains("why"))
    answer.why = TRY(line_at("stacks", json, "why"));
  else
    answer.stacks = TRY(host_stacks_from_json(json.value("stacks", Json())));
  return answer;
}

std::string encode(const NodeMeasure& measure) {
  Json json{{"id", measure.id}};
  if (measure.is_viewed) json["viewed"] = 1;
  return to_text(json);
}

Result<NodeMeasure> node_measure_from(std::string_view payload) {
  constexpr const char* name = "measure";
  const Json json = TRY(object_from(name, payload));
  NodeMeasure measure{static_cast<std::uint64_t>(TRY(integer_at(name, json, "id", 0, looks_max)))};
  if (json.contains("viewed")) measure.is_viewed = TRY(integer_at(name, json, "viewed", 0, 1)) == 1;
  return measure;
}

std::string encode(const NodeUsage& answer) {
  Json json{{"id", answer.id}};
  if (answer.why.empty())
    json["usage"] = to_json(answer.usage);
  else
    json["why"] = answer.why;
  return to_text(json);
}

Result<NodeUsage> node_usage_from(std::string_view payload) {
  constexpr const char* name = "usage";
  const Json json = TRY(object_from(name, payload));
  NodeUsage answer;
  answer.id = static_cast<std::uint64_t>(TRY(integer_at(name, json, "id", 0, looks_max)));
  if (json.contains("why")) {
    answer.why = TRY(line_at(name, json, "why"));
    return answer;
  }
  answer.usage = TRY(usage_from_json(name, json.value("usage", Json())));
  return answer;
}

std::string encode(const NodeSignalled& signalled) {
  return to_text({{"signal", signalled.signal}, {"ago_ms", signalled.ago.count()}});
}

Result<NodeSignalled> node_signalled_from(std::string_view payload) {
  constexpr const char* name = "signalled";
  const Json json = TRY(object_from(name, payload));
  NodeSignalled signalled;
  signalled.signal = static_cast<int>(TRY(integer_at(name, json, "signal", 1, signals_max)));
  signalled.ago = TRY(span_at(name, json, "ago_ms", ago_max));
  return signalled;
}

std::string encode(const NodeEnded& ended) {
  return to_text(Json{{"outcome", to_json(ended.outcome)}, {"ago_ms", ended.ago.count()}});
}

Result<NodeEnded> node_ended_from(std::string_view payload) {
  constexpr const char* name = "ended";
  const Json json = TRY(object_from(name, payload, outcome_bytes_max));
  const auto outcome = json.find("outcome");
  if (outcome == json.end()) return invalid_message(name, "missing field outcome");
  NodeEnded ended;
  ended.outcome = TRY(outcome_from(*outcome));
  if (!is_line(ended.outcome.text, line_bytes_max))
    return invalid_message(name, "\"text\" is too long or contains line breaks");
  ended.ago = TRY(span_at(name, json, "ago_ms", ago_max));
  return ended;
}

std::string encode(const NodeGiven& given) {
  return to_text({{"bytes", given.bytes}, {"error", given.error}});
}

Result<NodeGiven> node_given_from(std::string_view payload) {
  const Json json = TRY(object_from("given", payload));
  NodeGiven given;
  given.bytes = TRY(bytes_at("given", json, "bytes"));
  given.error = TRY(line_at("given", json, "error"));
  return given;
}

std::string encode(const NodeEnd& end) {
  return to_text(Json{{"why", end.why}});
}

Result<NodeEnd> node_end_from(std::string_view payload) {
  const Json json = TRY(object_from("end", payload));
  return NodeEnd{TRY(line_at("end", json, "why"))};
}

std::string encode(const NodeAgain& again) {
  return to_text(Json{{"nonce", again.nonce},
                      {"key", hex(again.key)},
                      {"host", again.host},
                      {"rollcall_port", again.rollcall_port}});
}

Result<NodeAgain> node_again_from(std::string_view payload) {
  constexpr const char* name = "again";
  const Json json = TRY(object_from(name, payload));
  NodeAgain again;
  again.nonce = TRY(line_at(name, json, "nonce"));
  if (!is_nonce(again.nonce)) return invalid_message(name, "\"nonce\" is not 16 hex digits");
  const std::string key = TRY(line_at(name, json, "key"));
  again.key = from_hex(key).value_or("");
  if (again.key.size() != key_bytes) return invalid_message(name, "\"key\" is not 64 hex digits");
  again.host = TRY(line_at(name, json, "host"));
  const bool is_host = is_job_name(again.host) &&
                       (is_spare(again.host) || std::string_view(again.host).starts_with("algo-"));
  if (!is_host) return invalid_message(name, "the value of \"host\" is not a valid host name");
  again.rollcall_port = static_cast<int>(TRY(integer_at(name, json, "rollcall_port", 1, port_max)));
  return again;
}

std::string encode_node_have(std::uint64_t bytes) {
  std::string payload;
  append_number(payload, bytes, number_bytes);
  return payload;
}

Result<std::uint64_t> node_have_from(std::string_view payload) {
  if (payload.size() != number_bytes) return invalid_message("have", "expected 8 bytes");
  return number_at(payload, 0, number_bytes);
}

void set_piece_offset(std::string& payload, std::uint64_t offset) {
  set_number(payload, 0, offset, node_piece_header_bytes);
}

Result<NodePiece> node_piece_from(std::string_view payload) {
  if (payload.size() <= node_piece_header_bytes) return invalid_message("piece", "no data");
  if (payload.size() > node_piece_header_bytes + node_piece_bytes_max)
    return invalid_message("piece", "too long");
  return NodePiece{number_at(payload, 0, node_piece_header_bytes),
                   payload.substr(node_piece_header_bytes)};
}

}  // namespace muster::job
