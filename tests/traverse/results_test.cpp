// Result files: every format byte for byte, rows in the order of the user's ids for any graph order, arrays as numpy reads them.
#include "traverse/results.hpp"

#include <gmock/gmock.h>
#include <unistd.h>
#include <algorithm>
#include <numeric>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "folder.hpp"
#include "garner/bfs.hpp"
#include "graph/input_stream.hpp"
#include "refused.hpp"
#include "support.hpp"

namespace garner::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr std::uint64_t nobody = ~std::uint64_t{0};
constexpr float infinite = std::numeric_limits<float>::infinity();

class results : public ::testing::Test, protected own_folder {
 protected:
  result_target to(std::string const& name) const { return {at(name), result_format_of(name)}; }
  static std::string read(fs::path const& file) {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (auto const& e : fs::directory_iterator(folder)) all.push_back(e.path().filename().string());
    return all;
  }
  // The elements of a numpy array, after a check of its header.
  template <class T>
  std::vector<T> array(std::string const& name, std::string const& type) const {
    std::string const bytes = read(at(name));
    EXPECT_EQ(bytes.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8)) << name;
    std::size_t const words = static_cast<unsigned char>(bytes.at(8)) | static_cast<std::size_t>(static_cast<unsigned char>(bytes.at(9)))
                                                                            << 8;
    std::string const head = bytes.substr(10, words);
    EXPECT_EQ((10 + words) % 64, 0u);
    EXPECT_EQ(head.back(), '\n');
    std::vector<T> values((bytes.size() - 10 - words) / sizeof(T));
    EXPECT_EQ(head.substr(0, head.find('}') + 1),
              "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + std::to_string(values.size()) + ",), }");
    EXPECT_EQ(head.find_first_not_of(' ', head.find('}') + 1), head.size() - 1);
    if (!values.empty()) std::memcpy(values.data(), bytes.data() + 10 + words, values.size() * sizeof(T));
    return values;
  }

  // Four vertices with user ids `ids`, in that order; edges do not matter here.
  static graph with_ids(std::vector<std::uint64_t> const& ids) {
    graph g = make_graph({}, false, ids.size());
    g.info.id_map = true;
    g.ids = buffer<std::uint64_t>(tier::host, ids.size(), -1, "ids");
    std::copy(ids.begin(), ids.end(), g.ids.data());
    if (!std::is_sorted(ids.begin(), ids.end())) {
      g.info.order = vertex_order::random;
      g.by_id = memory_block(tier::host, ids.size() * 4, -1, "by id");
      auto* const by_id = static_cast<std::uint32_t*>(g.by_id.data());
      std::iota(by_id, by_id + ids.size(), 0u);
      std::sort(by_id, by_id + ids.size(), [&](std::uint32_t a, std::uint32_t b) { return ids[a] < ids[b]; });
    }
    return g;
  }

  // 20 -> 10 -> 40, and 30 isolated; as a reordered graph stores them.
  graph const turned_ = with_ids({40, 10, 30, 20});
  std::vector<std::uint32_t> const depth_{2, 1, unreached, 0};
  std::vector<std::uint64_t> const parent_{1, 3, nobody, 3}, whole_{9, 4, nobody, 0}, label_{0, 0, 2, 0};
  std::vector<float> const real_{0.1F, 3e-7F, infinite, 0}, rank_{0.25F, 1e-9F, 0.125F, 0.625F};
};

TEST_F(results, formats_are_told_by_ending_or_name) {
  EXPECT_EQ(result_format_of("a.txt"), result_format::text);
  EXPECT_EQ(result_format_of("a"), result_format::text);
  EXPECT_EQ(result_format_of("a.tsv"), result_format::tsv);
  EXPECT_THROW(result_format_of("a.parquet"), error);  // not text under that name
  EXPECT_EQ(result_format_of("a.tsv.gz"), result_format::tsv);
  EXPECT_EQ(result_format_of("b/a.npy"), result_format::npy);
  for (result_format f : {result_format::text, result_format::tsv, result_format::npy, result_format::ldbc})
    EXPECT_EQ(parse_result_format(to_string(f)), f);
  EXPECT_TRUE(refused(errc::usage, "text, tsv, npy, ldbc", [] { parse_result_format("csv"); }));
  EXPECT_THAT(files_of(to("a.npy")), ElementsAre(at("a.npy"), at("a.parent.npy"), at("a.vertex.npy")));
  EXPECT_THAT(files_of({at("a"), result_format::npy}), ElementsAre(at("a"), at("a.parent.npy"), at("a.vertex.npy")));
  EXPECT_THAT(files_of(to("a.tsv.zst")), ElementsAre(at("a.tsv.zst")));
  EXPECT_TRUE(refused(errc::usage, "drop the ending .gz", [&] { files_of(to("a.npy.gz")); }));
}

