// Rows in host memory, or in a file, come back as they were kept, block by block, also where blocks are empty and two kinds come together.
#include "nn/kept_rows.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include "files/files.hpp"
#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;
using ::testing::AllOf;
using ::testing::HasSubstr;

class kept_rows_at : public at_place {};
GARNER_AT_EVERY_PLACE(kept_rows_at);

using kept = kept_rows<float>;

// Blocks of `block` rows and of others, in three steps.
void expect_kept(executor& x, std::string const& scratch, std::uint64_t block) {
  std::vector<std::uint64_t> const blocks{0, 0, 5, 5, 5, 5 + block, 6 + block, 6 + block};
  std::uint64_t const all = blocks.back(), wide = 6, narrow = 3;
  kept rows(x, blocks, scratch.empty() ? nullptr : std::make_shared<scratch_folder>(scratch));
  auto const value = [](int step, std::uint32_t layer, std::uint64_t row, std::uint64_t column) {
    return static_cast<float>(step * 1000 + static_cast<int>(layer * 500 + row * 10 + column));
  };
  buffer<float> from(x.near(), all * wide, x.device(), "rows"), to(x.near(), all * wide, x.device(), "rows");
  for (int step = 0; step < 3; ++step) {
    for (std::uint32_t layer = 0; layer < 2; ++layer) {
      std::vector<float> made(all * wide);
      for (std::uint64_t i = 0; i < made.size(); ++i) made[i] = value(step, layer, i / wide, i % wide);
      x.copy(from.data(), made.data(), from.bytes());
      for (std::size_t b = 0; b + 1 < blocks.size(); ++b) {
        row_block<float const> const at{from.data() + blocks[b] * wide, wide};
        rows.keep({layer, kept::taken}, b, at, wide);
        rows.keep({layer, kept::in}, b, at, narrow);  // the first columns alone
      }
      x.fill(from.data(), 0, from.bytes());  // they were copied
      x.wait();
    }
    for (std::uint32_t layer = 2; layer-- > 0;) {
      rows.expect({layer, kept::taken});
      for (std::size_t b = 0; b + 1 < blocks.size(); ++b) {
        std::uint64_t const count = blocks[b + 1] - blocks[b];
        row_block<float const> const whole = rows.bring({layer, kept::taken}, b, wide), some = rows.bring({layer, kept::in}, b, narrow);
        EXPECT_EQ(some.stride, narrow);
        if (count == 0) continue;
        x.copy(to.data(), whole.data, count * wide * sizeof(float));
        x.copy(from.data(), some.data, count * narrow * sizeof(float));
        std::vector<float> const found = host_copy(x, to.data(), count * wide), first = host_copy(x, from.data(), count * narrow);
        for (std::uint64_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], value(step, layer, blocks[b] + i / wide, i % wide)) << b;
        for (std::uint64_t i = 0; i < first.size(); ++i) ASSERT_EQ(first[i], value(step, layer, blocks[b] + i / narrow, i % narrow)) << b;
      }
    }
  }
  std::uint64_t const bytes = 2 * all * (wide + narrow) * sizeof(float), page = 4096;
  if (scratch.empty()) {
    EXPECT_EQ(rows.host_bytes(), bytes);
    EXPECT_EQ(rows.file_bytes(), 0);
    return;
  }
  EXPECT_GE(rows.file_bytes(), bytes);
  EXPECT_LE(rows.file_bytes(), bytes + 2 * 2 * 3 * page);  // blocks begin on pages
  EXPECT_LE(rows.host_bytes(), 6 * (block * wide * sizeof(float) + page));
}

TEST_P(kept_rows_at, come_back_as_they_were_in_every_step) {
  executor x(where());
  own_folder const there;
  for (std::string const& scratch : {std::string(), there.folder.string()})
    for (std::uint64_t const block : {7u, 60000u}) expect_kept(x, scratch, block);  // the larger one in two pieces
  EXPECT_EQ(there.files(), 0);                                                      // it has no name
}

