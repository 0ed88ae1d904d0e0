#pragma once

#include <string_view>

namespace muster::web {

/// The files of the web page, from web/, which are embedded in `sm` and compressed with gzip.
///
/// Pure: bytes of the program. Source: tools/pack_web.py, which packs them.
struct WebFile {
  std::string_view name;    ///< As in web/: "app/main.js"
  std::string_view type;    ///< For Content-Type.
  std::string_view packed;  ///< gzip
};

/// Null if web/ has no such file. Every view loads "index.html" first.
const WebFile* find_web_file(std::string_view name);

/// 16 hex digits that change with any byte of any file. Files are served in a folder of this name,
/// so that browsers can cache them forever.
std::string_view web_edition();

}  // namespace muster::web