TEST_F(results, text_in_the_order_of_the_users_ids) {
  write_depths(turned_, to("d"), 20, depth_, parent_);
  EXPECT_EQ(read(at("d")), "# vertex depth parent, from source 20\n10 1 20\n20 0 20\n30 -1 -1\n40 2 10\n");
  write_distances(turned_, to("w"), 20, whole_, parent_);
  EXPECT_EQ(read(at("w")), "# vertex distance parent, from source 20\n10 4 20\n20 0 20\n30 infinity -1\n40 9 10\n");
  write_distances(turned_, to("r"), 20, real_, parent_);
  EXPECT_EQ(read(at("r")), "# vertex distance parent, from source 20\n10 3e-07 20\n20 0 20\n30 infinity -1\n40 0.1 10\n");
  write_labels(turned_, to("c"), label_);
  EXPECT_EQ(read(at("c")), "# vertex component\n10 10\n20 10\n30 30\n40 10\n") << "a component is named by its smallest vertex";
  write_ranks(turned_, to("p"), rank_);
  EXPECT_EQ(read(at("p")), "# vertex rank\n10 1e-09\n20 0.625\n30 0.125\n40 0.25\n");
}

TEST_F(results, tsv) {
  write_depths(turned_, to("d.tsv"), 20, depth_, parent_);
  EXPECT_EQ(read(at("d.tsv")), "vertex\tdepth\tparent\n10\t1\t20\n20\t0\t20\n30\t-1\t-1\n40\t2\t10\n");
  write_distances(turned_, to("r.tsv"), 20, real_, parent_);
  EXPECT_EQ(read(at("r.tsv")), "vertex\tdistance\tparent\n10\t3e-07\t20\n20\t0\t20\n30\tinfinity\t-1\n40\t0.1\t10\n");
  write_labels(turned_, to("c.tsv"), label_);
  EXPECT_EQ(read(at("c.tsv")), "vertex\tcomponent\n10\t10\n20\t10\n30\t30\n40\t10\n");
}

TEST_F(results, ldbc) {
  auto const ldbc = [&](std::string const& name) { return result_target{at(name), result_format::ldbc}; };
  write_depths(turned_, ldbc("d"), 20, depth_, {});
  EXPECT_EQ(read(at("d")), "10 1\n20 0\n30 9223372036854775807\n40 2\n");
  write_distances(turned_, ldbc("w"), 20, whole_, {});
  EXPECT_EQ(read(at("w")), "10 4\n20 0\n30 Infinity\n40 9\n");
  write_distances(turned_, ldbc("r"), 20, real_, {});
  EXPECT_EQ(read(at("r")), "10 3.000000106112566e-07\n20 0.000000000000000e+00\n30 Infinity\n40 1.000000014901161e-01\n");
  write_labels(turned_, ldbc("c"), label_);
  EXPECT_EQ(read(at("c")), "10 10\n20 10\n30 30\n40 10\n");
  write_ranks(turned_, ldbc("p"), rank_);
  EXPECT_EQ(read(at("p")), "10 9.999999717180685e-10\n20 6.250000000000000e-01\n30 1.250000000000000e-01\n40 2.500000000000000e-01\n");
}

