// .npy files as NumPy writes them, and inconsistent ones.
#include <cstring>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <unistd.h>

#include "garner/features.hpp"
#include "memory/budget.hpp"
#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;

struct npy : ::testing::Test {
  std::filesystem::path file = std::filesystem::path(::testing::TempDir()) / ("rows-" + std::to_string(::getpid()) + ".npy");
  ~npy() override { std::filesystem::remove(file); }
  void write(std::string const& all) { std::ofstream(file, std::ios::binary) << all; }
  static std::string bytes(std::string header, std::string const& data, int version = 1, std::uint64_t length = 0) {
    header += '\n';
    if (!length) length = header.size();
    std::string all = "\x93NUMPY";
    all += static_cast<char>(version);
    all += '\0';
    for (int k = 0; k < (version == 1 ? 2 : 4); ++k) all += static_cast<char>(length >> 8 * k & 255);
    return all + header + data;
  }
  static std::string header(std::string const& descr, std::string const& shape, std::string const& order = "False") {
    return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
  }
  std::string refused(std::string const& all) {
    write(all);
    errc code{};
    std::string const said = error_of([&] { read_rows(file); }, &code);
    EXPECT_EQ(code, errc::input) << said;
    EXPECT_EQ(said.find('\n'), std::string::npos);
    EXPECT_EQ(said.rfind(file.string() + ": ", 0), 0u) << said;
    return said.substr(std::min(said.size(), file.string().size() + 2));
  }
};

TEST_F(npy, mapped_it_is_the_file) {
  std::string const data = "12345678abcdefgh";
  std::string head = header("<f4", "(2, 2)");
  while ((10 + head.size() + 1) % 64) head += ' ';
  for (std::string const& odd : {std::string(), std::string(" ")}) {  // with it rows are misaligned for floats
    write(bytes(head + odd, data));
    std::uint64_t const before = host_budget().used();
    row_array t = map_rows(file);
    EXPECT_EQ(host_budget().used() == before, odd.empty());  // the pages belong to the file
    EXPECT_EQ(std::memcmp(t.data, data.data(), data.size()), 0);
    EXPECT_EQ(t.rows, 2u);
    EXPECT_EQ(map_rows(file, element::u8).width, 8u);
    std::filesystem::remove(file);
    EXPECT_EQ(std::memcmp(t.data, data.data(), data.size()), 0);
  }
  write(bytes(head, data.substr(1)));
  EXPECT_NE(error_of([&] { map_rows(file); }).find("shorter than its header says"), std::string::npos);
}

TEST_F(npy, every_element_and_version) {
  struct {
    char const* descr;
    element kind;
  } const kinds[]{{"<f4", element::f32}, {"<f2", element::f16}, {"|i1", element::i8},  {"<i8", element::i64}, {"|u1", element::u8},
                  {"=f4", element::f32}, {"|f4", element::f32}, {"=i8", element::i64}, {"=i1", element::i8},  {"=u1", element::u8}};
  for (auto const& k : kinds)
    for (int version : {1, 2, 3}) {
      std::string data(6 * bytes_of(k.kind), '\0');
      for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i * 7 + 1);
      write(bytes(header(k.descr, "(3, 2)") + std::string(40, ' '), data, version));
      row_array const t = read_rows(file);
      EXPECT_EQ(t.rows, 3u);
      EXPECT_EQ(t.width, 2u);
      EXPECT_EQ(t.kind, k.kind);
      EXPECT_EQ(std::memcmp(t.data, data.data(), data.size()), 0);
      write(bytes(header(k.descr, "(6,)"), data, version));
      EXPECT_EQ(read_rows(file).rows, 6u);
      EXPECT_EQ(read_rows(file).width, 1u);
    }
}

