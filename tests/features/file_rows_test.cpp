// Tables in a file: the same rows as a table in memory for any tiers, errors that name file and row, and never a wrong row.
#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <thread>

#include "core/progress.hpp"
#include "core/random.hpp"
#include "core/thread_pool.hpp"
#include "features/place_rows.hpp"
#include "features/row_file.hpp"
#include "features/stored_rows.hpp"
#include "files/npy_head.hpp"
#include "folder.hpp"
#include "garner/features.hpp"
#include "lab/drives/simulated.hpp"
#include "memory/budget.hpp"
#include "sanitized.hpp"
#include "storage/measure.hpp"
#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;
using namespace garner::lab;
using ::testing::HasSubstr;

constexpr std::uint64_t rows = 2000;

struct a_folder : own_folder {
  template <class T>
  std::string table(char const* type, std::vector<T> const& values, std::uint64_t width, std::size_t head = 0) const {
    std::string const name = at(fmt::format("{}x{}.{}.npy", type + 1, width, head)).string();
    std::ofstream out(name, std::ios::binary);
    std::string const begin = npy_head(type, values.size() / width, width, head);
    out.write(begin.data(), static_cast<std::streamsize>(begin.size()));
    out.write(reinterpret_cast<char const*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(T)));
    return name;
  }
  // Row r holds r * width, r * width + 1 ...
  std::string numbered(std::uint64_t width, std::uint64_t n = rows, std::size_t head = 0) const {
    std::vector<float> values(n * width);
    std::iota(values.begin(), values.end(), 0.0f);
    return table("<f4", values, width, head);
  }
};

std::vector<std::int64_t> some_ids(std::uint64_t seed, std::uint64_t n, std::uint64_t of = rows) {
  std::vector<std::int64_t> ids(n);
  for (std::uint64_t i = 0; i < n; ++i) ids[i] = static_cast<std::int64_t>(random_bits(seed, 0, i) % of);
  return ids;
}
void expect_rows(tiered_tensor& t, std::vector<std::int64_t> const& ids) {
  executor x(t.device());
  auto const near = near_copy(x, ids);
  buffer<float> const out(x.near(), ids.size() * t.width() + 1, x.device(), "a test");
  t.gather({near.data(), ids.size(), 8}, out);
  auto const got = host_copy(x, out.data(), ids.size() * t.width());
  for (std::uint64_t k = 0; k < got.size(); ++k)
    ASSERT_EQ(got[k], static_cast<float>(static_cast<std::uint64_t>(ids[k / t.width()]) * t.width() + k % t.width()))
        << k / t.width() << " of id " << ids[k / t.width()] << " " << t.about();
}

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
    errc code{};
    EXPECT_THAT(error_of([&] { t.gather_many(of, to, how); }, &code), HasSubstr("use automatic, naive, shifted or aligned"));
    EXPECT_EQ(code, errc::usage);
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
  errc code{};
  error_of([&] { t.gather({near.data(), ids.size(), 8}, out); }, &code);
  EXPECT_EQ(code, errc::interrupted);
  clear_interrupt();
  expect_rows(t, ids);
}

TEST(file_rows, a_file_that_changes_is_an_error) {
  a_folder const folder;
  std::string const file = folder.numbered(5);
  tiered_options o;
  o.host_cache = 100 * 20;
  tiered_tensor t(open_rows(file), o);
  expect_rows(t, some_ids(1, 300));
  {
    std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(-4, std::ios::end);
    out.write("abcd", 4);
  }
  executor x(execution_device{});
  std::vector<std::int64_t> const ids = some_ids(2, 300);
  std::vector<float> out(ids.size() * 5);
  errc code{};
  EXPECT_THAT(error_of([&] { t.gather(std::span<std::int64_t const>(ids), out); }, &code), HasSubstr(file));
  EXPECT_EQ(code, errc::input);
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
  errc code{};
  EXPECT_THAT(error_of([&] { unified_tensor(open_rows(file), -1); }, &code), HasSubstr("cannot be pinned"));
  EXPECT_EQ(code, errc::usage);
}

