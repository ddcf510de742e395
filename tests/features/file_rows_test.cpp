// Tables in a file: the same rows as a table in memory for any tiers, errors that name file and row, and the reads that a drive wants.
#include "features/file_tables.hpp"

#include <cstring>
#include <filesystem>

#include "features/place_rows.hpp"
#include "refused.hpp"
#include "storage/measure.hpp"

namespace garner {
namespace {
using namespace garner::testing;

class file_rows_at : public at_place {
 protected:
  a_folder folder;
};
GARNER_AT_EVERY_PLACE(file_rows_at);

TEST_P(file_rows_at, are_those_of_the_table_in_any_mixture) {
  for (std::uint64_t const width : {1u, 3u, 64u, 1024u}) {
    std::uint64_t const n = width == 1024 ? 500 : rows;
    std::string const file = folder.numbered(width, n);
    row_array const table = open_rows(file);
    EXPECT_EQ(table.rows, n);
    EXPECT_EQ(table.width, width);
    EXPECT_EQ(table.data, nullptr);
    std::vector<float> scores(n);
    for (std::uint64_t i = 0; i < n; ++i) scores[i] = static_cast<float>(random_bits(9, 1, i) % 100);
    for (bool const scored : {false, true})
      for (std::uint64_t const near : {0u, 100u})
        for (std::uint64_t const host : {1u, 40u, 300u, 5000u}) {
          tiered_options o;
          o.device = where(), o.feature_cache = near * width * 4, o.host_cache = host * width * 4;
          if (scored) o.scores = scores;
          tiered_tensor t(table, o);
          rows_by_tier const lie = t.tiers();
          std::uint64_t const kept = where().kind == device_kind::cpu ? 0 : near;
          EXPECT_EQ(lie[tier::device], kept);
          EXPECT_EQ(lie.all(), n);
          if (host < n - kept) {
            EXPECT_EQ(lie[tier::host], host - std::max<std::uint64_t>(host / 4, 1)) << t.about();
            EXPECT_GT(lie[tier::file], 0u);
            EXPECT_THAT(t.about(), HasSubstr(file));
          } else {
            EXPECT_EQ(lie[tier::host], n - kept);
            EXPECT_EQ(lie[tier::file], 0u);
          }
          std::vector<std::int64_t> const ids = some_ids(host, 400, n);
          for (int again = 0; again < 2; ++again) expect_rows(t, ids);
          expect_rows(t, {});
          expect_rows(t, {static_cast<std::int64_t>(n) - 1});
          executor x(where());
          auto const here = near_copy(x, ids);
          rows_by_tier const hits = t.hits({here.data(), ids.size(), 8});
          EXPECT_EQ(hits.all(), ids.size());
          std::vector<std::uint64_t> hottest(n);
          std::iota(hottest.begin(), hottest.end(), std::uint64_t{0});
          if (scored) std::stable_sort(hottest.begin(), hottest.end(), [&](auto a, auto b) { return scores[a] > scores[b]; });
          std::vector<bool> in_file(n, true);
          for (std::uint64_t k = 0; k < n - lie[tier::file]; ++k) in_file[hottest[k]] = false;
          std::uint64_t filed = 0;
          for (std::int64_t const id : ids) filed += in_file[static_cast<std::size_t>(id)];
          EXPECT_EQ(hits[tier::file], filed) << t.about();
        }
  }
}

TEST_P(file_rows_at, of_a_row_file_are_those_of_the_array_that_it_was_made_of) {
  for (std::uint64_t const width : {1u, 100u, 128u, 602u, 1024u, 3000u})
    for (std::uint32_t const page : {512u, 4096u, 65536u})
      for (unsigned const stripes : {1u, 3u}) {
        std::uint64_t const n = width > 600 ? 200 : rows;
        std::string const file = folder.at("rows.gnt").string();
        page_file_options how;
        how.page_bytes = page, how.unit_pages = 3;
        for (unsigned k = 0; stripes > 1 && k < stripes; ++k) {
          how.folders.push_back(folder.at(std::to_string(k)).string());
          std::filesystem::create_directories(how.folders.back());
        }
        convert_rows(folder.numbered(width, n), file, how);
        row_array const table = open_rows(file);
        EXPECT_EQ(table.rows, n);
        EXPECT_EQ(table.width, width);
        EXPECT_EQ(table.kind, element::f32);
        for (std::uint64_t const host : {1u, 60u, 100000u}) {
          tiered_options o;
          o.device = where(), o.feature_cache = 10 * width * 4, o.host_cache = host * width * 4;
          tiered_tensor t(table, o);
          EXPECT_EQ(t.tiers()[tier::file] == 0, host == 100000u);
          for (int again = 0; again < 2; ++again) expect_rows(t, some_ids(width + host, 150, n));
        }
        row_array const whole = read_rows(file), mapped = map_rows(file);
        for (row_array const& all : {whole, mapped})
          for (std::uint64_t k = 0; k < n * width; ++k) ASSERT_EQ(static_cast<float const*>(all.data)[k], static_cast<float>(k));
      }
}

TEST_P(file_rows_at, come_for_many_mini_batches_and_every_way) {
  std::string const file = folder.numbered(5);
  tiered_options o;
  o.device = where(), o.feature_cache = 2000, o.host_cache = 200 * 20;
  tiered_tensor t(open_rows(file), o);
  executor x(where());
  std::vector<buffer<std::int64_t>> near;
  std::vector<buffer<float>> out;
  std::vector<std::vector<std::int64_t>> ids;
  std::vector<id_span> of;
  std::vector<row_output> to;
  for (std::uint64_t b = 0; b < 70; ++b) {
    ids.push_back(some_ids(b, b * 3));
    near.push_back(near_copy(x, ids.back()));
    out.emplace_back(x.near(), ids.back().size() * 5 + 1, x.device(), "a test");
    of.emplace_back(near.back().data(), ids.back().size(), 8);
    to.emplace_back(out.back());
  }
  for (gather_strategy const strategy :
       {gather_strategy::automatic, gather_strategy::naive, gather_strategy::shifted, gather_strategy::aligned})
    for (gather_order const order : {gather_order::automatic, gather_order::none, gather_order::sorted, gather_order::bucketed}) {
      gather_options how;
      how.strategy = strategy, how.order = order;
      for (auto const& each : out) x.fill(each.data(), 0xff, each.bytes());
      x.wait();
      gather_run const run = t.gather_many(of, to, how);
      EXPECT_GT(run.file_rows, 0u);
      EXPECT_GE(run.file_rows, run.file_reads);
      for (std::uint64_t b = 0; b < ids.size(); ++b) {
        auto const got = host_copy(x, out[b].data(), ids[b].size() * 5);
        for (std::uint64_t k = 0; k < got.size(); ++k)
          ASSERT_EQ(got[k], static_cast<float>(ids[b][k / 5] * 5 + static_cast<std::int64_t>(k % 5))) << b;
      }
    }
  for (gather_strategy const strategy : {gather_strategy::staged, gather_strategy::bulk}) {
    gather_options how;
    how.strategy = strategy;
    EXPECT_TRUE(refused(errc::usage, "use automatic, naive, shifted or aligned", [&] { t.gather_many(of, to, how); }));
  }
}

TEST_P(file_rows_at, are_converted_by_their_factors) {
  constexpr std::uint64_t width = 24;
  std::vector<std::int8_t> values(rows * width);
  std::vector<float> factors(rows);
  for (std::uint64_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int8_t>(random_bits(2, 0, i));
  for (std::uint64_t r = 0; r < rows; ++r) factors[r] = 0.5f * static_cast<float>(r + 1);
  tiered_options o;
  o.device = where(), o.feature_cache = 50 * width, o.host_cache = 150 * width, o.scales = factors;
  tiered_tensor t(open_rows(folder.table("|i1", values, width)), o);
  executor x(where());
  std::vector<std::int64_t> const ids = some_ids(4, 700);
  auto const near = near_copy(x, ids);
  buffer<float> const out(x.near(), ids.size() * width, x.device(), "a test");
  gather_options how;
  how.to = element::f32;
  for (int again = 0; again < 3; ++again) {
    t.gather({near.data(), ids.size(), 8}, out, how);
    auto const got = host_copy(x, out.data(), out.size());
    for (std::uint64_t k = 0; k < got.size(); ++k) {
      auto const id = static_cast<std::uint64_t>(ids[k / width]);
      ASSERT_EQ(got[k], factors[id] * static_cast<float>(values[id * width + k % width])) << k;
    }
  }
  how.scales = factors;
  EXPECT_THAT(error_of([&] { t.gather({near.data(), ids.size(), 8}, out, how); }), HasSubstr("give them to the tensor"));
}

TEST_P(file_rows_at, ids_that_are_none_are_named_before_anything_is_read) {
  tiered_options o;
  o.device = where(), o.feature_cache = 0, o.host_cache = 400;
  tiered_tensor t(open_rows(folder.numbered(5)), o);
  executor x(where());
  auto const near = near_copy(x, std::vector<std::int64_t>{3, 1999, 2000});
  buffer<float> const out(x.near(), 15, x.device(), "a test");
  EXPECT_THAT(error_of([&] { t.gather({near.data(), 3, 8}, out); }), HasSubstr("2000"));
  expect_rows(t, some_ids(1, 50));
}

TEST_P(file_rows_at, an_interrupt_ends_a_gather_and_the_next_is_right) {
  if (runs_later(where())) GTEST_SKIP() << "what was given to a device happens";
  tiered_options o;
  o.device = where(), o.feature_cache = 0, o.host_cache = 80 * 20;
  tiered_tensor t(open_rows(folder.numbered(5)), o);
  executor x(where());
  std::vector<std::int64_t> const ids = some_ids(3, 500);
  auto const near = near_copy(x, ids);
  buffer<float> const out(x.near(), ids.size() * 5, x.device(), "a test");
  request_interrupt();
  EXPECT_TRUE(refused(errc::interrupted, [&] { t.gather({near.data(), ids.size(), 8}, out); }));
  clear_interrupt();
  expect_rows(t, ids);
}

TEST(file_rows, heads_of_any_length_and_files_that_are_too_short) {
  a_folder const folder;
  for (std::size_t const head : {128u, 192u, 4096u, 8128u}) {
    tiered_options o;
    o.host_cache = 64 * 28;
    tiered_tensor t(open_rows(folder.numbered(7, rows, head)), o);
    expect_rows(t, some_ids(head, 500));
  }
  std::string const file = folder.numbered(9);
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  EXPECT_THAT(error_of([&] { open_rows(file); }), HasSubstr("shorter than its header says"));
}

TEST(file_rows, budgets) {
  using both = std::pair<std::uint64_t, std::uint64_t>;
  auto const share = [](file_budget b) {
    file_shares const s = share_file_rows(b);
    return both(s.host, s.cache_bytes);
  };
  EXPECT_EQ(share({100, 10, 400, {}, 0}), both(30, 100));
  EXPECT_EQ(share({100, 10, {}, {}, 800}), both(30, 100));  // half of the free memory
  EXPECT_EQ(share({100, 10, 400, 400, 0}), both(0, 400));
  EXPECT_EQ(share({100, 10, 400, 10, 0}), both(39, 10));
  EXPECT_EQ(share({100, 10, 1000, 10, 0}), both(100, 0));  // all rows fit
  EXPECT_EQ(share({100, 10, 15, {}, 0}), both(0, 10));
  EXPECT_EQ(share({0, 10, 15, {}, 0}), both(0, 0));
  EXPECT_EQ(share({10, 0, 15, {}, 0}), both(0, 0));
  EXPECT_THAT(error_of([&] { share({100, 10, 9, {}, 0}); }), HasSubstr("a row takes 10 B"));
  EXPECT_THAT(error_of([&] { share({100, 10, 400, 401, 0}); }), HasSubstr("in a host budget of 400 B"));
  EXPECT_THAT(error_of([&] { share({100, 10, 400, 9, 0}); }), HasSubstr("9 B of host memory for rows"));
}

TEST(file_rows, of_tables_beside_each_other_lie_in_host_memory_once) {
  a_folder const folder;
  std::string const file = folder.numbered(5);
  for (execution_device const where : {execution_device{}, execution_device{device_kind::simulated, 0}}) {
    row_array const rows = open_rows(file);
    std::vector<float> scores(rows.rows);
    for (std::size_t i = 0; i < scores.size(); ++i) scores[i] = static_cast<float>(mix(i) % 1000);
    std::uint64_t const before = host_budget().used();
    {
      tiered_options o;
      o.device = where, o.scores = scores;
      o.host_cache = 400 * 20, o.file_cache = 100 * 20;
      if (where.kind != device_kind::cpu) o.feature_cache = 50 * 20;
      std::optional<tiered_tensor> first(std::in_place, rows, o);
      std::uint64_t const made = host_budget().used();
      tiered_tensor second = first->for_device(where);
      EXPECT_TRUE(second.tiers() == first->tiers());
      EXPECT_GT(second.tiers()[tier::file], 0u);
      EXPECT_LT(host_budget().used() - made, made - before - 300 * 20 + 1) << "its 300 rows of host memory are those of the first";
      std::vector<std::int64_t> ids(300);
      for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int64_t>(mix(i) % rows.rows);
      std::vector<float> one(ids.size() * 5), other(one.size());
      first->gather(std::span<std::int64_t const>(ids), one);
      first.reset();  // shared reads stay with the second
      gather_run const run = second.gather(std::span<std::int64_t const>(ids), other);
      EXPECT_TRUE(one == other);
      EXPECT_GT(run.file_reads, 0u);
      row_array const all = read_rows(file);
      for (std::size_t i = 0; i < ids.size(); ++i)
        EXPECT_EQ(0, std::memcmp(&other[i * 5], static_cast<char const*>(all.data) + static_cast<std::size_t>(ids[i]) * 20, 20));
    }
    EXPECT_EQ(host_budget().used(), before);
  }
}

TEST(file_rows, are_not_pinned) {
  a_folder const folder;
  std::string const file = folder.numbered(5);
  EXPECT_TRUE(refused(errc::usage, "cannot be pinned", [&] { unified_tensor(open_rows(file), -1); }));
}

TEST(file_rows, of_a_row_file_come_by_several_rings) {
  a_folder const folder;
  constexpr std::uint64_t n = 20000, width = 100;
  std::string const file = folder.at("rows.gnt").string();
  convert_rows(folder.numbered(width, n), file);
  reader_options several;
  several.rings = 4;
  row_array table;
  table.rows = n, table.width = width;
  table.file = paged_stored_rows(file, std::make_shared<row_file>(file, several));
  tiered_options o;
  o.host_cache = 5000 * width * 4;
  o.file_cache = o.host_cache;
  tiered_tensor t(table, o);
  for (std::uint64_t g = 0; g < 20; ++g) expect_rows(t, some_ids(g, 3000, n));
}

TEST(file_rows, a_drive_is_measured_once) {
  simulated_drive d = samsung_980_pro(64u << 20);
  d.bytes = {};
  simulation how;
  how.counted_time = true;
  auto const file = plain_stored_rows("table", simulate({d}, how), {}, 0, 16384, 4096);
  drive_rate const r = file->measured();
  EXPECT_NEAR(r.seconds, 324e-6, 60e-6);
  EXPECT_NEAR(r.requests_a_second, 128 / 324e-6, 0.2 * 128 / 324e-6);  // by the given depth
  EXPECT_EQ(file->files().depth(), 128u);
  drive_rate const again = file->measured();
  EXPECT_EQ(again.seconds, r.seconds);
  EXPECT_EQ(again.requests_a_second, r.requests_a_second);
}

// The automatic queue depth follows the drive: latency times rate, plus one half.
TEST(file_rows, as_many_reads_are_under_way_as_the_drive_wants) {
  simulation how;
  how.counted_time = true;
  reader_options any;
  any.sizes_depth = true;
  auto const measured = [&](std::vector<simulated_drive> drives) {
    auto const file = plain_stored_rows("table", simulate(std::move(drives), how), any, 0, 16384, 4096);
    EXPECT_EQ(file->files().depth(), 128u);  // before
    std::uint64_t const reads = file->files().counters().reads;
    file->measured();
    EXPECT_EQ(file->files().counters().reads, reads);  // excludes the reader's own
    return file;
  };
  auto const rate_of = [](stored_rows const& file) {  // of a queue that is created afterwards
    return measure_reads(file.files(), 4096, 4 * file.files().depth(), 1, 0.1).requests_a_second();
  };
  simulated_drive far = samsung_980_pro(64u << 20), near = optane(64u << 20);
  auto const of_far = measured({far});
  EXPECT_NEAR(of_far->files().depth(), 1.5 * 324e-6 * 0.7e6, 50);  // 340
  EXPECT_GE(rate_of(*of_far), 0.95 * 0.7e6);
  auto const of_near = measured({near});
  EXPECT_EQ(of_near->files().depth(), 64u);  // 25 suffice; the minimum
  EXPECT_GE(rate_of(*of_near), 0.95 * 1.45e6);
  simulated_drive slow = far;
  slow.latency_us = 20000;
  EXPECT_NEAR(measured({slow})->files().depth(), 1024, 100);  // the largest that was tried
  far.size /= 2;
  EXPECT_NEAR(measured({far, far})->files().depth(), 1.5 * 324e-6 * 0.7e6, 60);  // per drive
  // With the default of 128 the distant drive delivers 0.4 M.
  any.sizes_depth = false;
  EXPECT_LE(rate_of(*measured({samsung_980_pro(64u << 20)})), 0.45e6);
}

}  // namespace
}  // namespace garner