// Element types without an equivalent are returned as raw bytes.
TEST_F(npy, other_types_are_raw_bytes) {
  for (char const* descr : {"<f8", "<i4", "<i2", "<u2", "<u4", "<u8", "|b1", "<c8", "<c16", "<f16", "<V2", "|V2", "|V7", "<U2", "|S5"}) {
    unsigned const digits = static_cast<unsigned>(std::stoul(descr + 2)), each = descr[1] == 'U' ? 4 * digits : digits;
    std::string data(6 * each, '\0');
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i * 11 + 3);
    write(bytes(header(descr, "(3, 2)"), data));
    row_array const t = read_rows(file);
    EXPECT_EQ(t.kind, element::u8) << descr;
    EXPECT_EQ(t.type, descr);
    EXPECT_EQ(t.rows, 3u);
    EXPECT_EQ(t.width, 2 * each);
    EXPECT_EQ(t.type_bytes, each);
    tiered_options o;
    o.device = {device_kind::simulated, 0}, o.feature_cache = t.row_bytes();
    tiered_tensor tensor(t, o);
    EXPECT_THAT(tensor.about(), ::testing::HasSubstr(std::string("elements of ") + descr + " are held as raw bytes"));
    std::int64_t const ids[] = {2, 0, 2, 1};
    std::string out(4 * t.row_bytes(), '\0');
    tensor.gather({ids, 4, 8}, out);
    for (std::size_t k = 0; k < 4; ++k)
      EXPECT_EQ(out.substr(k * t.row_bytes(), t.row_bytes()), data.substr(static_cast<std::size_t>(ids[k]) * t.row_bytes(), t.row_bytes()));
    gather_options to;
    to.to = element::f32;
    EXPECT_THAT(error_of([&] {
                  tensor.gather({ids, 4, 8}, out, to);
                }),
                ::testing::StartsWith(std::string("rows of ") + descr + ", held as raw bytes, cannot be written as f32"));
  }
}

TEST_F(npy, bf16_is_what_the_caller_says) {
  std::string const data("\x80\x3f\x00\xc0\x20\x41\x00\x00\x80\xbf\x40\x40", 12);  // 1 -2 10 / 0 -1 3
  std::vector<float> const values{1, -2, 10, 0, -1, 3};
  for (char const* descr : {"<V2", "|V2", "<u2", "<i2", "<f2", "bfloat16", "|u1", "|i1", "|V1"}) {
    bool const byte = descr[2] == '1';
    write(bytes(header(descr, byte ? "(2, 6)" : "(2, 3)"), data));
    row_array const t = read_rows(file, element::bf16);
    EXPECT_EQ(t.kind, element::bf16) << descr;
    EXPECT_EQ(t.width, 3u);
    EXPECT_EQ(t.type, "");
    std::int64_t const ids[] = {0, 1};
    std::vector<float> out(6);
    gather_options to;
    to.to = element::f32;
    tiered_tensor(t).gather({ids, 2, 8}, out, to);
    EXPECT_EQ(out, values) << descr;
  }
  write(bytes(header("bfloat16", "(2, 3)"), data));
  EXPECT_EQ(read_rows(file).kind, element::bf16);
  EXPECT_EQ(read_rows(file, element::u8).width, 6u);
  write(bytes(header("<f4", "(3,)"), data));
  errc code{};
  EXPECT_EQ(
      error_of([&] { read_rows(file, element::bf16); }, &code),
      file.string() +
          ": elements of 4 bytes (f32) cannot be seen as bf16, which takes 2: nothing is converted; use u8, an element of 4 bytes, or "
          "convert the table first");
  EXPECT_EQ(code, errc::usage);
  write(bytes(header("|V3", "(4,)"), data));
  EXPECT_THAT(error_of([&] { read_rows(file, element::bf16); }), ::testing::HasSubstr("elements of 3 bytes (|V3)"));
  EXPECT_EQ(read_rows(file, element::u8).width, 3u);
  write(bytes(header("|u1", "(4, 3)"), data));
  EXPECT_THAT(error_of([&] { read_rows(file, element::bf16); }),
              ::testing::HasSubstr("rows of 3 bytes (u8) are not a whole number of bf16"));
}

TEST_F(npy, a_row_is_all_but_the_first_dimension) {
  write(bytes(header("<f4", "(2, 3, 4)"), std::string(96, 'x')));
  row_array const t = read_rows(file);
  EXPECT_EQ(t.rows, 2u);
  EXPECT_EQ(t.width, 12u);
  EXPECT_EQ(t.shape, (std::vector<std::uint64_t>{2, 3, 4}));
}

TEST_F(npy, tables_without_rows_or_elements) {
  write(bytes(header("<f4", "(0, 100)"), ""));
  EXPECT_EQ(read_rows(file).rows, 0u);
  EXPECT_EQ(read_rows(file).width, 100u);
  write(bytes(header("<f4", "(100, 0)"), ""));
  EXPECT_EQ(read_rows(file).rows, 100u);
}

TEST_F(npy, column_order_counts_only_where_it_differs) {
  write(bytes(header("|u1", "(4,)", "True"), "abcd"));
  EXPECT_EQ(read_rows(file).rows, 4u);
  EXPECT_THAT(refused(bytes(header("|u1", "(2, 2)", "True"), "abcd")), ::testing::HasSubstr("column by column"));
}

