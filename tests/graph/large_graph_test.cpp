// Graphs sorted by parts are byte-identical to those built in memory: every format and option, with budgets from a few keys per
// part to everything at once.
#include "graph/large_graph.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>

#include "core/fail.hpp"
#include "core/progress.hpp"
#include "core/random.hpp"
#include "folder.hpp"
#include "graph/arc_sorter.hpp"
#include "graph/convert.hpp"
#include "graph/generate.hpp"
#include "graph/pack.hpp"
#include "memory/budget.hpp"
#include "sanitized.hpp"
#include "traverse/cached_neighbors.hpp"
#include "zipped.hpp"

namespace garner {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using numbering = build_options::ids;

// Each of a thousand files waits for its disk; files in memory do not.
class large : public ::testing::Test, protected testing::own_folder {
 protected:
  large() : own_folder(::access("/dev/shm", W_OK) == 0 ? fs::path("/dev/shm") : fs::temp_directory_path()) {}
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (auto const& e : fs::directory_iterator(folder)) all.push_back(e.path().filename());
    return all;
  }

  // A list with duplicates, loops, isolated vertices, and weights that become real half way.
  struct edge {
    std::uint64_t u, v, w;
  };
  static std::vector<edge> edges(std::uint64_t n = 3000, std::uint64_t below = 400) {
    std::vector<edge> all;
    for (std::uint64_t i = 0; i < n; ++i) {
      std::uint64_t const u = random_bits(7, 0, i) % below, v = i % 11 == 0 ? u : random_bits(7, 1, i) % (below / 4) * 3;
      all.push_back({u, v, random_bits(7, 2, i) % 100});
      if (i % 5 == 0) all.push_back({u, v, random_bits(7, 3, i) % 100});
    }
    return all;
  }
  static std::string text(std::vector<edge> const& all, bool weights, bool real = false) {
    std::string lines;
    for (std::size_t i = 0; i < all.size(); ++i) {
      lines += fmt::format("{} {}", all[i].u, all[i].v);
      if (weights) lines += fmt::format(" {}{}", all[i].w, real && i > all.size() / 2 ? ".5" : "");
      lines += '\n';
    }
    return lines;
  }

  // All options of a sort.
  struct wish {
    build_options build;
    bool compress = false;
    std::optional<std::uint32_t> cached = 0;  // unset: as many as pay off
    bool ignore_weights = false;
  };
  static std::vector<wish> wishes() {
    std::vector<wish> all(1);
    for (int k = 0; k < 9; ++k) all.emplace_back();
    all[1].build.undirected = true;
    all[2].build.in_edges = true, all[2].compress = true, all[2].cached = std::nullopt;
    all[3].build.keep_duplicates = all[3].build.keep_loops = true, all[3].build.in_edges = true;
    all[4].build.undirected = true, all[4].build.keep_duplicates = true, all[4].compress = true;
    all[5].build.undirected = true, all[5].build.keep_loops = true, all[5].cached = 3;
    all[6].build.numbering = numbering::compact, all[6].build.in_edges = true, all[6].cached = 4;
    all[7].build.random_weights = build_options::weight_options{weight_kind::f32, 0, 1, 3}, all[7].build.in_edges = true;
    all[7].ignore_weights = true;
    all[8].build.id_bytes = 8, all[8].build.undirected = true, all[8].cached = std::nullopt;
    all[9].build.undirected = false, all[9].build.numbering = numbering::keep;
    return all;
  }

  convert_options how(wish const& w, read_options const& read = {}) const {
    convert_options o;
    o.read = read;
    o.read.ignore_weights = w.ignore_weights;
    o.build = w.build;
    o.pack = pack_options{w.compress, false, w.cached};
    return o;
  }

