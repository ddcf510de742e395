// Failures midway: every allocation refused in turn, Ctrl-C at any time, a file that changes or is inconsistent. One clear error, no leak,
// no partial output, and the next run is right. (A sanitizer build finds leaks and out-of-bounds reads.)
#include <garner/garner.hpp>
//
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <regex>
#include <set>
#include <thread>

#include "core/primitives.hpp"
#include "core/progress.hpp"
#include "core/random.hpp"
#include "failing_new.hpp"
#include "folder.hpp"
#include "graph/container.hpp"
#include "graph/formats.hpp"
#include "graph/handle.hpp"
#include "graph/pack.hpp"
#include "memory/budget.hpp"
#include "support.hpp"
#include "traverse/bfs.hpp"

namespace garner::testing {
namespace {
namespace fs = std::filesystem;

std::uint64_t source_of(graph_handle const& g) { return pick_sources(g, 1).at(0); }

// Every algorithm, as callers run it. Each returns a number that proves a right result.
struct task {
  char const* name;
  std::function<std::uint64_t(graph_handle const&, execution_device)> run;
};
template <class Options>
auto with(void (*set)(Options&)) {
  return [set](graph_handle const& g, execution_device where) -> std::uint64_t {
    Options o;
    o.device = where;
    set(o);
    if constexpr (std::is_same_v<Options, bfs_options>) return bfs(g, source_of(g), o).run.depth_sum;
    else if constexpr (std::is_same_v<Options, sssp_options>) return sssp(g, source_of(g), o).run.reached;
    else if constexpr (std::is_same_v<Options, components_options>) return components(g, o).run.components;
    else return pagerank(g, o).run.iterations;
  };
}
std::vector<task> const jobs = {
    {"bfs levels", with<bfs_options>([](auto& o) { o.variant = bfs_variant::levels; })},
    {"bfs direction", with<bfs_options>([](auto& o) { o.variant = bfs_variant::direction, o.cached_neighbors = 2, o.verify = true; })},
    {"bfs copied",
     [](graph_handle const& g, execution_device where) -> std::uint64_t {
       bfs_asked o;
       o.device = where, o.variant = bfs_variant::levels;
       if (where.kind != device_kind::cpu) o.access = access_mode::copied;
       return as_error([&] { return bfs_job(graph_access::of(g), o).run(source_of(g)).depth_sum; });
     }},
    {"sssp", with<sssp_options>([](auto& o) { o.verify = true; })},
    {"sssp emogi", with<sssp_options>([](auto& o) { o.variant = sssp_variant::emogi; })},
    {"components", with<components_options>([](auto& o) { o.verify = true; })},
    {"components emogi", with<components_options>([](auto& o) { o.variant = components_variant::emogi; })},
    {"pagerank", with<pagerank_options>([](auto& o) { o.verify = true; })},
    {"pagerank emogi", with<pagerank_options>([](auto& o) { o.variant = pagerank_variant::emogi; })},
};

graph_handle sample(int scale = 9) {
  generate_options o;
  o.scale = scale;
  o.build.random_weights = build_options::weight_options{weight_kind::u32, 1, 60, 5};
  return generate_graph(o);
}

// Functions that make, read and write graphs, into files of their own. `in` holds g.gnr and g.el.
std::vector<std::pair<char const*, std::function<void(fs::path const&, fs::path const&)>>> const makers = {
    {"generate", [](fs::path const&, fs::path const&) { sample(11); }},
    {"open", [](fs::path const& in, fs::path const&) { open_graph(in / "g.gnr"); }},
    {"read and save", [](fs::path const& in, fs::path const& out) { save_graph(read_graph(in / "g.el"), out / "a.gnr"); }},
    {"reorder, pack and save",
     [](fs::path const& in, fs::path const& out) {
       graph g = graph_access::take(reorder_graph(open_graph(in / "g.gnr"), {}));
       pack(g);
       save_graph(g, out / "b.gnr");
     }},
    {"write text", [](fs::path const& in, fs::path const& out) { save_graph(open_graph(in / "g.gnr"), out / "c.wel"); }},
};

class faults : public at_place {
 protected:
  void TearDown() override {
    host_budget().set_limit(budget::unlimited);
    if (where().kind == device_kind::cuda && device::count()) device_budget(0).set_limit(budget::unlimited);
    clear_interrupt();
  }
};

// The limit is set to the memory in use, and raised by the size of the refused allocation until the call succeeds: each
// allocation that exceeds the previous peak is refused once.
TEST_P(faults, a_budget_that_refuses_each_allocation_in_turn) {
  graph_handle const g = to_device(sample(), where(), tier::host);
  for (task const& t : jobs) {
    std::uint64_t const want = t.run(g, where());
    budget& near = where().kind == device_kind::cuda ? device_budget(0) : host_budget();
    for (budget* const b : std::set<budget*>{&host_budget(), &near}) {
      SCOPED_TRACE(t.name);
      std::uint64_t const held = b->used();
      int refused = 0;
      for (std::uint64_t limit = held;;) {
        b->set_limit(limit);
        errc code{};
        std::uint64_t got = 0;
        std::string const what = told([&] { got = t.run(g, where()); }, code);
        b->set_limit(budget::unlimited);
        ASSERT_EQ(b->used(), held);
        if (what.empty()) {
          EXPECT_EQ(got, want);
          break;
        }
        EXPECT_EQ(code, errc::memory) << what;
        std::smatch m;
        ASSERT_TRUE(std::regex_search(what, m, std::regex(R"(: (\d+) bytes .* (\d+) of \d+ bytes are in use)"))) << what;
        limit = std::stoull(m[1]) + std::stoull(m[2]);
        ASSERT_LT(++refused, 60) << what;
      }
      // The device's cache is allocated in several pieces; the other budget may be unused.
      if (b == &near) {
        EXPECT_GE(refused, 2);
      }
    }
  }
}

// The standard library's own memory, refused at the k-th request for every k (for a selection of thousands).
TEST_P(faults, the_kth_new_fails) {
  if (!counts_requests() && where().kind == device_kind::simulated)
    GTEST_SKIP() << "kernels allocate nothing, but their stand-ins on the CPU do";
#if GARNER_THREAD_SANITIZED
  GTEST_SKIP() << "ThreadSanitizer brings its own operator new";
#endif
  if (where().kind == device_kind::cuda)
    GTEST_SKIP() << "allocations of the CUDA runtime in this program would fail too, which it need not survive";
  graph_handle const g = to_device(sample(6), where(), tier::host);
  for (task const& t : jobs) {
    SCOPED_TRACE(t.name);
    std::uint64_t const want = t.run(g, where()), held = host_budget().used();
    int failed = 0;
    for (std::int64_t k = 0;; k += 1 + k / 100) {
      errc code{};
      std::uint64_t got = 0;
      std::string const what = told([&] { news_left = k, got = t.run(g, where()); }, code);
      bool const over = news_left.exchange(-1) >= 0;
      ASSERT_EQ(host_budget().used(), held) << k;
      if (what.empty()) {
        EXPECT_EQ(got, want) << k;
      } else {
        EXPECT_TRUE(code == errc::memory || code == errc::io) << what;
        ++failed;
      }
      if (over) break;
    }
    EXPECT_GT(failed, 0);
  }
}

TEST_P(faults, an_interrupt_stops_each_job) {
  graph_handle const g = to_device(sample(where().kind == device_kind::simulated ? 10 : 13), where(), tier::host);
  for (task const& t : jobs) {
    SCOPED_TRACE(t.name);
    std::uint64_t const want = t.run(g, where()), held = host_budget().used();
    errc code{};
    request_interrupt();
    EXPECT_NE(told([&] { t.run(g, where()); }, code), "");
    EXPECT_EQ(code, errc::interrupted);
    clear_interrupt();
    ASSERT_EQ(host_budget().used(), held);
    // In its middle: later and later, until it comes too late.
    for (double us = 50; us < 1e6; us *= 2) {
      std::uint64_t got = 0;
      std::jthread const ctrl_c([us] {
        std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(us));
        request_interrupt();
      });
      code = {};
      std::string const what = told([&] { got = t.run(g, where()); }, code);
      ASSERT_EQ(host_budget().used(), held);
      if (what.empty()) {
        EXPECT_EQ(got, want);
        break;
      }
      EXPECT_EQ(code, errc::interrupted) << what;
      while (!interrupt_requested()) std::this_thread::yield();
      clear_interrupt();
    }
    clear_interrupt();  // the last one has come: its thread was joined
    EXPECT_EQ(t.run(g, where()), want);
  }
}
GARNER_AT_EVERY_PLACE(faults);

struct files : ::testing::Test {
  own_folder in, out;
  void SetUp() override {
    graph_handle const g = sample();
    save_graph(g, in.folder / "g.gnr");
    save_graph(g, in.folder / "g.el");
  }
  void TearDown() override {
    host_budget().set_limit(budget::unlimited);
    clear_interrupt();
    news_left = -1;
  }
};

TEST_F(files, no_half_file_when_memory_runs_out) {
#if GARNER_THREAD_SANITIZED
  GTEST_SKIP() << "ThreadSanitizer brings its own operator new";
#endif
  for (auto const& [name, run] : makers) {
    SCOPED_TRACE(name);
    std::uint64_t const held = host_budget().used();
    for (std::uint64_t limit = 0, step = 1 << 12; limit < 1u << 28; limit += step, step += step / 2) {
      host_budget().set_limit(held + limit);
      errc code{};
      std::string const what = told([&, &run = run] { run(in.folder, out.folder); }, code);
      host_budget().set_limit(budget::unlimited);
      ASSERT_EQ(host_budget().used(), held);
      if (what.empty()) break;
      EXPECT_EQ(code, errc::memory) << what;
      EXPECT_EQ(out.files(), 0);
    }
    fs::remove_all(out.folder);
    fs::create_directory(out.folder);
    int failed = 0;
    for (std::int64_t k = 0;; k += 1 + k / 20) {
      errc code{};
      std::string const what = told([&, &run = run] { news_left = k, run(in.folder, out.folder); }, code, true);
      bool const over = news_left.exchange(-1) >= 0;
      ASSERT_EQ(host_budget().used(), held) << k;
      if (!what.empty()) {
        EXPECT_TRUE(code == errc::memory || code == errc::io) << what;
        for (auto const& e : fs::directory_iterator(out.folder)) {  // files published before the error are complete
          EXPECT_NE(e.path().filename().string()[0], '.') << k << " " << what << ": " << e.path();
          if (e.path().extension() == ".gnr") {
            EXPECT_NO_THROW(open_graph(e.path())) << k << " " << what << ": " << e.path();
          }
        }
        ++failed;
      }
      fs::remove_all(out.folder);
      fs::create_directory(out.folder);
      if (over) break;
    }
    EXPECT_GT(failed, 0);
  }
}

TEST_F(files, no_half_file_after_an_interrupt) {
  for (auto const& [name, run] : makers) {
    SCOPED_TRACE(name);
    std::uint64_t const held = host_budget().used();
    errc code{};
    request_interrupt();
    EXPECT_NE(told([&, &run = run] { run(in.folder, out.folder); }, code), "");
    EXPECT_EQ(code, errc::interrupted);
    clear_interrupt();
    EXPECT_EQ(out.files(), 0);
    for (double us = 50; us < 1e6; us *= 1.7) {
      std::jthread ctrl_c([us] {
        std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(us));
        request_interrupt();
      });
      code = {};
      std::string const what = told([&, &run = run] { run(in.folder, out.folder); }, code);
      ASSERT_EQ(host_budget().used(), held);
      ctrl_c.join();
      clear_interrupt();
      if (what.empty()) break;
      EXPECT_EQ(code, errc::interrupted) << what;
      EXPECT_EQ(out.files(), 0);
    }
    fs::remove_all(out.folder);
    fs::create_directory(out.folder);
  }
}

