// Feature files: round trips by every width, and files with inconsistent headers.
#include "features/row_file.hpp"

#include <cstring>

#include "files/npy_head.hpp"
#include "garner/features.hpp"
#include "storage_support.hpp"
#include "support.hpp"

namespace garner {
namespace {

using namespace testing;
namespace fs = std::filesystem;

struct row_files : in_folder {
  std::string path(char const* name) const { return (folder / name).string(); }
  std::string array(char const* name, std::uint64_t rows, std::uint64_t width, char const* type = "<f4", std::uint64_t each = 4) const {
    std::string const head = npy_head(type, rows, width);
    std::vector<std::byte> all(head.size() + rows * width * each);
    std::memcpy(all.data(), head.data(), head.size());
    for (std::uint64_t k = 0; k < rows * width * each; ++k) all[head.size() + k] = byte_at(k);
    return write(name, all);
  }
  static std::string bytes_of(std::string const& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

TEST(row_places, rows_cross_pages_only_where_much_would_be_lost) {
  EXPECT_EQ(row_places(512, 4096).per_page, 8u);
  EXPECT_EQ(row_places(4096, 4096).per_page, 1u);
  EXPECT_EQ(row_places(1000, 4096).per_page, 4u);
  EXPECT_EQ(row_places(2408, 4096).per_page, 0u);
  EXPECT_EQ(row_places(5000, 4096).per_page, 0u);
  EXPECT_EQ(row_places(1000, 4096)(5), 4096u + 1000);
  EXPECT_EQ(row_places(2408, 4096)(3), 3u * 2408);
  EXPECT_EQ(row_places(1000, 4096).bytes_of(5), 4096u + 1000);
  EXPECT_EQ(row_places(1000, 4096).bytes_of(0), 0u);
}

TEST_F(row_files, there_and_back) {
  page_file_options striped;
  for (char const* d : {"d0", "d1", "d2"}) {
    fs::create_directory(folder / d);
    striped.folders.push_back(path(d));
  }
  for (std::uint64_t const width : {1ull, 128ull, 250ull, 602ull, 1024ull, 5000ull})
    for (std::uint64_t const rows : {0ull, 1ull, 301ull})
      for (bool const stripes : {false, true}) {
        std::string const in = array("in.npy", rows, width);
        page_file_options o = stripes ? striped : page_file_options{};
        rows_converted const r = convert_rows(in, path("t.gnt"), o);
        EXPECT_EQ(r.rows, rows);
        EXPECT_EQ(r.row_bytes, width * 4);
        EXPECT_TRUE(is_row_file(path("t.gnt")));
        row_file f(path("t.gnt"));
        EXPECT_EQ(f.rows(), rows);
        EXPECT_EQ(f.layout().type(), "<f4");
        EXPECT_EQ(f.layout().shape(), (std::vector<std::uint64_t>{rows, width}));
        // To other pages, and back to the identical file.
        o.page_bytes = 8192;
        convert_rows(path("t.gnt"), path("u.gnt"), o);
        convert_rows(path("u.gnt"), path("out.npy"));
        EXPECT_EQ(bytes_of(path("out.npy")) == bytes_of(in), true) << width << ' ' << rows;
      }
}

TEST_F(row_files, any_row_lies_where_its_place_says) {
  for (std::uint64_t const width : {128ull, 602ull}) {
    convert_rows(array("in.npy", 3000, width), path("t.gnt"));
    row_file f(path("t.gnt"));
    std::vector<std::byte> two(2 * 4096 + 4096);
    for (std::uint64_t const row : {0ull, 1ull, 777ull, 2999ull}) {
      std::uint64_t const at = f.places()(row), page = at / 4096, last = (at + width * 4 - 1) / 4096;
      read_pages(f.pages(), page, last - page + 1, two.data());
      EXPECT_TRUE(holds(two.data() + at % 4096, row * width * 4, width * 4)) << row;
    }
  }
}

TEST_F(row_files, other_elements_and_shapes) {
  for (auto const& [type, each] : {std::pair("|u1", 1), std::pair("<f2", 2), std::pair("<i8", 8), std::pair("<f8", 8)}) {
    std::string const in = array("in.npy", 100, 33, type, static_cast<std::uint64_t>(each));
    EXPECT_EQ(convert_rows(in, path("t.gnt")).type, type);
    convert_rows(path("t.gnt"), path("out.npy"));
    EXPECT_EQ(bytes_of(path("out.npy")), bytes_of(in));
  }
  EXPECT_EQ(error_of([&] { convert_rows(array("none.npy", 0, 0, "<f4", 4), path("t.xyz")); }),
            path("t.xyz") + ": rows are written as .gnt or .npy; end its name so");
  EXPECT_NE(
      error_of([&] { convert_rows(write("x.npy", std::vector<std::byte>(100)), path("t.gnt")); }).find("not a table in NumPy's format"),
      std::string::npos);
  EXPECT_EQ(read_rows(path("t.gnt")).rows, 100u);
  EXPECT_NE(error_of([&] { convert_rows(path("nix.npy"), path("t.gnt")); }).find("cannot be opened"), std::string::npos);
}

TEST_F(row_files, pages_that_hold_no_rows_are_told) {
  auto const with = [&](std::string const& content, std::uint64_t bytes) {
    page_file_writer w(path("t.gnt"), bytes, content, {});
    std::vector<std::byte> const zeros(bytes);
    w.write(zeros.data(), bytes);
    w.finish();
    errc code{};
    std::string const said = error_of([&] { row_file{path("t.gnt")}; }, &code);
    EXPECT_EQ(code, errc::input);
    EXPECT_EQ(said.rfind(path("t.gnt") + ": ", 0), 0u);
    return said;
  };
  auto const content = [](std::uint64_t rows, std::uint64_t bytes, std::string const& head) {
    std::uint64_t const counts[2] = {rows, bytes};
    return std::string(reinterpret_cast<char const*>(counts), 16) + head;
  };
  EXPECT_NE(with("", 5000).find("without a feature table"), std::string::npos);
  EXPECT_NE(with(content(~0ull, 512, npy_head("<f4", 8, 128)), 4096).find("are too many"), std::string::npos);
  EXPECT_NE(with(content(8, 512, npy_head("<f4", 9, 128)), 4096).find("shorter than its header says"), std::string::npos);
  EXPECT_NE(with(content(16, 256, npy_head("<f4", 8, 128)), 4096).find("are not those of 16 rows of 256 bytes"), std::string::npos);
  EXPECT_NE(with(content(8, 512, npy_head("<f4", 8, 128)), 8192).find("8192 bytes of pages are not those of 8 rows of 512"),
            std::string::npos);
  EXPECT_NE(with(content(8, 512, "rubbish rubbish"), 4096).find("not a table in NumPy's format"), std::string::npos);
}

}  // namespace
}  // namespace garner