  // Converts in memory and by parts of this size, and compares.
  void compare(fs::path const& in, wish const& w, std::uint64_t bytes, read_options const& read = {}) {
    SCOPED_TRACE(fmt::format("{} in {} bytes", in.string(), bytes));
    convert_options o = how(w, read);
    convert_result const whole = convert(in, at("whole.gnr"), o);
    o.sort_bytes = bytes;
    o.read.block_bytes = 256;
    convert_result const parts = convert(in, at("parts.gnr"), o);
    ASSERT_TRUE(parts.by_parts);
    EXPECT_FALSE(whole.by_parts);
    runs_ = parts.by_parts->runs, passes_ = parts.by_parts->passes;
    EXPECT_EQ(parts.notes, whole.notes);
    EXPECT_EQ(parts.report.edges_read, whole.report.edges_read);
    EXPECT_EQ(parts.report.loops_dropped, whole.report.loops_dropped);
    EXPECT_EQ(parts.report.loops_kept, whole.report.loops_kept);
    EXPECT_EQ(parts.report.duplicates_dropped, whole.report.duplicates_dropped);
    EXPECT_EQ(parts.report.isolated, whole.report.isolated);
    EXPECT_EQ(parts.report.compacted, whole.report.compacted);
    EXPECT_EQ(parts.info.edges, whole.info.edges);
    ASSERT_TRUE(bytes_of(at("whole.gnr")) == bytes_of(at("parts.gnr")));
    check_container(at("parts.gnr"));
  }
  void compare_all(fs::path const& in, read_options const& read = {}) {
    for (wish const& w : wishes())
      for (std::uint64_t const bytes : {std::uint64_t{4} << 10, std::uint64_t{48} << 10, std::uint64_t{64} << 20})
        compare(in, w, bytes, read);
  }
  std::string refusal(errc code, std::function<void()> const& f) {
    try {
      f();
    } catch (error const& e) {
      EXPECT_EQ(e.code(), code) << e.what();
      return e.what();
    }
    ADD_FAILURE() << "nothing was thrown";
    return "";
  }

  std::uint64_t runs_ = 0, passes_ = 0;
};

TEST_F(large, an_edge_list_is_the_same_file) {
  compare_all(file("g.el", text(edges(), false)));
  compare(at("g.el"), {}, 4 << 10);
  EXPECT_GT(runs_, 10u);
  EXPECT_GT(passes_, 0u);
  compare(at("g.el"), {}, 64 << 20);
  EXPECT_EQ(runs_, 0u);
}

TEST_F(large, weights_that_become_real_half_way_are_the_same) {
  compare_all(file("g.wel", text(edges(), true, true)));
  compare_all(file("h.wel", text(edges(), true)));
}

TEST_F(large, every_format_is_the_same_file) {
  file("g.wel", text(edges(), true));
  convert_options undirected, directed;
  undirected.build.undirected = true;
  for (char const* name : {"d.sg", "d.wsg", "d.bel", "d.mtx", "d.el.gz"}) {
    convert(at("g.wel"), at(name), directed);
    compare_all(at(name));
  }
  for (char const* name : {"u.sg", "u.wsg", "u.mtx", "u.metis", "u.wel.zst"}) {
    convert(at("g.wel"), at(name), undirected);
    compare_all(at(name));
  }
  std::string gr = "p sp 500 ", csv = "from;to\n", v, e;
  gr += fmt::format("{}\n", edges().size());
  for (edge const& one : edges())
    gr += fmt::format("a {} {} {}\n", one.u + 1, one.v + 1, one.w), csv += fmt::format("{};{}\n", one.u, one.v);
  compare_all(file("g.gr", gr));
  compare_all(file("g.csv", csv));
  read_options picked;
  picked.columns = {"to", "from"};
  compare_all(at("g.csv"), picked);
  for (std::uint64_t k = 0; k < 1000; ++k) v += fmt::format("{}\n", 5 * k + (k > 500 ? 3 : 1));
  for (edge const& one : edges()) {
    auto const id = [](std::uint64_t k) { return 5 * k + (k > 500 ? 3 : 1); };
    e += fmt::format("{} {} {}\n", id(one.u), id(one.v), one.w);
  }
  file("l.v", v), file("l.e", e);
  compare_all(at("l.e"));
  file("l.properties", "graph.l.directed = false\n");
  compare_all(at("l.v"));
}