// A few KiB that hold an edge list of 48 MB: refused during the read, not afterwards.
TEST_F(files, an_edge_list_larger_than_its_file_promises) {
  std::string text;
  for (int i = 0; i < 3'000'000; ++i) text += "1 2\n";
  std::ofstream(in.folder / "many.el", std::ios::binary) << text;
  ASSERT_EQ(std::system(("gzip -1 '" + (in.folder / "many.el").string() + "'").c_str()), 0);
  ASSERT_EQ(std::system(("gzip -k '" + (in.folder / "g.el").string() + "'").c_str()), 0);
  std::uint64_t const held = host_budget().used();
  for (std::uint64_t const more : {1u << 20, 8u << 20, 40u << 20}) {
    host_budget().set_limit(held + more);
    errc code{};
    std::string const what = told([&] { read_edges(in.folder / "many.el.gz", {}); }, code);
    EXPECT_EQ(code, errc::memory);
    EXPECT_NE(what.find("many.el.gz"), std::string::npos) << what;
    EXPECT_EQ(host_budget().used(), held);
    EXPECT_FALSE(read_edges(in.folder / "g.el.gz", {}).edges.arcs.empty());
  }
  host_budget().set_limit(held + (120u << 20));
  EXPECT_EQ(read_edges(in.folder / "many.el.gz", {}).edges.arcs.size(), 3'000'000u);
  EXPECT_EQ(host_budget().used(), held);
}

