#include "image/source.h"

#include "aws/digest.h"
#include "base/text.h"

namespace muster::image {

/// Each part with its length, so that no two lists of parts are one text.
Source::Source(const std::vector<std::string_view>& parts) {
  std::string text;
  for (const std::string_view part : parts)
    text += std::to_string(part.size()) + ":" + std::string(part);
  id_ = hex(aws::view_of(aws::sha256(text)));
}

Source Source::pulled(std::string_view registry, std::string_view repository,
                      std::string_view login) {
  return Source({"pulled", registry, repository, login});
}

Source Source::pushed(std::string_view repository) {
  return Source({"pushed", repository});
}

Source Source::imported(std::string_view from) {
  return Source({"imported", from});
}

Source Source::handed_over() {
  return Source({"handed over"});
}

}  // namespace muster::image