TEST_F(large, arrays_are_the_same_file) {
  std::vector<std::int64_t> apart;
  std::vector<std::int32_t> pairs;
  for (edge const& one : edges()) apart.push_back(static_cast<std::int64_t>(one.u));
  for (edge const& one : edges()) apart.push_back(static_cast<std::int64_t>(one.v));
  for (edge const& one : edges()) pairs.push_back(static_cast<std::int32_t>(one.u)), pairs.push_back(static_cast<std::int32_t>(one.v));
  std::string const above = handmade::npy("<i8", fmt::format("(2, {})", apart.size() / 2), apart),
                    beside = handmade::npy("<i4", fmt::format("({}, 2)", pairs.size() / 2), pairs);
  compare_all(file("a.npy", above));
  compare_all(file("b.npy", beside));
  compare_all(file("a.npz", handmade::zipped({{"edge_index.npy", above}}, true)));
  compare_all(file(
      "b.npz", handmade::zipped({{"edge_index.npy", beside}, {"num_nodes_list.npy", handmade::npy<std::int64_t>("<i8", "(1,)", {900})}})));
}

// Ids too large for a 64-bit key of two are compacted; earlier parts were sorted before the first such id.
TEST_F(large, wide_ids_are_compacted_as_in_memory) {
  std::vector<edge> all = edges();
  for (std::size_t i = all.size() / 3; i < all.size(); ++i)
    all[i].u = random_bits(1, 0, all[i].u) >> 1, all[i].v = random_bits(1, 0, all[i].v) >> 1;
  file("g.wel", text(all, true, true));
  for (wish const& w : wishes())
    if (w.build.numbering != numbering::keep)
      for (std::uint64_t const bytes : {std::uint64_t{4} << 10, std::uint64_t{64} << 20}) compare(at("g.wel"), w, bytes);
  convert_options keep;
  keep.build.numbering = numbering::keep;
  keep.sort_bytes = 4096;
  EXPECT_THAT(refusal(errc::input, [&] { convert(at("g.wel"), at("k.gnr"), keep); }), HasSubstr("use --compact if most ids are unused"));
  EXPECT_FALSE(fs::exists(at("k.gnr")));
  // And sparse ones that do fit.
  for (edge& e : all) e.u = e.u % 1000 * 4000000, e.v = e.v % 1000 * 4000000;
  file("s.el", text(all, false));
  for (wish const& w : wishes())
    if (w.build.numbering != numbering::keep)
      for (std::uint64_t const bytes : {std::uint64_t{4} << 10, std::uint64_t{64} << 20}) compare(at("s.el"), w, bytes);
}

TEST_F(large, nothing_and_little_are_the_same) {
  wish empty;
  empty.build.allow_empty = true;
  compare(file("none.el", ""), empty, 4096);
  compare(file("mtx.mtx", "%%MatrixMarket matrix coordinate integer general\n7 7 0\n"), {}, 4096);
  compare(file("one.wel", "3 3 4\n"), wishes()[5], 4096);
  compare(at("one.wel"), {}, 4096);
  compare(file("head.el", "3 2\n0 1\n1 2\n"), {}, 4096);  // with its note
  convert_options o;
  o.sort_bytes = 4096;
  EXPECT_THAT(refusal(errc::input, [&] { convert(at("none.el"), at("k.gnr"), o); }), HasSubstr("holds no edge and no vertex"));
}

TEST_F(large, a_generated_graph_is_the_same_file) {
  for (generator const kind : {generator::kron, generator::uniform, generator::web})
    for (bool const kept : {false, true}) {
      generate_options o;
      o.kind = kind, o.scale = 10, o.edge_factor = 9, o.seed = 5;
      o.build.keep_loops = o.build.keep_duplicates = kept;
      if (kept) o.build.random_weights = build_options::weight_options{};
      executor x({device_kind::cpu, 0});
      build_report whole, parts;
      graph g = generate(x, o, whole);
      pack(g);
      write_graph(g, at("whole.gnr"), file_format::gnr);
      large_report about;
      for (std::uint64_t const bytes : {4 << 10, 64 << 20}) {
        parts = {};
        generate_container(o, at("parts.gnr"), {{}, bytes, true, nullptr}, parts, about);
        EXPECT_TRUE(bytes_of(at("whole.gnr")) == bytes_of(at("parts.gnr")));
        EXPECT_EQ(parts.duplicates_dropped, whole.duplicates_dropped);
        EXPECT_EQ(parts.loops_dropped, whole.loops_dropped);
        EXPECT_EQ(parts.isolated, whole.isolated);
      }
    }
}