// A sort ends soon after Ctrl-C, with or without values, and reports its progress.
TEST(sorting, can_be_interrupted) {
  executor x({device_kind::cpu, 0});
  std::uint64_t const n = 1 << 21;
  std::vector<std::uint64_t> keys(n), spare(n);
  std::vector<std::uint32_t> values(n), spare_values(n);
  for (bool const weighted : {false, true})
    for (std::uint64_t const at : {std::uint64_t{0}, n / 2, n + n / 2, 2 * n - 1}) {
      for (std::uint64_t i = 0; i < n; ++i) keys[i] = random_bits(1, 0, i);
      // The user stops at the first report of this progress. Reports start after 200 ms, so this may be late.
      set_progress_listener([at](std::string_view, std::uint64_t done, std::uint64_t) {
        if (done >= at) request_interrupt();
      });
      if (at == 0) request_interrupt();
      errc code{};
      std::string const what = told(
          [&] {
            std::span<std::uint32_t> v = values;
            if (weighted) sort_by_key(x, keys, spare, v, spare_values, 64);
            else sort(x, keys, spare);
          },
          code);
      set_progress_listener({});
      clear_interrupt();
      if (at == 0) {
        EXPECT_NE(what, "");
      }
      if (!what.empty()) {
        EXPECT_EQ(code, errc::interrupted) << what;
      }
    }
}

