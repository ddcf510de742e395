// Owns the rows of a table in its tiers: the hottest on the device, the next on its peers, all of them in the user's own array. If the
// table stays in a file, host memory has the next ones, and the rest is only in the file. Invariant: the view refers to this object; a
// placement does not move. Cost: cached rows are read once from the user's array; 4 bytes per row for ranks if scores order them.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "core/executor.hpp"
#include "features/place_rows.hpp"
#include "features/row_view.hpp"
#include "features/sources.hpp"
#include "garner/features.hpp"

namespace garner {

class row_placement {
 public:
  row_placement(executor& x, row_array const& source, row_sender& sender, tiered_options const& o);
  // Same distribution as another one: the same rows are on the device, the others are read where `first` reads them. errc::usage between
  // devices of different kinds, and if peers are processes.
  row_placement(executor& x, row_array const& source, row_sender& sender, row_placement const& first);
  row_placement(row_placement const&) = delete;
  row_placement& operator=(row_placement const&) = delete;

  row_view const& view() const { return view_; }
  std::string const& about() const { return about_; }
  std::uint64_t file_cache_bytes() const { return file_.cache_bytes; }  // for rows that come from the file
  std::vector<float> const& file_scores() const { return scores_; }     // of all rows, where some stay in the file and scores were given
  std::optional<double> far_share() const { return far_share_; }        // of the ids of a gather, estimated by scores
  void require_peers() const;                                           // errc::device where a process that holds rows has ended

 private:
  void place(tiered_options const& o);
  std::string same_for_all(tiered_options const& o) const;
  void keep_ranks(buffer<std::uint64_t> const& hot);
  void see_kept(std::uint64_t near, std::uint64_t peer);  // rows on the device and on peers, into the view
  void map_rest();
  void map();  // the device reads the user's array in place
  void fetch_near(buffer<std::uint64_t> const& hot, std::uint64_t n, progress& told);
  void tell(std::string const& note);

  executor& x_;
  row_array const& source_;
  row_sender& sender_;
  row_view view_;
  std::optional<unified_tensor> mapped_;
  memory_block near_rows_, ranks_;
  std::shared_ptr<memory_block const> host_rows_;  // of a file; shared by all tensors with the same distribution
  file_shares file_;
  std::vector<float> scores_;
  std::shared_ptr<rows_on_peers const> peers_;  // shared by all tensors with the same distribution
  std::string about_;
  std::optional<double> far_share_;
};

}  // namespace garner
