#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aws/api/request.h"
#include "base/json.h"
#include "server/jobs/jobs.h"
#include "server/store/store.h"

namespace muster::server {

/// A call of Search, in steps that each look at a few jobs: a record is made of several tables, and
/// takes 0.1 ms and more. Belongs to the store's thread; all but `input` outlive it.
class JobSearch {
 public:
  JobSearch(store::Store& store, const jobs::Jobs& jobs, Json input);

  /// The answer, if this step was the last one.
  std::optional<api::Answer> step();

 private:
  Result<void, aws::Refusal> begin();
  Result<void, aws::Refusal> go_on_in_order();
  Result<Json> record_of(const std::string& name) const;
  Result<Json> match(const std::string& name) const;
  Result<void> look_at(const store::JobSummary& job);
  void begin_building();
  Result<void> build(const std::string& name);
  Json answer_so_far(bool is_total);
  api::Answer answer_in_order();
  api::Answer answer_by_property();

  store::Store& store_;
  const jobs::Jobs& jobs_;
  const Json input_;
  const std::string sort_by_;
  std::optional<store::SortBy> order_;  ///< None: no index has jobs in that order.
  store::JobQuery query_;
  std::size_t limit_ = 0;
  /// begin -> look; look -> build, by property only.
  enum class Stage { begin, look, build };
  Stage stage_ = Stage::begin;
  store::JobPage page_;
  std::size_t looked_at_ = 0;  ///< Jobs of the page.
  Json results_ = Json::array();
  std::size_t hits_ = 0;         ///< Matches on all pages so far, more than the results.
  std::size_t hits_before_ = 0;  ///< On earlier pages.
  std::optional<store::ListPlace> next_;
  std::vector<std::pair<Json, std::string>> found_;  ///< By property: its value, the job's name.
  std::size_t built_ = 0;                            ///< The place in `found_`.
};

}  // namespace muster::server
