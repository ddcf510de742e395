// Feature files: round trips, one file or stripes, and every kind of damage.
#include "storage/page_file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <set>

#include "child.hpp"
#include "lab/drives/simulated.hpp"
#include "sanitized.hpp"
#include "storage_support.hpp"
#include "support.hpp"

namespace garner {
namespace {

using namespace testing;
using namespace lab;
namespace fs = std::filesystem;

struct pages : in_folder {
  page_file_options options(unsigned stripes, std::uint32_t page = 4096, std::uint32_t unit = 2) const {
    page_file_options o;
    o.page_bytes = page;
    o.unit_pages = unit;
    for (unsigned k = 0; k < stripes; ++k) {
      o.folders.push_back((folder / ("d" + std::to_string(k))).string());
      fs::create_directory(o.folders.back());
    }
    return o;
  }
  std::string path(char const* name = "t.gnt") const { return (folder / name).string(); }
  // byte_at(begin) ... in parts of all sizes.
  static void write_pages(std::string const& to, std::uint64_t bytes, page_file_options const& o, std::uint64_t begin = 0,
                          std::string const& content = "what it is") {
    std::vector<std::byte> all(bytes);
    for (std::uint64_t k = 0; k < bytes; ++k) all[k] = byte_at(begin + k);
    page_file_writer w(to, bytes, content, o);
    for (std::uint64_t at = 0, part = 1; at < bytes; at += part, part = part * 3 % 7919 + 1) {
      part = std::min(part, bytes - at);
      w.write(all.data() + at, part);
    }
    w.finish();
  }
  static std::string problem_of(std::string const& file) {
    return error_of([&] { page_file{file}; });
  }
  static void flip(std::string const& file, std::uint64_t at) {
    std::fstream f(file, std::ios::in | std::ios::out | std::ios::binary);
    f.seekg(static_cast<std::streamoff>(at));
    char c = 0;
    f.get(c);
    f.seekp(static_cast<std::streamoff>(at));
    f.put(static_cast<char>(c ^ 4));
  }
  std::set<std::string> files() const {
    std::set<std::string> names;
    for (auto const& f : fs::recursive_directory_iterator(folder))
      if (f.is_regular_file()) names.insert(fs::relative(f.path(), folder).string());
    return names;
  }
};

TEST_F(pages, there_and_back) {
  for (unsigned const stripes : {0u, 1u, 3u})
    for (std::uint32_t const page : {512u, 4096u, 65536u})
      for (std::uint64_t const bytes : {0ull, 1ull, 4096ull, 200'001ull}) {
        page_file_options const o = options(stripes, page);
        write_pages(path(), bytes, o);
        page_file f(path());
        EXPECT_EQ(f.bytes(), bytes);
        EXPECT_EQ(f.pages(), (bytes + page - 1) / page);
        EXPECT_EQ(f.content(), "what it is");
        EXPECT_EQ(f.stripes().size(), std::max(stripes, 1u));
        std::vector<std::byte> all(f.pages() * page);
        if (f.pages()) read_pages(f, 0, f.pages(), all.data());
        EXPECT_TRUE(holds(all.data(), 0, bytes));
        EXPECT_EQ(std::count(all.begin() + static_cast<std::ptrdiff_t>(bytes), all.end(), std::byte{0}),
                  static_cast<std::ptrdiff_t>(all.size() - bytes));
      }
  // The replaced table is removed with its stripes.
  EXPECT_EQ(files().size(), 1u + 3u);
}

TEST_F(pages, a_wrong_bit_anywhere_is_an_error) {
  page_file_options const o = options(2);
  write_pages(path(), 100'000, o);
  std::string const stripe = page_file(path()).stripes()[1];
  std::uint64_t const size = fs::file_size(stripe);
  // In the header, the pages and the checksums, of a stripe and of the list.
  for (std::uint64_t at = 0; at < size; at += at < 200 ? 7 : 997) {
    flip(stripe, at);
    errc code{};
    std::string const said = error_of(
        [&] {
          page_file f(path());
          std::vector<std::byte> all(f.pages() * 4096);
          read_pages(f, 0, f.pages(), all.data());
        },
        &code);
    EXPECT_EQ(code, errc::input) << at << ": " << said;
    EXPECT_NE(said.find(stripe), std::string::npos) << said;
    if (at >= 8192 && at < 8192 + 12 * 4096) {
      EXPECT_EQ(said, fmt::format("{}: 4096 bytes at byte {}: are not what was written there (checksum); restore the file from a copy",
                                  stripe, at / 4096 * 4096));
    }
    flip(stripe, at);
  }
  for (std::uint64_t at = 0; at < 4096; at += 13) {
    flip(path(), at);
    EXPECT_NE(problem_of(path()).find(path()), std::string::npos);
    flip(path(), at);
  }
  page_file{path()};
}

TEST_F(pages, what_may_happen_to_stripes) {
  page_file_options const o = options(2);
  write_pages(path(), 100'000, o);
  write_pages(path("u.gnt"), 100'000, o, 5);
  auto const t = page_file(path()).stripes(), u = page_file(path("u.gnt")).stripes();

  fs::rename(t[1], path("aside"));
  EXPECT_EQ(problem_of(path()),
            fmt::format("{}: its stripe 1 is missing: {} does not exist, nor is it in this folder; mount its drive, or convert again",
                        path(), t[1]));
  fs::copy_file(u[1], t[1]);
  EXPECT_NE(problem_of(path()).find("stripes of two tables are mixed"), std::string::npos);
  fs::remove(t[1]);
  write_pages(path("w.gnt"), 100'000, options(2, 8192));  // the same bytes in pages of another size
  fs::copy_file(page_file(path("w.gnt")).stripes()[1], t[1]);
  EXPECT_NE(problem_of(path()).find("stripes of two tables are mixed"), std::string::npos);
  fs::remove(t[1]);
  fs::copy_file(t[0], t[1]);
  EXPECT_NE(problem_of(path()).find("is stripe 0 of 2, where " + path() + " lists stripe 1 of 2"), std::string::npos);
  fs::remove(t[1]);
  fs::rename(path("aside"), t[1]);
  page_file{path()};

  EXPECT_EQ(problem_of(t[1]), t[1] + ": is stripe 1 of a table of 2; name the file that lists them");
  std::uint64_t const size = fs::file_size(t[1]);
  fs::resize_file(t[1], size - 1);
  EXPECT_EQ(problem_of(path()),
            fmt::format("{}: is shorter than its head says: {} bytes, {} are due; restore it from a copy, or convert again", t[1], size - 1,
                        size));
  fs::resize_file(t[1], 100);
  EXPECT_NE(problem_of(path()).find("damaged feature file"), std::string::npos);
  fs::resize_file(t[1], 0);
  EXPECT_NE(problem_of(path()).find("is not a feature file"), std::string::npos);

  // Moved together: found next to the list.
  fs::create_directory(folder / "moved");
  for (auto const& s : u) fs::rename(s, folder / "moved" / fs::path(s).filename());
  fs::rename(path("u.gnt"), path("moved/u.gnt"));
  page_file moved(path("moved/u.gnt"));
  std::vector<std::byte> all(moved.pages() * 4096);
  read_pages(moved, 0, moved.pages(), all.data());
  EXPECT_TRUE(holds(all.data(), 5, 100'000));
}

TEST_F(pages, a_file_written_to_while_it_is_open) {
  write_pages(path(), 100'000, options(0));
  page_file f(path());
  std::vector<std::byte> all(f.pages() * 4096);
  read_pages(f, 0, f.pages(), all.data());
  flip(path(), 10'000);
  EXPECT_EQ(error_of([&] { read_pages(f, 0, f.pages(), all.data()); }),
            path() + ": was written to since it was opened; keep it unchanged while it is read");
  // A file that takes its name does not affect the open one.
  write_pages(path("v.gnt"), 100'000, options(0));
  page_file g(path("v.gnt"));
  write_pages(path("v.gnt"), 50'000, options(0), 3);
  read_pages(g, 0, g.pages(), all.data());
  EXPECT_TRUE(holds(all.data(), 0, 100'000));
  EXPECT_NE(error_of([&] { g.files().require_unchanged(); }).find("was replaced"), std::string::npos);
}

TEST_F(pages, what_is_not_finished_is_not_there) {
  page_file_options const o = options(2);
  std::vector<std::byte> some(50'000);
  {
    page_file_writer w(path(), 100'000, "", o);
    w.write(some.data(), some.size());
    EXPECT_NE(error_of([&] { w.finish(); }).find("50000 of 100000 bytes were written"), std::string::npos);
  }
  EXPECT_TRUE(files().empty());
  write_pages(path(), 60'000, o);
  auto const before = files();
  {
    page_file_writer w(path(), 100'000, "", o);
    w.write(some.data(), some.size());
    request_interrupt();
    EXPECT_NE(error_of([&] { w.write(some.data(), some.size()); }).find("interrupted"), std::string::npos);
    clear_interrupt();
  }
  EXPECT_EQ(files(), before);
  EXPECT_EQ(page_file(path()).bytes(), 60'000u);
  // Killed in the middle.
  child writes("pages.DISABLED_writes_until_it_is_killed", {"GARNER_TEST_FILE=" + path(), "GARNER_TEST_FOLDER=" + o.folders[0]});
  EXPECT_EQ(writes.hears(), 'w');
  EXPECT_EQ(writes.end(SIGKILL), 128 + SIGKILL);
  EXPECT_EQ(files(), before);
}

TEST_F(pages, DISABLED_writes_until_it_is_killed) {
  page_file_options o;
  o.folders = {std::getenv("GARNER_TEST_FOLDER")};
  page_file_writer w(std::getenv("GARNER_TEST_FILE"), 100'000, "", o);
  std::vector<std::byte> const some(70'000);
  w.write(some.data(), some.size());
  tell('w');
  go();
}
TEST_F(pages, DISABLED_writes_against_a_limit) {
  ::signal(SIGXFSZ, SIG_IGN);
  ::rlimit const small{100'000, 100'000};
  ::setrlimit(RLIMIT_FSIZE, &small);
  try {
    write_pages(std::getenv("GARNER_TEST_FILE"), 300'000, {});
  } catch (error const& e) {
    ::_exit(std::strstr(e.what(), "writing failed at byte") && e.code() == errc::io ? 7 : 8);
  }
  ::_exit(9);
}

TEST_F(pages, where_there_is_no_room) {
  EXPECT_NE(error_of([&] {
              page_file_writer(path(), std::uint64_t{1} << 59, "", options(0));
            }).find("needed there; free some space or name another folder"),
            std::string::npos);
  EXPECT_NE(error_of([&] { page_file_writer(path("no/t.gnt"), 100, "", options(0)); }).find("check that the folder exists"),
            std::string::npos);
  page_file_options o = options(1);
  o.folders.push_back(path("none"));
  EXPECT_NE(error_of([&] { page_file_writer(path(), 100, "", o); }).find("name folders that are there"), std::string::npos);
  o = options(0, 1000);
  EXPECT_EQ(error_of([&] { page_file_writer(path(), 100, "", o); }), "pages of 1000 bytes; use a power of two from 512 to 1048576");
  // A limit reached in the middle emulates a full disk.
  EXPECT_EQ(child("pages.DISABLED_writes_against_a_limit", {"GARNER_TEST_FILE=" + path()}).end(), 7);
  EXPECT_TRUE(files().empty());
}

// Pages of simulated drives that flip bits, fail and respond late: each page is right, or reported as wrong.
TEST_F(pages, wrong_bits_of_drives_are_found) {
  constexpr std::uint64_t bytes = 4096 * 2000;
  page_file_options const o = options(2);
  write_pages(path(), bytes, o);
  std::shared_ptr<simulated_drives> simulated;
  page_file f(path(), {}, [&](std::vector<std::string> const& stripes) {
    std::vector<simulated_drive> drives;
    for (std::string const& s : stripes) {
      simulated_drive like = optane(0);
      for (auto const what : {drive_fault::kind::wrong_bit, drive_fault::kind::fails, drive_fault::kind::short_read}) {
        drive_fault fault;
        fault.what = what;
        fault.probability = 0.01;
        like.faults.push_back(fault);
      }
      drives.push_back(holding(s, std::move(like)));
    }
    simulation how;
    how.counted_time = true;
    simulated = simulate(std::move(drives), how);
    return simulated;
  });
  std::uint64_t told = 0, wrong = 0, flipped = 0, failed = 0;
  std::vector<std::byte> to(1000 * 4096);
  page_queue queue(f);
  for (std::uint64_t round = 0; round < (sanitized ? 3 : 20); ++round) {
    std::vector<page_request> asked;
    for (std::uint64_t k = 0; k < 1000; ++k) asked.push_back({random_bits(round, 0, k) % 2000, 1, to.data() + k * 4096, k});
    queue.submit(asked);
    while (queue.under_way())
      for (read_done const& d : queue.wait(64)) {
        ++told;
        flipped += d.problem == EBADMSG, failed += d.problem == EIO;
        if (!d.problem) wrong += !holds(to.data() + d.tag * 4096, asked[d.tag].page * 4096, 4096);
      }
  }
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(told, (sanitized ? 3 : 20) * 1000u);
  EXPECT_GT(flipped, 0u);
  EXPECT_GT(failed, 0u);
}

}  // namespace
}  // namespace garner
