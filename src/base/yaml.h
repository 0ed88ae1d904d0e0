#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace muster {

constexpr std::size_t yaml_bytes_max = 1u << 20;
constexpr int yaml_nesting_max = 100;
/// Nodes of a document and the bytes of their texts, counted again wherever an alias repeats them:
/// nine lines of aliases could mean a billion nodes.
constexpr std::size_t yaml_weight_max = 4u << 20;

struct YamlOptions {
  /// The value of a node with a tag that the document defines (`!Ref X`); `tag` is "!Ref". If this
  /// is null, such a tag is an error.
  std::function<Result<Json>(std::string_view tag, Json value)> tagged = nullptr;
  /// Numbers, truth values and dates stay the text that they were written as; only a plain empty
  /// value, `~` and `null` are null.
  bool is_text_kept = false;
};

/// Reads one YAML document, from bytes that anybody may have written. Never throws.
///
/// Plain values mean what YAML 1.2's core schema says (`yes` and `on` are texts), but for numbers
/// that begin with a zero (`0755`, an account's `012345678901`), which YAML 1.1 and 1.2 take
/// differently, and `.inf` and `.nan`: these stay texts. A key is a text. Error: `invalid_input`
/// with the line: not YAML, a key given twice, a merge key (`<<`), a second document, more than
/// the limits above.
Result<Json> parse_yaml(std::string_view text, const YamlOptions& options = {});

}  // namespace muster
