#pragma once

#include <string>
#include <vector>

#include "base/topic.h"

namespace muster::command {

// What `sm explain` prints, of at most 80 columns where the words allow it. Pure.

/// A section of the page: its title, the messages, its paragraphs without Markdown's marks.
std::string explained(const Topic& topic);
/// All names with their titles, by group.
std::string topic_list(const std::vector<Topic>& topics);

}  // namespace muster::command
