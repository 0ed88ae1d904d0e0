#include "image/reference.h"

#include <algorithm>
#include <array>

#include "base/letters.h"
#include "base/text.h"

namespace muster::image {
namespace {

constexpr std::string_view docker_hub = "docker.io";
constexpr std::size_t repository_bytes_max = 255;
constexpr std::size_t tag_bytes_max = 128;
constexpr std::string_view digest_start = "sha256:";
constexpr std::size_t digest_hex_bytes = 64;

Error invalid_reference(std::string_view text, const std::string& want) {
  return fail(Errc::invalid_input, "image \"" + to_utf8(std::string(text)) + "\": " + want);
}

/// Letters and digits with '.', '_', "__" or dashes between.
bool is_path_component(std::string_view name) {
  std::size_t at = 0;
  while (true) {
    const std::size_t begin = at;
    while (at < name.size() && (is_lower(name[at]) || is_digit(name[at]))) ++at;
    if (at == begin) return false;
    if (at == name.size()) return true;
    const std::size_t mark = at;
    if (name[at] == '-')
      while (at < name.size() && name[at] == '-') ++at;
    else if (name[at] == '.' || name[at] == '_')
      ++at;
    if (at == mark) return false;
    if (name[mark] == '_' && at < name.size() && name[at] == '_') ++at;
  }
}

bool is_repository(std::string_view name) {
  if (name.empty() || name.size() > repository_bytes_max) return false;
  const std::vector<std::string> parts = split(name, '/');
  return std::all_of(parts.begin(), parts.end(), is_path_component);
}

bool is_tag(std::string_view tag) {
  if (tag.empty() || tag.size() > tag_bytes_max || tag[0] == '.' || tag[0] == '-') return false;
  return std::all_of(tag.begin(), tag.end(), [](char c) {
    return is_lower(c) || is_upper(c) || is_digit(c) || c == '_' || c == '.' || c == '-';
  });
}

/// A host's name or address, with or without a port.
bool is_registry(std::string_view name) {
  const std::size_t colon = name.rfind(':');
  const bool bracketed = name.starts_with('[');
  const std::size_t end = bracketed ? name.find(']') : std::string_view::npos;
  if (bracketed && end == std::string_view::npos) return false;
  std::string_view host = name;
  if (colon != std::string_view::npos && (!bracketed || colon > end)) {
    const std::string_view port = name.substr(colon + 1);
    if (port.empty() || port.size() > 5 || !std::all_of(port.begin(), port.end(), is_digit))
      return false;
    host = name.substr(0, colon);
  }
  if (bracketed) {
    const std::string_view inside = host.substr(1, end - 1);
    return host.size() == end + 1 && !inside.empty() &&
           inside.find_first_not_of("0123456789abcdefABCDEF:") == std::string_view::npos;
  }
  return !host.empty() && host[0] != '-' && host[0] != '.' &&
         std::all_of(host.begin(), host.end(), [](char c) {
           return is_lower(c) || is_upper(c) || is_digit(c) || c == '.' || c == '-';
         });
}

/// Whether the part before the first slash is a registry, not a part of a short name.
bool names_registry(std::string_view first) {
  return first == "localhost" || first.find_first_of(".:") != std::string_view::npos ||
         std::any_of(first.begin(), first.end(), is_upper);
}

/// "NAME[:TAG][@DIGEST]" into `reference`.
Result<void> read_name(std::string_view text, std::string_view name, Reference& reference) {
  const std::size_t at = name.find('@');
  if (at != std::string_view::npos) {
    reference.digest = name.substr(at + 1);
    if (!is_digest(reference.digest))
      return invalid_reference(text, "expected sha256: and 64 hex digits after '@'");
    name = name.substr(0, at);
  }
  const std::size_t slash = name.find('/');
  std::string_view path = name;
  reference.registry = docker_hub;
  if (slash != std::string_view::npos && names_registry(name.substr(0, slash))) {
    reference.registry = name.substr(0, slash);
    path = name.substr(slash + 1);
  }
  if (reference.registry == "index.docker.io") reference.registry = docker_hub;
  if (!is_registry(reference.registry))
    return invalid_reference(text, "expected HOST[:PORT] before the first '/'");
  if (const std::size_t colon = path.find(':'); colon != std::string_view::npos) {
    reference.tag = path.substr(colon + 1);
    if (!is_tag(reference.tag))
      return invalid_reference(
          text, "expected up to 128 letters, digits, '_', '.' and '-' as the tag after ':'");
    path = path.substr(0, colon);
  }
  reference.repository = path;
  if (reference.registry == docker_hub && path.find('/') == std::string_view::npos)
    reference.repository = "library/" + std::string(path);
  if (!is_repository(reference.repository))
    return invalid_reference(text,
                             "expected a name of lower-case letters and digits, with '/', '.', '_' "
                             "and '-' between them");
  if (!reference.digest.empty())
    reference.tag.clear();
  else if (reference.tag.empty())
    reference.tag = "latest";
  return {};
}

/// "PATH[:REST]".
Result<std::string_view> read_path(std::string_view text, std::string_view rest,
                                   Reference& reference) {
  const std::size_t colon = rest.find(':');
  reference.path = rest.substr(0, colon);
  if (reference.path.empty() || reference.path.find('\0') != std::string::npos)
    return invalid_reference(text, "expected a path after the first ':'");
  return colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
}

struct Word {
  std::string_view start;
  Reference::Transport transport;
};
constexpr std::string_view registry_word = "docker://";
constexpr std::array<Word, 5> words = {
    {{registry_word, Reference::Transport::registry},
     {"docker-archive:", Reference::Transport::docker_archive},
     {"oci:", Reference::Transport::oci},
     {"docker-daemon:", Reference::Transport::docker_daemon},
     {"containers-storage:", Reference::Transport::containers_storage}}};

std::string name_text(const Reference& reference) {
  std::string text = reference.registry + "/" + reference.repository;
  if (!reference.tag.empty()) text += ":" + reference.tag;
  if (!reference.digest.empty()) text += "@" + reference.digest;
  return text;
}

}  // namespace

bool is_digest(std::string_view text) {
  return text.starts_with(digest_start) && text.size() == digest_start.size() + digest_hex_bytes &&
         text.find_first_not_of("0123456789abcdef", digest_start.size()) == std::string_view::npos;
}

Result<Reference> reference_from(std::string_view text) {
  Reference reference;
  std::string_view rest = text;
  for (const Word& word : words) {
    if (!text.starts_with(word.start)) continue;
    reference.transport = word.transport;
    rest.remove_prefix(word.start.size());
  }
  if (reference.transport == Reference::Transport::registry || is_of_engine(reference)) {
    TRY(read_name(text, rest, reference));
    if (is_of_engine(reference) && !reference.digest.empty())
      return invalid_reference(text, "use a tag: engines cannot find images by digest");
    return reference;
  }
  const std::string_view inside = TRY(read_path(text, rest, reference));
  if (inside.empty()) return reference;
  if (reference.transport == Reference::Transport::docker_archive) {
    TRY(read_name(text, inside, reference));
    if (!reference.digest.empty())
      return invalid_reference(text, "use a tag: images in an archive cannot be found by digest");
  } else if (is_tag(inside)) {
    reference.tag = inside;
  } else {
    return invalid_reference(text, "expected oci:FOLDER[:TAG]");
  }
  return reference;
}

std::string to_text(const Reference& reference) {
  switch (reference.transport) {
    case Reference::Transport::docker_archive:
      return "docker-archive:" + reference.path +
             (reference.repository.empty() ? "" : ":" + name_text(reference));
    case Reference::Transport::oci:
      return "oci:" + reference.path + (reference.tag.empty() ? "" : ":" + reference.tag);
    case Reference::Transport::docker_daemon:
      return "docker-daemon:" + name_text(reference);
    case Reference::Transport::containers_storage:
      return "containers-storage:" + name_text(reference);
    case Reference::Transport::registry:
      break;
  }
  const std::string name = name_text(reference);
  const bool misread = std::any_of(words.begin(), words.end(),
                                   [&](const Word& word) { return name.starts_with(word.start); });
  return misread ? std::string(registry_word) + name : name;
}

bool is_of_engine(const Reference& reference) {
  return reference.transport == Reference::Transport::docker_daemon ||
         reference.transport == Reference::Transport::containers_storage;
}

}  // namespace muster::image
