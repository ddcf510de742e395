// Rows of a file that kernels request by pages: correct for any cache size, and an error instead of wrong rows if the drive fails.
#include "lab/bam/page_cache.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "core/random.hpp"
#include "features/row_file.hpp"
#include "files/npy_head.hpp"
#include "folder.hpp"
#include "garner/features.hpp"
#include "lab/drives/simulated.hpp"
#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;
using namespace garner::lab;
using ::testing::HasSubstr;

// Byte k of row r, for any table.
std::uint8_t byte_of(std::uint64_t r, std::uint64_t k) { return static_cast<std::uint8_t>(mix(r * 131071 + k / 8) >> k % 8 * 8); }

std::string row(std::uint64_t r, std::uint64_t bytes) {
  std::string all(bytes, 0);
  for (std::uint64_t k = 0; k < bytes; ++k) all[k] = static_cast<char>(byte_of(r, k));
  return all;
}

class page_cache_at : public at_place, protected own_folder {
 protected:
  std::string table(std::uint64_t rows, std::uint64_t row_bytes) const {
    std::string const name = folder / fmt::format("{}x{}.npy", rows, row_bytes);
    std::ofstream out(name, std::ios::binary);
    out << npy_head("|u1", rows, row_bytes);
    for (std::uint64_t r = 0; r < rows; ++r) out << row(r, row_bytes);
    return name;
  }
  static std::vector<std::int64_t> some_ids(std::uint64_t seed, std::uint64_t n, std::uint64_t of) {
    std::vector<std::int64_t> ids(n);
    for (std::uint64_t i = 0; i < n; ++i) ids[i] = static_cast<std::int64_t>(mix(seed * 7919 + i) % of);
    return ids;
  }
  page_cache::terms with(std::uint64_t host_bytes, std::uint64_t near_bytes) const {
    page_cache::terms t;
    t.host_bytes = where().kind == device_kind::cpu ? host_bytes + near_bytes : host_bytes;
    t.device_bytes = near_bytes;
    t.service.threads = 2, t.service.queues = 3, t.service.depth = 32;
    return t;
  }
  static row_view view_of(row_array const& t) {
    row_view v;
    v.rows = t.rows, v.row_bytes = t.row_bytes(), v.in_file = true;
    return v;
  }
  static gather_how bytes_as_they_are() {
    gather_how how;
    how.kind = how.to = element::u8;
    return how;
  }
  // A mini-batch through the cache, every byte compared.
  static void expect_rows(executor& x, page_cache& cache, row_view const& view, std::vector<std::int64_t> const& ids,
                          file_rows::figures& told) {
    auto const near = near_copy(x, ids);
    buffer<std::uint8_t> const out(x.near(), ids.size() * view.row_bytes + 1, x.device(), "a test");
    cache.enter(x, {near.data(), ids.size(), 8});
    ASSERT_TRUE(cache.gather(x, out.data(), bytes_as_they_are(), {}, told));
    auto const got = host_copy(x, out.data(), ids.size() * view.row_bytes);
    for (std::uint64_t i = 0; i < ids.size(); ++i)
      ASSERT_EQ(
          std::memcmp(got.data() + i * view.row_bytes, row(static_cast<std::uint64_t>(ids[i]), view.row_bytes).data(), view.row_bytes), 0)
          << i << ", of id " << ids[i];
  }
};
GARNER_AT_EVERY_PLACE(page_cache_at);

TEST_P(page_cache_at, rows_of_every_length_are_right_whatever_has_room) {
  for (std::uint64_t const row_bytes : {1u, 20u, 1000u, 4096u, 5000u})
    for (char const* const kind : {"npy", "gnt"}) {
      std::uint64_t const n = row_bytes > 1000 ? 150 : 1000;
      std::string file = table(n, row_bytes);
      if (std::string_view(kind) == "gnt") convert_rows(file, folder / "t.gnt"), file = folder / "t.gnt";
      row_array const rows = open_rows(file);
      row_view const view = view_of(rows);
      executor x(where());
      for (auto const& [near_pages, on_their_way] : {std::pair(0u, 300u), {3u, 4u}, {100u, 300u}, {2000u, 4u}}) {
        page_cache cache(where(), rows.file, view, with(on_their_way * 4096ull, near_pages * 4096ull));
        EXPECT_LE(cache.metadata_bytes(), 16 * cache.slots());
        file_rows::figures told;
        for (std::uint64_t const g : {1u, 2u, 2u, 1u}) expect_rows(x, cache, view, some_ids(g, 200, n), told);
        expect_rows(x, cache, view, {}, told);
        expect_rows(x, cache, view, {static_cast<std::int64_t>(n) - 1}, told);
        EXPECT_EQ(told.rows, 801u);
        EXPECT_EQ(told.bytes, told.reads * 4096);
        if (near_pages == 2000 && n * row_bytes < 2000 * 4096) {  // everything stays: pages of earlier gathers cost nothing
          EXPECT_GE(told.hits, 400u);
          EXPECT_LE(told.reads, (n * row_bytes + 128 + 4095) / 4096 * 3 / 2 + 1) << "sets may overflow, but not by much";
        }
      }
    }
}