TEST_F(npy, lies) {
  std::string const good = header("<f4", "(2, 2)"), data(16, 'x');
  EXPECT_THAT(refused(bytes(header("<f4", "(3, 2)"), data)), ::testing::StartsWith("shorter than its header says: an array (3, 2) of <f4"));
  EXPECT_THAT(refused(bytes(header("<f4", "(1, 2)"), data)), ::testing::StartsWith("longer than its header says"));
  EXPECT_THAT(refused(bytes(header("<f4", "(4611686018427387905, 4)"), data)), ::testing::StartsWith("shorter than"));
  EXPECT_THAT(refused(bytes(header("<f4", "(99999999999999999999, 4)"), data)), ::testing::HasSubstr("something other than whole numbers"));
  EXPECT_THAT(refused(bytes(header("<f4", "(-2, 2)"), data)), ::testing::HasSubstr("something other than whole numbers"));
  EXPECT_THAT(refused(bytes(header("<f4", "()"), data)), ::testing::StartsWith("has 0 dimensions; the first of a table counts its rows"));
  EXPECT_THAT(refused(bytes(header(">f4", "(2, 2)"), data)), ::testing::StartsWith("elements are big-endian (>f4)"));
  EXPECT_THAT(refused(bytes(header("|O", "(2, 1)"), data)), ::testing::StartsWith("elements are '|O'"));
  EXPECT_THAT(refused(bytes(header("<M8[ns]", "(2,)"), data)), ::testing::HasSubstr("table.view('<i8')"));
  EXPECT_THAT(refused(bytes(header("<f0", "(2,)"), data)), ::testing::StartsWith("elements are '<f0'"));
  EXPECT_THAT(refused(bytes("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (4,)}", data)),
              ::testing::HasSubstr("table.view('u1')"));
  EXPECT_THAT(refused(bytes("{'descr': '<f4', 'shape': (2, 2)}", data)), ::testing::HasSubstr("fortran_order"));
  EXPECT_THAT(refused(bytes("{'descr': '<f4', 'fortran_order': False}", data)), ::testing::HasSubstr("no shape"));
  EXPECT_THAT(refused(bytes("{'fortran_order': False, 'shape': (2, 2)}", data)), ::testing::HasSubstr("no descr"));
  EXPECT_THAT(refused(bytes("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2, 2)}", data)), ::testing::HasSubstr("False or True"));
  EXPECT_THAT(refused(bytes(good.substr(0, 30), data)), ::testing::HasSubstr("not a table in NumPy's format"));
  EXPECT_THAT(refused(bytes(good + good, data)), ::testing::HasSubstr("follows its header"));
  EXPECT_THAT(refused(bytes(good, data, 1, 60000)), ::testing::StartsWith("shorter than its header says"));
  EXPECT_THAT(refused(bytes(good, data, 2, 0xfffffff0)), ::testing::StartsWith("shorter than its header says"));
  EXPECT_THAT(refused("\x89GNR\r\n\x1a\n" + data), ::testing::StartsWith("is a graph of Garner's, no table"));
  EXPECT_THAT(refused("GARNERTR" + data), ::testing::StartsWith("is a trace of Garner's, no table"));
  EXPECT_THAT(refused(bytes(good, data, 4)), ::testing::StartsWith("is of version 4.0"));
  EXPECT_THAT(refused(bytes("{'de\nscr': '<f4'}", data)), ::testing::HasSubstr("cannot be printed"));
  EXPECT_THAT(refused(""), ::testing::HasSubstr("does not begin with"));
  EXPECT_THAT(refused("\x93NUM"), ::testing::HasSubstr("does not begin with"));
  EXPECT_THAT(refused("a,b\n1,2\n3,4\n"), ::testing::HasSubstr("does not begin with"));
  std::string const all = bytes(good, data);
  for (std::size_t cut = 0; cut < all.size(); ++cut) refused(all.substr(0, cut));
  errc code{};
  std::filesystem::remove(file);
  error_of([&] { read_rows(file); }, &code);
  EXPECT_EQ(code, errc::io);
}

TEST_F(npy, the_host_budget_pays_and_refuses) {
  write(bytes(header("|u1", "(1000000,)"), std::string(1000000, 'x')));
  std::uint64_t const before = host_budget().used(), limit = host_budget().limit();
  {
    row_array const t = read_rows(file);
    EXPECT_EQ(host_budget().used(), before + 1000000);
  }
  EXPECT_EQ(host_budget().used(), before);
  host_budget().set_limit(before + 1000);
  errc code{};
  error_of([&] { read_rows(file); }, &code);
  host_budget().set_limit(limit);
  EXPECT_EQ(code, errc::memory);
}

}  // namespace
}  // namespace garner
