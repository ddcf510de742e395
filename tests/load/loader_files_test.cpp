// Rows that stay in a file: the same by every policy, in epochs that break off, and after a fork.
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "load/world.hpp"

namespace garner {
namespace {
using namespace garner::testing;

class loader_at : public at_place {};
GARNER_AT_EVERY_PLACE(loader_at);

TEST_P(loader_at, rows_that_stay_in_a_file_are_the_same_by_every_policy) {
  std::vector<taken_batch> first;
  {
    world w(where());
    loader_options o;
    o.batch_size = 64;
    loader l = w.load(1000, o);
    for (int e = 0; e < 2; ++e)
      for (taken_batch& b : epoch_of(l, where())) first.push_back(std::move(b));
  }
  std::map<std::pair<cache_policy, std::uint32_t>, std::uint64_t> hits;
  for (cache_policy const policy : all_cache_policies)
    for (std::uint32_t const window : {1u, 3u, 8u})
      for (std::uint64_t const cached : {900u, 1500u}) {
        filed_world w(where(), 300, cached + 200, cached);
        loader_options o;
        o.batch_size = 64, o.window = window, o.prefetch = 1 + window % 3, o.cache = policy;
        loader l = w.load(1000, o);
        std::vector<taken_batch> all;
        for (int e = 0; e < 2; ++e)
          for (taken_batch& b : epoch_of(l, where())) all.push_back(std::move(b));
        EXPECT_TRUE(all == first) << to_string(policy) << " " << window << " " << cached;
        load_report const r = l.report();
        EXPECT_EQ(r.rows[tier::file], r.file_hits + r.file_reads);
        EXPECT_EQ(r.file_bytes, r.file_reads * width * 4);
        EXPECT_GT(r.file_reads, 0u);
        EXPECT_GT(r.rows[tier::host], 0u);
        if (cached == 900) hits[{policy, window}] = r.file_hits;
      }
  for (std::uint32_t const window : {1u, 3u, 8u})
    for (cache_policy const policy : all_cache_policies)
      EXPECT_GE((hits[{cache_policy::next_use, window}]), (hits[{policy, window}]) * 98 / 100) << to_string(policy) << " " << window;
}

// A forked child has the memory of a loader and a table without their threads: it releases them, and the parent continues.
TEST_P(loader_at, a_child_by_fork_lets_go_of_what_its_parent_made) {
  filed_world w(where(), 300, 1100, 900);
  loader_options o;
  o.batch_size = 64;
  std::vector<taken_batch> const whole = [&] {
    loader all = w.load(600, o);
    return epoch_of(all, where());
  }();
  auto l = std::make_unique<loader>(w.load(600, o));
  executor x(where());
  std::vector<std::int64_t> const some{1, 2, 2900};
  std::vector<float> rows(some.size() * width);
  if (where().kind != device_kind::cuda) w.in_file->gather(std::span(some), rows);
  std::vector<taken_batch> got;
  while (std::optional<mini_batch> b = l->next()) {
    got.push_back(taken(x, *b));
    ::pid_t const child = ::fork();
    if (child == 0) {
      ::alarm(20);  // ends a child that waits for a missing thread
      b.reset();
      if (got.size() % 2 || where().kind == device_kind::cuda) l.reset();  // a child cannot use a GPU
      else *l = w.load(600, o);                                            // which replaces it
      w.in_file.reset();
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
  EXPECT_TRUE(got == whole);
}

TEST_P(loader_at, rows_that_stay_in_a_file_come_by_way_of_near_memory) {
  std::vector<taken_batch> first;
  for (std::uint64_t const near : {0u, 1u, 700u, 5000u}) {
    filed_world w(where(), 100, 1200, 900);
    loader_options o;
    o.batch_size = 64, o.window = 4, o.window_bytes = near * width * 4;
    loader l = w.load(1000, o);
    std::vector<taken_batch> all;
    for (int e = 0; e < 2; ++e)
      for (taken_batch& b : epoch_of(l, where())) all.push_back(std::move(b));
    if (first.empty()) first = all, expect_right(w.w, {all.begin(), all.begin() + 16}, seeds_of(1000), 16);
    EXPECT_TRUE(all == first) << near;
    load_report const r = l.report();
    EXPECT_EQ(r.rows[tier::file], r.file_hits + r.file_reads);
    bool const all_near = near == 5000 && where().kind != device_kind::cpu;  // then each is read once
    EXPECT_TRUE(!all_near || r.file_reads <= vertices) << r.file_reads;
  }
}

TEST_P(loader_at, rows_that_stay_in_a_file_come_in_an_epoch_that_is_broken_off_and_resumed) {
  filed_world w(where(), 0, 1500, 1200);
  loader_options o;
  o.batch_size = 64, o.window = 3;
  loader l = w.load(1000, o);
  std::vector<taken_batch> const whole = epoch_of(l, where());
  executor x(where());
  for (std::size_t const stop : {0u, 1u, 5u, 16u}) {
    l.begin(0);
    std::size_t n = 0;
    while (n < stop)
      if (l.next()) ++n;
    l.stop();
    for (std::size_t k = stop; k < whole.size(); ++k) {
      std::optional<mini_batch> const b = l.next();
      ASSERT_TRUE(b);
      EXPECT_TRUE(taken(x, *b) == whole[k]) << stop << " " << k;
    }
  }
}

TEST_P(loader_at, says_where_a_mini_batch_has_no_room_for_its_rows_of_a_file) {
  filed_world w(where(), 0, 200);
  loader_options o;
  o.batch_size = 64, o.window = 3, o.window_bytes = 0;
  loader l = w.load(1000, o);
  for (int again = 0; again < 2; ++again) {
    errc code{};
    std::string const why = error_of([&] { l.next(); }, &code);
    EXPECT_EQ(code, errc::usage);
    EXPECT_NE(why.find("than the 50 that their cache holds; use a larger budget for it"), std::string::npos) << why;
  }
}

TEST_P(loader_at, an_error_of_the_drive_comes_after_the_mini_batches_before_it) {
  filed_world w(where(), 0, 1500, 1200);
  loader_options o;
  o.batch_size = 64, o.window = 2;
  loader l = w.load(1000, o);
  ASSERT_TRUE(l.next());
  std::filesystem::resize_file(w.file(), std::filesystem::file_size(w.file()) - 4);
  errc code{};
  std::string const why = error_of(
      [&] {
        while (l.next())
          ;
      },
      &code);
  EXPECT_EQ(code, errc::input) << why;
  EXPECT_NE(why.find(w.file()), std::string::npos) << why;
  EXPECT_NE(error_of([&] { l.next(); }).find(w.file()), std::string::npos);
}

}  // namespace
}  // namespace garner