// The automatic choice by budget: by parts above it, in memory below.
TEST_F(large, the_budget_decides) {
  std::string lines = text(edges(150000, 1 << 14), false);
  for (int k = 0; k < 4; ++k) lines += lines;
  file("g.el", lines);
  convert_options o;
  convert_result const whole = convert(at("g.el"), at("whole.gnr"), o);
  EXPECT_FALSE(whole.by_parts);
  std::uint64_t const was = host_budget().limit();
  host_budget().set_limit(host_budget().used() + (std::uint64_t{33} << 20));
  EXPECT_TRUE(plan_conversion(at("g.el"), at("parts.gnr"), o).by_parts);
  EXPECT_GT(plan_conversion(at("g.el"), at("parts.gnr"), o).scratch_bytes, 8u * whole.report.edges_read / 2);
  convert_result const parts = convert(at("g.el"), at("parts.gnr"), o);
  ASSERT_TRUE(parts.by_parts);
  EXPECT_GT(parts.by_parts->runs, 0u);
  EXPECT_TRUE(bytes_of(at("whole.gnr")) == bytes_of(at("parts.gnr")));
  EXPECT_THAT(refusal(errc::memory, [&] { plan_conversion(at("g.el"), at("h.sg"), o); }), HasSubstr("sorted by parts into a graph file"));
  convert_options again;
  again.build.in_edges = true;
  host_budget().set_limit(host_budget().used() + (std::uint64_t{1} << 20));
  EXPECT_THAT(refusal(errc::memory, [&] { plan_conversion(at("whole.gnr"), at("h.gnr"), again); }),
              HasSubstr("only an edge list may need more"));
  EXPECT_THAT(refusal(errc::memory, [&] { plan_conversion(at("g.el"), at("h.gnr"), o); }),
              HasSubstr("from 32.0 MiB on it is sorted by parts"));
  host_budget().set_limit(was);
}

TEST_F(large, a_folder_that_is_none_and_a_full_disk_are_told) {
  file("g.el", text(edges(), false));
  convert_options o;
  o.sort_bytes = 4096;
  o.scratch = at("none");
  EXPECT_THAT(refusal(errc::io, [&] { convert(at("g.el"), at("g.gnr"), o); }),
              HasSubstr("a scratch file cannot be made there: No such file or directory; name a folder of yours with --scratch"));
  scratch_folder there(folder);
  EXPECT_THAT(refusal(errc::io, [&] { there.expect(std::uint64_t{1} << 60); }),
              HasSubstr("the work needs about 1152921504606846976 bytes of disk there and "));
  // A file size limit emulates a full disk.
  ::rlimit was{};
  ::getrlimit(RLIMIT_FSIZE, &was);
  auto const handler = ::signal(SIGXFSZ, SIG_IGN);
  ::rlimit const little{20000, was.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &little);
  o.scratch.clear();
  std::string const said = refusal(errc::io, [&] { convert(at("g.el"), at("g.gnr"), o); });
  ::setrlimit(RLIMIT_FSIZE, &was);
  ::signal(SIGXFSZ, handler);
  EXPECT_THAT(
      said, ::testing::AllOf(HasSubstr("a scratch file cannot be written: File too large; the work needs about "), HasSubstr("ulimit -f")));
  EXPECT_THAT(names(), ::testing::UnorderedElementsAre("g.el"));
}

