#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace muster {

constexpr std::size_t yaml_bytes_max = 1u << 20;
constexpr int yaml_nesting_max = 100;
/// Nodes of a document and the bytes of their texts, counted again wherever an alias repeats them:
/// nine lines of aliases could mean a billion nodes.
constexpr std::size_t yaml_weight_max = 4u << 20;

/// A node as it is written.
struct YamlNode {
  enum class Kind { plain, quoted, block, list, map };
  Kind kind = Kind::plain;
  std::size_t line = 0;  ///< From 1.
  std::string text{};    ///< A scalar has one; scalars are the first three kinds.
  std::string tag{};     ///< "!Ref"; empty: none. A scalar with YAML's own !!str is `quoted`.
  std::string key{};     ///< In a map.
  std::size_t key_line = 0;
  std::vector<YamlNode> items{};  ///< In the order in which they are written.

  bool is_scalar() const { return kind != Kind::list && kind != Kind::map; }
};

struct YamlOptions {
  /// The value of a node with a tag that the document defines (`!Ref X`); `tag` is "!Ref". If this
  /// is null, such a tag is an error.
  std::function<Result<Json>(std::string_view tag, Json value)> tagged = nullptr;
  /// Numbers, truth values and dates stay the text that they were written as; only a plain empty
  /// value, `~` and `null` are null.
  bool is_text_kept = false;
};

/// Reads one YAML document, from bytes that anybody may have written. Never throws. A key is a
/// text. Error: `invalid_input` with the line: not YAML, a key given twice, a merge key (`<<`), a
/// second document, more than the limits above.
Result<YamlNode> read_yaml(std::string_view text);

/// What a node means. Never throws.
///
/// Plain values mean what YAML 1.2's core schema says (`yes` and `on` are texts), but for numbers
/// that begin with a zero (`0755`, an account's `012345678901`), which YAML 1.1 and 1.2 take
/// differently, and `.inf` and `.nan`: these stay texts. Error: `invalid_input` with the line: a
/// tag that is not supported.
Result<Json> json_of(const YamlNode& node, const YamlOptions& options = {});

/// Both.
Result<Json> parse_yaml(std::string_view text, const YamlOptions& options = {});

}  // namespace muster
