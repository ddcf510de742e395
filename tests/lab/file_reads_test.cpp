// Loaders whose rows of a file are read as the papers do bring the same mini-batches: GIDS' window, BaM's clock and kernels.
#include <map>

#include "features/cache_plan.hpp"
#include "features/file_cache.hpp"
#include "lab/bam/page_cache.hpp"
#include "load/world.hpp"

namespace garner::lab {
namespace {
using namespace garner::testing;

loader_access::rows_source cached(eviction policy) {
  return [=](execution_device where, std::shared_ptr<stored_rows const> const& file, row_view const& table, file_cache::terms own) {
    own.policy = policy;
    return std::make_unique<file_cache>(where, file, table, own);
  };
}
loader_access::rows_source by_kernels() {
  return [](execution_device where, std::shared_ptr<stored_rows const> const& file, row_view const& table, file_cache::terms const& own) {
    return std::make_unique<page_cache>(where, file, table, page_cache::terms{own.host_bytes, own.device_bytes, own.factors, {}});
  };
}

class file_reads : public at_place {
 protected:
  load_report two_epochs(filed_world& w, loader_options const& o, std::vector<taken_batch>& all,
                         loader_access::rows_source const& source = {}) {
    loader l = w.load(1000, o, source);
    for (int e = 0; e < 2; ++e)
      for (taken_batch& b : epoch_of(l, where())) all.push_back(std::move(b));
    return l.report();
  }
};
GARNER_AT_EVERY_PLACE(file_reads);

TEST_P(file_reads, are_the_same_by_every_policy) {
  std::vector<taken_batch> first;
  std::map<std::pair<eviction, std::uint32_t>, std::uint64_t> hits;
  for (std::uint32_t const window : {1u, 3u, 8u}) {
    for (eviction const policy : all_evictions) {
      filed_world w(where(), 300, 1100, 900);
      loader_options o;
      o.batch_size = 64, o.window = window, o.prefetch = 1 + window % 3;
      if (first.empty()) two_epochs(w, o, first);
      std::vector<taken_batch> all;
      load_report const r = two_epochs(w, o, all, cached(policy));
      EXPECT_TRUE(all == first) << to_string(policy) << " " << window;
      EXPECT_EQ(r.rows[tier::file], r.file_hits + r.file_reads);
      EXPECT_GT(r.file_reads, 0u);
      hits[{policy, window}] = r.file_hits;
    }
    for (eviction const policy : all_evictions)
      EXPECT_GE((hits[{eviction::next_use, window}]), (hits[{policy, window}]) * 98 / 100) << to_string(policy) << " " << window;
  }
}

TEST_P(file_reads, are_asked_for_by_kernels) {
  std::vector<taken_batch> first;
  std::vector<std::uint64_t> reads;
  for (std::uint64_t const near : {0u, 1u, 8u, 5000u}) {  // pages: a slot, one of them, half, and all
    filed_world w(where(), 300, 1500, 900);
    loader_options o;
    o.batch_size = 64, o.window_bytes = near * 4096;
    if (first.empty()) two_epochs(w, o, first);
    std::vector<taken_batch> all;
    load_report const r = two_epochs(w, o, all, by_kernels());
    EXPECT_TRUE(all == first) << near;
    EXPECT_GT(r.file_reads, 0u);
    EXPECT_LE(r.file_hits, r.rows[tier::file]);
    EXPECT_EQ(r.file_bytes, r.file_reads * 4096);
    reads.push_back(r.file_reads);
  }
  EXPECT_TRUE(std::is_sorted(reads.rbegin(), reads.rend())) << ::testing::PrintToString(reads);
  std::uint64_t const pages = (std::uint64_t{vertices} * width * 4 + 128 + 4095) / 4096;
  if (where().kind != device_kind::cpu) {
    EXPECT_LE(reads.back(), pages);  // each page once
  }
}

}  // namespace
}  // namespace garner::lab