// A file that is damaged, on a disk that is full or too small, in a folder that does not exist: one error, and the next step goes on.
class kept_in_a_file : public in_a_folder {
 protected:
  std::shared_ptr<scratch_folder> there = std::make_shared<scratch_folder>(folder);
  std::vector<std::uint64_t> blocks{0, 600, 1200, 1800};
  executor x{{device_kind::simulated}};
  buffer<float> from{x.near(), 1800 * 8, x.device(), "rows"};
  void keep(kept& rows, float value, std::uint32_t layer = 0) {
    std::vector<float> const values(from.size(), value);
    x.copy(from.data(), values.data(), from.bytes());
    x.wait();
    for (std::size_t b = 0; b < 3; ++b) rows.keep({layer, kept::taken}, b, {from.data() + blocks[b] * 8, 8}, 8);
  }
  void expect(kept& rows, float value) {
    for (std::size_t b = 0; b < 3; ++b) {
      row_block<float const> const found = rows.bring({0, kept::taken}, b, 8);
      EXPECT_EQ(host_copy(x, found.data, 600 * 8), std::vector<float>(600 * 8, value));
    }
  }
};

TEST_F(kept_in_a_file, tell_that_it_gives_back_others) {
  kept rows(x, blocks, there);
  keep(rows, 1);
  expect(rows, 1);
  keep(rows, 2);
  rows.bring({0, kept::taken}, 0, 8);  // all is written
  int spoiled = 0;
  for (auto const& handle : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code none;
    if (!std::filesystem::read_symlink(handle, none).string().starts_with(folder.string())) continue;
    int const fd = ::open(handle.path().c_str(), O_RDWR);
    ASSERT_GE(fd, 0);
    spoiled += ::pwrite(fd, "spoiled", 7, 2 * 20480 + 100) == 7;  // of the third block
    ::close(fd);
  }
  ASSERT_EQ(spoiled, 1);
  EXPECT_THAT(
      error_of([&] { expect(rows, 2); }),
      AllOf(HasSubstr(folder.string()), HasSubstr("gives back other activations than were written, at byte 40960; check the disk")));
  EXPECT_THAT(error_of([&] { rows.bring({0, kept::taken}, 2, 8); }), HasSubstr("gives back other activations"));  // nor later
  keep(rows, 3);
  expect(rows, 3);
}

TEST_F(kept_in_a_file, tell_that_the_disk_is_full) {
  kept rows(x, blocks, there);
  {
    full_disk const full(50000);
    EXPECT_THAT(
        error_of([&] { keep(rows, 1), expect(rows, 1); }),
        AllOf(HasSubstr(folder.string()), HasSubstr("a scratch file cannot be written: File too large; the work needs about 61440 ")));
  }
  {
    full_disk const full(10000);  // while later blocks are kept
    EXPECT_THAT(error_of([&] { keep(rows, 1); }), HasSubstr("a scratch file cannot be written"));
  }
  keep(rows, 2);
  expect(rows, 2);
  EXPECT_THAT(error_of([&] {
                kept(x, {0, 1}, std::make_shared<scratch_folder>(at("none")));
              }),
              HasSubstr("a scratch file cannot be made there: No such file"));
  std::vector<std::uint64_t> const huge{0, std::uint64_t{1} << 54};
  EXPECT_THAT(error_of([&] {
                kept(x, huge, there).keep({0, kept::taken}, 0, {from.data(), 8}, 8);
              }),
              HasSubstr("the work needs about 576460752303484928 bytes of disk there"));  // with those of the other, on one disk
}

TEST(kept_rows, were_kept_before_they_come) {
  executor x({device_kind::cpu});
  kept_rows<float> rows(x, {0, 4});
  EXPECT_THROW(rows.bring({0, kept_rows<float>::taken}, 0, 6), error);
}

}  // namespace
}  // namespace garner