// --- faults ------------------------------------------------------------------------------------------------------------------------------
// A table of `n` rows on simulated drives, striped.
struct simulated_table {
  std::uint64_t n, width;
  std::shared_ptr<simulated_drives> drives;
  static float value(std::uint64_t k) { return static_cast<float>(mix(k) >> 44); }
  simulated_table(std::uint64_t rows_of_it, std::uint64_t w, unsigned count, std::vector<drive_fault> const& faults, std::uint64_t unit)
      : n(rows_of_it), width(w) {
    auto const held = std::make_shared<std::vector<float>>(n * width);
    for (std::uint64_t k = 0; k < held->size(); ++k) (*held)[k] = value(k);
    std::vector<simulated_drive> all(count);
    std::uint64_t const units = (n * width * 4 + unit - 1) / unit;
    for (unsigned d = 0; d < count; ++d) {
      all[d].name = fmt::format("drive {}", d);
      all[d].size = (units + count - 1 - d) / count * unit;
      all[d].bytes = [held, count, d, unit](std::uint64_t offset, std::uint64_t bytes, std::byte* to) {
        std::uint64_t const size = held->size() * 4;
        for (std::uint64_t k = 0; k < bytes;) {
          std::uint64_t const here = offset + k, at = (here / unit * count + d) * unit + here % unit;
          std::uint64_t const some = std::min(bytes - k, unit - here % unit);
          if (at < size) std::memcpy(to + k, reinterpret_cast<std::byte const*>(held->data()) + at, std::min(some, size - at));
          k += some;
        }
      };
      all[d].shape = latency_shape::exponential, all[d].latency_us = 100, all[d].depth = 64;
      all[d].faults = faults;
    }
    simulation how;
    how.counted_time = true;
    drives = simulate(all, how);
  }
  row_array table(std::uint64_t unit, double deadline = 0, unsigned rings = 0) const {
    reader_options o;
    o.unit_bytes = unit, o.size = n * width * 4, o.deadline_seconds = deadline, o.rings = rings;
    row_array made;
    made.rows = n, made.width = width;
    made.file = plain_stored_rows("table.npy", drives, o, 0, n, width * 4);
    return made;
  }
};

TEST(file_rows, a_million_rows_under_faults_are_right_or_an_error_that_names_them) {
  constexpr std::uint64_t unit = 4096, n = 50000, width = 24;
  using kind = drive_fault::kind;
  std::vector<drive_fault> faults(5);
  faults[0].what = kind::fails, faults[0].probability = 2e-4;
  faults[1].what = kind::short_read, faults[1].probability = 1e-2;
  faults[2].what = kind::late, faults[2].probability = 1e-3, faults[2].seconds = 0.5;
  faults[3].what = kind::twice, faults[3].probability = 1e-2;
  faults[4].what = kind::never, faults[4].probability = 2e-5;
  simulated_table const on(n, width, 3, faults, unit);
  std::vector<float> scores(n);
  for (std::uint64_t i = 0; i < n; ++i) scores[i] = unit_float(random_bits(1, 2, i));
  tiered_options o;
  o.device = {device_kind::simulated, 0};
  o.host_cache = 2000 * width * 4, o.feature_cache = 500 * width * 4, o.scores = scores;
  std::optional<tiered_tensor> t;
  for (int tries = 0; !t; ++tries) {  // cached rows are read first
    ASSERT_LT(tries, 100);
    try {
      t.emplace(on.table(unit, 5), o);
    } catch (error const& e) {
      ASSERT_THAT(e.what(), HasSubstr("table.npy: row "));
    }
  }
  std::uint64_t compared = 0, errors = 0;
  std::vector<float> out;
  for (std::uint64_t g = 0; compared < 1000000; ++g) {
    std::vector<std::int64_t> const ids = some_ids(g, 4000, n);
    out.assign(ids.size() * width, -1);
    try {
      t->gather(std::span<std::int64_t const>(ids), out);
    } catch (error const& e) {
      EXPECT_EQ(e.code(), errc::io) << e.what();
      EXPECT_THAT(e.what(), HasSubstr("table.npy: row "));
      ++errors;
      continue;
    }
    for (std::uint64_t k = 0; k < out.size(); ++k)
      ASSERT_EQ(out[k], simulated_table::value(static_cast<std::uint64_t>(ids[k / width]) * width + k % width)) << g << " " << k;
    compared += ids.size();
  }
  EXPECT_GT(errors, 3u);
  EXPECT_GT(on.drives->faults_met(), 100u);
}

