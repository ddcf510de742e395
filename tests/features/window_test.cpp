// The prefetch window on every device: rows are the table's after any earlier requests, also after an error during a fetch.
#include "features/window.hpp"

#include "core/progress.hpp"
#include "core/random.hpp"
#include "memory/budget.hpp"
#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;

constexpr std::uint64_t rows = 3000, width = 6;

struct table {
  execution_device where;
  std::vector<float> values = std::vector<float>(rows * width);
  tiered_tensor tensor;
  static tiered_options kept(execution_device p) {
    tiered_options o;
    o.device = p;
    if (p.kind != device_kind::cpu) o.feature_cache = 100 * width * 4;
    return o;
  }
  explicit table(execution_device p) : where(p), tensor((fill(), row_array{values.data(), rows, width, element::f32, {}}), kept(p)) {}
  void fill() {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  }
  row_window window(std::uint64_t most_rows) { return {where, tensor_access::view(tensor), element::f32, most_rows * width * 4, 0}; }
};

using batches = std::vector<std::vector<std::int64_t>>;
batches some_batches(std::uint64_t group, std::uint64_t each = 200) {
  batches all(4);
  for (std::uint64_t b = 0; b < all.size(); ++b)
    for (std::uint64_t i = 0; i < each; ++i) all[b].push_back(static_cast<std::int64_t>(random_bits(3, group * 4 + b, i) % rows));
  return all;
}
row_window::fetched_rows fetch(row_window& w, batches const& of, std::vector<buffer<std::int64_t>>& near) {
  near.clear();
  std::vector<id_span> ids;
  for (auto const& b : of) near.push_back(near_copy(w.at(), b)), ids.push_back({near.back().data(), b.size(), 8});
  return w.fetch(ids);
}
// Read by another stream, which returns the lease only then.
void expect_rows(row_window& w, lease<row_view> from, batches const& of, std::vector<buffer<std::int64_t>> const& near) {
  executor x(w.at(), executor::urgent{});
  row_view const view = from.use(x);
  std::vector<buffer<float>> outs;
  for (std::size_t b = 0; b < of.size(); ++b) {
    outs.emplace_back(x.near(), of[b].size() * width, x.device(), "a test");
    gather_how how;
    how.strategy = gather_strategy::aligned;
    gather_from(x, view, {near[b].data(), of[b].size(), 8}, outs[b].data(), how);
  }
  from.end();
  x.wait();
  for (std::size_t b = 0; b < of.size(); ++b) {
    std::vector<float> const got = host_copy(x, outs[b].data(), outs[b].size());
    for (std::size_t i = 0; i < of[b].size(); ++i)
      for (std::size_t k = 0; k < width; ++k)
        ASSERT_EQ(got[i * width + k], static_cast<float>(static_cast<std::uint64_t>(of[b][i]) * width + k)) << b << " " << i;
  }
}

class window_at : public at_place {};
GARNER_AT_EVERY_PLACE(window_at);

TEST_P(window_at, gives_the_rows_of_the_table_and_reads_each_far_one_once) {
  table t(where());
  for (std::uint64_t const most : {std::uint64_t{0}, std::uint64_t{3}, std::uint64_t{500}, rows}) {
    row_window w = t.window(most);
    std::vector<buffer<std::int64_t>> near;
    for (std::uint64_t g = 0; g < 6; ++g) {
      batches const of = some_batches(g / 2);  // each twice in a row
      auto [run, rows_of] = fetch(w, of, near);
      EXPECT_EQ(run.ids, 800u);
      EXPECT_LE(run.fetched + run.left_far, run.far);
      EXPECT_EQ(w.full(), run.left_far > 0);
      EXPECT_TRUE(most < rows || g % 2 == 0 || run.fetched == 0) << g;
      expect_rows(w, std::move(rows_of), of, near);
    }
  }
}

// A group's rows are valid until its lease ends: while the next group arrives, replaces other rows, and needs a larger
// window.
TEST_P(window_at, keeps_what_a_lease_names) {
  for (int trial = runs_later(where()) ? 20 : 1; trial; --trial) {
    table t(where());
    row_window w = t.window(rows);
    std::vector<buffer<std::int64_t>> near, near_before;
    batches before = some_batches(0, 20);
    lease<row_view> rows_before = fetch(w, before, near_before).rows;
    for (std::uint64_t g = 1; g < 7; ++g) {
      batches const of = some_batches(g, g < 4 ? 20 + 100 * g : 30);
      lease<row_view> rows_of = fetch(w, of, near).rows;
      expect_rows(w, std::move(rows_before), before, near_before);
      rows_before = std::move(rows_of), before = of, near_before = std::move(near);
    }
    expect_rows(w, std::move(rows_before), before, near_before);
  }
}
TEST_P(window_at, does_not_change_what_is_read_where_it_lies) {
  table t(where());
  row_window w = t.window(300);
  std::vector<buffer<std::int64_t>> near, more;
  batches const of = some_batches(0);
  lease<row_view> rows_of = fetch(w, of, near).rows;
  ASSERT_TRUE(w.full());
  errc code{};
  error_of([&] { fetch(w, some_batches(1), more); }, &code);
  EXPECT_EQ(code, errc::internal);
  expect_rows(w, std::move(rows_of), of, near);
  batches const next = some_batches(1);
  expect_rows(w, fetch(w, next, more).rows, next, more);
}

TEST_P(window_at, is_whole_again_after_memory_ran_out) {
  if (where().kind == device_kind::cuda) GTEST_SKIP() << "the budget of the host is what runs out here";
  table t(where());
  row_window w = t.window(rows);
  std::vector<buffer<std::int64_t>> near;
  std::vector<buffer<std::int64_t>> near_before;
  batches const little = some_batches(0, 10);
  expect_rows(w, fetch(w, little, near_before).rows, little, near_before);
  batches const larger = some_batches(1, 400);
  std::uint64_t const before = host_budget().limit();
  std::uint64_t refused = 0;
  for (std::uint64_t room = 0; room < 200000; room += 5000) {
    host_budget().set_limit(host_budget().used() + 20000 + room);
    try {
      auto [run, rows_of] = fetch(w, larger, near);  // in the existing window, if a larger one is refused
      host_budget().set_limit(before);
      expect_rows(w, std::move(rows_of), larger, near);
      if (run.left_far == 0) break;
    } catch (error const& e) {
      ASSERT_EQ(e.code(), errc::memory) << e.what();
      ++refused;
    }
    host_budget().set_limit(before);
  }
  EXPECT_GT(refused, 0u);
  expect_rows(w, fetch(w, larger, near).rows, larger, near);
}

TEST_P(window_at, is_whole_again_after_an_interrupt) {
  if (runs_later(where())) GTEST_SKIP() << "what was given to a device happens";
  table t(where());
  row_window w = t.window(rows);
  std::uint64_t interrupted = 0;
  for (std::uint64_t checks = 0;; ++checks) {  // at each cancellation point of a fetch
    batches const of = some_batches(checks, 60);
    std::vector<buffer<std::int64_t>> near;
    request_interrupt_after(checks);
    bool whole = true;
    try {
      fetch(w, of, near);
    } catch (error const& e) {
      ASSERT_EQ(e.code(), errc::interrupted) << e.what();
      ++interrupted, whole = false;
    }
    clear_interrupt();
    expect_rows(w, fetch(w, of, near).rows, of, near);
    if (whole) break;
  }
  EXPECT_GT(interrupted, 10u);
}

}  // namespace
}  // namespace garner