// Compressed adjacency from a file with unverified checksums: everything that a reader relies on is checked in any case. A damaged file is
// an error, or a graph of other edges, on which all algorithms end.
TEST_F(files, damaged_packed_lists_without_checksums) {
  graph packed = graph_access::take(open_graph(in.folder / "g.gnr"));
  pack(packed);
  fs::path const file = out.folder / "p.gnr", bad = out.folder / "bad.gnr";
  save_graph(packed, file);
  std::ifstream stream(file, std::ios::binary);
  std::vector<char> const all{std::istreambuf_iterator<char>(stream), {}};
  open_options unchecked;
  unchecked.check = false;
  int loaded = 0, refused = 0;
  for (std::uint64_t i = 0; i < 120; ++i) {
    std::vector<char> data = all;
    std::size_t const at = 4096 + random_bits(9, 0, i) % (data.size() - 4096);  // after the header, which has its own checksum
    data[at] = static_cast<char>(data[at] ^ 1 << random_bits(9, 1, i) % 8);
    std::ofstream(bad, std::ios::binary).write(data.data(), static_cast<std::streamsize>(data.size()));
    errc code{};
    std::optional<graph_handle> g;
    std::string what = told([&] { g = open_graph(bad, unchecked); }, code);
    if (g) {
      ++loaded;
      for (task const& t : jobs)
        if (std::string const wrong = told([&] { t.run(*g, {}); }, code); !wrong.empty())
          what = wrong;  // such as an edge in one direction only
    }
    refused += what.empty() ? 0 : 1;
    if (!what.empty()) {
      EXPECT_TRUE(code == errc::input || code == errc::internal) << "byte " << at << ": " << what;
    }
  }
  EXPECT_GT(refused, 5);
  EXPECT_GT(loaded, 5);
}

// A file with one-directional edges that its header calls undirected: only the certificate detects it. It reports a defect of Garner's only
// if the file was checked.
TEST_F(files, a_damaged_file_that_nobody_checked_is_no_defect) {
  graph g = graph_access::take(open_graph(in.folder / "g.gnr"));
  ASSERT_TRUE(g.checked);
  auto* const targets = static_cast<std::uint32_t*>(g.out.targets.data());
  for (std::uint64_t i = 0; i < g.info.edges; ++i) targets[i] = std::min(targets[i] + 1, static_cast<std::uint32_t>(g.info.vertices) - 1);
  fs::path const bad = out.folder / "bad.gnr";
  save_graph(g, bad);
  for (bool const check : {true, false}) {
    open_options how;
    how.check = check;
    graph_handle const h = open_graph(bad, how);
    EXPECT_EQ(graph_access::of(h).checked, check);
    bfs_options o;
    o.variant = bfs_variant::direction;
    o.verify = true;
    std::string what;
    errc code{};
    for (std::uint64_t const source : pick_sources(h, 20)) {
      what = told([&] { bfs(h, source, o); }, code);
      if (!what.empty()) break;
    }
    ASSERT_NE(what.find("wrong at vertex"), std::string::npos) << what;
    EXPECT_EQ(what.find("--no-check") != std::string::npos, !check) << what;
    EXPECT_EQ(what.find("garner stats " + bad.string() + " --check") != std::string::npos, !check) << what;
    EXPECT_NE(what.find("please report it"), std::string::npos) << what;
  }
}

// A loaded graph is Garner's own: a file that is corrupted, truncated or removed afterwards changes nothing.
TEST_F(files, a_container_spoilt_after_it_was_loaded) {
  graph_handle const g = open_graph(in.folder / "g.gnr");
  std::vector<std::uint64_t> want;
  for (task const& t : jobs) want.push_back(t.run(g, {}));
  {
    std::fstream file(in.folder / "g.gnr", std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(4096);
    file << std::string(100'000, '\xff');
  }
  fs::resize_file(in.folder / "g.gnr", 5000);
  for (std::size_t i = 0; i < jobs.size(); ++i) EXPECT_EQ(jobs[i].run(g, {}), want[i]) << jobs[i].name;
  errc code{};
  EXPECT_NE(told([&] { open_graph(in.folder / "g.gnr"); }, code), "");
  EXPECT_EQ(code, errc::input);
}

}  // namespace
}  // namespace garner::testing