TEST_P(page_cache_at, what_was_used_since_the_hand_went_by_stays) {
  std::uint64_t const n = 4000;
  row_array const rows = open_rows(table(n, 1024));
  row_view const view = view_of(rows);
  executor x(where());
  page_cache cache(where(), rows.file, view, with(200 * 4096, 320 * 4096));  // of 1,001 pages
  file_rows::figures told;
  std::vector<std::int64_t> hot(400);
  for (std::uint64_t k = 0; k < hot.size(); ++k) hot[k] = static_cast<std::int64_t>(k);  // 101 pages
  for (std::uint64_t g = 0; g < 12; ++g) {
    expect_rows(x, cache, view, hot, told);
    std::vector<std::int64_t> cold(300);
    for (std::uint64_t k = 0; k < cold.size(); ++k) cold[k] = static_cast<std::int64_t>(400 + (g * 300 + k) % 3600);
    file_rows::figures of_cold;
    expect_rows(x, cache, view, cold, of_cold);
  }
  // 11 times 101 pages that might have been read again.
  EXPECT_LT(told.reads, 101u + 11 * 101 / 4);
}

TEST_P(page_cache_at, a_wrong_bit_is_an_error_and_other_pages_are_right) {
  std::uint64_t const n = 1500;
  convert_rows(table(n, 512), folder / "t.gnt");
  std::uint64_t const begin = page_file(folder / "t.gnt").head().begin();
  {
    std::fstream out(folder / "t.gnt", std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(static_cast<std::streamoff>(begin + 7 * 4096 + 100));
    out.put('x');
  }
  row_array const rows = open_rows(folder / "t.gnt");
  row_view const view = view_of(rows);
  executor x(where());
  page_cache cache(where(), rows.file, view, with(64 * 4096, 100 * 4096));
  file_rows::figures told;
  for (int again = 0; again < 2; ++again) {
    std::string said;
    try {
      expect_rows(x, cache, view, some_ids(3, 600, n), told);
    } catch (error const& e) {
      said = e.what();
    }
    EXPECT_THAT(said, HasSubstr("t.gnt: page 7 "));
    cache.reset();
    std::vector<std::int64_t> good = some_ids(4, 600, n);
    std::erase_if(good, [](std::int64_t id) { return id / 8 == 7; });
    expect_rows(x, cache, view, good, told);
  }
}

TEST_P(page_cache_at, rows_are_never_wrong_under_faults_of_every_kind) {
  constexpr std::uint64_t n = 3000, row_bytes = 1024, head = 128;
  std::vector<drive_fault> faults(3);
  faults[0].what = drive_fault::kind::fails, faults[0].probability = 1e-3;
  faults[1].what = drive_fault::kind::short_read, faults[1].probability = 1e-2;
  faults[2].what = drive_fault::kind::twice, faults[2].probability = 1e-2;
  simulated_drive d;
  d.name = "drive", d.size = head + n * row_bytes, d.depth = 64, d.faults = faults;
  d.bytes = [](std::uint64_t offset, std::uint64_t bytes, std::byte* to) {
    for (std::uint64_t k = 0; k < bytes; ++k) {
      std::uint64_t const at = offset + k;
      to[k] = at < head ? std::byte{0} : std::byte{byte_of((at - head) / row_bytes, (at - head) % row_bytes)};
    }
  };
  auto const drives = simulate({d}, {});
  auto const file = plain_stored_rows("t", drives, {}, head, n, row_bytes);
  row_view view;
  view.rows = n, view.row_bytes = row_bytes, view.in_file = true;
  executor x(where());
  page_cache cache(where(), file, view, with(64 * 4096, 100 * 4096));
  file_rows::figures told;
  std::uint64_t errors = 0;
  for (std::uint64_t g = 0; g < 60; ++g) try {
      expect_rows(x, cache, view, some_ids(g, 150, n), told);
      if (HasFatalFailure()) return;
    } catch (error const& e) {
      EXPECT_THAT(e.what(), HasSubstr("drive: page "));
      ++errors, cache.reset();
    }
  EXPECT_GT(drives->faults_met(), 20u);
  EXPECT_GT(told.rows, 1000u);
}

TEST_P(page_cache_at, i8_rows_come_with_their_factors) {
  std::uint64_t const n = 500, width = 40;
  std::string const file = folder / "q.npy";
  {
    std::ofstream out(file, std::ios::binary);
    out << npy_head("|i1", n, width);
    for (std::uint64_t r = 0; r < n; ++r)
      for (std::uint64_t k = 0; k < width; ++k) out.put(static_cast<char>(byte_of(r, k)));
  }
  std::vector<float> factors(n);
  for (std::uint64_t r = 0; r < n; ++r) factors[r] = static_cast<float>(r) / 4;
  row_array const rows = open_rows(file);
  row_view const view = view_of(rows);
  executor x(where());
  page_cache::terms t = with(8 * 4096, 3 * 4096);
  t.factors = factors;
  page_cache cache(where(), rows.file, view, t);
  std::vector<std::int64_t> const ids = some_ids(1, 300, n);
  auto const near = near_copy(x, ids);
  buffer<float> const out(x.near(), ids.size() * width, x.device(), "a test");
  gather_how how;
  how.kind = element::i8, how.to = element::f32, how.scales = factors.data();
  file_rows::figures told;
  cache.enter(x, {near.data(), ids.size(), 8});
  ASSERT_TRUE(cache.gather(x, out.data(), how, {}, told));
  auto const got = host_copy(x, out.data(), ids.size() * width);
  for (std::uint64_t k = 0; k < got.size(); ++k) {
    auto const r = static_cast<std::uint64_t>(ids[k / width]);
    ASSERT_EQ(got[k], static_cast<float>(static_cast<std::int8_t>(byte_of(r, k % width))) * factors[r]) << k;
  }
}

}  // namespace
}  // namespace garner
