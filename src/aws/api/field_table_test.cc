#include "aws/api/field_table.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

#include "aws/api/model.h"
#include "base/text.h"

namespace muster::api {
namespace {

using Paths = std::multiset<std::string>;

Paths paths_of(std::string_view operation) {
  Paths paths;
  for (const FieldRow& row : field_rows(operation))
    for (const std::string& path : split_words(row.paths)) paths.insert(path);
  return paths;
}

bool is_below(const std::string& path, const std::string& other) {
  return path.empty() || other.starts_with(path + ".");
}

/// Takes what the model has out of `paths`; what it has and the table lacks comes into `missing`.
void walk(const Service& service, const Shape& shape, const std::string& path, Paths& paths,
          std::set<std::string>& missing) {
  if (shape.kind == Kind::list)
    return walk(service, service.shapes[service.members_of(shape)[0].shape], path, paths, missing);
  const bool named = paths.contains(path);
  const bool below = std::any_of(paths.begin(), paths.end(),
                                 [&](const std::string& each) { return is_below(path, each); });
  if (below && shape.kind == Kind::structure)
    for (const Member& member : service.members_of(shape))
      walk(service, service.shapes[member.shape],
           (path.empty() ? "" : path + ".") + std::string(member.name), paths, missing);
  else if (!named && !path.empty())
    missing.insert(path);
  paths.erase(path);
}

TEST_CASE("field table: every member that the model has, each once, and no other") {
  for (const Service* service : services())
    for (const Operation& operation : service->operations) {
      CAPTURE(operation.name);
      Paths paths = paths_of(operation.name);
      for (const std::string& path : paths) CHECK_MESSAGE(paths.count(path) == 1, path);
      std::set<std::string> missing;
      if (operation.input != no_shape)
        walk(*service, service->shapes[operation.input], "", paths, missing);
      for (const std::string& path : missing) FAIL_CHECK("has no row: " << path);
      for (const std::string& path : paths) FAIL_CHECK("is not in the model: " << path);
    }
}

TEST_CASE("field table: each ignored field says what applies instead") {
  for (const FieldRow& row : create_training_job_rows())
    if (row.treatment != Treatment::heeded) CHECK_MESSAGE(!row.what.empty(), row.paths);
}

}  // namespace
}  // namespace muster::api
