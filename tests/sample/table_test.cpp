// Tables and scores in .npy files: read as numpy writes them, rejected if inconsistent, permuted with the vertices.
#include "sample/table.hpp"
#include "graph/handle.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <numeric>

#include "core/random.hpp"
#include "garner/sample.hpp"
#include "graph/reorder.hpp"
#include "refused.hpp"
#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;

struct file {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("garner-table-" + std::to_string(getpid()) + ".npy");
  ~file() { std::filesystem::remove(path); }
  void write(std::string const& bytes) const { std::ofstream(path, std::ios::binary) << bytes; }
  std::string read() const {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
};
std::string head(std::string words, char major = 1) {
  std::string text("\x93NUMPY", 6);
  text += major;
  text += '\0';
  std::size_t const before = major == 1 ? 10 : 12;
  words.append(63 - (before + words.size()) % 64, ' ');
  words += '\n';
  for (std::size_t k = 0; k < (major == 1 ? 2u : 4u); ++k) text += static_cast<char>(words.size() >> (8 * k) & 0xff);
  return text + words;
}
std::string words(std::string const& type, std::string const& shape, char const* fortran = "False") {
  return "{'descr': '" + type + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }";
}
template <class T>
std::string bytes_of(std::vector<T> const& values) {
  return {reinterpret_cast<char const*>(values.data()), values.size() * sizeof(T)};
}

TEST(table, reads_scores_of_each_kind) {
  file const f;
  std::vector<float> const wanted{1, 0, 7};
  auto const read = [&](char const* type, std::string const& data, char major = 1) {
    f.write(head(words(type, "(3,)"), major) + data);
    return read_scores(f.path);
  };
  EXPECT_EQ(read("<f4", bytes_of<float>({1, 0, 7})), wanted);
  EXPECT_EQ(read("<f4", bytes_of<float>({1, 0, 7}), 2), wanted);
  EXPECT_EQ(read("<f8", bytes_of<double>({1, 0, 7})), wanted);
  EXPECT_EQ(read("<u4", bytes_of<std::uint32_t>({1, 0, 7})), wanted);
  EXPECT_EQ(read("<i8", bytes_of<std::int64_t>({1, 0, 7})), wanted);
}

TEST(table, refuses_what_is_none) {
  file const f;
  std::string const data = bytes_of<float>({1, 0, 7});
  auto const refused = [&](std::string const& bytes) {
    f.write(bytes);
    errc code{};
    std::string const message = error_of([&] { read_scores(f.path); }, &code);
    EXPECT_EQ(code, errc::input) << message;
    return message;
  };
  EXPECT_NE(refused("").find("not a table in NumPy's format"), std::string::npos);
  EXPECT_NE(refused("vertex\tscore\n").find("not a table in NumPy's format"), std::string::npos);
  EXPECT_NE(refused(head(words("<f4", "(4,)")) + data).find("shorter than its header says: an array (4) of <f4"), std::string::npos);
  EXPECT_NE(refused(head(words("<f4", "(3, 1)")) + data).find("2 dimensions"), std::string::npos);
  EXPECT_NE(refused(head(words("<f4", "(3, 1)", "True")) + data).find("2 dimensions"), std::string::npos);
  EXPECT_NE(refused(head(words(">f4", "(3,)")) + data).find("big-endian"), std::string::npos);
  EXPECT_NE(refused(head(words("<c8", "(1,)")) + data).find("<c8"), std::string::npos);
  EXPECT_NE(refused(head(words("<f4", "(99999999999, 99999999999)")) + data).find("shorter than"), std::string::npos);
  refused(head("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,), }") + data);
  refused(head("{}") + data);
  std::string const whole = head(words("<f4", "(3,)")) + data;
  for (std::size_t size = 0; size < whole.size(); ++size) refused(whole.substr(0, size));
  EXPECT_TRUE(testing::refused(errc::io, [&] { read_scores(f.path.string() + ".none"); }));
  EXPECT_TRUE(testing::refused(errc::input, [&] { read_scores(std::filesystem::temp_directory_path()); }));
  std::filesystem::remove(f.path);
  ASSERT_EQ(::mkfifo(f.path.c_str(), 0600), 0);
  EXPECT_TRUE(testing::refused(errc::input, [&] { read_scores(f.path); }));  // and does not wait for a writer
}

TEST(table, goes_with_its_vertices) {
  std::vector<arc> arcs;
  for (std::uint64_t i = 0; i < 3000; ++i) arcs.push_back({10 + random_bits(1, 0, i) % 700, 10 + random_bits(1, 1, i) % 700});
  std::vector<float> score(710);
  for (std::size_t r = 0; r < score.size(); ++r) score[r] = static_cast<float>(random_bits(1, 2, r) % 50);
  graph_handle const handle = graph_access::wrap(reorder(make_graph(arcs, true, 710), {vertex_order::score, 1, score}));
  graph const& g = graph_access::of(handle);
  for (std::uint64_t const width : {1ull, 3ull, 5000ull}) {
    file const f;
    std::vector<std::uint32_t> table(710 * width);
    std::iota(table.begin(), table.end(), 0u);
    std::string const h = head(words("<u4", "(710, " + std::to_string(width) + ")"));
    f.write(h + bytes_of(table));
    file out;
    out.path += ".out";
    permute_table(handle, f.path, out.path);
    permute_table(handle, f.path, f.path);  // in place
    EXPECT_EQ(f.read(), out.read());
    std::string const got = f.read();
    ASSERT_EQ(got.size(), h.size() + table.size() * 4);
    EXPECT_EQ(got.substr(0, h.size()), h);
    for (std::uint64_t v = 0; v < 710; ++v)
      for (std::uint64_t k : {std::uint64_t{0}, width - 1}) {
        std::uint32_t value = 0;
        std::memcpy(&value, got.data() + h.size() + (v * width + k) * 4, 4);
        ASSERT_EQ(value, g.user_id(v) * width + k);
      }
  }
  file const f;
  f.write(head(words("<u4", "(3,)")) + bytes_of<float>({1, 2, 3}));
  EXPECT_TRUE(refused(errc::input, "3 rows", [&] { permute_rows(g, f.path, f.path); }));
  EXPECT_TRUE(refused(errc::input, "3 rows and k.gnr has 4 vertices", [&] { check_table(f.path, 4, "k.gnr"); }));
  EXPECT_NO_THROW(check_table(f.path, 3, "k.gnr"));
}

// Row k of a table permuted with its vertices is row map[k] of the old one, and belongs to vertex ids()[map[k]].
TEST(table, tells_the_order_it_took) {
  std::vector<arc> const arcs{{1, 0}, {5, 2}, {2, 5}, {2, 1}};
  for (vertex_order by : {vertex_order::degree, vertex_order::random, vertex_order::natural}) {
    graph const g = reorder(make_graph(arcs, true, 37), {by, 1});
    file const f;
    write_map(g, f.path);
    std::string const got = f.read();
    ASSERT_EQ(got.size() % 64, 37 * 8 % 64u);
    EXPECT_NE(got.find("{'descr': '<i8', 'fortran_order': False, 'shape': (37,), }"), std::string::npos);
    for (std::uint64_t k = 0; k < 37; ++k) {
      std::int64_t rank = -1;
      std::memcpy(&rank, got.data() + got.size() - (37 - k) * 8, 8);
      EXPECT_EQ(static_cast<std::uint64_t>(rank), g.rank_of(g.user_id(k)));
    }
  }
}

}  // namespace
}  // namespace garner
