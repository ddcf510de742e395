// Several mini-batches in flight or sampled together, after others and an interrupt, and of adjacency in a file: as if each were alone.
#include <unistd.h>

#include <filesystem>

#include "core/progress.hpp"
#include "graph/container.hpp"
#include "graph/pack.hpp"
#include "sample/taken_blocks.hpp"

namespace garner {
namespace {
using namespace garner::testing;

class blocks_at : public at_place {};
GARNER_AT_EVERY_PLACE(blocks_at);

// Several mini-batches in flight at once, of very different sizes: each as if it were alone, also when memory runs out.
TEST_P(blocks_at, are_given_ahead_and_taken_in_any_order) {
  graph_handle const g = brought(random_graph(true), where());
  block_options o;
  o.edge_ids = true;
  block_sampler one(where(), g, {10, 8, 6}, o), many(where(), g, {10, 8, 6}, o);
  std::vector<sampled_subgraph> ring(4);
  std::vector<std::vector<std::int64_t>> seeds;
  for (std::uint64_t b = 0; b < 4; ++b) seeds.push_back(some_seeds(b == 2 ? 600 : 1 + b, 1003, b));
  for (std::uint64_t b = 0; b < 4; ++b) many.start(ring[b], b, seeds[b]);
  for (std::uint64_t b : {2u, 0u, 3u, 1u}) {
    many.finish(ring[b]);
    EXPECT_TRUE(taken(many, ring[b]) == taken(one, one.sample(b, seeds[b]))) << b;
  }
}

// Buffers are as large as earlier mini-batches, without their contents: after others, larger, smaller and without some types, a
// sampler gives the same as a new one.
TEST_P(blocks_at, are_those_of_a_new_sampler_whatever_it_drew_before) {
  std::uint64_t const papers = 900, authors = 300;
  auto const make = [&](std::uint64_t salt, std::uint64_t from, std::uint64_t to) {
    std::vector<arc> arcs;
    for (std::uint64_t i = 0; i < 9000; ++i) arcs.push_back({random_bits(salt, 0, i) % to, random_bits(salt, 1, i) % from});
    return brought(make_graph(arcs, false, papers), where());
  };
  graph_handle const cites = make(1, papers, papers), writes = make(2, authors, papers), written = make(3, papers, authors);
  std::vector<std::int64_t> of_papers(papers), of_authors(authors, 0);
  std::iota(of_papers.begin(), of_papers.end(), 0);
  for (int kind = 0; kind < 4; ++kind) {
    block_options o;
    o.edge_ids = true, o.disjoint = kind != 0;
    if (kind > 1) o.temporal = kind == 2 ? temporal_rule::uniform : temporal_rule::last;
    auto const sampler = [&] {
      return block_sampler(where(), {{papers, of_papers}, {authors, of_authors}},
                           {{&cites, edge_direction::out, 0, 0, {4, 3}, {}},
                            {&writes, edge_direction::out, 1, 0, {2, 0}, {}},
                            {&written, edge_direction::out, 0, 1, {3, 5}, {}}},
                           o);
    };
    block_sampler many = sampler();
    std::uint64_t number = 0;
    for (std::uint64_t const ahead : {1u, 3u}) {
      std::vector<std::array<std::uint64_t, 2>> const sizes = {{1, 0}, {0, 1},    {250, 0}, {2, 200}, {0, 0},
                                                               {3, 1}, {400, 80}, {0, 3},   {5, 0}};
      for (std::size_t k = 0; k < sizes.size(); k += ahead) {
        std::vector<sampled_subgraph> ring(ahead);
        std::vector<std::array<std::vector<std::int64_t>, 2>> seeds;
        auto const given = [&](std::size_t j) { return std::array{typed_seeds{0, seeds[j][0], {}}, typed_seeds{1, seeds[j][1], {}}}; };
        for (std::size_t j = 0; j < ahead; ++j) {
          auto const [of_first, of_second] = sizes[k + j];
          auto const some = [&](std::uint64_t n, std::uint64_t of) {
            return n ? some_seeds(n - 1, of, number + j) : std::vector<std::int64_t>{};
          };
          seeds.push_back({some(of_first, papers), some(of_second, authors)});
        }
        for (std::size_t j = 0; j < ahead; ++j) many.start_types(ring[j], number + j, given(j));
        for (std::size_t j = 0; j < ahead; ++j) {
          many.finish(ring[j]);
          block_sampler fresh = sampler();
          EXPECT_TRUE(taken(many, ring[j], 2, 3) == taken(fresh, fresh.sample_types(number + j, given(j)), 2, 3)) << kind << " " << k + j;
        }
        number += ahead;
      }
    }
  }
}

// Sampled together, in one pass over the adjacency: the same bits as separately, for any sizes, and also when memory runs out.
TEST_P(blocks_at, are_what_they_are_alone_when_they_are_drawn_together) {
  for (int kind = 0; kind < 8; ++kind) {
    block_options o;
    o.edge_ids = kind != 1, o.edges = kind != 2, o.replace = kind == 3, o.weighted = kind == 4, o.disjoint = kind == 5;
    o.labor = kind == 7;
    graph_handle const g = brought(kind == 4 ? weighted_graph() : random_graph(true), where());
    std::uint64_t const n = g.info().vertices;
    std::vector<std::int64_t> const fanouts = kind == 1 ? std::vector<std::int64_t>{5, 0, -1} : std::vector<std::int64_t>{6, 5, 4};
    block_sampler one(where(), g, fanouts, o), many(where(), g, fanouts, o);
    if (kind == 6) many.inside().hash_beyond(0);
    for (int turn = 0; turn < 3; ++turn) {
      std::vector<sampled_subgraph> ring(20);
      std::vector<std::vector<std::int64_t>> seeds;
      std::vector<sampled_subgraph::parts*> together;
      for (std::uint64_t b = 0; b < ring.size(); ++b) {
        seeds.push_back(b % 6 == 4 ? std::vector<std::int64_t>{} : some_seeds(b == 7 ? 300 : b + 1, n, b));
        typed_seeds const mine{0, seeds.back(), {}};
        many.inside().prepare(ring[b].inside(), 100 + b, {&mine, 1}, false);
        together.push_back(&ring[b].inside());
      }
      many.inside().give(together);
      for (std::uint64_t b = 0; b < ring.size(); ++b) {
        many.finish(ring[b]);
        EXPECT_TRUE(taken(many, ring[b]) == taken(one, one.sample(100 + b, seeds[b]))) << kind << " " << b;
      }
    }
  }
}

// An interrupt in the middle of a mini-batch has no lasting effect.
TEST_P(blocks_at, are_right_again_after_an_interrupt) {
  if (runs_later(where())) GTEST_SKIP() << "what was given to a device happens";
  graph_handle const g = brought(random_graph(true), where());
  block_sampler clean(where(), g, {8, 8, 8}), s(where(), g, {8, 8, 8});
  std::uint64_t interrupted = 0;
  for (std::uint64_t checks = 0;; ++checks) {  // at each cancellation point of sampling
    auto const seeds = some_seeds(60, 1003, checks);
    request_interrupt_after(checks);
    bool whole = true;
    try {
      s.sample(checks, seeds);
    } catch (error const& e) {
      EXPECT_EQ(e.code(), errc::interrupted) << e.what();
      ++interrupted, whole = false;
    }
    clear_interrupt();
    ASSERT_TRUE(taken(s, s.sample(checks, seeds)) == taken(clean, clean.sample(checks, seeds))) << checks;
    if (whole) break;
  }
  EXPECT_GT(interrupted, 10u);
}

// Adjacency in a file: the same blocks, bit by bit, for any staging buffer; and messages for unsupported options.
TEST(blocks_of_a_file, are_those_of_lists_in_memory) {
  std::filesystem::path const folder = std::filesystem::temp_directory_path() / fmt::format("garner_blocks_of_a_file.{}", ::getpid());
  std::filesystem::create_directories(folder);
  std::string const file = (folder / "g.gnr").string();
  for (bool packed : {false, true})
    for (std::uint32_t id_bytes : {4u, 8u})
      for (bool undirected : {true, false}) {
        if (packed && id_bytes == 8) continue;
        graph g = random_graph(undirected, id_bytes);
        if (packed) pack(g);
        save_graph(g, file);
        load_options how;
        how.in_edges = !undirected;
        graph_handle const near = graph_access::wrap(load_graph(file, how));
        for (std::uint64_t window : {std::uint64_t{16} << 10, std::uint64_t{0}})
          for (bool together : {false, true}) {
            SCOPED_TRACE(
                fmt::format("compressed {} ids {} undirected {} window {} together {}", packed, id_bytes, undirected, window, together));
            how.edges = tier::file, how.window_bytes = window;
            graph_handle const far = graph_access::wrap(load_graph(file, how));
            how.edges = tier::host;
            block_options o;
            o.edge_ids = true;
            for (execution_device where : {execution_device{device_kind::cpu, 0}, execution_device{device_kind::simulated, 0}}) {
              block_sampler twin(where, near, {5, -1, 3}, o), s(where, far, {5, -1, 3}, o);
              EXPECT_NE(s.about().find("tier file"), std::string::npos);
              std::vector<sampled_subgraph> a(3), b(3);
              for (std::uint64_t k = 0; k < 3; ++k) {
                auto const seeds = some_seeds(20, 1000, k);
                if (!together) {
                  ASSERT_EQ(taken(s, s.sample(k, seeds)), taken(twin, twin.sample(k, seeds)));
                  continue;
                }
                for (auto const& [of, into] : {std::pair{&twin, &a[k]}, std::pair{&s, &b[k]}}) {
                  typed_seeds const one{0, seeds, {}};
                  of->inside().prepare(into->inside(), k, {&one, 1}, false);
                }
              }
              if (!together) continue;
              for (auto const& [of, all] : {std::pair{&twin, &a}, std::pair{&s, &b}}) {
                std::vector<sampled_subgraph::parts*> parts;
                for (sampled_subgraph& one : *all) parts.push_back(&one.inside());
                of->inside().give(parts);
                for (sampled_subgraph& one : *all) of->finish(one);
              }
              for (std::uint64_t k = 0; k < 3; ++k) ASSERT_EQ(taken(s, b[k]), taken(twin, a[k]));
            }
            block_options whole;
            whole.induced = true;
            EXPECT_NE(error_of([&] { block_sampler({}, far, {5}, whole); }).find("open it with tier host"), std::string::npos);
            block_options wrong;
            wrong.adjacency = tier::host;
            EXPECT_NE(error_of([&] { block_sampler({}, far, {5}, wrong); }).find("were left in their file"), std::string::npos);
          }
      }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace garner