TEST_F(results, npy) {
  write_depths(turned_, to("d.npy"), 20, depth_, parent_);
  EXPECT_THAT(names(), UnorderedElementsAre("d.npy", "d.parent.npy", "d.vertex.npy"));
  EXPECT_THAT(array<std::uint64_t>("d.vertex.npy", "<u8"), ElementsAre(10, 20, 30, 40));
  EXPECT_THAT(array<std::uint32_t>("d.npy", "<u4"), ElementsAre(1, 0, unreached, 2));
  EXPECT_THAT(array<std::uint64_t>("d.parent.npy", "<u8"), ElementsAre(20, 20, nobody, 10));
  write_distances(turned_, to("w.npy"), 20, whole_, parent_);
  EXPECT_THAT(array<std::uint64_t>("w.npy", "<u8"), ElementsAre(4, 0, nobody, 9));
  write_distances(turned_, to("r.npy"), 20, real_, parent_);
  EXPECT_THAT(array<float>("r.npy", "<f4"), ElementsAre(3e-7F, 0, infinite, 0.1F));
  write_labels(turned_, to("c.npy"), label_);
  EXPECT_THAT(array<std::uint64_t>("c.npy", "<u8"), ElementsAre(10, 10, 30, 10));
  write_ranks(turned_, to("p.npy"), rank_);
  EXPECT_THAT(array<float>("p.npy", "<f4"), ElementsAre(1e-9F, 0.625F, 0.125F, 0.25F));
}

TEST_F(results, npy_has_no_ids_where_row_i_is_vertex_i) {
  graph const g = make_graph({}, false, 3);
  std::vector<float> const rank{0.5F, 0.25F, 0.25F};
  write_ranks(g, to("p.npy"), rank);
  EXPECT_THAT(names(), ElementsAre("p.npy"));
  // A leftover of an older result would be mistaken for this one's.
  write_ranks(turned_, to("p.npy"), rank_);
  EXPECT_THAT(array<std::uint64_t>("p.vertex.npy", "<u8"), ElementsAre(10, 20, 30, 40));
  write_ranks(g, to("p.npy"), rank);
  EXPECT_THAT(array<std::uint64_t>("p.vertex.npy", "<u8"), ElementsAre(0, 1, 2));
}

TEST_F(results, many_rows_in_pieces) {
  constexpr std::uint64_t n = 100'000;
  std::vector<std::uint64_t> ids(n);
  for (std::uint64_t v = 0; v < n; ++v) ids[v] = 3 * ((v * 77'773) % n) + 7;  // 77,773 is prime: each once
  graph const g = with_ids(ids);
  std::vector<std::uint64_t> whole(ids);
  std::vector<std::uint64_t> parent(n);
  for (std::uint64_t v = 0; v < n; ++v) parent[v] = v;
  std::string expected = "vertex\tdistance\tparent\n";
  for (std::uint64_t i = 0; i < n; ++i) {
    std::string const id = std::to_string(3 * i + 7);
    expected += id + "\t" + id + "\t" + id + "\n";
  }
  write_distances(g, to("w.tsv"), 7, whole, parent);
  EXPECT_TRUE(read(at("w.tsv")) == expected);  // too long to be printed
  for (std::string const name : {"w.tsv.gz", "w.tsv.zst"}) {
    write_distances(g, to(name), 7, whole, parent);
    EXPECT_LT(fs::file_size(at(name)), expected.size() / 2);
    input_stream in(at(name));
    std::string text(expected.size() + 1, '\0');
    text.resize(in.read(text.data(), text.size()));
    EXPECT_TRUE(text == expected) << name;
  }
  write_distances(g, to("w.npy"), 7, whole, parent);
  EXPECT_TRUE(array<std::uint64_t>("w.npy", "<u8") == array<std::uint64_t>("w.vertex.npy", "<u8"));
}

TEST_F(results, of_no_vertex) {
  graph const g = make_graph({});
  write_labels(g, to("c.tsv"), {});
  EXPECT_EQ(read(at("c.tsv")), "vertex\tcomponent\n");
  write_labels(g, to("c.npy"), {});
  EXPECT_THAT(array<std::uint64_t>("c.npy", "<u8"), ElementsAre());
  write_labels(g, {at("c"), result_format::ldbc}, {});
  EXPECT_EQ(read(at("c")), "");
}

TEST_F(results, that_cannot_be_written_leave_nothing) {
  fs::create_directory(at("d.parent.npy"));
  EXPECT_TRUE(refused(errc::io, [&] { write_depths(turned_, to("d.npy"), 20, depth_, parent_); }));
  EXPECT_THAT(names(), ElementsAre("d.parent.npy"));
}

}  // namespace
}  // namespace garner::testing
