// Tables in a file whose drive fails: the right rows or an error that names file and row, never a wrong row, and nothing is left behind.
#include "features/file_tables.hpp"

#include <cstring>
#include <thread>

#include "core/progress.hpp"
#include "core/thread_pool.hpp"
#include "process.hpp"
#include "refused.hpp"
#include "sanitized.hpp"

namespace garner {
namespace {
using namespace garner::testing;

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
// The rows that are kept in memory are read first, under faults too.
std::optional<tiered_tensor> made(row_array const& table, tiered_options const& o) {
  for (int tries = 0; tries < 100; ++tries) {
    try {
      return std::optional<tiered_tensor>(std::in_place, table, o);
    } catch (error const& e) {
      EXPECT_THAT(e.what(), HasSubstr("table.npy: row "));
    }
  }
  return {};
}
// Gathers: rows that came, each of them right, and errors that name file and row.
struct gathered {
  float (*value)(std::uint64_t place) = simulated_table::value;
  std::string said = "table.npy: row ";
  errc code = errc::io;
  std::uint64_t rows = 0, errors = 0;
  void from(tiered_tensor& t, std::vector<std::int64_t> const& ids) {
    std::uint64_t const width = t.width();
    std::vector<float> out(ids.size() * width, -1);
    try {
      t.gather(std::span<std::int64_t const>(ids), out);
    } catch (error const& e) {
      EXPECT_EQ(e.code(), code) << e.what();
      EXPECT_THAT(e.what(), ::testing::ContainsRegex(said));
      ++errors;
      return;
    }
    rows += ids.size();
    for (std::uint64_t k = 0; k < out.size(); ++k)
      if (out[k] != value(static_cast<std::uint64_t>(ids[k / width]) * width + k % width)) FAIL() << k << " of id " << ids[k / width];
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
  std::optional<tiered_tensor> t = made(on.table(unit, 5), o);
  ASSERT_TRUE(t);
  gathered all;
  for (std::uint64_t g = 0; all.rows < 1000000 && !HasFatalFailure(); ++g) all.from(*t, some_ids(g, 4000, n));
  EXPECT_GT(all.errors, 3u);
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
  gathered all;
  for (std::uint64_t g = 0; g < 60 && !HasFatalFailure(); ++g) all.from(t, some_ids(g, g % 2 ? 20 : 2000, n));
  EXPECT_GT(all.errors, 3u);
  EXPECT_GT(on.drives->faults_met(), 100u);
  request_interrupt();
  std::vector<std::int64_t> const ids = some_ids(1, 2000, n);
  std::vector<float> out(ids.size() * width);
  EXPECT_TRUE(refused(errc::interrupted, [&] { t.gather(std::span<std::int64_t const>(ids), out); }));
  clear_interrupt();
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
  EXPECT_TRUE(refused(errc::input, file, [&] { t.gather(std::span<std::int64_t const>(ids), out); }));
}

// The resources of a process, which must be the same after everything is released.
struct held {
  std::uint64_t host = host_budget().used();
  std::ptrdiff_t threads = threads_now(), files = entries("/proc/self/fd");
};
void expect_same(held const& before) {
  held now;
  // A joined thread may be listed for a moment, here or when `before` counted.
  for (int tries = 0; now.threads > before.threads && tries < 200; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    now = held();
  }
  EXPECT_EQ(now.host, before.host);
  EXPECT_LE(now.threads, before.threads);
  EXPECT_EQ(now.files, before.files);
}

TEST(file_rows, ten_million_narrow_rows_under_faults_leave_nothing) {
  constexpr std::uint64_t unit = 4096, n = 1 << 18, width = 2, a_gather = 40'000;
  constexpr std::uint64_t enough = sanitized ? 500'000 : 10'000'000;
  shared_pool();  // it stays
  held const before;
  {
    using kind = drive_fault::kind;
    std::vector<drive_fault> faults(6);
    faults[0].what = kind::fails, faults[0].probability = sanitized ? 2e-2 : 5e-3;  // many errors: how many depends on how requests fall
    faults[1].what = kind::short_read, faults[1].probability = 1e-2;
    faults[2].what = kind::late, faults[2].probability = 1e-3, faults[2].seconds = 10;
    faults[3].what = kind::twice, faults[3].probability = 1e-2;
    faults[4].what = kind::never, faults[4].probability = 2e-5;
    faults[5].what = kind::fails, faults[5].probability = 1e-3, faults[5].problem = EAGAIN;
    simulated_table const on(n, width, 4, faults, unit);
    tiered_options o;
    o.host_cache = n / 8 * width * 4;
    o.file_cache = n / 8 * width * 2;
    std::optional<tiered_tensor> t = made(on.table(unit, 20), o);
    ASSERT_TRUE(t);
    gathered all;
    for (std::uint64_t g = 0; all.rows < enough && !HasFatalFailure(); ++g) {
      // All rows, so that each page is needed, or a few, so that pages are not merged.
      std::uint64_t const stride = g % 3 == 0 ? 1 : 1024;
      std::vector<std::int64_t> ids(g % 3 == 0 ? a_gather : a_gather / 2);
      for (std::uint64_t i = 0; i < ids.size(); ++i)
        ids[i] = static_cast<std::int64_t>(random_bits(g, 0, i) % (n / stride) * stride + (stride > 1 ? i % 7 : 0));
      all.from(*t, ids);
    }
    EXPECT_GT(all.errors, 0u);
    EXPECT_GT(on.drives->faults_met(), sanitized ? 10u : 200u);
  }
  expect_same(before);
}

// The same for files, reader threads and rings, stopped in the middle.
TEST(file_rows, that_are_stopped_while_thousands_are_read_leave_nothing) {
  a_folder const folder;
  constexpr std::uint64_t n = 40'000, width = 256;  // a row is a KiB
  std::string const file = folder.numbered(width, n), pages = folder.at("x.gnt").string();
  convert_rows(file, pages);
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
    EXPECT_TRUE(refused(errc::io, "table.npy: row ", [&] { t.gather(std::span<std::int64_t const>(ids), out); }));
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
  gathered all{[](std::uint64_t place) { return static_cast<float>(place); }, "rows.gnt: row [0-9]+, page [0-9]+: .*rows.gnt", errc::input};
  for (std::uint64_t g = 0; all.rows < 1000000 && !HasFatalFailure(); ++g) all.from(t, some_ids(g, g % 50 ? 600 : 5000, n));
  EXPECT_GT(all.errors, 10u);
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

}  // namespace
}  // namespace garner