TEST(file_rows, of_several_rings_are_right_or_an_error) {
  constexpr std::uint64_t unit = 4096, n = 20000, width = 24;
  using kind = drive_fault::kind;
  std::vector<drive_fault> faults(3);
  faults[0].what = kind::fails, faults[0].every = 1, faults[0].begin = 40960, faults[0].end = 45056;  // a page of each drive
  faults[1].what = kind::short_read, faults[1].probability = 1e-2;
  faults[2].what = kind::twice, faults[2].probability = 1e-2;
  simulated_table const on(n, width, 3, faults, unit);
  tiered_options o;
  o.host_cache = 6000 * width * 4;
  o.file_cache = o.host_cache;
  tiered_tensor t(on.table(unit, 0, 3), o);
  std::uint64_t errors = 0;
  std::vector<float> out;
  for (std::uint64_t g = 0; g < 60; ++g) {
    std::vector<std::int64_t> const ids = some_ids(g, g % 2 ? 20 : 2000, n);
    out.assign(ids.size() * width, -1);
    try {
      t.gather(std::span<std::int64_t const>(ids), out);
    } catch (error const& e) {
      EXPECT_THAT(e.what(), HasSubstr("table.npy: row "));
      ++errors;
      continue;
    }
    for (std::uint64_t k = 0; k < out.size(); ++k)
      ASSERT_EQ(out[k], simulated_table::value(static_cast<std::uint64_t>(ids[k / width]) * width + k % width)) << g << " " << k;
  }
  EXPECT_GT(errors, 3u);
  EXPECT_GT(on.drives->faults_met(), 100u);
  request_interrupt();
  std::vector<std::int64_t> const ids = some_ids(1, 2000, n);
  out.resize(ids.size() * width);
  errc code{};
  error_of([&] { t.gather(std::span<std::int64_t const>(ids), out); }, &code);
  EXPECT_EQ(code, errc::interrupted);
  clear_interrupt();
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

// The resources of a process, which must be the same after everything is released.
struct held {
  std::uint64_t host = host_budget().used();
  std::ptrdiff_t threads = entries("/proc/self/task"), files = entries("/proc/self/fd");
  static std::ptrdiff_t entries(char const* folder) {
    return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator{});
  }
};
void expect_same(held const& before) {
  held now;
  // A joined thread may be listed for a moment.
  for (int tries = 0; now.threads > before.threads && tries < 200; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    now = held();
  }
  EXPECT_EQ(now.host, before.host);
  EXPECT_EQ(now.threads, before.threads);
  EXPECT_EQ(now.files, before.files);
}

