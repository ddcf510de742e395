// The contract of bulk gathers: every row is in its position, for any contents, offset and copies; reads stay within the
// table (it lies between protected pages), and writes within the output.
#include "far/bulk.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "child.hpp"
#include "core/random.hpp"
#include "far/traffic.hpp"
#include "garner/shared.hpp"
#include "memory/pin.hpp"
#include "refused.hpp"
#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;

// A table at the begin or the end of an allocation.
class walled_table {
 public:
  walled_table(std::uint64_t bytes, bool at_end, std::uint64_t shift, int device) {
    pages_ = (bytes + shift + 4095) / 4096 * 4096;
    all_ = static_cast<unsigned char*>(::mmap(nullptr, pages_ + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_EQ(::mprotect(all_ + 4096, pages_, PROT_READ | PROT_WRITE), 0);
    data_ = all_ + 4096 + (at_end ? pages_ - bytes - shift : shift);
    for (std::uint64_t i = 0; i < bytes; i += 8) {
      std::uint64_t const word = mix(i / 8);
      std::memcpy(data_ + i, &word, std::min<std::uint64_t>(8, bytes - i));
    }
    if (device >= 0 && bytes) pins_ = pinned_pages(data_, bytes, device);
  }
  ~walled_table() {
    pins_.reset();
    ::munmap(all_, pages_ + 8192);
  }
  walled_table(walled_table const&) = delete;
  unsigned char const* row(std::uint64_t k, std::uint64_t bytes) const { return data_ + k * bytes; }
  void const* seen() const { return pins_ ? pins_.device_data() : data_; }

 private:
  std::uint64_t pages_ = 0;
  unsigned char *all_ = nullptr, *data_ = nullptr;
  pinned_pages pins_;
};

struct trial {
  std::uint64_t row_bytes = 0, rows = 0, count = 0;
  std::uint64_t shift = 0, out_shift = 0, first_far = 0, first_row = 0;
  bool at_end = false, sorted = false, repeats = false, positions = true;
  bool placed = false;  // each row has its own output position, in any order
  std::uint32_t id_shift = 0;
  std::uint32_t id_bytes = 8;
  bulk_options options = {};
};
std::string text_of(trial const& t) {
  return fmt::format("row {} x {}, {} ids of {} B, shifts {} {} {}, far from {}, first {}, {}{}{}{}{}", t.row_bytes, t.rows, t.count,
                     t.id_bytes, t.shift, t.out_shift, t.id_shift, t.first_far, t.first_row, t.at_end ? "at end " : "",
                     t.sorted ? "sorted " : "", t.repeats ? "repeats " : "", t.positions ? "positions " : "", t.placed ? "placed" : "");
}

void check(executor& x, trial const& t) {
  SCOPED_TRACE(text_of(t));
  std::uint64_t const held = t.rows - t.first_row;  // ids [first_row, rows) lie in the table
  walled_table const table(held * t.row_bytes, t.at_end, t.shift, x.device());
  std::vector<std::uint64_t> ids(t.count);
  for (std::uint64_t k = 0; k < t.count; ++k) {
    std::uint64_t const r = random_bits(7, t.row_bytes, k);
    ids[k] = t.repeats ? (r % 4 ? r % 3 : r % t.rows) % t.rows : r % t.rows;
    if (ids[k] >= t.first_far && ids[k] < t.first_row) ids[k] = t.rows - 1;
  }
  if (t.count > 2) ids[0] = std::max(t.first_row, t.first_far), ids[1] = t.rows - 1;  // the ends of the table
  std::vector<std::uint32_t> positions(t.count);
  std::iota(positions.begin(), positions.end(), 0u);
  if (t.sorted) {
    std::stable_sort(positions.begin(), positions.end(), [&](auto a, auto b) { return ids[a] < ids[b]; });
    std::vector<std::uint64_t> in_order(t.count);
    for (std::uint64_t k = 0; k < t.count; ++k) in_order[k] = ids[positions[k]];
    ids = in_order;
  } else {
    std::reverse(positions.begin(), positions.end());
  }
  auto shifted = ids;
  for (std::uint64_t k = 0; k < t.count; ++k) shifted[k] = ids[k] << t.id_shift | (k & ((std::uint64_t{1} << t.id_shift) - 1));
  auto const near_ids = near_copy(x, shifted);
  auto const near_short = near_copy(x, std::vector<std::uint32_t>(shifted.begin(), shifted.end()));
  auto const near_positions = near_copy(x, positions);
  constexpr std::uint64_t wall = 64;
  std::uint64_t const bytes = t.count * t.row_bytes;
  auto const out = near_copy(x, std::vector<unsigned char>(bytes + 2 * wall + 16, 0xa5));
  auto const where_to = [&](std::uint64_t position) { return t.placed ? t.count - 1 - position : position; };
  std::vector<char*> places(t.count);
  for (std::uint64_t p = 0; p < t.count; ++p)
    places[p] = reinterpret_cast<char*>(const_cast<unsigned char*>(out.data())) + wall + t.out_shift + where_to(p) * t.row_bytes;
  auto const near_places = near_copy(x, places);

  bulk_rows w;
  w.table = table.seen(), w.first_row = t.first_row, w.rows = held, w.row_bytes = t.row_bytes;
  w.ids = t.id_bytes == 8 ? static_cast<void const*>(near_ids.data()) : near_short.data();
  w.id_bytes = t.id_bytes, w.count = t.count;
  w.positions = t.positions ? near_positions.data() : nullptr;
  w.first_far = t.first_far;
  w.id_shift = t.id_shift;
  w.out = t.placed ? nullptr : out.data() + wall + t.out_shift;
  if (t.placed)
    w.places = near_places.data(), w.place_bits = reinterpret_cast<std::uintptr_t>(out.data()) | wall | t.out_shift | t.row_bytes;
  gather_bulk(x, w, t.options);
  x.wait();

  std::vector<unsigned char> expected(bytes + 2 * wall + 16, 0xa5);
  for (std::uint64_t k = 0; k < t.count; ++k) {
    if (ids[k] < t.first_far) continue;
    std::uint64_t const to = wall + t.out_shift + where_to(t.positions ? positions[k] : k) * t.row_bytes;
    std::memcpy(expected.data() + to, table.row(ids[k] - t.first_row, t.row_bytes), t.row_bytes);
  }
  auto const got = host_copy(x, out.data(), expected.size());
  if (std::memcmp(expected.data(), got.data(), expected.size()) == 0) return;  // a loop over bytes takes a sanitizer minutes
  auto const wrong = std::mismatch(expected.begin(), expected.end(), got.begin()).first - expected.begin();
  ASSERT_EQ(static_cast<std::size_t>(wrong), expected.size()) << "byte " << wrong - static_cast<std::ptrdiff_t>(wall + t.out_shift);
}

class bulk : public at_place {
 protected:
  void SetUp() override {
    at_place::SetUp();
    if (!IsSkipped() && GetParam() == device_kind::cuda && !has_bulk_copies(0)) GTEST_SKIP() << "device 0 has no bulk copies";
  }
};
GARNER_AT_EVERY_PLACE(bulk);

TEST_P(bulk, rows_of_any_bytes_from_anywhere) {
  executor x(where());
  for (std::uint64_t row : {1, 2, 3, 4, 5, 15, 16, 17, 31, 100, 127, 128, 129, 512, 513, 1024, 1028, 1040, 2408, 4096, 4100})
    for (std::uint64_t shift : {0, 4, 1, 15, 16})
      for (bool at_end : {false, true}) {
        trial t{.row_bytes = row, .rows = 37, .count = 75, .shift = shift};
        t.at_end = at_end;
        t.out_shift = shift == 15 ? 3 : shift % 16;
        check(x, t);
        if (HasFatalFailure()) return;
      }
}

TEST_P(bulk, long_rows_go_in_pieces) {
  executor x(where());
  for (std::uint64_t row : {8192, 16'384, 20'000, 65'536, 65'540, 70'001})
    for (std::uint32_t stage : {0u, 128u, 1024u, 16'384u}) {
      trial t{.row_bytes = row, .rows = 11, .count = 20, .shift = row % 16 ? 5u : 0u};
      t.sorted = t.repeats = true;
      t.options.stage_bytes = stage;
      check(x, t);
      if (HasFatalFailure()) return;
    }
}

TEST_P(bulk, sorted_ids_and_their_copies) {
  executor x(where());
  for (std::uint64_t row : {16, 100, 1024})
    for (std::uint64_t count : {1, 31, 32, 33, 1023, 1025, 5000})
      for (std::uint32_t id_bytes : {4u, 8u})
        for (int mode = 0; mode < 4; ++mode) {
          trial t{.row_bytes = row, .rows = 500, .count = count};
          t.sorted = mode & 1, t.repeats = mode & 2;
          t.positions = mode != 0;
          t.id_bytes = id_bytes;
          check(x, t);
          if (HasFatalFailure()) return;
        }
}

TEST_P(bulk, rows_to_places_of_their_own_by_keys_that_hold_more_than_ids) {
  executor x(where());
  for (std::uint64_t row : {16, 100, 1024, 5000})
    for (std::uint64_t count : {1, 33, 1025, 3000})
      for (int mode = 0; mode < 8; ++mode) {
        trial t{.row_bytes = row, .rows = 500, .count = count};
        t.sorted = mode & 1, t.repeats = mode & 2, t.positions = mode & 4;
        t.placed = true;
        t.id_bytes = mode & 2 ? 4u : 8u;
        t.id_shift = mode & 1 ? 9 : 0;
        t.out_shift = mode & 2 ? 4 : 0;
        t.first_far = mode & 4 ? 100 : 0;
        check(x, t);
        if (HasFatalFailure()) return;
      }
}

TEST_P(bulk, one_row_thousands_of_times) {
  executor x(where());
  for (std::uint64_t row : {48, 52}) {
    trial t{.row_bytes = row, .rows = 1, .count = 10'000};
    t.sorted = true;
    check(x, t);
  }
}

TEST_P(bulk, near_rows_are_left_out) {
  executor x(where());
  for (bool sorted : {false, true})
    for (std::uint64_t first : {1, 100, 499, 500})
      for (bool begins_there : {false, true}) {
        if (first == 500 && begins_there) continue;  // such a table is empty
        trial t{.row_bytes = 132, .rows = 500, .count = 2000};
        t.first_far = first, t.first_row = begins_there ? first : 0;
        t.sorted = sorted;
        if (first == 500) t.count = 2;
        check(x, t);
        if (HasFatalFailure()) return;
      }
}

TEST_P(bulk, any_share_and_shape) {
  executor x(where());
  for (unsigned multiprocessors : {1u, 2u, 7u, 1000u})
    for (unsigned warps : {1u, 3u, 16u, 99u}) {
      trial t{.row_bytes = 1028, .rows = 300, .count = 3000};
      t.options.multiprocessors = multiprocessors, t.options.warps = warps;
      check(x, t);
      t.row_bytes = 1024;
      check(x, t);
    }
}

TEST_P(bulk, nothing_to_gather) {
  executor x(where());
  for (bool no_ids : {false, true}) check(x, {.row_bytes = no_ids ? 8u : 0u, .rows = 3, .count = no_ids ? 0u : 4u});
  EXPECT_TRUE(refused(errc::usage, [&] { gather_bulk(x, {.id_bytes = 2, .count = 1}); }));
}

TEST(bulk_shapes, fit_and_keep_enough_on_their_way) {
  for (std::uint64_t row = 1; row < 70'000; row = row * 9 / 8 + 1)
    for (std::uint64_t align : {0, 1, 4, 16, 64})
      for (std::uint32_t stage : {0u, 128u, 5000u, 16'384u, 1u << 20})
        for (unsigned warps : {0u, 1u, 5u, 16u})
          for (std::size_t room : {std::size_t{128} << 10, std::size_t{227} << 10}) {
            bulk_rows w;
            w.table = reinterpret_cast<void const*>(0x10000 + align), w.row_bytes = row, w.rows = 10, w.count = 1 << 20;
            bulk_shape const s = shape_of(w, {4, warps, stage}, 132, room);
            ASSERT_LE(s.shared_bytes(), std::min(room, std::size_t{200} << 10)) << row;
            ASSERT_GE(s.stages, 3u) << row << " " << stage << " " << warps;  // the kernel lags two stages
            ASSERT_GE(s.stages * s.warps, room < 200u << 10 ? 6u : 8u) << row;
            ASSERT_LE(s.stages, 32u);
            ASSERT_LE(s.warps, 16u);
            ASSERT_EQ(s.stage_bytes % 128, 0u);
            ASSERT_EQ(s.blocks, 4u);
            ASSERT_EQ(s.whole, row % 16 == 0 && align % 16 == 0);
            // A row that fits a stage is one piece.
            for (std::uint64_t r = 0; r < 10; ++r) {
              std::uint64_t const from = 0x10000 + align + r * row;
              ASSERT_TRUE(s.stage_bytes < row + 127 || bulk_pieces(from, from + row, s.stage_bytes) == 1) << row;
            }
          }
  bulk_rows w;
  w.table = reinterpret_cast<void const*>(0x10000), w.row_bytes = 1024, w.rows = 10, w.count = 100;
  EXPECT_EQ(shape_of(w, {}, 132, 227 << 10).blocks, 1u);
  EXPECT_EQ(shape_of(w, {}, 132, 227 << 10).stage_bytes, 1024u);
  w.count = 1 << 20;
  EXPECT_EQ(shape_of(w, {100}, 16, 227 << 10).blocks, 16u);
}

TEST(bulk_shapes, pieces_follow_each_other_and_stay_in_the_table) {
  for (std::uint64_t row_bytes : {1, 7, 16, 33, 128, 500, 1024, 2408})
    for (std::uint64_t shift = 0; shift < 140; ++shift)
      for (std::uint64_t stage : {128, 256, 1024}) {
        std::uint64_t const table = 0x10000 + shift, table_end = table + 5 * row_bytes;
        for (std::uint64_t row = table; row < table_end; row += row_bytes) {
          std::uint64_t at = row;
          for (std::uint64_t p = 0; p < bulk_pieces(row, row + row_bytes, stage); ++p) {
            bulk_piece const b = bulk_piece_of(row, row + row_bytes, p, stage, table, table_end);
            ASSERT_EQ(b.from, at);
            ASSERT_GT(b.to, b.from);
            ASSERT_TRUE(b.from == row || b.from % 128 == 0);
            at = b.to;
            if (b.fetch == b.fetch_end) continue;
            ASSERT_TRUE(b.fetch % 16 == 0 && b.fetch_end % 16 == 0 && b.base % 128 == 0);
            ASSERT_TRUE(b.fetch >= table && b.fetch_end <= table_end) << row_bytes << " " << shift;
            ASSERT_TRUE(b.fetch >= b.base && b.fetch_end <= b.base + stage);
            ASSERT_TRUE(b.fetch < b.from + 16 && b.fetch_end + 16 > b.to) << "more is left to plain loads than ends";
          }
          ASSERT_EQ(at, row + row_bytes);
        }
      }
}

TEST(bulk_traffic, whole_lines_but_for_the_ends_and_each_row_once) {
  GARNER_NEEDS_COUNTS();
  traffic_model model(access_mode::aligned);
  executor x({device_kind::simulated, 0}, &model);
  std::vector<char> out(2352 * 8);
  buffer<char> const table(tier::host, 2352 * 100, -1, "a test");
  std::vector<std::uint64_t> const ids{0, 0, 0, 8, 8};  // row 8 begins on a line
  bulk_rows w{table.data(), 0, 100, 2352, ids.data(), 8, ids.size(), nullptr, 0, out.data()};
  gather_bulk(x, w);
  traffic const t = model.take();
  EXPECT_EQ(t.requests[3], 36u);  // 18 whole lines per row
  EXPECT_EQ(t.requests[1], 2u);   // 48 bytes of the last
  EXPECT_EQ(t.requests[0] + t.requests[2], 0u);
  EXPECT_EQ(t.bytes_useful, 2u * 2352);
}

// --- a table of several processes, one of them killed during its gathers ----------------------------------------------------------------
constexpr std::uint64_t shared_rows = 5000, shared_width = 257;
void gather_shared(executor& x, shared_table& t) {
  row_array const r = t.rows();
  std::vector<std::uint32_t> ids(4096);
  for (std::size_t k = 0; k < ids.size(); ++k) ids[k] = static_cast<std::uint32_t>(random_bits(3, 1, k) % shared_rows);
  auto const near_ids = near_copy(x, ids);
  auto const out = near_copy(x, std::vector<float>(ids.size() * shared_width));
  bulk_rows w;
  w.table = x.on_device() ? t.map_for(x.device()) : r.data;
  w.rows = r.rows, w.row_bytes = shared_width * 4;
  w.ids = near_ids.data(), w.id_bytes = 4, w.count = ids.size(), w.out = out.data();
  gather_bulk(x, w);
  auto const got = host_copy(x, out.data(), ids.size() * shared_width);
  for (std::size_t k = 0; k < got.size(); ++k)
    if (got[k] != static_cast<float>(ids[k / shared_width] * 3 + k % shared_width)) throw std::runtime_error("a wrong row");
}

TEST(bulk_shared, DISABLED_child) {
  char const *const name = std::getenv("GARNER_CHILD_TABLE"), *const where = std::getenv("GARNER_CHILD_PLACE");
  if (!name || !where) return;
  try {
    shared_table t = shared_table::attach(name);
    executor x(parse_device(where));
    for (bool told = false;; told = true) {
      gather_shared(x, t);
      if (!told) tell('g');
    }
  } catch (std::exception const& e) {
    tell('e');
  }
  ::_exit(1);
}

TEST_P(bulk, a_shared_table_outlives_a_process_killed_in_a_gather) {
  std::string const name = "test-bulk-" + std::to_string(::getpid());
  {
    shared_table t = shared_table::create(name, shared_rows, shared_width, element::f32);
    auto* const values = static_cast<float*>(t.data());
    for (std::uint64_t i = 0; i < shared_rows * shared_width; ++i) values[i] = static_cast<float>(i / shared_width * 3 + i % shared_width);
    t.publish();
    std::string const place = where().kind == device_kind::cpu ? "host" : where().kind == device_kind::simulated ? "simulated" : "device:0";
    std::vector<std::string> const orders{"GARNER_CHILD_TABLE=" + name, "GARNER_CHILD_PLACE=" + place};
    child first("bulk_shared.DISABLED_child", orders), second("bulk_shared.DISABLED_child", orders);
    EXPECT_EQ(first.hears(), 'g');
    EXPECT_EQ(second.hears(), 'g');
    EXPECT_EQ(first.end(SIGKILL), 128 + SIGKILL);
    executor x(where());
    gather_shared(x, t);
    EXPECT_EQ(second.end(SIGKILL), 128 + SIGKILL);
    gather_shared(x, t);
  }
  EXPECT_TRUE(refused(errc::io, [&] { shared_table::attach(name); }));  // removed with its last holder
}

TEST(bulk_none, without_a_gpu_is_refused) {
  if (device::count() > 0) GTEST_SKIP() << "this machine has a GPU";
  EXPECT_FALSE(has_bulk_copies(0));
  EXPECT_FALSE(has_bulk_copies(-1));
}

}  // namespace
}  // namespace garner