TEST_F(large, no_file_handle_left_is_told) {
  if (testing::sanitized) GTEST_SKIP() << "a sanitizer wants file handles of its own";
  file("g.el", text(edges(), false));
  ::rlimit was{};
  ::getrlimit(RLIMIT_NOFILE, &was);
  std::vector<int> taken;
  ::rlimit const few{64, was.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &few);
  int fd = -1;
  while ((fd = ::open("/dev/null", O_RDONLY)) >= 0) taken.push_back(fd);
  ::close(taken.back()), taken.pop_back();  // one for the graph file
  convert_options o;
  o.sort_bytes = 4096;
  std::string const said = refusal(errc::io, [&] { convert(at("g.el"), at("g.gnr"), o); });
  for (int const t : taken) ::close(t);
  ::setrlimit(RLIMIT_NOFILE, &was);
  EXPECT_THAT(said, HasSubstr("Too many open files"));
  EXPECT_FALSE(fs::exists(at("g.gnr")));
}

// An interrupt at any time leaves neither the graph file nor temporary files.
TEST_F(large, an_interrupt_leaves_nothing) {
  file("g.el", text(edges(), false));
  convert_options o;
  o.sort_bytes = 8192;
  o.build.in_edges = true;
  o.pack = pack_options{true, false, 0};
  bool done = false;
  for (std::uint64_t checks = 0; !done; checks += 1 + checks / 3) {
    request_interrupt_after(checks);
    try {
      convert(at("g.el"), at("g.gnr"), o);
      done = true;
    } catch (error const& e) {
      EXPECT_EQ(e.code(), errc::interrupted);
      EXPECT_THAT(names(), ::testing::UnorderedElementsAre("g.el"));
    }
    clear_interrupt();
  }
  EXPECT_TRUE(fs::exists(at("g.gnr")));
}

class sorter : public large {};

// Equal keys keep their order, also if they exceed a part.
TEST_F(sorter, equal_keys_keep_their_order) {
  executor x({device_kind::cpu, 0});
  for (std::uint64_t const distinct : {1, 3, 1000})
    for (std::uint64_t const bytes : {2048, 20000, 1 << 20}) {
      scratch_folder scratch(folder);
      arc_sorter s(x, scratch, true, bytes);
      std::vector<std::pair<std::uint64_t, std::uint32_t>> all;
      for (std::uint32_t i = 0; i < 5000; ++i) {
        std::uint64_t const key = random_bits(3, 0, i) % distinct;
        all.emplace_back(key, i);
        s.add({&key, 1}, {&i, 1});
      }
      std::stable_sort(all.begin(), all.end(), [](auto const& a, auto const& b) { return a.first < b.first; });
      s.finish(bytes);
      for (int twice = 0; twice < 2; ++twice) {
        std::vector<std::pair<std::uint64_t, std::uint32_t>> got;
        s.in_order([&](std::span<std::uint64_t const> keys, std::span<std::uint32_t const> with) {
          for (std::size_t i = 0; i < keys.size(); ++i) got.emplace_back(keys[i], with[i]);
        });
        EXPECT_TRUE(got == all) << distinct << " in " << bytes;
      }
      if (bytes == 2048) {
        EXPECT_GT(s.passes(), 1u);
      }
      EXPECT_EQ(bytes == 1 << 20, s.runs() == 0);
    }
}

// Consecutive runs are passed on unchanged, and merged input frees its disk space.
TEST_F(sorter, keys_that_come_in_order_take_one_pass_of_disk) {
  executor x({device_kind::cpu, 0});
  scratch_folder scratch(folder);
  arc_sorter s(x, scratch, false, 4096);
  std::vector<std::uint64_t> keys(1 << 16);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = i;
  s.add(keys, {});
  s.finish(4096);
  std::uint64_t next = 0;
  s.in_order([&](std::span<std::uint64_t const> part, std::span<std::uint32_t const>) {
    for (std::uint64_t const k : part) EXPECT_EQ(k, next++);
  });
  EXPECT_EQ(next, keys.size());
  EXPECT_GT(s.passes(), 1u);
  EXPECT_LT(scratch.peak(), keys.size() * 8 * 2);
}

}  // namespace
}  // namespace garner
