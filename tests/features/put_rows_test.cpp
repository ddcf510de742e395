// Rows that are put into files: they, and no others, change; on a crash between any two writes the file has all of the old or the new.
#include "garner/put_rows.hpp"

#include <fstream>

#include "child.hpp"
#include "core/fail.hpp"
#include "features/file_tables.hpp"
#include "garner/convert.hpp"
#include "refused.hpp"
#include "storage/file_changes.hpp"

namespace garner {
namespace {
using namespace garner::testing;

constexpr std::uint64_t n = 300, width = 602;
std::vector<std::int64_t> const ids{7, 8, 299, 0, 7};

std::string made(a_folder const& folder, std::string const& kind) {
  std::string const plain = folder.numbered(width, n), file = folder.at("t.gnt").string();
  if (kind == "npy") return plain;
  page_file_options how;
  how.unit_pages = 3;
  for (unsigned k = 0; kind == "striped" && k < 3; ++k) {
    how.folders.push_back(folder.at(std::to_string(k)).string());
    std::filesystem::create_directories(how.folders.back());
  }
  convert_rows(plain, file, how);
  return file;
}
std::vector<float> fresh() {
  std::vector<float> values;
  for (std::size_t k = 0; k < ids.size() * width; ++k) values.push_back(-1 - static_cast<float>(k));
  return values;
}
void put(std::string const& file) {
  std::vector<float> const values = fresh();
  put_rows(file, ids, std::as_bytes(std::span(values)));
}
std::vector<float> expected(bool is_new) {
  std::vector<float> all(n * width);
  std::iota(all.begin(), all.end(), 0.0f);
  std::vector<float> const values = fresh();
  for (std::size_t k = 0; is_new && k < ids.size(); ++k)
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(k * width), width, all.begin() + ids[k] * static_cast<std::ptrdiff_t>(width));
  return all;
}
std::vector<float> now(std::string const& file) {
  row_array const all = read_rows(file);
  auto const* const at = static_cast<float const*>(all.data);
  return {at, at + n * width};
}

TEST(put_rows, changes_these_rows_alone) {
  for (char const* kind : {"npy", "gnt", "striped"}) {
    a_folder const folder;
    std::string const file = made(folder, kind);
    row_array const before = open_rows(file);
    put(file);
    EXPECT_EQ(now(file), expected(true)) << kind;
    EXPECT_FALSE(std::filesystem::exists(journal_of(file)));
    EXPECT_TRUE(refused(errc::input, "was written to since it was opened", [&] { tiered_tensor(before, {}); }));
  }
}

TEST(put_rows, of_a_table_that_lacks_one_changes_nothing) {
  a_folder const folder;
  std::string const file = made(folder, "gnt");
  std::vector<float> const values(2 * width);
  auto const bytes = std::as_bytes(std::span(values));
  for (std::int64_t const bad : {std::int64_t{-1}, std::int64_t{n}})
    EXPECT_TRUE(refused(errc::input, "position 1", [&] { put_rows(file, std::vector<std::int64_t>{1, bad}, bytes); }));
  EXPECT_TRUE(refused(errc::usage, "give each id a row", [&] { put_rows(file, std::vector<std::int64_t>{1}, bytes); }));
  EXPECT_EQ(now(file), expected(false));
}

TEST(put_rows, DISABLED_and_dies) {
  static int left;
  left = std::atoi(std::getenv("GARNER_TEST_STEP"));
  between_changes = [] {
    if (left-- == 0) ::_exit(3);
  };
  put(std::getenv("GARNER_TEST_FILE"));
  tell('e');
  ::_exit(0);
}

TEST(put_rows, are_all_old_or_all_new_after_a_crash_between_any_two_writes) {
  for (char const* kind : {"npy", "gnt", "striped"}) {
    bool ended = false, new_before = false;
    int step = 0;
    for (; !ended; ++step) {
      ASSERT_LT(step, 100);
      a_folder const folder;
      std::string const file = made(folder, kind);
      {
        child c("put_rows.DISABLED_and_dies", {"GARNER_TEST_FILE=" + file, "GARNER_TEST_STEP=" + std::to_string(step)});
        ended = c.hears() == 'e';
      }
      std::vector<float> const found = now(file);
      bool const is_new = found == expected(true);
      EXPECT_TRUE(is_new || found == expected(false)) << kind << " step " << step;
      EXPECT_GE(is_new, new_before);
      new_before = is_new;
      EXPECT_FALSE(std::filesystem::exists(journal_of(file)));
    }
    EXPECT_GT(step, 5);
    EXPECT_TRUE(new_before);
  }
}

TEST(put_rows, refuse_the_journal_of_another_table) {
  a_folder const folder;
  std::string const file = made(folder, "gnt");
  {
    child c("put_rows.DISABLED_and_dies", {"GARNER_TEST_FILE=" + file, "GARNER_TEST_STEP=1"});
    c.hears();
  }
  ASSERT_TRUE(std::filesystem::exists(journal_of(file)));
  std::string const plain = folder.numbered(width, n);
  convert_rows(plain, file);
  EXPECT_TRUE(refused(errc::input, "is not of this table", [&] { read_rows(file); }));
}

// What another process wrote between this one's reading and its turn to write is not written over.
TEST(put_rows, are_refused_where_another_process_wrote_meanwhile) {
  a_folder const folder;
  std::string const file = made(folder, "npy");
  changed_files const own = itself_alone(file);
  auto const change = [&](auto const& require) { change_files(file, own.files, own.id, {{0, 200, "new"}}, require); };
  EXPECT_TRUE(refused(errc::input, "since it was opened", [&] { change([] { fail(errc::input, "written to since it was opened"); }); }));
  EXPECT_EQ(now(file), expected(false));
  EXPECT_FALSE(std::filesystem::exists(journal_of(file)));
  std::ofstream(journal_of(file)) << "of another";
  EXPECT_TRUE(refused(errc::input, "another process began to write rows", [&] { change([] {}); }));
  EXPECT_EQ(std::filesystem::file_size(journal_of(file)), 10u);
}

}  // namespace
}  // namespace garner