TEST(file_rows, ten_million_narrow_rows_under_faults_leave_nothing) {
  constexpr std::uint64_t unit = 4096, n = 1 << 18, width = 2, a_gather = 40'000;
  constexpr std::uint64_t all = sanitized ? 500'000 : 10'000'000;
  shared_pool();  // it stays
  held const before;
  {
    using kind = drive_fault::kind;
    std::vector<drive_fault> faults(6);
    faults[0].what = kind::fails, faults[0].probability = sanitized ? 5e-3 : 1e-4;  // a higher rate for fewer rows, so that some rows fail
    faults[1].what = kind::short_read, faults[1].probability = 1e-2;
    faults[2].what = kind::late, faults[2].probability = 1e-3, faults[2].seconds = 10;
    faults[3].what = kind::twice, faults[3].probability = 1e-2;
    faults[4].what = kind::never, faults[4].probability = 2e-5;
    faults[5].what = kind::fails, faults[5].probability = 1e-3, faults[5].problem = EAGAIN;
    simulated_table const on(n, width, 4, faults, unit);
    tiered_options o;
    o.host_cache = n / 8 * width * 4;
    o.file_cache = n / 8 * width * 2;
    std::optional<tiered_tensor> t;
    for (int tries = 0; !t && tries < 100; ++tries) {  // cached rows are read first
      try {
        t.emplace(on.table(unit, 20), o);
      } catch (error const& e) {
        ASSERT_THAT(e.what(), HasSubstr("table.npy: row "));
      }
    }
    ASSERT_TRUE(t);
    std::uint64_t compared = 0, wrong = 0, errors = 0;
    std::vector<std::int64_t> ids(a_gather);
    std::vector<float> out(a_gather * width);
    for (std::uint64_t g = 0; compared < all; ++g) {
      // All rows, so that each page is needed, or a few, so that pages are not merged.
      std::uint64_t const stride = g % 3 == 0 ? 1 : 1024, some = g % 3 == 0 ? a_gather : a_gather / 2;
      for (std::uint64_t i = 0; i < some; ++i)
        ids[i] = static_cast<std::int64_t>(random_bits(g, 0, i) % (n / stride) * stride + (stride > 1 ? i % 7 : 0));
      try {
        t->gather(std::span<std::int64_t const>(ids).first(some), std::span<float>(out).first(some * width));
      } catch (error const& e) {
        EXPECT_EQ(e.code(), errc::io) << e.what();
        EXPECT_THAT(e.what(), HasSubstr("table.npy: row "));
        ++errors;
        continue;
      }
      for (std::uint64_t k = 0; k < some * width; ++k)
        wrong += out[k] != simulated_table::value(static_cast<std::uint64_t>(ids[k / width]) * width + k % width);
      compared += some;
    }
    EXPECT_EQ(wrong, 0u);
    EXPECT_GT(errors, 0u);
    EXPECT_GT(on.drives->faults_met(), sanitized ? 10u : 200u);
  }
  expect_same(before);
}

// The same for files, reader threads and rings, stopped in the middle.
TEST(file_rows, that_are_stopped_while_thousands_are_read_leave_nothing) {
  a_folder const folder;
  constexpr std::uint64_t n = 40'000, width = 256;  // a row is a KiB
  std::string const file = folder.numbered(width, n), pages = folder.at("x.gnt").string();
  convert_rows(file, pages, {});
  shared_pool();
  held const before;
  std::uint64_t stopped = 0;
  for (std::string const& name : {file, pages}) {
    tiered_options o;
    o.host_cache = 4096 * width * 4;
    tiered_tensor t(open_rows(name), o);
    for (std::uint64_t checks = 1; checks < 4000; checks = checks * 3 / 2 + 1) {
      std::vector<std::int64_t> const ids = some_ids(checks, 6000, n);
      std::vector<float> out(ids.size() * width);
      request_interrupt_after(checks);
      try {
        t.gather(std::span<std::int64_t const>(ids), out);
      } catch (error const& e) {
        EXPECT_EQ(e.code(), errc::interrupted) << e.what();
        ++stopped;
      }
      clear_interrupt();
    }
    expect_rows(t, some_ids(1, 3000, n));
  }
  EXPECT_GT(stopped, 2u);
  expect_same(before);
}

TEST(file_rows, a_drive_that_vanishes_is_an_error_and_goes_on_being_one) {
  std::vector<drive_fault> faults(1);
  faults[0].what = drive_fault::kind::vanishes, faults[0].every = 20;
  simulated_table const on(5000, 1024, 2, faults, 65536);
  tiered_options o;
  o.host_cache = 16 * 4096;
  o.file_cache = o.host_cache;
  tiered_tensor t(on.table(65536), o);
  std::vector<float> out(100 * 1024);
  for (int again = 0; again < 3; ++again) {
    std::vector<std::int64_t> const ids = some_ids(again, 100, 5000);
    errc code{};
    EXPECT_THAT(error_of([&] { t.gather(std::span<std::int64_t const>(ids), out); }, &code), HasSubstr("table.npy: row "));
    EXPECT_EQ(code, errc::io);
  }
}

