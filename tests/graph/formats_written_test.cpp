// Edges that are written: byte-identical round trips, refusals, and faults that leave no file.
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "core/progress.hpp"
#include "graph/edge_files.hpp"

using namespace garner;
using namespace garner::testing;
namespace fs = std::filesystem;

// Replaces the C library's: the n-th call fails, or Ctrl-C comes during it.
namespace {
enum class fsync_fault { error, interrupt };
int fault_at = 0;
fsync_fault fault_is = fsync_fault::error;
}  // namespace
extern "C" int fsync(int fd) {
  if (fault_at > 0 && --fault_at == 0) {
    if (fault_is == fsync_fault::error) return errno = EIO, -1;
    garner::request_interrupt();
  }
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

TEST_F(formats, each_format_gives_back_what_it_was_given) {
  using enum file_format;
  for (std::uint64_t const m : {0u, 1u, 300u, 150000u})
    for (bool const wide : {false, true})
      for (bool const directed : {true, false})
        for (auto const kind : {weight_kind::none, weight_kind::u32, weight_kind::f32}) {
          edge_list list = random_edges(m / 4 + 2, m, kind, m);
          // Equal weights for equal edges, so that an undirected graph is symmetric.
          for (std::size_t i = 0; i < list.weights.size(); ++i) {
            auto const bits = edge_bits(list.arcs[i].source, list.arcs[i].target, 5);
            list.weights[i] =
                kind == weight_kind::u32 ? static_cast<std::uint32_t>(bits >> 33) : std::bit_cast<std::uint32_t>(unit_float(bits) * 10);
          }
          csr const c(list, directed, wide, !directed);
          for (auto const to : {el, wel, mtx, sg, wsg, bel})
            for (char const* packing : {"", ".gz", ".zst"}) {
              if (m == 150000 && (*packing || wide)) continue;  // the large one once: several pieces, several blocks
              bool const weighted = to != el && to != sg && kind != weight_kind::none;
              if ((to == wel || to == wsg) && !weighted) continue;
              if ((to == wsg || to == bel) && kind == weight_kind::f32) continue;
              std::string const name = "g." + std::string(to_string(to)) + packing;
              write_edges(c.view, at(name), to);
              auto const back = read_edges(at(name), {}).edges;
              bool const as_stored = to == mtx && !directed;  // one of each pair
              csr const again(back, directed, wide, as_stored);
              SCOPED_TRACE(name + " " + std::to_string(m) + (directed ? " directed" : " undirected"));
              if (to != el && to != wel) {  // a plain list does not have vertices after the last edge
                ASSERT_EQ(again.offsets, c.offsets);
              }
              ASSERT_EQ(again.narrow, c.narrow);
              ASSERT_EQ(again.wide, c.wide);
              if (weighted && m > 0) {
                ASSERT_EQ(back.weights_are, kind);
                ASSERT_EQ(again.weights, c.weights);
              }
              if (to == sg || to == wsg || to == mtx) {
                ASSERT_EQ(back.undirected, !directed);
              }
              for (auto const& entry : fs::directory_iterator(folder)) fs::remove(entry.path());
            }
        }
}

TEST_F(formats, conversions_there_and_back_are_byte_for_byte) {
  using enum file_format;
  auto const there = [&](std::string const& from, std::string const& to, bool directed = true, bool mirror = false) {
    csr const c(read_edges(at(from), {}).edges, directed, false, mirror);
    write_edges(c.view, at(to), format_of(to));
  };
  file("a.el", "0 1\n0 4\n1 0\n3 3\n4 2\n");
  there("a.el", "b.sg"), there("b.sg", "c.bel"), there("c.bel", "d.el.gz"), there("d.el.gz", "e.el");
  EXPECT_EQ(bytes_of(at("e.el")), bytes_of(at("a.el")));
  there("e.el", "f.sg");
  EXPECT_EQ(bytes_of(at("f.sg")), bytes_of(at("b.sg")));
  file("a.wel", "0 1 7\n0 4 0\n1 0 2147483647\n3 3 1\n4 2 9\n");
  there("a.wel", "b.wsg"), there("b.wsg", "c.mtx");
  EXPECT_EQ(bytes_of(at("c.mtx")), "%%MatrixMarket matrix coordinate integer general\n5 5 5\n1 2 7\n1 5 0\n2 1 2147483647\n4 4 1\n5 3 9\n");
  there("c.mtx", "d.bel.zst"), there("d.bel.zst", "e.wel");
  EXPECT_EQ(bytes_of(at("e.wel")), bytes_of(at("a.wel")));
  file("f.wel", "0 1 0.5\n1 2 3.0\n2 0 1e+30\n2 1 0.1\n");
  there("f.wel", "g.mtx"), there("g.mtx", "h.mtx.zst"), there("h.mtx.zst", "i.mtx");
  EXPECT_EQ(bytes_of(at("g.mtx")), "%%MatrixMarket matrix coordinate real general\n3 3 4\n1 2 0.5\n2 3 3.0\n3 1 1e+30\n3 2 0.1\n");
  EXPECT_EQ(bytes_of(at("i.mtx")), bytes_of(at("g.mtx")));
  file("s.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n4 4 4\n2 1\n3 3\n4 1\n4 2\n");
  there("s.mtx", "s.sg", false, true), there("s.sg", "t.mtx", false);
  EXPECT_EQ(bytes_of(at("t.mtx")), bytes_of(at("s.mtx")));
}

TEST_F(formats, text_speaks_the_users_ids) {
  csr c(edges(file_format::el, "0 1\n2 0\n"), true);
  std::vector<std::uint64_t> const ids = {1000000007, 5, 42};
  c.view.ids = ids.data();
  write_edges(c.view, at("g.el"), file_format::el);
  EXPECT_EQ(bytes_of(at("g.el")), "1000000007 5\n42 1000000007\n");
  EXPECT_THAT(write_edges(c.view, at("g.sg"), file_format::sg),
              ElementsAre(at("g.sg").string() + ": a .sg numbers vertices from 0; the graph's own ids are left out"));
  c.view.ids = nullptr;
  c.view.id_base = 1;
  write_edges(c.view, at("g.el"), file_format::el);
  EXPECT_EQ(bytes_of(at("g.el")), "1 2\n3 1\n");
  EXPECT_THAT(write_edges(c.view, at("g.mtx"), file_format::mtx), IsEmpty());
}

TEST_F(formats, what_cannot_be_written_is_refused_and_leaves_nothing) {
  csr const plain(edges(file_format::el, "0 1\n"), true), real(edges(file_format::wel, "0 1 0.5\n"), true),
      large(edges(file_format::wel, "0 1 4294967295\n"), true);
  auto const refused = [&](csr const& c, std::string const& name, file_format to) {
    std::string const text = message(errc::usage, [&] { write_edges(c.view, at(name), to); });
    return text.substr(std::min(text.size(), at(name).string().size()));
  };
  using enum file_format;
  EXPECT_EQ(refused(plain, "g.csv", csv), ": csv is not written; el, wel, mtx, metis, sg, wsg, bel and gnr are (name one with --to)");
  EXPECT_EQ(refused(plain, "g.wel", wel), ": the graph has no weights, which a .wel needs; write a .el or draw weights when converting");
  EXPECT_EQ(refused(plain, "g.wsg", wsg), ": the graph has no weights, which a .wsg needs; write a .sg or draw weights when converting");
  EXPECT_EQ(refused(real, "g.wsg", wsg), ": the weights are f32 and a .wsg holds whole numbers; write a .wel or .mtx");
  EXPECT_EQ(refused(real, "g.bel", bel), ": the weights are f32 and a .bel holds whole numbers; write a .wel or .mtx");
  EXPECT_EQ(refused(large, "g.wsg", wsg), ": weight 4294967295 is beyond the 2147483647 of a .wsg; write a .wel or .mtx");
  EXPECT_EQ(files(), 0);
  EXPECT_THAT(write_edges(large.view, at("g.el"), el),
              ElementsAre(at("g.el").string() + ": a .el has no weights; those of the graph are left out"));
  write_edges(large.view, at("g.bel"), bel);
  EXPECT_EQ(refused(plain, "g.bel", bel), ".val: is in the folder of the .bel to be written and would be read with it; remove it first");
  EXPECT_EQ(message(errc::io, [&] { write_edges(plain.view, at("no/g.el"), el); }).substr(0, at("no/g.el").string().size()),
            at("no/g.el").string());
}

TEST_F(formats, a_full_disk_leaves_no_half_file) {
  csr const c(random_edges(1000, 50000, weight_kind::none, 1), true);
  // A file size limit emulates a full disk: the write fails after some pages. In its own process, since limits cannot be raised again.
  auto const in_child = [&] {
    ::signal(SIGXFSZ, SIG_IGN);
    ::rlimit const limit{4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      write_edges(c.view, at("g.el"), file_format::el);
    } catch (error const& e) {
      std::fprintf(stderr, "%s\n", e.what());
      std::_Exit(files() == 0 && e.code() == errc::io ? 0 : 1);
    }
    std::_Exit(2);
  };
  EXPECT_EXIT(in_child(), ::testing::ExitedWithCode(0), "writing failed at byte");
}

TEST_F(formats, of_a_bel_no_file_appears_before_all_are_safe) {
  csr const c(random_edges(10, 20, weight_kind::u32, 1), true);
  for (fsync_fault const fault : {fsync_fault::error, fsync_fault::interrupt})
    for (int const at_call : {1, 2, 3}) {
      fault_at = at_call;
      fault_is = fault;
      EXPECT_THROW(write_edges(c.view, at("g.bel"), file_format::bel), error);
      fault_at = 0;
      clear_interrupt();
      EXPECT_EQ(files(), 0) << at_call;
    }
  write_edges(c.view, at("g.bel"), file_format::bel);
  EXPECT_EQ(files(), 3);
}