// The stripes of a feature file, as simulated drives.
page_file::opener with_faults(std::vector<drive_fault> const& faults, std::shared_ptr<simulated_drives>* made = nullptr) {
  return [faults, made](std::vector<std::string> const& stripes) -> std::shared_ptr<drive_set> {
    std::vector<simulated_drive> all;
    for (std::string const& name : stripes) {
      std::ifstream in(name, std::ios::binary);
      auto const held = std::make_shared<std::string>(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
      simulated_drive& d = all.emplace_back();
      d.name = name, d.size = held->size(), d.faults = faults, d.depth = 64;
      d.shape = latency_shape::exponential, d.latency_us = 100;
      d.bytes = [held](std::uint64_t offset, std::uint64_t bytes, std::byte* to) { std::memcpy(to, held->data() + offset, bytes); };
    }
    simulation how;
    how.counted_time = true;
    auto const drives = simulate(all, how);
    if (made) *made = drives;
    return drives;
  };
}

TEST(file_rows, of_a_row_file_are_never_wrong_where_bits_are) {
  a_folder const folder;
  constexpr std::uint64_t n = 20000, width = 100;
  std::string const file = folder.at("rows.gnt").string();
  convert_rows(folder.numbered(width, n), file);
  using kind = drive_fault::kind;
  std::vector<drive_fault> faults(4);
  faults[0].what = kind::wrong_bit, faults[0].probability = 2e-3;
  faults[1].what = kind::short_read, faults[1].probability = 1e-2;
  faults[2].what = kind::twice, faults[2].probability = 1e-2;
  faults[3].what = kind::late, faults[3].probability = 1e-3, faults[3].seconds = 0.1;
  std::shared_ptr<simulated_drives> drives;
  row_array table;
  table.rows = n, table.width = width;
  table.file = paged_stored_rows(file, std::make_shared<row_file>(file, reader_options{}, with_faults(faults, &drives)));
  tiered_options o;
  o.host_cache = 3000 * width * 4;
  o.file_cache = o.host_cache;
  tiered_tensor t(table, o);
  std::uint64_t compared = 0, errors = 0;
  std::vector<float> out;
  for (std::uint64_t g = 0; compared < 1000000; ++g) {
    std::vector<std::int64_t> const ids = some_ids(g, g % 50 ? 600 : 5000, n);
    out.assign(ids.size() * width, -1);
    try {
      t.gather(std::span<std::int64_t const>(ids), out);
    } catch (error const& e) {
      EXPECT_THAT(e.what(), ::testing::ContainsRegex("rows.gnt: row [0-9]+, page [0-9]+: .*rows.gnt"));
      ++errors;
      continue;
    }
    for (std::uint64_t k = 0; k < out.size(); ++k)
      ASSERT_EQ(out[k], static_cast<float>(static_cast<std::uint64_t>(ids[k / width]) * width + k % width)) << g << " " << k;
    compared += ids.size();
  }
  EXPECT_GT(errors, 10u);
  EXPECT_GT(drives->faults_met(), 1000u);
}

TEST(file_rows, a_wrong_bit_in_a_row_file_names_row_and_page_and_leaves_other_rows_alone) {
  a_folder const folder;
  std::string const file = folder.at("rows.gnt").string();
  convert_rows(folder.numbered(128), file);  // 8 rows per page
  std::uint64_t const begin = page_file(file).head().begin(), bad_page = 7;
  {
    std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(static_cast<std::streamoff>(begin + bad_page * 4096 + 100));
    out.put('x');
  }
  tiered_options o;
  o.host_cache = 200 * 512;
  o.file_cache = o.host_cache;
  tiered_tensor t(open_rows(file), o);
  std::vector<float> out(128);
  for (std::int64_t id = 40; id < 80; ++id) {
    auto const gather = [&] { t.gather(std::span<std::int64_t const>(&id, 1), out); };
    if (id / 8 == bad_page) {
      errc code{};
      std::string const why = error_of(gather, &code);
      EXPECT_EQ(code, errc::input) << why;
      EXPECT_THAT(why, HasSubstr(fmt::format("rows.gnt: row {}, page 7: ", id)));
    } else {
      gather();
      EXPECT_EQ(out[5], static_cast<float>(id * 128 + 5));
    }
  }
  // Together with valid ids: an error, for any other ids.
  std::vector<std::int64_t> const all = some_ids(3, 2000);
  std::vector<float> rows_of(all.size() * 128);
  EXPECT_THAT(error_of([&] { t.gather(std::span<std::int64_t const>(all), rows_of); }), HasSubstr("page 7: "));
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
